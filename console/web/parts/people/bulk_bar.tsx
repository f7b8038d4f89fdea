// What is done to the users that are chosen in a list: how many, the deeds, how far one is, and taking it back.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { BulkAction, JobView } from "../../../api/people/bulk_shapes.ts";
import { whyNot } from "../../access_words.ts";
import { ApiFailure, failureText } from "../../api_client.ts";
import {
  beginDeed,
  type Choice,
  createJobCalls,
  previewDeed,
  type UserFilters,
} from "../../models/bulk_calls.ts";
import type { Models } from "../../models/models.ts";
import type { Selection } from "../../models/selection.ts";
import { t } from "../../words/translate.ts";
import { Button } from "../button.tsx";
import { SelectionBar } from "../data_table.tsx";
import { JobNote } from "./job_note.tsx";
import { late } from "../late.tsx";
import { Problem } from "../note.tsx";

const LeaveDialog = late(async () => (await import("./bulk_dialogs.tsx")).BulkLeaveDialog);
const GroupDialog = late(async () => (await import("./bulk_dialogs.tsx")).BulkGroupDialog);

export interface BulkBarProps {
  readonly models: Models;
  readonly selection: Selection;
  /** The list's, as the address has them. */
  readonly filters: UserFilters;
  /** "" for the target whose users log in. */
  readonly target: string;
  /** All that match. */
  readonly total: number;
  /** Some users are not what they were. */
  readonly onChanged: () => void;
}

const ASK_EVERY_MS = 400;
const ASK_AGAIN_MS = 3000;
const ACTIONS: readonly BulkAction[] = ["activate", "deactivate", "join", "leave", "delete"];

export function BulkBar(props: BulkBarProps) {
  const { models, selection, target, total, filters, onChanged } = props;
  const job = useSignal<JobView | null>(null);
  const problem = useSignal<unknown>(null);
  const asking = useSignal<BulkAction | null>(null);
  /** Factors or memberships went with it, which no way back brings again. */
  const isLasting = useSignal(false);
  const reason = whyNot(models, "user_manager");
  const choice = (): Choice =>
    selection.everything.value ? { filters, expected: total } : { names: [...selection.chosen.value] };
  const begin = async (action: BulkAction, group?: string) => {
    problem.value = null;
    const deed = { target, choice: choice(), action, backends: null };
    job.value = await beginDeed(models, group === undefined ? deed : { ...deed, group });
    selection.clear();
  };
  const losesSomething = async (): Promise<boolean> => {
    try {
      const { factors, memberships, conversations } = await previewDeed(models, { target, choice: choice() });
      return factors + memberships + conversations > 0;
    } catch (_unknown) {
      // The dialog asks again, and says what is wrong.
      return true;
    }
  };
  const start = async (action: BulkAction) => {
    isLasting.value = false;
    if (action === "deactivate") isLasting.value = await losesSomething();
    if (action === "activate" || (action === "deactivate" && !isLasting.value)) {
      await begin(action).catch((fault: unknown) => problem.value = fault);
    } else asking.value = action;
  };
  useFollowedJob(models, { job, problem, onChanged });
  const close = () => asking.value = null;
  const action = asking.value;
  const isRunning = job.value?.state === "running";
  return (
    <div class="bulk-foot">
      <Problem of={problem} title={t("groups.bulk_failed")} />
      {job.value !== null && (
        <JobNote
          models={models}
          job={job}
          isLasting={isLasting.value}
          onProblem={(text) => problem.value = text}
        />
      )}
      <SelectionBar selection={selection} total={total}>
        {ACTIONS.map((one) => (
          <Button
            key={one}
            small
            kind={one === "delete" ? "bad" : undefined}
            disabled={isRunning}
            reason={reason}
            onClick={() => start(one)}
          >
            {t(`groups.bulk_${one}`)}
          </Button>
        ))}
      </SelectionBar>
      {(action === "delete" || action === "deactivate") && (
        <LeaveDialog
          action={action}
          models={models}
          target={target}
          choice={choice()}
          begin={() => begin(action)}
          onClose={close}
        />
      )}
      {(action === "join" || action === "leave") && (
        <GroupDialog
          models={models}
          target={target}
          action={action}
          begin={(group: string) => begin(action, group)}
          onClose={close}
        />
      )}
    </div>
  );
}

interface Followed {
  readonly job: { value: JobView | null };
  readonly problem: { value: unknown };
  readonly onChanged: () => void;
}

/** Asks how far it is until it is over. */
function useFollowedJob(models: Models, { job, problem, onChanged }: Followed): void {
  const now = job.value;
  /** Questions that the server did not answer. */
  const tries = useSignal(0);
  useEffect(() => {
    if (now === null) return;
    if (now.state !== "running") return onChanged();
    const timer = setTimeout(async () => {
      try {
        job.value = await createJobCalls(models, now.id).view();
        if (tries.value > 0) problem.value = null;
        tries.value = 0;
      } catch (fault) {
        problem.value = `${t("groups.bulk_lost")} ${failureText(fault)}`;
        const isAway = fault instanceof ApiFailure && fault.code === "offline";
        if (isAway) tries.value += 1;
        else job.value = null;
      }
    }, tries.value === 0 ? ASK_EVERY_MS : ASK_AGAIN_MS);
    return () => clearTimeout(timer);
  }, [now, tries.value]);
}

// What is done to the users that are chosen in a list: how many, the deeds, how far one is, and taking it back.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { BulkAction, JobView } from "../../../api/users/bulk_types.ts";
import { whyNot } from "../../access_words.ts";
import { ApiFailure, failureText } from "../../api_client.ts";
import {
  beginDeed,
  type Choice,
  createJobCalls,
  type Deed,
  previewDeed,
  type UserFilters,
} from "../../models/bulk_calls.ts";
import { useDeed } from "../../models/deed.ts";
import type { Models } from "../../models/models.ts";
import type { Selection } from "../../models/selection.ts";
import { t } from "../../i18n/translate.ts";
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

type Whom = Pick<Deed, "target" | "choice">;

/** An action, and whom it was asked for. */
interface Asked {
  readonly action: BulkAction;
  readonly whom: Whom;
}

const ASK_EVERY_MS = 400;
const ASK_AGAIN_MS = 3000;
const ACTIONS: readonly BulkAction[] = ["activate", "deactivate", "join", "leave", "delete"];

export function BulkBar(props: BulkBarProps) {
  const { models, selection, target, total, onChanged } = props;
  const job = useSignal<JobView | null>(null);
  const problem = useSignal<unknown>(null);
  const asking = useSignal<Asked | null>(null);
  /** Factors or memberships went with it, which no way back brings again. */
  const isLasting = useSignal(false);
  const { busy, run } = useDeed();
  const reason = whyNot(models, "user_manager");
  const begin = async ({ action, whom }: Asked, group?: string) => {
    problem.value = null;
    const deed = { ...whom, action, backends: null };
    job.value = await beginDeed(models, group === undefined ? deed : { ...deed, group });
    selection.clear();
  };
  const start = async (action: BulkAction) => {
    // The selection can change while the server is asked.
    const asked: Asked = { action, whom: { target, choice: choiceOf(props) } };
    isLasting.value = false;
    if (action === "deactivate") isLasting.value = await losesSomething(models, asked.whom);
    if (action === "activate" || (action === "deactivate" && !isLasting.value)) {
      await begin(asked).catch((fault: unknown) => problem.value = fault);
    } else asking.value = asked;
  };
  useFollowedJob(models, { job, problem, onChanged });
  const close = () => asking.value = null;
  const asked = asking.value;
  const isRunning = busy.value || job.value?.state === "running";
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
            onClick={() => run(() => start(one))}
          >
            {t(`groups.bulk_${one}`)}
          </Button>
        ))}
      </SelectionBar>
      {asked !== null && <AskFirst models={models} asked={asked} begin={begin} onClose={close} />}
    </div>
  );
}

interface AskProps {
  readonly models: Models;
  readonly asked: Asked;
  readonly begin: (asked: Asked, group?: string) => Promise<void>;
  readonly onClose: () => void;
}

function AskFirst({ models, asked, begin, onClose }: AskProps) {
  const { action, whom } = asked;
  const given = { models, ...whom, onClose };
  if (action === "activate") return null;
  return action === "join" || action === "leave"
    ? <GroupDialog {...given} action={action} begin={(group: string) => begin(asked, group)} />
    : <LeaveDialog {...given} action={action} begin={() => begin(asked)} />;
}

function choiceOf({ selection, filters, total }: BulkBarProps): Choice {
  return selection.everything.value ? { filters, expected: total } : { names: [...selection.chosen.value] };
}

async function losesSomething(models: Models, whom: Whom): Promise<boolean> {
  try {
    const { factors, memberships, conversations } = await previewDeed(models, whom);
    return factors + memberships + conversations > 0;
  } catch (_unknown) {
    // The dialog asks again, and says what is wrong.
    return true;
  }
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

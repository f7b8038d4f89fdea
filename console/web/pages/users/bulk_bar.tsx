// The bar of bulk actions below a list of users: the actions, the progress of a job, its result, and undo.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { BulkAction, JobView } from "../../../api/api_types.ts";
import { useAction } from "../../app/action.ts";
import { ApiFailure, failureText } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import type { Selection } from "../../app/selection.ts";
import { permissionHint } from "../../app/session_model.ts";
import { useShortcuts } from "../../app/shortcuts.ts";
import { Alert, ErrorAlert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { lazy } from "../../components/lazy.tsx";
import { SelectionBar } from "../../components/selection_bar.tsx";
import { t } from "../../i18n/translate.ts";
import type { InviteChoice } from "../enrolment/enrolment_calls.ts";
import {
  createJobCalls,
  type PendingAction,
  type SelectionFilters,
  startBulkJob,
  type UserChoice,
} from "./user_calls.ts";
import type { BulkTerms } from "./bulk_dialogs.tsx";

const BulkDialog = lazy(async () => (await import("./bulk_dialogs.tsx")).BulkDialog);
const InviteDialog = lazy(async () => (await import("../enrolment/invite_dialog.tsx")).InviteDialog);

interface BulkBarProps {
  readonly models: Models;
  readonly selection: Selection;
  /** The filters of the list, as in the address. */
  readonly filters: SelectionFilters;
  /** Empty for the target whose users log in. */
  readonly target: string;
  /** The users sign in, so they can be invited to enrol. */
  readonly canInvite: boolean;
  /** The number of users that match the filters. */
  readonly total: number;
  /** Called after users were changed. */
  readonly onChanged: () => void;
}

const POLL_INTERVAL_MS = 400;
const RETRY_INTERVAL_MS = 3000;
const ACTIONS: readonly BulkAction[] = ["activate", "deactivate", "join", "leave", "delete"];

export function BulkBar(props: BulkBarProps) {
  const { models, selection, target, total, canInvite, onChanged } = props;
  const inviting = useSignal<InviteChoice | null>(null);
  const job = useSignal<JobView | null>(null);
  const problem = useSignal<unknown>(null);
  const asking = useSignal<PendingAction | null>(null);
  /** The action removed factors or memberships, which undo cannot restore. */
  const isIrreversible = useSignal(false);
  const reason = permissionHint(models, "user_manager");
  const begin = async (
    { action, selected }: PendingAction,
    { group, isIrreversible: isLossy }: BulkTerms,
  ) => {
    problem.value = null;
    isIrreversible.value = isLossy === true;
    const request = { ...selected, action, backends: null };
    job.value = await startBulkJob(models, group === undefined ? request : { ...request, group });
    selection.clear();
  };
  const start = (action: BulkAction) => {
    // The selection can change while the dialog asks.
    asking.value = { action, selected: { target, choice: choiceOf(props) } };
  };
  useFollowedJob(models, { job, problem, onChanged });
  const close = () => asking.value = null;
  const asked = asking.value;
  const isRunning = job.value?.state === "running";
  return (
    <div class="bulk-foot">
      <ErrorAlert of={problem} title={t("users.bulk_failed")} />
      {job.value !== null && (
        <JobNote
          models={models}
          job={job}
          isIrreversible={isIrreversible.value}
          onProblem={(text) => problem.value = text}
        />
      )}
      <SelectionBar
        selection={selection}
        total={total}
        actions={[
          ...canInvite
            ? [{
              label: t("users.bulk_invite"),
              reason,
              run: () => void (inviting.value = inviteChoiceOf(props)),
            }]
            : [],
          ...ACTIONS.map((one) => ({
            label: t(`users.bulk_${one}`),
            isBad: one === "delete",
            reason: reason ?? (isRunning ? t("common.working") : undefined),
            run: () => start(one),
          })),
        ]}
      />
      {inviting.value !== null && (
        <InviteDialog
          models={models}
          choice={inviting.value}
          onClose={() => inviting.value = null}
          onStarted={selection.clear}
        />
      )}
      {asked !== null && <BulkDialog models={models} asked={asked} begin={begin} onClose={close} />}
    </div>
  );
}

function choiceOf({ selection, filters, total }: BulkBarProps): UserChoice {
  return selection.isEverything.value
    ? { filters, expected: total }
    : { names: [...selection.selected.value] };
}

function inviteChoiceOf({ selection, filters }: BulkBarProps): InviteChoice {
  return selection.isEverything.value ? { filters } : { names: [...selection.selected.value] };
}

interface Followed {
  readonly job: { value: JobView | null };
  readonly problem: { value: unknown };
  readonly onChanged: () => void;
}

/** Polls the job until it ends. */
function useFollowedJob(models: Models, { job, problem, onChanged }: Followed): void {
  const now = job.value;
  /** The number of polls without an answer. */
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
        problem.value = `${t("users.bulk_lost")} ${failureText(fault)}`;
        const isAway = fault instanceof ApiFailure && fault.code === "offline";
        if (isAway) tries.value += 1;
        else job.value = null;
      }
    }, tries.value === 0 ? POLL_INTERVAL_MS : RETRY_INTERVAL_MS);
    return () => clearTimeout(timer);
  }, [now, tries.value]);
}

const MAX_SHOWN = 10;

interface JobProps {
  readonly models: Models;
  readonly job: { value: JobView | null };
  /** Hides undo, because it could not restore everything. */
  readonly isIrreversible?: boolean;
  readonly onProblem: (text: string | null) => void;
}

function JobNote({ models, job, isIrreversible = false, onProblem }: JobProps) {
  const { busy, run } = useAction();
  const now = job.value;
  if (now === null) return null;
  const calls = createJobCalls(models, now.id);
  const ask = (call: () => Promise<JobView>) =>
    run(async () => {
      onProblem(null);
      try {
        job.value = await call();
      } catch (fault) {
        onProblem(failureText(fault));
      }
    });
  if (now.state === "running") {
    return (
      <Alert tone="wait" icon="clock">
        <span role="status">{t("users.bulk_progress", { done: now.done, count: now.total })}</span>{" "}
        <progress aria-label={t("common.working")} max={Math.max(1, now.total)} value={now.done} />{" "}
        <Button small disabled={now.isStopping || busy.value} onClick={() => ask(calls.stop)}>
          {t(now.isStopping ? "users.bulk_stopping" : "users.bulk_stop")}
        </Button>
      </Alert>
    );
  }
  const isWhole = now.failed === 0 && now.owed.length === 0 && now.state === "ended";
  const more = now.failed - MAX_SHOWN;
  return (
    <Alert tone={isWhole ? "ok" : "wait"} icon={isWhole ? "check" : "alert"} role="status">
      {now.state === "stopped" && <strong>{t("users.bulk_stopped")}</strong>}{" "}
      <strong>{t(`users.did_${now.action}`, { count: now.changed, group: now.group ?? "" })}</strong>{" "}
      {now.action === "delete" && now.changed > 0 && (
        <>
          <a href="/deleted-users">{t("shell.deleted_users")}</a>
          {" "}
        </>
      )}
      {now.same > 0 && t("users.did_same", { count: now.same })}
      {now.owed.map(({ backend, count }) => (
        <span key={backend}>
          {t("users.bulk_owed", { count, backend })}{" "}
          <a href={`/users?backend=${encodeURIComponent(backend)}&sync=pending`}>
            {t("users.bulk_owed_show")}
          </a>
          {" "}
        </span>
      ))}
      {now.failed > 0 && (
        <>
          {" "}
          {t("users.did_fail", { count: now.failed })}
          <ul class="people-consequences">
            {now.failures.slice(0, MAX_SHOWN).map(({ name, detail }) => (
              <li key={name}>
                <bdi>{name}</bdi>: {detail}
              </li>
            ))}
            {more > 0 && <li>{t("common.and_more", { count: more })}</li>}
          </ul>
        </>
      )} {now.canUndo && !isIrreversible && <UndoButton busy={busy.value} onUndo={() => ask(calls.undo)} />}
      {" "}
      <Button kind="plain" small onClick={() => job.value = null}>{t("common.dismiss")}</Button>
    </Alert>
  );
}

function UndoButton({ busy, onUndo }: { busy: boolean; onUndo: () => unknown }) {
  useShortcuts([{ keys: "z", label: "shell.key_undo", run: () => !busy && void onUndo() }]);
  return <Button small disabled={busy} onClick={onUndo}>{t("common.undo")}</Button>;
}

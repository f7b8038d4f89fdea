// Pending approvals in the drawer of the Live page: an administrator can deny or cancel one, but never approve it.

import { useSignal } from "@preact/signals";
import type { PendingApproval } from "../../../../upstream/embedded/second_factor/interfaces.ts";
import { escapeParams, failureText, take } from "../../app/api_client.ts";
import type { LiveModels as Models } from "./live_context.tsx";
import { livePermissionHint } from "./live_permission.ts";
import { userHref } from "../../app/routes.ts";
import { t } from "../../i18n/translate.ts";
import { Alert, Empty } from "../../components/alert.tsx";
import { TimeLeft } from "../../components/time.tsx";

export function ApprovalsPanel({ models }: { models: Models }) {
  const { live, dataClock } = models;
  const problem = useSignal<string | null>(null);
  const list = live.approvals.value;
  if (list === null) return null;
  const nowMs = dataClock.nowMs.value;
  const reason = livePermissionHint(models, "operator");
  const items = list.items.filter((item) => item.deadlineMs > nowMs);
  return (
    <>
      {problem.value !== null && <Alert tone="bad" role="alert">{problem.value}</Alert>}
      {items.length === 0 && <Empty title={t("live.waiting_none")} next={t("live.waiting_none_next")} />}
      {items.length > 0 && (
        <ul class="scroll" tabIndex={0} aria-label={t("common.pending_approvals")}>
          {items.map((item) => (
            <Approval
              key={item.requestId}
              item={item}
              nowMs={nowMs}
              reason={reason}
              decide={(verb) => decide(models, { item, verb, say: (text) => problem.value = text })}
            />
          ))}
          {list.total > list.items.length && (
            <li class="panel-note">{t("live.waiting_older", { count: list.total - list.items.length })}</li>
          )}
        </ul>
      )}
    </>
  );
}

type Verb = "deny" | "cancel";
const VERB_BUTTONS = { deny: "button.deny", cancel: "button.cancel" } as const;

async function decide(
  { api, session }: Models,
  { item, verb, say }: { item: PendingApproval; verb: Verb; say: (text: string | null) => void },
): Promise<void> {
  const request = { param: escapeParams({ id: item.requestId }), json: {} };
  try {
    say(null);
    await session.whileSignedIn(() =>
      verb === "deny"
        ? take(api.approvals[":id"].deny.$post(request))
        : take(api.approvals[":id"].cancel.$post(request))
    );
  } catch (fault) {
    say(`${item.userName}: ${failureText(fault)}`);
  }
}

interface ApprovalProps {
  readonly item: PendingApproval;
  readonly nowMs: number;
  /** Why the administrator cannot decide. */
  readonly reason: string | undefined;
  readonly decide: (verb: Verb) => Promise<void>;
}

function Approval({ item, nowMs, reason, decide }: ApprovalProps) {
  const busy = useSignal(false);
  const act = async (verb: Verb, row: Element | null) => {
    if (busy.peek()) return;
    const next = row?.nextElementSibling ?? row?.previousElementSibling;
    const drawer = document.querySelector<HTMLElement>(".drawer-button[aria-expanded=true]");
    busy.value = true;
    await decide(verb);
    busy.value = false;
    // The row disappears, so the focus moves to the same button of the next one, or to the drawer's.
    (next?.querySelector<HTMLElement>(VERB_BUTTONS[verb]) ?? drawer)?.focus();
  };
  const button = (verb: Verb, label: string) => (
    <button
      type="button"
      class={`button button-small ${verb === "deny" ? "button-bad" : ""} ${verb}`}
      disabled={reason !== undefined}
      aria-disabled={busy.value ? "true" : undefined}
      title={reason}
      onClick={(event) => void act(verb, event.currentTarget.closest("li"))}
    >
      {label}
      <span class="unseen">{` ${t("live.the_login_of", { user: item.userName, client: item.client })}`}</span>
    </button>
  );
  return (
    <li class="entry approval">
      <a class="cut strong" href={userHref(item.userName)}>{item.userName}</a>
      <span class="cut quiet">
        {[item.client, item.place].filter((part) => part !== "").join(" · ")}
      </span>
      <TimeLeft
        startMs={item.createdMs}
        deadlineMs={item.deadlineMs}
        nowMs={nowMs}
        label={t("common.time_left")}
      />
      <span class="actions">
        {button("cancel", t("common.cancel"))}
        {button("deny", t("common.deny"))}
      </span>
    </li>
  );
}

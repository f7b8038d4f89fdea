// The panels below the logins on the Live page: pending approvals, the telephony outbox, and VPN sessions.

import { useSignal } from "@preact/signals";
import type { PendingApproval } from "../../../../upstream/embedded/second_factor/interfaces.ts";
import { escapeParams, failureText, take } from "../../app/api_client.ts";
import { countText } from "../../app/format.ts";
import { type LiveModels as Models, livePermissionHint } from "./live_context.tsx";
import { useShortcuts } from "../../app/shortcuts.ts";
import { t } from "../../i18n/translate.ts";
import { Alert, Empty } from "../../components/alert.tsx";
import { TimeLeft } from "../../components/time.tsx";
import type { OutboxItem } from "../../../../upstream/embedded/telephony/outbox.ts";
import { Icon } from "../../components/icons.tsx";
import type { ConnectedAnswer } from "../../../api/accounting_sessions/session_routes.ts";
import { useInterval, useResource } from "../../app/resource.ts";
import { VpnSessionList } from "./session_list.tsx";

export function ApprovalsPanel({ models }: { models: Models }) {
  const { live, clock } = models;
  const problem = useSignal<string | null>(null);
  useShortcuts([{ keys: "d", label: "live.key_deny", needs: "operator", run: denyFocused }]);
  const list = live.approvals.value;
  if (list === null) return null;
  const nowMs = clock.nowMs.value;
  const reason = livePermissionHint(models, "operator");
  const items = list.items.filter((item) => item.deadlineMs > nowMs);
  return (
    <section class="panel" aria-labelledby="approvals-title">
      <div class="panel-head">
        <h2 id="approvals-title">
          {t("live.waiting_title")} <span class="count">{countText(list.total)}</span>
        </h2>
      </div>
      {problem.value !== null && <Alert tone="bad" role="alert">{problem.value}</Alert>}
      {items.length === 0
        ? <Empty title={t("live.waiting_none")} next={t("live.waiting_none_next")} />
        : (
          <ul class="scroll" tabIndex={0} aria-label={t("live.waiting_title")}>
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
    </section>
  );
}

/** Only the focused row, so that a key cannot deny another login by accident. */
function denyFocused(): void {
  document.activeElement?.closest(".approval")?.querySelector<HTMLElement>(".button-bad")?.click();
}

type Verb = "deny" | "cancel";

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
  const act = async (verb: Verb) => {
    busy.value = true;
    await decide(verb);
    busy.value = false;
  };
  const button = (verb: Verb, label: string) => (
    <button
      type="button"
      class={`button button-small ${verb === "deny" ? "button-bad" : ""}`}
      disabled={busy.value || reason !== undefined}
      title={reason}
      onClick={() => void act(verb)}
    >
      {label}
      <span class="unseen">{` ${t("live.the_login_of", { user: item.userName, client: item.client })}`}</span>
    </button>
  );
  return (
    <li class="entry approval">
      <strong class="mono cut">{item.userName}</strong>
      <span class="mono cut quiet">
        {[item.client, item.place].filter((part) => part !== "").join(" · ")}
      </span>
      <TimeLeft
        startMs={item.createdMs}
        deadlineMs={item.deadlineMs}
        nowMs={nowMs}
        label={t("live.time_left")}
      />
      <span class="actions">
        {button("cancel", t("live.cancel"))}
        {button("deny", t("live.deny"))}
      </span>
    </li>
  );
}

export function OutboxPanel({ models }: { models: Models }) {
  const { live, clock } = models;
  const items = live.outbox.value;
  if (items === null) return null;
  const nowMs = clock.nowMs.value;
  const reason = livePermissionHint(models, "owner");
  const alive = items.filter((item) => item.deadlineMs > nowMs);
  return (
    <section class="panel" aria-labelledby="outbox-title">
      <div class="panel-head">
        <h2 id="outbox-title">
          {t("live.outbox")} <span class="count">{countText(alive.length)}</span>
        </h2>
        <span class="quiet small">{t("live.outbox_hint")}</span>
      </div>
      {alive.length === 0
        ? <Empty title={t("live.outbox_none")} next={t("live.outbox_none_next")} />
        : (
          <ul class="scroll" tabIndex={0} aria-label={t("live.outbox")}>
            {alive.map((item) => (
              <Message key={item.id} item={item} nowMs={nowMs} reason={reason} models={models} />
            ))}
          </ul>
        )}
    </section>
  );
}

interface MessageProps {
  readonly item: OutboxItem;
  readonly nowMs: number;
  readonly reason: string | undefined;
  readonly models: Models;
}

function Message({ item, nowMs, reason, models: { api, session } }: MessageProps) {
  const said = useSignal<string | null>(null);
  const reveal = async () => {
    if (said.value !== null) {
      said.value = null;
      return;
    }
    try {
      const call = () =>
        take(api.outbox[":id"].reveal.$post({ param: escapeParams({ id: item.id }), json: {} }));
      said.value = (await session.whileSignedIn(call)).body;
    } catch (fault) {
      said.value = failureText(fault);
    }
  };
  return (
    <li class="entry message">
      <span class="status tone-idle">
        <Icon name={item.kind === "text" ? "line-text" : "line-call"} size={14} />
        <span>{t(item.kind === "text" ? "live.text" : "live.call")}</span>
      </span>
      <span class="mono cut">{item.to}</span>
      <TimeLeft
        startMs={item.createdMs}
        deadlineMs={item.deadlineMs}
        nowMs={nowMs}
        label={t("live.time_left")}
      />
      <button
        type="button"
        class="button button-small"
        disabled={reason !== undefined}
        title={reason ?? t("live.reveal_recorded")}
        onClick={() => void reveal()}
      >
        {t(said.value === null ? "live.reveal" : "live.hide")}
        <span class="unseen">{` ${t("live.the_message_to", { to: item.to })}`}</span>
      </button>
      {said.value !== null && <p class="said mono" role="status">{said.value}</p>}
    </li>
  );
}

const POLL_INTERVAL_MS = 10_000;

export function VpnSessionsPanel({ models }: { models: Models }) {
  const connected = useResource<ConnectedAnswer>(models, {
    fetch: () => take(models.api.connected.$get({ query: {} })),
    inputs: [],
  });
  useInterval(POLL_INTERVAL_MS, connected.reload);
  const state = connected.state.value;
  if (state.kind !== "ready" || state.value.total === 0) return null;
  const { sessions, total, stale } = state.value;
  return (
    <section class="panel sessions-panel" aria-labelledby="sessions-title">
      <div class="panel-head">
        <h2 id="sessions-title">
          {t("live.sessions_title")} <span class="count">{countText(total)}</span>
        </h2>
        {stale > 0 && <span class="quiet small">{t("live.sessions_stale", { count: stale })}</span>}
      </div>
      <VpnSessionList withUser models={models} label={t("live.sessions_title")} sessions={sessions} />
      {total > sessions.length && (
        <p class="panel-note">{t("live.sessions_newest", { count: sessions.length })}</p>
      )}
    </section>
  );
}

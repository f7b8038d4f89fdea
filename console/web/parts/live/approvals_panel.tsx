// Logins that wait for a phone. They can be denied or cancelled here; only the phone approves.

import { useSignal } from "@preact/signals";
import type { PendingApproval } from "../../../../upstream/embedded/second_factor/interfaces.ts";
import { failureText, take } from "../../api_client.ts";
import { countText } from "../../format.ts";
import type { LiveModels as Models } from "../../models/live_models.ts";
import { useShortcuts } from "../../shortcuts.ts";
import { t } from "../../i18n/translate.ts";
import { Empty, Note } from "../note.tsx";
import { whyNotNow } from "./reconnect_note.tsx";
import { TimeLeft } from "../time_left.tsx";

export function ApprovalsPanel({ models }: { models: Models }) {
  const { live, clock } = models;
  const problem = useSignal<string | null>(null);
  useShortcuts([{ keys: "d", does: "live.key_deny", needs: "operator", run: denyFocused }]);
  const list = live.approvals.value;
  if (list === null) return null;
  const nowMs = clock.nowMs.value;
  const reason = whyNotNow(models, "operator");
  const items = list.items.filter((item) => item.deadlineMs > nowMs);
  return (
    <section class="panel" aria-labelledby="approvals-title">
      <div class="panel-head">
        <h2 id="approvals-title">
          {t("live.waiting_title")} <span class="count">{countText(list.total)}</span>
        </h2>
      </div>
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
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

/** Only the row that has the focus: a key must not decide about the first login of the list by accident. */
function denyFocused(): void {
  document.activeElement?.closest(".approval")?.querySelector<HTMLElement>(".button-bad")?.click();
}

type Verb = "deny" | "cancel";

async function decide(
  { api, session }: Models,
  { item, verb, say }: { item: PendingApproval; verb: Verb; say: (text: string | null) => void },
): Promise<void> {
  const request = { param: { id: item.requestId }, json: {} };
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
  /** Why who is here may not decide. */
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

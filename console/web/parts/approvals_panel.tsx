// Logins that wait for a phone. They can be denied or cancelled here; only the phone approves.

import { useSignal } from "@preact/signals";
import type { PendingApproval } from "../../../upstream/embedded/interfaces.ts";
import { failureText, take } from "../api_client.ts";
import { countText } from "../format.ts";
import type { LiveModels as Models } from "../models/live_models.ts";
import { valueOf } from "../remote.ts";
import { EMPTY, NEEDS_ROLE } from "../words.ts";
import { Empty, Note } from "./note.tsx";
import { TimeLeft } from "./time_left.tsx";

export function ApprovalsPanel({ models }: { models: Models }) {
  const { live, clock, session } = models;
  const problem = useSignal<string | null>(null);
  const list = live.approvals.value;
  if (list === null) return null;
  const nowMs = clock.nowMs.value;
  const role = valueOf(session.session.value)?.role ?? "viewer";
  const items = list.items.filter((item) => item.deadlineMs > nowMs);
  return (
    <section class="panel" aria-labelledby="approvals-title">
      <div class="panel-head">
        <h2 id="approvals-title">
          Waiting for a phone <span class="count">{countText(list.total)}</span>
        </h2>
      </div>
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
      {items.length === 0
        ? <Empty {...EMPTY.approvals} />
        : (
          <ul class="scroll" tabIndex={0} aria-label="Waiting for a phone">
            {items.map((item) => (
              <Approval
                key={item.requestId}
                item={item}
                nowMs={nowMs}
                mayDecide={role !== "viewer"}
                decide={(verb) => decide(models, { item, verb, say: (text) => problem.value = text })}
              />
            ))}
            {list.total > list.items.length && (
              <li class="panel-note">{`and ${countText(list.total - list.items.length)} older`}</li>
            )}
          </ul>
        )}
    </section>
  );
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
  readonly mayDecide: boolean;
  readonly decide: (verb: Verb) => Promise<void>;
}

function Approval({ item, nowMs, mayDecide, decide }: ApprovalProps) {
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
      disabled={busy.value || !mayDecide}
      title={mayDecide ? undefined : NEEDS_ROLE.operator}
      onClick={() => void act(verb)}
    >
      {label}
      <span class="unseen">{` the login of ${item.userName} at ${item.client}`}</span>
    </button>
  );
  return (
    <li class="entry approval">
      <strong class="mono cut">{item.userName}</strong>
      <span class="mono cut quiet">
        {[item.client, item.place].filter((part) => part !== "").join(" · ")}
      </span>
      <TimeLeft startMs={item.createdMs} deadlineMs={item.deadlineMs} nowMs={nowMs} label="Time left" />
      <span class="actions">
        {button("cancel", "Cancel")}
        {button("deny", "Deny")}
      </span>
    </li>
  );
}

// Ends conversations at their deadline, once a second.

import type { Log } from "../../platform/log.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Store } from "../../platform/store.ts";
import type { SessionTable } from "../accounting/session_table.ts";
import type { Conversation } from "./conversation.ts";
import type { ConversationStore } from "./conversation_store.ts";
import type { Counters } from "../server/counters.ts";
import { recordEndedLogins } from "./login_history.ts";
import type { PeerNodes } from "./peers.ts";
import type { SecondFactorService } from "../ports.ts";

export interface ExpirySweepDeps {
  readonly sessions: Pick<SessionTable, "sweep">;
  readonly conversations: Pick<ConversationStore, "sweep">;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly counters: Pick<Counters, "count">;
  /** The target whose users log in. */
  readonly target: string;
  readonly secondFactor: Pick<SecondFactorService, "cancel" | "denialOnExpiry">;
  readonly changed: (conversation: Conversation) => void;
  readonly peers: PeerNodes;
}

const SWEEP_MS = 1000;

/** Returns a function that stops the sweep. */
export function sweepEachSecond(deps: ExpirySweepDeps): () => void {
  const { clock } = deps;
  const later = (): void => void (cancel = clock.after(SWEEP_MS, again));
  const again = (): void => {
    const caughtUp = deps.store.catchUp();
    if (caughtUp === null) {
      sweep(deps);
      return later();
    }
    // Another node may have accepted a login whose deadline is over here. While the store does not answer, no login ends.
    caughtUp.then(() => isStopped ? undefined : sweep(deps), () => undefined).finally(() =>
      isStopped ? undefined : later()
    );
  };
  let isStopped = false;
  let cancel = clock.after(SWEEP_MS, again);
  return () => {
    isStopped = true;
    cancel();
  };
}

function sweep(
  { sessions, conversations, store, log, counters, target, secondFactor, changed, peers }: ExpirySweepDeps,
): void {
  sessions.sweep();
  // The node that handled a login last records its end.
  const expired = conversations.sweep().filter(({ node }) => peers.isResponsibleFor(node));
  /** The reason why a login that waited for a phone was not approved before it expired. */
  const denialOf = ({ at, requestId }: Conversation) =>
    requestId === null || at !== "SECONDFACTOR_AWAIT_DEVICE_APPROVAL"
      ? undefined
      : secondFactor.denialOnExpiry?.(requestId);
  recordEndedLogins({ store, log, target, denialOf }, expired);
  for (const conversation of expired) {
    counters.count("expired");
    log.info("conversation expired", {
      conversation: conversation.orderedId,
      user: conversation.shownUser,
      step: conversation.at,
    });
    changed(conversation);
    // Otherwise the phone would continue to show a request whose approval has no effect.
    if (conversation.requestId !== null) void secondFactor.cancel(conversation.requestId);
  }
}

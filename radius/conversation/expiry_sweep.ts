// Ends conversations at their deadline, once a second, and denied ones whose end could not be recorded at once.

import type { SessionTable } from "../accounting/session_table.ts";
import type { Conversation } from "./conversation.ts";
import type { Counters } from "../server/counters.ts";
import { DecidedLogins, type DecidedLoginsDeps } from "./decided_logins.ts";
import { recordEndedLogins } from "./login_history.ts";
import type { SecondFactorService } from "../ports.ts";

interface ExpirySweepDeps extends DecidedLoginsDeps {
  readonly sessions: Pick<SessionTable, "sweep">;
  readonly counters: Pick<Counters, "count">;
  readonly secondFactor: Pick<SecondFactorService, "cancel" | "denialOnExpiry" | "onDenied" | "findDenied">;
  /** Called for a login whose end another node records. */
  readonly followed: (conversation: Conversation) => void;
}

const SWEEP_MS = 1000;
/** By then, the node that handled a login last has recorded its end, or another node is responsible for its work. */
const MAX_SWEEPS = 15;
const MAX_UNRECORDED = 4096;

/** Returns a function that stops the sweep. */
export function sweepEachSecond(deps: ExpirySweepDeps): () => void {
  const { clock } = deps;
  const decided = new DecidedLogins(deps);
  /** Expired logins of other nodes, with the number of sweeps since then. */
  const unrecorded = new Map<Conversation, number>();
  const later = (): void => void (cancel = clock.after(SWEEP_MS, again));
  const again = (): void => {
    decided.sweep();
    const caughtUp = deps.store.catchUp();
    if (caughtUp === null) {
      sweep(deps, unrecorded);
      return later();
    }
    // Another node may have accepted a login whose deadline is over here. While the store does not answer, no login ends.
    caughtUp.then(() => isStopped ? undefined : sweep(deps, unrecorded), () => undefined).finally(() =>
      isStopped ? undefined : later()
    );
  };
  let isStopped = false;
  let cancel = clock.after(SWEEP_MS, again);
  return () => {
    isStopped = true;
    decided.close();
    cancel();
  };
}

function sweep(deps: ExpirySweepDeps, unrecorded: Map<Conversation, number>): void {
  const { sessions, conversations, peers, followed } = deps;
  sessions.sweep();
  const inherited: Conversation[] = [];
  for (const [conversation, sweeps] of unrecorded) {
    const isInherited = peers.isResponsibleFor(conversation.node);
    if (isInherited) inherited.push(conversation);
    if (isInherited || sweeps === MAX_SWEEPS) unrecorded.delete(conversation);
    else unrecorded.set(conversation, sweeps + 1);
  }
  const own: Conversation[] = [];
  for (const conversation of conversations.sweep()) {
    // The node that handled the login last records its end.
    if (conversation.node === peers.node) own.push(conversation);
    else if (peers.isResponsibleFor(conversation.node)) inherited.push(conversation);
    else {
      unrecorded.set(conversation, 0);
      followed(conversation);
    }
  }
  for (const oldest of unrecorded.keys()) {
    if (unrecorded.size <= MAX_UNRECORDED) break;
    unrecorded.delete(oldest);
  }
  recordEndedLogins({ ...deps, denialOf: denialIn(deps) }, own);
  for (const conversation of own) announceExpired(deps, conversation);
  recordEndedLogins({
    ...deps,
    denialOf: denialIn(deps),
    mayBeRecorded: true,
    recorded: (conversation, { byOther }) =>
      byOther ? followed(conversation) : announceExpired(deps, conversation),
  }, inherited);
}

/** The reason why a login that waited for a phone was not approved before it expired. */
function denialIn({ secondFactor }: Pick<ExpirySweepDeps, "secondFactor">) {
  return ({ at, requestId }: Conversation) =>
    requestId === null || at !== "SECONDFACTOR_AWAIT_DEVICE_APPROVAL"
      ? undefined
      : secondFactor.denialOnExpiry?.(requestId);
}

function announceExpired(
  { log, counters, secondFactor, changed }: ExpirySweepDeps,
  conversation: Conversation,
): void {
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

// Ends conversations at their deadline, once a second, and denied ones whose end could not be recorded at once.

import type { SessionTable } from "../accounting/session_table.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import type { Log } from "../../platform/log.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Store } from "../../platform/store.ts";
import { isStep } from "../protocol/steps.ts";
import {
  addDecision,
  type Conversation,
  DENIED_ROW,
  factorFields,
  PAIRING_DENIED_ROW,
} from "./conversation.ts";
import { conversationKey } from "./conversation_codec.ts";
import type { ConversationStore } from "./conversation_store.ts";
import type { Counters } from "../server/counters.ts";
import { auditLogin, historyMutation, recordEndedLogins } from "./login_history.ts";
import type { PeerNodes } from "./peers.ts";
import type { PacketsInProgress } from "./run.ts";
import type { DeniedRequest, SecondFactorService } from "../ports.ts";

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

// Ends a login at the moment in which its approval is denied, if it waits for the next packet of its client. A login whose packet is in progress
// reads the decision itself.

interface DecidedLoginsDeps {
  readonly conversations: ConversationStore;
  readonly works: Pick<PacketsInProgress, "has">;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** The directory whose users log in. */
  readonly target: () => string;
  readonly secondFactor: Pick<SecondFactorService, "onDenied" | "findDenied">;
  readonly changed: (conversation: Conversation) => void;
  readonly peers: PeerNodes;
}

/** A denial whose login has not ended yet. */
interface OpenDenial {
  readonly denied: DeniedRequest;
  /** The login, if it ended in memory and its end is not recorded. */
  ended: Conversation | null;
  /** A commit is in progress. */
  isRecording: boolean;
  /** Further sweeps that look for the login: another node may handle its packet, or end before it ends the login. */
  sweepsLeft: number;
}

/** By then, another node has ended the login, or this node is responsible for its work. */
const MAX_DECIDED_SWEEPS = 15;
const MAX_OPEN = 1000;

class DecidedLogins {
  readonly #deps: DecidedLoginsDeps;
  /** By the id of the request or of the pairing. */
  readonly #open = new Map<string, OpenDenial>();
  readonly #stop: () => void;

  constructor(deps: DecidedLoginsDeps) {
    this.#deps = deps;
    this.#stop = deps.secondFactor.onDenied?.((denied) => this.#note(denied)) ?? (() => undefined);
    // The process may have stopped between a decision and the end of its login.
    for (const { id, step } of deps.conversations.liveSteps(Infinity)) {
      if (!isStep(step)) continue;
      const { requestId = null, newPairingId = null } = deps.conversations.byId(id) ?? {};
      const waitsFor = requestId ?? newPairingId;
      const denied = waitsFor === null ? undefined : deps.secondFactor.findDenied?.(waitsFor);
      if (denied !== undefined) this.#note(denied);
    }
  }

  /** Ends the logins that could not end at once. Call it every second. */
  sweep(): void {
    for (const open of this.#open.values()) {
      if (open.isRecording) continue;
      if (open.ended !== null) void this.#record(open, open.ended);
      else if (open.sweepsLeft-- > 0) this.#end(open);
      else this.#open.delete(open.denied.id);
    }
  }

  close(): void {
    this.#stop();
  }

  #note(denied: DeniedRequest): void {
    if (this.#open.has(denied.id) || this.#open.size >= MAX_OPEN) return;
    const open: OpenDenial = { denied, ended: null, isRecording: false, sweepsLeft: MAX_DECIDED_SWEEPS };
    this.#open.set(denied.id, open);
    this.#end(open);
  }

  #end(open: OpenDenial): void {
    const { conversations, works, peers, clock, store } = this.#deps;
    const { id, userName, decidedMs, denial } = open.denied;
    const waiting = conversations.findWaiting(canonicalName(userName), id);
    if (waiting === null) {
      // Without other nodes, this node knows every login.
      if (!store.isShared) this.#open.delete(id);
      return;
    }
    // The expiry ends the login.
    if (decidedMs >= waiting.deadlineMs) return void this.#open.delete(id);
    if (!peers.isResponsibleFor(waiting.node)) return;
    if (!isStep(waiting.at) || works.has(waiting.orderedId)) return;
    const conversation = conversations.unpark(waiting.orderedId);
    if (conversation === null) return;
    conversation.prompt = denial === null ? "pairing_denied" : "not_given";
    if (denial !== null) addDecision(conversation, { decidedMs, denial, nowMs: clock.nowMs() });
    conversations.end(conversation, "rejected", denial === null ? PAIRING_DENIED_ROW : DENIED_ROW);
    open.ended = conversation;
    void this.#record(open, conversation);
  }

  /** Records the end, unless another node or the user's removal ended the login first. Never rejects. */
  async #record(open: OpenDenial, conversation: Conversation): Promise<void> {
    const { store, conversations, log, target, changed } = this.#deps;
    const { id, denial } = open.denied;
    const { orderedId, factor } = conversation;
    open.isRecording = true;
    try {
      const writing = conversations.record(conversation);
      const isLine = "journal" in writing;
      const done = await store.commit({
        checks: isLine ? [] : [writing.check],
        journal: isLine ? [writing.journal] : [],
        mutations: [
          ...isLine ? [] : [writing.mutation],
          historyMutation(conversation, { target: target(), denial: denial ?? undefined }),
          auditLogin(conversation, {
            action: "login.rejected",
            row: conversation.moments.at(-1)?.row ?? DENIED_ROW,
            because: denial?.cause ?? null,
            by: denial?.by,
            factor,
            ...factorFields(conversation),
          }),
        ],
      });
      this.#open.delete(id);
      if (!done.ok) return await store.reread([conversationKey(orderedId)]);
      conversation.stored = isLine ? "journal" : { versionstamp: done.versionstamp };
      changed(conversation);
      conversations.park(conversation);
    } catch (fault) {
      log.error("the end of a denied login could not be recorded", {
        conversation: orderedId,
        fault: String(fault),
      });
    } finally {
      open.isRecording = false;
    }
  }
}

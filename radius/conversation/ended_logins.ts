// The ends of logins: their records, and the ends without a packet, which are a deadline, a denial and the report "This was not me".

import type { SessionTable } from "../accounting/session_table.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import type { Log } from "../../platform/log.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import { isStep } from "../protocol/steps.ts";
import {
  addDecision,
  type Conversation,
  DENIED_ROW,
  factorFields,
  PAIRING_DENIED_ROW,
  relayField,
  serverFields,
} from "./conversation.ts";
import { conversationKey } from "./conversation_codec.ts";
import type { ConversationStore } from "./conversation_store.ts";
import type { Counters } from "../server/gateway_monitor.ts";
import type { DeniedRequest, PeerNodes, SecondFactorService } from "../ports.ts";
import type { Limits } from "../factors/limits.ts";
import type { BypassCodeStore } from "../factors/bypass_codes.ts";
import type { RememberedDevices } from "../policy/remembered_devices.ts";
import { type Denial, encodeLoginRecord, HISTORY_RETENTION_MS, historyKey } from "./login_record.ts";
import { type AuditEntry, auditEntry } from "../../platform/audit.ts";
import type { Request } from "../server/request.ts";

// Records of logins: the history entry and the audit events. A decision is recorded in its own commit.

/** Logins in one commit; each takes less than a kilobyte. */
const MAX_PER_COMMIT = 50;

/** Writes the history entry of a conversation that has ended. @param options.target the directory whose users log in */
export function historyMutation(
  conversation: Conversation,
  { target, refusedFor = null, denial }: {
    target: string;
    refusedFor?: string | null;
    denial?: Denial | undefined;
  },
): Mutation {
  const { orderedId, shownUser, client, source, place, factor, startedMs, updatedMs, outcome, moments } =
    conversation;
  return {
    type: "set",
    key: historyKey(orderedId),
    value: encodeLoginRecord({
      user: shownUser,
      client,
      source,
      place,
      factor,
      startedMs,
      endedMs: updatedMs,
      outcome: outcome ?? "expired",
      refusedFor,
      moments,
      passwordRight: conversation.firstFactorRight,
      target,
      ...factorFields(conversation),
      ...serverFields(conversation),
      ...(denial === undefined ? {} : { denial }),
      ...(conversation.policy === "" ? {} : { policy: conversation.policy }),
      ...relayField(conversation),
    }),
    expireInMs: HISTORY_RETENTION_MS,
  };
}

/**
 * Records logins that ended without a packet. If this fails, only their history entries are missing.
 *
 * @param deps.denialOf why the push of an expired login was not approved
 * @param deps.mayBeRecorded whether another node may have recorded the ends; nothing is written for those
 * @param deps.recorded called for each login when its end is in the store; `byOther`: another node recorded it
 */
export function recordEndedLogins(
  { store, log, target, denialOf = () => undefined, mayBeRecorded = false, recorded = () => undefined }: {
    store: Store;
    log: Log;
    target: () => string;
    denialOf?: (conversation: Conversation) => Denial | undefined;
    mayBeRecorded?: boolean;
    recorded?: (conversation: Conversation, by: { byOther: boolean }) => void;
  },
  ended: readonly Conversation[],
): void {
  const together = mayBeRecorded ? 1 : MAX_PER_COMMIT;
  for (let at = 0; at < ended.length; at += together) {
    const part = ended.slice(at, at + together);
    const checks = mayBeRecorded
      ? part.map(({ orderedId }) => ({ key: historyKey(orderedId), versionstamp: null }))
      : [];
    const mutations = part.flatMap((one) => {
      const denial = denialOf(one);
      return [
        historyMutation(one, { target: target(), denial }),
        // For the timeline of the user.
        auditLogin(one, {
          action: `login.${one.outcome ?? "expired"}`,
          factor: one.factor,
          because: denial?.cause,
          ...factorFields(one),
        }),
      ];
    });
    store.commit({ checks, mutations }).then(({ ok }) => {
      for (const one of part) recorded(one, { byOther: !ok });
    }).catch((fault: unknown) =>
      log.error("logins that ended could not be written into the history", { fault: String(fault) })
    );
  }
}

/** Ends of logins that are recorded in one commit. An attacker can begin thousands of logins for one name, and the size of a commit is limited. */
export const MAX_ENDS = 20;

/** Records further ends of logins, after the commit that ended the first {@link MAX_ENDS}. If this fails, the logins are still refused. */
export function recordMoreEnds({ store, log }: { store: Store; log: Log }, ends: readonly Mutation[]): void {
  for (let at = 0; at < ends.length; at += MAX_ENDS) {
    store.commit({ mutations: ends.slice(at, at + MAX_ENDS) }).catch((fault: unknown) =>
      log.error("the end of a user's logins could not be recorded", { fault: String(fault) })
    );
  }
}

/** Writes an audit event of a login. */
export function auditLogin(
  { orderedId, shownUser, client, source, place, policy }: Conversation,
  event: Omit<AuditEntry, "actor" | "object">,
): Mutation {
  return auditEntry({
    actor: "radius",
    object: `user:${shownUser}`,
    client,
    source,
    caller: place,
    conversation: orderedId,
    ...(policy === "" ? {} : { policy }),
    ...event,
  });
}

/** Records in the audit log, with both sources, that a re-issued login joined the unanswered one. */
export function recordJoin(
  { store, log }: { store: Store; log: Log },
  conversation: Conversation,
  { firstSource, joined }: { firstSource: string; joined: Request },
): void {
  const { orderedId, shownUser: user, client } = conversation;
  const fields = {
    ...{ user, client, source: joined.source, firstSource },
    conversation: orderedId,
  };
  log[firstSource === joined.source ? "info" : "warn"](
    "login joined: a re-issued login gets the answer of the login that is in progress",
    fields,
  );
  const record = auditLogin(conversation, {
    action: "login.joined",
    source: joined.source,
    sources: [firstSource, joined.source],
  });
  store.commit({ mutations: [record] }).catch((fault: unknown) =>
    log.error("a joined login could not be recorded in the audit log", { ...fields, fault: String(fault) })
  );
}

// Ends conversations at their deadline, once a second, and denied ones whose end could not be recorded at once.

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
  readonly works: { has(orderedId: string): boolean };
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

// The report "This was not me": locks the user for an hour, ends the user's bypass code and waiting logins, and orders the end of the user's
// accounting sessions. The lock applies at once, and is recorded in the commit of the report.

/** A report in progress. The caller that commits it calls `done` or `undo`. */
export interface NotMeReport {
  readonly mutations: readonly Mutation[];
  /** The records to read again if the commit raced: another node counted a failure. Call `undo` before, and prepare the report again. */
  readonly dependsOn: readonly Deno.KvKey[];
  /** Logins of the user are refused until then, unless an administrator unlocks the user. */
  readonly lockedUntilMs: number;
  /** Connected sessions of the user, which the gateway tries to end at their NAS. */
  readonly sessions: number;
  /** Called when the commit is durable. Ends the waiting logins and returns their number. Does not throw or wait. */
  end(): number;
  /** Ends the waiting logins, unless {@link end} did, and cancels the requests that are still pending. */
  done(): number;
  /** Called if the commit failed or raced. */
  undo(): void;
}

interface NotMeReportDeps {
  readonly store: Store;
  readonly log: Log;
  /** The directory whose users log in. */
  readonly target: () => string;
  readonly limits: Limits;
  readonly remembered: Pick<RememberedDevices, "prepareForget">;
  readonly bypassCodes: Pick<BypassCodeStore, "removeUser">;
  readonly conversations: ConversationStore;
  readonly secondFactor: Pick<SecondFactorService, "cancel">;
  readonly changed: (conversation: Conversation) => void;
  /** Ends the user's accounting sessions at their NAS. */
  readonly disconnects: {
    prepareReport(user: string): Pick<NotMeReport, "mutations"> & { readonly count: number; done(): void };
  };
}

/** The row that ends a reported login. */
const NOT_ME_ROW = "not_me";

const LOCK_MS = 3600_000;

/** Returns a function that prepares a report of a user (canonical name). */
export function createNotMeReports(deps: NotMeReportDeps): (user: string) => NotMeReport {
  const { limits, conversations, secondFactor, remembered, bypassCodes, disconnects } = deps;
  /** Logins that wait for the user's next packet. A login in progress is rejected because of the lock. */
  const waiting = (user: string): Conversation[] => conversations.liveOf(user).filter(({ at }) => isStep(at));

  return (user) => {
    const lock = limits.lockFor(user, LOCK_MS);
    const forgotten = remembered.prepareForget(user);
    const sessions = disconnects.prepareReport(user);
    const bypass = bypassCodes.removeUser(user);
    const endOf = (conversation: Conversation) =>
      conversations.endMutation(conversation, NOT_ME_ROW, "rejected");
    const first = waiting(user).slice(0, MAX_ENDS);
    const firstIds = new Set(first.map(({ orderedId }) => orderedId));
    const end = (): number => {
      forgotten.done();
      sessions.done();
      const ended = waiting(user);
      for (const conversation of ended) {
        conversations.end(conversation, "rejected", NOT_ME_ROW);
        deps.changed(conversation);
      }
      recordMoreEnds(deps, ended.filter(({ orderedId }) => !firstIds.has(orderedId)).map(endOf));
      recordEndedLogins(deps, ended);
      return ended.length;
    };
    let ended: number | null = null;
    return {
      mutations: [
        lock.mutation,
        ...forgotten.mutations,
        ...bypass.mutations,
        ...first.map(endOf),
        ...sessions.mutations,
      ],
      dependsOn: [lock.mutation.key],
      lockedUntilMs: lock.lockedUntilMs,
      sessions: sessions.count,
      end: () => ended ??= end(),
      done() {
        const requests = conversations.liveOf(user).map(({ requestId }) => requestId);
        ended ??= end();
        for (const id of new Set(requests)) if (id !== null) void secondFactor.cancel(id);
        return ended;
      },
      undo() {
        bypass.restore();
        forgotten.undo();
        lock.undo();
      },
    };
  };
}

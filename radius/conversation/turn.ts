// A turn: the changes of one packet on its conversation, and the commit that records them before the answer is sent.

import { approvedPhone } from "../factors/device_choice.ts";
import type { Check, Mutation, Store } from "../../platform/store.ts";
import type { JournalLine, JournalListener } from "../../platform/journal.ts";
import type { FlowRow } from "../flow/flow_rows.ts";
import type { AcceptAttributes } from "../factors/reply_attributes.ts";
import type { LoginAttempt } from "../server/request.ts";
import type { FlowContextDeps } from "./flow_context.ts";
import { addMoment, type Conversation, factorFields, type LastAnswer } from "./conversation.ts";
import { conversationKey, type RecordWrite } from "./conversation_codec.ts";
import { type AcceptReply, acceptReplyOf } from "./first_factor_reply.ts";
import type { ConversationStore } from "./conversation_store.ts";
import { attributesOf } from "./login_policy.ts";
import { auditLogin, historyMutation } from "./login_history.ts";
import type { SentPasscodes } from "../factors/sent_passcodes.ts";
import type { Offboarding } from "../factors/offboarding.ts";
import type { SecondFactorService } from "../ports.ts";
import type { PasswordDigests } from "./peers.ts";
import type { UpstreamDeps } from "./poll_approval.ts";
import type { SharedTuples } from "./shared_tuples.ts";
import type { WriteBatch } from "../../platform/write_batch.ts";

/** The result of a turn. */
export interface TurnResult {
  /** After Cancel, the new conversation. */
  readonly conversation: Conversation;
  readonly row: FlowRow;
  readonly kind: "challenge" | "accept" | "reject";
  /** The attributes of an Access-Accept, otherwise `null`. */
  readonly reply: AcceptReply | null;
}

/** Receives the end of a turn. Exactly one function is called, once, and never before the call that began the turn has returned. */
export interface TurnListener {
  /** The result is recorded. `null`: another request ended the conversation meanwhile. */
  finished(result: TurnResult | null): void;
  /** A UserLeftError, ConcurrentUpdateError, ApprovalUsedError, or an error of the store: no answer may be sent. */
  failed(fault: unknown): void;
}

/** The changes of one packet, until they are committed. */
export interface Turn {
  conversation: Conversation;
  readonly attempt: LoginAttempt;
  readonly lastAnswer: LastAnswer;
  readonly typed: PasswordDigests;
  /** The ordered id of the older login that this one replaces after its first factor. */
  replaces: string | null;
  /** Conversations that end in the same commit. */
  readonly ended: Conversation[];
  readonly batch: WriteBatch;
  readonly listener: TurnListener;
}

/** Settings of logins. They can change. */
export interface LoginSettings {
  /** The form of State. `auto` adds a token if the tuple does not distinguish logins. */
  readonly state: "auto" | "name" | "token";
  readonly conversationTtlMs: number;
  readonly loginJoinWindowMs: number;
}

export interface StateMachineDeps extends FlowContextDeps, UpstreamDeps {
  readonly store: Store;
  readonly conversations: ConversationStore;
  readonly acceptAttributes: AcceptAttributes;
  readonly sentPasscodes: SentPasscodes;
  readonly offboarding: Offboarding;
  readonly orderedId: () => string;
  readonly sharedTuples: SharedTuples;
  readonly logins: LoginSettings;
  /** The directory whose users log in. */
  readonly target: () => string;
  /** Called after each commit, for the live views. */
  readonly changed: (conversation: Conversation) => void;
}

/** The user is being removed from the directory, so nothing more is recorded for the user. */
export class UserLeftError extends Error {}

/** Ends the older login of the tuple. From now on, the bare name selects the new one. */
export function replaceOlder({ conversations, secondFactor }: StateMachineDeps, turn: Turn): void {
  const { conversation, replaces, ended, batch } = turn;
  turn.replaces = null;
  if (replaces === null) return;
  const older = conversations.unpark(replaces);
  conversations.claimTuple(conversation);
  if (older === null || older.outcome !== null || (older.signed && !conversation.signed)) return;
  conversations.end(older, "superseded", "superseded");
  ended.push(older);
  const { requestId } = older;
  if (requestId !== null) batch.whenCommitted(() => void secondFactor.cancel(requestId));
}

/**
 * The attributes of an Access-Accept that is sent again: those of the settings, of the user's groups, of the policy, and of the first-factor
 * server. The directory has prepared the user. `null`: see `acceptReplyOf()`.
 */
export function repeatedReplyOf(deps: StateMachineDeps, conversation: Conversation): AcceptReply | null {
  const { policy } = conversation;
  const named = policy === "" ? null : deps.policies.registry.current.byName(policy);
  return acceptReplyOf(deps, conversation, { ofPolicy: attributesOf(named) });
}

/** Adds the row to the history of the conversation. */
export function addRowMoment(deps: StateMachineDeps, { conversation }: Turn, row: FlowRow): void {
  conversation.updatedMs = deps.clock.nowMs();
  addMoment(conversation, { atMs: conversation.updatedMs, step: row.to, row: row.name });
}

/**
 * Makes one atomic commit: the record of the conversation (if its version is unchanged), the records of ended conversations, and the batch.
 *
 * @throws UserLeftError, ConcurrentUpdateError, or an error of the store: nothing was recorded
 */
export function commitTurn(deps: StateMachineDeps, turn: Turn): Promise<void> {
  const { conversation, ended } = turn;
  const left = userLeft(deps, conversation);
  if (left !== null) return Promise.reject(left);
  const { mutations, checks } = turn.batch;
  if (conversation.overtaken) {
    const keys = [conversationKey(conversation.orderedId), ...basisKeys({ checks, mutations })];
    return Promise.reject(lostRace(conversation, keys));
  }
  const writing = deps.conversations.record(conversation);
  const journal = add(writing, { checks, mutations });
  for (const older of ended) {
    mutations.push(
      historyMutation(older, { target: deps.target() }),
      // For the timeline of the user, and for the log export, which follows the audit log.
      auditLogin(older, {
        action: `login.${older.outcome ?? "cancelled"}`,
        factor: older.factor,
        ...factorFields(older),
      }),
    );
    // A replaced login may have its own commit in progress, so its version is unknown.
    if (older.outcome === "superseded") mutations.push(deps.conversations.recordEnd(older));
    else add(deps.conversations.record(older), { checks, mutations });
  }
  return deps.store.commit({ checks, mutations, journal }).then((outcome) => {
    if (!outcome.ok) throw lostRace(conversation, basisKeys({ checks, mutations }));
    const { versionstamp } = outcome;
    adoptCommit(deps, turn, { versionstamp, stored: journal === undefined ? { versionstamp } : "journal" });
  });
}

/** The records that a commit depended on. */
function basisKeys({ checks, mutations }: Pick<WriteBatch, "checks" | "mutations">): Deno.KvKey[] {
  const based = mutations.flatMap((mutation) =>
    mutation.type !== "audit" && mutation.basis !== undefined ? [mutation.key] : []
  );
  return [...checks.map(({ key }) => key), ...based];
}

function lostRace({ orderedId }: Conversation, keys: readonly Deno.KvKey[]): ConcurrentUpdateError {
  return new ConcurrentUpdateError(
    `Cannot advance conversation "${orderedId}": what it depends on was changed elsewhere`,
    keys,
  );
}

/** Records the last packet of the conversation, so that a retransmission is recognized, also by another node. */
export function noteAnswer({ conversation, lastAnswer, typed }: Turn): void {
  conversation.lastAnswer = lastAnswer;
  conversation.answerDigest = typed.digest;
  conversation.peerDigests = typed.peerDigests;
  conversation.interrupted = false;
}

/** Updates memory after a commit. */
function adoptCommit(
  deps: StateMachineDeps,
  { conversation, ended, batch }: Turn,
  { versionstamp, stored }: { versionstamp: string; stored: Conversation["stored"] },
): void {
  conversation.stored = stored;
  for (const older of ended) {
    older.stored = { versionstamp };
    deps.changed(older);
  }
  batch.committed();
  ended.length = 0;
  deps.changed(conversation);
}

/** The error of a turn whose user is being removed or was removed; otherwise `null`. */
function userLeft({ offboarding }: StateMachineDeps, conversation: Conversation): UserLeftError | null {
  if (offboarding.mayRecord(conversation)) return null;
  return new UserLeftError(
    `Cannot advance conversation "${conversation.orderedId}": its user is being removed`,
  );
}

/** Whether a turn writes only the first record of its conversation: the first challenge of most logins. */
export function isFirstRecordOnly({ conversation, ended, batch }: Turn): boolean {
  return conversation.stored === "not" && ended.length === 0 && batch.isEmpty;
}

/**
 * Does what {@link commitTurn} does for a turn that writes only its first record, and then ends the turn. It needs no promise, because
 * the journal calls the object that it returns the result to.
 */
export class FirstRecord implements JournalListener {
  readonly #deps: StateMachineDeps;
  readonly #turn: Turn;
  readonly #result: TurnResult;

  constructor(deps: StateMachineDeps, turn: Turn, result: TurnResult) {
    this.#deps = deps;
    this.#turn = turn;
    this.#result = result;
  }

  /** @throws UserLeftError */
  begin(): void {
    const { conversation } = this.#turn;
    const left = userLeft(this.#deps, conversation);
    if (left !== null) throw left;
    this.#deps.conversations.recordFirst(conversation, this);
  }

  recorded(): void {
    adoptCommit(this.#deps, this.#turn, { versionstamp: "", stored: "journal" });
    this.#turn.listener.finished(this.#result);
  }

  notRecorded(fault: unknown): void {
    failTurn(this.#turn, fault);
  }
}

/** Undoes the changes of a turn in memory, and ends it. */
export function failTurn({ batch, listener }: Turn, fault: unknown): void {
  batch.rollBack();
  listener.failed(fault);
}

/** Adds the write of a record to a transaction, or returns its journal line. */
function add(
  writing: RecordWrite,
  { checks, mutations }: { checks: Check[]; mutations: Mutation[] },
): JournalLine | undefined {
  if ("journal" in writing) return writing.journal;
  checks.push(writing.check);
  mutations.push(writing.mutation);
  return undefined;
}

/** Another packet changed the conversation, or a record that it depends on, first. */
export class ConcurrentUpdateError extends Error {
  /** The records to read again. */
  readonly keys: readonly Deno.KvKey[];

  constructor(message: string, keys: readonly Deno.KvKey[]) {
    super(message);
    this.keys = keys;
  }
}

/** Another login was accepted with the same approval. */
export class ApprovalUsedError extends Error {}

/** Longer than the life of any conversation. */
const USE_STORED_MS = 24 * 3600_000;

/**
 * Adds the use of an approval of an external service to the commit of an Access-Accept, because the service can give two logins the same
 * request. Returns the key of the use, or `null` if there is no such approval.
 */
export function useApproval(
  { secondFactor }: { secondFactor: SecondFactorService },
  { requestId, factor }: Conversation,
  batch: WriteBatch,
): Deno.KvKey | null {
  if (secondFactor.embedded || requestId === null || factor !== "device") return null;
  const key = ["request_used", requestId];
  batch.checks.push({ key, versionstamp: null });
  batch.mutations.push({ type: "set", key, value: true, expireInMs: USE_STORED_MS });
  return key;
}

/** Notes in the commit of an Access-Accept which of several phones approved it, so that it is asked first the next time. */
export function notePhone(
  { pairings, clock }: Pick<StateMachineDeps, "pairings" | "clock">,
  { conversation: { user, factor, pairingId: id, requestId }, batch }: Turn,
): void {
  if (factor !== "device" || id === null || requestId === null) return;
  const approved = approvedPhone(pairings.usable(user), { id, nowMs: clock.nowMs() });
  if (approved === null) return;
  batch.mutations.push(pairings.prepareChange(approved).mutation);
  batch.whenCommitted(() => pairings.adopt(approved));
}

/** @throws ApprovalUsedError if the commit failed because another login had used the approval, otherwise `fault` */
export async function explainRace(
  { store }: { store: Store },
  fault: unknown,
  key: Deno.KvKey,
): Promise<never> {
  if (fault instanceof ConcurrentUpdateError && (await store.get(key)).versionstamp !== null) {
    throw new ApprovalUsedError(`Cannot accept: the approval "${String(key[1])}" let another login in`);
  }
  throw fault;
}

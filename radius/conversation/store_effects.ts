// A turn, which is the changes of one packet on its conversation until they are committed, and the effects that call no other service: each one
// changes the conversation and adds its records to the commit.

import type { Store } from "../../platform/store.ts";
import type { WriteBatch } from "../../platform/write_batch.ts";
import { approvedPhone } from "../factors/own_factors.ts";
import type { Failures } from "../factors/lockout.ts";
import type { Offboarding } from "../factors/offboarding.ts";
import { pairingDetails } from "../factors/pairing.ts";
import type { AcceptAttributes } from "../factors/reply_attributes.ts";
import type { SentPasscodes } from "../factors/sent_passcodes.ts";
import type { Facts } from "../flow/context.ts";
import type { Effect, FlowRow } from "../flow/flow.ts";
import type { SecondFactorService } from "../ports.ts";
import type { LoginAttempt } from "../server/request.ts";
import { type Conversation, type LastAnswer, newConversation, type PasswordDigests } from "./conversation.ts";
import type { ConversationStore } from "./conversation_store.ts";
import { logNotSent, type UpstreamDeps } from "./effects.ts";
import { type AcceptReply, keepOldPassword, notePasswordChange } from "./sealed_fields.ts";
import type { FlowContextDeps } from "./flow_context.ts";
import { auditLogin } from "./ended_logins.ts";
import { placeOfTuple, type SharedTuples } from "./tuple.ts";

export interface TurnResult {
  /** After Cancel, the new conversation. */
  readonly conversation: Conversation;
  readonly row: FlowRow;
  readonly kind: "challenge" | "accept" | "reject";
  /** The attributes of an Access-Accept, otherwise `null`. */
  readonly reply: AcceptReply | null;
}

/** Receives the end of a turn. Exactly one of the last two functions is called, once, and never before the call that began the turn has returned. */
export interface TurnListener {
  /** Cancel began another conversation in this turn. Packets that find it wait for the turn, too. */
  began(conversation: Conversation): void;
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

export interface TurnDeps extends FlowContextDeps, UpstreamDeps {
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

export function applyStoreEffect(
  deps: TurnDeps,
  effect: Effect,
  turn: Turn,
  facts: Facts,
  row: FlowRow,
): void {
  const { conversation, attempt } = turn;
  const draft = turn.batch.mutations;
  const user = { canonical: conversation.user, shown: conversation.shownUser };
  switch (effect) {
    case "note_first_factor":
      conversation.firstFactorRight = true;
      return replaceOlder(deps, turn);
    case "replace_older":
      return replaceOlder(deps, turn);
    case "keep_old_password":
      return keepOldPassword(deps, conversation, attempt);
    case "keep_new_password":
      return notePasswordChange(deps, conversation, { typed: attempt.password });
    case "forget_new_password":
      return notePasswordChange(deps, conversation, { next: null });
    case "note_factor":
      return notePasswordChange(deps, conversation, { hasFactor: true });
    case "finish_password_change":
      return finishPasswordChange(turn);
    case "count_failure":
      return countFailure(deps, turn, facts);
    case "count_failure_if_checked":
      if (facts.guessChecked) countFailure(deps, turn, facts);
      return;
    case "count_failure_if_passcode":
      if (facts.passcodeOutstanding) countFailure(deps, turn, facts);
      return;
    case "count_refused_send":
      conversation.passcode = null;
      return countRefusedSend(deps, turn, facts);
    case "clear_failures": {
      const before = deps.limits.failures(conversation.user);
      const cleared = deps.limits.clear(conversation.user);
      if (cleared === null) return;
      draft.push(cleared);
      turn.batch.whenFailed(() => deps.limits.restore(conversation.user, before));
      return;
    }
    case "note_no_factor":
      return void (conversation.factor = null);
    case "remember_device":
      return rememberDevice(deps, turn);
    case "remember_number":
      return rememberNumber(deps, turn, facts);
    case "store_pairing":
      if (conversation.newPairingId !== null) {
        const wanted = {
          kind: "device",
          id: conversation.newPairingId,
          totpLength: attempt.newPairingTotpLength,
          name: attempt.newPairingName,
        } as const;
        storePairing(deps, turn, deps.pairings.prepare(user, wanted));
      }
      return;
    case "keep_passcode":
      return keepPasscode(deps, turn);
    case "take_kept_passcode":
      return takeKeptPasscode(deps, turn);
    case "take_totp_step":
      return useTotpStep(deps, turn);
    case "take_recovery_code":
      return useRecoveryCode(deps, turn);
    case "take_bypass_code":
      return useBypassCode(deps, turn);
    case "start_over":
      return startOver(deps, turn, row);
    case "drop_request":
      return dropRequest(deps, turn);
  }
}

function finishPasswordChange({ conversation, attempt, batch }: Turn): void {
  const { firstFactorBackend: backend } = attempt.client.settings;
  conversation.passwordChange = "";
  batch.mutations.push(auditLogin(conversation, { action: "password.change", backend }));
}

/** Begins again at the menu. A password that is to be changed stays due, and the new one is asked for again. */
function startOver(deps: TurnDeps, turn: Turn, row: FlowRow): void {
  const { conversation } = turn;
  const { conversations } = deps;
  dropRequest(deps, turn);
  const before = { ...conversation };
  if (before.passwordChange !== "") notePasswordChange(deps, before, { next: null, hasFactor: false });
  conversations.end(conversation, "cancelled", row.name);
  turn.ended.push(conversation);
  const begun = turn.conversation = begunAgain(deps, before);
  conversations.add(begun);
  turn.batch.whenFailed(() => conversations.remove(begun));
  turn.listener.began(begun);
}

/** The conversation that replaces another one after Cancel. A right first factor stays right, but the deadline is not extended. */
function begunAgain(
  { sharedTuples, orderedId, clock, logins: { state, conversationTtlMs: ttlMs } }: TurnDeps,
  old: Conversation,
): Conversation {
  const isShared = state === "auto" && sharedTuples.isShared(placeOfTuple(old.tuple, old.user));
  const begun = newConversation(
    { ...old, hasToken: old.hasToken || isShared },
    { orderedId: orderedId(), nowMs: clock.nowMs(), ttlMs },
  );
  return old.firstFactorRight ? { ...begun, deadlineMs: old.deadlineMs } : begun;
}

/**
 * Remembers the device of this login, so that its next logins need no second factor for a time. Without a signature, its Calling-Station-Id may have
 * been changed on the way.
 */
function rememberDevice({ policies }: TurnDeps, { conversation, attempt, batch }: Turn): void {
  const hours = conversation.signed ? attempt.policy?.rememberHours ?? 0 : 0;
  const { at, factor } = conversation;
  const used = at === "asking_otp" ? "device_code" : factor;
  if (hours === 0 || used === null || used === "recovery" || used === "bypass") return;
  const change = policies.remembered.prepareRemember(conversation, { hours, used });
  if (change === null) return;
  batch.mutations.push(...change.mutations);
  batch.whenCommitted(change.done);
}

/**
 * Keeps the passcode of a login's first packet for the next login, because a client that only sends passwords takes a challenge for a Reject.
 * Without a passcode, nothing was sent.
 */
function keepPasscode(
  { sentPasscodes, pairings }: TurnDeps,
  { conversation, attempt, batch }: Turn,
): void {
  const { passcode, secretId, user, orderedId } = conversation;
  const isAppended = attempt.appended !== null || attempt.client.settings.appendMode;
  if (passcode === null || attempt.answer !== null || !isAppended) return;
  const { factor, number, digest, expiresMs } = passcode;
  const pairing = pairings.usable(user).find((one) => one.kind === factor && one.number === number);
  if (pairing === undefined) return;
  const kept = sentPasscodes.prepareKeep(conversation, {
    ...{ factor, digest, secretId, expiresMs },
    ...{ pairing: pairing.id, conversation: orderedId },
  });
  batch.mutations.push(kept.mutation);
  batch.whenFailed(kept.undo);
}

/** A passcode counts once, as the answer to a challenge or in the next login. A wrong answer to the challenge ends it, too. */
function takeKeptPasscode(deps: TurnDeps, turn: Turn): void {
  const { sentPasscodes, conversations } = deps;
  const { conversation, attempt, batch } = turn;
  const kept = sentPasscodes.of(conversation);
  if (kept === null) return;
  if (attempt.appended?.kind === "code") {
    conversation.factor = kept.factor;
    const sentFor = kept.conversation === undefined ? null : conversations.unpark(kept.conversation);
    // It would accept the passcode again.
    if (sentFor?.outcome === null && sentFor.passcode?.digest === kept.digest) supersede(deps, turn, sentFor);
  }
  const used = sentPasscodes.prepareUse(conversation);
  batch.mutations.push(used.mutation);
  batch.whenFailed(used.undo);
}

/** Uses up the time step or the counter of the typed code. */
function useTotpStep(
  { pairings, hardwareTokens }: TurnDeps,
  { conversation, attempt, batch }: Turn,
): void {
  const { totp } = attempt;
  if (!totp) return;
  conversation.factor = "totp";
  if ("tokenCode" in totp) {
    const { token, use } = totp.tokenCode;
    conversation.token = token.record.serial;
    const used = hardwareTokens.prepareUse(token, use);
    batch.mutations.push(...used.mutations);
    batch.checks.push(...used.checks);
    return batch.whenFailed(used.undo);
  }
  // On one node, memory alone decides. What this packet found may be older: another one may have used the code, or the app was removed.
  const unused = pairings.of(conversation.user).find(({ id }) => id === totp.pairing.id);
  if (unused?.kind !== "totp" || unused.lastStep >= totp.step) {
    throw new ConcurrentUpdateError(`Cannot use a code of "${conversation.user}": it was used meanwhile`, []);
  }
  const used = pairings.prepareUsedStep(unused, totp);
  batch.mutations.push(...used.mutations);
  batch.journal.push(...used.journal);
  batch.whenCommitted(used.done);
  // Before the commit, so that no second conversation uses the same time step meanwhile.
  const version = pairings.adopt(used.pairing);
  batch.whenFailed(() => {
    if (pairings.versionOf(unused.id) === version) pairings.adopt(unused);
  });
}

/** Removes the code before the commit, so that no second login uses it meanwhile. */
function useRecoveryCode(deps: TurnDeps, turn: Turn): void {
  const { conversation, attempt } = turn;
  const digest = attempt.recoveryCode ?? null;
  const used = digest === null ? null : deps.recoveryCodes.prepareUse(conversation.user, digest);
  if (used === null) {
    throw new ConcurrentUpdateError(`Cannot use a recovery code of "${conversation.user}": it is gone`, []);
  }
  conversation.factor = "recovery";
  turn.batch.checks.push(used.check);
  turn.batch.mutations.push(used.mutation);
  turn.batch.whenFailed(used.restore);
}

/** Takes one use before the commit, so that no second login takes it meanwhile. The use has an audit record of its own. */
function useBypassCode(deps: TurnDeps, { conversation, batch }: Turn): void {
  const used = deps.bypassCodes.prepareUse(conversation.user);
  if (used === null) {
    throw new ConcurrentUpdateError(`Cannot use the bypass code of "${conversation.user}": it is gone`, []);
  }
  const { usesLeft } = used;
  const left = usesLeft === null ? {} : { usesLeft };
  conversation.factor = "bypass";
  batch.checks.push(used.check);
  batch.mutations.push(
    ...used.mutations,
    auditLogin(conversation, { action: "bypass.use", bypass: used.id, ...left }),
  );
  batch.whenFailed(used.restore);
}

/** Counts a failure, which can lock the user. For a name that does not exist, nothing is stored. */
function countFailure(
  deps: TurnDeps,
  { conversation, batch }: Turn,
  { userExists }: Facts,
): void {
  const { limits, counters, log } = deps;
  const { user, shownUser } = conversation;
  const stored = userExists ? limits.countFailure(user) : null;
  const { locked, failures }: { locked: boolean; failures: Failures } = stored ??
    limits.countStrangerFailure(user);
  if (stored !== null) {
    batch.mutations.push(stored.mutation);
    batch.whenFailed(stored.undo);
  }
  // A packet that loses a race is handled again, and counts once.
  batch.whenCommitted(() => {
    limits.noteFailure({ locked });
    counters.count("failures");
    if (!locked) return;
    counters.count("locks");
    log.warn("user locked after too many failures", {
      user: shownUser,
      until: failures.hardLocked
        ? "an administrator unlocks"
        : new Date(failures.lockedUntilMs).toISOString(),
    });
  });
  if (!locked) return;
  const { hardLocked: hard, total } = failures;
  batch.mutations.push(auditLogin(conversation, { action: "user.locked", hard, failures: total }));
  if (hard) endBypassCode(deps, conversation, batch);
}

/** An unlock by an administrator must not make a code valid again that was being guessed. */
function endBypassCode(
  { bypassCodes }: TurnDeps,
  conversation: Turn["conversation"],
  batch: Turn["batch"],
): void {
  const bypass = bypassCodes.status(conversation.user)?.id;
  const { mutations, restore } = bypassCodes.removeUser(conversation.user);
  if (mutations.length === 0) return;
  batch.mutations.push(...mutations);
  if (bypass !== undefined) {
    batch.mutations.push(
      auditLogin(conversation, { action: "bypass.revoke", bypass, because: "locked" }),
    );
  }
  batch.whenFailed(restore);
}

/** Counts and logs a typed number that gets no message. For a name that does not exist, nothing is counted. */
function countRefusedSend(
  deps: TurnDeps,
  { conversation, attempt, batch }: Turn,
  { userExists }: Facts,
): void {
  const reason = attempt.notSent ?? "not_a_number";
  const call = conversation.at === "GET_VOICE_PHONE_NUMBER" ? "call" : "text";
  batch.whenCommitted(() => logNotSent(deps, call, conversation, reason));
  // Another try does not extend a limit that is reached.
  if (!userExists || reason.endsWith("_limit")) return;
  batch.mutations.push(deps.limits.countRefusedSend(conversation.user));
  batch.whenFailed(() => deps.limits.uncountRefusedSend(conversation.user));
}

/** Stores the number as verified, if the user may enrol. A number of the directory that was used is a factor in any case. */
function rememberNumber(deps: TurnDeps, turn: Turn, facts: Facts): void {
  const { conversation: { user: canonical, shownUser: shown, passcode }, batch } = turn;
  if (passcode === null) return;
  const { factor: kind, number } = passcode;
  if (facts.mayStoreNumber) {
    return storePairing(deps, turn, deps.pairings.prepare({ canonical, shown }, { kind, number }));
  }
  if (!(kind === "sms" ? facts.smsNumbers : facts.voiceNumbers).includes(number)) return;
  const mark = deps.factorMarks.prepare(canonical);
  batch.mutations.push(...mark.mutations);
  batch.whenCommitted(mark.done);
}

function storePairing(
  deps: TurnDeps,
  turn: Turn,
  prepared: ReturnType<TurnDeps["pairings"]["prepare"]>,
): void {
  const { pairing, mutation, marking } = prepared;
  turn.batch.mutations.push(
    mutation,
    ...marking,
    auditLogin(turn.conversation, { action: "pairing.add", ...pairingDetails(pairing), how: "login" }),
  );
  turn.batch.whenCommitted(() => deps.pairings.adopt(pairing));
}

function dropRequest(deps: TurnDeps, { conversation, batch }: Turn): void {
  const { requestId } = conversation;
  if (requestId === null) return;
  conversation.requestId = null;
  batch.whenCommitted(() => void deps.secondFactor.cancel(requestId));
}

/** Ends the older login of the tuple. From now on, the bare name selects the new one. */
export function replaceOlder(deps: TurnDeps, turn: Turn): void {
  const { conversations } = deps;
  const { conversation, replaces } = turn;
  turn.replaces = null;
  if (replaces === null) return;
  const older = conversations.unpark(replaces);
  conversations.claimTuple(conversation);
  if (older === null || older.outcome !== null || (older.signed && !conversation.signed)) return;
  supersede(deps, turn, older);
}

/** Ends another login in the commit of this one. If that fails, it goes on: memory would not record its end with the next try. */
function supersede(
  { conversations, secondFactor, offboarding }: TurnDeps,
  { ended, batch }: Turn,
  older: Conversation,
): void {
  const { passcode, passwordChange, updatedMs } = older;
  const moments = older.moments.slice();
  conversations.end(older, "superseded", "superseded");
  batch.whenFailed(() => {
    if (conversations.unpark(older.orderedId) !== older || offboarding.hasLeft(older)) return;
    conversations.remove(older);
    conversations.add(Object.assign(older, { outcome: null, passcode, passwordChange, updatedMs, moments }));
  });
  ended.push(older);
  const { requestId } = older;
  if (requestId !== null) batch.whenCommitted(() => void secondFactor.cancel(requestId));
}

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
  { pairings, clock }: Pick<TurnDeps, "pairings" | "clock">,
  { conversation: { user, factor, pairingId: id, requestId }, batch }: Turn,
): void {
  if (factor !== "device" || id === null || requestId === null) return;
  const approved = approvedPhone(pairings.usable(user), { id, nowMs: clock.nowMs() });
  if (approved === null) return;
  batch.mutations.push(pairings.prepareChange(approved).mutation);
  const version = pairings.versionOf(id);
  // During the commit, the phone may be revoked, or its user renamed.
  batch.whenCommitted(() => {
    if (pairings.versionOf(id) === version) pairings.adopt(approved);
  });
}

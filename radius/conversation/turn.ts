// Advances a conversation by one packet (a turn): follows rows of the flow table, makes their effects, and commits before the answer is sent.

import { callsUpstream, type Effect, EFFECTS, type FlowRow, step } from "../flow/flow.ts";
import type { Facts, UsedFactor } from "../flow/context.ts";
import { type FlowPlace, isStep } from "../protocol/steps.ts";
import { gatherFacts } from "./flow_context.ts";
import { addDecision, addMoment, type Conversation, factorFields, NO_NUMBERS } from "./conversation.ts";
import { conversationKey } from "./conversation_codec.ts";
import { acceptReplyOf } from "./sealed_fields.ts";
import { auditLogin, historyMutation } from "./ended_logins.ts";
import { decideLoginPolicy } from "./login_policy.ts";
import { WRONG_CODE_ROWS } from "./login_record.ts";
import {
  applyStoreEffect,
  ApprovalUsedError,
  ConcurrentUpdateError,
  notePhone,
  replaceOlder,
  type Turn,
  type TurnDeps,
  type TurnResult,
  useApproval,
  UserLeftError,
} from "./store_effects.ts";
import { prepareEffect } from "./effects.ts";
import { prepareUserAgain } from "./waiting_packets.ts";
import type { JournalListener } from "../../platform/journal.ts";
import type { Store } from "../../platform/store.ts";
import { StoreUnavailable } from "../../platform/store_fault.ts";
import { WriteBatch } from "../../platform/write_batch.ts";

/** No path through the table has so many rows. This bound ends the loop even if the table has a cycle. */
const MAX_ROWS = 16;

/** After an outage of the store, a message must not reach a user whose login is over. No client waits longer. */
const MAX_CLAIM_MS = 60_000;
const MENU = "CHOOSE_WHICH_MULTIFACTOR";

/**
 * Advances a conversation by one packet.
 *
 * @param packet.replaces the ordered id of an older login that this one replaces; the next commit ends it
 * @param packet.listener receives the result
 */
export function advanceConversation(
  deps: TurnDeps,
  packet: Pick<Turn, "conversation" | "attempt" | "lastAnswer" | "typed" | "replaces" | "listener">,
): void {
  const { conversation, attempt, lastAnswer, typed, replaces, listener } = packet;
  const turn: Turn = {
    conversation,
    attempt,
    lastAnswer,
    typed,
    replaces,
    listener,
    ended: [],
    batch: new WriteBatch(),
  };
  try {
    const from = firstPlace(deps, turn);
    if (packet.attempt.client.settings.firstFactor === "none") replaceOlder(deps, turn);
    advance(deps, turn, from);
  } catch (fault) {
    queueMicrotask(() => failTurn(turn, fault));
  }
}

function firstPlace(deps: TurnDeps, { conversation, attempt }: Turn): FlowPlace {
  if (attempt.approvalUsed) return "asking";
  // The user is known only since the server accepted the request, so the flow begins behind the first factor.
  if (attempt.relayed !== null) return "first_factor";
  if (attempt.holdsAgain) {
    // The policies can differ from those before the restart. The rows of every step say what follows then.
    attempt.policy = decideLoginPolicy(deps, conversation);
    const isChanged = attempt.policy.denies || attempt.policy.forbids(conversation.at);
    return isChanged ? conversation.at : "pushing";
  }
  return attempt.answer === null ? "start" : conversation.at;
}

/** Follows rows until one calls another service or the turn ends. For most packets, the commit is the only wait. */
function advance(deps: TurnDeps, turn: Turn, from: FlowPlace): void {
  let place = from;
  let facts = gatherFacts(deps, turn.conversation, turn.attempt);
  for (let count = 0; count < MAX_ROWS; count++) {
    const row = step(place, facts);
    if (callsUpstream(row)) return void advanceUpstream(deps, turn, facts, row);
    for (const effect of row.then) applyStoreEffect(deps, effect, turn, facts, row);
    if (endAt(deps, turn, facts, row)) return;
    // A row without effects changed nothing that a condition reads.
    if (row.then.length > 0) facts = gatherFacts(deps, turn.conversation, turn.attempt);
    place = row.to as FlowPlace;
  }
  throw new Error(`Cannot end the turn at "${place}": over ${MAX_ROWS} rows`);
}

/** Makes the effects of a row that calls another service, then continues with its result. Never rejects. */
async function advanceUpstream(
  deps: TurnDeps,
  turn: Turn,
  facts: Facts,
  row: FlowRow,
): Promise<void> {
  let isEnded: boolean;
  try {
    isEnded = await isEndedInEffects(deps, turn, facts, row);
    if (!isEnded && !endAt(deps, turn, facts, row)) advance(deps, turn, row.to as FlowPlace);
  } catch (fault) {
    return failTurn(turn, fault);
  }
  if (!isEnded) return;
  cancelOpenRequest(deps, turn.conversation);
  turn.listener.finished(null);
}

/** Makes the effects of a row. Returns whether another request ended the conversation meanwhile. */
async function isEndedInEffects(
  deps: TurnDeps,
  turn: Turn,
  facts: Facts,
  row: FlowRow,
): Promise<boolean> {
  for (const effect of row.then) {
    if (!EFFECTS[effect].upstream) applyStoreEffect(deps, effect, turn, facts, row);
    else await applyUpstreamEffect(deps, effect, turn, facts, row);
    if (turn.conversation.outcome !== null) return true;
  }
  const isPassage = row.to !== "accept" && row.to !== "reject" && !isStep(row.to);
  const pending = isPassage ? prepareUserAgain(deps, turn.conversation.user) : null;
  if (pending !== null) await pending;
  return turn.conversation.outcome !== null;
}

/** Ends the turn if the row leads to a step or to the end of the login. `false` if it leads into a passage. */
function endAt(deps: TurnDeps, turn: Turn, facts: Facts, row: FlowRow): boolean {
  const tried = triedFactor(row, facts);
  if (tried !== null) turn.conversation.factor = tried;
  if (row.to === "accept" || row.to === "reject") {
    finish(deps, turn, row, row.to);
    return true;
  }
  if (!isStep(row.to)) return false;
  turn.conversation.numbers = numbersOf(row, facts);
  finish(deps, turn, row, "challenge");
  return true;
}

/**
 * The factor of a code that a prompt asks for or that was wrong; `null` for other rows. Effects note the factors of pushes, messages and
 * right codes.
 */
function triedFactor({ name, from, to }: FlowRow, facts: Facts): UsedFactor | null {
  if (from === "VERIFY_VOICE_PHONE_NUMBER" && to === "reject") return "voice";
  const isAsked = to === "GET_DEVICE_GENERATED_PASSCODE" && (from === "factor" || from === MENU);
  if (!isAsked && !WRONG_CODE_ROWS.has(name)) return null;
  if (facts.appended?.kind === "bypass" || facts.answerIsBypassCode && facts.hasBypassCode) return "bypass";
  if (facts.answerIsRecoveryCode && facts.hasRecoveryCodes) return "recovery";
  if (facts.ready.totp) return "totp";
  return facts.hasRecoveryCodes ? "recovery" : facts.hasBypassCode ? "bypass" : null;
}

/** The choices that the prompt of a row offers by line number. */
function numbersOf({ prompt, to }: FlowRow, facts: Facts): readonly string[] {
  if (prompt === "which_sms_number") return facts.smsNumbers;
  if (prompt === "which_voice_number") return facts.voiceNumbers;
  return to === "SECONDFACTOR_AWAIT_DEVICE_APPROVAL" && facts.phones.several
    ? facts.phones.entries
    : NO_NUMBERS;
}

/** Cancels a request that was opened while its conversation ended. Otherwise the phone would continue to show it. */
function cancelOpenRequest({ secondFactor }: TurnDeps, { requestId }: Conversation): void {
  if (requestId !== null) void secondFactor.cancel(requestId);
}

async function applyUpstreamEffect(
  deps: TurnDeps,
  effect: Effect,
  turn: Turn,
  facts: Facts,
  row: FlowRow,
): Promise<void> {
  const { conversation, attempt } = turn;
  const prepared = prepareEffect(deps, effect, { conversation, attempt, facts });
  turn.batch.mutations.push(...prepared.mutations);
  if (prepared.undo !== undefined) turn.batch.whenFailed(prepared.undo);
  if (row.to !== "accept" && row.to !== "reject") conversation.at = row.to;
  if ("claimed" in EFFECTS[effect]) {
    // After a restart, the server recognizes the same answer and does not make the effect again.
    noteAnswer(turn);
    addRowMoment(deps, turn, row);
    await commitTurn(deps, turn);
    if (conversation.outcome !== null) return;
    if (deps.clock.nowMs() - attempt.receivedMs > MAX_CLAIM_MS) {
      throw new StoreUnavailable(
        "The claim of an effect was recorded too late: its client does not wait any more",
      );
    }
  }
  await prepared.perform();
}

function finish(
  deps: TurnDeps,
  turn: Turn,
  row: FlowRow,
  kind: TurnResult["kind"],
): void {
  const { conversation } = turn;
  let approvalKey: Deno.KvKey | null = null;
  conversation.round++;
  conversation.prompt = row.prompt;
  conversation.policy = turn.attempt.policy?.name ?? "";
  noteAnswer(turn);
  if (kind === "challenge") {
    conversation.at = row.to as FlowPlace;
    addRowMoment(deps, turn, row);
  } else {
    const outcome = kind === "accept" ? "accepted" : "rejected";
    const { refusedFor, denial, decision, decidedMs } = turn.attempt;
    if (decidedMs !== undefined && (decision === "granted" || decision === "denied")) {
      addDecision(conversation, { decidedMs, denial, nowMs: deps.clock.nowMs() });
    }
    if (kind === "accept") {
      if (conversation.passwordChange !== "") {
        throw new Error(`Cannot accept by "${row.name}": a password is due`);
      }
      approvalKey = useApproval(deps, conversation, turn.batch);
      notePhone(deps, turn);
      turn.batch.checks.push(...deps.offboarding.departureChecks(conversation.user));
    }
    deps.conversations.end(conversation, outcome, row.name);
    turn.batch.mutations.push(
      historyMutation(conversation, { target: deps.target(), refusedFor, denial }),
      auditLogin(conversation, {
        action: `login.${outcome}`,
        row: row.name,
        because: refusedFor ?? denial?.cause ?? null,
        by: denial?.by,
        factor: conversation.factor,
        ...factorFields(conversation),
      }),
    );
  }
  // Those of the policy that was decided: meanwhile, it may have another name.
  const reply = kind === "accept"
    ? acceptReplyOf(deps, conversation, { ofPolicy: turn.attempt.policy?.attributes })
    : null;
  const result: TurnResult = { conversation, row, kind, reply };
  if (isFirstRecordOnly(turn)) return new FirstRecord(deps, turn, result).begin();
  const committed = commitTurn(deps, turn);
  const key = approvalKey;
  const explained = key === null
    ? committed
    : committed.catch((fault: unknown) => explainRace(deps, fault, key));
  explained.then(() => turn.listener.finished(result), (fault: unknown) => failTurn(turn, fault));
}

/** Adds the row to the history of the conversation. */
function addRowMoment(deps: TurnDeps, { conversation }: Turn, row: FlowRow): void {
  conversation.updatedMs = deps.clock.nowMs();
  addMoment(conversation, { atMs: conversation.updatedMs, step: row.to, row: row.name });
}

/**
 * Makes one atomic commit: the record of the conversation (if its version is unchanged), the records of ended conversations, and the batch.
 *
 * @throws UserLeftError, ConcurrentUpdateError, or an error of the store: nothing was recorded
 */
function commitTurn(deps: TurnDeps, turn: Turn): Promise<void> {
  const { conversation, ended } = turn;
  const left = userLeft(deps, conversation);
  if (left !== null) return Promise.reject(left);
  const { mutations, checks, journal } = turn.batch;
  if (conversation.overtaken) {
    const keys = [conversationKey(conversation.orderedId), ...basisKeys({ checks, mutations })];
    return Promise.reject(lostRace(conversation, keys));
  }
  /** Conversations whose record is a line of the journal. */
  const inJournal: Conversation[] = [];
  if (addRecord(deps, conversation, turn.batch)) inJournal.push(conversation);
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
    else if (addRecord(deps, older, turn.batch)) inJournal.push(older);
  }
  return deps.store.commit({ checks, mutations, journal }).then((outcome) => {
    if (!outcome.ok) throw lostRace(conversation, basisKeys({ checks, mutations }));
    adoptCommit(deps, turn, { versionstamp: outcome.versionstamp, inJournal });
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
function noteAnswer({ conversation, lastAnswer, typed }: Turn): void {
  conversation.lastAnswer = lastAnswer;
  conversation.answerDigest = typed.digest;
  conversation.peerDigests = typed.peerDigests;
  conversation.interrupted = false;
}

/** Updates memory after a commit. */
function adoptCommit(
  deps: TurnDeps,
  { conversation, ended, batch }: Turn,
  { versionstamp, inJournal }: { versionstamp: string; inJournal: readonly Conversation[] },
): void {
  conversation.stored = inJournal.includes(conversation) ? "journal" : { versionstamp };
  for (const older of ended) {
    older.stored = inJournal.includes(older) ? "journal" : { versionstamp };
    deps.changed(older);
  }
  batch.committed();
  ended.length = 0;
  deps.changed(conversation);
}

/** The error of a turn whose user is being removed or was removed; otherwise `null`. */
function userLeft({ offboarding }: TurnDeps, conversation: Conversation): UserLeftError | null {
  if (offboarding.mayRecord(conversation)) return null;
  return new UserLeftError(
    `Cannot advance conversation "${conversation.orderedId}": its user is being removed`,
  );
}

/** Whether a turn writes only the first record of its conversation: the first challenge of most logins. */
function isFirstRecordOnly({ conversation, ended, batch }: Turn): boolean {
  return conversation.stored === "not" && ended.length === 0 && batch.isEmpty;
}

/**
 * Does what {@link commitTurn} does for a turn that writes only its first record, and then ends the turn. It needs no promise, because
 * the journal calls the object that it returns the result to.
 */
class FirstRecord implements JournalListener {
  readonly #deps: TurnDeps;
  readonly #turn: Turn;
  readonly #result: TurnResult;

  constructor(deps: TurnDeps, turn: Turn, result: TurnResult) {
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
    const { conversation, batch, listener } = this.#turn;
    conversation.stored = "journal";
    batch.committed();
    this.#deps.changed(conversation);
    listener.finished(this.#result);
  }

  notRecorded(fault: unknown): void {
    failTurn(this.#turn, fault);
  }
}

/** Undoes the changes of a turn in memory, and ends it. */
function failTurn({ batch, listener }: Turn, fault: unknown): void {
  batch.rollBack();
  listener.failed(fault);
}

/** Adds the write of a record to a commit. Returns whether it is a line of the journal. */
function addRecord({ conversations }: TurnDeps, one: Conversation, batch: WriteBatch): boolean {
  const writing = conversations.record(one);
  if ("journal" in writing) {
    batch.journal.push(writing.journal);
    return true;
  }
  batch.checks.push(writing.check);
  batch.mutations.push(writing.mutation);
  return false;
}

/** @throws ApprovalUsedError if the commit failed because another login had used the approval, otherwise `fault` */
async function explainRace(
  { store }: { store: Store },
  fault: unknown,
  key: Deno.KvKey,
): Promise<never> {
  if (fault instanceof ConcurrentUpdateError && (await store.get(key)).versionstamp !== null) {
    throw new ApprovalUsedError(`Cannot accept: the approval "${String(key[1])}" let another login in`);
  }
  throw fault;
}

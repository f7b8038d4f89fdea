// Plays a conversation: asks the flow table for rows, makes their effects, and records every turn in one commit before anything leaves.

import { pairingDetails } from "../pure/pairing_details.ts";
import type { Check, JournalLine, Mutation, Store } from "../../store.ts";
import { type Effect, EFFECTS, type FlowRow } from "../facts/flow.ts";
import type { Facts } from "../facts/facts.ts";
import { isStep, type Place } from "../facts/steps.ts";
import { reachesOutside, step } from "../pure/step.ts";
import { explainRace, Raced, useApproval } from "./approval_use.ts";
import { type Attempt, type FactDeps, gatherFacts } from "./attempt.ts";
import { addMoment, type Conversation, type LastAnswer, phoneOf } from "./conversation.ts";
import type { Conversations, RecordWriting } from "./conversations.ts";
import type { AcceptAttributes } from "./accept_attributes.ts";
import { historyMutation } from "./history.ts";
import type { Leavings } from "./leaving.ts";
import { countUserFailure, refuseSend } from "./failure_count.ts";
import { auditLogin } from "./login_audit.ts";
import { type OutsideDeps, prepare } from "./outside.ts";
import { prepareAgain } from "./preparing.ts";
import { UnitOfWork } from "./unit_of_work.ts";

export interface MachineDeps extends FactDeps, OutsideDeps {
  readonly store: Store;
  readonly conversations: Conversations;
  readonly acceptAttributes: AcceptAttributes;
  readonly leavings: Leavings;
  readonly orderedId: () => string;
  /** A conversation that takes the place of another after Cancel. */
  readonly startOver: (conversation: Conversation) => Conversation;
  /** The directory whose users log in. */
  readonly target: string;
  /** Called after each commit, for whoever watches. */
  readonly changed: (conversation: Conversation) => void;
}

export interface Finished {
  /** Not the one that was played when Cancel started over. */
  readonly conversation: Conversation;
  readonly row: FlowRow;
  readonly kind: "challenge" | "accept" | "reject";
  /** Encoded attributes of an Access-Accept; `null` for other answers. */
  readonly attributes: Uint8Array | null;
}

/** More rows than any path through the table has; the loop has an end even if the table had none. */
const MOST_TURNS = 16;

const NO_NUMBERS: readonly string[] = [];

/** The user leaves the directory: nothing more is recorded for them, least of all an Accept. */
export class Left extends Error {}

/** One turn in the making. */
interface Turn {
  conversation: Conversation;
  readonly attempt: Attempt;
  readonly lastAnswer: LastAnswer;
  readonly answerDigest: string;
  /** The older login of the tuple that this one replaces, by its ordered id, once it has passed its first factor. */
  replaces: string | null;
  /** Conversations that end in the same commit. */
  readonly ended: Conversation[];
  readonly work: UnitOfWork;
}

/**
 * Plays one packet. Resolves with `null` when the conversation was ended by somebody else meanwhile: then nothing is answered.
 *
 * @param packet.replaces an older login that this one replaces, by its ordered id. Its end is written with the next commit.
 * @throws Raced, Left, or whatever the store throws: then nothing may be answered either.
 */
export function play(
  deps: MachineDeps,
  packet: Pick<Turn, "conversation" | "attempt" | "lastAnswer" | "answerDigest" | "replaces">,
): Promise<Finished | null> {
  const turn: Turn = { ...packet, ended: [], work: new UnitOfWork() };
  const from = firstPlace(turn);
  if (packet.attempt.client.policy.firstFactor === "none") replaceOlder(deps, turn);
  const playing = advance(deps, turn, from);
  return playing.catch((fault: unknown) => {
    turn.work.rollBack();
    throw fault;
  });
}

/** Ends the older login of the tuple: from now on the new one has its place. */
function replaceOlder({ conversations, secondFactor }: MachineDeps, turn: Turn): void {
  const { conversation, replaces, ended, work } = turn;
  turn.replaces = null;
  if (replaces === null) return;
  const older = conversations.awake(replaces);
  conversations.claimTuple(conversation);
  if (older === null || older.outcome !== null || (older.signed && !conversation.signed)) return;
  conversations.end(older, "superseded", "superseded");
  ended.push(older);
  const { requestId } = older;
  if (requestId !== null) work.whenCommitted(() => void secondFactor.cancel(requestId));
}

function firstPlace({ conversation, attempt }: Turn): Place {
  if (attempt.approvalUsed) return "asking";
  if (attempt.holdsAgain) return "pushing";
  return attempt.answer === null ? "start" : conversation.at;
}

/** Walks rows until one reaches outside or the turn ends. Most packets take this way alone: nothing waits but the commit. */
function advance(deps: MachineDeps, turn: Turn, from: Place): Promise<Finished | null> {
  let place = from;
  for (let count = 0; count < MOST_TURNS; count++) {
    const facts = gatherFacts(deps, turn.conversation, turn.attempt);
    const row = step(place, facts);
    if (reachesOutside(row)) return advanceOutside(deps, turn, facts, row);
    for (const effect of row.then) applyInside(deps, effect, turn, facts, row);
    const ending = endAt(deps, turn, facts, row);
    if (ending !== null) return ending;
    place = row.to as Place;
  }
  return Promise.reject(new Error(`Cannot end the turn at "${place}": over ${MOST_TURNS} rows`));
}

/** A row that reaches outside, and what follows from what was learnt there. */
async function advanceOutside(
  deps: MachineDeps,
  turn: Turn,
  facts: Facts,
  row: FlowRow,
): Promise<Finished | null> {
  for (const effect of row.then) {
    if (!EFFECTS[effect].outside) applyInside(deps, effect, turn, facts, row);
    else await applyOutside(deps, effect, turn, facts, row);
    if (turn.conversation.outcome !== null) {
      leaveNothingOpen(deps, turn.conversation);
      return null;
    }
  }
  const ending = endAt(deps, turn, facts, row);
  if (ending !== null) return await ending;
  const pending = prepareAgain(deps, turn.conversation.user);
  if (pending !== null) {
    await pending;
    if (turn.conversation.outcome !== null) {
      leaveNothingOpen(deps, turn.conversation);
      return null;
    }
  }
  return await advance(deps, turn, row.to as Place);
}

/** The end of the turn when the row leads to a step or to the end of the login; `null` when it leads into a passage. */
function endAt(deps: MachineDeps, turn: Turn, facts: Facts, row: FlowRow): Promise<Finished> | null {
  if (row.to === "accept" || row.to === "reject") return finish(deps, turn, row, row.to);
  if (!isStep(row.to)) return null;
  turn.conversation.numbers = row.say === "which_sms_number"
    ? facts.smsNumbers
    : row.say === "which_voice_number"
    ? facts.voiceNumbers
    : NO_NUMBERS;
  return finish(deps, turn, row, "challenge");
}

/** A request that was opened while its conversation ended would go on showing on the phone. */
function leaveNothingOpen({ secondFactor }: MachineDeps, { requestId }: Conversation): void {
  if (requestId !== null) void secondFactor.cancel(requestId);
}

async function applyOutside(
  deps: MachineDeps,
  effect: Effect,
  turn: Turn,
  facts: Facts,
  row: FlowRow,
): Promise<void> {
  const { conversation, attempt } = turn;
  const prepared = prepare(deps, effect, { conversation, attempt, facts });
  turn.work.mutations.push(...prepared.mutations);
  if (row.to !== "accept" && row.to !== "reject") conversation.at = row.to;
  if ("claimed" in EFFECTS[effect]) {
    // Should the server die now, the same answer sent again is known, and the effect is not made a second time.
    conversation.lastAnswer = turn.lastAnswer;
    conversation.answerDigest = turn.answerDigest;
    note(deps, turn, row);
    await commit(deps, turn);
    if (conversation.outcome !== null) return;
  }
  await prepared.perform();
}

function applyInside(deps: MachineDeps, effect: Effect, turn: Turn, facts: Facts, row: FlowRow): void {
  const { conversation, attempt } = turn;
  const draft = turn.work.mutations;
  const user = { canonical: conversation.user, shown: conversation.shownUser };
  switch (effect) {
    case "note_first_factor":
      conversation.firstFactorRight = true;
      return replaceOlder(deps, turn);
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
      draft.push(...refuseSend(deps, turn, facts));
      return;
    case "clear_failures": {
      const before = deps.limits.failures(conversation.user);
      const cleared = deps.limits.clear(conversation.user);
      if (cleared === null) return;
      draft.push(cleared);
      turn.work.whenFailed(() => deps.limits.putBack(conversation.user, before));
      return;
    }
    case "remember_number":
      if (facts.mayStoreNumber && conversation.passcode !== null) {
        const { factor, number } = conversation.passcode;
        storePairing(deps, turn, deps.pairings.prepare(user, { kind: factor, number }));
      }
      return;
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
    case "take_totp_step":
      if (attempt.totp) {
        conversation.factor = "totp";
        const unused = attempt.totp.pairing;
        const used = deps.pairings.prepareUsedStep(unused, attempt.totp.step);
        draft.push(used.mutation);
        // At once, not after the commit: a second conversation must not take the same step meanwhile.
        deps.pairings.adopt(used.pairing);
        turn.work.whenFailed(() => {
          if (deps.pairings.of(conversation.user).includes(used.pairing)) deps.pairings.adopt(unused);
        });
      }
      return;
    case "take_recovery_code":
      return takeRecoveryCode(deps, turn);
    case "start_over":
      dropRequest(deps, turn);
      deps.conversations.end(conversation, "cancelled", row.name);
      turn.ended.push(conversation);
      turn.conversation = deps.startOver(conversation);
      turn.work.whenFailed(() => deps.conversations.remove(turn.conversation));
      return;
    case "drop_request":
      return dropRequest(deps, turn);
  }
}

/** At once, not after the commit: a second login must not take the same code meanwhile. */
function takeRecoveryCode(deps: MachineDeps, turn: Turn): void {
  const { conversation, attempt } = turn;
  const digest = attempt.recoveryCode ?? null;
  const used = digest === null ? null : deps.recoveryCodes.prepareUse(conversation.user, digest);
  if (used === null) throw new Raced(`Cannot use a recovery code of "${conversation.user}": it is gone`);
  conversation.factor = "recovery";
  turn.work.checks.push(used.check);
  turn.work.mutations.push(used.mutation);
  turn.work.whenFailed(used.putBack);
}

function countFailure(deps: MachineDeps, { conversation, work }: Turn, { userExists }: Facts): void {
  const { locked, lockAudit, mutations } = countUserFailure(deps, conversation, { userExists });
  work.mutations.push(...mutations);
  if (locked) work.mutations.push(auditLogin(conversation, lockAudit));
}

function storePairing(
  deps: MachineDeps,
  turn: Turn,
  prepared: ReturnType<MachineDeps["pairings"]["prepare"]>,
): void {
  const { pairing, mutation } = prepared;
  turn.work.mutations.push(
    mutation,
    auditLogin(turn.conversation, { action: "pairing.add", ...pairingDetails(pairing), how: "login" }),
  );
  turn.work.whenCommitted(() => deps.pairings.adopt(pairing));
}

function dropRequest(deps: MachineDeps, { conversation, work }: Turn): void {
  const { requestId } = conversation;
  if (requestId === null) return;
  conversation.requestId = null;
  work.whenCommitted(() => void deps.secondFactor.cancel(requestId));
}

function note(deps: MachineDeps, { conversation }: Turn, row: FlowRow): void {
  conversation.updatedMs = deps.clock.nowMs();
  addMoment(conversation, { atMs: conversation.updatedMs, step: row.to, row: row.name });
}

function finish(
  deps: MachineDeps,
  turn: Turn,
  row: FlowRow,
  kind: Finished["kind"],
): Promise<Finished> {
  const { conversation } = turn;
  let approvalKey: Deno.KvKey | null = null;
  conversation.round++;
  conversation.prompt = row.say;
  conversation.lastAnswer = turn.lastAnswer;
  conversation.answerDigest = turn.answerDigest;
  if (kind === "challenge") {
    conversation.at = row.to as Place;
    note(deps, turn, row);
  } else {
    const outcome = kind === "accept" ? "accepted" : "rejected";
    const { refusedFor, denial } = turn.attempt;
    if (kind === "accept") approvalKey = useApproval(deps, conversation, turn.work);
    deps.conversations.end(conversation, outcome, row.name);
    turn.work.mutations.push(
      historyMutation(conversation, { target: deps.target, refusedFor, denial }),
      auditLogin(conversation, {
        action: `login.${outcome}`,
        row: row.name,
        because: refusedFor ?? denial?.cause ?? null,
        by: denial?.by,
        factor: conversation.factor,
        ...phoneOf(conversation),
      }),
    );
  }
  const attributes = kind === "accept" ? deps.acceptAttributes.of(conversation.user) : null;
  const finished = commit(deps, turn).then(() => ({ conversation, row, kind, attributes }));
  const key = approvalKey;
  return key === null ? finished : finished.catch((fault: unknown) => explainRace(deps, fault, key));
}

/** One atomic commit: the conversation's record under its version, those it replaces, and everything in the draft. */
function commit(deps: MachineDeps, turn: Turn): Promise<void> {
  const { conversation, ended } = turn;
  if (!deps.leavings.mayRecord(conversation)) {
    return Promise.reject(
      new Left(`Cannot advance conversation "${conversation.orderedId}": its user leaves`),
    );
  }
  const { mutations, checks } = turn.work;
  const writing = deps.conversations.record(conversation);
  const journal = add(writing, { checks, mutations });
  for (const older of ended) {
    mutations.push(historyMutation(older, deps));
    // What another login ended may have a commit of its own on the way, so that its version is not known.
    if (older.outcome === "superseded") mutations.push(deps.conversations.recordEnd(older));
    else add(deps.conversations.record(older), { checks, mutations });
  }
  return deps.store.commit({ checks, mutations, journal }).then((outcome) => {
    if (!outcome.ok) {
      throw new Raced(`Cannot advance conversation "${conversation.orderedId}": it was advanced elsewhere`);
    }
    const { versionstamp } = outcome;
    conversation.stored = journal === undefined ? { versionstamp } : "journal";
    for (const older of ended) {
      older.stored = { versionstamp };
      deps.changed(older);
    }
    turn.work.committed();
    ended.length = 0;
    deps.changed(conversation);
  });
}

/** Adds what writes a record to a transaction; returns the line when it goes into the journal. */
function add(
  writing: RecordWriting,
  { checks, mutations }: { checks: Check[]; mutations: Mutation[] },
): JournalLine | undefined {
  if ("journal" in writing) return writing.journal;
  checks.push(writing.check);
  mutations.push(writing.mutation);
  return undefined;
}

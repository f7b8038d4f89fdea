// Plays a conversation: asks the flow table for rows, makes their effects, and records every turn in one commit before anything leaves.

import { type Effect, EFFECTS, type FlowRow } from "../flow/flow.ts";
import type { Facts } from "../flow/context.ts";
import { isStep, type Place } from "../protocol/steps.ts";
import { reachesOutside, step } from "../flow/step.ts";
import { explainRace, useApproval } from "../factors/approval_use.ts";
import { gatherFacts } from "./flow_context.ts";
import { type Conversation, phoneOf } from "./conversation.ts";
import { historyMutation } from "./login_history.ts";
import { applyInside } from "./store_effects.ts";
import { auditLogin } from "./login_audit.ts";
import { prepare } from "./effects.ts";
import { prepareAgain } from "./directory_wait_queue.ts";
import { commitTurn, type MachineDeps, noteRow, replaceOlder, type Turn } from "./login_round.ts";
import { WriteBatch } from "../../platform/write_batch.ts";

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

/**
 * Plays one packet. Resolves with `null` when another request ended the conversation meanwhile: then there is no response.
 *
 * @param packet.replaces an older login that this one replaces, by its ordered id. Its end is written with the next commit.
 * @throws Raced, Left, or whatever the store throws: then nothing may be answered either.
 */
export function play(
  deps: MachineDeps,
  packet: Pick<Turn, "conversation" | "attempt" | "lastAnswer" | "answerDigest" | "replaces">,
): Promise<Finished | null> {
  const turn: Turn = { ...packet, ended: [], batch: new WriteBatch() };
  const from = firstPlace(turn);
  if (packet.attempt.client.policy.firstFactor === "none") replaceOlder(deps, turn);
  const playing = advance(deps, turn, from);
  return playing.catch((fault: unknown) => {
    turn.batch.rollBack();
    throw fault;
  });
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
  turn.batch.mutations.push(...prepared.mutations);
  if (row.to !== "accept" && row.to !== "reject") conversation.at = row.to;
  if ("claimed" in EFFECTS[effect]) {
    // Should the server die now, the same answer sent again is known, and the effect is not made a second time.
    conversation.lastAnswer = turn.lastAnswer;
    conversation.answerDigest = turn.answerDigest;
    noteRow(deps, turn, row);
    await commitTurn(deps, turn);
    if (conversation.outcome !== null) return;
  }
  await prepared.perform();
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
    noteRow(deps, turn, row);
  } else {
    const outcome = kind === "accept" ? "accepted" : "rejected";
    const { refusedFor, denial } = turn.attempt;
    if (kind === "accept") approvalKey = useApproval(deps, conversation, turn.batch);
    deps.conversations.end(conversation, outcome, row.name);
    turn.batch.mutations.push(
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
  const finished = commitTurn(deps, turn).then(() => ({ conversation, row, kind, attributes }));
  const key = approvalKey;
  return key === null ? finished : finished.catch((fault: unknown) => explainRace(deps, fault, key));
}

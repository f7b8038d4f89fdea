// Advances a conversation by one packet (a turn): follows rows of the flow table, makes their effects, and commits before the answer is sent.

import { callsUpstream, type Effect, EFFECTS, type FlowRow, step } from "../flow/flow.ts";
import type { Facts } from "../flow/context.ts";
import { type FlowPlace, isStep } from "../protocol/steps.ts";
import { gatherFacts } from "./flow_context.ts";
import { type Conversation, phoneOf } from "./conversation.ts";
import { auditLogin, historyMutation } from "./login_history.ts";
import { applyStoreEffect } from "./store_effects.ts";
import { prepareEffect } from "./effects.ts";
import { prepareUserAgain } from "./directory_wait_queue.ts";
import {
  addRowMoment,
  commitTurn,
  explainRace,
  replaceOlder,
  type StateMachineDeps,
  type Turn,
  useApproval,
} from "./turn.ts";
import { WriteBatch } from "../../platform/write_batch.ts";

export interface TurnResult {
  /** After Cancel, the new conversation. */
  readonly conversation: Conversation;
  readonly row: FlowRow;
  readonly kind: "challenge" | "accept" | "reject";
  /** Encoded attributes of an Access-Accept, otherwise `null`. */
  readonly attributes: Uint8Array | null;
}

/** No path through the table has so many rows. This bound ends the loop even if the table has a cycle. */
const MAX_ROWS = 16;

const NO_NUMBERS: readonly string[] = [];

/**
 * Advances a conversation by one packet. Resolves to `null` if another request ended the conversation meanwhile.
 *
 * @param packet.replaces the ordered id of an older login that this one replaces; the next commit ends it
 * @throws UserLeftError, ConcurrentUpdateError, ApprovalUsedError, or an error of the store: then no answer may be sent
 */
export function advanceConversation(
  deps: StateMachineDeps,
  packet: Pick<Turn, "conversation" | "attempt" | "lastAnswer" | "answerDigest" | "replaces">,
): Promise<TurnResult | null> {
  const turn: Turn = { ...packet, ended: [], batch: new WriteBatch() };
  const from = firstPlace(turn);
  if (packet.attempt.client.policy.firstFactor === "none") replaceOlder(deps, turn);
  const result = advance(deps, turn, from);
  return result.catch((fault: unknown) => {
    turn.batch.rollBack();
    throw fault;
  });
}

function firstPlace({ conversation, attempt }: Turn): FlowPlace {
  if (attempt.approvalUsed) return "asking";
  if (attempt.holdsAgain) return "pushing";
  return attempt.answer === null ? "start" : conversation.at;
}

/** Follows rows until one calls another service or the turn ends. For most packets, the commit is the only wait. */
function advance(deps: StateMachineDeps, turn: Turn, from: FlowPlace): Promise<TurnResult | null> {
  let place = from;
  for (let count = 0; count < MAX_ROWS; count++) {
    const facts = gatherFacts(deps, turn.conversation, turn.attempt);
    const row = step(place, facts);
    if (callsUpstream(row)) return advanceUpstream(deps, turn, facts, row);
    for (const effect of row.then) applyStoreEffect(deps, effect, turn, facts, row);
    const ending = endAt(deps, turn, facts, row);
    if (ending !== null) return ending;
    place = row.to as FlowPlace;
  }
  return Promise.reject(new Error(`Cannot end the turn at "${place}": over ${MAX_ROWS} rows`));
}

/** Makes the effects of a row that calls another service, then continues with its result. */
async function advanceUpstream(
  deps: StateMachineDeps,
  turn: Turn,
  facts: Facts,
  row: FlowRow,
): Promise<TurnResult | null> {
  for (const effect of row.then) {
    if (!EFFECTS[effect].upstream) applyStoreEffect(deps, effect, turn, facts, row);
    else await applyUpstreamEffect(deps, effect, turn, facts, row);
    if (turn.conversation.outcome !== null) {
      cancelOpenRequest(deps, turn.conversation);
      return null;
    }
  }
  const ending = endAt(deps, turn, facts, row);
  if (ending !== null) return await ending;
  const pending = prepareUserAgain(deps, turn.conversation.user);
  if (pending !== null) {
    await pending;
    if (turn.conversation.outcome !== null) {
      cancelOpenRequest(deps, turn.conversation);
      return null;
    }
  }
  return await advance(deps, turn, row.to as FlowPlace);
}

/** The end of the turn if the row leads to a step or to the end of the login; `null` if it leads into a passage. */
function endAt(deps: StateMachineDeps, turn: Turn, facts: Facts, row: FlowRow): Promise<TurnResult> | null {
  if (row.to === "accept" || row.to === "reject") return finish(deps, turn, row, row.to);
  if (!isStep(row.to)) return null;
  turn.conversation.numbers = row.prompt === "which_sms_number"
    ? facts.smsNumbers
    : row.prompt === "which_voice_number"
    ? facts.voiceNumbers
    : NO_NUMBERS;
  return finish(deps, turn, row, "challenge");
}

/** Cancels a request that was opened while its conversation ended. Otherwise the phone would continue to show it. */
function cancelOpenRequest({ secondFactor }: StateMachineDeps, { requestId }: Conversation): void {
  if (requestId !== null) void secondFactor.cancel(requestId);
}

async function applyUpstreamEffect(
  deps: StateMachineDeps,
  effect: Effect,
  turn: Turn,
  facts: Facts,
  row: FlowRow,
): Promise<void> {
  const { conversation, attempt } = turn;
  const prepared = prepareEffect(deps, effect, { conversation, attempt, facts });
  turn.batch.mutations.push(...prepared.mutations);
  if (row.to !== "accept" && row.to !== "reject") conversation.at = row.to;
  if ("claimed" in EFFECTS[effect]) {
    // After a restart, the server recognizes the same answer and does not make the effect again.
    conversation.lastAnswer = turn.lastAnswer;
    conversation.answerDigest = turn.answerDigest;
    addRowMoment(deps, turn, row);
    await commitTurn(deps, turn);
    if (conversation.outcome !== null) return;
  }
  await prepared.perform();
}

function finish(
  deps: StateMachineDeps,
  turn: Turn,
  row: FlowRow,
  kind: TurnResult["kind"],
): Promise<TurnResult> {
  const { conversation } = turn;
  let approvalKey: Deno.KvKey | null = null;
  conversation.round++;
  conversation.prompt = row.prompt;
  conversation.lastAnswer = turn.lastAnswer;
  conversation.answerDigest = turn.answerDigest;
  if (kind === "challenge") {
    conversation.at = row.to as FlowPlace;
    addRowMoment(deps, turn, row);
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

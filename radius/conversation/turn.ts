// A turn: the changes of one packet on its conversation, and the commit that records them before the answer is sent.

import type { Check, Mutation, Store } from "../../platform/store.ts";
import type { JournalLine } from "../../platform/commit_batch.ts";
import type { FlowRow } from "../flow/flow.ts";
import type { AcceptAttributes } from "../factors/reply_attributes.ts";
import type { LoginAttempt } from "../server/request.ts";
import type { FlowContextDeps } from "./flow_context.ts";
import { addMoment, type Conversation, type LastAnswer } from "./conversation.ts";
import type { ConversationStore, RecordWrite } from "./conversation_store.ts";
import { historyMutation } from "./login_history.ts";
import type { Offboarding } from "../factors/offboarding.ts";
import type { SecondFactorService } from "../ports.ts";
import type { UpstreamDeps } from "./poll_approval.ts";
import type { WriteBatch } from "../../platform/write_batch.ts";

/** The changes of one packet, until they are committed. */
export interface Turn {
  conversation: Conversation;
  readonly attempt: LoginAttempt;
  readonly lastAnswer: LastAnswer;
  readonly answerDigest: string;
  /** The ordered id of the older login that this one replaces after its first factor. */
  replaces: string | null;
  /** Conversations that end in the same commit. */
  readonly ended: Conversation[];
  readonly batch: WriteBatch;
}

export interface StateMachineDeps extends FlowContextDeps, UpstreamDeps {
  readonly store: Store;
  readonly conversations: ConversationStore;
  readonly acceptAttributes: AcceptAttributes;
  readonly offboarding: Offboarding;
  readonly orderedId: () => string;
  /** Begins the conversation that replaces another one after Cancel. */
  readonly startOver: (conversation: Conversation) => Conversation;
  /** The directory whose users log in. */
  readonly target: string;
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
  if (!deps.offboarding.mayRecord(conversation)) {
    return Promise.reject(
      new UserLeftError(`Cannot advance conversation "${conversation.orderedId}": its user is being removed`),
    );
  }
  const { mutations, checks } = turn.batch;
  const writing = deps.conversations.record(conversation);
  const journal = add(writing, { checks, mutations });
  for (const older of ended) {
    mutations.push(historyMutation(older, deps));
    // A replaced login may have its own commit in progress, so its version is unknown.
    if (older.outcome === "superseded") mutations.push(deps.conversations.recordEnd(older));
    else add(deps.conversations.record(older), { checks, mutations });
  }
  return deps.store.commit({ checks, mutations, journal }).then((outcome) => {
    if (!outcome.ok) {
      throw new ConcurrentUpdateError(
        `Cannot advance conversation "${conversation.orderedId}": it was advanced elsewhere`,
      );
    }
    const { versionstamp } = outcome;
    conversation.stored = journal === undefined ? { versionstamp } : "journal";
    for (const older of ended) {
      older.stored = { versionstamp };
      deps.changed(older);
    }
    turn.batch.committed();
    ended.length = 0;
    deps.changed(conversation);
  });
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

/** Another packet changed the conversation first. */
export class ConcurrentUpdateError extends Error {}

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

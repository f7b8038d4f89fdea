// One turn of a conversation: what one packet changes, and the commit that records it before anything is answered.

import type { Check, Mutation, Store } from "../../platform/store.ts";
import type { JournalLine } from "../../platform/transaction.ts";
import type { FlowRow } from "../flow/flow.ts";
import type { AcceptAttributes } from "../factors/accept_attributes.ts";
import { Raced } from "../factors/approval_use.ts";
import type { Attempt } from "../server/request_context.ts";
import type { FactDeps } from "./flow_context.ts";
import { addMoment, type Conversation, type LastAnswer } from "./conversation.ts";
import type { Conversations, RecordWriting } from "./conversation_store.ts";
import { historyMutation } from "./login_history.ts";
import type { Leavings } from "../factors/offboarding.ts";
import type { OutsideDeps } from "./upstream_deps.ts";
import type { WriteBatch } from "../../platform/write_batch.ts";

/** What one packet changes, until it is committed. */
export interface Turn {
  conversation: Conversation;
  readonly attempt: Attempt;
  readonly lastAnswer: LastAnswer;
  readonly answerDigest: string;
  /** The older login of the tuple that this one replaces, by its ordered id, once it has passed its first factor. */
  replaces: string | null;
  /** Conversations that end in the same commit. */
  readonly ended: Conversation[];
  readonly batch: WriteBatch;
}

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
  /** Called after each commit, for the live views. */
  readonly changed: (conversation: Conversation) => void;
}

/** The user leaves the directory: nothing more is recorded for them, least of all an Accept. */
export class Left extends Error {}

/** Ends the older login of the tuple: from now on the new one has its place. */
export function replaceOlder({ conversations, secondFactor }: MachineDeps, turn: Turn): void {
  const { conversation, replaces, ended, batch } = turn;
  turn.replaces = null;
  if (replaces === null) return;
  const older = conversations.awake(replaces);
  conversations.claimTuple(conversation);
  if (older === null || older.outcome !== null || (older.signed && !conversation.signed)) return;
  conversations.end(older, "superseded", "superseded");
  ended.push(older);
  const { requestId } = older;
  if (requestId !== null) batch.whenCommitted(() => void secondFactor.cancel(requestId));
}

/** Adds the row that was taken to the moments of the conversation. */
export function noteRow(deps: MachineDeps, { conversation }: Turn, row: FlowRow): void {
  conversation.updatedMs = deps.clock.nowMs();
  addMoment(conversation, { atMs: conversation.updatedMs, step: row.to, row: row.name });
}

/**
 * One atomic commit: the conversation's record under its version, those it replaces, and everything in the draft.
 *
 * @throws Left, Raced, or what the store throws: nothing was recorded.
 */
export function commitTurn(deps: MachineDeps, turn: Turn): Promise<void> {
  const { conversation, ended } = turn;
  if (!deps.leavings.mayRecord(conversation)) {
    return Promise.reject(
      new Left(`Cannot advance conversation "${conversation.orderedId}": its user leaves`),
    );
  }
  const { mutations, checks } = turn.batch;
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
    turn.batch.committed();
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

// The conversations that this node owns: found in memory, kept in the store, ended at their deadline. Bounded.

import type { Clock } from "../../runtime.ts";
import type { Mutation, Store } from "../../store.ts";
import { addMoment, type Conversation, conversationKey, decodeRecord, encodeRecord } from "./conversation.ts";
import type { ConversationOutcome } from "./ports.ts";

/** How long an ended conversation stays findable, for answers that are re-issued and for the console. */
export const REMEMBERED_MS = 60_000;

export interface Conversations {
  byTuple(tuple: string): Conversation | null;
  byToken(token: string): Conversation | null;
  /** Makes a conversation findable; above the cap the oldest is forgotten. */
  add(conversation: Conversation): void;
  /** Takes one out, as if it had never been: its first commit failed. */
  remove(conversation: Conversation): void;
  /** The mutation that writes the record. */
  mutation(conversation: Conversation): Mutation;
  /** Notes the end in memory; the record is written with {@link mutation}. */
  end(conversation: Conversation, outcome: ConversationOutcome, row: string): void;
  /** Ends what is past its deadline and forgets what ended long ago. Returns those that expired now. */
  sweep(): Conversation[];
  /** Reads what an earlier run left. Returns how many are alive. */
  load(): Promise<{ alive: number; unreadable: number }>;
  newestFirst(limit: number): Conversation[];
  readonly alive: number;
  readonly size: number;
}

/** @param most conversations in memory, alive and lately ended together. */
export function createConversations(
  { store, clock, most }: { store: Store; clock: Clock; most: number },
): Conversations {
  // A Map keeps the order of insertion, and the time to live is one for all: the oldest is always first.
  const all = new Map<string, Conversation>();
  const tuples = new Map<string, Conversation>();
  const tokens = new Map<string, Conversation>();
  let alive = 0;

  const forget = (conversation: Conversation): void => {
    if (!all.delete(conversation.orderedId)) return;
    if (conversation.outcome === null) alive--;
    if (tuples.get(conversation.tuple) === conversation) tuples.delete(conversation.tuple);
    if (conversation.token !== null) tokens.delete(conversation.token);
  };
  const add = (conversation: Conversation): void => {
    all.set(conversation.orderedId, conversation);
    tuples.set(conversation.tuple, conversation);
    if (conversation.token !== null) tokens.set(conversation.token, conversation);
    if (conversation.outcome === null) alive++;
    if (all.size > most) { for (const oldest of all.values()) return forget(oldest); }
  };
  const end = (conversation: Conversation, outcome: ConversationOutcome, row: string): void => {
    if (conversation.outcome !== null) return;
    conversation.outcome = outcome;
    conversation.updatedMs = clock.nowMs();
    conversation.passcode = null;
    addMoment(conversation, { atMs: conversation.updatedMs, step: outcome, row });
    alive--;
  };

  return {
    byTuple: (tuple) => tuples.get(tuple) ?? null,
    byToken: (token) => tokens.get(token) ?? null,
    add,
    remove: forget,
    end,
    mutation: (conversation) => ({
      type: "set",
      key: conversationKey(conversation.orderedId),
      value: encodeRecord(conversation),
      expireInMs: conversation.deadlineMs - clock.nowMs() + REMEMBERED_MS,
    }),
    sweep() {
      const now = clock.nowMs();
      const expired: Conversation[] = [];
      for (const conversation of all.values()) {
        if (conversation.deadlineMs > now && conversation.startedMs + REMEMBERED_MS > now) break;
        if (conversation.outcome === null && conversation.deadlineMs <= now) {
          end(conversation, "expired", "expired");
          expired.push(conversation);
        }
        if (conversation.outcome !== null && conversation.updatedMs + REMEMBERED_MS <= now) {
          forget(conversation);
        }
      }
      return expired;
    },
    async load() {
      let unreadable = 0;
      const now = clock.nowMs();
      for await (const entry of store.list<unknown>(["conversation"])) {
        const conversation = decodeRecord(entry.value, entry.versionstamp);
        if (conversation === null) unreadable++;
        else if (conversation.deadlineMs > now || conversation.updatedMs + REMEMBERED_MS > now) {
          add(conversation);
        }
      }
      return { alive, unreadable };
    },
    newestFirst: (limit) => [...all.values()].slice(-limit).reverse(),
    get alive() {
      return alive;
    },
    get size() {
      return all.size;
    },
  };
}

// The conversations that this node owns: found in memory, kept in the store, ended at their deadline. Bounded.

import type { Clock } from "../../runtime.ts";
import type { Check, JournalLine, Mutation, Store } from "../../store.ts";
import {
  addMoment,
  type Conversation,
  conversationKey,
  decodeRecord,
  encodeRecord,
  recordText,
} from "./conversation.ts";
import type { ConversationOutcome } from "./ports.ts";

/** How long an ended conversation stays findable, for answers that are re-issued and for the console. */
export const REMEMBERED_MS = 60_000;

export type RecordWriting =
  | { readonly journal: JournalLine }
  | { readonly check: Check; readonly mutation: Mutation };

export interface Conversations {
  byTuple(tuple: string): Conversation | null;
  byToken(token: string): Conversation | null;
  /** Makes a conversation findable; above the cap the oldest is forgotten. */
  add(conversation: Conversation): void;
  /** Takes one out, as if it had never been: its first commit failed. */
  remove(conversation: Conversation): void;
  /** What writes the record: a line of the journal at first, later its own key under compare-and-set. */
  record(conversation: Conversation): RecordWriting;
  /** Notes the end in memory; the record is written with {@link record}. */
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
    record(conversation) {
      const expireInMs = conversation.deadlineMs - clock.nowMs() + REMEMBERED_MS;
      const { stored } = conversation;
      if (stored === "not") return { journal: { text: recordText(conversation), expireInMs } };
      const key = conversationKey(conversation.orderedId);
      return {
        check: { key, versionstamp: stored === "journal" ? null : stored.versionstamp },
        mutation: { type: "set", key, value: encodeRecord(conversation), expireInMs },
      };
    },
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
      const found = new Map<string, Conversation>();
      const keep = (conversation: Conversation | null): void => {
        if (conversation === null) unreadable++;
        else if (conversation.deadlineMs > now || conversation.updatedMs + REMEMBERED_MS > now) {
          found.set(conversation.orderedId, conversation);
        }
      };
      for await (const line of store.journal()) {
        if (found.size >= most) break;
        keep(decodeRecord(line, "journal"));
      }
      // A key of its own is newer than the line in the journal that began the conversation.
      for await (const { value, versionstamp } of store.list<unknown>(["conversation"])) {
        if (versionstamp !== null) keep(decodeRecord(value, { versionstamp }));
      }
      const inOrder = [...found.values()].sort((a, b) => a.orderedId < b.orderedId ? -1 : 1);
      for (const conversation of inOrder) add(conversation);
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

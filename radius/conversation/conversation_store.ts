// The conversations of this process: finds them in memory, writes them to the store, ends them at their deadline. The table is bounded. If it
// is full, it refuses new logins and never removes one in progress.

import type { Clock } from "../../platform/runtime.ts";
import type { Check, Mutation, Store } from "../../platform/store.ts";
import type { JournalLine, KvMutation } from "../../platform/commit_batch.ts";
import type { ConversationOutcome } from "../ports.ts";
import { addMoment, type Conversation, type TokenOf } from "./conversation.ts";
import { conversationKey, decodeRecord, recordText } from "./conversation_codec.ts";
import {
  type ConversationEntry,
  ConversationIndex,
  EndedQueue,
  loginPacketKey,
  newConversationEntry,
  readConversationEntry,
  unparkEntry,
} from "./conversation_index.ts";

/** How long an ended conversation stays in memory, for retransmissions and for the console. */
export const ENDED_RETENTION_MS = 60_000;
/** The number of ended conversations in memory, so that a flood of rejected logins has bounded costs. */
export const MAX_ENDED = 4096;
/** The maximum share of unsigned logins in the table. */
const UNSIGNED_SHARE = 0.5;

/** How a record is written: first as a line of the journal, later under its own key with compare-and-set. */
export type RecordWrite =
  | { readonly journal: JournalLine }
  | { readonly check: Check; readonly mutation: Mutation };

export interface ConversationStoreDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Conversations in memory, alive and ended together. */
  readonly maxConversations: number;
  readonly tokenOf: TokenOf;
}

/** A waiting conversation is parked as the text of its record, because 100,000 strings cost the garbage collector very little. */
export class ConversationStore {
  readonly #deps: ConversationStoreDeps;
  readonly #index: ConversationIndex;
  readonly #ended = new EndedQueue();
  #alive = 0;
  #aliveUnsigned = 0;

  constructor(deps: ConversationStoreDeps) {
    this.#deps = deps;
    this.#index = new ConversationIndex(deps.tokenOf);
  }

  get alive(): number {
    return this.#alive;
  }

  get size(): number {
    return this.#index.size;
  }

  /** The conversation that the bare name of a step selects on this tuple. */
  bareOn(tuple: string): Conversation | null {
    return unparkEntry(this.#index.bare(tuple));
  }

  /** The newest conversation of a tuple, alive or ended. */
  newestOn(tuple: string): Conversation | null {
    return unparkEntry(this.#index.newest(tuple));
  }

  byToken(token: string): Conversation | null {
    return unparkEntry(this.#index.byToken(token));
  }

  /** The conversation with a token that this packet began. */
  byLoginPacket(packet: Parameters<typeof loginPacketKey>[0]): Conversation | null {
    return unparkEntry(this.#index.byLoginPacket(loginPacketKey(packet)));
  }

  /** Finds a conversation to change it. */
  unpark(orderedId: string): Conversation | null {
    return unparkEntry(this.#index.byId(orderedId));
  }

  /** Finds a conversation to read it; the result must not be changed. */
  byId(orderedId: string): Conversation | null {
    const entry = this.#index.byId(orderedId);
    return entry === undefined ? null : readConversationEntry(entry);
  }

  /** Whether a new login has room. Unsigned logins get at most half of the table. */
  hasRoom({ signed }: { readonly signed: boolean }): boolean {
    const { maxConversations } = this.#deps;
    return this.#alive < maxConversations &&
      (signed || this.#aliveUnsigned < maxConversations * UNSIGNED_SHARE);
  }

  /**
   * Adds a conversation. In a full table, it replaces the one that ended first, never a live one.
   *
   * @param options.behind the bare name continues to select a live older login until {@link claimTuple}
   */
  add(conversation: Conversation, options: { behind: boolean } = { behind: false }): void {
    const entry = newConversationEntry(conversation);
    while (this.#index.size >= this.#deps.maxConversations) {
      const oldest = this.#ended.take();
      // Only Cancel adds to a table full of live logins. It also ends a login, so that the next one has room.
      if (oldest === null) break;
      this.#forget(oldest);
    }
    this.#index.add(entry, options);
    this.#index.update(entry, conversation);
    if (entry.endedMs !== null) return this.#rememberEnd(entry);
    this.#alive++;
    if (!entry.signed) this.#aliveUnsigned++;
  }

  /** From now on, the bare name selects this conversation. */
  claimTuple({ orderedId }: Conversation): void {
    const entry = this.#index.byId(orderedId);
    if (entry !== undefined) this.#index.claimTuple(entry);
  }

  /** Removes a conversation whose first commit failed. */
  remove({ orderedId }: Conversation): void {
    const entry = this.#index.byId(orderedId);
    if (entry !== undefined) this.#forget(entry);
  }

  record(conversation: Conversation): RecordWrite {
    const { stored } = conversation;
    const text = this.#updateText(conversation);
    if (stored === "not") return { journal: { text, expireInMs: this.#expiryOf(conversation) } };
    const mutation = this.#recordMutation(conversation, text);
    const versionstamp = stored === "journal" ? null : stored.versionstamp;
    return { check: { key: mutation.key, versionstamp }, mutation };
  }

  /** Writes the record of a conversation that another login ended. It has no check, because a commit of that conversation may be in progress. */
  recordEnd(conversation: Conversation): Mutation {
    return this.#recordMutation(conversation, this.#updateText(conversation));
  }

  /** The live conversations of a user, newest first. Reads the whole table, so it is for rare events. */
  liveOf(user: string): Conversation[] {
    const live: Conversation[] = [];
    for (const entry of this.#index.fromNewest()) {
      if (entry.endedMs !== null || entry.gone || entry.user !== user) continue;
      const conversation = unparkEntry(entry);
      if (conversation !== null) live.push(conversation);
    }
    return live;
  }

  /** The mutation that stores a conversation as cancelled by `row`. Memory does not change. */
  endMutation(conversation: Conversation, row: string): Mutation {
    const ended = { ...conversation, moments: conversation.moments.slice() };
    this.#setOutcome(ended, "cancelled", row);
    return this.#recordMutation(ended, recordText(ended));
  }

  /** Stores a conversation that waits for its next packet as text. Its record must be committed. */
  park(conversation: Conversation): void {
    const entry = this.#index.byId(conversation.orderedId);
    if (entry === undefined || entry.conversation !== conversation || entry.text === "") return;
    // Another login ended it while its own commit was in progress. The text would make it alive again.
    if (conversation.outcome !== null && !entry.textEnded) return;
    entry.stored = conversation.stored;
    entry.answerDigest = conversation.answerDigest;
    entry.conversation = null;
  }

  /** Ends a conversation in memory; {@link record} writes it. */
  end(conversation: Conversation, outcome: ConversationOutcome, row: string): void {
    if (conversation.outcome !== null) return;
    this.#setOutcome(conversation, outcome, row);
    const entry = this.#index.byId(conversation.orderedId);
    if (entry === undefined) return;
    entry.endedMs = conversation.updatedMs;
    this.#countEnd(entry);
    this.#rememberEnd(entry);
  }

  /** Ends conversations at their deadline, and removes those whose retention is over. Returns those that expired now. */
  sweep(): Conversation[] {
    const now = this.#deps.clock.nowMs();
    const expired: Conversation[] = [];
    for (const entry of this.#index.fromOldest()) {
      // All conversations have the same time to live, so no younger one is due.
      if (entry.startedMs + ENDED_RETENTION_MS > now && entry.deadlineMs > now) break;
      if (entry.gone) continue;
      const conversation = entry.endedMs === null && entry.deadlineMs <= now ? unparkEntry(entry) : null;
      if (conversation !== null) {
        this.end(conversation, "expired", "expired");
        expired.push(conversation);
      }
      if (entry.endedMs !== null && entry.endedMs + ENDED_RETENTION_MS <= now) this.#forget(entry);
    }
    this.#ended.trim();
    return expired;
  }

  /** Loads the records of an earlier run. Returns how many are alive. */
  async load(): Promise<{ alive: number; unreadable: number }> {
    const { store, clock, maxConversations } = this.#deps;
    const now = clock.nowMs();
    const found = new Map<string, Conversation>();
    let unreadable = 0;
    const add = (conversation: Conversation | null): void => {
      if (conversation === null) unreadable++;
      else if (conversation.deadlineMs > now || conversation.updatedMs + ENDED_RETENTION_MS > now) {
        found.set(conversation.orderedId, conversation);
      }
    };
    for await (const line of store.journal()) {
      if (found.size >= maxConversations) break;
      const conversation = decodeRecord(line, { stored: "journal" });
      // The newest line comes first.
      if (conversation === null || !found.has(conversation.orderedId)) add(conversation);
    }
    // A record under its own key is newer than the journal line that began the conversation.
    for await (const { value, versionstamp } of store.list<unknown>(["conversation"])) {
      if (versionstamp !== null) add(decodeRecord(value, { stored: { versionstamp } }));
    }
    const inOrder = [...found.values()].sort((a, b) => a.orderedId < b.orderedId ? -1 : 1);
    for (const conversation of inOrder) this.add(conversation);
    return { alive: this.#alive, unreadable };
  }

  newestFirst(limit: number): Conversation[] {
    const found: Conversation[] = [];
    for (const entry of this.#index.fromNewest()) {
      if (found.length >= limit) break;
      const conversation = entry.gone ? null : readConversationEntry(entry);
      if (conversation !== null) found.push(conversation);
    }
    return found;
  }

  /** The steps of live conversations, newest first. Decodes no record. */
  *liveSteps(limit: number): Generator<{ id: string; step: string }> {
    let left = limit;
    for (const { gone, endedMs, orderedId, conversation, at } of this.#index.fromNewest()) {
      if (left <= 0) return;
      if (gone || endedMs !== null) continue;
      left--;
      yield { id: orderedId, step: conversation?.at ?? at };
    }
  }

  #setOutcome(conversation: Conversation, outcome: ConversationOutcome, row: string): void {
    conversation.outcome = outcome;
    conversation.updatedMs = this.#deps.clock.nowMs();
    conversation.passcode = null;
    addMoment(conversation, { atMs: conversation.updatedMs, step: outcome, row });
  }

  #countEnd({ signed }: ConversationEntry): void {
    this.#alive--;
    if (!signed) this.#aliveUnsigned--;
  }

  #rememberEnd(entry: ConversationEntry): void {
    this.#ended.push(entry);
    const oldest = this.#index.size - this.#alive > MAX_ENDED ? this.#ended.take() : null;
    if (oldest !== null) this.#forget(oldest);
  }

  #forget(entry: ConversationEntry): void {
    if (entry.gone) return;
    entry.gone = true;
    this.#index.remove(entry);
    if (entry.endedMs === null) this.#countEnd(entry);
  }

  #updateText(conversation: Conversation): string {
    const text = recordText(conversation);
    const entry = this.#index.byId(conversation.orderedId);
    if (entry !== undefined) {
      entry.text = text;
      entry.at = conversation.at;
      entry.textEnded = conversation.outcome !== null;
      this.#index.update(entry, conversation);
    }
    return text;
  }

  #expiryOf({ deadlineMs }: Conversation): number {
    return deadlineMs - this.#deps.clock.nowMs() + ENDED_RETENTION_MS;
  }

  #recordMutation(conversation: Conversation, text: string): KvMutation {
    const key = conversationKey(conversation.orderedId);
    const value = new TextEncoder().encode(text);
    return { type: "set", key, value, expireInMs: this.#expiryOf(conversation) };
  }
}

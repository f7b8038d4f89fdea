// The conversations that this node owns: found in memory, written to the store, ended at their deadline. Bounded: a full table refuses new logins
// and never forgets one in progress. One that waits is parked as the text of its record: a hundred thousand of them are a hundred thousand
// strings, which cost the collector next to nothing.

import type { Clock } from "../../platform/runtime.ts";
import type { Check, Mutation, Store } from "../../platform/store.ts";
import type { JournalLine } from "../../platform/transaction.ts";
import { addMoment, type Conversation, conversationKey, decodeRecord, recordText } from "./conversation.ts";
import { createConversationIndex, type Entry, loginPacketKey } from "./conversation_index.ts";
import type { ConversationOutcome } from "../ports.ts";
import type { TokenOf } from "./state_tokens.ts";

/** How long an ended conversation stays findable, for answers that are re-issued and for the console. */
export const REMEMBERED_MS = 60_000;

export type RecordWriting =
  | { readonly journal: JournalLine }
  | { readonly check: Check; readonly mutation: Mutation };

export interface Conversations {
  /** The conversation that the bare name of a step selects on this tuple. */
  bareOn(tuple: string): Conversation | null;
  /** The newest conversation of a tuple, in progress or ended lately. */
  newestOn(tuple: string): Conversation | null;
  byToken(token: string): Conversation | null;
  /** The conversation with a token that this packet began. */
  byLoginPacket(packet: Parameters<typeof loginPacketKey>[0]): Conversation | null;
  /** Finds a conversation to work on, by its ordered id. */
  awake(orderedId: string): Conversation | null;
  /** For observers: the current state, not to be changed. */
  byId(orderedId: string): Conversation | null;
  /** Whether a new login has room. Unsigned logins get at most half of the table. */
  hasRoom(login: { readonly signed: boolean }): boolean;
  /**
   * Makes a conversation findable. In a full table it replaces the one that ended longest ago, never one in progress.
   *
   * @param options.behind leaves the bare name to an older login that is in progress, until {@link Conversations.claimTuple}.
   */
  add(conversation: Conversation, options?: { behind: boolean }): void;
  /** From now on the bare name selects this conversation. */
  claimTuple(conversation: Conversation): void;
  /** Takes one out, as if it had never been: its first commit failed. */
  remove(conversation: Conversation): void;
  /** What writes the record: a line of the journal at first, later its own key under compare-and-set. */
  record(conversation: Conversation): RecordWriting;
  /** What writes the record of one that was ended from outside: whatever stands there, or is on its way there, it ends. */
  recordEnd(conversation: Conversation): Mutation;
  /** The live ones of a user, newest first. Looks at every one in memory: for what happens seldom. */
  liveOf(user: string): Conversation[];
  /** What records that one ended for `row`, cancelled; in memory it stays as it is. */
  ending(conversation: Conversation, row: string): Mutation;
  /** Stores a conversation that waits for the next packet as text. Its record must be committed. */
  park(conversation: Conversation): void;
  /** Notes the end in memory; the record is written with {@link record}. */
  end(conversation: Conversation, outcome: ConversationOutcome, row: string): void;
  /** Ends what is past its deadline and forgets what ended long ago. Returns those that expired now. */
  sweep(): Conversation[];
  /** Reads what an earlier run left. Returns how many are alive. */
  load(): Promise<{ alive: number; unreadable: number }>;
  newestFirst(limit: number): Conversation[];
  /** Where live ones stand, newest first; nothing is decoded for it. */
  standing(limit: number): Iterable<{ id: string; step: string }>;
  readonly alive: number;
  readonly size: number;
}

/** How many ended conversations stay findable at most, so that a flood of rejected logins costs no more memory than this. */
export const MAX_REMEMBERED = 4096;
/** The share of the table that unsigned logins may take. */
const UNSIGNED_SHARE = 0.5;

/** @param most conversations in memory, in progress and lately ended together. */
export function createConversations(
  { store, clock, most, tokenOf }: { store: Store; clock: Clock; most: number; tokenOf: TokenOf },
): Conversations {
  const index = createConversationIndex(tokenOf);
  const ended = createEndedQueue();
  let alive = 0;
  let aliveUnsigned = 0;

  const noteEnd = (entry: Entry): void => {
    alive--;
    if (!entry.signed) aliveUnsigned--;
  };
  const remember = (entry: Entry): void => {
    ended.push(entry);
    const oldest = index.size - alive > MAX_REMEMBERED ? ended.take() : null;
    if (oldest !== null) forget(oldest);
  };
  const forget = (entry: Entry): void => {
    if (entry.gone) return;
    entry.gone = true;
    index.remove(entry);
    if (entry.endedMs === null) noteEnd(entry);
  };
  const peek = (entry: Entry): Conversation | null =>
    entry.conversation ??
      decodeRecord(entry.text, { stored: entry.stored, answerDigest: entry.answerDigest });
  const awake = (entry: Entry | undefined): Conversation | null => {
    if (entry === undefined) return null;
    entry.conversation = peek(entry);
    return entry.conversation;
  };
  const add = (conversation: Conversation, options = { behind: false }): void => {
    const { orderedId, user, tuple, hasToken, signed, startedMs, deadlineMs, stored, answerDigest } =
      conversation;
    const endedMs = conversation.outcome === null ? null : conversation.updatedMs;
    const entry: Entry = {
      orderedId,
      user,
      tuple,
      hasToken,
      signed,
      startedMs,
      deadlineMs,
      conversation,
      text: "",
      at: conversation.at,
      textEnded: false,
      stored,
      answerDigest,
      endedMs,
      gone: false,
      token: null,
      priorToken: null,
      loginPacket: null,
      older: null,
      newer: null,
    };
    while (index.size >= most) {
      const oldest = ended.take();
      // Only Cancel adds to a table full of logins in progress; the login that it ends makes room for the next one.
      if (oldest === null) break;
      forget(oldest);
    }
    index.add(entry, options);
    index.update(entry, conversation);
    if (endedMs !== null) return remember(entry);
    alive++;
    if (!signed) aliveUnsigned++;
  };
  const endNow = (conversation: Conversation, outcome: ConversationOutcome, row: string): void => {
    conversation.outcome = outcome;
    conversation.updatedMs = clock.nowMs();
    conversation.passcode = null;
    addMoment(conversation, { atMs: conversation.updatedMs, step: outcome, row });
  };
  const end = (conversation: Conversation, outcome: ConversationOutcome, row: string): void => {
    if (conversation.outcome !== null) return;
    endNow(conversation, outcome, row);
    const entry = index.byId(conversation.orderedId);
    if (entry === undefined) return;
    entry.endedMs = conversation.updatedMs;
    noteEnd(entry);
    remember(entry);
  };

  const textOf = (conversation: Conversation): string => {
    const text = recordText(conversation);
    const entry = index.byId(conversation.orderedId);
    if (entry !== undefined) {
      entry.text = text;
      entry.at = conversation.at;
      entry.textEnded = conversation.outcome !== null;
      index.update(entry, conversation);
    }
    return text;
  };
  const expiryOf = ({ deadlineMs }: Conversation): number => deadlineMs - clock.nowMs() + REMEMBERED_MS;
  const recordOf = (conversation: Conversation, text: string): Mutation => ({
    type: "set",
    key: conversationKey(conversation.orderedId),
    value: new TextEncoder().encode(text),
    expireInMs: expiryOf(conversation),
  });

  return {
    bareOn: (tuple) => awake(index.bare(tuple)),
    newestOn: (tuple) => awake(index.newest(tuple)),
    byToken: (token) => awake(index.byToken(token)),
    byLoginPacket: (packet) => awake(index.byLoginPacket(loginPacketKey(packet))),
    awake: (orderedId) => awake(index.byId(orderedId)),
    hasRoom: ({ signed }) => alive < most && (signed || aliveUnsigned < most * UNSIGNED_SHARE),
    byId(orderedId) {
      const entry = index.byId(orderedId);
      return entry === undefined ? null : peek(entry);
    },
    add,
    claimTuple(conversation) {
      const entry = index.byId(conversation.orderedId);
      if (entry !== undefined) index.claimTuple(entry);
    },
    remove(conversation) {
      const entry = index.byId(conversation.orderedId);
      if (entry !== undefined) forget(entry);
    },
    end,
    record(conversation) {
      const expireInMs = expiryOf(conversation);
      const { stored, orderedId } = conversation;
      const text = textOf(conversation);
      if (stored === "not") return { journal: { text, expireInMs } };
      const key = conversationKey(orderedId);
      return {
        check: { key, versionstamp: stored === "journal" ? null : stored.versionstamp },
        mutation: { type: "set", key, value: new TextEncoder().encode(text), expireInMs },
      };
    },
    recordEnd: (conversation) => recordOf(conversation, textOf(conversation)),
    liveOf(user) {
      const live: Conversation[] = [];
      for (const entry of index.fromNewest()) {
        if (entry.endedMs !== null || entry.gone || entry.user !== user) continue;
        const conversation = awake(entry);
        if (conversation !== null) live.push(conversation);
      }
      return live;
    },
    ending(conversation, row) {
      const ended = { ...conversation, moments: conversation.moments.slice() };
      endNow(ended, "cancelled", row);
      return recordOf(ended, recordText(ended));
    },
    park(conversation) {
      const entry = index.byId(conversation.orderedId);
      if (entry === undefined || entry.conversation !== conversation || entry.text === "") return;
      // Ended by another login while its own commit was on the way: the text would bring it back to life.
      if (conversation.outcome !== null && !entry.textEnded) return;
      entry.stored = conversation.stored;
      entry.answerDigest = conversation.answerDigest;
      entry.conversation = null;
    },
    sweep() {
      const now = clock.nowMs();
      const expired: Conversation[] = [];
      for (const entry of index.fromOldest()) {
        // The time to live is one for all, so nothing younger can be due.
        if (entry.startedMs + REMEMBERED_MS > now && entry.deadlineMs > now) break;
        if (entry.gone) continue;
        if (entry.endedMs === null && entry.deadlineMs <= now) {
          const conversation = awake(entry);
          if (conversation !== null) {
            end(conversation, "expired", "expired");
            expired.push(conversation);
          }
        }
        if (entry.endedMs !== null && entry.endedMs + REMEMBERED_MS <= now) forget(entry);
      }
      ended.trim();
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
        const conversation = decodeRecord(line, { stored: "journal" });
        // The newest line comes first.
        if (conversation === null || !found.has(conversation.orderedId)) keep(conversation);
      }
      // A key of its own is newer than the line in the journal that began the conversation.
      for await (const { value, versionstamp } of store.list<unknown>(["conversation"])) {
        if (versionstamp !== null) keep(decodeRecord(value, { stored: { versionstamp } }));
      }
      const inOrder = [...found.values()].sort((a, b) => a.orderedId < b.orderedId ? -1 : 1);
      for (const conversation of inOrder) add(conversation);
      return { alive, unreadable };
    },
    newestFirst(limit) {
      const views: Conversation[] = [];
      for (const entry of index.fromNewest()) {
        if (views.length >= limit) break;
        const conversation = entry.gone ? null : peek(entry);
        if (conversation !== null) views.push(conversation);
      }
      return views;
    },
    *standing(limit) {
      let left = limit;
      for (const { gone, endedMs, orderedId, conversation, at } of index.fromNewest()) {
        if (left <= 0) return;
        if (gone || endedMs !== null) continue;
        left--;
        yield { id: orderedId, step: conversation?.at ?? at };
      }
    },
    get alive() {
      return alive;
    },
    get size() {
      return index.size;
    },
  };
}

/** Conversations in the order in which they ended. Those that are gone already are passed over. */
function createEndedQueue(): { push(entry: Entry): void; take(): Entry | null; trim(): void } {
  let entries: Entry[] = [];
  let first = 0;
  const trim = (): void => {
    while (first < entries.length && (entries[first] as Entry).gone) first++;
    if (first < 1024 || first * 2 < entries.length) return;
    entries = entries.slice(first);
    first = 0;
  };
  return {
    push: (entry) => void entries.push(entry),
    take() {
      trim();
      return entries[first] ?? null;
    },
    trim,
  };
}

// The conversations that this node owns: found in memory, kept in the store, ended at their deadline. Bounded. One that waits is parked as the text of its
// record: a hundred thousand of them are a hundred thousand strings, which cost the collector next to nothing.

import type { Clock } from "../../runtime.ts";
import type { Check, JournalLine, Mutation, Store } from "../../store.ts";
import { addMoment, type Conversation, conversationKey, decodeRecord, recordText } from "./conversation.ts";
import type { ConversationOutcome } from "./ports.ts";
import type { TokenOf } from "./state_tokens.ts";

/** How long an ended conversation stays findable, for answers that are re-issued and for the console. */
export const REMEMBERED_MS = 60_000;

export type RecordWriting =
  | { readonly journal: JournalLine }
  | { readonly check: Check; readonly mutation: Mutation };

export interface Conversations {
  byTuple(tuple: string): Conversation | null;
  byToken(token: string): Conversation | null;
  /** Finds a conversation to work on, by its ordered id. */
  awake(orderedId: string): Conversation | null;
  /** For whoever watches: as it is now, not to be changed. */
  byId(orderedId: string): Conversation | null;
  /** Makes a conversation findable; above the cap the oldest is forgotten. */
  add(conversation: Conversation): void;
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
  /** Says that nobody works on it for now; `byTuple` and `byToken` bring it back. Its record must be committed. */
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

/** A conversation in memory: at work (`conversation`), or parked (`text`). */
interface Entry {
  readonly orderedId: string;
  readonly user: string;
  readonly tuple: string;
  readonly token: string | null;
  readonly startedMs: number;
  readonly deadlineMs: number;
  conversation: Conversation | null;
  text: string;
  /** Where the conversation of `text` stands. */
  at: string;
  /** Whether `text` says that it ended; only then may an ended one be parked. */
  textEnded: boolean;
  stored: Conversation["stored"];
  /** When it ended; `null` while it is alive. */
  endedMs: number | null;
  gone: boolean;
}

/** @param most conversations in memory, alive and lately ended together. */
export function createConversations(
  { store, clock, most, tokenOf }: { store: Store; clock: Clock; most: number; tokenOf: TokenOf },
): Conversations {
  const ring = createRing<Entry>(most + 1);
  const entries = new Map<string, Entry>();
  const tuples = new Map<string, Entry>();
  const tokens = new Map<string, Entry>();
  let alive = 0;

  const forget = (entry: Entry): void => {
    if (entry.gone) return;
    entry.gone = true;
    entries.delete(entry.orderedId);
    if (entry.endedMs === null) alive--;
    if (tuples.get(entry.tuple) === entry) tuples.delete(entry.tuple);
    if (entry.token !== null) tokens.delete(entry.token);
  };
  const peek = (entry: Entry): Conversation | null =>
    entry.conversation ??
      decodeRecord(entry.text, { stored: entry.stored, tokenOf: () => entry.token ?? "" });
  const awake = (entry: Entry): Conversation | null => {
    entry.conversation = peek(entry);
    return entry.conversation;
  };
  const add = (conversation: Conversation): void => {
    const { orderedId, user, tuple, token, startedMs, deadlineMs, stored, outcome, updatedMs } = conversation;
    const endedMs = outcome === null ? null : updatedMs;
    const entry: Entry = {
      orderedId,
      user,
      tuple,
      token,
      startedMs,
      deadlineMs,
      conversation,
      text: "",
      at: conversation.at,
      textEnded: false,
      stored,
      endedMs,
      gone: false,
    };
    entries.set(orderedId, entry);
    tuples.set(tuple, entry);
    if (token !== null) tokens.set(token, entry);
    if (endedMs === null) alive++;
    const overflow = ring.push(entry);
    if (overflow !== null) forget(overflow);
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
    const entry = entries.get(conversation.orderedId);
    if (entry === undefined) return;
    entry.endedMs = conversation.updatedMs;
    alive--;
  };

  const textOf = (conversation: Conversation): string => {
    const text = recordText(conversation);
    const entry = entries.get(conversation.orderedId);
    if (entry !== undefined) {
      entry.text = text;
      entry.at = conversation.at;
      entry.textEnded = conversation.outcome !== null;
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
    byTuple(tuple) {
      const entry = tuples.get(tuple);
      return entry === undefined ? null : awake(entry);
    },
    byToken(token) {
      const entry = tokens.get(token);
      return entry === undefined ? null : awake(entry);
    },
    awake(orderedId) {
      const entry = entries.get(orderedId);
      return entry === undefined ? null : awake(entry);
    },
    byId(orderedId) {
      const entry = entries.get(orderedId);
      return entry === undefined ? null : peek(entry);
    },
    add,
    remove(conversation) {
      const entry = entries.get(conversation.orderedId);
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
      for (const entry of ring.fromNewest()) {
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
      const entry = entries.get(conversation.orderedId);
      if (entry === undefined || entry.conversation !== conversation || entry.text === "") return;
      // Ended by another login while its own commit was on the way: the text would bring it back to life.
      if (conversation.outcome !== null && !entry.textEnded) return;
      entry.stored = conversation.stored;
      entry.conversation = null;
    },
    sweep() {
      const now = clock.nowMs();
      const expired: Conversation[] = [];
      for (const entry of ring.fromOldest()) {
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
      ring.dropOldestWhile((entry) => entry.gone);
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
        const conversation = decodeRecord(line, { stored: "journal", tokenOf });
        // The newest line comes first.
        if (conversation === null || !found.has(conversation.orderedId)) keep(conversation);
      }
      // A key of its own is newer than the line in the journal that began the conversation.
      for await (const { value, versionstamp } of store.list<unknown>(["conversation"])) {
        if (versionstamp !== null) keep(decodeRecord(value, { stored: { versionstamp }, tokenOf }));
      }
      const inOrder = [...found.values()].sort((a, b) => a.orderedId < b.orderedId ? -1 : 1);
      for (const conversation of inOrder) add(conversation);
      return { alive, unreadable };
    },
    newestFirst(limit) {
      const views: Conversation[] = [];
      for (const entry of ring.fromNewest()) {
        if (views.length >= limit) break;
        const conversation = entry.gone ? null : peek(entry);
        if (conversation !== null) views.push(conversation);
      }
      return views;
    },
    *standing(limit) {
      let left = limit;
      for (const { gone, endedMs, orderedId, conversation, at } of ring.fromNewest()) {
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
      return entries.size;
    },
  };
}

/** A queue in one array. A Map would keep the order too, but walking it from the front passes every entry deleted before. */
interface Ring<T> {
  /** Appends; returns the oldest one when there was no room. */
  push(item: T): T | null;
  fromOldest(): Iterable<T>;
  fromNewest(): Iterable<T>;
  dropOldestWhile(test: (item: T) => boolean): void;
}

function createRing<T>(size: number): Ring<T> {
  const places: (T | undefined)[] = [];
  let first = 0;
  let count = 0;
  const at = (index: number): T => places[(first + index) % size] as T;
  const shift = (): T => {
    const oldest = at(0);
    places[first] = undefined;
    first = (first + 1) % size;
    count--;
    return oldest;
  };
  return {
    push(item) {
      const overflow = count === size - 1 ? shift() : null;
      places[(first + count) % size] = item;
      count++;
      return overflow;
    },
    *fromOldest() {
      for (let index = 0; index < count; index++) yield at(index);
    },
    *fromNewest() {
      for (let index = count - 1; index >= 0; index--) yield at(index);
    },
    dropOldestWhile(test) {
      while (count > 0 && test(at(0))) shift();
    },
  };
}

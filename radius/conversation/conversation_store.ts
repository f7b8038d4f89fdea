// The conversations of this process: finds them in memory, writes them to the store, ends them at their deadline. The table is bounded. If it
// is full, it refuses new logins and never removes one in progress.

import type { Clock } from "../../platform/runtime.ts";
import type { Mutation, Store, StoreEntry } from "../../platform/store.ts";
import type { KvMutation } from "../../platform/commit_queue.ts";
import { type JournalListener, LINE_KINDS, readJournalValue } from "../../platform/journal.ts";
import type { ConversationOutcome, PeerNodes } from "../ports.ts";
import type { Step } from "../protocol/steps.ts";
import { addMoment, type Conversation, type TokenOf } from "./conversation.ts";
import {
  conversationKey,
  decodeRecord,
  encodeConversation,
  localizeRecord,
  type RecordWrite,
  toLocalTimes,
} from "./conversation_codec.ts";
import { ConversationIndex, ConversationTable, loginPacketKey } from "./conversation_table.ts";

const PAIRING: Step = "SECONDFACTOR_AWAIT_PAIRING_APPROVAL";
/** How long an ended conversation stays in memory, for retransmissions and for the console. */
export const ENDED_RETENTION_MS = 60_000;
/** The number of ended conversations in memory, so that a flood of rejected logins has bounded costs. */
export const MAX_ENDED = 4096;
/** The conversations of one user that an answer is compared with. */
const MAX_COMPARED = 64;
/** The maximum share of unsigned logins in the table. */
const UNSIGNED_SHARE = 0.5;

interface ConversationStoreDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Conversations in memory, alive and ended together. */
  readonly maxConversations: number;
  readonly tokenOf: TokenOf;
  /** This run of this process; "" if no other node can use the store. */
  readonly node?: string;
  /** The clock of a node minus the clock of this node; without it, all nodes have one clock. */
  readonly clockOffsetMs?: (node: string) => number;
  /** Random, so that clients cannot predict the hashes of tuples. */
  readonly hashSeed?: number;
}

/** A waiting conversation is parked as the octets of its record, because 100,000 objects would cost the garbage collector too much. */
export class ConversationStore {
  readonly #deps: ConversationStoreDeps;
  readonly #table: ConversationTable;
  readonly #index: ConversationIndex;
  readonly #ended: EndedQueue;
  /** Whether a conversation of another node was added, so that the order of the rows does not show their age. */
  #hasAdopted = false;
  #alive = 0;
  #aliveUnsigned = 0;

  constructor(deps: ConversationStoreDeps) {
    this.#deps = deps;
    this.#table = new ConversationTable({ node: deps.node ?? "" });
    this.#ended = new EndedQueue(this.#table);
    this.#index = new ConversationIndex({
      tokenOf: deps.tokenOf,
      table: this.#table,
      seed: deps.hashSeed ?? 1,
    });
  }

  get alive(): number {
    return this.#alive;
  }
  get aliveHere(): number {
    return this.#table.countAliveHere();
  }
  get size(): number {
    return this.#table.size;
  }

  /** The conversation that the bare name of a step selects on this tuple. */
  bareOn(tuple: string): Conversation | null {
    return this.#unpark(this.#index.bare(tuple));
  }

  /** The conversations of a user that the bare name of a step selects, to read them. `null`: there are too many to compare. */
  bareOf(user: string): Conversation[] | null {
    const found: Conversation[] = [];
    let count = 0;
    for (const row of this.#index.bareOf(user)) {
      if (++count > MAX_COMPARED) return null;
      const conversation = this.#table.read(row);
      if (conversation !== null && this.#index.bare(conversation.tuple) === row) found.push(conversation);
    }
    return found;
  }

  /** The newest conversation of a tuple, alive or ended. */
  newestOn(tuple: string): Conversation | null {
    return this.#unpark(this.#index.newest(tuple));
  }

  /** The newest conversation of a tuple that the bare name has not selected, because an older one is alive. */
  behindOn(tuple: string): Conversation | null {
    return this.#unpark(this.#index.behind(tuple));
  }

  byToken(token: string): Conversation | null {
    return this.#unpark(this.#index.byToken(token));
  }

  /** The login of a relayed packet, by `relayKeyOf()` of its content. */
  byRelayKey(key: string): Conversation | null {
    return this.#unpark(this.#index.byRelayKey(key));
  }

  /** The conversation with a token that this packet began. */
  byLoginPacket(packet: Parameters<typeof loginPacketKey>[0]): Conversation | null {
    return this.#unpark(this.#index.byLoginPacket(loginPacketKey(packet)));
  }

  /** Finds a conversation to change it. */
  unpark(orderedId: string): Conversation | null {
    return this.#unpark(this.#index.byId(orderedId));
  }

  /** Finds a conversation to read it; the result must not be changed. */
  byId(orderedId: string): Conversation | null {
    const row = this.#index.byId(orderedId);
    return row < 0 ? null : this.#table.read(row);
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
    while (this.#table.size >= this.#deps.maxConversations) {
      const oldest = this.#ended.take();
      // Only Cancel adds to a table full of live logins. It also ends a login, so that the next one has room.
      if (oldest < 0) break;
      this.#forget(oldest);
    }
    const row = this.#table.add(conversation);
    this.#index.add(row, conversation, options);
    this.#index.update(row, conversation);
    if (conversation.outcome !== null) return this.#rememberEnd(row);
    this.#alive++;
    if (!conversation.signed) this.#aliveUnsigned++;
  }

  /** Where the record of a conversation is stored, as far as this process knows. */
  storedOf(orderedId: string): Conversation["stored"] {
    const row = this.#index.byId(orderedId);
    return row < 0 ? "not" : this.#table.stored(row);
  }

  /** Takes over a record that another node wrote. A line of the journal is taken over only if the conversation is unknown. */
  adopt(
    { octets, orderedId }: { readonly octets: Uint8Array; readonly orderedId: string },
    stored: Conversation["stored"],
  ): Conversation | null {
    const known = this.#index.byId(orderedId);
    const found = known >= 0 && stored === "journal" ? null : decodeRecord(octets, { stored });
    if (found === null) return null;
    this.#forget(known);
    this.#hasAdopted = true;
    this.add(found, { behind: true });
    const row = this.#index.byId(orderedId);
    this.#table.setRecord(row, found, octets);
    this.#table.park(row, found);
    this.#index.selectLive(found.tuple);
    return found;
  }

  /** From now on, the bare name selects this conversation. */
  claimTuple({ orderedId, tuple }: Conversation): void {
    const row = this.#index.byId(orderedId);
    if (row >= 0) this.#index.claimTuple(row, tuple);
  }

  /** Removes a conversation whose first commit failed. */
  remove({ orderedId }: Conversation): void {
    this.#forget(this.#index.byId(orderedId));
  }

  /**
   * How to write the record. The first one is a line of the journal. Without other nodes, only this process decides how a login ends. So if
   * its login has no key yet, the end needs neither a key nor a check.
   */
  record(conversation: Conversation): RecordWrite {
    const { stored, outcome } = conversation;
    const octets = this.#updateRecord(conversation).slice();
    const isEndLine = stored === "journal" && outcome !== null && !this.#deps.store.isShared;
    if (stored === "not" || isEndLine) {
      return { journal: { octets, expireInMs: this.#expiryOf(conversation) } };
    }
    const mutation = this.#recordMutation(conversation, octets);
    const versionstamp = stored === "journal" ? null : stored.versionstamp;
    return { check: { key: mutation.key, versionstamp }, mutation };
  }

  /** Writes the first record of a conversation into the journal, without other changes. Tells `listener` when it is durable. */
  recordFirst(conversation: Conversation, listener: JournalListener): void {
    const octets = this.#updateRecord(conversation);
    this.#deps.store.append({ octets, expireInMs: this.#expiryOf(conversation) }, listener);
  }

  /** Writes the record of a conversation that another login ended. It has no check, because a commit of that conversation may be in progress. */
  recordEnd(conversation: Conversation): Mutation {
    return this.#recordMutation(conversation, this.#updateRecord(conversation).slice());
  }

  /** The live conversations of a user, newest first. Reads the whole table, so it is for rare events. */
  liveOf(user: string): Conversation[] {
    return [...this.#table.aliveOf(user)].flatMap((row) => this.#unpark(row) ?? []);
  }

  /** The conversation of a user that waits for the request or the pairing with this id, to read it. Reads the whole table, so it is for rare events. */
  findWaiting(user: string, id: string): Conversation | null {
    for (const row of this.#table.aliveOf(user)) {
      const conversation = this.#table.read(row);
      if (conversation?.requestId === id) return conversation;
      if (conversation?.newPairingId === id && conversation.at === PAIRING) return conversation;
    }
    return null;
  }

  /** The mutation that stores a conversation as ended by `row`. Memory does not change. */
  endMutation(
    conversation: Conversation,
    row: string,
    outcome: ConversationOutcome = "cancelled",
  ): Mutation {
    const ended = { ...conversation, moments: conversation.moments.slice(), node: this.#deps.node ?? "" };
    this.#setOutcome(ended, outcome, row);
    return this.#recordMutation(ended, encodeConversation(ended).slice());
  }

  /** Stores a conversation that waits for its next packet as octets. Its record must be committed. */
  park(conversation: Conversation): void {
    const row = this.#index.byId(conversation.orderedId);
    if (row >= 0) this.#table.park(row, conversation);
  }

  /** Ends a conversation in memory; {@link record} writes it. */
  end(conversation: Conversation, outcome: ConversationOutcome, row: string): void {
    if (conversation.outcome !== null) return;
    this.#setOutcome(conversation, outcome, row);
    const place = this.#index.byId(conversation.orderedId);
    if (place < 0) return;
    this.#table.end(place, conversation);
    this.#countEnd(place);
    this.#rememberEnd(place);
  }

  /** Ends conversations at their deadline, and removes those whose retention is over. Returns those that expired now. */
  sweep(): Conversation[] {
    const table = this.#table;
    const now = this.#deps.clock.nowMs();
    const expired: Conversation[] = [];
    for (const row of table.fromOldest()) {
      // The time to live is the same, so no younger one is due. After a change of the setting, its end is noticed up to a minute late.
      // One that begins after now says nothing: the clock was set back since.
      const startedMs = table.startedMs(row);
      const isYoung = startedMs <= now && startedMs + ENDED_RETENTION_MS > now && table.deadlineMs(row) > now;
      if (isYoung && !this.#hasAdopted) break;
      if (!table.has(row)) continue;
      const isDue = table.isAlive(row) && table.deadlineMs(row) <= now;
      const conversation = isDue ? this.#unpark(row) : null;
      if (conversation !== null) {
        this.end(conversation, "expired", "expired");
        expired.push(conversation);
      }
      if (!table.isAlive(row) && table.releasedMs(row) + ENDED_RETENTION_MS <= now) this.#forget(row);
    }
    this.#ended.trim();
    return expired;
  }

  /** Loads the records of an earlier run. Returns how many are alive. */
  async load(): Promise<{ alive: number; unreadable: number }> {
    const { conversations, unreadable } = await readStoredConversations(this.#deps, ENDED_RETENTION_MS);
    // A record that another node wrote meanwhile is newer.
    for (const one of conversations) {
      // A login that ended behind a live one has never been selected by the bare name.
      if (this.#index.byId(one.orderedId) < 0) this.add(one, { behind: one.outcome !== null });
    }
    return { alive: this.#alive, unreadable };
  }

  newestFirst(limit: number): Conversation[] {
    return this.#table.readNewest(limit);
  }

  /** The steps of live conversations, newest first. Decodes no record. */
  liveSteps(limit: number): Generator<{ id: string; step: string }> {
    return this.#table.liveSteps(limit);
  }

  #setOutcome(conversation: Conversation, outcome: ConversationOutcome, row: string): void {
    conversation.outcome = outcome;
    conversation.updatedMs = this.#deps.clock.nowMs();
    conversation.passcode = null;
    conversation.passwordChange = "";
    addMoment(conversation, { atMs: conversation.updatedMs, step: outcome, row });
  }

  #unpark(row: number): Conversation | null {
    return row < 0 ? null : this.#table.unpark(row);
  }

  #countEnd(row: number): void {
    this.#alive--;
    if (!this.#table.isSigned(row)) this.#aliveUnsigned--;
  }

  #rememberEnd(row: number): void {
    this.#ended.push(row);
    const oldest = this.#table.size - this.#alive > MAX_ENDED ? this.#ended.take() : -1;
    if (oldest >= 0) this.#forget(oldest);
  }

  #forget(row: number): void {
    if (row < 0 || !this.#table.has(row)) return;
    if (this.#table.isAlive(row)) this.#countEnd(row);
    this.#index.remove(row);
    this.#table.remove(row);
  }

  /** Encodes the record and keeps it in memory. The result is valid until the next call. */
  #updateRecord(conversation: Conversation): Uint8Array<ArrayBuffer> {
    conversation.node = this.#deps.node ?? "";
    const octets = encodeConversation(conversation);
    const row = this.#index.byId(conversation.orderedId);
    if (row >= 0) {
      this.#table.setRecord(row, conversation, octets);
      this.#index.update(row, conversation);
    }
    return octets;
  }

  #expiryOf({ deadlineMs }: Conversation): number {
    return deadlineMs - this.#deps.clock.nowMs() + ENDED_RETENTION_MS;
  }

  #recordMutation(conversation: Conversation, octets: Uint8Array): KvMutation {
    const key = conversationKey(conversation.orderedId);
    return { type: "set", key, value: octets, expireInMs: this.#expiryOf(conversation) };
  }
}

// The conversations that have ended, so that the one that ended first is removed first.

const NONE = -1;

/** Conversations in the order in which they ended. Removed ones are skipped. */
class EndedQueue {
  readonly #table: ConversationTable;
  #rows: number[] = [];
  #serials: number[] = [];
  #first = 0;

  constructor(table: ConversationTable) {
    this.#table = table;
  }

  push(row: number): void {
    this.#rows.push(row);
    this.#serials.push(this.#table.serial(row));
  }

  /** The row that ended first, or -1. It stays in the queue until it is removed from the table. */
  take(): number {
    this.trim();
    return this.#rows[this.#first] ?? NONE;
  }

  trim(): void {
    while (this.#first < this.#rows.length && !this.#isThere(this.#first)) this.#first++;
    if (this.#first < 1024 || this.#first * 2 < this.#rows.length) return;
    this.#rows = this.#rows.slice(this.#first);
    this.#serials = this.#serials.slice(this.#first);
    this.#first = 0;
  }

  #isThere(at: number): boolean {
    return this.#table.serial(this.#rows[at] as number) === this.#serials[at];
  }
}

// Reads the conversations of an earlier run: from the journal, and from the keys of conversations that took a further step.

/**
 * The conversations that are alive or ended recently, oldest first, and the number of records that cannot be read.
 *
 * @param deps.maxConversations the most that are read from the journal
 */
async function readStoredConversations(
  { store, clock, maxConversations, clockOffsetMs = () => 0 }: {
    readonly store: Pick<Store, "journal" | "list">;
    readonly clock: Pick<Clock, "nowMs">;
    readonly maxConversations: number;
    /** The clock of a node minus the clock of this node. */
    readonly clockOffsetMs?: ((node: string) => number) | undefined;
  },
  endedRetentionMs: number,
): Promise<{ conversations: Conversation[]; unreadable: number }> {
  const now = clock.nowMs();
  const found = new Map<string, Conversation>();
  let unreadable = 0;
  const add = (stored: Conversation | null): void => {
    if (stored === null) return void unreadable++;
    const conversation = toLocalTimes(stored, clockOffsetMs(stored.node));
    if (conversation.deadlineMs > now || conversation.updatedMs + endedRetentionMs > now) {
      found.set(conversation.orderedId, conversation);
    }
  };
  for await (const line of store.journal()) {
    if (found.size >= maxConversations) break;
    if (line[0] === LINE_KINDS.usedStep) continue;
    const conversation = decodeRecord(line, { stored: "journal" });
    const newer = found.get(conversation?.orderedId ?? "");
    // The newest line comes first, unless the clock was set back before a restart. A login does not continue after its end.
    if (newer === undefined || (newer.outcome === null && conversation?.outcome !== null)) add(conversation);
  }
  // A record under its own key is newer than the journal line that began the conversation.
  for await (const { value, versionstamp } of store.list<unknown>(["conversation"])) {
    if (versionstamp !== null) add(decodeRecord(value, { stored: { versionstamp } }));
  }
  const conversations = [...found.values()].sort((a, b) => a.orderedId < b.orderedId ? -1 : 1);
  return { conversations, unreadable };
}

// Takes over the conversations that other nodes write: new ones from the journal, and later records by their key.

interface FollowConversationsDeps {
  readonly store: Pick<Store, "follow">;
  readonly conversations: ConversationStore;
  /** The packets in progress in this process. */
  readonly works: { has(orderedId: string): boolean; overtake(conversation: Conversation): void };
  readonly peers: PeerNodes;
  /** Called for each conversation that was taken over, for the live views. */
  readonly onFollowed: (conversation: Conversation, change: { readonly isNew: boolean }) => void;
}

/** Call it before conversations are loaded. */
export function followConversations(
  { store, conversations, works, peers, onFollowed }: FollowConversationsDeps,
): void {
  const adopt = (record: unknown, stored: Conversation["stored"]): void => {
    const local = localizeRecord(record, (node) => peers.clockOffsetMs(node));
    if (local === null) throw new TypeError("it is no login of this version");
    const isNew = conversations.storedOf(local.orderedId) === "not";
    const adopted = conversations.adopt(local, stored);
    if (adopted === null) return;
    if (isNew) works.overtake(adopted);
    onFollowed(adopted, { isNew });
  };
  const applyRecord = ({ key, value, versionstamp }: StoreEntry<unknown>): void => {
    const id = String(key[1]);
    // A record that expired in the store ends in memory by its own deadline.
    const known = conversations.storedOf(id);
    const isKnown = typeof known === "object" && known.versionstamp >= (versionstamp ?? "");
    if (versionstamp === null || isKnown) return;
    if (!works.has(id)) return adopt(value, { versionstamp });
    // Its packet in progress cannot be recorded any more.
    const running = conversations.unpark(id);
    if (running !== null) running.overtaken = true;
  };
  store.follow(["conversation"], applyRecord);
  store.follow(["journal"], ({ value }) => {
    const faults: unknown[] = [];
    for (const line of readJournalValue(value)) {
      if (line[0] === LINE_KINDS.usedStep) continue;
      try {
        adopt(line, "journal");
      } catch (fault) {
        faults.push(fault);
      }
    }
    if (faults.length > 0) throw faults[0];
  });
}

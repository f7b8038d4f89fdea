// The conversations in memory, as rows of a table. Each field of a waiting conversation is in a typed array or in an octet arena, because 100,000
// objects would take the garbage collector more time than all other work of a login.

import { OctetArena } from "../../platform/octet_arena.ts";
import { type Conversation, isDeniedWhileWaiting } from "./conversation.ts";
import { decodeOrderedId, decodeRecord, isRecordField } from "./conversation_codec.ts";

const FIRST_ROWS = 1024;
const NONE = -1;
/** Instead of a time, for a conversation that is alive. */
const ALIVE = -1;

const HAS_TOKEN = 1;
const SIGNED = 2;
/** The record in the arena is that of an ended conversation. Only then may an ended one be parked. */
const RECORD_ENDED = 4;
const USED = 8;
/** Another node handled the last packet. */
const ELSEWHERE = 16;

/**
 * A row holds a conversation in use (`conversation`), its last record (octets), or both. A parked conversation has only its record.
 * The digest of its last answer (base64url) follows the record in the arena, and is never stored.
 */
export class ConversationTable {
  readonly #node: string;
  readonly #arena = new OctetArena();
  readonly #inUse: (Conversation | null)[] = [];
  readonly #stored: Conversation["stored"][] = [];
  readonly #places: string[] = [];
  #flags = new Uint8Array(FIRST_ROWS);
  #startedMs = new Float64Array(FIRST_ROWS);
  #deadlineMs = new Float64Array(FIRST_ROWS);
  #releasedMs = new Float64Array(FIRST_ROWS);
  #serials = new Float64Array(FIRST_ROWS);
  #blocks = new Int32Array(FIRST_ROWS);
  #recordOctets = new Int32Array(FIRST_ROWS);
  #digestOctets = new Uint8Array(FIRST_ROWS);
  /** Links in the order in which the conversations began. */
  #older = new Int32Array(FIRST_ROWS);
  #newer = new Int32Array(FIRST_ROWS);
  readonly #free: number[] = [];
  #rows = 0;
  #size = 0;
  #nextSerial = 1;
  #oldest = NONE;
  #newest = NONE;

  /** @param options.node this run of this process; "" if no other node can use the store */
  constructor({ node }: { node: string }) {
    this.#node = node;
  }

  get size(): number {
    return this.#size;
  }

  /** How many conversations are alive that this node handled last, or that no other node handled yet. Reads all rows. */
  countAliveHere(): number {
    let count = 0;
    for (let row = 0; row < this.#rows; row++) {
      const flags = this.#flags[row] as number;
      if ((flags & (USED | ELSEWHERE)) === USED && this.isAlive(row)) count++;
    }
    return count;
  }

  /** Adds a conversation as the newest one. Returns its row. */
  add(conversation: Conversation): number {
    const row = this.#free.pop() ?? this.#rows++;
    if (row >= this.#flags.length) this.#grow();
    this.#inUse[row] = conversation;
    this.#stored[row] = conversation.stored;
    this.#places[row] = conversation.at;
    this.#flags[row] = USED | (conversation.hasToken ? HAS_TOKEN : 0) | (conversation.signed ? SIGNED : 0) |
      this.#elsewhere(conversation);
    this.#startedMs[row] = conversation.startedMs;
    this.#deadlineMs[row] = conversation.deadlineMs;
    this.#releasedMs[row] = conversation.outcome === null ? ALIVE : releasedMs(conversation);
    this.#serials[row] = this.#nextSerial++;
    this.#recordOctets[row] = 0;
    this.#digestOctets[row] = 0;
    this.#link(row);
    this.#size++;
    return row;
  }

  /** Removes the row. Its link to a newer row stays until the row is used again, so that an iteration can continue. */
  remove(row: number): void {
    const [older, newer] = [this.#older[row] as number, this.#newer[row] as number];
    if (older < 0) this.#oldest = newer;
    else this.#newer[older] = newer;
    if (newer < 0) this.#newest = older;
    else this.#older[newer] = older;
    this.#freeBlock(row);
    this.#inUse[row] = null;
    this.#stored[row] = "not";
    this.#flags[row] = 0;
    this.#serials[row] = 0;
    this.#free.push(row);
    this.#size--;
  }

  /** The number of the conversation in the row, because a row is used again; 0 for a free row. */
  serial(row: number): number {
    return this.#serials[row] as number;
  }

  /** Where the record of the row is stored. */
  stored(row: number): Conversation["stored"] {
    return this.#inUse[row]?.stored ?? this.#stored[row] ?? "not";
  }

  /** Whether the row holds a conversation. */
  has(row: number): boolean {
    return this.#flags[row] !== 0;
  }

  hasToken(row: number): boolean {
    return ((this.#flags[row] as number) & HAS_TOKEN) !== 0;
  }

  isSigned(row: number): boolean {
    return ((this.#flags[row] as number) & SIGNED) !== 0;
  }

  startedMs(row: number): number {
    return this.#startedMs[row] as number;
  }

  deadlineMs(row: number): number {
    return this.#deadlineMs[row] as number;
  }

  isAlive(row: number): boolean {
    return this.#releasedMs[row] === ALIVE;
  }

  /** When the time begins after which an ended conversation leaves the table. Only for a conversation that has ended. */
  releasedMs(row: number): number {
    return this.#releasedMs[row] as number;
  }

  end(row: number, conversation: Conversation): void {
    this.#releasedMs[row] = releasedMs(conversation);
  }

  orderedId(row: number): string {
    return this.#inUse[row]?.orderedId ?? decodeOrderedId(this.#arena.open(this.#blocks[row] as number));
  }

  /** The place of the conversation, also of a parked one. */
  placeOf(row: number): string {
    return this.#inUse[row]?.at ?? this.#places[row] as string;
  }

  /** Whether the ordered id, the tuple or the user of the row equals a text. */
  matches(row: number, name: "orderedId" | "tuple" | "user", text: string): boolean {
    const conversation = this.#inUse[row];
    if (conversation !== null && conversation !== undefined) return conversation[name] === text;
    return isRecordField(this.#arena.open(this.#blocks[row] as number), name, text);
  }

  /** The conversation to read; it must not be changed. */
  read(row: number): Conversation | null {
    const conversation = this.#inUse[row] ?? null;
    if (conversation !== null || this.#recordOctets[row] === 0) return conversation;
    const length = this.#recordOctets[row] as number;
    const digestOctets = this.#digestOctets[row] as number;
    const { octets, at } = this.#arena.open(this.#blocks[row] as number);
    let answerDigest: string | null = null;
    for (let i = 0; i < digestOctets; i++) {
      answerDigest = (answerDigest ?? "") + String.fromCharCode(octets[at + length + i] as number);
    }
    const stored = this.#stored[row] as Conversation["stored"];
    return decodeRecord(octets.subarray(at, at + length), { stored, answerDigest });
  }

  /** The conversation to change it: all callers get the same object, until it is parked. */
  unpark(row: number): Conversation | null {
    const conversation = this.read(row);
    this.#inUse[row] = conversation;
    return conversation;
  }

  /** Keeps the record of a conversation in use. */
  setRecord(row: number, conversation: Conversation, record: Uint8Array): void {
    const digest = conversation.answerDigest;
    const digestOctets = digest === null ? 0 : digest.length;
    const wanted = record.length + digestOctets;
    const used = this.#usedOctets(row);
    if (used === 0 || !this.#arena.fits(used, wanted)) {
      this.#freeBlock(row);
      this.#blocks[row] = this.#arena.allocate(wanted);
    }
    const { octets, at } = this.#arena.open(this.#blocks[row] as number);
    octets.set(record, at);
    for (let i = 0; i < digestOctets; i++) octets[at + record.length + i] = (digest as string).charCodeAt(i);
    this.#recordOctets[row] = record.length;
    this.#digestOctets[row] = digestOctets;
    this.#places[row] = conversation.at;
    const flags = (this.#flags[row] as number) & ~(RECORD_ENDED | ELSEWHERE);
    this.#flags[row] = flags | (conversation.outcome === null ? 0 : RECORD_ENDED) |
      this.#elsewhere(conversation);
  }

  #elsewhere({ node }: Conversation): number {
    return node === "" || node === this.#node ? 0 : ELSEWHERE;
  }

  /** Releases the conversation in use, so that only its record stays. Its record must be committed. */
  park(row: number, conversation: Conversation): void {
    if (this.#inUse[row] !== conversation || this.#recordOctets[row] === 0) return;
    // Another login ended it while its own commit was in progress. The record would make it alive again.
    if (conversation.outcome !== null && ((this.#flags[row] as number) & RECORD_ENDED) === 0) return;
    this.#stored[row] = conversation.stored;
    this.#inUse[row] = null;
  }

  *fromOldest(): Generator<number> {
    for (let row = this.#oldest; row >= 0; row = this.#newer[row] as number) yield row;
  }

  *fromNewest(): Generator<number> {
    for (let row = this.#newest; row >= 0; row = this.#older[row] as number) yield row;
  }

  /** The rows of live conversations of a user, newest first. */
  *aliveOf(user: string): Generator<number> {
    for (const row of this.fromNewest()) {
      if (this.has(row) && this.isAlive(row) && this.matches(row, "user", user)) yield row;
    }
  }

  /** The newest conversations, to read them. */
  readNewest(limit: number): Conversation[] {
    const found: Conversation[] = [];
    for (const row of this.fromNewest()) {
      if (found.length >= limit) break;
      const conversation = this.read(row);
      if (conversation !== null) found.push(conversation);
    }
    return found;
  }

  /** The steps of live conversations, newest first. Decodes no record. */
  *liveSteps(limit: number): Generator<{ id: string; step: string }> {
    let left = limit;
    for (const row of this.fromNewest()) {
      if (left <= 0) return;
      if (!this.has(row) || !this.isAlive(row)) continue;
      left--;
      yield { id: this.orderedId(row), step: this.placeOf(row) };
    }
  }

  #link(row: number): void {
    this.#older[row] = this.#newest;
    this.#newer[row] = NONE;
    if (this.#newest >= 0) this.#newer[this.#newest] = row;
    else this.#oldest = row;
    this.#newest = row;
  }

  #usedOctets(row: number): number {
    return (this.#recordOctets[row] as number) + (this.#digestOctets[row] as number);
  }

  #freeBlock(row: number): void {
    const used = this.#usedOctets(row);
    if (used > 0) this.#arena.free(this.#blocks[row] as number, used);
    this.#recordOctets[row] = 0;
    this.#digestOctets[row] = 0;
  }

  #grow(): void {
    this.#flags = doubled(this.#flags);
    this.#startedMs = doubled(this.#startedMs);
    this.#deadlineMs = doubled(this.#deadlineMs);
    this.#releasedMs = doubled(this.#releasedMs);
    this.#serials = doubled(this.#serials);
    this.#blocks = doubled(this.#blocks);
    this.#recordOctets = doubled(this.#recordOctets);
    this.#digestOctets = doubled(this.#digestOctets);
    this.#older = doubled(this.#older);
    this.#newer = doubled(this.#newer);
  }
}

/** The end of a conversation. One that ended without a packet stays until its client has no reason to continue it. */
function releasedMs(conversation: Conversation): number {
  const { updatedMs, deadlineMs } = conversation;
  return isDeniedWhileWaiting(conversation) ? Math.max(updatedMs, deadlineMs) : updatedMs;
}

/** A copy of twice the length. */
function doubled<T extends Uint8Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Float64Array<ArrayBuffer>>(
  column: T,
): T {
  const larger = new (column.constructor as new (length: number) => T)(2 * column.length);
  larger.set(column);
  return larger;
}

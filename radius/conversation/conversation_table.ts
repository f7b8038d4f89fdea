// The conversations in memory, as rows of a table, and the index that finds them: by id, tuple, token and login packet. Each field of a waiting
// conversation is in a typed array or in an octet arena, because 100,000 objects would take the garbage collector more time than all other work.

import { HashIndex, hashText, OctetArena, TextHash } from "../../platform/octet_fields.ts";
import { isStep } from "../protocol/steps.ts";
import { type Conversation, isDeniedWhileWaiting, type LastAnswer, type TokenOf } from "./conversation.ts";
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

type RowMap = Map<string, number>;

/** The keys of a conversation with a token. The token is that of the current step, and of the step that was answered last: a retransmission has the latter. */
interface TokenKeys {
  readonly tuple: string;
  token: string | null;
  priorToken: string | null;
  /** Identifies the packet that began the conversation; `null` after another packet was handled. */
  loginPacket: string | null;
}

/** Identifies the packet of a login. */
export function loginPacketKey(
  { authenticator, identifier }: Pick<LastAnswer, "authenticator" | "identifier">,
): string {
  return `${authenticator} ${identifier}`;
}

/** Every look-up returns a row, or -1. */
export class ConversationIndex {
  readonly #tokenOf: TokenOf;
  readonly #table: ConversationTable;
  readonly #seed: number;
  readonly #tupleHash: TextHash;
  readonly #ids = new HashIndex();
  /** The newest conversation of each tuple that the bare name of a step selects. */
  readonly #bareTuples = new HashIndex();
  readonly #bareUsers = new HashIndex();
  /** The newest conversation with a token of each tuple. */
  readonly #tokenTuples: RowMap = new Map();
  readonly #tokens: RowMap = new Map();
  readonly #loginPackets: RowMap = new Map();
  readonly #tokenKeys = new Map<number, TokenKeys>();
  /** Relayed logins by the packet that the first-factor server judged, and the reverse. */
  readonly #relayed: RowMap = new Map();
  readonly #relayKeys = new Map<number, string>();
  /** The newest conversation of each tuple that waits until the bare name may select it. */
  readonly #behind: RowMap = new Map();
  /** The last result. Each packet looks for the same id several times. */
  #lastId = "";
  #lastIdRow = NONE;

  /** @param deps.seed clients choose tuples; with a random seed, they cannot choose many that share a bucket */
  constructor(deps: { readonly tokenOf: TokenOf; readonly table: ConversationTable; readonly seed: number }) {
    this.#tokenOf = deps.tokenOf;
    this.#table = deps.table;
    this.#seed = deps.seed;
    this.#tupleHash = new TextHash(deps.seed);
  }

  /** @param options.behind the bare name continues to select a live older login of the same tuple */
  add(row: number, conversation: Conversation, { behind }: { behind: boolean }): void {
    const { orderedId, tuple, user, hasToken, relay } = conversation;
    this.#ids.add(row, this.#hash(orderedId));
    if (relay !== null && relay.key !== "") {
      this.#relayed.set(relay.key, row);
      this.#relayKeys.set(row, relay.key);
    }
    this.#lastId = orderedId;
    this.#lastIdRow = row;
    if (hasToken) {
      this.#tokenTuples.set(tuple, row);
      this.#tokenKeys.set(row, { tuple, token: null, priorToken: null, loginPacket: null });
      return;
    }
    this.#bareUsers.add(row, this.#hash(user));
    const older = this.bare(tuple);
    if (!behind || older < 0 || !this.#table.isAlive(older)) this.#select(row, tuple, older);
    else this.#behind.set(tuple, row);
  }

  /** The newest conversation of a tuple that the bare name has not selected, because an older one is alive. */
  readonly behind = (tuple: string): number => this.#behind.get(tuple) ?? NONE;

  /** If the bare name selects a conversation that has ended, it selects the live one that waits behind it from now on. */
  selectLive(tuple: string): void {
    const behind = this.#behind.get(tuple);
    const selected = this.bare(tuple);
    if (behind === undefined || (selected >= 0 && this.#table.isAlive(selected))) return;
    this.#behind.delete(tuple);
    if (this.#table.has(behind) && this.#table.matches(behind, "tuple", tuple)) {
      this.#select(behind, tuple, selected);
    }
  }

  remove(row: number): void {
    this.#ids.remove(row);
    if (this.#behind.size > 0) this.#removeBehind(row);
    if (row === this.#lastIdRow) this.#lastIdRow = NONE;
    this.#bareTuples.remove(row);
    this.#bareUsers.remove(row);
    deleteRow(this.#relayed, this.#relayKeys.get(row) ?? null, row);
    this.#relayKeys.delete(row);
    const keys = this.#tokenKeys.get(row);
    if (keys === undefined) return;
    this.#tokenKeys.delete(row);
    deleteRow(this.#tokenTuples, keys.tuple, row);
    deleteRow(this.#tokens, keys.token, row);
    deleteRow(this.#tokens, keys.priorToken, row);
    deleteRow(this.#loginPackets, keys.loginPacket, row);
  }

  /** Updates the keys that depend on the step and on the last packet. */
  update(row: number, { orderedId, at, lastAnswer }: Conversation): void {
    const keys = this.#table.hasToken(row) ? this.#tokenKeys.get(row) : undefined;
    if (keys === undefined) return;
    const token = isStep(at) ? this.#tokenOf(orderedId, at) : null;
    const state = lastAnswer?.state ?? null;
    const prior = state === null || state === at ? null : this.#tokenOf(orderedId, state);
    for (const old of [keys.token, keys.priorToken]) {
      if (old !== token && old !== prior) deleteRow(this.#tokens, old, row);
    }
    keys.token = token;
    keys.priorToken = prior;
    if (token !== null) this.#tokens.set(token, row);
    if (prior !== null) this.#tokens.set(prior, row);
    const packet = lastAnswer !== null && lastAnswer.state === null ? loginPacketKey(lastAnswer) : null;
    if (packet === keys.loginPacket) return;
    deleteRow(this.#loginPackets, keys.loginPacket, row);
    keys.loginPacket = packet;
    if (packet !== null) this.#loginPackets.set(packet, row);
  }

  /** From now on, the bare name of a step selects this conversation of its tuple. */
  claimTuple(row: number, tuple: string): void {
    if (!this.#table.hasToken(row)) this.#select(row, tuple, this.bare(tuple));
  }

  byId(orderedId: string): number {
    if (this.#lastIdRow >= 0 && orderedId === this.#lastId) return this.#lastIdRow;
    let row = this.#ids.first(this.#hash(orderedId));
    while (row >= 0 && !this.#table.matches(row, "orderedId", orderedId)) row = this.#ids.next(row);
    this.#lastId = orderedId;
    this.#lastIdRow = row;
    return row;
  }

  /** The conversation that the bare name of a step selects. */
  bare(tuple: string): number {
    let row = this.#bareTuples.first(this.#tupleHash.of(tuple));
    while (row >= 0 && !this.#table.matches(row, "tuple", tuple)) row = this.#bareTuples.next(row);
    return row;
  }

  /** The conversations of a user without a token, newest first. */
  *bareOf(user: string): Generator<number> {
    for (let row = this.#bareUsers.first(this.#hash(user)); row >= 0; row = this.#bareUsers.next(row)) {
      if (this.#table.matches(row, "user", user)) yield row;
    }
  }

  /** The newest conversation of a tuple, alive or ended. */
  newest(tuple: string): number {
    const bare = this.bare(tuple);
    const withToken = this.#tokenTuples.size === 0 ? NONE : this.#tokenTuples.get(tuple) ?? NONE;
    if (bare < 0 || withToken < 0) return Math.max(bare, withToken);
    return this.#table.orderedId(bare) > this.#table.orderedId(withToken) ? bare : withToken;
  }

  byToken(token: string): number {
    return this.#tokens.get(token) ?? NONE;
  }

  byRelayKey(key: string): number {
    return this.#relayed.get(key) ?? NONE;
  }

  byLoginPacket(packet: string): number {
    return this.#loginPackets.get(packet) ?? NONE;
  }

  /** Few conversations wait behind another one, because it must have a first factor that is checked. The one behind `row` is selected. */
  #removeBehind(row: number): void {
    for (const [tuple, behind] of this.#behind) {
      const isSelected = behind !== row && this.#table.matches(row, "tuple", tuple);
      if (behind === row) this.#behind.delete(tuple);
      else if (isSelected && this.bare(tuple) === row) this.#select(behind, tuple, row);
    }
  }

  #select(row: number, tuple: string, older: number): void {
    if (this.#behind.get(tuple) === row) this.#behind.delete(tuple);
    if (older === row) return;
    if (older >= 0) this.#bareTuples.remove(older);
    this.#bareTuples.add(row, this.#tupleHash.of(tuple));
  }

  #hash(text: string): number {
    return hashText(text, this.#seed);
  }
}

function deleteRow(map: RowMap, key: string | null, row: number): void {
  if (key !== null && map.get(key) === row) map.delete(key);
}

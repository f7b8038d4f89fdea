// The tuple of request attributes by which a packet finds its conversation.

import {
  FieldReader,
  FieldWriter,
  HashIndex,
  isTextAt,
  OctetArena,
  PrefixViews,
  TextHash,
} from "../../platform/octet_fields.ts";
import type { PacketView } from "../protocol/packet.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Log } from "../../platform/log.ts";
import type { Mutation, Store, StoreEntry } from "../../platform/store.ts";
import type { Vault } from "../../platform/vault.ts";

/**
 * The client, User-Name, and each of Calling-Station-Id, NAS-Port-Id and NAS-Port that is neither empty nor 0. Never the source port or
 * Service-Type: real clients change both.
 */
export interface Tuple {
  /** Unambiguous: the base64 octets contain the length of each value, and the length precedes the client's name. */
  readonly key: string;
  /** Whether it has one of the three attributes, so that it distinguishes logins of the same user. */
  readonly distinct: boolean;
  /** The key without the user: the same for all users of one port or address. */
  readonly place: string;
}

const PARTS = ["callingStationId", "nasPortId", "nasPort"] as const;
/** Their names in RADIUS, for the log. */
const PART_NAMES = ["Calling-Station-Id", "NAS-Port-Id", "NAS-Port"];
const scratch = new Uint8Array(PARTS.length * 256);
const scratchViews = new PrefixViews(scratch);

/** @param user the canonical name. */
export function tupleOf(view: PacketView, client: string, user: string): Tuple {
  const { octets } = view;
  let used = 0;
  let distinct = false;
  for (const part of PARTS) {
    const { at, lengthOctets, count } = view.slots[part];
    let zeros = 0;
    if (count > 0) { while (zeros < lengthOctets && octets[at + zeros] === 0) zeros++; }
    const empty = count === 0 || zeros === lengthOctets;
    scratch[used++] = empty ? 0 : lengthOctets;
    if (empty) continue;
    distinct = true;
    for (let i = 0; i < lengthOctets; i++) scratch[used++] = octets[at + i] as number;
  }
  const key = scratchViews.of(used).toBase64() + clientPart(client) + user;
  // Cut from the key, so that the runtime joins the parts only once.
  return { key, distinct, place: placeOfTuple(key, user) };
}

/** The end of the place of each client. There are few clients. */
const MAX_CLIENT_PARTS = 10_000;
const clientParts = new Map<string, string>();

function clientPart(client: string): string {
  let part = clientParts.get(client);
  if (part === undefined) {
    part = ` ${client.length} ${client}`;
    if (clientParts.size >= MAX_CLIENT_PARTS) clientParts.clear();
    clientParts.set(client, part);
  }
  return part;
}

/** The {@link Tuple.place} of a tuple's key. */
export function placeOfTuple(key: string, user: string): string {
  return key.slice(0, key.length - user.length);
}

/** How the tuple of an answer differs from that of a login of the same user and client. */
export interface TupleComparison {
  /** The attributes that the answer lacks, that the login lacks, and that have different values. */
  readonly missing: readonly string[];
  readonly added: readonly string[];
  readonly different: readonly string[];
  /** Whether the answer can belong to the login: nothing is different, and an added attribute comes with one that is equal. */
  readonly fits: boolean;
}

/** Compares the attributes of a login with those of an answer. `null`: they are not of the same client and user. */
export function compareTuples(login: string, answer: string): TupleComparison | null {
  const [loginEnd, answerEnd] = [login.indexOf(" "), answer.indexOf(" ")];
  if (login.slice(loginEnd) !== answer.slice(answerEnd)) return null;
  const [before, now] = [partsOf(login.slice(0, loginEnd)), partsOf(answer.slice(0, answerEnd))];
  const having = (has: (at: number) => boolean) => PART_NAMES.filter((_, at) => has(at));
  const missing = having((at) => before[at] !== "" && now[at] === "");
  const added = having((at) => before[at] === "" && now[at] !== "");
  const different = having((at) => before[at] !== now[at] && before[at] !== "" && now[at] !== "");
  const hasEqual = before.some((value, at) => value !== "" && value === now[at]);
  return { missing, added, different, fits: different.length === 0 && (added.length === 0 || hasEqual) };
}

function partsOf(base64: string): string[] {
  const octets = Uint8Array.fromBase64(base64);
  const parts: string[] = [];
  for (let at = 0; at < octets.length;) {
    const end = at + 1 + (octets[at] as number);
    parts.push(octets.subarray(at + 1, end).toHex());
    at = end;
  }
  return parts;
}

// Finds tuples that several logins share although they contain a Calling-Station-Id or a port. For example, a portal sends one value for all
// its users. State then contains a token. A shared tuple is stored for a day.

interface SharedTupleLogin {
  /** The tuple without the user. */
  readonly place: string;
  /** Canonical name. */
  readonly user: string;
  /** Whether another login of the tuple is in progress. */
  readonly busy: boolean;
  /** Whether the sender proved that it knows the secret. If not, nothing is recorded. */
  readonly hasProof: boolean;
}

const SHARED_MS = 24 * 3600_000;
/** Tuples in memory, in each of two generations. */
const MAX_KNOWN = 32_768;
/** Beyond this number, every tuple counts as shared. Otherwise a removed one would count as distinct. */
const MAX_SHARED = 16_384;
const RECOUNT_MS = 60_000;
/** A longer key is replaced by its digest. */
const MAX_KEY_CHARACTERS = 128;
const STORE_KEY = "shared_tuple";

interface SharedTuplesDeps {
  readonly store: Pick<Store, "list" | "commit" | "follow">;
  readonly clock: Pick<Clock, "nowMs">;
  readonly log: Log;
  readonly vault: Pick<Vault, "digest">;
  /** Random, so that clients cannot predict the hashes of tuples. */
  readonly hashSeed?: number;
  readonly maxKnown?: number;
  readonly maxShared?: number;
}

export class SharedTuples {
  readonly #deps: SharedTuplesDeps;
  readonly #maxKnown: number;
  readonly #maxShared: number;
  readonly #seed: number;
  #current: TupleTable;
  #previous: TupleTable;
  #shared = 0;
  #countedMs = 0;

  constructor(deps: SharedTuplesDeps) {
    this.#deps = deps;
    this.#maxKnown = deps.maxKnown ?? MAX_KNOWN;
    this.#maxShared = deps.maxShared ?? MAX_SHARED;
    this.#seed = deps.hashSeed ?? 1;
    this.#current = new TupleTable(this.#seed);
    this.#previous = new TupleTable(this.#seed);
    deps.store.follow([STORE_KEY], (entry) => this.#apply(entry));
  }

  /**
   * Records a login. Returns whether its tuple distinguishes it. It does not if several user names share the tuple, if an earlier login of
   * the tuple has no final answer yet, or if either was found within the last day.
   */
  distinguishes({ place, user, busy, hasProof }: SharedTupleLogin): boolean {
    const key = this.#keyOf(place);
    const known = this.#find(key);
    const table = this.#current;
    const isOfAnother = known >= 0 && (!table.isUser(known, user) || table.isOpen(known));
    const isShared = busy || isOfAnother;
    const wasMarked = this.#isMarked(known);
    if (!hasProof) return !isShared && !wasMarked;
    const row = known >= 0 ? known : this.#add({ key, user, open: true, sharedUntilMs: 0 });
    if (isShared && this.#isToRenew(row) && !this.#isFull()) this.#mark(key, row);
    if (known >= 0) {
      table.setUser(row, { key, user });
      table.setOpen(row, true);
    }
    return !isShared && !wasMarked;
  }

  /** Whether the tuple does not distinguish logins. Records nothing. */
  isShared(place: string): boolean {
    return this.#isMarked(this.#find(this.#keyOf(place)));
  }

  /** Records that a login has its final answer, or will get none, so that no State value of it is in use. */
  concluded(place: string, user: string): void {
    const row = this.#find(this.#keyOf(place));
    if (row >= 0 && this.#current.isUser(row, user)) this.#current.setOpen(row, false);
  }

  async load(): Promise<void> {
    for await (const entry of this.#deps.store.list([STORE_KEY])) {
      if (this.#shared >= this.#maxShared) break;
      this.#apply(entry);
    }
  }

  /** Takes over a stored mark: at the start, or after a change of another node. */
  #apply({ key: [, place], value }: StoreEntry<unknown>): void {
    const mark = value as { user: string; untilMs: number } | null;
    const now = this.#nowMs();
    if (typeof place !== "string" || typeof mark?.user !== "string" || !(mark.untilMs > now)) return;
    const row = this.#find(place);
    if (row < 0 && this.#isFull()) return;
    if (row < 0 || this.#current.sharedUntilMs(row) <= now) this.#shared++;
    if (row < 0) this.#add({ key: place, user: mark.user, open: false, sharedUntilMs: mark.untilMs });
    else this.#current.setSharedUntil(row, Math.max(this.#current.sharedUntilMs(row), mark.untilMs));
  }

  #nowMs(): number {
    return this.#deps.clock.nowMs();
  }

  #keyOf(place: string): string {
    return place.length <= MAX_KEY_CHARACTERS ? place : this.#deps.vault.digest(STORE_KEY, place);
  }

  /** Adds a tuple to the present generation. Returns its row. */
  #add(known: KnownTuple): number {
    if (this.#current.size >= this.#maxKnown) this.#startGeneration();
    return this.#current.add(known);
  }

  /** The row of a tuple in the present generation, or -1. A tuple of the previous one moves to the present one. */
  #find(key: string): number {
    const row = this.#current.find(key);
    if (row >= 0 || this.#previous.size === 0) return row;
    const older = this.#previous.find(key);
    if (older < 0) return -1;
    const known = this.#previous.read(older);
    this.#previous.remove(older);
    return this.#add(known);
  }

  /** Removes the tuples that were unused for the longest time, except the shared ones. */
  #startGeneration(): void {
    const now = this.#nowMs();
    const next = new TupleTable(this.#seed);
    for (const generation of [this.#previous, this.#current]) {
      for (const row of generation.shared(now)) {
        next.add(generation.read(row));
        generation.remove(row);
      }
    }
    this.#shared = next.size;
    this.#previous = this.#current;
    this.#current = next;
  }

  /** The count includes expired marks until it is computed again, when there is no room. */
  #isFull(): boolean {
    if (this.#shared < this.#maxShared) return false;
    const now = this.#nowMs();
    if (now - this.#countedMs < RECOUNT_MS) return true;
    this.#countedMs = now;
    this.#shared = 0;
    for (const generation of [this.#previous, this.#current]) {
      for (const _row of generation.shared(now)) this.#shared++;
    }
    return this.#shared >= this.#maxShared;
  }

  /** At most every half day, so that not every login of a portal writes to the store. */
  #isToRenew(row: number): boolean {
    return this.#current.sharedUntilMs(row) < this.#nowMs() + SHARED_MS / 2;
  }

  #isMarked(row: number): boolean {
    return (row >= 0 && this.#current.sharedUntilMs(row) > this.#nowMs()) || this.#isFull();
  }

  #mark(key: string, row: number): void {
    const now = this.#nowMs();
    if (this.#current.sharedUntilMs(row) <= now) this.#shared++;
    const untilMs = now + SHARED_MS;
    this.#current.setSharedUntil(row, untilMs);
    const mutation: Mutation = {
      type: "set",
      key: [STORE_KEY, key],
      value: { user: this.#current.read(row).user, untilMs },
      expireInMs: SHARED_MS,
    };
    this.#deps.store.commit({ mutations: [mutation] }).catch((fault: unknown) =>
      this.#deps.log.error("a tuple that several logins share could not be recorded", {
        fault: String(fault),
      })
    );
  }
}

// The known tuples, in typed arrays: tens of thousands of objects would burden the garbage collector.

/** A tuple, the user of its last login, and its state. */
export interface KnownTuple {
  readonly key: string;
  readonly user: string;
  /** Whether its last login has no final answer yet. */
  readonly open: boolean;
  /** Until when the tuple counts as shared. */
  readonly sharedUntilMs: number;
}

const FIRST_ROWS = 1024;
const LENGTH_OCTETS = 2;
const writer = new FieldWriter();

/** Each row has a key and a user in one block of octets. */
export class TupleTable {
  readonly #hash: TextHash;
  readonly #index = new HashIndex();
  readonly #arena = new OctetArena();
  #blocks = new Int32Array(FIRST_ROWS);
  #octets = new Int32Array(FIRST_ROWS);
  #open = new Uint8Array(FIRST_ROWS);
  #sharedUntilMs = new Float64Array(FIRST_ROWS);
  readonly #free: number[] = [];
  #rows = 0;
  #size = 0;

  /** @param seed random, so that clients cannot predict hashes */
  constructor(seed: number) {
    this.#hash = new TextHash(seed);
  }

  get size(): number {
    return this.#size;
  }

  /** The row of a tuple, or -1. */
  find(key: string): number {
    let row = this.#index.first(this.#hash.of(key));
    while (row >= 0 && !this.#hasText(row, 0, key)) row = this.#index.next(row);
    return row;
  }

  /** Adds a tuple that is not in the table. Returns its row. */
  add({ key, user, open, sharedUntilMs }: KnownTuple): number {
    const row = this.#free.pop() ?? this.#rows++;
    if (row >= this.#blocks.length) this.#grow();
    this.#write(row, key, user);
    this.#open[row] = open ? 1 : 0;
    this.#sharedUntilMs[row] = sharedUntilMs;
    this.#index.add(row, this.#hash.of(key));
    this.#size++;
    return row;
  }

  remove(row: number): void {
    this.#index.remove(row);
    this.#arena.free(this.#blocks[row] as number, this.#octets[row] as number);
    this.#octets[row] = 0;
    this.#free.push(row);
    this.#size--;
  }

  read(row: number): KnownTuple {
    const { octets, at } = this.#arena.open(this.#blocks[row] as number);
    const from = new FieldReader(octets, at, at + (this.#octets[row] as number));
    return {
      key: from.text(),
      user: from.text(),
      open: this.isOpen(row),
      sharedUntilMs: this.sharedUntilMs(row),
    };
  }

  isUser(row: number, user: string): boolean {
    return this.#hasText(row, 1, user);
  }

  isOpen(row: number): boolean {
    return this.#open[row] === 1;
  }

  setOpen(row: number, open: boolean): void {
    this.#open[row] = open ? 1 : 0;
  }

  sharedUntilMs(row: number): number {
    return this.#sharedUntilMs[row] as number;
  }

  setSharedUntil(row: number, untilMs: number): void {
    this.#sharedUntilMs[row] = untilMs;
  }

  setUser(row: number, { key, user }: { key: string; user: string }): void {
    if (this.isUser(row, user)) return;
    this.#arena.free(this.#blocks[row] as number, this.#octets[row] as number);
    this.#write(row, key, user);
  }

  /** The rows of tuples that count as shared after `nowMs`. */
  *shared(nowMs: number): Generator<number> {
    for (let row = 0; row < this.#rows; row++) {
      if (this.#octets[row] !== 0 && (this.#sharedUntilMs[row] as number) > nowMs) yield row;
    }
  }

  #write(row: number, key: string, user: string): void {
    writer.begin();
    writer.text(key);
    writer.text(user);
    const handle = this.#arena.allocate(writer.lengthOctets);
    const { octets, at } = this.#arena.open(handle);
    writer.copyTo(octets, at);
    this.#blocks[row] = handle;
    this.#octets[row] = writer.lengthOctets;
  }

  /** Whether the key (0) or the user (1) of a row equals a text. */
  #hasText(row: number, field: 0 | 1, text: string): boolean {
    const { octets, at } = this.#arena.open(this.#blocks[row] as number);
    const from = field === 0 ? at : at + LENGTH_OCTETS + lengthAt(octets, at);
    return isTextAt(octets, { at: from + LENGTH_OCTETS, lengthOctets: lengthAt(octets, from) }, text);
  }

  #grow(): void {
    const larger = 2 * this.#blocks.length;
    const [blocks, lengths, open, until] = [this.#blocks, this.#octets, this.#open, this.#sharedUntilMs];
    this.#blocks = new Int32Array(larger);
    this.#octets = new Int32Array(larger);
    this.#open = new Uint8Array(larger);
    this.#sharedUntilMs = new Float64Array(larger);
    this.#blocks.set(blocks);
    this.#octets.set(lengths);
    this.#open.set(open);
    this.#sharedUntilMs.set(until);
  }
}

function lengthAt(octets: Uint8Array, at: number): number {
  return ((octets[at] as number) << 8) | (octets[at + 1] as number);
}

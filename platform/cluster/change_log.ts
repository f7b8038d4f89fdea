// The change log of one node in a shared store, the versions of mirrored records, and the parts that follow changes. Each batch also writes the keys that it changed, and moves the head of the log. The check
// of the head makes the outcome of every batch known, even if the answer of the store was lost.

import { StoreUnavailable } from "../store_fault.ts";

/** Changed keys, in the order of the commits of one lane. */
type LoggedKeys = readonly Deno.KvKey[];

/** The value under ["change_head", lane]. */
export interface LogHead {
  /** The number of the newest entry; entries count from 1. */
  readonly seq: number;
  /** Differs between two writes of the same `seq`. */
  readonly attempt: number;
  /** By the clock of the node. */
  readonly writtenMs: number;
}

export const HEAD_PREFIX: Deno.KvKey = ["change_head"];

/** The key of an entry of the log. */
export function changeKey(lane: string, seq: number): Deno.KvKey {
  return ["change", lane, seq];
}

/** A node that is behind by more than this time must start again. */
const CHANGE_RETENTION_MS = 600_000;
/** The keys of one entry. A value has at most 64 KiB, and a logged key has rarely more than 150 octets. */
const MAX_ENTRY_KEYS = 250;
const MAX_ENTRY_OCTETS = 40_000;
const MAX_TRIES = 10;

/** The store lost the head of a log, for example because a backup was restored. The node must start again. */
export class LostHead extends Error {}

/** The keys of one batch in the log. */
export interface LoggedBatch {
  readonly seq: number;
  readonly attempt: number;
}

/** One sequence of batches, which are committed one after another. */
export class LogLane {
  readonly name: string;
  readonly #kv: Deno.Kv;
  readonly #nowMs: () => number;
  #seq = 0;
  #attempt = 0;
  #headVersion: string | null = null;

  /** @param name differs for each lane and each run of a process */
  constructor({ kv, name, nowMs }: { kv: Deno.Kv; name: string; nowMs: () => number }) {
    this.#kv = kv;
    this.#nowMs = nowMs;
    this.name = name;
  }

  get #headKey(): Deno.KvKey {
    return [...HEAD_PREFIX, this.name];
  }

  /** Adds the entries of a batch to its atomic operation. */
  add(atomic: Deno.AtomicOperation, keys: LoggedKeys): LoggedBatch {
    let seq = this.#seq;
    for (const entry of entriesOf(keys)) {
      atomic.set(changeKey(this.name, ++seq), entry, { expireIn: CHANGE_RETENTION_MS });
    }
    return { seq, attempt: this.#moveHead(atomic, seq) };
  }

  /** The batch is durable. */
  applied({ seq }: LoggedBatch, versionstamp: string): void {
    this.#seq = seq;
    this.#headVersion = versionstamp;
  }

  /**
   * Finds out whether a batch whose commit failed was applied. If it was not, it cannot be applied later.
   *
   * @returns the versionstamp of the batch, or `null` if it was not applied
   * @throws StoreUnavailable or an error of Deno KV: the store does not answer, so the outcome is still unknown
   */
  async findOutcome(
    batch: LoggedBatch,
    { mayArriveLate }: { mayArriveLate: boolean },
  ): Promise<string | null> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const found = await this.#readHead();
      if (found !== null && found.seq === batch.seq && found.attempt === batch.attempt) {
        this.applied(batch, found.versionstamp);
        return found.versionstamp;
      }
      if (!mayArriveLate) return null;
      // The head moves, so the check of a commit that is still on its way fails.
      const atomic = this.#kv.atomic();
      this.#moveHead(atomic, this.#seq);
      const done = await atomic.commit();
      if (done.ok) {
        this.#headVersion = done.versionstamp;
        return null;
      }
    }
    throw new StoreUnavailable("Cannot find out whether a commit was applied: the head of the log moves");
  }

  #moveHead(atomic: Deno.AtomicOperation, seq: number): number {
    const attempt = ++this.#attempt;
    const head: LogHead = { seq, attempt, writtenMs: this.#nowMs() };
    atomic.check({ key: this.#headKey, versionstamp: this.#headVersion });
    atomic.set(this.#headKey, head);
    return attempt;
  }

  /** Reads the head, and takes over its version if it is the head of an earlier attempt to move it. */
  async #readHead(): Promise<(LogHead & { versionstamp: string }) | null> {
    const { value, versionstamp } = await this.#kv.get<LogHead>(this.#headKey);
    if (value === null || versionstamp === null) {
      if (this.#headVersion !== null) {
        throw new LostHead("Cannot continue the change log: the store lost its head");
      }
      return null;
    }
    if (value.seq === this.#seq) this.#headVersion = versionstamp;
    return { ...value, versionstamp };
  }
}

function entriesOf(keys: LoggedKeys): LoggedKeys[] {
  const entries: Deno.KvKey[][] = [];
  let entry: Deno.KvKey[] = [];
  let octets = 0;
  for (const key of keys) {
    const size = keyOctets(key);
    if (entry.length > 0 && (entry.length >= MAX_ENTRY_KEYS || octets + size > MAX_ENTRY_OCTETS)) {
      entries.push(entry);
      entry = [];
      octets = 0;
    }
    entry.push(key);
    octets += size;
  }
  if (entry.length > 0) entries.push(entry);
  return entries;
}

/** An upper bound of the size of a key in a value. */
function keyOctets(key: Deno.KvKey): number {
  let octets = 8;
  for (const part of key) octets += typeof part === "string" ? part.length * 2 + 6 : 16;
  return octets;
}

/** A key as text, for maps. */
export function keyText(key: Deno.KvKey): string {
  let text = "";
  for (const part of key) {
    // Nearly every part is a text or a number.
    text += typeof part === "string"
      ? "s" + part
      : typeof part === "number"
      ? "n" + part
      : `${typeof part} ${String(part)}`;
    text += "\0";
  }
  return text;
}

// Removes the heads of change logs whose node ended long ago. Each run of a process leaves its heads behind.

/** Every running node has read the entries of a log that is older. */
const MAX_AGE_MS = 24 * 3600_000;

/** Call it at the start of a node. A head that changes meanwhile stays. */
export async function removeStaleHeads(kv: Deno.Kv, { nowMs }: { nowMs: number }): Promise<void> {
  const running = new Set<string>();
  for await (const { key } of kv.list({ prefix: ["node"] }, { batchSize: 500 })) running.add(String(key[1]));
  const heads = await Array.fromAsync(kv.list<LogHead>({ prefix: HEAD_PREFIX }, { batchSize: 500 }));
  // One log of a quiet node may be old. Each beat moves the other one.
  for (const { key, value } of heads) if (value.writtenMs > nowMs - MAX_AGE_MS) running.add(nodeOf(key));
  for (const { key, versionstamp } of heads) {
    if (running.has(nodeOf(key))) continue;
    await kv.atomic().check({ key, versionstamp }).delete(key).commit();
  }
}

function nodeOf([, lane]: Deno.KvKey): string {
  return String(lane).split(".")[0] ?? "";
}

// The versions of records that are mirrored in memory. A write that was computed from a record fails if another node changed it since.

interface Version {
  /** `null`: the record does not exist. */
  versionstamp: string | null;
}

/** What a mutation was computed from. The store checks `before` and fills `after`. */
export interface Basis {
  /** `null`: the mutation depends on nothing. */
  readonly before: Readonly<Version> | null;
  readonly after: Version;
}

/** No record ever has this version, so a write that is based on it fails, and its caller reads the record again. */
const UNKNOWN = "ffffffffffffffffffff";
/** Beyond this number, all versions are forgotten. The next write of each record then reads it again. */
const MAX_RECORDS = 200_000;

/** The basis of a write that is computed from a record that was read from the store. */
export function basisOn(versionstamp: string): Basis {
  return { before: { versionstamp }, after: { versionstamp } };
}

export class RecordVersions {
  readonly #isShared: boolean;
  readonly #versions = new Map<string, Version>();

  /** @param store with one process, nothing is remembered, because no other process changes a record */
  constructor({ isShared }: { readonly isShared: boolean }) {
    this.#isShared = isShared;
  }

  /** The basis of a write that is computed now. Writes of one process may follow each other before the first is durable. */
  basisOf(key: Deno.KvKey): Basis | undefined {
    if (!this.#isShared) return undefined;
    const text = keyText(key);
    const before = this.#versions.get(text) ?? { versionstamp: null };
    return { before, after: this.#next(text) };
  }

  /** For a write that depends on nothing: only the version that it makes is remembered. */
  overwriteOf(key: Deno.KvKey): Basis | undefined {
    return this.#isShared ? { before: null, after: this.#next(keyText(key)) } : undefined;
  }

  /** The version of a record as this node knows it, for a check without a write. */
  known(key: Deno.KvKey): string | null {
    return this.#versions.get(keyText(key))?.versionstamp ?? null;
  }

  /** Whether memory still has a write of this process that is not durable. Otherwise the record was read since, and there is nothing to undo. */
  isPending(key: Deno.KvKey): boolean {
    return !this.#isShared || this.known(key) === UNKNOWN;
  }

  /** Takes over the version of a record that was read. */
  apply(key: Deno.KvKey, versionstamp: string | null): void {
    if (!this.#isShared) return;
    const text = keyText(key);
    if (versionstamp === null) this.#versions.delete(text);
    else this.#remember(text, { versionstamp });
  }

  /** The version of a write that is not durable yet. */
  #next(text: string): Version {
    const version = { versionstamp: UNKNOWN };
    this.#remember(text, version);
    return version;
  }

  #remember(text: string, version: Version): void {
    if (this.#versions.size >= MAX_RECORDS) this.#versions.clear();
    this.#versions.set(text, version);
  }
}

// The parts of this process that mirror records of the store in memory. They learn what other nodes changed.

/**
 * Takes over the stored value of a key; `null`: the key was deleted. Synchronous and idempotent. It throws if it cannot read the value, for example
 * because a later version wrote it; what it has then stays usable.
 */
export type ApplyEntry = (entry: Deno.KvEntryMaybe<unknown>) => void;

/**
 * Called after each run that read the changes of other nodes. Memory then has all commits up to the versionstamp `horizon`; entries that were read
 * may be newer. Synchronous. Returns whether it needs another run at once.
 */
export type FinishRun = (horizon: string) => boolean;

interface EntryFollower {
  readonly prefix: Deno.KvKey;
  readonly apply: ApplyEntry;
}

interface GroupFollower {
  readonly prefix: Deno.KvKey;
  /** How many key parts name the group. */
  readonly lengthParts: number;
  readonly changed: (group: Deno.KvKey) => void;
}

/** Who follows which keys. The change log contains only followed keys. */
export class Followers {
  readonly #entries = new Map<Deno.KvKeyPart, EntryFollower[]>();
  readonly #groups = new Map<Deno.KvKeyPart, GroupFollower[]>();
  readonly #finishers: FinishRun[] = [];
  /** Called if an entry cannot be read. */
  onUnreadable: (key: Deno.KvKey, fault: unknown) => void = () => undefined;

  /** Calls `apply` with the entries below `prefix` that other nodes change. Returns a function that ends it. */
  follow(prefix: Deno.KvKey, apply: ApplyEntry): () => void {
    return addTo(this.#entries, prefix, { prefix, apply });
  }

  /** Calls `finish` after each run. */
  onRunEnd(finish: FinishRun): void {
    this.#finishers.push(finish);
  }

  /** Returns whether a follower needs another run. */
  finishRun(horizon: string): boolean {
    let isAgain = false;
    for (const finish of this.#finishers) isAgain = finish(horizon) || isAgain;
    return isAgain;
  }

  /** Calls `changed` with the first `lengthParts` parts of keys below `prefix` that other nodes change. Reads no value. */
  followGroups(prefix: Deno.KvKey, lengthParts: number, changed: GroupFollower["changed"]): void {
    addTo(this.#groups, prefix, { prefix, lengthParts, changed });
  }

  /** The key as the change log contains it: whole, or cut to its group. `null`: no follower has it. */
  loggedKey(key: Deno.KvKey): Deno.KvKey | null {
    const first = key[0] as Deno.KvKeyPart;
    if (this.#entries.get(first)?.some(({ prefix }) => startsWith(key, prefix))) return key;
    const group = this.#groups.get(first)?.find(({ prefix }) => startsWith(key, prefix));
    return group === undefined ? null : key.slice(0, group.lengthParts);
  }

  /** Whether the value of a logged key must be read. */
  needsValue(logged: Deno.KvKey): boolean {
    return this.#entries.get(logged[0] as Deno.KvKeyPart)?.some(({ prefix }) => startsWith(logged, prefix)) ??
      false;
  }

  /** An entry that a follower cannot read, for example one of a later version, must not keep the others from following. */
  apply(entry: Deno.KvEntryMaybe<unknown>): void {
    for (const { prefix, apply } of this.#entries.get(entry.key[0] as Deno.KvKeyPart) ?? []) {
      if (startsWith(entry.key, prefix)) this.tryApply(entry, apply);
    }
  }

  /** The same for an entry that is loaded. */
  tryApply(entry: Deno.KvEntryMaybe<unknown>, apply: ApplyEntry): void {
    try {
      apply(entry);
    } catch (fault) {
      this.onUnreadable(entry.key, fault);
    }
  }

  groupChanged(group: Deno.KvKey): void {
    for (const { prefix, changed } of this.#groups.get(group[0] as Deno.KvKeyPart) ?? []) {
      if (startsWith(group, prefix)) changed(group);
    }
  }
}

/** Returns a function that removes the follower. */
function addTo<T>(map: Map<Deno.KvKeyPart, T[]>, prefix: Deno.KvKey, follower: T): () => void {
  const first = prefix[0];
  if (first === undefined) throw new RangeError("Cannot follow the whole store");
  map.set(first, [...map.get(first) ?? [], follower]);
  return () => void map.set(first, (map.get(first) ?? []).filter((one) => one !== follower));
}

function startsWith(key: Deno.KvKey, prefix: Deno.KvKey): boolean {
  return key.length >= prefix.length && prefix.every((part, at) => key[at] === part);
}

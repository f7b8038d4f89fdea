// Blocks of the history and the audit log (docs/adr/0027): with one node, the records of the logins of one commit share a value of the store. The
// store hands them out as if each had a key of its own.

/** How much older than its block a record can be, by table. */
const SPANS_MS = {
  /** In the order in which logins began. A record is written when its login ends, so blocks overlap. */
  history: 120_000,
  /** In the order of the commits: blocks and keys do not overlap. */
  audit: 2000,
} as const;

/** A table whose records can be in blocks: the first part of a key. */
type LogTable = keyof typeof SPANS_MS;

/** A record that is written into a block. */
export interface LogRecord {
  readonly table: LogTable;
  /** Begins with its time, as {@link auditIdAt} writes it. */
  readonly id: string;
  /** Octets, or what JSON can represent. */
  readonly value: unknown;
  readonly expireInMs: number;
}

/** Between two records: one with a key of its own is between them in the audit log, so they are not in one block. */
export const BLOCK_END = "block end";

/** A record as read. */
interface StoredRecord {
  /** The key that it has, or would have without blocks: `["audit", <id>]`. */
  readonly key: Deno.KvKey;
  readonly value: unknown;
  readonly versionstamp: string;
  /** The id of its block; `null` if it has a key of its own. */
  readonly block: string | null;
}

/** The last part of the key of a block, `["audit", <id>, "block"]`. The id is at least that of each of its records. */
const BLOCK = "block";
/** Deno KV accepts values of 64 KiB. */
const MAX_BLOCK_OCTETS = 60_000;
/** Each record begins with its length, and its id ends with a line feed. */
const LENGTH_OCTETS = 2;
const ID_END = 0x0a;
/** Larger than every id, and than {@link BLOCK}. */
export const LAST_ID = "\u{10ffff}";
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The table of a key whose records can be in blocks; `null` for the keys of other tables. */
export function logTableOf([table]: Deno.KvKey): LogTable | null {
  return table === "history" || table === "audit" ? table : null;
}

/** Writes the records of atomic operations. One for each store: it uses its buffer again. */
export class BlockWriter {
  readonly #octets = new Uint8Array(MAX_BLOCK_OCTETS);
  readonly #nextId: () => string;

  /** @param nextId returns an id that is larger than those of all earlier records of the audit log */
  constructor(nextId: () => string) {
    this.#nextId = nextId;
  }

  /** @param records in the order of their commits @throws RangeError if a record is longer than a block */
  write(atomic: Deno.AtomicOperation, records: readonly (LogRecord | typeof BLOCK_END)[]): void {
    if (records.length === 0) return;
    this.#writeTable(atomic, "history", records);
    this.#writeTable(atomic, "audit", records);
  }

  #writeTable(
    atomic: Deno.AtomicOperation,
    table: LogTable,
    records: readonly (LogRecord | typeof BLOCK_END)[],
  ): void {
    let [used, expireInMs] = [0, 0];
    let [id, firstMs] = ["", 0];
    const end = (): void => {
      if (used === 0) return;
      atomic.set([table, id, BLOCK], this.#octets.slice(0, used), { expireIn: expireInMs });
      [used, expireInMs] = [0, 0];
    };
    for (const record of records) {
      if (record === BLOCK_END) {
        if (table === "audit") end();
        continue;
      }
      if (record.table !== table) continue;
      const atMs = auditIdMs(record.id);
      const lifeMs = Math.max(1, Math.round(record.expireInMs));
      if (table === "audit" && atMs - firstMs > SPANS_MS.audit) end();
      let octets = this.#encode(record, used);
      if (octets === 0) {
        end();
        octets = this.#encode(record, 0);
        if (octets === 0) throw new RangeError("Cannot write a record of over 60,000 octets");
      }
      if (used === 0) {
        firstMs = atMs;
        if (table === "history") id = this.#nextId();
      }
      if (table === "audit") id = record.id;
      if (record.id > id || auditIdMs(id) - atMs > SPANS_MS[table]) {
        // A long login, or a clock that was set: no reader would look for it in this block.
        atomic.set([table, record.id], record.value, { expireIn: lifeMs });
        continue;
      }
      used += octets;
      expireInMs = Math.max(expireInMs, lifeMs);
    }
    end();
  }

  /** Writes a record into the buffer. Returns its octets; 0 if there is no room. */
  #encode({ id, value }: LogRecord, at: number): number {
    const from = at + LENGTH_OCTETS;
    const octets = value instanceof Uint8Array ? value : null;
    const text = octets === null ? `${id}\n${JSON.stringify(value)}` : `${id}\n`;
    if (from + text.length > MAX_BLOCK_OCTETS) return 0;
    const { read, written } = encoder.encodeInto(text, this.#octets.subarray(from));
    const length = written + (octets?.length ?? 0);
    if (read < text.length || from + length > MAX_BLOCK_OCTETS) return 0;
    if (octets !== null) this.#octets.set(octets, from + written);
    this.#octets[at] = length >>> 8;
    this.#octets[at + 1] = length;
    return LENGTH_OCTETS + length;
  }
}

/** The records of a key: one, or those of a block, in the order in which they were written. @param wanted only the one with this id */
function* recordsOf(
  { key, value, versionstamp }: Deno.KvEntry<unknown>,
  wanted?: string,
): Generator<StoredRecord> {
  const [table = "", id = ""] = key;
  if (key.length !== 3 || key[2] !== BLOCK) return yield { key, value, versionstamp, block: null };
  if (!(value instanceof Uint8Array)) return;
  for (let at = 0; at + LENGTH_OCTETS <= value.length;) {
    const from = at + LENGTH_OCTETS;
    at = from + (((value[at] as number) << 8) | (value[at + 1] as number));
    const idEnd = value.indexOf(ID_END, from);
    if (at > value.length || idEnd < from || idEnd >= at) return;
    if (wanted !== undefined && !(idEnd === from + wanted.length && isAt(value, from, wanted))) continue;
    const content = value.subarray(idEnd + 1, at);
    const record = {
      key: [table, decoder.decode(value.subarray(from, idEnd))],
      versionstamp,
      block: String(id),
    };
    if (table === "history") yield { ...record, value: content };
    else {
      const read = readJson(content);
      if (read !== undefined) yield { ...record, value: read };
    }
  }
}

/** Whether octets have these ASCII characters at a place. */
function isAt(octets: Uint8Array, from: number, text: string): boolean {
  for (let at = 0; at < text.length; at++) if (octets[from + at] !== text.charCodeAt(at)) return false;
  return true;
}

/** `undefined` for anything else: the rest of a damaged block stays readable. */
function readJson(octets: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(octets));
  } catch (_damaged) {
    return undefined;
  }
}

/** Which records are read: those with ids from `start` to `end`. Without `after`, `start` is one of them; `end` is none. */
export interface LogRange {
  readonly start: string;
  readonly end: string;
  readonly after?: boolean;
  readonly reverse?: boolean;
  /** Keys in the first read of Deno KV, which shows one state of the store. */
  readonly firstKeys?: number;
}

/** The range of two keys of one table, of which the end may be missing. */
export function logRange(start: Deno.KvKey, end: Deno.KvKey): LogRange {
  // A further part of the key makes it larger than that of the record.
  return { start: String(start[1] ?? ""), end: String(end[1] ?? LAST_ID), after: start.length > 2 };
}

/** Reads records from keys and blocks, in the order of their ids. Of two with the same id, the later one counts. */
export function readLog(kv: Deno.Kv, table: LogTable, range: LogRange): AsyncGenerator<StoredRecord> {
  return table === "audit" ? readAudit(kv, range) : readHistory(kv, range);
}

async function* readAudit(kv: Deno.Kv, range: LogRange): AsyncGenerator<StoredRecord> {
  for await (const entry of readKeys(kv, "audit", range)) {
    const records = [...recordsOf(entry)];
    for (const record of range.reverse === true ? records.reverse() : records) {
      if (isIn(record, range)) yield record;
    }
  }
}

/** At first, so many records are collected before they are sorted. */
const MIN_SORTED = 64;

async function* readHistory(kv: Deno.Kv, range: LogRange): AsyncGenerator<StoredRecord> {
  const { reverse = false } = range;
  /** Records that a key that was not read yet could precede. */
  let held: StoredRecord[] = [];
  let enough = MIN_SORTED;
  let last: unknown;
  const once = function* (records: StoredRecord[]): Generator<StoredRecord> {
    for (const record of sorted(records, reverse)) {
      if (record.key[1] !== last) yield record;
      last = record.key[1];
    }
  };
  for await (const entry of readKeys(kv, "history", range)) {
    if (held.length >= enough) {
      const isNext = isBefore(String(entry.key[1]), reverse);
      const next = held.filter(isNext);
      held = held.filter((record) => !isNext(record));
      enough = Math.max(MIN_SORTED, 2 * held.length);
      yield* once(next);
    }
    for (const record of recordsOf(entry)) if (isIn(record, range)) held.push(record);
  }
  yield* once(held);
}

function isIn({ key }: StoredRecord, { start, end, after = false }: LogRange): boolean {
  const id = String(key[1]);
  return id < end && (after ? id > start : id >= start);
}

/** Whether a record precedes all that the key `at` and those after it can have. */
function isBefore(at: string, reverse: boolean): (record: StoredRecord) => boolean {
  const bound = reverse ? at : auditIdAt(auditIdMs(at) - SPANS_MS.history);
  return ({ key }) => reverse ? String(key[1]) > bound : String(key[1]) < bound;
}

const FIRST_KEYS = 8;
const MAX_KEYS = 500;
/** A read of so many octets or more is followed by a smaller one. */
const LARGE_OCTETS = 200_000;

/** The keys that can have records of a range. Blocks have one record or hundreds, so the number of keys of a read is adapted to the values of the one before. */
async function* readKeys(
  kv: Deno.Kv,
  table: LogTable,
  { start, end, after = false, reverse = false, firstKeys = FIRST_KEYS }: LogRange,
): AsyncGenerator<Deno.KvEntry<unknown>> {
  const last = later(end, SPANS_MS[table]);
  if (start >= last) return;
  // The block with the id of a record has no later one.
  const range: { start: Deno.KvKey; end: Deno.KvKey } = {
    start: after ? [table, start, LAST_ID] : [table, start],
    end: [table, last],
  };
  let limit = firstKeys;
  for (;;) {
    const read = await Array.fromAsync(kv.list<unknown>(range, { reverse, limit, batchSize: limit }));
    yield* read;
    const key = read.at(-1)?.key;
    if (key === undefined || read.length < limit) return;
    // A client of KV Connect has no cursors.
    if (reverse) range.end = key;
    else range.start = [...key, ""];
    const octets = read.reduce((sum, { value }) => sum + (value instanceof Uint8Array ? value.length : 0), 0);
    limit = octets < LARGE_OCTETS ? Math.min(2 * limit, MAX_KEYS) : Math.max(1, limit >> 1);
  }
}

/** Finds records in blocks, one after the other: those of a page are often in the block that was read last. */
export class BlockFinder {
  readonly #kv: Deno.Kv;
  /** Where a record of each table was found last. */
  readonly #found = new Map<LogTable, Deno.KvEntry<unknown>>();
  #searches: Promise<unknown> = Promise.resolve();

  constructor(kv: Deno.Kv) {
    this.#kv = kv;
  }

  /**
   * The record with an id; `null` if no block has it.
   *
   * @param near the id of an audit record of the same commit, or of an earlier one: the search begins there
   */
  find(
    table: LogTable,
    wanted: { readonly id: string; readonly near?: string },
  ): Promise<StoredRecord | null> {
    const search = this.#searches.then(() => this.#search(table, wanted));
    this.#searches = search.catch(() => undefined);
    return search;
  }

  async #search(
    table: LogTable,
    { id, near = "" }: { readonly id: string; readonly near?: string },
  ): Promise<StoredRecord | null> {
    const before = this.#found.get(table);
    const known = before === undefined ? null : recordIn(before, id);
    if (known !== null) return known;
    const start = near > id ? near : id;
    // An audit record is in the first block from its id on, and a login mostly in that of its commit.
    for await (const entry of readKeys(this.#kv, table, { start, end: id, firstKeys: 1 })) {
      const found = recordIn(entry, id);
      if (found === null) continue;
      this.#found.set(table, entry);
      return found;
    }
    return null;
  }
}

/** The record with an id, if the entry is a block that has it. */
function recordIn(entry: Deno.KvEntry<unknown>, id: string): StoredRecord | null {
  for (const record of recordsOf(entry, id)) if (record.block !== null) return record;
  return null;
}

/** An id after those of the moment so much after another one. A text that is not an id is in no block. */
function later(id: string, plusMs: number): string {
  const atMs = auditIdMs(id);
  return atMs === 0 ? id : auditIdAt(atMs + plusMs + 1);
}

/** Records in their order. Of those with the same id, the one that was written last is the first. */
function sorted(records: StoredRecord[], reverse: boolean): StoredRecord[] {
  const [less, more] = reverse ? [1, -1] : [-1, 1];
  return records.sort((a, b) => {
    const [one, other] = [String(a.key[1]), String(b.key[1])];
    if (one !== other) return one < other ? less : more;
    return a.versionstamp > b.versionstamp ? -1 : 1;
  });
}

// Ids of audit records: they begin with the time, so they sort by it.

/** Ids count in 1/1024 ms, in base 36. */
const IDS_PER_MS = 1024;
const TIME_CHARACTERS = 11;

/**
 * Ids that sort in the order of the calls, also within one millisecond and after the clock was set back.
 *
 * @param newest the newest id in the store, so that the order holds across restarts.
 */
export function createAuditIds(
  { node, newest = "" }: { node: string; newest?: string },
): (nowMs: number) => string {
  let last = Math.max(0, auditIdTicks(newest));
  return (nowMs) => {
    last = Math.max(last + 1, Math.floor(nowMs * IDS_PER_MS));
    return idText(last) + node;
  };
}

function idText(ticks: number): string {
  return ticks.toString(36).padStart(TIME_CHARACTERS, "0");
}

/** The node that wrote a record. */
export function auditIdNode(id: string): string {
  return id.slice(TIME_CHARACTERS);
}

/** The count in an id; 0 if the text is not an id, or the count is too large to continue. */
function auditIdTicks(id: string): number {
  const text = id.slice(0, TIME_CHARACTERS);
  const ticks = /^[0-9a-z]{11}$/.test(text) ? Number.parseInt(text, 36) : 0;
  return ticks < Number.MAX_SAFE_INTEGER / 2 ? ticks : 0;
}

/** The first id of a moment. */
export function auditIdAt(atMs: number): string {
  return idText(Math.max(0, Math.floor(atMs * IDS_PER_MS)));
}

/** The moment of an id (milliseconds since the epoch). */
export function auditIdMs(id: string): number {
  return auditIdTicks(id) / IDS_PER_MS;
}

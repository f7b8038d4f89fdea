// The names of audit records in blocks (docs/adr/0027). A record with a key of its own has index entries below "audit_by". Those of blocks are indexed
// later, many in one value, because a commit of a login would pay for a key of each name. Until then, memory has them.

import { auditIndexNames, DEFAULT_AUDIT_RETENTION_MS, NO_OCTETS } from "./audit.ts";
import type { CommitQueue } from "./commit_queue.ts";
import { HOUR_MS } from "./durations.ts";
import { auditIdMs, LAST_ID, type LogRange, logRange, type LogRecord, readLog } from "./log_blocks.ts";
import type { Log } from "./log.ts";
import type { Clock } from "./runtime.ts";

/** The id up to which the records of blocks are indexed. */
const MARK: Deno.KvKey = ["audit_names_mark"];
/** Values: an object with the ids of each name, joined by spaces. The key ends with the last id that was indexed with it. */
const INDEX = "audit_names";
/** The values of one run over the log that users share. Each of them has few records. */
const USER_VALUES = 256;
/** One commit has at most so many records, values, octets in a value, and octets: Deno KV accepts 64 KiB and 800 KiB. */
const MAX_RECORDS = 2048;
const MAX_VALUES = 400;
const MAX_VALUE_OCTETS = 50_000;
const MAX_COMMIT_OCTETS = 500_000;
/** Memory notes at most so many records, as commits of the index. If the store refuses these for long, the records are read later. */
const MAX_NOTED_COMMITS = 64;
/** One run looks at most at so many records. */
const MAX_LOOKED_AT = 20_000;

interface AuditNamesDeps {
  readonly kv: Deno.Kv;
  readonly queue: Pick<CommitQueue, "commit">;
  readonly nowMs: () => number;
  readonly retentionMs?: () => number;
  /** Larger than the ids of all earlier records, and smaller than those of later ones. */
  readonly nextId: () => string;
  /** The largest id that an earlier process can have written into a block. */
  readonly newest: string;
  /** With several nodes, which write no blocks. */
  readonly isShared: boolean;
}

/** The newest id of the audit log; "" if there is none. The index can be ahead of all records, and a later record is after it. */
export async function newestAuditId(kv: Deno.Kv): Promise<string> {
  const mark = (await kv.get<string>(MARK)).value ?? "";
  for await (const { key } of kv.list({ prefix: ["audit"] }, { reverse: true, limit: 1 })) {
    const id = String(key[1]);
    return id > mark ? id : mark;
  }
  return mark;
}

/** The index of the audit log by name, as if each record had an index entry of its own. */
export class AuditNames {
  readonly #deps: AuditNamesDeps;
  /** Records up to this id are read for the index. Later ones are noted. */
  #readUntil: string;
  /** What is noted and not in the index, the oldest first. */
  #noted: NotedNames[] = [];
  /** Records up to this id are noted or in the index: they were in the queue before the last commit of the index. */
  #settled = "";

  constructor(deps: AuditNamesDeps) {
    this.#deps = deps;
    this.#readUntil = deps.newest;
  }

  /** Notes records that a commit has written into blocks, in the order of the commits. */
  note(records: readonly LogRecord[]): void {
    for (const { table, id, value } of records) {
      if (table !== "audit") continue;
      let last = this.#noted.at(-1);
      if (last === undefined || last.isFull) this.#noted.push(last = new NotedNames());
      last.add(id, auditIndexNames(value));
      if (this.#noted.length <= MAX_NOTED_COMMITS) continue;
      this.#noted = [];
      this.#readUntil = id;
    }
  }

  /** Index entries, `["audit_by", role, name, id]`, from one key to another one of the same name. */
  async *read(
    { start, end }: { start: Deno.KvKey; end: Deno.KvKey },
    { reverse = false }: { reverse?: boolean } = {},
  ): AsyncGenerator<Deno.KvEntry<unknown>> {
    const [table, role, name] = start as [string, string, string];
    const keys = this.#deps.kv.list<unknown>({ start, end }, { reverse })[Symbol.asyncIterator]();
    let entry = await keys.next();
    for await (
      const id of this.#idsOf(`${role} ${name}`, name, logRange(start.slice(2), end.slice(2)), reverse)
    ) {
      while (entry.done !== true && isBefore(String(entry.value.key[3]), id, reverse)) {
        yield entry.value;
        entry = await keys.next();
      }
      yield { key: [table, role, name, id], value: NO_OCTETS, versionstamp: "" };
    }
    for (; entry.done !== true; entry = await keys.next()) yield entry.value;
  }

  /**
   * Indexes records that are not, in one commit. Returns whether there are more.
   *
   * @param options.all otherwise, those that are noted wait until a commit is full
   */
  async indexNext({ all }: { all: boolean }): Promise<boolean> {
    const { kv, queue, nowMs, nextId, isShared, retentionMs = () => DEFAULT_AUDIT_RETENTION_MS } = this.#deps;
    const { value, versionstamp } = await kv.get<string>(MARK);
    const mark = value ?? "";
    // They are in the index.
    while (this.#noted[0] !== undefined && this.#noted[0].last <= mark) this.#noted.shift();
    const isRead = mark < this.#readUntil;
    const [noted] = this.#noted;
    if (!isRead && !all && noted?.isFull !== true) return false;
    const names = isRead ? await this.#read(mark) : noted ?? new NotedNames();
    const isMore = isRead
      ? names.isFull || this.#noted.length > 0
      : all
      ? this.#noted.length > 1
      : this.#noted[1]?.isFull === true;
    // The next start reads the records after the mark, so it moves without records in blocks, too.
    if (names.last === "") names.last = isShared ? await newestAuditId(kv) : this.#settled;
    if (names.last <= mark) return false;
    const settled = nextId();
    // From now on, records are noted for the next commit.
    names.isFull = true;
    const expireInMs = Math.max(1, auditIdMs(names.last) + retentionMs() - nowMs());
    const { ok } = await queue.commit({
      sizeOctets: names.octets,
      checks: [{ key: MARK, versionstamp }],
      mutations: [
        { type: "set", key: MARK, value: names.last },
        ...[...names.values].map(([bucket, { ids }]) => ({
          ...{ type: "set" as const, key: [INDEX, bucket, names.last], expireInMs },
          value: Object.fromEntries(ids),
        })),
      ],
    });
    if (!ok) return false;
    this.#settled = settled;
    return isMore;
  }

  /** The names of records after the mark that were not noted. */
  async #read(mark: string): Promise<NotedNames> {
    const { kv, isShared } = this.#deps;
    const end = this.#readUntil;
    const names = new NotedNames();
    let lookedAt = 0;
    const records = readLog(kv, "audit", { start: mark, after: true, end: `${end}\0` });
    for await (const { key, value, block } of records) {
      names.add(String(key[1]), block === null ? [] : auditIndexNames(value));
      lookedAt++;
      if (names.isFull || lookedAt >= MAX_LOOKED_AT) {
        names.isFull = true;
        return names;
      }
    }
    // The records after the mark are read again at the next start.
    names.last = isShared ? "" : end;
    return names;
  }

  /** The ids of a name in blocks, in order. */
  async *#idsOf(title: string, name: string, range: LogRange, reverse: boolean): AsyncGenerator<string> {
    const { kv } = this.#deps;
    // What memory has is looked at first: a commit of the index takes it from there.
    const noted = this.#noted.flatMap((one) => one.idsOf(name, title));
    const readUntil = this.#readUntil;
    const { value } = await kv.get<string>(MARK);
    const mark = value ?? "";
    const newest: string[] = [];
    if (mark < readUntil) {
      const from = mark < range.start ? range : { ...range, start: mark, after: true };
      const end = readUntil < range.end ? `${readUntil}\0` : range.end;
      for await (const { key, value, block } of readLog(kv, "audit", { ...from, end })) {
        if (block !== null && auditIndexNames(value).some((one) => one.join(" ") === title)) {
          newest.push(String(key[1]));
        }
      }
    }
    newest.push(...noted.filter((id) => id > mark && isIn(id, range)));
    if (reverse) yield* newest.reverse();
    for await (const ids of this.#indexed(name, range, reverse)) {
      // A run of the index may have ended since the mark was read.
      const found = String(ids[title] ?? "").split(" ").filter((id) => isIn(id, range) && id <= mark);
      yield* reverse ? found.reverse() : found;
    }
    if (!reverse) yield* newest;
  }

  /** The values of the index that may have ids of a range. */
  async *#indexed(
    name: string,
    { start, end }: LogRange,
    reverse: boolean,
  ): AsyncGenerator<Readonly<Record<string, unknown>>> {
    const { kv } = this.#deps;
    const key = (id: string): Deno.KvKey => [INDEX, valueOf(name), id];
    // The first value from the end on has earlier ids, too.
    const firstFromEnd = () =>
      kv.list<Record<string, unknown>>({ start: key(end), end: key(LAST_ID) }, { limit: 1 });
    const others = kv.list<Record<string, unknown>>({ start: key(start), end: key(end) }, {
      reverse,
      batchSize: 100,
    });
    if (reverse) { for await (const { value } of firstFromEnd()) yield value; }
    for await (const { value } of others) yield value;
    if (!reverse) { for await (const { value } of firstFromEnd()) yield value; }
  }
}

/** The names of records that one commit of the index will have. */
class NotedNames {
  /** By the second part of the key. `ids`: by role and name. */
  readonly values = new Map<string, { readonly ids: Map<string, string>; octets: number }>();
  octets = 0;
  /** The id of the last record. */
  last = "";
  isFull = false;
  #records = 0;

  add(id: string, names: ReturnType<typeof auditIndexNames>): void {
    this.last = id;
    if (names.length === 0) return;
    for (const [role, name] of names) {
      const key = valueOf(name);
      let value = this.values.get(key);
      if (value === undefined) this.values.set(key, value = { ids: new Map(), octets: 0 });
      const title = `${role} ${name}`;
      const ids = value.ids.get(title);
      value.ids.set(title, ids === undefined ? id : `${ids} ${id}`);
      // A character of a name can take three octets.
      const octets = (ids === undefined ? 3 * title.length : 0) + id.length + 1;
      value.octets += octets;
      this.octets += octets;
      this.isFull ||= value.octets > MAX_VALUE_OCTETS || this.octets > MAX_COMMIT_OCTETS;
    }
    this.isFull ||= ++this.#records >= MAX_RECORDS || this.values.size >= MAX_VALUES;
  }

  idsOf(name: string, title: string): string[] {
    return this.values.get(valueOf(name))?.ids.get(title)?.split(" ") ?? [];
  }
}

/** The second part of the key of the value that a name is in. */
function valueOf(name: string): string {
  if (!name.startsWith("user:")) return name;
  let hash = 0;
  for (let at = 0; at < name.length; at++) hash = (Math.imul(hash, 31) + name.charCodeAt(at)) | 0;
  return String((hash >>> 0) % USER_VALUES);
}

function isBefore(id: string, other: string, reverse: boolean): boolean {
  return reverse ? id > other : id < other;
}

function isIn(id: string, { start, end, after = false }: LogRange): boolean {
  return id !== "" && id < end && (after ? id > start : id >= start);
}

/** The index is written when a commit of it is full, and after so long. */
const MAX_WAIT_MS = HOUR_MS;
const LOOK_MS = 5000;

/** Indexes the records of blocks in the background. Returns a function that stops it. */
export function startAuditIndex(
  { store, clock, log }: {
    store: { indexAudit(options: { all: boolean }): Promise<boolean> };
    clock: Clock;
    log: Log;
  },
): () => void {
  let cancel = (): void => undefined;
  let isStopped = false;
  // The first look indexes what an earlier process left.
  let dueMs = clock.nowMs();
  const look = async (): Promise<void> => {
    const all = clock.nowMs() >= dueMs;
    for (let hasMore = true; hasMore && !isStopped;) hasMore = await store.indexAudit({ all });
    if (all) dueMs = clock.nowMs() + MAX_WAIT_MS;
  };
  const lookLater = (): void => {
    cancel = clock.after(LOOK_MS, () =>
      void look()
        .catch((fault: unknown) => log.error("the audit log could not be indexed", { fault: String(fault) }))
        .finally(() => isStopped || lookLater()));
  };
  lookLater();
  return () => {
    isStopped = true;
    cancel();
  };
}

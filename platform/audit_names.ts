// The names of audit records in blocks (docs/adr/0027). A record with a key of its own has index entries below "audit_by". Those of blocks are indexed
// later, many in one value, because a commit of a login would pay for a key of each name.

import { auditIndexNames, DEFAULT_AUDIT_RETENTION_MS, NO_OCTETS } from "./audit.ts";
import { auditIdMs } from "./audit_ids.ts";
import type { CommitQueue } from "./commit_queue.ts";
import { HOUR_MS } from "./durations.ts";
import { LAST_ID, type LogRange, logRange, newestAuditId, readLog } from "./log_blocks.ts";
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
/** One run looks at most at so many records. */
const MAX_LOOKED_AT = 20_000;

interface AuditNamesDeps {
  readonly kv: Deno.Kv;
  readonly queue: Pick<CommitQueue, "commit">;
  readonly nowMs: () => number;
  readonly retentionMs?: () => number;
  /** With several nodes, which write no blocks: the newest record when the store was opened. */
  readonly lastBlock?: string;
}

/** The index of the audit log by name, as if each record had an index entry of its own. */
export class AuditNames {
  readonly #deps: AuditNamesDeps;
  /** No block has a larger id. */
  readonly #last: string;

  constructor(deps: AuditNamesDeps) {
    this.#deps = deps;
    this.#last = deps.lastBlock ?? LAST_ID;
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

  /** Indexes records that are not, in one commit. Returns whether there are more. */
  async indexNext(): Promise<boolean> {
    const { kv, queue, nowMs, retentionMs = () => DEFAULT_AUDIT_RETENTION_MS } = this.#deps;
    const { value, versionstamp } = await kv.get<string>(MARK);
    const values = new Map<string, IndexValue>();
    let last = value ?? "";
    let [lookedAt, indexed, sizeOctets, isFull] = [0, 0, 0, false];
    for await (
      const { key, value, block } of readLog(kv, "audit", {
        start: last,
        after: true,
        end: `${this.#last}\0`,
      })
    ) {
      last = String(key[1]);
      if (block !== null) {
        for (const [role, name] of auditIndexNames(value)) {
          const one = values.get(valueOf(name)) ?? { ids: new Map<string, string>(), octets: 0 };
          values.set(valueOf(name), one);
          sizeOctets += add(one, `${role} ${name}`, last);
          isFull ||= one.octets > MAX_VALUE_OCTETS || sizeOctets > MAX_COMMIT_OCTETS;
        }
        indexed++;
      }
      lookedAt++;
      isFull ||= indexed >= MAX_RECORDS || values.size >= MAX_VALUES || lookedAt >= MAX_LOOKED_AT;
      if (isFull) break;
    }
    // Readers look at all records after the mark.
    if (!isFull && this.#last !== LAST_ID) last = await newestAuditId(kv);
    if (last <= (value ?? "")) return false;
    const expireInMs = Math.max(1, auditIdMs(last) + retentionMs() - nowMs());
    await queue.commit({
      sizeOctets,
      checks: [{ key: MARK, versionstamp }],
      mutations: [
        { type: "set", key: MARK, value: last },
        ...[...values].map(([bucket, { ids }]) => ({
          ...{ type: "set" as const, key: [INDEX, bucket, last], expireInMs },
          value: Object.fromEntries(ids),
        })),
      ],
    });
    return isFull;
  }

  /** The ids of a name in blocks, in order. */
  async *#idsOf(title: string, name: string, range: LogRange, reverse: boolean): AsyncGenerator<string> {
    const { kv } = this.#deps;
    const { value } = await kv.get<string>(MARK);
    const mark = value ?? "";
    const newest: string[] = [];
    const unindexed = mark < range.start ? range : { ...range, start: mark, after: true };
    if (mark < range.end && mark < this.#last) {
      for await (const { key, value, block } of readLog(kv, "audit", unindexed)) {
        if (block !== null && auditIndexNames(value).some((one) => one.join(" ") === title)) {
          newest.push(String(key[1]));
        }
      }
    }
    if (reverse) yield* newest.reverse();
    for await (const ids of this.#indexed(name, range, reverse)) {
      // A run of the index may have ended since the mark was read. The log was read for what it added.
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

interface IndexValue {
  /** By role and name. */
  readonly ids: Map<string, string>;
  octets: number;
}

/** Returns the octets that it adds. */
function add(value: IndexValue, title: string, id: string): number {
  const ids = value.ids.get(title);
  value.ids.set(title, ids === undefined ? id : `${ids} ${id}`);
  // A character of a name can take three octets.
  const octets = (ids === undefined ? 3 * title.length : 0) + id.length + 1;
  value.octets += octets;
  return octets;
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

/** So many records may wait for the index, and so long. Those that wait are read one by one. */
const MAX_WAITING = MAX_RECORDS;
const MAX_WAIT_MS = HOUR_MS;
const LOOK_MS = 5000;

/** Indexes the records of blocks in the background. Returns a function that stops it. */
export function startAuditIndex(
  { store, clock, log }: {
    store: { indexAudit(): Promise<boolean>; unindexedRecords(): number };
    clock: Clock;
    log: Log;
  },
): () => void {
  let cancel = (): void => undefined;
  let isStopped = false;
  // The first look indexes what an earlier process left.
  let dueMs = clock.nowMs();
  const look = async (): Promise<void> => {
    if (store.unindexedRecords() >= MAX_WAITING || clock.nowMs() >= dueMs) {
      for (let hasMore = true; hasMore && !isStopped;) hasMore = await store.indexAudit();
      dueMs = clock.nowMs() + MAX_WAIT_MS;
    }
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

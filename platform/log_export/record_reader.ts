// Reads the audit log in pages for one destination. The log is the spool: nothing is written when a record is made.

import { auditKey } from "../audit.ts";
import type { Clock } from "../runtime.ts";
import type { Store } from "../store.ts";
import {
  afterPage,
  type ExportPosition,
  followNodes,
  isReadNow,
  type NodeMark,
  type PageRange,
  pageStart,
} from "./export_position.ts";

/** A record as stored. */
export interface StoredRecord {
  readonly id: string;
  readonly value: Readonly<Record<string, unknown>>;
}

export interface RecordPage {
  readonly records: readonly StoredRecord[];
  /** The position when the records are delivered. */
  readonly position: ExportPosition;
  /** Whether there was nothing more to read. */
  readonly isEnd: boolean;
}

export interface RecordReaderDeps {
  readonly store: Pick<Store, "range" | "catchUp">;
  readonly clock: Pick<Clock, "nowMs">;
  /** The nodes that share the store; none if it has one user. */
  readonly marks: () => readonly NodeMark[];
}

/** One read of Deno KV, so that a page shows one state of the store; at most 500. Larger pages would delay logins. */
const PAGE_RECORDS = 200;
const END = "\u{10ffff}";

export interface PageBounds {
  /** At most {@link PAGE_RECORDS}. */
  readonly limit?: number;
  /** Only records with smaller ids. Then the end is this id. */
  readonly before?: string | undefined;
}

/** Reads the next page after `position`. Rejects if the store fails. */
export async function readLogPage(
  { store, clock, marks: marksNow }: RecordReaderDeps,
  position: ExportPosition,
  { limit = PAGE_RECORDS, before }: PageBounds = {},
): Promise<RecordPage> {
  await store.catchUp();
  // The marks are from before the read, so every record up to them is in the page.
  const marks = marksNow();
  const followed = followNodes(position, marks, clock.nowMs());
  const page: PageRange = { start: pageStart(followed), marks };
  if (before !== undefined && before <= page.start) return { records: [], position: followed, isEnd: true };
  let last: string | null = null;
  let count = 0;
  const records: StoredRecord[] = [];
  const range = { start: [...auditKey(page.start), ""], end: auditKey(before ?? END) };
  for await (const { key, value } of store.range<StoredRecord["value"]>(range, { limit })) {
    const id = String(key[1]);
    last = id;
    count++;
    if (value !== null && typeof value === "object" && isReadNow(id, followed, page)) {
      records.push({ id, value });
    }
  }
  const isEnd = count < limit;
  const read = isEnd && before !== undefined ? { last: before, isFull: true } : { last, isFull: !isEnd };
  return { records, position: afterPage(followed, { ...page, ...read }), isEnd };
}

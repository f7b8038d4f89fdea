// Reads the audit log in pages for one reader. The log is the spool: nothing is written when a record is made. With several nodes, a record with a
// smaller id may be committed after one with a larger id (docs/adr/0019). So there is a position for each node, and only records up to the mark that the
// node announced are read.

import { auditKey } from "../audit.ts";
import { auditIdAt, auditIdNode } from "../log_blocks.ts";
import type { Clock } from "../runtime.ts";
import type { Store } from "../store.ts";

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

interface PageBounds {
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

/** How far the records of one run of a node were read. */
interface NodePosition {
  /** The records up to this id were read. */
  readonly upTo: string;
  /** Where the records are read again if the node comes back; set while it does not answer. */
  readonly from?: string;
  /** When it stopped answering (milliseconds since the epoch). */
  readonly silentMs?: number;
}

/** Everything that was read. All ids are audit ids. */
export interface ExportPosition {
  /** The records of nodes that are not in `nodes` were read up to this id. */
  readonly upTo: string;
  readonly nodes: Readonly<Record<string, NodePosition>>;
  /** Where the next page begins; absent between two passes over the log. */
  readonly next?: string;
}

/** What a node says about its records. */
export interface NodeMark {
  readonly node: string;
  readonly isAlive: boolean;
  /** Every record of the node up to this id is in the store. */
  readonly mark: string;
  /** The records of this run have larger ids. */
  readonly firstMark: string;
}

/** A node that was silent for longer has ended: it stops by itself after ten minutes without the store. */
const SILENT_RETENTION_MS = 15 * 60_000;

/** The position of a destination that begins with the records after `atMs`. A node whose clock is behind gives later records smaller ids. */
export function positionAt(atMs: number, marks: readonly NodeMark[]): ExportPosition {
  const upTo = auditIdAt(atMs);
  const nodes = marks.map(({ node, mark }) => [node, { upTo: mark < upTo ? mark : upTo }] as const);
  return { upTo, nodes: Object.fromEntries(nodes) };
}

/**
 * The position with the nodes that run now. A node that came back is read again from where it became silent, because it may have committed
 * records with earlier ids since.
 */
export function followNodes(
  position: ExportPosition,
  marks: readonly NodeMark[],
  nowMs: number,
): ExportPosition {
  const nodes: Record<string, NodePosition> = {};
  const alive = new Map(marks.flatMap((mark) => mark.isAlive ? [[mark.node, mark]] : []));
  for (const [node, known] of Object.entries(position.nodes)) {
    if (alive.has(node)) nodes[node] = { upTo: known.from ?? known.upTo };
    else {
      const silentMs = Math.min(nowMs, known.silentMs ?? nowMs);
      if (nowMs - silentMs > SILENT_RETENTION_MS) continue;
      nodes[node] = { upTo: known.upTo, from: known.from ?? known.upTo, silentMs };
    }
  }
  for (const { node, firstMark } of alive.values()) nodes[node] ??= { upTo: firstMark };
  return { ...position, nodes };
}

/** The id after which the next page begins. */
function pageStart({ upTo, nodes, next }: ExportPosition): string {
  if (next !== undefined) return next;
  return Object.values(nodes).reduce((start, node) => node.upTo < start ? node.upTo : start, upTo);
}

/** A page of the log: what was read, and what was known before it was read. */
interface PageRange {
  /** The id after which it begins. */
  readonly start: string;
  readonly marks: readonly NodeMark[];
}

/**
 * Whether a record is read now: it was not read before, and all earlier records of its node are in the store and were read. A node whose position
 * is before the page waits for the next pass.
 */
function isReadNow(id: string, { upTo, nodes }: ExportPosition, { start, marks }: PageRange): boolean {
  const node = auditIdNode(id);
  const readUpTo = nodes[node]?.upTo ?? upTo;
  if (id <= readUpTo || readUpTo < start) return false;
  const known = marks.find((mark) => mark.node === node);
  return known === undefined || !known.isAlive || id <= known.mark;
}

/** The position after a page. @param last the id of its last record, or `null` if it is empty; `isFull`: there may be more. */
function afterPage(
  position: ExportPosition,
  { start, marks, last, isFull }: PageRange & { last: string | null; isFull: boolean },
): ExportPosition {
  const alive = new Map(marks.flatMap((mark) => mark.isAlive ? [[mark.node, mark.mark]] : []));
  const nodes: Record<string, NodePosition> = {};
  for (const [node, known] of Object.entries(position.nodes)) {
    const mark = alive.get(node);
    // The end of the log was read, so everything up to the mark was.
    const read = mark === undefined ? last : isFull && last !== null && last < mark ? last : mark;
    nodes[node] = known.upTo < start ? known : { ...known, upTo: larger(known.upTo, read) };
  }
  const upTo = larger(position.upTo, last);
  return isFull && last !== null ? { upTo, nodes, next: last } : { upTo, nodes };
}

function larger(id: string, other: string | null): string {
  return other !== null && other > id ? other : id;
}

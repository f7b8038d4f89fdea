// Reads the audit, newest first: by object or actor through the index, else all of it; a bounded number of records a call.

import { auditIdAt, auditIndexKey, auditKey, auditObjects } from "../../audit_index.ts";
import { canonicalName } from "../../canonical_name.ts";
import type { Store } from "../../store.ts";

/** What the audit is narrowed to; "" means everything. Times are milliseconds since the epoch. */
export interface AuditFilter {
  readonly actor: string;
  readonly object: string;
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

/** One deed, as texts. */
export interface AuditItem {
  readonly id: string;
  readonly atMs: number;
  readonly actor: string;
  readonly source: string;
  readonly action: string;
  /** What it was done to, such as `user:ada`. */
  readonly objects: readonly string[];
  readonly before: string;
  readonly after: string;
  /** What else the record says, by name. */
  readonly details: Readonly<Record<string, string>>;
}

export interface AuditPage {
  readonly items: readonly AuditItem[];
  /** Where the next page begins; `null` at the end. */
  readonly next: string | null;
}

type Value = Readonly<Record<string, unknown>>;

const MOST_LOOKED_AT = 5000;
const MOST_CHARACTERS = 300;
const LAST_ID = "\u{10ffff}";
const HEAD = new Set(["atMs", "actor", "source", "action", "object", "before", "after", "user", "group"]);

/** One page; `before` is the `next` of the page before. */
export async function auditPage(
  store: Store,
  filter: AuditFilter,
  { before, limit }: { before: string | null; limit: number },
): Promise<AuditPage> {
  const items: AuditItem[] = [];
  let looked = 0;
  for await (const { id, value } of found(store, { filter, before })) {
    looked += 1;
    if (value !== null && fits(value, filter)) items.push(itemOf(id, value));
    if (items.length >= limit || looked >= MOST_LOOKED_AT) return { items, next: id };
  }
  return { items, next: null };
}

async function* found(
  store: Store,
  { filter, before }: { filter: AuditFilter; before: string | null },
): AsyncGenerator<{ id: string; value: Value | null }> {
  const { actor, object, fromMs, toMs } = filter;
  const start = fromMs === null ? "" : auditIdAt(fromMs);
  const until = toMs === null ? LAST_ID : auditIdAt(toMs + 1);
  const end = before !== null && before < until ? before : until;
  if (start >= end) return;
  const index = object !== ""
    ? auditIndexKey("object", object)
    : actor !== ""
    ? auditIndexKey("actor", actor)
    : null;
  const prefix = index ?? ["audit"];
  const range = { start: [...prefix, start], end: [...prefix, end] };
  for await (const { key, value } of store.range<Value>(range, { reverse: true, limit: MOST_LOOKED_AT })) {
    const id = String(key.at(-1));
    yield { id, value: index === null ? value : (await store.get<Value>(auditKey(id))).value };
  }
}

function fits(value: Value, { actor, object }: AuditFilter): boolean {
  const asked = canonicalName(object);
  return (actor === "" || canonicalName(text(value.actor)) === canonicalName(actor)) &&
    (object === "" || auditObjects(value).some((name) => canonicalName(name) === asked));
}

function itemOf(id: string, value: Value): AuditItem {
  const details = Object.entries(value).flatMap(([name, detail]) =>
    HEAD.has(name) || detail === null || detail === undefined ? [] : [[name, text(detail)] as const]
  );
  return {
    id,
    atMs: typeof value.atMs === "number" ? value.atMs : 0,
    actor: text(value.actor),
    source: text(value.source),
    action: text(value.action),
    objects: auditObjects(value),
    before: text(value.before),
    after: text(value.after),
    details: Object.fromEntries(details),
  };
}

function text(value: unknown): string {
  if (value === null || value === undefined) return "";
  const said = Array.isArray(value)
    ? value.join(", ")
    : typeof value === "object"
    ? JSON.stringify(value)
    : String(value);
  return said.slice(0, MOST_CHARACTERS);
}

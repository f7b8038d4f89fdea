// Reads the audit, newest first: by object or actor through the index, else all of it; a bounded number of records a call.

import { auditActor, auditIdAt, auditIndexKey, auditKey, auditObjects } from "../../../platform/audit.ts";
import { auditActionOf } from "../../../platform/audit_actions.ts";
import { canonicalName } from "../../../canonical_name.ts";
import type { Store } from "../../../store.ts";

/** What the audit is narrowed to; "" means everything. Times are milliseconds since the epoch. */
export interface AuditFilter {
  readonly actor: string;
  readonly object: string;
  /** As the record has it: `client.change`. */
  readonly action: string;
  /** The address that it was asked from. */
  readonly source: string;
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

export type AuditValue = Readonly<Record<string, unknown>>;

/** Records that one call looks at; a search for something rare goes on with the next call. */
export const MOST_LOOKED_AT = 5000;
const MOST_CHARACTERS = 300;
/** What changed is read as a whole, so that its parts can be compared. */
const MOST_CHANGE_CHARACTERS = 4000;
const LAST_ID = "\u{10ffff}";
const HEAD = new Set([
  "atMs",
  "actor",
  "source",
  "action",
  "object",
  "objects",
  "before",
  "after",
  "user",
  "group",
  "client",
]);

/** One page; `before` is the `next` of the page before. */
export async function auditPage(
  store: Store,
  filter: AuditFilter,
  { before, limit }: { before: string | null; limit: number },
): Promise<AuditPage> {
  const items: AuditItem[] = [];
  let looked = 0;
  for await (const { id, value } of auditRecords(store, { filter, before })) {
    looked += 1;
    if (value !== null && fits(value, filter)) items.push(itemOf(id, value));
    if (items.length >= limit || looked >= MOST_LOOKED_AT) return { items, next: id };
  }
  return { items, next: null };
}

/** Records newest first, at most {@link MOST_LOOKED_AT}; of the filter only what an index or the time can tell is applied. */
export async function* auditRecords(
  store: Store,
  { filter, before }: {
    filter: Pick<AuditFilter, "actor" | "object" | "fromMs" | "toMs">;
    before: string | null;
  },
): AsyncGenerator<{ id: string; value: AuditValue | null }> {
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
  for await (
    const { key, value } of store.range<AuditValue>(range, { reverse: true, limit: MOST_LOOKED_AT })
  ) {
    const id = String(key.at(-1));
    yield { id, value: index === null ? value : (await store.get<AuditValue>(auditKey(id))).value };
  }
}

function fits(value: AuditValue, { actor, object, action, source }: AuditFilter): boolean {
  const asked = canonicalName(object);
  return (action === "" || actionOf(value) === auditActionOf(action)) &&
    (source === "" || value.source === source) &&
    (actor === "" || canonicalName(auditActor(value)) === canonicalName(actor)) &&
    (object === "" || auditObjects(value).some((name) => canonicalName(name) === asked));
}

/** Today's name of what was done. */
export function actionOf({ action }: AuditValue): string {
  return auditActionOf(text(action));
}

function itemOf(id: string, value: AuditValue): AuditItem {
  const details = Object.entries(value).flatMap(([name, detail]) =>
    HEAD.has(name) || detail === null || detail === undefined ? [] : [[name, text(detail)] as const]
  );
  return {
    id,
    atMs: typeof value.atMs === "number" ? value.atMs : 0,
    actor: auditActor(value).slice(0, MOST_CHARACTERS),
    source: text(value.source),
    action: actionOf(value),
    objects: auditObjects(value),
    before: text(value.before, MOST_CHANGE_CHARACTERS),
    after: text(value.after, MOST_CHANGE_CHARACTERS),
    details: Object.fromEntries(details),
  };
}

function text(value: unknown, mostCharacters = MOST_CHARACTERS): string {
  if (value === null || value === undefined) return "";
  const said = Array.isArray(value)
    ? value.join(", ")
    : typeof value === "object"
    ? JSON.stringify(value)
    : String(value);
  return said.slice(0, mostCharacters);
}

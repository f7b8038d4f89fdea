// Reads the audit, newest first: by object or actor through the index, else all of it; a bounded number of records a call.

import { auditActor, auditIdAt, auditIndexKey, auditKey, auditObjects } from "../../../platform/audit.ts";
import { auditActionOf } from "../../../platform/audit_actions.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Store } from "../../../platform/store.ts";

/**
 * What the audit is narrowed to; "" means everything. Times are milliseconds since the epoch. Texts match any part of a field, without case;
 * `kind:name` as `object` matches the whole object, through the index.
 */
export interface AuditFilter {
  readonly actor: string;
  readonly object: string;
  /** The whole name: `client.change`. */
  readonly action: string;
  /** The address that it was asked from. */
  readonly source: string;
  /** Anywhere in a record. */
  readonly q: string;
  /** Actions whose label has `q`, in the reader's language. */
  readonly labelled: readonly string[];
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
  /** The time of the oldest record that was compared; `null` where the page is full, or nothing is left. */
  readonly searchedToMs?: number | null;
}

export type AuditValue = Readonly<Record<string, unknown>>;

/** Records that one call looks at; a search for something rare goes on with the next call. */
export const MAX_COMPARED = 5000;
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
  const fits = matcherOf(filter);
  for await (const { id, value } of auditRecords(store, { filter, before })) {
    looked += 1;
    if (value !== null && fits(value)) items.push(itemOf(id, value));
    if (items.length >= limit) return { items, next: id };
    if (looked >= MAX_COMPARED) {
      return { items, next: id, searchedToMs: typeof value?.atMs === "number" ? value.atMs : null };
    }
  }
  return { items, next: null };
}

/** Records newest first, at most {@link MAX_COMPARED}; of the filter only what an index or the time can tell is applied. */
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
  const index = isWholeObject(object)
    ? auditIndexKey("object", object)
    : isWholeObject(actor)
    ? auditIndexKey("actor", actor)
    : null;
  const prefix = index ?? ["audit"];
  const range = { start: [...prefix, start], end: [...prefix, end] };
  for await (
    const { key, value } of store.range<AuditValue>(range, { reverse: true, limit: MAX_COMPARED })
  ) {
    const id = String(key.at(-1));
    yield { id, value: index === null ? value : (await store.get<AuditValue>(auditKey(id))).value };
  }
}

/** `user:ada`, as links write it; a part of a name has no kind. */
function isWholeObject(text: string): boolean {
  return /^[a-z][a-z-]*:./.test(text);
}

function matcherOf(filter: AuditFilter): (value: AuditValue) => boolean {
  const action = auditActionOf(filter.action);
  const [actor, object, source, q] = [filter.actor, filter.object, filter.source, filter.q].map(
    canonicalName,
  );
  const labelled = new Set(filter.labelled);
  const hasPart = (part: string | undefined, ...texts: readonly string[]): boolean =>
    part === undefined || part === "" || texts.some((text) => canonicalName(text).includes(part));
  const isObject = (value: AuditValue): boolean => {
    if (object === undefined || object === "") return true;
    const objects = auditObjects(value).map(canonicalName);
    return isWholeObject(object) ? objects.includes(object) : objects.some((one) => one.includes(object));
  };
  return (value) =>
    (action === "" || actionOf(value) === action) && isObject(value) &&
    hasPart(actor, auditActor(value)) && hasPart(source, text(value.source)) &&
    (q === "" || labelled.has(actionOf(value)) || hasPart(q, ...textsOf(value)));
}

/** Everything that a record says, apart from its time. */
function textsOf(value: AuditValue): string[] {
  const { atMs: _, ...fields } = value;
  return [
    auditActor(value),
    ...auditObjects(value),
    ...Object.values(fields).map((one) => text(one, MOST_CHANGE_CHARACTERS)),
  ];
}

/** Today's name of what was done. */
export function actionOf({ action }: AuditValue): string {
  return auditActionOf(text(action));
}

/** The details of a record under today's names. Earlier versions wrote `kind` for the factor of a pairing. */
export function auditDetails(value: AuditValue, head: ReadonlySet<string>): Record<string, string> {
  const isPairing = actionOf(value).startsWith("pairing.");
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, detail]) => {
      if (head.has(name) || detail === null || detail === undefined) return [];
      // The names of members are shown as a whole, too.
      const shown = text(detail, MOST_CHANGE_CHARACTERS);
      return [[isPairing && name === "kind" ? "factor" : name, shown] as const];
    }),
  );
}

function itemOf(id: string, value: AuditValue): AuditItem {
  return {
    id,
    atMs: typeof value.atMs === "number" ? value.atMs : 0,
    actor: auditActor(value).slice(0, MOST_CHARACTERS),
    source: text(value.source),
    action: actionOf(value),
    objects: auditObjects(value),
    before: text(value.before, MOST_CHANGE_CHARACTERS),
    after: text(value.after, MOST_CHANGE_CHARACTERS),
    details: auditDetails(value, HEAD),
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

// The audit log, read only: pages in either order, exports with the newest first, and their routes. An object or an actor is found through the index,
// everything else by a scan. Each call reads a bounded number of records.

import {
  auditActor,
  AUDITED_CHANGES,
  auditEntry,
  auditIndexKey,
  auditKey,
  auditObjects,
  isWholeName,
} from "../../../platform/audit.ts";
import { auditIdAt } from "../../../platform/log_blocks.ts";
import {
  AUDIT_GROUP_NAMES,
  auditGroupOf,
  isAdministratorChange,
  isAuditedChange,
} from "../../../platform/audit_actions.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Store } from "../../../platform/store.ts";
import { Hono } from "hono";
import * as v from "valibot";
import { callerOf, type HttpEnv, queryValues, time } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { exportFormats, exportLines, fileHeaders, streamLines } from "../file_export.ts";
import { rangeAfter } from "../id_range.ts";

/**
 * The filter of the audit log; "" means everything. Times are milliseconds since the epoch. Texts match any part of a field, without case;
 * `kind:name` as `object` matches the whole object, through the index.
 */
interface AuditFilter {
  readonly actor: string;
  readonly object: string;
  /** The whole name: `client.change`. */
  readonly action: string;
  /** A group of events, or one of {@link EVENT_CHOICES}. */
  readonly events?: string;
  /** The address of the caller. */
  readonly source: string;
  /** Anywhere in a record. */
  readonly q: string;
  /** Actions whose label has `q`, in the reader's language. */
  readonly labelled: readonly string[];
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

/** One record, as texts. */
export interface AuditItem {
  readonly id: string;
  readonly atMs: number;
  readonly actor: string;
  readonly source: string;
  readonly action: string;
  /** The objects of the change, such as `user:ada`. */
  readonly objects: readonly string[];
  readonly before: string;
  readonly after: string;
  /** Other fields of the record, by name. */
  readonly details: Readonly<Record<string, string>>;
}

export interface AuditPage {
  readonly items: readonly AuditItem[];
  /** The start of the next page; `null` at the end. */
  readonly next: string | null;
  /** The time of the last record that was compared; `null` where the page is full, or nothing is left. */
  readonly searchedToMs?: number | null;
}

export type AuditValue = Readonly<Record<string, unknown>>;

/** Records that one call reads. A search for a rare record continues with the next call. */
export const MAX_COMPARED = 5000;
const MAX_CHARACTERS = 300;
/** Values before and after a change are longer, so that their parts can be compared. */
const MAX_CHANGE_CHARACTERS = 4000;
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

interface AuditPageOptions {
  /** The `next` of the previous page, in either order. */
  readonly before: string | null;
  readonly limit: number;
  readonly isOldestFirst?: boolean;
}

export async function readAuditPage(
  store: Store,
  filter: AuditFilter,
  { before, limit, isOldestFirst = false }: AuditPageOptions,
): Promise<AuditPage> {
  const items: AuditItem[] = [];
  let looked = 0;
  const fits = matcherOf(filter);
  for await (const { id, value } of auditRecords(store, { filter, before, isOldestFirst })) {
    looked += 1;
    if (value !== null && fits(value)) items.push(itemOf(id, value));
    if (items.length >= limit) return { items, next: id };
    if (looked >= MAX_COMPARED) {
      return { items, next: id, searchedToMs: typeof value?.atMs === "number" ? value.atMs : null };
    }
  }
  return { items, next: null };
}

/** Records newest or oldest first, at most {@link MAX_COMPARED}. Of the filter, only the indexed fields and the times apply. */
export async function* auditRecords(
  store: Store,
  { filter, before, isOldestFirst = false }: Omit<AuditPageOptions, "limit"> & {
    readonly filter: Pick<AuditFilter, "actor" | "object" | "events" | "fromMs" | "toMs">;
  },
): AsyncGenerator<{ id: string; value: AuditValue | null }> {
  const { actor, object, events, fromMs, toMs } = filter;
  const { start, end } = rangeAfter(before, {
    start: fromMs === null ? "" : auditIdAt(fromMs),
    end: toMs === null ? LAST_ID : auditIdAt(toMs + 1),
    isOldestFirst,
  });
  if (start >= end) return;
  const index = isWholeName(object)
    ? auditIndexKey("object", object)
    : isWholeName(actor)
    ? auditIndexKey("actor", actor)
    : events === "changes" || events === "administrator_changes"
    ? auditIndexKey("events", AUDITED_CHANGES)
    : null;
  const prefix = index ?? ["audit"];
  const range = { start: [...prefix, start], end: [...prefix, end] };
  for await (
    const { key, value } of store.range<AuditValue>(range, { reverse: !isOldestFirst, limit: MAX_COMPARED })
  ) {
    const id = String(key.at(-1));
    yield { id, value: index === null ? value : (await store.get<AuditValue>(auditKey(id))).value };
  }
}

function matcherOf(filter: AuditFilter): (value: AuditValue) => boolean {
  const { action } = filter;
  const [actor, object, source, q] = [filter.actor, filter.object, filter.source, filter.q].map(
    canonicalName,
  );
  const labelled = new Set(filter.labelled);
  const hasPart = (part: string | undefined, ...texts: readonly string[]): boolean =>
    part === undefined || part === "" || texts.some((text) => canonicalName(text).includes(part));
  const isObject = (value: AuditValue): boolean => {
    if (object === undefined || object === "") return true;
    const objects = auditObjects(value).map(canonicalName);
    return isWholeName(object) ? objects.includes(object) : objects.some((one) => one.includes(object));
  };
  const isEvent = eventMatcher(filter.events ?? "");
  return (value) =>
    isEvent(actionOf(value), auditActor(value)) &&
    (action === "" || actionOf(value) === action) && isObject(value) &&
    hasPart(actor, auditActor(value)) && hasPart(source, text(value.source)) &&
    (q === "" || labelled.has(actionOf(value)) || hasPart(q, ...textsOf(value)));
}

/** Choices of events besides the groups. `changes`: no sign-ins, and nothing that a provisioning client wrote. */
const EVENT_CHOICES = ["", "changes", "administrator_changes"] as const;

function eventMatcher(events: string): (action: string, actor: string) => boolean {
  if (events === "") return () => true;
  if (events === "changes") return isAuditedChange;
  if (events === "administrator_changes") return isAdministratorChange;
  return (action) => auditGroupOf(action) === events;
}

/** All texts of a record. */
function textsOf(value: AuditValue): string[] {
  const { atMs: _, ...fields } = value;
  return [
    auditActor(value),
    ...auditObjects(value),
    ...Object.values(fields).map((one) => text(one, MAX_CHANGE_CHARACTERS)),
  ];
}

/** The action of a record, as a text. */
export function actionOf({ action }: AuditValue): string {
  return text(action);
}

/** The details of a record. */
export function auditDetails(value: AuditValue, head: ReadonlySet<string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, detail]) => {
      if (head.has(name) || detail === null || detail === undefined) return [];
      // The names of members are shown as a whole, too.
      return [[name, text(detail, MAX_CHANGE_CHARACTERS)] as const];
    }),
  );
}

function itemOf(id: string, value: AuditValue): AuditItem {
  return {
    id,
    atMs: typeof value.atMs === "number" ? value.atMs : 0,
    actor: auditActor(value).slice(0, MAX_CHARACTERS),
    source: text(value.source),
    action: actionOf(value),
    objects: auditObjects(value),
    before: text(value.before, MAX_CHANGE_CHARACTERS),
    after: text(value.after, MAX_CHANGE_CHARACTERS),
    details: auditDetails(value, HEAD),
  };
}

function text(value: unknown, mostCharacters = MAX_CHARACTERS): string {
  if (value === null || value === undefined) return "";
  const said = Array.isArray(value)
    ? value.join(", ")
    : typeof value === "object"
    ? JSON.stringify(value)
    : String(value);
  return said.slice(0, mostCharacters);
}

interface AuditRouteDeps {
  readonly store: Store;
}

const PAGE = 50;
const FILTER_TEXT = v.optional(v.pipe(v.string(), v.maxLength(256)), "");
const labelled = v.optional(
  v.pipe(v.string(), v.maxLength(4000), v.transform((list) => list.split(","))),
  "",
);
const FILTER = {
  actor: FILTER_TEXT,
  object: FILTER_TEXT,
  action: FILTER_TEXT,
  events: v.optional(v.picklist([...EVENT_CHOICES, ...AUDIT_GROUP_NAMES]), ""),
  source: FILTER_TEXT,
  q: FILTER_TEXT,
  labelled,
  from: time,
  to: time,
};
const LIST = v.object({
  ...FILTER,
  before: v.optional(v.pipe(v.string(), v.regex(/^[0-9a-z]{1,64}$/))),
  sort: v.optional(v.picklist(["at", "-at"]), "-at"),
});
const EXPORT = v.object({ ...FILTER, format: v.optional(v.picklist(["csv", "json"]), "csv") });

export function createAuditRoutes({ store }: AuditRouteDeps) {
  return new Hono<HttpEnv>()
    .get("/", may("viewer"), queryValues(LIST), async (c) => {
      const { before = null, sort, ...query } = c.req.valid("query");
      const options = { before, limit: PAGE, isOldestFirst: sort === "at" };
      return c.json(await readAuditPage(store, filterOf(query), options));
    })
    .get("/export", may("viewer", { recentFactor: true }), queryValues(EXPORT), async (c) => {
      const { format, ...query } = c.req.valid("query");
      const filter = filterOf(query);
      const event = { action: "audit.export" as const, object: "audit", after: exportText(format, filter) };
      // Recorded first: without an audit record, nothing is exported.
      await store.commit({ mutations: [auditEntry({ ...callerOf(c), ...event })] });
      const { type } = AUDIT_FORMATS[format];
      const lines = auditLines(store, { filter, format });
      return c.body(streamLines(lines), 200, fileHeaders(type, "audit." + format));
    });
}

type AuditQuery = v.InferOutput<v.ObjectSchema<typeof FILTER, undefined>>;

function filterOf({ from, to, ...texts }: AuditQuery): AuditFilter {
  return { ...texts, fromMs: from ?? null, toMs: to ?? null };
}

/** "csv, actor ada, from 2027-01-15T08:00:00.000Z": the format and the filters of an export. */
function exportText(format: string, { fromMs, toMs, labelled: _, ...texts }: AuditFilter): string {
  const time = (atMs: number | null) => atMs === null ? "" : new Date(atMs).toISOString();
  const narrowed = Object.entries({ ...texts, from: time(fromMs), to: time(toMs) })
    .flatMap(([name, value]) => value === "" ? [] : [`${name} ${value}`]);
  return [format, ...narrowed].join(", ");
}

/** The maximum of one export. For more records, export shorter periods. */
export const MAX_EXPORTED_RECORDS = 50_000;

const AUDIT_FORMATS = exportFormats(["at", "who", "from", "what", "to", "before", "after", "details"], {
  cellsOf,
});

function cellsOf({ atMs, actor, source, action, objects, before, after, details }: AuditItem): string[] {
  const texts = Object.entries(details).map(([name, value]) => `${name}: ${value}`).join("; ");
  return [new Date(atMs).toISOString(), actor, source, action, objects.join(" "), before, after, texts];
}

/** The lines of a file with the matching records. */
export function auditLines(
  store: Store,
  { filter, format }: { filter: AuditFilter; format: keyof typeof AUDIT_FORMATS },
): AsyncGenerator<string> {
  const readPage = (options: { before: string | null; limit: number }) =>
    readAuditPage(store, filter, options);
  return exportLines(readPage, { encoding: AUDIT_FORMATS[format], max: MAX_EXPORTED_RECORDS });
}

// The history of finished logins: pages and single records, and their routes.

import type { Store } from "../../../platform/store.ts";
import {
  decodeLoginRecord,
  historyKey,
  type LoginRecord,
} from "../../../radius/conversation/login_record.ts";
import { explainLogin, type Explanation } from "../conversations/explain_login.ts";
import { Hono } from "hono";
import * as v from "valibot";
import { exportFormats, exportLines, fileHeaders, streamLines } from "../file_export.ts";
import { type HttpEnv, queryValues, time } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";

/** The filter of the history; "" means everything. Times are milliseconds since the epoch. */
export interface HistoryFilter {
  readonly outcome: string;
  readonly user: string;
  readonly client: string;
  /** The target whose users logged in. */
  readonly target?: string;
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

/** One line of the history. */
export interface HistoryItem extends Omit<LoginRecord, "moments" | "refusedFor" | "denial"> {
  readonly id: string;
  /** `null` for an accepted login. */
  readonly reason: Pick<Explanation, "code" | "values"> | null;
}

export interface HistoryPage {
  readonly items: readonly HistoryItem[];
  /** The start of the next page; `null` at the end. */
  readonly next: string | null;
  /** The time to which the search came, if it ended before the page was full. */
  readonly searchedToMs: number | null;
}

export interface HistoryReader {
  page(filter: HistoryFilter, options: { before: string | null; limit: number }): Promise<HistoryPage>;
  one(id: string): Promise<LoginRecord | null>;
}

/** Records that one call reads. A search for a rare login continues with the next call. */
const MAX_SCANNED = 20_000;
const FIRST_KEY = "";
const LAST_KEY = "\u{10ffff}";

export function createHistoryReader({ store }: { store: Store }): HistoryReader {
  return {
    async page(filter, { before, limit }) {
      const fits = matcher(filter);
      const end = earlier(
        before ?? LAST_KEY,
        filter.toMs === null ? LAST_KEY : historyKeyAt(filter.toMs + 1),
      );
      const start = filter.fromMs === null ? FIRST_KEY : historyKeyAt(filter.fromMs);
      const items: HistoryItem[] = [];
      let looked = 0;
      let last: { id: string; startedMs: number } | null = null;
      if (start >= end) return { items, next: null, searchedToMs: null };
      const range = { start: historyKey(start), end: historyKey(end) };
      for await (
        const { key, value } of store.range<unknown>(range, { reverse: true, limit: MAX_SCANNED })
      ) {
        const login = decodeLoginRecord(value);
        const id = String(key[1]);
        looked++;
        if (login === null) continue;
        last = { id, startedMs: login.startedMs };
        if (!fits(login)) continue;
        items.push(itemOf(id, login));
        if (items.length >= limit) return { items, next: id, searchedToMs: null };
      }
      const isCut = looked >= MAX_SCANNED && last !== null;
      return {
        items,
        next: isCut ? last?.id ?? null : null,
        searchedToMs: isCut ? last?.startedMs ?? null : null,
      };
    },
    async one(id) {
      const { value } = await store.get<unknown>(historyKey(id));
      return decodeLoginRecord(value);
    },
  };
}

/** The first key of a moment. Keys count in 1/1024 ms since the epoch, in 11 characters of base 36. */
export function historyKeyAt(atMs: number): string {
  return Math.max(0, Math.floor(atMs * 1024)).toString(36).padStart(11, "0");
}

function earlier(a: string, b: string): string {
  return a < b ? a : b;
}

function matcher({ outcome, user, client, target = "" }: HistoryFilter): (login: LoginRecord) => boolean {
  const name = user.normalize("NFC").toLowerCase();
  return (login) =>
    (outcome === "" || login.outcome === outcome) && (client === "" || login.client === client) &&
    (target === "" || login.target === target) &&
    (name === "" || login.user.normalize("NFC").toLowerCase().includes(name));
}

function itemOf(id: string, finished: LoginRecord): HistoryItem {
  const { moments: _moments, refusedFor, denial, ...login } = finished;
  const explanation = explainLogin(finished, { refusedFor, denial });
  const reason = explanation === null ? null : { code: explanation.code, values: explanation.values };
  return { id, ...login, reason };
}

export interface HistoryRouteDeps {
  readonly store: Store;
}

const PAGE = 50;
const MAX_PAGE_SIZE = 200;
const MAX_EXPORTED = 50_000;

const text = v.optional(v.pipe(v.string(), v.maxLength(256)), "");
const FILTER = {
  outcome: v.optional(v.picklist(["", "accepted", "rejected", "expired", "cancelled", "superseded"]), ""),
  user: text,
  client: text,
  target: text,
  from: time,
  to: time,
};
const LIST = v.object({
  ...FILTER,
  before: v.optional(v.pipe(v.string(), v.regex(/^[0-9a-z]{1,40}$/))),
  limit: v.optional(
    v.pipe(v.string(), v.regex(/^\d{1,3}$/), v.transform(Number), v.minValue(1), v.maxValue(MAX_PAGE_SIZE)),
  ),
});
const EXPORT = v.object({ ...FILTER, format: v.optional(v.picklist(["csv", "json"]), "csv") });

export function createHistoryRoutes(deps: HistoryRouteDeps) {
  const reader = createHistoryReader(deps);
  return new Hono<HttpEnv>()
    .get("/", may("viewer"), queryValues(LIST), async (c) => {
      const { before, limit, ...asked } = c.req.valid("query");
      return c.json(await reader.page(filterOf(asked), { before: before ?? null, limit: limit ?? PAGE }));
    })
    .get("/export", may("viewer"), queryValues(EXPORT), (c) => {
      const { format, ...query } = c.req.valid("query");
      const filter = filterOf(query);
      const encoding = FORMATS[format];
      const lines = exportLines((options) => reader.page(filter, options), { encoding, max: MAX_EXPORTED });
      return c.body(streamLines(lines), 200, fileHeaders(encoding.type, `logins.${format}`));
    });
}

type HistoryQuery = v.InferOutput<v.ObjectSchema<typeof FILTER, undefined>>;

function filterOf({ from, to, ...rest }: HistoryQuery): HistoryFilter {
  return { ...rest, fromMs: from ?? null, toMs: to ?? null };
}

const COLUMNS = [
  "started",
  "ended",
  "took_ms",
  "user",
  "client",
  "source",
  "place",
  "factor",
  "outcome",
  "reason",
  "target",
  "decided_by",
] as const;

const FORMATS = exportFormats(COLUMNS, { cellsOf, emptyTail: "\n]\n" });

function cellsOf(item: HistoryItem): string[] {
  const { startedMs, endedMs, user, client, source, place, factor, outcome, reason, target } = item;
  return [
    new Date(startedMs).toISOString(),
    new Date(endedMs).toISOString(),
    String(endedMs - startedMs),
    user,
    client,
    source,
    place,
    factor ?? "",
    outcome,
    reason?.code ?? "",
    target ?? "",
    String(reason?.values.by ?? ""),
  ];
}

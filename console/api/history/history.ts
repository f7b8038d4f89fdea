// The history of finished logins: pages and single records, and their routes.

import type { GeoIp, IpLocation } from "../../../platform/geoip/geoip.ts";
import type { Store } from "../../../platform/store.ts";
import {
  decodeLoginRecord,
  endedIn,
  historyKey,
  historyKeyAt,
  historyKeysOfEnds,
  type LoginRecord,
} from "../../../radius/conversation/login_record.ts";
import { explainLogin, type Explanation } from "../conversations/explain_login.ts";
import { Hono } from "hono";
import * as v from "valibot";
import { exportFormats, exportLines, fileHeaders, streamLines } from "../file_export.ts";
import { rangeAfter } from "../id_range.ts";
import { type HttpEnv, queryValues, time } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";

/** The filter of the history; "" means everything. A range selects the logins that ended in it; times are milliseconds since the epoch. */
interface HistoryFilter {
  readonly outcome: string;
  readonly user: string;
  readonly client: string;
  /** The target whose users logged in. */
  readonly target?: string;
  /** "none": without a second factor. */
  readonly factor?: string;
  /** The code of the reason. */
  readonly reason?: string;
  /** Calling-Station-Id, as a whole. */
  readonly place?: string;
  /** ISO 3166-1; "none": of no known country. */
  readonly country?: string;
  /** The name that the policy had; "none": no policy applied. */
  readonly policy?: string;
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

/** One line of the history. */
export interface HistoryItem extends Omit<LoginRecord, "moments" | "refusedFor" | "denial"> {
  readonly id: string;
  /** `null` for an accepted login. */
  readonly reason: Pick<Explanation, "code" | "values"> | null;
  /** Where the address of the caller is; `null` if it is unknown. */
  readonly location: IpLocation | null;
}

export interface HistoryPage {
  readonly items: readonly HistoryItem[];
  /** The start of the next page; `null` at the end. */
  readonly next: string | null;
  /** The time to which the search came, if it ended before the page was full. */
  readonly searchedToMs: number | null;
}

interface HistoryPageOptions {
  /** The `next` of the previous page, in either order. */
  readonly before: string | null;
  readonly limit: number;
  readonly isOldestFirst?: boolean;
}

export interface HistoryReader {
  page(filter: HistoryFilter, options: HistoryPageOptions): Promise<HistoryPage>;
  one(id: string): Promise<LoginRecord | null>;
  /** The logins that began last, newest first. */
  newest(limit: number): Promise<{ readonly id: string; readonly login: LoginRecord }[]>;
  /** One line; `null` if there is no such record. @param near the id of the audit record that names the login */
  item(id: string, near: string): Promise<HistoryItem | null>;
}

export { historyKeyAt };
export type { IpLocation };

/** Records that one call reads. A search for a rare login continues with the next call. */
const MAX_SCANNED = 20_000;

/** Finds the country and the network of an address. */
export type Locator = Pick<GeoIp, "locate">;
const NO_LOCATOR: Locator = { locate: () => null };

export function createHistoryReader(
  { store, geoIp = NO_LOCATOR }: { store: Store; geoIp?: Locator | undefined },
): HistoryReader {
  const one = async (id: string, options?: { near: string }) =>
    decodeLoginRecord((await store.get<unknown>(historyKey(id), options)).value);
  return {
    one: (id) => one(id),
    async newest(limit) {
      const entries = store.list<unknown>(["history"], { limit, reverse: true });
      const found = [];
      for await (const { key, value } of entries) {
        const login = decodeLoginRecord(value);
        if (login !== null) found.push({ id: String(key[1]), login });
      }
      return found;
    },
    async item(id, near) {
      const login = await one(id, { near });
      return login === null ? null : itemOf(id, login, geoIp);
    },
    async page(filter, { before, limit, isOldestFirst = false }) {
      const fits = matcher(filter, geoIp);
      const { start, end } = rangeAfter(before, { ...historyKeysOfEnds(filter), isOldestFirst });
      const items: HistoryItem[] = [];
      let looked = 0;
      let last: { id: string; startedMs: number } | null = null;
      if (start >= end) return { items, next: null, searchedToMs: null };
      const range = { start: historyKey(start), end: historyKey(end) };
      for await (
        const { key, value } of store.range<unknown>(range, { reverse: !isOldestFirst, limit: MAX_SCANNED })
      ) {
        const login = decodeLoginRecord(value);
        const id = String(key[1]);
        looked++;
        if (login === null) continue;
        last = { id, startedMs: login.startedMs };
        if (!fits(login)) continue;
        items.push(itemOf(id, login, geoIp));
        if (items.length >= limit) return { items, next: id, searchedToMs: null };
      }
      const isCut = looked >= MAX_SCANNED && last !== null;
      return {
        items,
        next: isCut ? last?.id ?? null : null,
        searchedToMs: isCut ? last?.startedMs ?? null : null,
      };
    },
  };
}

function matcher(
  filter: HistoryFilter,
  geoIp: Locator,
): (login: LoginRecord) => boolean {
  const { outcome, user, client, target = "", factor = "", reason = "" } = filter;
  const { place = "", country = "", policy = "" } = filter;
  const name = user.normalize("NFC").toLowerCase();
  return (login) =>
    endedIn(login, filter) && (outcome === "" || login.outcome === outcome) &&
    (client === "" || login.client === client) &&
    (target === "" || login.target === target) &&
    (factor === "" || (login.factor ?? NONE) === factor) && (place === "" || login.place === place) &&
    (name === "" || login.user.normalize("NFC").toLowerCase().includes(name)) &&
    (policy === "" || (login.policy ?? NONE) === policy) &&
    (reason === "" || explanationOf(login)?.code === reason) &&
    (country === "" || (geoIp.locate(login.place)?.country ?? NONE) === country);
}

/** The filter for a sign-in without a factor, a country or a policy. */
const NONE = "none";

function explanationOf(login: LoginRecord): Explanation | null {
  return explainLogin(login, { refusedFor: login.refusedFor, denial: login.denial });
}

function itemOf(id: string, finished: LoginRecord, geoIp: Locator): HistoryItem {
  const { moments: _moments, refusedFor: _refusedFor, denial: _denial, ...login } = finished;
  const explanation = explanationOf(finished);
  const reason = explanation === null ? null : { code: explanation.code, values: explanation.values };
  return { id, ...login, reason, location: geoIp.locate(login.place) };
}

export interface HistoryRouteDeps {
  readonly store: Store;
  readonly geoIp?: Locator | undefined;
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
  factor: text,
  reason: text,
  place: text,
  country: v.optional(v.pipe(v.string(), v.regex(/^([A-Z]{2}|none|)$/)), ""),
  policy: text,
  from: time,
  to: time,
};
const LIST = v.object({
  ...FILTER,
  before: v.optional(v.pipe(v.string(), v.regex(/^[0-9a-z]{1,40}$/))),
  sort: v.optional(v.picklist(["started", "-started"]), "-started"),
  limit: v.optional(
    v.pipe(v.string(), v.regex(/^\d{1,3}$/), v.transform(Number), v.minValue(1), v.maxValue(MAX_PAGE_SIZE)),
  ),
});
const EXPORT = v.object({ ...FILTER, format: v.optional(v.picklist(["csv", "json"]), "csv") });

export function createHistoryRoutes(deps: HistoryRouteDeps) {
  const reader = createHistoryReader(deps);
  return new Hono<HttpEnv>()
    .get("/", may("viewer"), queryValues(LIST), async (c) => {
      const { before = null, limit = PAGE, sort, ...asked } = c.req.valid("query");
      const options = { before, limit, isOldestFirst: sort === "started" };
      return c.json(await reader.page(filterOf(asked), options));
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
  "country",
  "asn",
  "policy",
  "token",
] as const;

const FORMATS = exportFormats(COLUMNS, { cellsOf, emptyTail: "\n]\n" });

function cellsOf(item: HistoryItem): string[] {
  const { startedMs, endedMs, user, client, source, place, factor, outcome, reason, target, location } = item;
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
    location?.country ?? "",
    String(location?.asn ?? ""),
    item.policy ?? "",
    item.token ?? "",
  ];
}

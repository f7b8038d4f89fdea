// Finished logins: a page of them, and all that match as a file.

import { Hono } from "hono";
import * as v from "valibot";
import { createHistoryReader, type HistoryFilter, type HistoryItem, type HistoryReader } from "./history.ts";
import type { HttpEnv } from "../hono_env.ts";
import { may } from "../auth/permissions.ts";
import { queryValues } from "../query_values.ts";
import type { Store } from "../../../platform/store.ts";

export interface HistoryRouteDeps {
  readonly store: Store;
}

const PAGE = 50;
const MOST_A_PAGE = 200;
const MOST_EXPORTED = 50_000;
const EXPORT_STEP = 500;

const text = v.optional(v.pipe(v.string(), v.maxLength(256)), "");
const time = v.optional(v.pipe(v.string(), v.regex(/^\d{1,15}$/), v.transform(Number)));
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
    v.pipe(v.string(), v.regex(/^\d{1,3}$/), v.transform(Number), v.minValue(1), v.maxValue(MOST_A_PAGE)),
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
      const { format, ...asked } = c.req.valid("query");
      const { type, encode } = FORMATS[format];
      return c.body(exportStream(reader, { filter: filterOf(asked), encode }), 200, {
        "content-type": type,
        "content-disposition": `attachment; filename="logins.${format}"`,
        "cache-control": "no-store",
      });
    });
}

type Asked = v.InferOutput<v.ObjectSchema<typeof FILTER, undefined>>;

function filterOf({ from, to, ...rest }: Asked): HistoryFilter {
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

/** How the lines of an export are written; `at` counts them from 0. */
interface Encoding {
  readonly head: string;
  readonly line: (item: HistoryItem, at: number) => string;
  readonly tail: string;
}

const FORMATS: Readonly<Record<"csv" | "json", { type: string; encode: Encoding }>> = {
  csv: {
    type: "text/csv; charset=utf-8",
    encode: {
      head: `${COLUMNS.join(",")}\r\n`,
      line: (item) => `${cellsOf(item).map(csvCell).join(",")}\r\n`,
      tail: "",
    },
  },
  json: {
    type: "application/json",
    encode: {
      head: "[",
      line: (item, at) => `${at === 0 ? "" : ","}\n${JSON.stringify(item)}`,
      tail: "\n]\n",
    },
  },
};

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

/** RFC 4180 §2, and a quote before what a spreadsheet would take for a formula. */
export function csvCell(value: string): string {
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Reads on only as fast as the answer is taken. */
function exportStream(
  reader: HistoryReader,
  { filter, encode }: { filter: HistoryFilter; encode: Encoding },
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const utf8 = new TextEncoder();
  let before: string | null = null;
  let written = 0;
  let begun = false;
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const page = await reader.page(filter, { before, limit: EXPORT_STEP });
      const lines = page.items.slice(0, MOST_EXPORTED - written).map((item) => encode.line(item, written++));
      const isOver = page.next === null || written >= MOST_EXPORTED;
      const head = begun ? "" : encode.head;
      begun = true;
      before = page.next;
      const chunk = head + lines.join("") + (isOver ? encode.tail : "");
      controller.enqueue(utf8.encode(chunk));
      if (isOver) controller.close();
    },
  });
}

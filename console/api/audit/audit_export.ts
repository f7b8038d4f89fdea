// The audit as a file, newest first: a table whose cells no spreadsheet calculates (RFC 4180), or JSON.

import type { Store } from "../../../platform/store.ts";
import { type AuditFilter, type AuditItem, auditPage } from "./audit_reader.ts";
import { csvCell } from "../history/history_routes.ts";

/** The records of one export at most; for more, export shorter periods. */
export const MOST_EXPORTED = 50_000;
const READ_AT_ONCE = 500;

const COLUMNS = ["at", "who", "from", "what", "to", "before", "after", "details"] as const;

/** How a file begins, goes on and ends; `at` counts lines from 0. */
interface Encoding {
  readonly type: string;
  readonly head: string;
  readonly line: (item: AuditItem, at: number) => string;
  readonly tail: (count: number) => string;
}

export const AUDIT_FORMATS = {
  csv: {
    type: "text/csv; charset=utf-8",
    head: `${COLUMNS.join(",")}\r\n`,
    line: (item) => `${cellsOf(item).map(csvCell).join(",")}\r\n`,
    tail: () => "",
  },
  json: {
    type: "application/json",
    head: "[",
    line: (item, at) => `${at === 0 ? "" : ","}\n${JSON.stringify(item)}`,
    tail: (count) => count === 0 ? "]\n" : "\n]\n",
  },
} as const satisfies Record<string, Encoding>;

function cellsOf({ atMs, actor, source, action, objects, before, after, details }: AuditItem): string[] {
  const said = Object.entries(details).map(([name, value]) => `${name}: ${value}`).join("; ");
  return [new Date(atMs).toISOString(), actor, source, action, objects.join(" "), before, after, said];
}

/** What the filter lets through, at most {@link MOST_EXPORTED} records, a bounded number of them in memory. */
export async function* auditLines(
  store: Store,
  { filter, format }: { filter: AuditFilter; format: keyof typeof AUDIT_FORMATS },
): AsyncGenerator<string> {
  const { head, line, tail }: Encoding = AUDIT_FORMATS[format];
  let count = 0;
  let before: string | null = null;
  yield head;
  do {
    const page = await auditPage(store, filter, { before, limit: READ_AT_ONCE });
    for (const item of page.items.slice(0, MOST_EXPORTED - count)) yield line(item, count++);
    before = page.next;
  } while (before !== null && count < MOST_EXPORTED);
  yield tail(count);
}

// The log of stored records that this version cannot read. A later version may have written them.

import type { Log } from "./log.ts";
import type { Clock } from "./runtime.ts";

/** A later version may write many such records in a second. */
const QUIET_MS = 60_000;

/** Returns a function that reports a record. Of one table, at most one record a minute is logged, with the number of those since the last one. */
export function createUnreadableLog(
  { log, clock }: { log: Log; clock: Pick<Clock, "nowMs"> },
): (key: Deno.KvKey, fault: unknown) => void {
  const tables = new Map<string, { loggedMs: number; unlogged: number }>();
  return (key, fault) => {
    const [table = "", ...names] = key.map(String);
    const nowMs = clock.nowMs();
    const known = tables.get(table) ?? { loggedMs: -Infinity, unlogged: 0 };
    tables.set(table, known);
    known.unlogged++;
    if (nowMs - known.loggedMs < QUIET_MS) return;
    log.error("a stored record cannot be read and is skipped: a later version may have written it", {
      table,
      record: names.slice(0, 2).join("/"),
      records: known.unlogged,
      fault: fault instanceof Error ? fault.message : String(fault),
    });
    known.loggedMs = nowMs;
    known.unlogged = 0;
  };
}

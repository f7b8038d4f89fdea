// The settings of a running gateway: one Config whose objects keep their identity. Services hold parts of it and read them when they
// use them, so a change applies from the next packet on.

import type { Config } from "./config.ts";
import { isDeepEqual } from "../deep_equal.ts";
import { redactWhenPrinted } from "./redact_settings.ts";

type Table = Record<string, unknown>;

function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function copy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copy);
  if (!isTable(value)) return value;
  return redactWhenPrinted(
    Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, copy(inner)])),
  );
}

/** A copy of `config` that {@link updateLiveConfig} can change. Readers see it as read-only. */
export function createLiveConfig(config: Config): Config {
  return copy(config) as Config;
}

/**
 * Changes `live` to `next`, in place and within one task, so that no reader sees a mixture. Tables keep their identity; lists, and
 * tables that were `null`, are replaced if they change. Nothing else writes to a Config.
 */
export function updateLiveConfig(live: Config, next: Config): void {
  assign(live as unknown as Table, next as unknown as Table);
}

/** Tables that are replaced as a whole: others remember what they computed from them. */
const REPLACED: ReadonlySet<string> = new Set(["anyClient"]);

function assign(live: Table, next: Table): void {
  for (const name of Object.keys(live)) if (!(name in next)) delete live[name];
  for (const [name, value] of Object.entries(next)) {
    const before = live[name];
    if (isTable(before) && isTable(value) && !REPLACED.has(name)) assign(before, value);
    else if (!isDeepEqual(before, value)) live[name] = copy(value);
  }
}

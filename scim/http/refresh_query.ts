// `refresh=true`: the backends are read again before the answer. Who cannot be read is named, for then the answer would not be the latest.

import { withTimeout } from "../../platform/timeout.ts";
import type { Clock } from "../../platform/runtime.ts";
import { ScimRefusal, type ScimRefusalCode } from "./refusals.ts";
import type { Actor, RefreshReport, Target } from "../ports.ts";

/** How long a request waits for a refresh; the refresh itself goes on. */
export const REFRESH_PATIENCE_MS = 120_000;
const RETRY_AFTER_S = "30";
const MAX_NAMED = 5;

/**
 * Reads everything of a target from its backends.
 *
 * @throws ScimRefusal `backend_unreachable`, `backend_failed`; `busy` when it takes too long.
 */
export async function refreshEverything(
  target: Target,
  { actor, clock }: { actor: Actor; clock: Clock },
): Promise<void> {
  const refusal = reportRefusal(await patiently(target.refreshAll(actor), clock));
  if (refusal !== null) throw refusal;
}

/** The refusal for what a refresh could not read; `null` when it read everything. */
export function reportRefusal(report: RefreshReport): ScimRefusal | null {
  // What can be no resource here is missing from no answer.
  const faults = report.faults.filter(({ kind }) => kind !== "left_out");
  if (faults.length === 0) return null;
  const named = faults.slice(0, MAX_NAMED).map(({ backend, detail }) => `"${backend}": ${detail}`).join(" ");
  const more = faults.length > MAX_NAMED ? ` And ${faults.length - MAX_NAMED} more.` : "";
  const code: ScimRefusalCode = faults.some(({ kind }) => kind !== undefined && PERMANENT.has(kind))
    ? "backend_failed"
    : "backend_unreachable";
  return new ScimRefusal(code, {
    detail: `The latest could not be fetched from every backend. ${named}${more}`,
    headers: code === "backend_unreachable" ? { "retry-after": RETRY_AFTER_S } : {},
  });
}

/** What asking again does not help. */
const PERMANENT: ReadonlySet<string> = new Set(["refused", "nonsense", "unsupported", "brake"]);

/** Waits for a refresh, but not for ever. */
export async function patiently<T>(refresh: Promise<T>, clock: Clock): Promise<T> {
  const timed = await withTimeout(refresh, { clock, timeoutMs: REFRESH_PATIENCE_MS });
  if (timed.inTime) return timed.value;
  throw new ScimRefusal("busy", {
    detail:
      "The backends are still being read. Ask again later, or without refresh for what is known so far.",
    headers: { "retry-after": RETRY_AFTER_S },
  });
}

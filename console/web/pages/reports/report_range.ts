// The time range of the reports. It is stored in the address: two times, or a named range that ends now.

import { HOUR_MS } from "../../../../platform/durations.ts";
import type { Models } from "../../app/app_context.ts";

const REPORT_RANGES = {
  "1h": HOUR_MS,
  "6h": 6 * HOUR_MS,
  "24h": 24 * HOUR_MS,
  "7d": 7 * 24 * HOUR_MS,
  "30d": 30 * 24 * HOUR_MS,
  "90d": 90 * 24 * HOUR_MS,
} as const;
type RangeName = keyof typeof REPORT_RANGES;
export const DEFAULT_RANGE: RangeName = "24h";
export const RANGE_NAMES = Object.keys(REPORT_RANGES) as readonly RangeName[];

/** The query of the report calls. A type alias, because the typed client wants an index signature. */
export type ReportQuery = {
  readonly from: string;
  readonly to: string;
  readonly client: string;
  readonly target: string;
  readonly zone: string;
};

/** Whether the address has two times. */
export function hasOwnRange({ router }: Pick<Models, "router">): boolean {
  const [fromMs, toMs] = [Date.parse(router.param("from")), Date.parse(router.param("to"))];
  return !Number.isNaN(fromMs) && !Number.isNaN(toMs);
}

/** The query of the address at a time. */
export function reportQuery({ router }: Pick<Models, "router">, nowMs: number): ReportQuery {
  const filter = {
    client: router.param("client"),
    target: router.param("target"),
    zone: Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC",
  };
  if (hasOwnRange({ router })) {
    const times = { from: Date.parse(router.param("from")), to: Date.parse(router.param("to")) };
    return { from: String(times.from), to: String(times.to), ...filter };
  }
  const name = RANGE_NAMES.find((one) => one === router.param("range")) ?? DEFAULT_RANGE;
  return { from: String(Math.floor(nowMs - REPORT_RANGES[name])), to: String(Math.floor(nowMs)), ...filter };
}

/** Sets the range to two times. */
export function narrowRange(
  { router }: Pick<Models, "router">,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): void {
  router.setParams({
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    range: "",
  });
}

/** The sign-ins of a row in the history. Filters without a value are left out. */
export function historyHref(
  { fromMs, toMs }: { fromMs: number; toMs: number },
  filter: Readonly<Record<string, string>>,
): string {
  const times = { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
  const given = Object.entries({ ...filter, ...times }).filter(([, value]) => value !== "");
  return `/history?${new URLSearchParams(given)}`;
}

// Where the counts for charts are in the store, and for how long.

const HOUR_MS = 3_600_000;

/** Counts by the minute are stored for two days, counts by the hour for 90 days. */
export const CHART_SPANS = {
  minute: { stepMs: 60_000, keptMs: 48 * HOUR_MS },
  hour: { stepMs: HOUR_MS, keptMs: 90 * 24 * HOUR_MS },
} as const;
export type ChartSpan = keyof typeof CHART_SPANS;

/** Every login of the history that ended before `upToMs` is in the stored counts. */
export interface ChartWatermark {
  readonly upToMs: number;
  /** The longest time between the start and the end of a login, when the watermark was written. */
  readonly longestLoginMs: number;
}

/** The counts of one minute or hour by one process. */
export function chartKey(span: ChartSpan, atMs: number, node: string): [string, ChartSpan, number, string] {
  return ["chart", span, atMs, node];
}

/** `null` for anything else. */
export function readWatermark(value: unknown): ChartWatermark | null {
  const { upToMs, longestLoginMs } = (value ?? {}) as Partial<ChartWatermark>;
  return typeof upToMs === "number" && typeof longestLoginMs === "number" ? { upToMs, longestLoginMs } : null;
}

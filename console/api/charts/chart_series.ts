// Series for charts from counts of finished logins: sums, percentiles from duration buckets, and the keys of stored counts. Pure.

import { HOUR_MS } from "../../../platform/durations.ts";
import { MAX_COUNTED_CLIENTS, OTHER_CLIENTS } from "../../../radius/conversation/login_record.ts";
import type { FinishedLoginCounts as GatewayTally } from "../../../radius/ports.ts";

/** Counts of a gateway, with the target of the users. Old records have no target. */
export interface TargetTally extends GatewayTally {
  readonly target?: string;
}

/** The counts of one step of time. */
export interface TimedTallies {
  readonly atMs: number;
  readonly tallies: readonly TargetTally[];
}

/** Series of one length: step i begins at `atMs[i]`. Times to answer are `null` if no user answered. */
export interface ChartSeries {
  readonly stepMs: number;
  readonly atMs: readonly number[];
  readonly outcomes: Readonly<Record<ChartOutcome, readonly number[]>>;
  readonly p50Ms: readonly (number | null)[];
  readonly p95Ms: readonly (number | null)[];
  /** All clients over the whole range, most logins first. */
  readonly clients: readonly ClientFigures[];
  /** All targets, without records that have no target. */
  readonly targets: readonly TargetFigures[];
}

export interface ClientFigures extends Figures {
  readonly client: string;
}

interface TargetFigures extends Figures {
  readonly target: string;
}

export interface Figures {
  readonly total: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
}

export const CHART_OUTCOMES = ["accepted", "rejected", "expired", "cancelled", "superseded"] as const;
export type ChartOutcome = typeof CHART_OUTCOMES[number];

/** A longer range has larger steps. */
const MAX_POINTS = 400;
const MAX_CLIENTS = 100;
/** Deno KV takes 64 KiB in a value. The rest is for the counts of {@link OTHER_CLIENTS}, one row for each target. */
const MAX_OWN_OCTETS = 56_000;

type MutableTally = Pick<TargetTally, "client" | "target"> & {
  outcomes: Record<string, number>;
  times: number[];
  maxMs?: number;
};

/** Adds up the counts of each client and target. */
export function addTallies(tallies: readonly TargetTally[]): TargetTally[] {
  const sums = new Map<string, MutableTally>();
  for (const { client, target, outcomes, times, maxMs } of tallies) {
    const key = `${target ?? ""}\0${client}`;
    const sum: MutableTally = sums.get(key) ??
      { client, outcomes: {}, times: [], ...(target === undefined ? {} : { target }) };
    sums.set(key, sum);
    for (const [outcome, count] of Object.entries(outcomes)) {
      sum.outcomes[outcome] = (sum.outcomes[outcome] ?? 0) + count;
    }
    for (const [bucket, count] of times.entries()) sum.times[bucket] = (sum.times[bucket] ?? 0) + count;
    if (maxMs !== undefined) sum.maxMs = Math.max(sum.maxMs ?? 0, maxMs);
  }
  return [...sums.values()];
}

/**
 * The stored text of one step. The clients with most logins keep their own counts, as many as the store takes; all others are counted
 * as {@link OTHER_CLIENTS}.
 */
export function encodeTallies(tallies: readonly TargetTally[]): string {
  // The store keeps a text with a character beyond Latin-1 in two octets for each character.
  const isWide = tallies.some(({ client, target }) => /[^\0-\xff]/.test(client + (target ?? "")));
  const ranked = tallies.toSorted((a, b) => loginsOf(b) - loginsOf(a));
  let octets = 0;
  const own = ranked.findIndex((tally, at) => {
    octets += (JSON.stringify(tally).length + 1) * (isWide ? 2 : 1);
    return at >= MAX_COUNTED_CLIENTS || octets > MAX_OWN_OCTETS;
  });
  if (own === -1) return JSON.stringify(ranked);
  const others = ranked.slice(own).map((tally) => ({ ...tally, client: OTHER_CLIENTS }));
  return JSON.stringify(addTallies([...ranked.slice(0, own), ...others]));
}

function loginsOf({ outcomes }: TargetTally): number {
  return Object.values(outcomes).reduce((sum, count) => sum + count, 0);
}

/**
 * A percentile in milliseconds, from buckets whose bounds grow by the square root of two, with interpolation inside a bucket. `null`
 * without counts.
 *
 * @param longestMs the longest time; no percentile is longer
 */
export function percentileMs(
  times: readonly number[],
  share: number,
  longestMs: number | undefined = Infinity,
): number | null {
  const total = times.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let left = total * share;
  for (const [bucket, count] of times.entries()) {
    if (count > 0 && left <= count) {
      const low = bucket === 0 ? 0 : 2 ** ((bucket - 1) / 2);
      const high = 2 ** (bucket / 2);
      return Math.min(Math.round(low + (high - low) * (left / count)), longestMs);
    }
    left -= count;
  }
  return Math.min(Math.round(2 ** ((times.length - 1) / 2)), longestMs);
}

/** @param asked.client "": all clients; likewise the target. Steps are joined until there are at most 400. */
export function seriesOf(
  records: readonly TimedTallies[],
  asked: { fromMs: number; toMs: number; stepMs: number; client: string; target?: string },
): ChartSeries {
  const { fromMs, toMs, client, target = "" } = asked;
  const ofClient = (tally: TargetTally) => client === "" || tally.client === client;
  const ofTarget = (tally: TargetTally) => target === "" || tally.target === target;
  const joined = Math.max(1, Math.ceil((toMs - fromMs) / asked.stepMs / MAX_POINTS));
  const stepMs = asked.stepMs * joined;
  const count = Math.max(1, Math.ceil((toMs - fromMs + 1) / stepMs));
  const steps: TargetTally[][] = Array.from({ length: count }, () => []);
  for (const { atMs, tallies } of records) {
    const step = steps[Math.floor((atMs - fromMs) / stepMs)];
    step?.push(...tallies.filter((tally) => ofClient(tally) && ofTarget(tally)));
  }
  const all = records.flatMap(({ tallies }) => tallies);
  const sums = steps.map((tallies) => total(tallies));
  const outcomeSeries = (outcome: ChartOutcome) => sums.map(({ outcomes }) => outcomes[outcome] ?? 0);
  return {
    stepMs,
    atMs: steps.map((_, at) => fromMs + at * stepMs),
    outcomes: {
      accepted: outcomeSeries("accepted"),
      rejected: outcomeSeries("rejected"),
      expired: outcomeSeries("expired"),
      cancelled: outcomeSeries("cancelled"),
      superseded: outcomeSeries("superseded"),
    },
    p50Ms: sums.map(({ times, maxMs }) => percentileMs(times, 0.5, maxMs)),
    p95Ms: sums.map(({ times, maxMs }) => percentileMs(times, 0.95, maxMs)),
    clients: grouped(all.filter(ofTarget), ({ client }) => client)
      .map(({ name, figures }) => ({ client: name, ...figures })),
    targets: grouped(all.filter(ofClient), ({ target }) => target ?? "")
      .filter(({ name }) => name !== "").map(({ name, figures }) => ({ target: name, ...figures })),
  };
}

/** All clients as one. */
function total(tallies: readonly TargetTally[]): TargetTally {
  const [sum] = addTallies(tallies.map(({ target: _target, ...tally }) => ({ ...tally, client: "" })));
  return sum ?? { client: "", outcomes: {}, times: [] };
}

/** The figures of each name, most logins first. */
function grouped(
  tallies: readonly TargetTally[],
  nameOf: (tally: TargetTally) => string,
): { name: string; figures: Figures }[] {
  const sums = addTallies(tallies.map((tally) => ({
    client: nameOf(tally),
    outcomes: tally.outcomes,
    times: tally.times,
    ...(tally.maxMs === undefined ? {} : { maxMs: tally.maxMs }),
  })));
  return sums.map((sum) => ({ name: sum.client, figures: figuresOf(sum) }))
    .sort((a, b) => b.figures.total - a.figures.total).slice(0, MAX_CLIENTS);
}

function figuresOf({ outcomes, times, maxMs }: TargetTally): Figures {
  return {
    total: Object.values(outcomes).reduce((sum, count) => sum + count, 0),
    accepted: outcomes.accepted ?? 0,
    rejected: outcomes.rejected ?? 0,
    p50Ms: percentileMs(times, 0.5, maxMs),
    p95Ms: percentileMs(times, 0.95, maxMs),
  };
}

/** A range up to this long is drawn by the minute. */
const FINE_RANGE_MS = 12 * HOUR_MS;

/** Counts by the minute are stored for two days, counts by the hour for 90 days. */
export const CHART_SPANS = {
  minute: { stepMs: 60_000, keptMs: 48 * HOUR_MS },
  hour: { stepMs: HOUR_MS, keptMs: 90 * 24 * HOUR_MS },
} as const;
export type ChartSpan = keyof typeof CHART_SPANS;

/** Whole minutes or hours that contain a range. */
interface ChartWindow {
  readonly fromMs: number;
  readonly toMs: number;
  readonly span: ChartSpan;
}

/**
 * The window that the counts of a range cover, because they are stored by the minute and by the hour. The history of the same window has the same
 * sign-ins. The window of a window is the same.
 */
export function chartWindow(
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  nowMs: number,
): ChartWindow {
  const firstMs = startOfStep(fromMs, "minute");
  const isFine = startOfStep(toMs, "minute") - firstMs <= FINE_RANGE_MS &&
    firstMs >= nowMs - CHART_SPANS.minute.keptMs;
  const span = isFine ? "minute" : "hour";
  const { stepMs } = CHART_SPANS[span];
  const endMs = Math.ceil(toMs / stepMs) * stepMs - 1;
  return { fromMs: startOfStep(fromMs, span), toMs: toMs >= nowMs ? toMs : Math.min(endMs, nowMs), span };
}

function startOfStep(atMs: number, span: ChartSpan): number {
  const { stepMs } = CHART_SPANS[span];
  return Math.floor(atMs / stepMs) * stepMs;
}

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

// Counts of finished logins as series for charts: pure sums, and percentiles out of buckets of time.

import type { FinishTally as GatewayTally } from "../../../radius/ports.ts";

/** What a gateway counted, with the directory whose users logged in; records from before it was kept have none. */
export interface FinishTally extends GatewayTally {
  readonly target?: string;
}

/** What was counted in one step of time. */
export interface Stamped {
  readonly atMs: number;
  readonly tallies: readonly FinishTally[];
}

/** Series of one length: `atMs[i]` is where step i begins. Times are `null` where nothing ended. */
export interface ChartSeries {
  readonly stepMs: number;
  readonly atMs: readonly number[];
  readonly outcomes: Readonly<Record<ChartOutcome, readonly number[]>>;
  readonly p50Ms: readonly (number | null)[];
  readonly p95Ms: readonly (number | null)[];
  /** Most logins first; over the whole range, whatever client was asked for. */
  readonly clients: readonly ClientFigures[];
  /** The same by target, whatever target was asked for; without those from before the target was kept. */
  readonly targets: readonly TargetFigures[];
}

export interface ClientFigures extends Figures {
  readonly client: string;
}

export interface TargetFigures extends Figures {
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

/** Points of a series at the most; a longer range is drawn in larger steps. */
const MOST_POINTS = 400;
const MOST_CLIENTS = 100;

/** Adds up what is of the same client and target. */
export function addTallies(tallies: readonly FinishTally[]): FinishTally[] {
  const sums = new Map<string, FinishTally & { outcomes: Record<string, number>; times: number[] }>();
  for (const { client, target, outcomes, times } of tallies) {
    const key = `${target ?? ""}\0${client}`;
    const sum = sums.get(key) ??
      { client, outcomes: {}, times: [], ...(target === undefined ? {} : { target }) };
    sums.set(key, sum);
    for (const [outcome, count] of Object.entries(outcomes)) {
      sum.outcomes[outcome] = (sum.outcomes[outcome] ?? 0) + count;
    }
    for (const [bucket, count] of times.entries()) sum.times[bucket] = (sum.times[bucket] ?? 0) + count;
  }
  return [...sums.values()];
}

/**
 * The time under which a share of all stayed, in milliseconds, from buckets whose bounds grow by the square root of two; within a
 * bucket it is taken as even. `null` when nothing was counted.
 */
export function percentileMs(times: readonly number[], share: number): number | null {
  const total = times.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let left = total * share;
  for (const [bucket, count] of times.entries()) {
    if (count > 0 && left <= count) {
      const low = bucket === 0 ? 0 : 2 ** ((bucket - 1) / 2);
      const high = 2 ** (bucket / 2);
      return Math.round(low + (high - low) * (left / count));
    }
    left -= count;
  }
  return Math.round(2 ** ((times.length - 1) / 2));
}

/** @param asked.client "": all of them, as with the target. Steps are joined until there are at most 400. */
export function seriesOf(
  records: readonly Stamped[],
  asked: { fromMs: number; toMs: number; stepMs: number; client: string; target?: string },
): ChartSeries {
  const { fromMs, toMs, client, target = "" } = asked;
  const ofClient = (tally: FinishTally) => client === "" || tally.client === client;
  const ofTarget = (tally: FinishTally) => target === "" || tally.target === target;
  const joined = Math.max(1, Math.ceil((toMs - fromMs) / asked.stepMs / MOST_POINTS));
  const stepMs = asked.stepMs * joined;
  const count = Math.max(1, Math.ceil((toMs - fromMs + 1) / stepMs));
  const steps: FinishTally[][] = Array.from({ length: count }, () => []);
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
    p50Ms: sums.map(({ times }) => percentileMs(times, 0.5)),
    p95Ms: sums.map(({ times }) => percentileMs(times, 0.95)),
    clients: grouped(all.filter(ofTarget), ({ client }) => client)
      .map(({ name, figures }) => ({ client: name, ...figures })),
    targets: grouped(all.filter(ofClient), ({ target }) => target ?? "")
      .filter(({ name }) => name !== "").map(({ name, figures }) => ({ target: name, ...figures })),
  };
}

/** All clients as one. */
function total(tallies: readonly FinishTally[]): FinishTally {
  const [sum] = addTallies(tallies.map(({ outcomes, times }) => ({ client: "", outcomes, times })));
  return sum ?? { client: "", outcomes: {}, times: [] };
}

/** The figures of each name, most logins first. */
function grouped(
  tallies: readonly FinishTally[],
  nameOf: (tally: FinishTally) => string,
): { name: string; figures: Figures }[] {
  const sums = addTallies(tallies.map((tally) => ({
    client: nameOf(tally),
    outcomes: tally.outcomes,
    times: tally.times,
  })));
  return sums.map((sum) => ({ name: sum.client, figures: figuresOf(sum) }))
    .sort((a, b) => b.figures.total - a.figures.total).slice(0, MOST_CLIENTS);
}

function figuresOf({ outcomes, times }: FinishTally): Figures {
  return {
    total: Object.values(outcomes).reduce((sum, count) => sum + count, 0),
    accepted: outcomes.accepted ?? 0,
    rejected: outcomes.rejected ?? 0,
    p50Ms: percentileMs(times, 0.5),
    p95Ms: percentileMs(times, 0.95),
  };
}

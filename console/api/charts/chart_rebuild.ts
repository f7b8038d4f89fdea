// Rebuilds chart counts from the history after a start, because the last process may have ended before it wrote its counts.

import {
  answeredAfterMs,
  bucketOf,
  decodeLoginRecord,
  historyKey,
  historyKeyAt,
  type LoginRecord,
  MAX_COUNTED_CLIENTS,
  OTHER_CLIENTS,
  TIME_BUCKETS,
} from "../../../radius/conversation/login_record.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import { CHART_SPANS, chartKey, type ChartSpan, type ChartWatermark, encodeTallies } from "./chart_series.ts";

interface RebuildDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** The node of the running process, whose counts stay. */
  readonly node: string;
  /** The running process counts every login that ends from this time on; the rebuild counts the earlier ones. */
  readonly untilMs: number;
  /** The longest time between the start and the end of a login. */
  readonly longestLoginMs: number;
}

/** The node of rebuilt counts. */
const HISTORY_NODE = "history";
const HOUR_MS = CHART_SPANS.hour.stepMs;
const LAST_KEY = "\u{10ffff}";
/** Keys and start times of logins that began at the same moment may differ in their order by less than this. */
const ORDER_SLACK_MS = 60_000;
/** Deno KV takes 1,000 mutations and 800 KiB in one atomic operation. */
const MAX_MUTATIONS = 200;
const MAX_COMMIT_OCTETS = 300_000;

/** Counts by the start of their minute or hour. */
type Counts = Map<
  number,
  Map<
    string,
    { client: string; target?: string; outcomes: Record<string, number>; times: number[]; maxMs: number }
  >
>;

/**
 * Counts every login of the history that ended after `watermark.upToMs` and replaces the stored counts of those hours. Each finished hour
 * moves the watermark, so that an interrupted rebuild continues there.
 *
 * @returns the watermark to which the counts are complete.
 */
export async function rebuildCharts(
  deps: RebuildDeps,
  { watermark, isStopped }: { watermark: ChartWatermark | null; isStopped: () => boolean },
): Promise<ChartWatermark | null> {
  const { store, untilMs } = deps;
  const oldestMs = floor(untilMs - CHART_SPANS.hour.keptMs, HOUR_MS) + HOUR_MS;
  let fromMs = Math.max(oldestMs, floor(watermark?.upToMs ?? 0, HOUR_MS));
  const longestLoginMs = Math.max(deps.longestLoginMs, watermark?.longestLoginMs ?? 0);
  const counts: Record<ChartSpan, Counts> = { minute: new Map(), hour: new Map() };
  const finishHour = async (upToMs: number): Promise<void> => {
    await writeHour(deps, { hourMs: fromMs, counts });
    fromMs += HOUR_MS;
    watermark = { upToMs: Math.min(upToMs, fromMs), longestLoginMs: deps.longestLoginMs };
    await store.commit({ mutations: [watermarkMutation(watermark)] });
  };

  const start = historyKeyAt(fromMs - longestLoginMs - ORDER_SLACK_MS);
  fromMs = Math.max(fromMs, floor(Math.min(await firstStoredMs(deps, { start, fromMs }), untilMs), HOUR_MS));
  const history = { start: historyKey(start), end: historyKey(LAST_KEY) };
  for await (const { value } of store.range<unknown>(history)) {
    if (isStopped()) return watermark;
    const login = decodeLoginRecord(value);
    if (login === null) continue;
    // Keys are in the order of the start: no later record ended in an hour that is over here.
    while (login.startedMs >= fromMs + HOUR_MS + ORDER_SLACK_MS && fromMs + HOUR_MS <= untilMs) {
      await finishHour(untilMs);
    }
    if (login.endedMs >= fromMs && login.endedMs < untilMs) count(counts, login, untilMs);
  }
  while (fromMs < untilMs) {
    if (isStopped()) return watermark;
    await finishHour(untilMs);
  }
  return watermark;
}

/** When the first login of the history began, or the first stored count, whichever is earlier; `Infinity` without both. */
async function firstStoredMs(
  { store }: RebuildDeps,
  { start, fromMs }: { start: string; fromMs: number },
): Promise<number> {
  let firstMs = Infinity;
  const history = { start: historyKey(start), end: historyKey(LAST_KEY) };
  for await (const { value } of store.range<unknown>(history, { limit: 1 })) {
    firstMs = decodeLoginRecord(value)?.startedMs ?? fromMs;
  }
  for (const span of ["minute", "hour"] as const) {
    const counts = { start: ["chart", span, fromMs], end: ["chart", span, Number.MAX_SAFE_INTEGER] };
    for await (const { key } of store.range<unknown>(counts, { limit: 1 })) {
      firstMs = Math.min(firstMs, Number(key[2]));
    }
  }
  return firstMs;
}

/** The change that stores the watermark. */
export function watermarkMutation(watermark: ChartWatermark): Mutation {
  return { type: "set", key: ["chart_watermark"], value: watermark };
}

function floor(atMs: number, stepMs: number): number {
  return Math.floor(atMs / stepMs) * stepMs;
}

function count(counts: Record<ChartSpan, Counts>, login: LoginRecord, untilMs: number): void {
  countIn(counts.hour, floor(login.endedMs, HOUR_MS), login);
  const { stepMs, keptMs } = CHART_SPANS.minute;
  if (login.endedMs > untilMs - keptMs) countIn(counts.minute, floor(login.endedMs, stepMs), login);
}

function countIn(
  counts: Counts,
  atMs: number,
  login: LoginRecord,
) {
  const { client, target, outcome } = login;
  const step = counts.get(atMs) ?? new Map();
  counts.set(atMs, step);
  const isKnown = step.has(`${target ?? ""}\0${client}`);
  const name = !isKnown && step.size >= MAX_COUNTED_CLIENTS ? OTHER_CLIENTS : client;
  const key = `${target ?? ""}\0${name}`;
  const tally = step.get(key) ?? {
    client: name,
    ...(target === undefined ? {} : { target }),
    outcomes: {},
    times: new Array<number>(TIME_BUCKETS).fill(0),
    maxMs: 0,
  };
  step.set(key, tally);
  tally.outcomes[outcome] = (tally.outcomes[outcome] ?? 0) + 1;
  const tookMs = answeredAfterMs(login);
  if (tookMs === null) return;
  tally.maxMs = Math.max(tally.maxMs, tookMs);
  const bucket = bucketOf(tookMs);
  tally.times[bucket] = (tally.times[bucket] ?? 0) + 1;
}

/** Replaces the stored counts of one hour and of its minutes, except those of the running process. */
async function writeHour(
  { store, clock, node }: RebuildDeps,
  { hourMs, counts }: { hourMs: number; counts: Record<ChartSpan, Counts> },
): Promise<void> {
  let mutations: Mutation[] = [];
  let sizeOctets = 0;
  const write = async (): Promise<void> => {
    if (mutations.length > 0) await store.commit({ mutations, sizeOctets });
    mutations = [];
    sizeOctets = 0;
  };
  for (const span of ["minute", "hour"] as const) {
    const steps = counts[span];
    const range = { start: ["chart", span, hourMs], end: ["chart", span, hourMs + HOUR_MS] };
    for await (const { key } of store.range<unknown>(range)) {
      const isReplaced = key[3] === HISTORY_NODE && steps.has(Number(key[2]));
      if (key[3] !== node && !isReplaced) mutations.push({ type: "delete", key });
      if (mutations.length >= MAX_MUTATIONS) await write();
    }
    for (const [atMs, tallies] of steps) {
      if (atMs < hourMs || atMs >= hourMs + HOUR_MS) continue;
      steps.delete(atMs);
      const value = encodeTallies([...tallies.values()]);
      const expireInMs = atMs + CHART_SPANS[span].keptMs - clock.nowMs();
      if (expireInMs <= 0) continue;
      mutations.push({ type: "set", key: chartKey(span, atMs, HISTORY_NODE), value, expireInMs });
      sizeOctets += value.length;
      if (mutations.length >= MAX_MUTATIONS || sizeOctets >= MAX_COMMIT_OCTETS) await write();
    }
  }
  await write();
}

// How logins end and how long they take, minute by minute and hour by hour: gathered from the gateway's counts, kept in the store for a bounded
// time, and read back as a series. One process writes its own records; several are added up when they are read.

import type { Log } from "../../../log.ts";
import type { GatewayWatch } from "../../../radius/doing/ports.ts";
import { type Clock, type Random, toHex } from "../../../runtime.ts";
import type { Mutation, Store } from "../../../store.ts";
import { addTallies, type ChartSeries, type FinishTally, seriesOf, type Stamped } from "./chart_series.ts";

export interface ChartStore {
  /** Writes what was counted since the last time. Rejects when the store fails; the next time writes it too. */
  flush(): Promise<void>;
  /** "": every client, every target. */
  read(asked: { fromMs: number; toMs: number; client: string; target?: string }): Promise<ChartSeries>;
  /** Begins to write each half minute. */
  start(): void;
  /** Writes what is left; what fails then is logged. */
  stop(): void;
}

export interface ChartStoreDeps {
  readonly watch: Pick<GatewayWatch, "takeFinished">;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The directory whose users log in here; absent where the console runs without one. */
  readonly target?: string;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** The spans: a fine one that is kept for two days, a coarse one for 90. */
export const CHART_SPANS = {
  minute: { stepMs: MINUTE_MS, keptMs: 48 * HOUR_MS },
  hour: { stepMs: HOUR_MS, keptMs: 90 * 24 * HOUR_MS },
} as const;
type Span = keyof typeof CHART_SPANS;
const FLUSH_MS = 30_000;
/** A range up to this long is drawn by the minute. */
const FINE_RANGE_MS = 12 * HOUR_MS;
/** Records that one reading looks at. */
const MOST_READ = 20_000;

export function createChartStore({ watch, store, clock, random, log, target }: ChartStoreDeps): ChartStore {
  const node = toHex(random.bytes(4));
  const open: Record<Span, { atMs: number; tallies: FinishTally[] }> = {
    minute: { atMs: 0, tallies: [] },
    hour: { atMs: 0, tallies: [] },
  };
  let stopTimer = () => {};

  /** The change that writes the present minute or hour anew, with what was just counted. */
  const grow = (span: Span, counted: readonly FinishTally[]): Mutation => {
    const { stepMs, keptMs } = CHART_SPANS[span];
    const atMs = Math.floor(clock.nowMs() / stepMs) * stepMs;
    const before = open[span].atMs === atMs ? open[span].tallies : [];
    open[span] = { atMs, tallies: addTallies([...before, ...counted]) };
    return {
      type: "set",
      key: ["chart", span, atMs, node],
      value: JSON.stringify(open[span].tallies),
      expireInMs: keptMs,
    };
  };
  const flush = async (): Promise<void> => {
    const taken = watch.takeFinished();
    const counted = target === undefined ? taken : taken.map((tally) => ({ ...tally, target }));
    if (counted.length === 0) return;
    await store.commit({ mutations: [grow("minute", counted), grow("hour", counted)] });
  };
  const flushLogged = (): void => {
    flush().catch((fault: unknown) =>
      log.error("the counts for charts could not be written", { fault: String(fault) })
    );
  };
  const tick = (): void => {
    flushLogged();
    stopTimer = clock.after(FLUSH_MS, tick);
  };

  return {
    flush,
    async read({ fromMs, toMs, client, target: asked = "" }) {
      await flush();
      const isFine = toMs - fromMs <= FINE_RANGE_MS && fromMs >= clock.nowMs() - CHART_SPANS.minute.keptMs;
      const span: Span = isFine ? "minute" : "hour";
      const { stepMs } = CHART_SPANS[span];
      const start = Math.floor(fromMs / stepMs) * stepMs;
      const range = { start: ["chart", span, start], end: ["chart", span, toMs + 1] };
      const records: Stamped[] = [];
      for await (const { key, value } of store.range<unknown>(range, { limit: MOST_READ })) {
        const tallies = readTallies(value);
        if (tallies !== null) records.push({ atMs: Number(key[2]), tallies });
      }
      return seriesOf(records, { fromMs: start, toMs, stepMs, client, target: asked });
    },
    start() {
      stopTimer = clock.after(FLUSH_MS, tick);
    },
    stop() {
      stopTimer();
      flushLogged();
    },
  };
}

function readTallies(value: unknown): FinishTally[] | null {
  if (typeof value !== "string") return null;
  try {
    const list: unknown = JSON.parse(value);
    return Array.isArray(list) ? list as FinishTally[] : null;
  } catch (_notOurs) {
    return null;
  }
}

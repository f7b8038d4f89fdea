// How logins end and how long they take, minute by minute and hour by hour: gathered from the gateway's counts, stored for a bounded time,
// and read back as a series. One process writes its own records; several are added up when they are read. After a start, what the last
// process counted and did not write is rebuilt from the history.

import type { Log } from "../../../platform/log.ts";
import type { GatewayWatch } from "../../../radius/ports.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import { CHART_SPANS, chartKey, type ChartSpan, type ChartWatermark, readWatermark } from "./chart_keys.ts";
import { rebuildCharts, watermarkMutation } from "./chart_rebuild.ts";
import { addTallies, type ChartSeries, type FinishTally, seriesOf, type Stamped } from "./chart_series.ts";

export interface ChartStore {
  /** Writes what was counted since the last time. Rejects when the store fails; the next time writes it too. */
  flush(): Promise<void>;
  /** "": every client, every target. */
  read(asked: { fromMs: number; toMs: number; client: string; target?: string }): Promise<ChartSeries>;
  /** Rebuilds the counts from the history, then writes each half minute. */
  start(): void;
  /** Writes what is left; what fails then is logged. */
  stop(): void;
}

export interface ChartStoreDeps {
  readonly watch: Pick<GatewayWatch, "takeFinished" | "countsSinceMs">;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The directory whose users log in here; absent where the console runs without one. */
  readonly target?: string | undefined;
  /** The longest time between the start and the end of a login. */
  readonly longestLoginMs?: number | undefined;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const FLUSH_MS = 30_000;
/** A range up to this long is drawn by the minute. */
const FINE_RANGE_MS = 12 * HOUR_MS;
/** Records that one reading looks at. */
const MOST_READ = 20_000;
/** The maximum of `radius.conversation_ttl_s`. */
const LONGEST_LOGIN_MS = HOUR_MS;
/** A login is counted a moment after its commit; older ones are counted for sure. */
const UNCOUNTED_MS = 2 * MINUTE_MS;
/** A reader waits so long for the rebuild, then gets what is there. */
const REBUILD_WAIT_MS = 3000;
const REBUILD_RETRY_MS = 10_000;
/** Steps of one commit. */
const MAX_STEPS = 50;

/** Counts of one minute or hour by this process. */
interface OpenStep {
  tallies: FinishTally[];
  isStored: boolean;
}

export function createChartStore(deps: ChartStoreDeps): ChartStore {
  const { watch, store, clock, random, log, target, longestLoginMs = LONGEST_LOGIN_MS } = deps;
  const node = random.bytes(4).toHex();
  const open: Record<ChartSpan, Map<number, OpenStep>> = { minute: new Map(), hour: new Map() };
  let stopTimer = () => {};
  let isStopped = false;
  let rebuilding: Promise<void> | null = null;
  let isComplete = false;

  const note = (tally: FinishTally): void => {
    for (const span of ["minute", "hour"] as const) {
      const { stepMs } = CHART_SPANS[span];
      const atMs = Math.floor((tally.minuteMs ?? clock.nowMs()) / stepMs) * stepMs;
      const step = open[span].get(atMs) ?? { tallies: [], isStored: false };
      open[span].set(atMs, step);
      step.tallies = addTallies([...step.tallies, tally]);
      step.isStored = false;
    }
  };
  const flush = async (): Promise<void> => {
    const nowMs = clock.nowMs();
    for (const { minuteMs, ...tally } of watch.takeFinished()) {
      note({
        ...tally,
        ...(target === undefined ? {} : { target }),
        ...(minuteMs === undefined ? {} : { minuteMs }),
      });
    }
    const unstored = (["minute", "hour"] as const).flatMap((span) =>
      [...open[span]].flatMap(([atMs, step]) => step.isStored ? [] : [{ span, atMs, step }])
    );
    for (let at = 0; at < unstored.length; at += MAX_STEPS) {
      await write(unstored.slice(at, at + MAX_STEPS));
    }
    if (isComplete && unstored.length > 0) {
      const watermark: ChartWatermark = { upToMs: nowMs - UNCOUNTED_MS, longestLoginMs };
      await store.commit({ mutations: [watermarkMutation(watermark)] });
    }
    for (const span of ["minute", "hour"] as const) {
      // A login is noted soon after its end: an older step gets no further counts.
      const endedMs = nowMs - UNCOUNTED_MS - CHART_SPANS[span].stepMs;
      for (const [atMs, { isStored }] of open[span]) if (isStored && atMs < endedMs) open[span].delete(atMs);
    }
  };
  const write = async (
    steps: readonly { span: ChartSpan; atMs: number; step: OpenStep }[],
  ): Promise<void> => {
    let sizeOctets = 0;
    const mutations = steps.map(({ span, atMs, step }): Mutation => {
      const value = JSON.stringify(step.tallies);
      sizeOctets += value.length;
      step.isStored = true;
      return { type: "set", key: chartKey(span, atMs, node), value, expireInMs: CHART_SPANS[span].keptMs };
    });
    await store.commit({ mutations, sizeOctets }).catch((fault: unknown) => {
      for (const { step } of steps) step.isStored = false;
      throw fault;
    });
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
  const rebuild = async (): Promise<void> => {
    const { value } = await store.get<unknown>(["chart_watermark"]);
    const untilMs = watch.countsSinceMs;
    const watermark = await rebuildCharts(
      { store, clock, node, untilMs, longestLoginMs },
      { watermark: readWatermark(value), isStopped: () => isStopped },
    );
    isComplete = (watermark?.upToMs ?? 0) >= untilMs;
  };
  const rebuildLogged = (): Promise<void> =>
    rebuild().catch((fault: unknown) => {
      log.error("the counts for charts could not be rebuilt from the history", { fault: String(fault) });
      if (!isStopped) clock.after(REBUILD_RETRY_MS, () => rebuilding = rebuildLogged());
    });

  return {
    flush,
    async read({ fromMs, toMs, client, target: asked = "" }) {
      if (rebuilding !== null && !isComplete) await atMost(rebuilding, { clock, waitMs: REBUILD_WAIT_MS });
      await flush();
      const isFine = toMs - fromMs <= FINE_RANGE_MS && fromMs >= clock.nowMs() - CHART_SPANS.minute.keptMs;
      const span: ChartSpan = isFine ? "minute" : "hour";
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
      rebuilding = rebuildLogged();
      stopTimer = clock.after(FLUSH_MS, tick);
    },
    stop() {
      isStopped = true;
      stopTimer();
      flushLogged();
    },
  };
}

/** Waits for a promise that never rejects, but only for a time. */
function atMost(promise: Promise<void>, { clock, waitMs }: { clock: Clock; waitMs: number }): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(waitMs, resolve);
    void promise.then(() => {
      cancel();
      resolve();
    });
  });
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

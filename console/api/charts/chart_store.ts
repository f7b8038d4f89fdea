// Chart data: outcomes and durations of logins by the minute and by the hour. Each process stores its own counts, which are added
// up when they are read. Counts that a process did not write before it ended are rebuilt from the history.

import type { Cluster } from "../../../platform/cluster/cluster.ts";
import { MINUTE_MS } from "../../../platform/durations.ts";
import type { Log } from "../../../platform/log.ts";
import { LONGEST_LOGIN_MS } from "../../../radius/conversation/login_record.ts";
import type { GatewayMonitor } from "../../../radius/ports.ts";
import { type Clock, type Random, withTimeout } from "../../../platform/runtime.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import type { WriteLease } from "../../../platform/cluster/lease.ts";
import {
  addTallies,
  CHART_SPANS,
  chartKey,
  type ChartSeries,
  type ChartSpan,
  type ChartWatermark,
  chartWindow,
  encodeTallies,
  readWatermark,
  seriesOf,
  type TargetTally,
  type TimedTallies,
} from "./chart_series.ts";
import {
  type ChartFilter,
  type HoursOfWeek,
  hoursOfWeek,
  type RangeTotals,
  totalsOf,
} from "./chart_summary.ts";
import { rebuildCharts, watermarkMutation } from "./chart_rebuild.ts";

interface ChartStoreDeps {
  readonly watch: Pick<GatewayMonitor, "takeFinishedCounts" | "countsSinceMs">;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Absent: no other node can use the store. */
  readonly cluster?: Pick<Cluster, "isShared" | "list" | "openLease"> | undefined;
  /** The directory whose users log in now; absent where the console runs without one. */
  readonly target?: string | (() => string | undefined) | undefined;
  /** The longest time between the start and the end of a login. */
  readonly longestLoginMs?: number | undefined;
}

const FLUSH_MS = 5000;
/** Of a node that ended. */
const TICKS_PER_RECOUNT = 6;
const MAX_READ = 20_000;
/** A login is counted soon after its commit, so older ones are complete. */
const UNCOUNTED_MS = 2 * MINUTE_MS;
/** A reader waits this long for the rebuild, then gets the stored counts. */
const REBUILD_WAIT_MS = 3000;
const REBUILD_RETRY_MS = 10_000;
/** Steps of one commit. */
const MAX_STEPS = 50;

/** Counts of one minute or hour by this process. */
interface OpenStep {
  tallies: TargetTally[];
  isStored: boolean;
}

const SPANS = ["minute", "hour"] as const;

/** The series of a range, with its sums. */
export interface ChartAnswer extends ChartSeries {
  readonly totals: RangeTotals;
  /** The totals of the same time before; `null` if the counts do not go back so far. */
  readonly previous: RangeTotals | null;
  readonly hours: HoursOfWeek;
  /** There are more counts than one request reads: those at the beginning of the range are missing. */
  readonly isCut: boolean;
}

export class ChartStore {
  readonly #deps: ChartStoreDeps;
  readonly #node: string;
  readonly #longestLoginMs: number;
  /** `null`: no other node can use the store. */
  readonly #nodes: ChartNodes | null;
  readonly #open: Record<ChartSpan, Map<number, OpenStep>> = { minute: new Map(), hour: new Map() };
  #stopTimer = () => {};
  #ticks = 0;
  #isStopped = false;
  #rebuilding: Promise<void> | null = null;
  #isComplete = false;

  constructor(deps: ChartStoreDeps) {
    this.#deps = deps;
    this.#node = deps.random.bytes(4).toHex();
    const longestLoginMs = this.#longestLoginMs = deps.longestLoginMs ?? LONGEST_LOGIN_MS;
    const { cluster } = deps;
    const shared = { ...deps, longestLoginMs, uncountedMs: UNCOUNTED_MS, isStopped: () => this.#isStopped };
    this.#nodes = cluster?.isShared === true ? new ChartNodes({ ...shared, cluster }) : null;
  }

  /** Rebuilds the counts from the history, then writes every five seconds. */
  start(): void {
    this.#rebuilding = this.#rebuildLogged();
    this.#stopTimer = this.#deps.clock.after(FLUSH_MS, () => this.#tick());
  }

  /** Writes the remaining counts. A failure is logged. */
  stop(): void {
    this.#isStopped = true;
    this.#stopTimer();
    this.#flushLogged();
  }

  /** Writes the new counts. Rejects if the store fails; the next call writes them too. */
  async flush(): Promise<void> {
    const { watch, store, clock } = this.#deps;
    const { target: given } = this.#deps;
    const target = typeof given === "function" ? given() : given;
    const nowMs = clock.nowMs();
    for (const { minuteMs, ...tally } of watch.takeFinishedCounts()) {
      this.#add({ ...tally, ...(target === undefined ? {} : { target }) }, minuteMs ?? nowMs);
    }
    const unstored = SPANS.flatMap((span) =>
      [...this.#open[span]].flatMap(([atMs, step]) => step.isStored ? [] : [{ span, atMs, step }])
    );
    for (let at = 0; at < unstored.length; at += MAX_STEPS) {
      await this.#write(unstored.slice(at, at + MAX_STEPS));
    }
    const upToMs = nowMs - UNCOUNTED_MS;
    if (this.#nodes !== null) {
      await store.commit({ mutations: [this.#nodes.flushed(upToMs)] });
    } else if (this.#isComplete && unstored.length > 0) {
      const watermark = { upToMs, longestLoginMs: this.#longestLoginMs };
      await store.commit({ mutations: [watermarkMutation(watermark)] });
    }
    for (const span of SPANS) {
      // A login is counted soon after its end: an older step gets no further counts.
      const endedMs = nowMs - UNCOUNTED_MS - CHART_SPANS[span].stepMs;
      const steps = this.#open[span];
      for (const [atMs, { isStored }] of steps) if (isStored && atMs < endedMs) steps.delete(atMs);
    }
  }

  /** The counts of the window of a range. @param query.client "": every client; likewise the target. */
  async read(
    { fromMs, toMs, client, target = "", zone = "UTC" }: {
      fromMs: number;
      toMs: number;
      client: string;
      target?: string;
      zone?: string;
    },
  ): Promise<ChartAnswer> {
    const { clock } = this.#deps;
    if (this.#rebuilding !== null && !this.#isComplete) {
      await withTimeout(this.#rebuilding, { clock, timeoutMs: REBUILD_WAIT_MS });
    }
    await this.flush();
    const window = chartWindow({ fromMs, toMs }, clock.nowMs());
    const { span, fromMs: start } = window;
    const { stepMs } = CHART_SPANS[span];
    const filter = { client, target };
    const { records, isCut } = await this.#records(span, start, window.toMs + 1);
    return {
      ...seriesOf(records, { fromMs: start, toMs: window.toMs, stepMs, ...filter }),
      hours: hoursOfWeek(records, { ...filter, zone }),
      totals: totalsOf(records, filter),
      previous: await this.#previous(filter, { fromMs: start, lengthMs: window.toMs - start }),
      isCut,
    };
  }

  /** The totals of the time before, if the counts go back so far. */
  async #previous(
    filter: ChartFilter,
    { fromMs, lengthMs }: { fromMs: number; lengthMs: number },
  ): Promise<RangeTotals | null> {
    const nowMs = this.#deps.clock.nowMs();
    const startMs = fromMs - lengthMs;
    const has = (span: ChartSpan) => startMs >= nowMs - CHART_SPANS[span].keptMs;
    if (!has("hour")) return null;
    const { span } = chartWindow({ fromMs: startMs, toMs: fromMs - 1 }, nowMs);
    const { records, isCut } = await this.#records(span, startMs, fromMs);
    return isCut ? null : totalsOf(records, filter);
  }

  /** The stored counts from one time to before another. `isCut`: there are more than one request reads. */
  async #records(
    span: ChartSpan,
    fromMs: number,
    endMs: number,
  ): Promise<{ records: TimedTallies[]; isCut: boolean }> {
    const range = { start: ["chart", span, fromMs], end: ["chart", span, endMs] };
    const records: TimedTallies[] = [];
    let read = 0;
    // Newest first: the limit cuts off the oldest.
    const entries = this.#deps.store.range<unknown>(range, { limit: MAX_READ, reverse: true });
    for await (const { key, value } of entries) {
      read++;
      const tallies = readTallies(value);
      if (tallies !== null) records.push({ atMs: Number(key[2]), tallies });
    }
    return { records: records.reverse(), isCut: read >= MAX_READ };
  }

  #add(tally: TargetTally, endedMs: number): void {
    for (const span of SPANS) {
      const { stepMs } = CHART_SPANS[span];
      const atMs = Math.floor(endedMs / stepMs) * stepMs;
      const step = this.#open[span].get(atMs) ?? { tallies: [], isStored: false };
      // The same object: a flush that waits for the store must write the counts of now.
      step.tallies = addTallies([...step.tallies, tally]);
      step.isStored = false;
      this.#open[span].set(atMs, step);
    }
  }

  async #write(steps: readonly { span: ChartSpan; atMs: number; step: OpenStep }[]): Promise<void> {
    let sizeOctets = 0;
    const mutations = steps.map(({ span, atMs, step }): Mutation => {
      const value = encodeTallies(step.tallies);
      sizeOctets += value.length;
      step.isStored = true;
      const key = chartKey(span, atMs, this.#node);
      return { type: "set", key, value, expireInMs: CHART_SPANS[span].keptMs };
    });
    await this.#deps.store.commit({ mutations, sizeOctets }).catch((fault: unknown) => {
      for (const { step } of steps) step.isStored = false;
      throw fault;
    });
  }

  #tick(): void {
    this.#flushLogged();
    this.#ticks++;
    if (this.#nodes !== null && this.#isComplete && this.#ticks % TICKS_PER_RECOUNT === 0) {
      void this.#logged(this.#nodes.recount());
    }
    this.#stopTimer = this.#deps.clock.after(FLUSH_MS, () => this.#tick());
  }

  #flushLogged(): void {
    void this.#logged(this.flush());
  }

  #logged(writing: Promise<void>): Promise<void> {
    return writing.catch((fault: unknown) =>
      this.#deps.log.error("the counts for charts could not be written", { fault: String(fault) })
    );
  }

  async #rebuild(): Promise<void> {
    const { watch, store, clock } = this.#deps;
    if (this.#nodes !== null) {
      await this.#nodes.start(watch.countsSinceMs);
      this.#isComplete = true;
      return;
    }
    const { value } = await store.get<unknown>(["chart_watermark"]);
    const untilMs = watch.countsSinceMs;
    const watermark = await rebuildCharts(
      { store, clock, node: this.#node, untilMs, longestLoginMs: this.#longestLoginMs },
      { watermark: readWatermark(value), isStopped: () => this.#isStopped },
    );
    this.#isComplete = (watermark?.upToMs ?? 0) >= untilMs;
  }

  #rebuildLogged(): Promise<void> {
    const { clock, log } = this.#deps;
    return this.#rebuild().catch((fault: unknown) => {
      // Its store is closed, and the next start rebuilds.
      if (this.#isStopped) return;
      log.error("the counts for charts could not be rebuilt from the history", { fault: String(fault) });
      clock.after(REBUILD_RETRY_MS, () => void (this.#rebuilding = this.#rebuildLogged()));
    });
  }
}

function readTallies(value: unknown): TargetTally[] | null {
  if (typeof value !== "string") return null;
  try {
    const list: unknown = JSON.parse(value);
    return Array.isArray(list) ? list as TargetTally[] : null;
  } catch (_notOurs) {
    return null;
  }
}

// Chart counts of several nodes. Each node stores its own counts, and notes up to when they are complete. One node at a time (a lease)
// counts the hours again in which a node ended before it stored its counts.

interface ChartNodesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly cluster: Pick<Cluster, "list" | "openLease">;
  readonly longestLoginMs: number;
  /** A login is counted at most this long after its end. */
  readonly uncountedMs: number;
  readonly isStopped: () => boolean;
}

/** The value under ["chart_flushed", node]: every login that the node finished before `upToMs` is in the stored counts. */
interface FlushMark extends ChartWatermark {
  /** When another node first saw that this node had ended. */
  readonly endedMs?: number;
}

const MARKS: Deno.KvKey = ["chart_flushed"];
/** Stands for the process that used the store alone before. */
const ALONE = "alone";
const HOUR_MS = CHART_SPANS.hour.stepMs;

class ChartNodes {
  readonly #deps: ChartNodesDeps;
  readonly #lease: ReturnType<Cluster["openLease"]>;

  constructor(deps: ChartNodesDeps) {
    this.#deps = deps;
    this.#lease = deps.cluster.openLease("charts", { onAcquired: () => Promise.resolve() });
  }

  /** Announces this node, and counts again what nodes lost that ended. */
  async start(countsSinceMs: number): Promise<void> {
    const { store, longestLoginMs } = this.#deps;
    const isFirst = (await this.#marks()).size === 0;
    const watermark = await this.#watermark() ?? { upToMs: 0, longestLoginMs };
    const alone = isFirst ? [this.#mark(ALONE, { ...watermark, endedMs: countsSinceMs })] : [];
    await store.commit({ mutations: [...alone, this.flushed(countsSinceMs)] });
    await this.recount();
  }

  /** The change that notes that this node's counts are complete up to a time. */
  flushed(upToMs: number): Mutation {
    return this.#mark(this.#deps.store.node, { upToMs, longestLoginMs: this.#deps.longestLoginMs });
  }

  /** Counts finished hours again that a node which ended left incomplete. Does nothing on a node that does not have the lease. */
  async recount(): Promise<void> {
    if (!await this.#lease.claim()) return;
    await this.#lease.run(() => this.#recount());
  }

  async #recount(): Promise<void> {
    const { store: plain, clock, cluster, uncountedMs, longestLoginMs, isStopped } = this.#deps;
    const store = fencedStore(plain, this.#lease);
    const living = new Set(cluster.list().flatMap(({ node, isAlive }) => isAlive ? [node] : []));
    const marks = [...await this.#marks()];
    const ended = marks.filter(([node]) => !living.has(node));
    const countedMs = Math.min(
      clock.nowMs() - uncountedMs,
      ...marks.flatMap(([node, { upToMs }]) => living.has(node) ? [upToMs] : []),
    );
    const watermark = await this.#watermark();
    if (watermark !== null && ended.length === 0) {
      await store.commit({ mutations: [watermarkMutation({ upToMs: countedMs, longestLoginMs })] });
      return;
    }
    // Living nodes no longer write the counts of finished hours.
    const untilMs = Math.floor(countedMs / HOUR_MS) * HOUR_MS;
    const from = watermark === null ? null : earliest([watermark, ...ended.map(([, mark]) => mark)]);
    await rebuildCharts({ store, clock, node: "", untilMs, longestLoginMs }, { watermark: from, isStopped });
    if (isStopped()) return;
    const mutations = ended.map(([node, mark]): Mutation => {
      const { endedMs = clock.nowMs() } = mark;
      return endedMs < untilMs
        ? { type: "delete", key: [...MARKS, node] }
        : this.#mark(node, { ...mark, endedMs });
    });
    await store.commit({ mutations: [...mutations, watermarkMutation({ upToMs: untilMs, longestLoginMs })] });
  }

  async #marks(): Promise<Map<string, FlushMark>> {
    const marks = new Map<string, FlushMark>();
    for await (const { key, value } of this.#deps.store.list<FlushMark>(MARKS)) {
      if (value !== null) marks.set(String(key[1]), value);
    }
    return marks;
  }

  async #watermark(): Promise<ChartWatermark | null> {
    return readWatermark((await this.#deps.store.get<unknown>(["chart_watermark"])).value);
  }

  #mark(node: string, mark: FlushMark): Mutation {
    return { type: "set", key: [...MARKS, node], value: mark, expireInMs: CHART_SPANS.hour.keptMs };
  }
}

function earliest(marks: readonly ChartWatermark[]): ChartWatermark {
  return {
    upToMs: Math.min(...marks.map(({ upToMs }) => upToMs)),
    longestLoginMs: Math.max(...marks.map(({ longestLoginMs }) => longestLoginMs)),
  };
}

/** The store, for a writer that has the lease. @throws LeaseUnavailable once another node has it */
function fencedStore(store: Store, lease: WriteLease): Store {
  return {
    ...store,
    async commit(transaction) {
      const checks = lease.check === null ? [] : [lease.check];
      const done = await store.commit({ ...transaction, checks: [...transaction.checks ?? [], ...checks] });
      if (!done.ok) await lease.confirm();
      return done;
    },
  };
}

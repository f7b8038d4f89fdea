// Chart counts of several nodes. Each node stores its own counts, and notes up to when they are complete. One node at a time (a lease)
// counts the hours again in which a node ended before it stored its counts.

import type { Cluster } from "../../../platform/cluster/cluster.ts";
import type { WriteLease } from "../../../platform/cluster/lease.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Mutation, Store } from "../../../platform/store.ts";
import { CHART_SPANS, type ChartWatermark, readWatermark } from "./chart_series.ts";
import { rebuildCharts, watermarkMutation } from "./chart_rebuild.ts";

export interface ChartNodesDeps {
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

export class ChartNodes {
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

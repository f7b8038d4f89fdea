// Charts on several nodes: the counts of all nodes add up, and what a node lost is counted again by one of the others.

import { assertEquals } from "@std/assert";
import { ChartStore } from "../../console/api/charts/chart_store.ts";
import { NO_LEASE } from "../../platform/cluster/lease.ts";
import { createLog } from "../../platform/log.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createStore } from "../../platform/store.ts";
import {
  bucketOf,
  encodeLoginRecord,
  historyKey,
  historyKeyAt,
  TIME_BUCKETS,
} from "../../radius/conversation/login_record.ts";
import { createManualClock } from "../fakes/console_app.ts";
import { createFakeWatch } from "../fakes/console_gateway.ts";
import { openNode } from "../fakes/shared_store.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The beginning of an hour. */
const START_MS = 1_800_000_000_000;

function startNodes(kv: Deno.Kv) {
  const clock = createManualClock(START_MS);
  const living = new Set<string>();
  /** The node that has the lease. */
  let holder = "";
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  let logins = 0;
  const start = async (node: string) => {
    const { store } = await openNode(kv, node);
    living.add(node);
    holder ||= node;
    const claim = () => {
      if (!living.has(holder)) holder = node;
      return Promise.resolve(holder === node);
    };
    const cluster = {
      isShared: true,
      list: () => [...living].map((one) => ({ node: one, isAlive: true }) as never),
      openLease: () => ({ ...NO_LEASE, claim }),
    };
    const watch = { ...createFakeWatch(), countsSinceMs: clock.nowMs() };
    const charts = new ChartStore({ store, clock, log, watch, cluster, random: createSystemRandom() });
    charts.start();
    return {
      store,
      charts,
      async login() {
        const endedMs = clock.nowMs();
        const id = `${historyKeyAt(endedMs - 2000)}${String(logins++).padStart(6, "0")}`;
        const record = encodeLoginRecord({
          ...{ user: "ada", client: node, source: "10.1.0.7", place: "", factor: null, outcome: "accepted" },
          ...{ startedMs: endedMs - 2000, endedMs, refusedFor: null, passwordRight: false, moments: [] },
        });
        await store.commit({ mutations: [{ type: "set", key: historyKey(id), value: record }] });
        const times = new Array<number>(TIME_BUCKETS).fill(0);
        times[bucketOf(2000)] = 1;
        const minuteMs = Math.floor(endedMs / MINUTE_MS) * MINUTE_MS;
        watch.finish({ client: node, outcomes: { accepted: 1 }, times, minuteMs });
      },
      /** The process ends before it writes its counts. */
      die() {
        living.delete(node);
        watch.takeFinishedCounts();
        charts.stop();
      },
    };
  };
  return { clock, start };
}

type ChartNode = Awaited<ReturnType<ReturnType<typeof startNodes>["start"]>>;

/** Logins by node, by the minute and by the hour. */
async function totals({ charts }: ChartNode, toMs: number): Promise<string[]> {
  const figures: string[] = [];
  for (const hours of [11, 30]) {
    const { clients } = await charts.read({ fromMs: toMs - hours * HOUR_MS, toMs, client: "" });
    figures.push(clients.map(({ client, total }) => `${client} ${total}`).toSorted().join(", "));
  }
  return figures;
}

/** Lets `count` minutes pass, with a login on each node every minute. */
async function minutes(
  { clock, nodes }: { clock: ReturnType<typeof createManualClock>; nodes: readonly ChartNode[] },
  count: number,
): Promise<void> {
  for (let at = 0; at < count; at++) {
    clock.advance(MINUTE_MS);
    for (const node of nodes) await node.login();
    // The timers of the charts work on the store.
    for (const node of nodes) await node.charts.flush();
  }
}

Deno.test("the counts of two nodes add up, also after a third one starts", async () => {
  using kv = await Deno.openKv(":memory:");
  const { clock, start } = startNodes(kv);
  const [a, b] = [await start("a"), await start("b")];
  await minutes({ clock, nodes: [a, b] }, 90);
  const expected = ["a 90, b 90", "a 90, b 90"];
  assertEquals([await totals(a, clock.nowMs()), await totals(b, clock.nowMs())], [expected, expected]);
  const c = await start("c");
  assertEquals(await totals(c, clock.nowMs()), expected);
  await minutes({ clock, nodes: [a, b, c] }, 100);
  assertEquals(await totals(c, clock.nowMs()), Array(2).fill("a 190, b 190, c 100"));
  for (const { charts } of [a, b, c]) charts.stop();
});

Deno.test("what a node lost is counted again when the hour is over, once, and the counts of living nodes stay", async () => {
  using kv = await Deno.openKv(":memory:");
  const { clock, start } = startNodes(kv);
  const [a, b] = [await start("a"), await start("b")];
  await minutes({ clock, nodes: [a, b] }, 30);
  await b.login();
  b.die();
  await minutes({ clock, nodes: [a] }, 10);
  assertEquals(await totals(a, clock.nowMs()), Array(2).fill("a 40, b 30"));
  await minutes({ clock, nodes: [a] }, 90);
  assertEquals(await totals(a, clock.nowMs()), Array(2).fill("a 130, b 31"));
  const again = await start("d");
  await minutes({ clock, nodes: [a, again] }, 70);
  assertEquals(await totals(again, clock.nowMs()), Array(2).fill("a 200, b 31, d 70"));
  const marks = (await Array.fromAsync(a.store.list(["chart_flushed"]))).map(({ key }) => key[1]);
  assertEquals(marks, ["a", "d"]);
  for (const { charts } of [a, again]) charts.stop();
});

Deno.test("after the node that has the lease ends, the other one counts", async () => {
  using kv = await Deno.openKv(":memory:");
  const { clock, start } = startNodes(kv);
  const [a, b] = [await start("a"), await start("b")];
  await minutes({ clock, nodes: [a, b] }, 30);
  await a.login();
  a.die();
  await minutes({ clock, nodes: [b] }, 100);
  assertEquals(await totals(b, clock.nowMs()), Array(2).fill("a 31, b 130"));
  b.charts.stop();
});

Deno.test("several nodes continue the counts of a process that used the store alone, and count what it lost", async () => {
  using kv = await Deno.openKv(":memory:");
  const { clock, start } = startNodes(kv);
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const store = createStore(kv);
  const watch = { ...createFakeWatch(), countsSinceMs: clock.nowMs() };
  const alone = new ChartStore({ store, clock, log, watch, random: createSystemRandom() });
  alone.start();
  await alone.read({ fromMs: START_MS - HOUR_MS, toMs: START_MS, client: "" });
  const times = new Array<number>(TIME_BUCKETS).fill(0);
  for (const isLost of [false, true]) {
    clock.advance(5 * MINUTE_MS);
    const endedMs = clock.nowMs();
    const value = encodeLoginRecord({
      ...{ user: "ada", client: "old", source: "10.1.0.7", place: "", factor: null, outcome: "accepted" },
      ...{ startedMs: endedMs - 2000, endedMs, refusedFor: null, passwordRight: false, moments: [] },
    });
    await store.commit({
      mutations: [{ type: "set", key: historyKey(historyKeyAt(endedMs - 2000) + "x"), value }],
    });
    if (!isLost) watch.finish({ client: "old", outcomes: { accepted: 1 }, times, minuteMs: endedMs });
    await alone.flush();
  }
  alone.stop();
  const a = await start("a");
  await minutes({ clock, nodes: [a] }, 80);
  assertEquals(await totals(a, clock.nowMs()), Array(2).fill("a 80, old 2"));
  a.charts.stop();
});

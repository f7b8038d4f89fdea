// Leases and the liveness of nodes: one holder at a time, hand-over on request, takeover after a death, and fenced writers.

import { assertEquals, assertRejects } from "@std/assert";
import { describeNode, openNode, type SharedNode, stepClock } from "../../fakes/shared_store.ts";
import { createLog } from "../../../platform/log.ts";
import { LeaseUnavailable, NodeLease } from "../../../platform/cluster/lease.ts";
import { BEAT_MS, Nodes } from "../../../platform/cluster/nodes.ts";

type StepClock = ReturnType<typeof stepClock>;

interface Member extends SharedNode {
  readonly clock: StepClock;
  readonly nodes: Nodes;
  readonly lease: NodeLease;
  readonly acquired: number[];
}

async function join(kv: Deno.Kv, node: string, options: { startMs?: number } = {}): Promise<Member> {
  const clock = stepClock(options.startMs ?? 1_000_000);
  const opened = await openNode(kv, node);
  const log = createLog({ format: "json", level: "error", clock, write: () => Promise.resolve() });
  const { store } = opened;
  const describe = () => describeNode(node, clock.nowMs());
  const nodes = new Nodes({ store, clock, log, describe });
  const acquired: number[] = [];
  const onAcquired = () => Promise.resolve(void acquired.push(clock.nowMs()));
  const lease = new NodeLease({ store, nodes, clock, log, name: "target", onAcquired });
  await nodes.start();
  return { ...opened, clock, nodes, lease, acquired };
}

/** Lets time pass on the given members, beat by beat. */
async function beats(members: readonly Member[], count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    for (const { clock } of members) await clock.advance(BEAT_MS);
    for (const { store } of members) await store.catchUp();
  }
}

/** Lets time pass until `work` ends. */
async function during<T>(members: readonly Member[], work: Promise<T>): Promise<T> {
  let isDone = false;
  const ended = work.finally(() => isDone = true);
  ended.catch(() => undefined);
  for (let at = 0; at < 100 && !isDone; at++) await beats(members, 1);
  return await ended;
}

const set = (key: Deno.KvKey, value: unknown) => ({ type: "set" as const, key, value });

Deno.test("run() gives the lease to one node, and hands it over when another node asks", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = [await join(kv, "a"), await join(kv, "b")];
  assertEquals(await a.lease.run(() => Promise.resolve(a.lease.isHeld)), true);
  const { promise, resolve } = Promise.withResolvers<void>();
  const long = a.lease.run(() => promise);
  await beats([a, b], 1);
  let started = false;
  const other = b.lease.run(() => Promise.resolve(void (started = true)));
  await beats([a, b], 6);
  assertEquals([started, a.lease.isHeld], [false, true]);
  resolve();
  await long;
  await during([a, b], other);
  await a.store.catchUp();
  assertEquals([started, a.lease.isHeld, b.lease.isHeld], [true, false, true]);
  assertEquals([a.lease.holder, a.acquired.length, b.acquired.length], ["b", 1, 1]);
});

Deno.test("run() alternates between two nodes that both have work, and runs all of it", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = [await join(kv, "a"), await join(kv, "b")];
  const held: string[] = [];
  const work = [a, b, a, b, a].map(({ lease, store }) =>
    lease.run(() => Promise.resolve(void held.push(`${store.node} ${lease.isHeld}`)))
  );
  await during([a, b], Promise.all(work));
  assertEquals(held.toSorted(), ["a true", "a true", "a true", "b true", "b true"]);
});

Deno.test("run() takes the lease of a dead node, never of a living one", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = [await join(kv, "a"), await join(kv, "b")];
  await a.lease.run(() => Promise.resolve());
  await beats([a, b], 2);
  // From now on, `a` is silent.
  const taken = b.lease.run(() => Promise.resolve(b.lease.holder));
  await beats([b], 3);
  assertEquals(b.lease.holder, "a");
  assertEquals(await during([b], taken), "b");
  assertEquals(b.nodes.list().map(({ node, isAlive }) => `${node} ${isAlive}`), ["b true", "a false"]);
});

Deno.test("a jump of the clock and a sleep of the observer kill no node", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = [await join(kv, "a"), await join(kv, "b", { startMs: 1_030_000 })];
  await beats([a, b], 2);
  await b.clock.advance(600_000);
  await b.store.catchUp();
  assertEquals(b.nodes.isAlive("a"), true);
  assertEquals(Math.round((b.nodes.list()[1]?.clockOffsetMs ?? 0) / 1000), -30);
});

Deno.test("of two nodes that both believe they hold the lease, the one that lost it cannot write", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = [await join(kv, "a"), await join(kv, "b")];
  await a.lease.run(() => Promise.resolve());
  // `a` is frozen: it neither beats nor reads.
  await beats([b], 8);
  await b.lease.run(() => Promise.resolve());
  assertEquals([a.lease.isHeld, b.lease.isHeld], [true, true]);
  const write = ({ lease, store }: Member) =>
    store.commit({ checks: [lease.check], mutations: [set(["resource"], store.node)] });
  assertEquals((await write(b)).ok, true);
  assertEquals((await write(a)).ok, false);
  await assertRejects(() => a.lease.confirm(), LeaseUnavailable, "was lost");
  assertEquals((await kv.get(["resource"])).value, "b");
});

Deno.test("claim() takes a free lease without a request; close() frees it", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = [await join(kv, "a"), await join(kv, "b")];
  assertEquals([await a.lease.claim(), await b.lease.claim()], [true, false]);
  await beats([a, b], 3);
  assertEquals([a.lease.isHeld, await b.lease.claim()], [true, false]);
  await a.lease.close();
  await a.nodes.close();
  await b.store.catchUp();
  assertEquals([await b.lease.claim(), b.nodes.isAlive("a")], [true, false]);
});

Deno.test("run() refuses after its time, and says that another node keeps the lease", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = [await join(kv, "a"), await join(kv, "b")];
  const { promise, resolve } = Promise.withResolvers<void>();
  const long = a.lease.run(() => promise);
  await beats([a, b], 1);
  const refused = b.lease.run(() => Promise.resolve());
  await assertRejects(() => during([a, b], refused), LeaseUnavailable, "another node keeps it");
  resolve();
  await long;
});

// Nodes: who is alive, clocks, and how the changes of other nodes are noticed.

import { assertEquals } from "@std/assert";
import { LogFollower } from "../../../platform/cluster/cluster.ts";
import { BEAT_MS, type NodeRecord, Nodes } from "../../../platform/cluster/nodes.ts";
import { createLog } from "../../../platform/log.ts";
import type { WatchingKv } from "../../../platform/watching_kv.ts";
import { describeNode, openNode, stepClock } from "../../fakes/shared_store.ts";
import { createManualClock, settle } from "../../upstream/manual_clock.ts";

const DESCRIPTION = { ...describeNode("x", 0), settings: "digest" };
const AHEAD_MS = 30_000;

/** `b` observes beats that `a` wrote on a clock that is ahead. */
async function observe(kv: Deno.Kv) {
  const clock = stepClock(1_000_000);
  const [{ store: a }, { store: b }] = [await openNode(kv, "a"), await openNode(kv, "b")];
  const log = createLog({ format: "json", level: "error", clock, write: () => Promise.resolve() });
  const nodes = new Nodes({ store: b, clock, log, describe: () => DESCRIPTION });
  a.follow(["node"], () => undefined);
  await nodes.start();
  let beat = 0;
  return {
    clock,
    nodes,
    /** @param lateMs how long the beat waited before `b` read it */
    async beats(lateMs: number): Promise<number> {
      const value: NodeRecord = {
        ...{ ...DESCRIPTION, node: "a", beat: ++beat, auditMark: "", firstAuditMark: "" },
        writtenMs: clock.nowMs() + AHEAD_MS - lateMs,
      };
      await a.commit({ mutations: [{ type: "set", key: ["node", "a"], value }] });
      await b.catchUp();
      return nodes.clockOffsetMs("a");
    },
  };
}

Deno.test("list() has the settings of the other nodes, so that equal nodes are not reported as different", async () => {
  using kv = await Deno.openKv(":memory:");
  const { nodes, beats } = await observe(kv);
  await beats(0);
  const digest = DESCRIPTION.settings;
  assertEquals(nodes.list().map(({ node, settings }) => [node, settings]), [["b", digest], ["a", digest]]);
});

Deno.test("clockOffsetMs() ignores a beat that is late, for example after an outage of the store", async () => {
  using kv = await Deno.openKv(":memory:");
  const { clock, beats } = await observe(kv);
  assertEquals(await beats(0), AHEAD_MS);
  await clock.advance(60_000);
  assertEquals(await beats(60_000), AHEAD_MS);
  assertEquals(await beats(2), AHEAD_MS);
});

Deno.test("clockOffsetMs() follows a clock that was set back, after some beats", async () => {
  using kv = await Deno.openKv(":memory:");
  const { clock, beats } = await observe(kv);
  await beats(0);
  const offsets: number[] = [];
  for (let at = 0; at < 5; at++) {
    await clock.advance(BEAT_MS);
    offsets.push(await beats(20_000));
  }
  assertEquals([offsets[0], offsets.at(-1)], [AHEAD_MS, AHEAD_MS - 20_000]);
});

const WRONG: Readonly<Record<string, unknown>> = {
  "fields of other types": {
    radius: "x",
    writtenMs: "x",
    beat: NaN,
    startedMs: null,
    figures: { leases: 7 },
  },
  "a text": "a node",
  "nothing": {},
};

for (const [what, value] of Object.entries(WRONG)) {
  Deno.test(`a node record with ${what} stops neither the start of another node nor its beats`, async () => {
    using kv = await Deno.openKv(":memory:");
    await kv.set(["node", "a"], value);
    const { store } = await openNode(kv, "b");
    const clock = stepClock(1_000_000);
    const lines: string[] = [];
    const write = (octets: Uint8Array) => void lines.push(new TextDecoder().decode(octets));
    const log = createLog({ format: "json", level: "warn", clock, write });
    const nodes = new Nodes({ store, clock, log, describe: () => DESCRIPTION });
    await nodes.start();
    const [, found] = nodes.list();
    assertEquals(
      [found?.node, found?.radius.every((one) => typeof one === "string"), found?.figures.leases],
      [
        "a",
        true,
        [],
      ],
    );
    assertEquals(nodes.clockOffsetMs("a"), 0);
    for (let beat = 0; beat < 200 && nodes.isAlive("a"); beat++) await clock.advance(BEAT_MS);
    await log.flush();
    assertEquals([nodes.isAlive("a"), lines.some((line) => line.includes("a node stopped answering"))], [
      false,
      true,
    ]);
  });
}

function follow({ peers = ["b"], canWatch = true }: { peers?: readonly string[]; canWatch?: boolean } = {}) {
  const clock = createManualClock();
  const log = createLog({ format: "json", level: "error", clock, write: () => Promise.resolve() });
  let reads = 0;
  let caughtUpMs = 0;
  let isBroken = false;
  const watched: string[][] = [];
  let change = (): void => undefined;
  const kv: WatchingKv = {
    async waitForChange(keys, { onReady }) {
      watched.push(keys.map((key) => key.join(" ")));
      if (isBroken) throw new Error("HTTP 404");
      onReady();
      await new Promise<void>((resolve) => change = resolve);
    },
  };
  const follower = new LogFollower({
    ...{ clock, log, kv: canWatch ? kv : null, peers: () => peers, caughtUpMs: () => caughtUpMs },
    catchUp: () => Promise.resolve(void reads++),
  });
  const ended = follower.run();
  return {
    watched,
    reads: () => reads,
    load: () => void (caughtUpMs = clock.nowMs() + 1_000_000),
    breakWatch: () => void (isBroken = true),
    async change() {
      change();
      await settle();
    },
    async pass(forMs: number) {
      for (let passed = 0; passed < forMs; passed += 100) {
        clock.advance(100);
        await settle();
      }
    },
    async [Symbol.asyncDispose]() {
      follower.close();
      change();
      await ended;
      assertEquals(clock.timers(), 0);
    },
  };
}

Deno.test("run() watches the logs of the other nodes, and reads when the watch begins and after each change", async () => {
  await using at = follow();
  await at.pass(5000);
  assertEquals([at.watched, at.reads()], [[["change_head b.any", "change_head b.journal"]], 1]);
  await at.change();
  assertEquals(at.reads(), 2);
  // The next watch begins a moment later, so that a busy store is not watched all the time.
  assertEquals(at.watched.length, 1);
  await at.pass(100);
  assertEquals([at.watched.length, at.reads()], [2, 3]);
});

for (
  const [what, options] of [
    ["that cannot be watched", { canWatch: false }],
    ["of more nodes than one watch has room for", { peers: ["b", "c", "d", "e", "f", "g"] }],
  ] as const
) {
  Deno.test(`run() asks ten times a second for the changes of a store ${what}`, async () => {
    await using at = follow(options);
    await at.pass(1000);
    assertEquals([at.watched.length, at.reads()], [0, 10]);
  });
}

Deno.test("run() asks for ten seconds after a watch that could not begin", async () => {
  await using at = follow();
  at.breakWatch();
  await at.pass(10_000);
  assertEquals([at.watched.length, at.reads()], [1, 100]);
  await at.pass(200);
  assertEquals(at.watched.length, 2);
});

Deno.test("run() reads nothing while packets read the changes, and once a second without other nodes", async () => {
  await using busy = follow();
  busy.load();
  await busy.pass(1000);
  assertEquals([busy.watched.length, busy.reads()], [0, 0]);
  await using alone = follow({ peers: [] });
  await alone.pass(11_000);
  assertEquals(alone.reads(), 10);
});

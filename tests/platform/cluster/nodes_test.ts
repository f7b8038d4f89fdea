// Nodes: the difference of two clocks, as the beats of the other node show it.

import { assertEquals } from "@std/assert";
import { openNode, stepClock } from "../../fakes/shared_store.ts";
import { createLog } from "../../../platform/log.ts";
import { BEAT_MS, type NodeRecord, Nodes } from "../../../platform/cluster/nodes.ts";

const DESCRIPTION = {
  ...{ name: "x", version: "1", startedMs: 0, radius: [], http: "", publicKey: "", settings: "digest" },
  figures: { waiting: 0, requestsPerS: 0, rssOctets: 0, lagMs: 0, leases: [] },
};
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

// A packet that reaches the gateway twice, through two sockets or two nodes, counts one wrong password.

import { assertEquals } from "@std/assert";
import type { RequestParts } from "../../support/radius_packets.ts";
import { startRelayServer } from "../../support/relay_server.ts";
import { chapParts, msChapParts } from "../relay/relayed_peer.ts";
import { startFirstFactorServer } from "./first_factor_server.ts";
import { type InProcess, startInProcess } from "./in_process.ts";
import { giveDevice, startWith } from "./people.ts";
import { becomes, pass, whileTimePasses } from "./passing_time.ts";
import { startTwoNodes } from "./two_nodes.ts";

/** A wrong proof of each method. */
const PROOFS: Record<string, () => RequestParts> = {
  PAP: () => ({ password: "wrong" }),
  CHAP: () => chapParts("wrong"),
  "MS-CHAPv2": () => msChapParts(false),
};
const PLACES: Record<string, RequestParts> = {
  "with a place": { nasPort: 7, callingStationId: "198.51.100.7" },
  "without a place": { nasPort: 0 },
};

const serverOf = (method: string) =>
  method === "PAP" ? startFirstFactorServer({ password: "right" }) : startRelayServer();

for (const [method, proofOf] of Object.entries(PROOFS)) {
  for (const [where, place] of Object.entries(PLACES)) {
    Deno.test(`two sockets: one packet of ${method} ${where} counts one wrong password`, async () => {
      using server = serverOf(method);
      await using world = await startInProcess({ users: ["anna"], toml: server.toml });
      const packet = world.client.build({ userName: "anna", ...place, ...proofOf() });
      using one = world.newClient();
      using two = world.newClient();
      using late = world.newClient();
      await Promise.all([one.sendRaw(packet.bytes), two.sendRaw(packet.bytes)]);
      await whileTimePasses(world.clock, becomes("a failure", () => failuresOf(world) > 0));
      await pass(world.clock, 3000);
      await late.sendRaw(packet.bytes);
      const isSeen = () => world.radius.monitor.counters().requests === 3;
      await whileTimePasses(world.clock, becomes("the third copy is handled", isSeen));
      await pass(world.clock, 2000);
      assertEquals(failuresOf(world), 1);
    });
  }

  for (const [where, place] of Object.entries(PLACES)) {
    Deno.test(`two nodes: one packet of ${method} ${where} counts one wrong password`, async () => {
      using server = serverOf(method);
      await using nodes = await startTwoNodes({ users: ["anna"], toml: server.toml });
      const { a, b } = nodes;
      await giveDevice(a, "anna");
      const packet = a.client.build({ userName: "anna", ...place, ...proofOf() });
      await Promise.all([a.client.sendRaw(packet.bytes), b.client.sendRaw(packet.bytes)]);
      const bothAsked = () => [a, b].every(({ radius }) => radius.monitor.counters().requests === 1);
      await whileTimePasses(a.clock, becomes("both handle the packet", bothAsked));
      const isCounted = async () => {
        await Promise.all([a.store.catchUp(), b.store.catchUp()]);
        return failuresOf(a) > 0 && failuresOf(b) > 0;
      };
      await whileTimePasses(a.clock, becomes("both know the failure", isCounted));
      await pass(a.clock, 3000);
      await isCounted();
      assertEquals([failuresOf(a), failuresOf(b)], [1, 1]);
    });
  }
}

Deno.test("a copy of a packet with a wrong password counts no second time while an older login waits, with state = name", async () => {
  using server = serverOf("PAP");
  await using world = await startWith("app", { toml: `${server.toml}state = "name"` });
  await world.begin({ user: "anna", nasPort: 7 }, "right");
  const wrong = world.login({ user: "anna", nasPort: 7 });
  const packet = wrong.buildStart("wrong");
  await wrong.exchange(packet);
  using late = world.newClient();
  wrong.moveTo({ client: late, clock: world.clock });
  assertEquals((await wrong.exchange(packet)).kind, "reject");
  assertEquals(failuresOf(world), 1);
});

const failuresOf = (world: InProcess) => world.radius.limits.failures("anna").total;

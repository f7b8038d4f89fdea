// The same proof again: re-sent packets of one login join it, and the same proof at another place or later is another login, with a push of its own.

import { assertEquals } from "@std/assert";
import type { RequestParts } from "../../support/radius_packets.ts";
import { startRelayServer } from "../../support/relay_server.ts";
import { pass } from "../rows/passing_time.ts";
import { chapParts, msChapParts, relayOnce } from "./relayed_peer.ts";
import { decideOnPush, openRelay, type RelayWorld } from "./relay_world.ts";

const text = (value: string) => new TextEncoder().encode(value);
const CHALLENGE = new Uint8Array(16).fill(3);
/** The proofs of a NAS whose challenge is constant. */
const PROOFS: Record<string, () => RequestParts> = {
  CHAP: () => chapParts("open sesame", { challenge: CHALLENGE }),
  "MS-CHAPv2": () => msChapParts(true),
};
const AT_HOME: RequestParts = { nasPort: 7, callingStationId: "198.51.100.7" };

async function accepted(relay: RelayWorld, parts: RequestParts): Promise<number> {
  const before = relay.world.secondFactor.initiated().length;
  decideOnPush(relay, true);
  const { answer } = await relayOnce(relay.world, { ...parts, userName: "anna" });
  assertEquals(answer.kind, "accept");
  return relay.world.secondFactor.initiated().length - before;
}

const ELSEWHERE: Record<string, RequestParts> = {
  "another Calling-Station-Id": { ...AT_HOME, callingStationId: "203.0.113.9" },
  "another NAS-Port": { ...AT_HOME, nasPort: 8 },
  "another Acct-Session-Id": { ...AT_HOME, more: [{ type: 44, value: text("other") }] },
  "another NAS": { ...AT_HOME, more: [{ type: 32, value: text("nas-2") }] },
};

for (const [method, proofOf] of Object.entries(PROOFS)) {
  Deno.test(`${method}: re-sent with another Identifier, a packet of the same place gets the stored Access-Accept`, async () => {
    using server = startRelayServer();
    await using relay = await openRelay(server);
    const { more = [] } = proofOf();
    const pushes: number[] = [];
    for (let count = 0; count < 3; count++) {
      pushes.push(await accepted(relay, { ...AT_HOME, more }));
      await pass(relay.world.clock, 10_000);
    }
    assertEquals([pushes, server.requests.length], [[1, 0, 0], 1]);
  });

  Deno.test(`${method}: after login_join_window_s, the same proof asks the server and the phone again`, async () => {
    using server = startRelayServer({ more: "login_join_window_s = 5\n" });
    await using relay = await openRelay(server);
    const { more = [] } = proofOf();
    assertEquals(await accepted(relay, { ...AT_HOME, more }), 1);
    await pass(relay.world.clock, 5100);
    assertEquals([await accepted(relay, { ...AT_HOME, more }), server.requests.length], [1, 2]);
    assertEquals([await accepted(relay, { ...AT_HOME, more }), server.requests.length], [0, 2]);
  });

  Deno.test(`${method}: after the clock was set back, the same proof asks the server and the phone again`, async () => {
    using server = startRelayServer();
    await using relay = await openRelay(server);
    const { more = [] } = proofOf();
    assertEquals(await accepted(relay, { ...AT_HOME, more }), 1);
    relay.world.clock.advance(-3_600_000);
    assertEquals([await accepted(relay, { ...AT_HOME, more }), server.requests.length], [1, 2]);
  });

  for (const [what, place] of Object.entries(ELSEWHERE)) {
    Deno.test(`${method}: the same proof with ${what} asks the server and the phone again`, async () => {
      using server = startRelayServer();
      await using relay = await openRelay(server);
      const { more = [] } = proofOf();
      assertEquals(await accepted(relay, { ...AT_HOME, more }), 1);
      const other = { ...place, more: [...more, ...place.more ?? []] };
      assertEquals([await accepted(relay, other), server.requests.length], [1, 2]);
    });
  }

  Deno.test(`${method}: without a place, only a packet with the same Request Authenticator is the same`, async () => {
    using server = startRelayServer();
    await using relay = await openRelay(server);
    const parts = { ...proofOf(), authenticator: new Uint8Array(16).fill(5), nasPort: 0 };
    assertEquals(await accepted(relay, parts), 1);
    assertEquals(await accepted(relay, { ...parts, identifier: 250 }), 0);
    const other = { ...parts, authenticator: new Uint8Array(16).fill(6) };
    assertEquals([await accepted(relay, other), server.requests.length], [1, 2]);
  });
}

Deno.test("a copy of a packet that waits for the phone joins it, however late", async () => {
  using server = startRelayServer({ more: "login_join_window_s = 5\n" });
  await using relay = await openRelay(server);
  const { world } = relay;
  const { more = [] } = msChapParts(true);
  const first = world.client.build({ ...AT_HOME, more, userName: "anna" });
  await world.client.sendRaw(first.bytes);
  await pass(world.clock, 15_000);
  assertEquals(world.secondFactor.initiated().length, 1);
  const later = relayOnce(world, { ...AT_HOME, more, userName: "anna" });
  await pass(world.clock, 6000);
  assertEquals((await later).answer.kind, "reject");
  assertEquals([server.requests.length, world.secondFactor.initiated().length], [1, 1]);
});

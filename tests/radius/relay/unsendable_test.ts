// An Access-Accept that cannot be sent with the attributes of the first-factor server is refused with a reason: before a push if possible, and never
// sent without them.

import { assertEquals, assertStringIncludes } from "@std/assert";
import type { Attribute } from "../../support/radius_packets.ts";
import { startRelayServer, valuesOf } from "../../support/relay_server.ts";
import { becomes, whileTimePasses } from "../rows/passing_time.ts";
import type { InProcess } from "../rows/in_process.ts";
import { decide } from "../rows/people.ts";
import { EapPeer, msChapParts, relayOnce } from "./relayed_peer.ts";
import { decideOnPush, openRelay } from "./relay_world.ts";

const classes = (count: number): Attribute[] =>
  Array.from({ length: count }, () => ({ type: 25, value: new Uint8Array(253).fill(65) }));
const lastRow = (world: InProcess) => world.radius.monitor.conversations(1)[0]?.moments.at(-1)?.row;
const pushes = (world: InProcess) => world.secondFactor.initiated().length;
const proxyState: Attribute = { type: 33, value: new Uint8Array(250).fill(1) };

Deno.test("an Access-Accept that does not fit with the Proxy-States of the request is refused before a push", async () => {
  using server = startRelayServer();
  server.attributes = classes(14);
  await using relay = await openRelay(server);
  const { world } = relay;
  const { more = [] } = msChapParts(true);
  const { answer } = await relayOnce(world, { userName: "anna", more: [...more, proxyState, proxyState] });
  assertEquals([answer.kind, lastRow(world), pushes(world)], ["reject", "accept_too_large", 0]);
  assertEquals(world.radius.limits.failures("anna").total, 0);
  decideOnPush(relay, true);
  const fitting = await relayOnce(world, { userName: "anna", ...msChapParts(true) });
  assertEquals([fitting.answer.kind, valuesOf(fitting.answer.attributes, 25).length], ["accept", 14]);
});

Deno.test("an Access-Accept that does not fit with the attributes of the gateway is refused before a push", async () => {
  using server = startRelayServer({ script: "md5" });
  server.attributes = classes(15);
  const filters = Array.from({ length: 3 }, () => JSON.stringify("f".repeat(200))).join(", ");
  await using relay = await openRelay(server, {
    toml: `[radius.reply.default]\n"Filter-Id" = [${filters}]\n`,
  });
  const answer = await new EapPeer(relay.world, { userName: "anna" }).login();
  assertEquals([answer.kind, lastRow(relay.world), pushes(relay.world)], ["reject", "accept_too_large", 0]);
});

Deno.test("a copy of a packet whose Access-Accept does not fit is refused again, and the server is asked once", async () => {
  using server = startRelayServer();
  server.attributes = classes(14);
  await using relay = await openRelay(server);
  const { more = [] } = msChapParts(true);
  const parts = { userName: "anna", nasPort: 7, more: [...more, proxyState, proxyState] };
  for (let count = 0; count < 2; count++) {
    assertEquals((await relayOnce(relay.world, parts)).answer.kind, "reject");
  }
  assertEquals([server.requests.length, pushes(relay.world)], [1, 0]);
});

Deno.test("a stored answer that cannot be opened after the approval is refused with a reason, and not sent without its attributes", async () => {
  using server = startRelayServer();
  server.attributes = classes(1);
  await using relay = await openRelay(server);
  const { world, phone } = relay;
  const answered = relayOnce(world, { userName: "anna", ...msChapParts(true) });
  await whileTimePasses(world.clock, becomes("a push", () => pushes(world) === 1));
  const { open } = world.vault;
  Object.assign(world.vault, {
    open: (key: Deno.KvKey, sealed: Uint8Array) => key[0] === "first_factor_reply" ? null : open(key, sealed),
  });
  decide(world, phone, true);
  const { answer } = await answered;
  assertEquals([answer.kind, valuesOf(answer.attributes, 25), lastRow(world)], [
    "reject",
    [],
    "reply_unreadable",
  ]);
});

Deno.test("an Access-Accept is not given again without the attributes of the first-factor server", async () => {
  using server = startRelayServer();
  server.attributes = classes(1);
  await using relay = await openRelay(server);
  const { world } = relay;
  const { more = [] } = msChapParts(true);
  const parts = { userName: "anna", nasPort: 7, more };
  decideOnPush(relay, true);
  assertEquals((await relayOnce(world, parts)).answer.kind, "accept");
  const { open } = world.vault;
  Object.assign(world.vault, {
    open: (key: Deno.KvKey, sealed: Uint8Array) => key[0] === "first_factor_reply" ? null : open(key, sealed),
  });
  assertEquals((await relayOnce(world, parts)).answer.kind, "reject");
  assertStringIncludes((await world.logLines()).join("\n"), "reply_unreadable");
});

// Policies and relayed logins: they are decided after the Access-Accept of the server, and for the user whose proof it checked.

import { assertEquals } from "@std/assert";
import { startRelayServer } from "../../support/relay_server.ts";
import { BYPASS, DENY, storePolicies } from "../policies/policy_sample.ts";
import { EapPeer, msChapParts, relayOnce } from "./relayed_peer.ts";
import { decideOnPush, openRelay } from "./relay_world.ts";

const FOR_BOB = [[{ users: ["bob"] }, BYPASS]] as const;
const USERS = { users: ["anna", "bob"] };

Deno.test("a bypass for the outer name of a tunnel does not help the user inside", async () => {
  using server = startRelayServer({ script: "tunnel", more: 'eap_outer_identity = "reply"\n' });
  server.acceptName = "anna";
  await using relay = await openRelay(server, USERS);
  const { world } = relay;
  await storePolicies(world.radius.policies.registry, FOR_BOB);
  decideOnPush(relay, false);
  assertEquals((await new EapPeer(world, { userName: "bob" }).login()).kind, "reject");
  assertEquals(world.secondFactor.initiated().length, 1);
  server.acceptName = "bob";
  assertEquals((await new EapPeer(world, { userName: "anna" }).login()).kind, "accept");
  assertEquals(world.secondFactor.initiated().length, 1);
});

for (const script of ["md5", "gtc", "ms_chap", "tunnel"] as const) {
  Deno.test(`EAP ${script}: a bypass for User-Name does not help a proof of another name`, async () => {
    using server = startRelayServer({ script });
    await using relay = await openRelay(server, USERS);
    const { world } = relay;
    await storePolicies(world.radius.policies.registry, FOR_BOB);
    for (const names of [{ userName: "bob", identity: "anna" }, { userName: "anna", identity: "bob" }]) {
      assertEquals((await new EapPeer(world, names).login()).kind, "reject");
    }
    assertEquals(world.radius.monitor.conversations(9).length, 0);
  });
}

Deno.test("a bypass lets a user in after the right password, and not after a wrong one", async () => {
  using server = startRelayServer();
  await using relay = await openRelay(server, USERS);
  const { world } = relay;
  await storePolicies(world.radius.policies.registry, FOR_BOB);
  const wrong = await relayOnce(world, { userName: "bob", ...msChapParts(false) });
  const right = await relayOnce(world, { userName: "bob", ...msChapParts(true) });
  assertEquals([wrong.answer.kind, right.answer.kind], ["reject", "accept"]);
  assertEquals(world.secondFactor.initiated().length, 0);
});

Deno.test("a bypass does not hold for an unsigned request", async () => {
  using server = startRelayServer({ more: 'message_authenticator = "off"\n' });
  await using relay = await openRelay(server, USERS);
  await storePolicies(relay.world.radius.policies.registry, FOR_BOB);
  const parts = { userName: "bob", ...msChapParts(true), messageAuthenticator: "none" } as const;
  assertEquals((await relayOnce(relay.world, parts)).answer.kind, "reject");
});

Deno.test("a policy that denies is decided after the right password, and refuses without a push", async () => {
  using server = startRelayServer();
  await using relay = await openRelay(server, USERS);
  const { world } = relay;
  await storePolicies(world.radius.policies.registry, [[{ users: ["anna"] }, DENY]]);
  const { answer } = await relayOnce(world, { userName: "anna", ...msChapParts(true) });
  assertEquals([answer.kind, answer.message], ["reject", "Access denied."]);
  const [login] = world.radius.monitor.conversations(1);
  assertEquals(login?.moments.at(-1)?.row, "denied_by_policy_after_first_factor");
  assertEquals(world.secondFactor.initiated().length, 0);
});

Deno.test("a policy that remembers devices: the second login from the same place needs no approval", async () => {
  using server = startRelayServer();
  await using relay = await openRelay(server);
  const { world } = relay;
  await storePolicies(world.radius.policies.registry, [[{}, { kind: "challenge", rememberHours: 8 }]]);
  decideOnPush(relay, true);
  const at = (callingStationId: string) => ({ userName: "anna", callingStationId, ...msChapParts(true) });
  assertEquals((await relayOnce(world, at("203.0.113.9"))).answer.kind, "accept");
  assertEquals((await relayOnce(world, at("203.0.113.9"))).answer.kind, "accept");
  assertEquals(world.secondFactor.initiated().length, 1);
});

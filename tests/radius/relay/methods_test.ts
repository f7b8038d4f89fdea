// What `eap` does with each method, and which CHAP may be unsigned: a test for each cell of the tables in docs/vpn-methods.md.

import { assertEquals } from "@std/assert";
import type { RequestParts } from "../../support/radius_packets.ts";
import {
  eapMessages,
  eapOf,
  eapPacket,
  type RelayServer,
  startRelayServer,
} from "../../support/relay_server.ts";
import { type InProcess, startInProcess } from "../rows/in_process.ts";
import { chapParts, msChapParts, relayOnce } from "./relayed_peer.ts";

const text = (value: string) => new TextEncoder().encode(value);

/** A first packet of each method, with a wrong password. */
const METHODS: Record<string, () => RequestParts> = {
  PAP: () => ({ password: "wrong" }),
  CHAP: () => chapParts("wrong"),
  "MS-CHAPv1": () => msChapParts(false, { version: 1 }),
  "MS-CHAPv2": () => msChapParts(false),
  EAP: () => ({ more: eapMessages(eapPacket(2, 40, 1, text("anna"))) }),
};

function openClient(server: RelayServer, more: string, { address = "127.0.0.1" } = {}): Promise<InProcess> {
  const toml = `[[radius.client]]
name = "vpn"
address = ["${address}"]
secret = "a-secret-of-the-tests"
first_factor_server.address = "127.0.0.1:${server.port}"
first_factor_server.secret = "${server.secret}"
${more}
`;
  return startInProcess({ users: ["anna"], toml });
}

/** `relayed`: the server sees the request. `asked`: the gateway asks with EAP-GTC. Otherwise the reason of the refusal. */
async function outcomeOf(server: RelayServer, world: InProcess, parts: RequestParts): Promise<string> {
  const { answer } = await relayOnce(world, { ...parts, userName: "anna" });
  if (server.requests.length > 0) return "relayed";
  if (answer.kind === "challenge" && eapOf(answer.attributes)[4] === 6) return "asked";
  const counters = world.radius.monitor.counters();
  return Object.keys(counters).find((name) => name.startsWith("refused_") && counters[name] === 1) ??
    answer.kind;
}

const REFUSED = {
  CHAP: "refused_chap",
  "MS-CHAPv1": "refused_chap",
  "MS-CHAPv2": "refused_chap",
  EAP: "refused_eap",
};
const ALL_RELAYED = {
  PAP: "relayed",
  CHAP: "relayed",
  "MS-CHAPv1": "relayed",
  "MS-CHAPv2": "relayed",
  EAP: "relayed",
};
const TABLE: Record<string, Record<string, string>> = {
  auto: ALL_RELAYED,
  relay: ALL_RELAYED,
  gtc: { PAP: "relayed", ...REFUSED, EAP: "asked" },
  refuse: { PAP: "relayed", ...REFUSED },
};

for (const [eap, cells] of Object.entries(TABLE)) {
  for (const [method, expected] of Object.entries(cells)) {
    Deno.test(`eap = "${eap}" with a first-factor server: ${method} is ${expected}`, async () => {
      using server = startRelayServer();
      await using world = await openClient(server, `first_factor = "radius"\neap = "${eap}"`);
      assertEquals(await outcomeOf(server, world, METHODS[method]?.() ?? {}), expected);
    });
  }
}

for (const [method, reason] of Object.entries(REFUSED)) {
  Deno.test(`eap = "relay" without a first-factor server: ${method} is ${reason}`, async () => {
    using server = startRelayServer();
    await using world = await openClient(server, 'eap = "relay"');
    assertEquals(await outcomeOf(server, world, METHODS[method]?.() ?? {}), reason);
  });
}

/** The answer to an unsigned request, by message_authenticator and the address of the client. */
const UNSIGNED: readonly (readonly [signing: string, address: string, expected: string])[] = [
  ["auto", "127.0.0.1", "relayed"],
  ["auto", "127.0.0.1/32", "relayed"],
  ["auto", "127.0.0.0/8", "refused_unsigned_chap"],
  ["off", "127.0.0.0/8", "relayed"],
];
for (const [signing, address, expected] of UNSIGNED) {
  for (const method of ["CHAP", "MS-CHAPv2"]) {
    Deno.test(`unsigned ${method} of the client ${address} with message_authenticator = "${signing}" is ${expected}`, async () => {
      using server = startRelayServer();
      const more = `first_factor = "radius"\nmessage_authenticator = "${signing}"`;
      await using world = await openClient(server, more, { address });
      const parts: RequestParts = { ...METHODS[method]?.(), messageAuthenticator: "none" };
      assertEquals(await outcomeOf(server, world, parts), expected);
    });
  }
}

Deno.test('message_authenticator = "require" drops unsigned MS-CHAPv2', async () => {
  using server = startRelayServer();
  await using world = await openClient(server, 'first_factor = "radius"\nmessage_authenticator = "require"');
  const unsigned = world.client.build({
    userName: "anna",
    ...msChapParts(true),
    messageAuthenticator: "none",
  });
  await world.client.sendRaw(unsigned.bytes);
  // A later packet that is answered shows that the first one was handled.
  await relayOnce(world, { userName: "anna", ...msChapParts(false) });
  assertEquals(world.radius.monitor.counters().dropped_missing_message_authenticator, 1);
  assertEquals(server.requests.length, 1);
});

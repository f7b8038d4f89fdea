// Clients that are added, changed and removed while the gateway runs, overlapping secrets, and client discovery.

import { assert, assertEquals } from "@std/assert";
import type { ClientContent } from "../../platform/client_settings.ts";
import { fromStoredClient, type StoredClient } from "../../radius/server/client_record.ts";
import type { Mutation } from "../../platform/store.ts";
import { buildRequest, type RequestParts } from "../support/radius_packets.ts";
import { openWholeGateway, type Source, until, type WholeGateway } from "./whole_gateway.ts";

const FILE_CLIENT = `[[radius.client]]
name = "of-file"
address = ["192.0.2.1"]
secret = "the secret of the file"
`;
const OLD = "the first secret of it";
const NEW = "the other secret of it";
const HOUR_MS = 3_600_000;
const HERE: Source = { hostname: "198.51.100.7", port: 1024 };
const AUDIT: Mutation = { type: "set", key: ["audit", 1, "test"], value: "an audit record" };

const CONTENT: ClientContent = {
  name: "vpn-1",
  address: ["198.51.100.7"],
  nasIdentifier: "",
  disabled: false,
  messageAuthenticator: "auto",
  firstFactor: "settings",
  firstFactorBackend: "",
  firstFactorServer: null,
  eap: "auto",
  eapOuterIdentity: "refuse",
  device: "challenge",
  appendMode: false,
  appendSeparator: ",",
  codePosition: "separated",
  healthCheckUsers: [],
  unknownUsers: "allow",
  stripDomains: [],
  stripRealms: [],
  mode: "enforce",
  replyFromFirstFactor: ["all"],
  tlsSan: "",
  tlsFingerprint: "",
  tlsDisconnect: false,
  disconnectPort: 0,
  holdMs: 0,
};

/** The number of replies to a request with a secret. */
async function replies(
  gateway: WholeGateway,
  { secret, from = HERE, ...parts }: RequestParts & { secret: string; from?: Source },
): Promise<number> {
  const before = gateway.sent.length;
  const request = buildRequest(secret, { userName: "ada", password: "pw", ...parts });
  await gateway.deliver(request.bytes, from);
  await gateway.finish();
  return gateway.sent.length - before;
}

Deno.test("ClientRegistry adds a client with its audit record, and serves it from the next packet on", async () => {
  await using gateway = await openWholeGateway(FILE_CLIENT);
  const { register } = gateway.radius;
  assertEquals(await replies(gateway, { secret: OLD }), 0);
  const outcome = await register.add(CONTENT, { secret: OLD, audit: AUDIT });
  assert(outcome.ok);
  assertEquals(await replies(gateway, { secret: OLD }), 1);
  assertEquals((await gateway.store.get(["audit", 1, "test"])).value, "an audit record");
  assertEquals(register.list().map(({ name, from }) => `${name} ${from}`), [
    "of-file settings",
    "vpn-1 console",
  ]);
  assertEquals(register.find("vpn-1")?.use.packets, 1);
});

Deno.test("ClientRegistry stores no secret in clear, and shows none", async () => {
  await using gateway = await openWholeGateway(FILE_CLIENT);
  await gateway.radius.register.add(CONTENT, { secret: OLD, audit: AUDIT });
  const { value } = await gateway.store.get<{ sealed: Uint8Array<ArrayBuffer> }>(["client", "vpn-1"]);
  const sealed = value?.sealed;
  assert(sealed instanceof Uint8Array);
  assert(!new TextDecoder("latin1").decode(sealed).includes(OLD));
  assert(!JSON.stringify(gateway.radius.register.list()).includes(OLD));
});

const SERVERS = ["192.0.2.20", "192.0.2.21"].map((hostname) => ({ hostname, port: 1812 }));

for (
  const [address, stored] of [[SERVERS.slice(0, 1), [SERVERS[0], undefined]], [SERVERS, SERVERS]] as const
) {
  Deno.test(`ClientRegistry stores ${address.length} first-factor servers so that nodes of version 0.2 find the first one`, async () => {
    await using gateway = await openWholeGateway(FILE_CLIENT);
    const { register } = gateway.radius;
    const server = { address, timeoutMs: 3000, messageAuthenticator: "require" } as const;
    const content = { ...CONTENT, firstFactor: "radius", firstFactorServer: server } as const;
    assert((await register.add(content, { secret: OLD, serverSecret: NEW, audit: AUDIT })).ok);
    const { value } = await gateway.store.get(["client", "vpn-1"]);
    const record = value as StoredClient;
    const { firstFactorServer } = record;
    assertEquals([firstFactorServer?.address, firstFactorServer?.others?.[0]], [...stored]);
    assertEquals(fromStoredClient(record).firstFactorServer, server);
    assertEquals(register.firstFactorServer("vpn-1"), { ...server, secret: NEW });
  });
}

Deno.test("ClientRegistry seals the secret of Disconnect-Requests, keeps it at a change without one, and removes it with the port", async () => {
  await using gateway = await openWholeGateway(FILE_CLIENT);
  const { register } = gateway.radius;
  const sealedNow = async () =>
    (await gateway.store.get<{ disconnectSealed: Uint8Array | null }>(["client", "vpn-1"])).value
      ?.disconnectSealed;
  const withPort = { ...CONTENT, disconnectPort: 3799 };
  await register.add(withPort, { secret: OLD, disconnectSecret: NEW, audit: AUDIT });
  const sealed = await sealedNow();
  assert(sealed instanceof Uint8Array && !new TextDecoder("latin1").decode(sealed).includes(NEW));
  assertEquals(register.find("vpn-1")?.hasDisconnectSecret, true);
  assert(!JSON.stringify(register.list()).includes(NEW));
  await register.change({ ...withPort, disconnectPort: 1700 }, { version: 1, audit: AUDIT });
  assertEquals(await sealedNow(), sealed);
  await register.change(CONTENT, { version: 2, disconnectSecret: NEW, audit: AUDIT });
  assertEquals([await sealedNow(), register.find("vpn-1")?.hasDisconnectSecret], [null, false]);
});

Deno.test("ClientRegistry stops serving any address after the first client is added, and serves it again after the last is removed", async () => {
  await using gateway = await openWholeGateway("");
  const { register } = gateway.radius;
  const elsewhere = { hostname: "203.0.113.5", port: 1024 };
  assertEquals(await replies(gateway, { secret: "any", from: elsewhere }), 1);
  await register.add(CONTENT, { secret: OLD, audit: AUDIT });
  assertEquals(await replies(gateway, { secret: "any", from: elsewhere }), 0);
  await register.change({ ...CONTENT, disabled: true }, { version: 1, audit: AUDIT });
  assertEquals(await replies(gateway, { secret: "any", from: elsewhere }), 0);
  assertEquals(await replies(gateway, { secret: OLD }), 0);
  await register.remove("vpn-1", { audit: AUDIT });
  assertEquals(await replies(gateway, { secret: "any", from: elsewhere }), 1);
});

Deno.test("ClientRegistry selects the most specific client, from the file or from the console", async () => {
  await using gateway = await openWholeGateway(FILE_CLIENT);
  const { register } = gateway.radius;
  await register.add({ ...CONTENT, address: ["192.0.2.0/24"] }, { secret: OLD, audit: AUDIT });
  const inFile = { hostname: "192.0.2.1", port: 1024 };
  const beside = { hostname: "192.0.2.2", port: 1024 };
  assertEquals(await replies(gateway, { secret: "the secret of the file", from: inFile }), 1);
  assertEquals(await replies(gateway, { secret: OLD, from: inFile }), 0);
  assertEquals(await replies(gateway, { secret: OLD, from: beside }), 1);
});

Deno.test("ClientRegistry refuses a name twice, a client of the file, and a change of an outdated version", async () => {
  await using gateway = await openWholeGateway(FILE_CLIENT);
  const { register } = gateway.radius;
  await register.add(CONTENT, { secret: OLD, audit: AUDIT });
  const reasons = [
    await register.add(CONTENT, { secret: OLD, audit: AUDIT }),
    await register.add({ ...CONTENT, name: "of-file" }, { secret: OLD, audit: AUDIT }),
    await register.rotate("of-file", { secret: NEW, overlapMs: 0, audit: AUDIT }),
    await register.remove("nobody", { audit: AUDIT }),
    await register.change(CONTENT, { version: 7, audit: AUDIT }),
  ].map((outcome) => outcome.ok ? "" : outcome.reason);
  assertEquals(reasons, ["taken", "taken", "in_settings", "unknown", "changed"]);
});

for (const messageAuthenticator of ["first", "none"] as const) {
  Deno.test(`a secret is changed with an overlap: both are served until its end, signature ${messageAuthenticator}`, async () => {
    await using gateway = await openWholeGateway(FILE_CLIENT);
    const { register } = gateway.radius;
    await register.add({ ...CONTENT, messageAuthenticator: "off" }, { secret: OLD, audit: AUDIT });
    await register.rotate("vpn-1", { secret: NEW, overlapMs: HOUR_MS, audit: AUDIT });
    const password = "pässwort mit Umlaut, länger als sechzehn";
    const asked = { messageAuthenticator, password };
    assertEquals(await replies(gateway, { ...asked, secret: OLD }), 1);
    let { use } = register.find("vpn-1") ?? {};
    assertEquals(use?.previousMs, use?.lastMs);
    gateway.clock.advance(1000);
    assertEquals(await replies(gateway, { ...asked, secret: NEW }), 1);
    ({ use } = register.find("vpn-1") ?? {});
    assert((use?.previousMs ?? 0) < (use?.lastMs ?? 0));
    assert(register.find("vpn-1")?.overlapUntilMs !== null);
  });
}

Deno.test("a replaced secret is not served after its overlap, nor after the overlap is ended early", async () => {
  await using gateway = await openWholeGateway(FILE_CLIENT);
  const { register } = gateway.radius;
  await register.add({ ...CONTENT, messageAuthenticator: "require" }, { secret: OLD, audit: AUDIT });
  await register.rotate("vpn-1", { secret: NEW, overlapMs: HOUR_MS, audit: AUDIT });
  assertEquals(await replies(gateway, { secret: OLD }), 1);
  gateway.clock.advance(HOUR_MS);
  assertEquals(await replies(gateway, { secret: OLD }), 0);
  assertEquals(register.find("vpn-1")?.overlapUntilMs, null);
  await register.rotate("vpn-1", { secret: OLD, overlapMs: HOUR_MS, audit: AUDIT });
  assertEquals(await replies(gateway, { secret: NEW }), 1);
  await register.endOverlap("vpn-1", { audit: AUDIT });
  assertEquals(await replies(gateway, { secret: NEW }), 0);
  assertEquals(await replies(gateway, { secret: OLD }), 1);
});

Deno.test("a client that signs with its old secret must sign with both secrets from then on", async () => {
  await using gateway = await openWholeGateway(FILE_CLIENT);
  const { register } = gateway.radius;
  await register.add(CONTENT, { secret: OLD, audit: AUDIT });
  await register.rotate("vpn-1", { secret: NEW, overlapMs: HOUR_MS, audit: AUDIT });
  assertEquals(await replies(gateway, { secret: NEW, messageAuthenticator: "none" }), 1);
  assertEquals(await replies(gateway, { secret: OLD }), 1);
  assertEquals(await replies(gateway, { secret: NEW, messageAuthenticator: "none" }), 0);
  await until(() => gateway.radius.signingClients.names.has("vpn-1"));
});

Deno.test("createClientDiscovery() records nothing until discovery is on, and then unknown senders and wrong secrets", async () => {
  await using gateway = await openWholeGateway(FILE_CLIENT);
  const { clientDiscovery } = gateway.radius;
  await replies(gateway, { secret: OLD });
  assertEquals(clientDiscovery.list(), []);
  const nasIdentifier = new TextEncoder().encode("vpn-1");
  await replies(gateway, { secret: OLD, more: [{ type: 32, value: nasIdentifier }] });
  await replies(gateway, { secret: OLD, from: { hostname: "192.0.2.1", port: 1024 } });
  const heard = clientDiscovery.list(OLD);
  assertEquals(
    heard.map((
      { source, nasIdentifier, reason, client, method, fits },
    ) => [source, nasIdentifier, reason, client, method, fits]),
    [
      ["192.0.2.1", "", "wrong_message_authenticator", "of-file", "PAP", "signed"],
      ["198.51.100.7", "vpn-1", "unknown_client", null, "PAP", "signed"],
    ],
  );
  assertEquals(clientDiscovery.list(NEW).map(({ fits }) => fits), ["wrong", "wrong"]);
  gateway.clock.advance(61_000);
  assertEquals(clientDiscovery.list(), []);
});

Deno.test("createClientDiscovery() keeps at most a hundred senders", async () => {
  await using gateway = await openWholeGateway(FILE_CLIENT);
  const { clientDiscovery } = gateway.radius;
  clientDiscovery.list();
  for (let number = 0; number < 150; number += 1) {
    if (number % 50 === 0) gateway.clock.advance(1000);
    const request = buildRequest(OLD, { userName: "ada", password: "pw" });
    await gateway.deliver(request.bytes, { hostname: `198.51.100.${number}`, port: 1024 });
  }
  const heard = clientDiscovery.list();
  assertEquals([heard.length, heard[0]?.source], [100, "198.51.100.149"]);
});

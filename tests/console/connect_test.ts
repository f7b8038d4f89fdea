// The API of clients, targets, credentials and health: permissions, rules, audit records, and no secrets in answers.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { buildRequest } from "../support/radius_packets.ts";
import { CLIENT_RULES } from "../fakes/client_rules.ts";
import { startConnectConsole } from "../fakes/console_connect.ts";
import type { ClientRow, DiscoveredSender } from "../../console/api/clients/client_types.ts";
import type { ShownClient } from "../../radius/server/client_record.ts";
import { ask, CLIENT, FILE_CLIENT, LDAP, SECRET, type Told } from "../fakes/connect_calls.ts";

Deno.test("POST /clients creates a client with its audit record, and no answer contains the secret", async () => {
  await using site = await startConnectConsole({ toml: FILE_CLIENT });
  const made = await ask(site, "/clients", { method: "POST", json: CLIENT });
  assertEquals([made.status, made.body.secret], [200, null]);
  const list = await ask(site, "/clients", { role: "viewer" });
  assertEquals(list.body.items.map(({ name }) => name), ["of-file", "vpn-1"]);
  const one = await ask(site, "/clients/vpn-1", { role: "viewer" });
  for (const { text } of [made, list, one]) {
    assert(!text.includes(SECRET) && !text.includes("the secret of the file") && !text.includes("sealed"));
  }
  const [audit] = await site.audits();
  assertEquals([audit?.actor, audit?.action, audit?.object], ["owner", "client.create", "client:vpn-1"]);
  assert(!JSON.stringify(audit).includes(SECRET));
});

Deno.test("POST /clients without a secret generates one, which works and is shown once", async () => {
  await using site = await startConnectConsole({ toml: FILE_CLIENT });
  const { secret: _none, ...rest } = CLIENT;
  const { body } = await ask(site, "/clients", { method: "POST", json: rest });
  assertMatch(body.secret ?? "", /^[A-Za-z0-9_-]{32}$/);
  assertEquals(site.clients.findByAddress("198.51.100.9")?.map(({ name }) => name), ["vpn-1"]);
});

for (
  const [what, change, code] of [
    ["a host name instead of an address", { address: ["vpn.example.org"] }, "bad_field"],
    ["no address", { address: [] }, "bad_field"],
    ["a short secret", { secret: "short" }, "malformed"],
    ["an invalid name", { name: '"><img src=x onerror=alert(1)>' }, "malformed"],
    ["the name of a client of the settings", { name: "of-file" }, "client_taken"],
    ["an unknown field", { colour: 1 }, "malformed"],
    ["a wait below a second", { holdMs: 1 }, "malformed"],
    ["a wait of half a second more", { holdMs: 25_500 }, "malformed"],
    ["a wait above 300 seconds", { holdMs: 301_000 }, "malformed"],
    ["a name that no certificate has", { tlsSan: "two words", address: [] }, "bad_field"],
    [
      "a backend that there is not",
      { firstFactor: "ldap", firstFactorBackend: "nowhere" },
      "unknown_backend",
    ],
    ["another server without an address", { firstFactor: "radius" }, "bad_field"],
    [
      "another server that is no address",
      { firstFactor: "radius", firstFactorServer: { address: "x", timeoutMs: 3000, secret: "y" } },
      "bad_field",
    ],
    [
      "another server without its secret",
      { firstFactor: "radius", firstFactorServer: { address: "192.0.2.20:1812", timeoutMs: 3000 } },
      "no_server_secret",
    ],
  ] as const
) {
  Deno.test(`POST /clients refuses ${what} as ${code}`, async () => {
    await using site = await startConnectConsole({ toml: FILE_CLIENT });
    const { body } = await ask(site, "/clients", { method: "POST", json: { ...CLIENT, ...change } });
    assertEquals(body.error.code, code);
    assertEquals(site.register.list().length, 1);
  });
}

const SERVER = { address: "192.0.2.20:1812", timeoutMs: 2000 };
const SERVER_SECRET = "right";

Deno.test("PUT /clients/:id keeps the hidden secret of the first-factor server, and requires it again when the address changes", async () => {
  await using site = await startConnectConsole({ toml: FILE_CLIENT });
  const radius = { firstFactor: "radius", firstFactorServer: { ...SERVER, secret: SERVER_SECRET } };
  const made = await ask(site, "/clients", { method: "POST", json: { ...CLIENT, ...radius } });
  const put = (server: unknown, version: number) =>
    ask(site, "/clients/vpn-1", {
      method: "PUT",
      json: {
        ...CLIENT_RULES,
        firstFactor: "radius",
        firstFactorServer: server,
        version,
      },
    });
  const kept = await put({ ...SERVER, timeoutMs: 500 }, 1);
  assertEquals(kept.body.client.firstFactorServer, {
    address: [{ hostname: "192.0.2.20", port: 1812 }],
    timeoutMs: 500,
    messageAuthenticator: "require",
  });
  assertEquals(site.register.firstFactorServer("vpn-1")?.secret, SERVER_SECRET);
  const elsewhere = await put({ ...SERVER, address: "192.0.2.21:1812" }, 2);
  assertEquals(elsewhere.body.error.code, "no_server_secret");
  const given = await put({ ...SERVER, address: "192.0.2.21:1812", secret: "another-one" }, 2);
  assertEquals(given.body.client.version, 3);
  for (const { text } of [made, kept, given]) {
    assert(!text.includes(SERVER_SECRET) && !text.includes("another-one") && !text.includes("ealed"));
  }
  assert(!JSON.stringify(await site.audits()).includes("another-one"));
});

Deno.test("PUT /clients/:id removes the settings of the previous first factor", async () => {
  await using site = await startConnectConsole({ toml: FILE_CLIENT });
  const radius = { firstFactor: "radius", firstFactorServer: { ...SERVER, secret: SERVER_SECRET } };
  await ask(site, "/clients", { method: "POST", json: { ...CLIENT, ...radius } });
  const json = { ...CLIENT_RULES, firstFactor: "none", version: 1 };
  const { body } = await ask(site, "/clients/vpn-1", {
    method: "PUT",
    json: { ...json, firstFactorServer: SERVER, firstFactorBackend: "ldap" },
  });
  assertEquals([body.client.firstFactorServer, body.client.firstFactorBackend], [null, ""]);
  assertEquals(site.register.firstFactorServer("vpn-1"), null);
});

Deno.test("POST /clients/first-factor tests a new server, a stored one and a backend, for owners only", async () => {
  await using site = await startConnectConsole({ toml: LDAP });
  const test = async (json: unknown, role = "owner") => {
    const { body } = await ask(site, "/clients/first-factor", { role, method: "POST", json });
    return "error" in body ? body.error.code : (body as unknown as { answers: boolean }).answers;
  };
  const radius = { firstFactor: "radius", firstFactorServer: { ...SERVER, secret: SERVER_SECRET } };
  await ask(site, "/clients", { method: "POST", json: { ...CLIENT, ...radius } });
  assertEquals(await test({ ...SERVER, secret: SERVER_SECRET }), true);
  assertEquals(await test({ ...SERVER, secret: "wrong" }), false);
  assertEquals(await test({ client: "vpn-1" }), true);
  assertEquals(await test({ client: "vpn-2" }), "no_server_secret");
  assertEquals(await test({ ...SERVER, address: "localhost", secret: "x" }), "bad_field");
  assertEquals(await test({ backend: "ldap" }), true);
  assertEquals(await test({ backend: "nowhere" }), "unknown_backend");
  assertEquals(await test({ backend: "ldap" }, "user_manager"), "role");
});

Deno.test("POST /clients accepts an LDAP backend of the settings as the first factor", async () => {
  await using site = await startConnectConsole({ toml: LDAP });
  const json = { ...CLIENT, firstFactor: "ldap", firstFactorBackend: "ldap" };
  const { body } = await ask(site, "/clients", { method: "POST", json });
  assertEquals(body.client.firstFactorBackend, "ldap");
  const settings = site.clients.findByAddress("198.51.100.9")?.[0]?.settings;
  assertEquals([settings?.firstFactor, settings?.firstFactorBackend], ["ldap", "ldap"]);
});

Deno.test("PUT /clients/:id refuses an edit of an older version, and clients of the settings file", async () => {
  await using site = await startConnectConsole({ toml: FILE_CLIENT });
  await ask(site, "/clients", { method: "POST", json: CLIENT });
  const json = { ...CLIENT_RULES, disabled: true, version: 1 };
  const first = await ask(site, "/clients/vpn-1", { method: "PUT", json });
  assertEquals([first.body.client.disabled, first.body.client.version], [true, 2]);
  const second = await ask(site, "/clients/vpn-1", { method: "PUT", json });
  assertEquals(second.body.error.code, "changed_meanwhile");
  const third = await ask(site, "/clients/of-file", { method: "PUT", json });
  assertEquals(third.body.error.code, "settings_client");
});

Deno.test("POST /clients/:id/secret keeps the old secret for its overlap, and DELETE /overlap ends it", async () => {
  await using site = await startConnectConsole({ toml: FILE_CLIENT });
  await ask(site, "/clients", { method: "POST", json: CLIENT });
  const json = { secret: "another-secret-of-it", overlapMs: 3_600_000 };
  const { body } = await ask(site, "/clients/vpn-1/secret", { method: "POST", json });
  assert((body.client.overlapUntilMs ?? 0) > Date.now());
  assert(site.clients.all.find(({ name }) => name === "vpn-1")?.previous !== null);
  const ended = await ask(site, "/clients/vpn-1/overlap", { method: "DELETE" });
  assertEquals(ended.body.client.overlapUntilMs, null);
  assertEquals(site.clients.all.find(({ name }) => name === "vpn-1")?.previous, null);
  const records = await site.audits();
  const actions = records.map(({ action }) => action);
  assertEquals(actions, ["client.create", "client.rotate", "client.end_overlap"]);
  assertEquals(records[1]?.after, { secret: "changed", overlap: "1 h" });
  assertEquals(JSON.stringify(records).includes(json.secret), false);
});

Deno.test("GET /clients/:id counts the logins in progress of the client", async () => {
  await using site = await startConnectConsole({ toml: FILE_CLIENT });
  site.watch.put({
    id: "1",
    user: "ada",
    client: "of-file",
    source: "192.0.2.1",
    place: "",
    step: "GET_SMS_PHONE_NUMBER",
    factor: "sms",
    startedMs: Date.now(),
    updatedMs: Date.now(),
    deadlineMs: Date.now() + 60_000,
    outcome: null,
    moments: [],
  });
  const { body } = await ask(site, "/clients/of-file", { role: "viewer" });
  assertEquals([body.blast.open, body.blast.openUsers], [1, ["ada"]]);
});

Deno.test("POST /clients/heard lists unknown senders and tests a secret, and does not list a new client any more", async () => {
  await using site = await startConnectConsole({ toml: FILE_CLIENT });
  await ask(site, "/clients/heard", { method: "POST", json: {} });
  const { bytes } = buildRequest(SECRET, { userName: "ada", password: "pw" });
  site.clientDiscovery.record({
    octets: bytes,
    source: "198.51.100.9",
    reason: "unknown_client",
    client: null,
  });
  const heard = await ask(site, "/clients/heard", { method: "POST", json: { secret: SECRET } });
  assertEquals([heard.body.items[0]?.source, heard.body.items[0]?.fits], ["198.51.100.9", "signed"]);
  await ask(site, "/clients", { method: "POST", json: { ...CLIENT, address: ["198.51.100.9"] } });
  assertEquals((await ask(site, "/clients/heard", { method: "POST", json: {} })).body.items, []);
});

Deno.test("the longest wait of a client is its own, or the global one with 0, and the audit log has it", async () => {
  await using site = await startConnectConsole({
    toml: `[radius]\nhold_s = 40\n${FILE_CLIENT}hold_s = 50\n`,
  });
  const holdOf = (name: string) => site.clients.all.find((one) => one.name === name)?.settings.holdMs;
  const made = await ask(site, "/clients", { method: "POST", json: CLIENT });
  assertEquals([made.body.client.holdMs, holdOf("vpn-1"), holdOf("of-file")], [0, 40_000, 50_000]);
  for (const [version, holdMs, used] of [[1, 60_000, 60_000], [2, 0, 40_000]] as const) {
    const json = { ...CLIENT_RULES, holdMs, version };
    const { body } = await ask(site, "/clients/vpn-1", { method: "PUT", json });
    assertEquals([body.client.holdMs, holdOf("vpn-1"), effectiveHold(body)], [holdMs, used, used]);
  }
  const { body: ofFile } = await ask(site, "/clients/of-file", { role: "viewer" });
  assertEquals([ofFile.client.holdMs, effectiveHold(ofFile)], [50_000, 50_000]);
  const audits = await site.audits();
  assertEquals(audits.map(({ after }) => (after as { holdMs?: string }).holdMs), [
    "settings",
    "60 s",
    "settings",
  ]);
});

const effectiveHold = ({ client }: Told) => (client as ShownClient & ClientRow).effective.holdMs;

Deno.test("POST /clients adds a client of TLS from its certificate: without a secret, and not heard any more", async () => {
  await using site = await startConnectConsole({ toml: FILE_CLIENT });
  const heard = () => ask(site, "/clients/heard", { method: "POST", json: {} });
  await heard();
  const names = ["DNS:vpn.example.org"];
  const peer = {
    source: "198.51.100.9",
    client: null,
    subject: "CN=vpn",
    names,
    fingerprint: "ab".repeat(32),
  };
  site.clientDiscovery.recordPeer(peer);
  site.clientDiscovery.recordPeer({
    ...peer,
    fingerprint: "cd".repeat(32),
    names: ["DNS:other.example.org"],
  });
  assertEquals((await heard()).body.items.length, 2);
  const { secret: _none, ...rules } = CLIENT;
  const json = { ...rules, address: [], tlsSan: "VPN.example.org" };
  const { body } = await ask(site, "/clients", { method: "POST", json });
  assertEquals([body.secret, body.client.tlsSan], [null, "vpn.example.org"]);
  const { body: { items } } = await heard();
  assertEquals(items.map((one) => (one as unknown as DiscoveredSender).certificate?.names), [
    ["DNS:other.example.org"],
  ]);
  const found = site.clients.findByCertificate({ ...peer, protocol: "radius/1.1" });
  assertEquals(found?.name, "vpn-1");
  const [audit] = await site.audits();
  const { secret, tlsSan, messageAuthenticator } = audit?.after as Record<string, unknown>;
  assertEquals([secret, tlsSan, messageAuthenticator], [undefined, "vpn.example.org", undefined]);
  const again = await ask(site, "/clients", { method: "POST", json: { ...json, name: "vpn-2" } });
  assertEquals(again.body.error.code, "certificate_taken");
});

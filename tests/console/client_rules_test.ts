// The API of a RADIUS client's rules: refused values, the audit record of a change, and the Health rows about unsigned
// requests.

import { assertEquals } from "@std/assert";
import type { HealthReport } from "../../console/api/targets/target_types.ts";
import type { OneClient } from "../../console/api/clients/client_types.ts";
import { ERROR_CODES } from "../../console/api/error_codes.ts";
import { CLIENT_RULES } from "../fakes/client_rules.ts";
import { apiCaller } from "../fakes/console_caller.ts";
import { type ConnectConsole, startConnectConsole } from "../fakes/console_connect.ts";

const CLIENTS = "/console/api/clients";
const RULES = {
  ...CLIENT_RULES,
  appendSeparator: ",",
  codePosition: "separated",
  healthCheckUsers: [],
  unknownUsers: "auto",
  stripDomains: [],
  stripRealms: [],
};
const SERVER = { address: "192.0.2.9:1812", timeoutMs: 2000, secret: "a-first-factor-secret" };
const MALFORMED = ERROR_CODES.malformed.message;
const NO_AFFIX =
  "Not a domain or a realm. Enter it without backslash, @ and spaces, such as CORP or corp.example.";
const NO_USER = "Not a user name for this list. Enter it without spaces and commas, such as probe.";
const NO_SEPARATOR =
  "A separator is one punctuation mark. A hyphen, a letter, a digit or a space is not allowed.";

/** Changes of the rules, and the code and message of each refusal. */
const REFUSED: Readonly<
  Record<string, readonly [change: Record<string, unknown>, code: string, message: string]>
> = {
  "a domain with its backslash": [{ stripDomains: ["CORP\\"] }, "bad_field", `"CORP\\\\": ${NO_AFFIX}`],
  "an empty domain": [{ stripDomains: ["CORP", ""] }, "bad_field", `"": ${NO_AFFIX}`],
  "a realm with its @": [{ stripRealms: ["@corp.example"] }, "bad_field", `"@corp.example": ${NO_AFFIX}`],
  "a realm with a blank": [{ stripRealms: ["corp example"] }, "bad_field", `"corp example": ${NO_AFFIX}`],
  "a realm with an invisible character": [
    { stripRealms: ["corp\u200b"] },
    "bad_field",
    `"corp\u200b": ${NO_AFFIX}`,
  ],
  "a realm of over 253 characters": [
    { stripRealms: ["x".repeat(254)] },
    "bad_field",
    `"${"x".repeat(100)}": ${NO_AFFIX}`,
  ],
  "over 100 realms": [
    { stripRealms: Array.from({ length: 101 }, (_, at) => `r${at}`) },
    "malformed",
    MALFORMED,
  ],
  "a realm that is no text": [{ stripRealms: [7] }, "malformed", MALFORMED],
  "a health check with a blank": [{ healthCheckUsers: ["a b"] }, "bad_field", `"a b": ${NO_USER}`],
  "an unknown code_position": [{ codePosition: "inside" }, "malformed", MALFORMED],
  "a dash as the separator": [{ appendSeparator: "-" }, "bad_field", `"-": ${NO_SEPARATOR}`],
  "two characters as the separator": [{ appendSeparator: ",," }, "bad_field", `",,": ${NO_SEPARATOR}`],
  "an unknown message_authenticator": [{ messageAuthenticator: "sometimes" }, "malformed", MALFORMED],
  "an unknown unknown_users": [{ unknownUsers: "ask" }, "malformed", MALFORMED],
  "unsigned answers of the first-factor server": [
    { firstFactor: "radius", firstFactorServer: { ...SERVER, messageAuthenticator: "off" } },
    "malformed",
    MALFORMED,
  ],
};

/** `names`: the field of a `bad_field`. */
async function refusalOf(response: Response, names?: string): Promise<[number, string, string]> {
  const { error }: { error: { code: string; message: string; field?: string } } = await response.json();
  if (error.code === "bad_field") assertEquals(error.field, names);
  return [response.status, error.code, error.message];
}

/** A console with the client vpn-1. */
async function startWithClient(rules: Record<string, unknown> = {}, toml = "") {
  const site = await startConnectConsole({ toml });
  const cookie = await site.signIn("owner");
  const ask = apiCaller(site, cookie);
  await ask(CLIENTS, { method: "POST", json: { ...RULES, name: "vpn-1", ...rules } });
  return { site, cookie, ask };
}

for (const [what, [change, code, message]] of Object.entries(REFUSED)) {
  Deno.test(`POST and PUT /clients refuse ${what}, and record nothing`, async () => {
    const { site, cookie, ask } = await startWithClient();
    await using _site = site;
    const records = (await site.audits()).length;
    const created = { ...RULES, ...change, name: "vpn-2" };
    const post = await site.call(CLIENTS, { method: "POST", cookie, json: created });
    assertEquals(await refusalOf(post, ...Object.keys(change)), [400, code, message]);
    const changed = { ...RULES, ...change, version: 1 };
    const put = await site.call(`${CLIENTS}/vpn-1`, { method: "PUT", cookie, json: changed });
    assertEquals(await refusalOf(put, ...Object.keys(change)), [400, code, message]);
    const { client } = await ask<OneClient>(`${CLIENTS}/vpn-1`);
    assertEquals([client.version, client.stripDomains, client.stripRealms], [1, [], []]);
    assertEquals((await site.audits()).length, records);
  });
}

/** A change of one rule, and the values of its audit record before and after. */
const CHANGES: Readonly<
  Record<
    string,
    { rules?: Record<string, unknown>; change: Record<string, unknown>; before: unknown; after: unknown }
  >
> = {
  stripDomains: {
    rules: { stripDomains: ["OLD"] },
    change: { stripDomains: ["CORP", "Corp"] },
    before: ["OLD"],
    after: ["CORP", "Corp"],
  },
  stripRealms: { change: { stripRealms: ["corp.example"] }, before: [], after: ["corp.example"] },
  messageAuthenticator: { change: { messageAuthenticator: "require" }, before: "auto", after: "require" },
  unknownUsers: { change: { unknownUsers: "reject" }, before: "auto", after: "reject" },
  eap: { change: { eap: "refuse" }, before: "auto", after: "refuse" },
  eapOuterIdentity: {
    rules: { firstFactor: "radius", firstFactorServer: SERVER },
    change: { firstFactor: "radius", firstFactorServer: SERVER, eapOuterIdentity: "reply" },
    before: "refuse",
    after: "reply",
  },
  appendMode: { change: { appendMode: true }, before: false, after: true },
  appendSeparator: {
    rules: { appendMode: true },
    change: { appendMode: true, appendSeparator: "|" },
    before: ",",
    after: "|",
  },
  codePosition: {
    rules: { appendMode: true },
    change: { appendMode: true, codePosition: "front" },
    before: "separated",
    after: "front",
  },
  healthCheckUsers: { change: { healthCheckUsers: ["probe"] }, before: [], after: ["probe"] },
  firstFactorServerMessageAuthenticator: {
    rules: { firstFactor: "radius", firstFactorServer: SERVER },
    change: { firstFactor: "radius", firstFactorServer: { ...SERVER, messageAuthenticator: "auto" } },
    before: "require",
    after: "auto",
  },
};

for (const [field, { rules = {}, change, before, after }] of Object.entries(CHANGES)) {
  Deno.test(`PUT /clients/:id stores ${field} and records its values before and after`, async () => {
    const { site, ask } = await startWithClient(rules);
    await using _site = site;
    const json = { ...RULES, ...change, version: 1 };
    const { client } = await ask<OneClient>(`${CLIENTS}/vpn-1`, { method: "PUT", json });
    assertEquals(client.version, 2);
    const [record] = (await site.audits()).filter(({ action }) => action === "client.change");
    assertEquals([record?.actor, record?.object], ["owner", "client:vpn-1"]);
    const values = (side: unknown) => (side as Record<string, unknown>)[field];
    assertEquals([values(record?.before), values(record?.after)], [before, after]);
    assertEquals(JSON.stringify(record).includes(SERVER.secret), false);
    // The gateway uses the values from the next packet on.
    const known = site.clients.findByAddress("198.51.100.9")?.[0]?.settings as unknown as Record<
      string,
      unknown
    >;
    if (field in known) assertEquals(known[field], after);
  });
}

const OF_FILE = `[[radius.client]]
name = "of-file"
address = ["192.0.2.1"]
secret = "the secret of the file"
`;

Deno.test("radius.message_authenticator applies to any address, and not to clients with an entry of their own", async () => {
  const toml = `[radius]\nmessage_authenticator = "require"\n${OF_FILE}`;
  const { site, ask } = await startWithClient({ messageAuthenticator: "auto" }, toml);
  await using _site = site;
  const { items } = await ask<{ items: OneClient["client"][] }>(CLIENTS);
  assertEquals(items.map(({ name, messageAuthenticator }) => [name, messageAuthenticator]), [
    ["of-file", "auto"],
    ["vpn-1", "auto"],
  ]);
  assertEquals(await unsignedRows(site), { "of-file": "possible", "vpn-1": "possible" });
});

/** Why each client is a warning about unsigned requests on the Health page. */
async function unsignedRows(site: ConnectConsole): Promise<Record<string, string>> {
  const ask = apiCaller(site, await site.signIn("viewer"));
  const { parts } = await ask<HealthReport>("/console/api/health");
  const rows = parts.filter(({ kind }) => kind === "unsigned");
  for (const { id, name, state, testable } of rows) {
    assertEquals([id, state, testable], [`unsigned:${name}`, "warning", false]);
  }
  return Object.fromEntries(rows.map(({ name, detail }) => [name, detail]));
}

/** Does what the gateway does when it accepts an unsigned Access-Request. */
function acceptUnsigned({ clients }: ConnectConsole, name: string): void {
  const client = clients.all.find((one) => one.name === name);
  if (client !== undefined) client.use.unsignedMs = Date.now();
}

const SIGNED_FROM = { name: "vpn-1" };
type Learning = Parameters<ConnectConsole["signing"]["learn"]>[0];

/** The rules of the client vpn-1, the events, and the detail of its row. */
const STATES: Readonly<
  Record<
    string,
    { rules: Record<string, unknown>; then?: (site: ConnectConsole) => void; rows: Record<string, string> }
  >
> = {
  "auto, before any request": { rules: {}, rows: { "vpn-1": "possible" } },
  "auto, after an unsigned request": {
    rules: {},
    then: (site) => acceptUnsigned(site, "vpn-1"),
    rows: { "vpn-1": "seen" },
  },
  "auto, after its only address signed": {
    rules: {},
    then: ({ signing }) => signing.learn({ client: SIGNED_FROM, source: "198.51.100.9" } as Learning),
    rows: {},
  },
  "auto, after one address of a range signed": {
    rules: { address: ["198.51.100.0/24"] },
    then: ({ signing }) => signing.learn({ client: SIGNED_FROM, source: "198.51.100.9" } as Learning),
    rows: { "vpn-1": "possible" },
  },
  "off, before any request": { rules: { messageAuthenticator: "off" }, rows: { "vpn-1": "always" } },
  "require": { rules: { messageAuthenticator: "require" }, rows: {} },
  "off, while the client is disabled": { rules: { messageAuthenticator: "off", disabled: true }, rows: {} },
};

for (const [what, { rules, then, rows }] of Object.entries(STATES)) {
  Deno.test(`GET /health about unsigned requests of a client: ${what}`, async () => {
    const { site } = await startWithClient(rules);
    await using _site = site;
    then?.(site);
    assertEquals(await unsignedRows(site), rows);
  });
}

/** radius.message_authenticator without clients: whether a request was accepted unsigned, and the row of "any". */
const ANY_STATES = [
  ["auto", false, { any: "possible" }],
  ["auto", true, { any: "seen" }],
  ["off", false, { any: "always" }],
  ["require", false, {}],
] as const;

for (const [mode, wasUnsigned, rows] of ANY_STATES) {
  Deno.test(`GET /health without clients, radius.message_authenticator = "${mode}"${wasUnsigned ? " and an unsigned request" : ""}`, async () => {
    await using site = await startConnectConsole({ toml: `[radius]\nmessage_authenticator = "${mode}"\n` });
    if (wasUnsigned) acceptUnsigned(site, "any");
    assertEquals(await unsignedRows(site), rows);
  });
}

Deno.test("PUT /clients/:id records the values before and after, and only that a secret changed", async () => {
  await using site = await startConnectConsole({});
  const ask = apiCaller(site, await site.signIn("owner"));
  await ask("/console/api/clients", { method: "POST", json: { ...CLIENT_RULES, name: "vpn-1" } });
  const change = { firstFactor: "radius", firstFactorServer: SERVER, disabled: true, version: 1 };
  await ask("/console/api/clients/vpn-1", { method: "PUT", json: { ...CLIENT_RULES, ...change } });
  const record = (await site.audits()).find(({ action }) => action === "client.change");
  const before = { ...record?.before as Record<string, unknown> };
  const after = { ...record?.after as Record<string, unknown> };
  assertEquals([before.disabled, after.disabled], [false, true]);
  assertEquals([before.firstFactorServerSecret, after.firstFactorServerSecret], [undefined, "changed"]);
  assertEquals([after.firstFactorServer, after.firstFactorServerTimeout], ["192.0.2.9:1812", "2 s"]);
  assertEquals(JSON.stringify(record).includes(SERVER.secret), false);
});

// The settings API on a running gateway: conflicts, faults, locks, undo, secrets, and the settings of the console itself.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { openComposition, type TestComposition } from "../fakes/composition.ts";

const SECRET = "a secret that must not be seen";

type Body = Readonly<Record<string, unknown>>;
interface Answer {
  readonly status: number;
  readonly body: Body;
  readonly error: {
    readonly code?: string;
    readonly faults?: readonly { key: string; problem: string }[];
    readonly conflicts?: readonly Body[];
  };
}

async function ask(site: TestComposition, method: string, path: string, json?: unknown): Promise<Answer> {
  const { status, text } = await site.ask(method, `/settings${path}`, json);
  const body = JSON.parse(text);
  return { status, body, error: body.error ?? {} };
}

async function versionOf(site: TestComposition): Promise<string> {
  return String((await ask(site, "GET", "")).body.version);
}

async function save(site: TestComposition, changes: Body, version?: string): Promise<Answer> {
  return await ask(site, "PUT", "", { version: version ?? await versionOf(site), changes });
}

async function settingOf(site: TestComposition, key: string): Promise<Body> {
  const { settings } = (await ask(site, "GET", "")).body as { settings: Body[] };
  return settings.find((row) => row.key === key) ?? {};
}

const FAULTS: readonly {
  readonly what: string;
  readonly changes: Body;
  readonly key: string;
  readonly why: RegExp;
}[] = [
  {
    what: "a number that is too large",
    changes: { "factors.passcode.sms_digits": 11 },
    key: "factors.passcode.sms_digits",
    why: /from 4 to 10/,
  },
  {
    what: "a text for a number",
    changes: { "console.session_hours": "12" },
    key: "console.session_hours",
    why: /whole number/,
  },
  {
    what: "an unknown choice",
    changes: { "factors.enabled": ["pigeon"] },
    key: "factors.enabled",
    why: /device/,
  },
  {
    what: "an unknown key",
    changes: { "factors.nothing": 1 },
    key: "factors.nothing",
    why: /no such setting/,
  },
  {
    what: "a key of the listeners",
    changes: { "radius.listen": ["[::]:1812"] },
    key: "radius.listen",
    why: /restart/,
  },
  {
    what: "the data directory",
    changes: { "server.data_dir": "/tmp" },
    key: "server.data_dir",
    why: /restart/,
  },
  {
    what: "a key of the settings file",
    changes: { "factors.terminal_name": "x" },
    key: "factors.terminal_name",
    why: /settings file/,
  },
  {
    what: "a reference to the environment",
    changes: { "radius.secret": "env:HOME" },
    key: "radius.secret",
    why: /environment/,
  },
  {
    what: "a reference to a file",
    changes: { "factors.requester_name": "file:/etc/passwd" },
    key: "factors.requester_name",
    why: /environment or to a file/,
  },
  {
    what: "a reference in a list",
    changes: { "console.oidc.owners": ["env:HOME"] },
    key: "console.oidc.owners",
    why: /environment/,
  },
  {
    what: "a service without its credentials",
    changes: { "telephony.url": "https://t.example" },
    key: "telephony.auth_token",
    why: /telephony.url/,
  },
  {
    what: "a directory that does not exist",
    changes: { "radius.directory": "corp" },
    key: "radius.directory",
    why: /no target/,
  },
  {
    what: "an attribute that the dictionary lacks",
    changes: { "radius.reply.default": { "Filter-Id": 1e12 } },
    key: 'radius.reply.default."Filter-Id"',
    why: /4294967295/,
  },
  {
    what: "a first factor at a connector that does not exist",
    changes: { "radius.first_factor": "ldap", "radius.first_factor_backend": "ldap" },
    key: "radius.first_factor_backend",
    why: /must name an ldap backend/,
  },
];
for (const { what, changes, key, why } of FAULTS) {
  Deno.test(`PUT /settings refuses ${what} with the reason, and saves nothing`, async () => {
    await using site = await openComposition('[factors]\nterminal_name = "VPN"\n');
    const { status, error } = await save(site, { ...changes, "factors.pushes.per_user": 3 });
    assertEquals([status, error.code], [422, "bad_settings"]);
    const problem = error.faults?.find((fault) => fault.key === key)?.problem ?? "";
    assert(why.test(problem), JSON.stringify(error.faults));
    assertEquals(site.config.factors.pushes.perUser, 5);
    assertEquals(await site.audits(), []);
    const checked = await ask(site, "POST", "/check", { changes });
    assertEquals((checked.body.faults as Body[]).some((fault) => fault.key === key), true);
  });
}

Deno.test("POST /settings/check shows the difference and the new warnings, and saves nothing", async () => {
  await using site = await openComposition();
  const changes = { "factors.phone_numbers": "any", "radius.secret": SECRET };
  const { body } = await ask(site, "POST", "/check", { changes });
  assertEquals(body.diff, [
    { key: "radius.secret", isSecret: true, before: null, after: null },
    { key: "factors.phone_numbers", isSecret: false, before: "registered", after: "any" },
  ]);
  assertEquals((body.warnings as Body[]).map(({ key }) => key), [
    "factors.phone_numbers",
    "factors.country_codes",
  ]);
  assertEquals(site.config.factors.phoneNumbers, "registered");
  assertEquals(await versionOf(site), "0");
});

Deno.test("PUT /settings of two administrators conflicts only in the keys that both changed", async () => {
  await using site = await openComposition();
  const version = await versionOf(site);
  assertEquals((await save(site, { "factors.terminal_name": "One" }, version)).status, 200);
  assertEquals((await save(site, { "factors.requester_name": "Two" }, version)).status, 200);
  const { status, error } = await save(
    site,
    { "factors.terminal_name": "Two", "factors.pushes.per_user": 1 },
    version,
  );
  assertEquals([status, error.code], [409, "changed_meanwhile"]);
  assertEquals(error.conflicts, [
    { key: "factors.terminal_name", atMs: site.clock.nowMs(), by: "command", value: "One", isOwn: true },
  ]);
  assertEquals([site.config.factors.terminalName, site.config.factors.pushes.perUser], ["One", 5]);
  assertEquals((await save(site, { "factors.terminal_name": "Two" })).status, 200);
});

Deno.test("PUT /settings: of two simultaneous saves of one key, one wins", async () => {
  await using site = await openComposition();
  const version = await versionOf(site);
  const answers = await Promise.all(
    Array.from({ length: 5 }, (_, at) => save(site, { "factors.terminal_name": `T${at}` }, version)),
  );
  assertEquals(answers.filter(({ status }) => status === 200).length, 1);
  assertEquals(answers.filter(({ status }) => status === 409).length, 4);
});

const OBJECT_KEYS = ["constructor", "prototype", "__proto__"];
for (const name of OBJECT_KEYS) {
  Deno.test(`PUT /settings refuses the reply attribute and the setting "${name}"`, async () => {
    await using site = await openComposition();
    const table = JSON.parse(`{"Class": "staff", "${name}": "a"}`);
    const answer = await save(site, { "radius.reply.default": table });
    const faults = answer.error.faults?.map(({ key }) => key);
    assertEquals([answer.status, faults], [422, [`radius.reply.default."${name}"`]]);
    assertEquals((await save(site, JSON.parse(`{"${name}": "a"}`))).status, 400);
  });
}

Deno.test("POST /settings/undo restores a value or a secret, once", async () => {
  await using site = await openComposition();
  await save(site, { "radius.secret": SECRET, "factors.pushes.per_user": 7 });
  const { body: { auditId } } = await save(site, { "radius.secret": null, "factors.pushes.per_user": 8 });
  assertEquals([site.config.radius.secret, site.config.factors.pushes.perUser], ["", 8]);
  assertEquals((await ask(site, "POST", "/undo", { auditId })).status, 200);
  assertEquals([site.config.radius.secret, site.config.factors.pushes.perUser], [SECRET, 7]);
  const again = await ask(site, "POST", "/undo", { auditId });
  assertEquals([again.status, again.error.code], [409, "changed_meanwhile"]);
  assertEquals((await ask(site, "POST", "/undo", { auditId: "0" })).status, 404);
});

Deno.test("PUT /settings: a secret is sealed in the store, and absent from answers and the audit log", async () => {
  await using site = await openComposition();
  const { status, body } = await save(site, { "radius.secret": SECRET });
  assertEquals(status, 200);
  assertEquals(JSON.stringify(body).includes(SECRET), false);
  assertEquals((await site.dump()).includes(SECRET), false);
  assertEquals(site.config.radius.secret, SECRET);
  assertEquals(Deno.inspect(site.config, { depth: 9 }).includes(SECRET), false);
  const [audit] = await site.audits();
  assertEquals([audit?.before, audit?.after], [{ "radius.secret": "***" }, { "radius.secret": "changed" }]);
});

Deno.test("PUT /settings never sends a stored secret to a new address", async () => {
  await using site = await openComposition();
  const first = {
    "telephony.url": "https://a.example",
    "telephony.account_id": "AC1",
    "telephony.auth_token": SECRET,
    "telephony.from": "+15550001111",
  };
  assertEquals((await save(site, first)).status, 200);
  const { status, error } = await save(site, { "telephony.url": "https://b.example" });
  assertEquals([status, error.faults?.map(({ key }) => key)], [422, ["telephony.auth_token"]]);
  const both = { "telephony.url": "https://b.example", "telephony.auth_token": "another one" };
  assertEquals((await save(site, both)).status, 200);
});

Deno.test("settings survive a restart; the settings file overrides and locks them", async () => {
  using kv = await Deno.openKv(":memory:");
  {
    await using site = await openComposition("", { joins: { kv, node: "aaaaaaaa" } });
    await save(site, { "factors.terminal_name": "Gate", "factors.pushes.per_user": 2 });
  }
  await using site = await openComposition('[factors]\nterminal_name = "File"', {
    joins: { kv, node: "bbbbbbbb" },
  });
  assertEquals([site.config.factors.terminalName, site.config.factors.pushes.perUser], ["File", 2]);
  const { source, locked, value } = await settingOf(site, "factors.terminal_name");
  assertEquals([source, locked, value], ["file", "file", "File"]);
});

const STALE: readonly {
  readonly what: string;
  readonly key: string;
  readonly value: unknown;
  readonly toml?: string;
}[] = [
  { what: "of another version", key: "factors.passcode.sms_digits", value: 99 },
  { what: "that names a directory which is gone", key: "radius.directory", value: "corp" },
  {
    what: "that does not fit the file",
    key: "telephony.connections_total",
    value: 1,
    toml: "[telephony]\nconnections_per_route = 2",
  },
];
for (const { what, key, value, toml = "" } of STALE) {
  Deno.test(`a stored value ${what} does not stop the start: the default is used, with a problem`, async () => {
    using kv = await Deno.openKv(":memory:");
    await kv.set(["setting", key], { value, revision: 1, atMs: 1, by: "ada" });
    await kv.set(["setting", "factors.pushes.per_user"], { value: 2, revision: 2, atMs: 2, by: "ada" });
    await using site = await openComposition(toml, { joins: { kv, node: "aaaaaaaa" } });
    const { source, problem, value: shown, preset, changed } = await settingOf(site, key);
    assertEquals([source, shown, changed], ["default", preset, { atMs: 1, by: "ada" }]);
    assert(typeof problem === "string" && problem.length > 10);
    const { warnings } = (await ask(site, "GET", "")).body as { warnings: Body[] };
    assertStringIncludes(JSON.stringify(warnings), "is not used");
    assertEquals(site.config.factors.pushes.perUser, 2);
    // Other settings can be saved, and the stale one can be removed.
    assertEquals((await save(site, { "factors.pushes.per_user": 3, [key]: null })).status, 200);
    assertEquals((await settingOf(site, key)).problem, null);
  });
}

Deno.test("two nodes: a change is in effect on the other node with its next request, all keys at once", async () => {
  using kv = await Deno.openKv(":memory:");
  await using a = await openComposition("", { joins: { kv, node: "aaaaaaaa" } });
  await using b = await openComposition('[factors]\nrequester_name = "B"', {
    joins: { kv, node: "bbbbbbbb" },
  });
  const seen: unknown[] = [];
  const version = await versionOf(b);
  await save(a, { "factors.terminal_name": "Gate", "factors.requester_name": "A", "radius.secret": SECRET });
  await b.store.catchUp();
  seen.push(b.config.factors.terminalName, b.config.factors.requesterName, b.config.radius.secret);
  assertEquals(seen, ["Gate", "B", SECRET]);
  assertEquals((await save(b, { "factors.terminal_name": "Other" }, version)).status, 409);
});

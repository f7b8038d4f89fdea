// Directories that are created, changed and removed in the console, on a running gateway.

import { assert, assertEquals, assertNotStrictEquals, assertStrictEquals } from "@std/assert";
import type { Target } from "../../scim/ports.ts";
import { TARGET_TABLES } from "../../scim/follow_directories.ts";
import { openComposition, type TestComposition } from "../fakes/composition.ts";

const ACTOR = { name: "test", source: "" };
const SECRET = "a password of a connector";
const LDAP = {
  kind: "ldap",
  mode: "async",
  // Nothing listens there.
  url: "ldap://127.0.0.1:9",
  users_dn: "ou=people,dc=example,dc=org",
  bind_dn: "cn=admin,dc=example,dc=org",
  bind_password: SECRET,
};
const STORE = { kind: "store" };

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  /** The keys of faults, or the code of a refusal. */
  readonly problem: readonly string[] | string | null;
}

async function ask(site: TestComposition, method: string, path = "", json?: unknown): Promise<Answer> {
  const { status, text } = await site.ask(method, `/target-settings${path}`, json);
  const body = JSON.parse(text);
  const faults: readonly { key: string }[] | undefined = body.error?.faults;
  return { status, body, problem: faults?.map(({ key }) => key) ?? body.error?.code ?? null };
}

const put = (site: TestComposition, name: string, table: unknown, version = "99") =>
  ask(site, "PUT", `/${name}`, { version, table });

const targetOf = (site: TestComposition, name: string) => site.identity.targets.get(name) as Target;

async function addUser(site: TestComposition, target: string, name: string): Promise<void> {
  const attributes = { name: { familyName: "", givenName: "" } };
  await targetOf(site, target).create({ kind: "user", name, active: true, attributes }, { actor: ACTOR });
}

Deno.test("PUT /target-settings creates a directory that is used at once, and after a restart", async () => {
  using kv = await Deno.openKv(":memory:");
  {
    await using site = await openComposition("", { joins: { kv, node: "aaaaaaaa" } });
    assertEquals((await put(site, "corp", { page_size: 7 })).status, 200);
    assertEquals(site.identity.targets.names, ["default", "corp"]);
    assertEquals(targetOf(site, "corp").pageSize, 7);
    await addUser(site, "corp", "ada");
    const record = (await site.audits()).find(({ action }) => action === "target.create");
    assertEquals([record?.object, record?.after], ["target:corp", { page_size: 7 }]);
  }
  await using again = await openComposition("", { joins: { kv, node: "bbbbbbbb" } });
  assertEquals(targetOf(again, "corp").directory.count("user"), 1);
  await put(again, "corp", { page_size: 8 });
});

Deno.test("PUT /target-settings replaces connectors and the mapping while the directory is used", async () => {
  await using site = await openComposition();
  await put(site, "corp", { backends: { store: STORE } });
  await addUser(site, "corp", "ada");
  const held = targetOf(site, "corp");
  await put(site, "corp", {
    backends: { ldap: LDAP, store: STORE },
    mapping: { user: { title: "jobTitle" } },
  });
  assertEquals(held.backends.map(({ name, kind }) => `${name}: ${kind}`), ["ldap: ldap", "store: store"]);
  assertEquals(held.mapping.user.find(({ scim }) => scim === "title")?.frontEnd, "jobTitle");
  assertEquals(held.directory.count("user"), 1);
  await addUser(site, "corp", "grace");
  assertEquals(held.pendingWrites(9).map(({ name, backend }) => `${name} ${backend}`), ["grace ldap"]);
  const swapped = { backends: { store: STORE, ldap: { ...LDAP, bind_password: undefined } } };
  assertEquals((await put(site, "corp", swapped)).status, 200);
  assertEquals(held.backends.map(({ name }) => name), ["store", "ldap"]);
  // A kept secret and the pending write survive the change.
  assertEquals(held.pendingWrites(9).length, 1);
});

Deno.test("a connector's password is sealed, never shown, and not sent to a new address", async () => {
  await using site = await openComposition();
  const { status, body } = await put(site, "corp", { backends: { ldap: LDAP } });
  assertEquals(status, 200);
  assertEquals(JSON.stringify(body).includes(SECRET), false);
  const item = body.item as { table: { backends: { ldap: Record<string, unknown> } } };
  assertEquals(item.table.backends.ldap.bind_password, true);
  assertEquals((await site.dump()).includes(SECRET), false);
  const { bind_password: _, ...open } = LDAP;
  assertEquals((await put(site, "corp", { backends: { ldap: { ...open, timeout_ms: 900 } } })).status, 200);
  const moved = await put(site, "corp", { backends: { ldap: { ...open, url: "ldap://127.0.0.1:10" } } });
  assertEquals([moved.status, moved.problem], [422, ["targets.corp.backends.ldap.bind_password"]]);
  const test = await ask(site, "POST", "/corp/test", {
    table: { backends: { ldap: { ...open, url: "ldap://127.0.0.1:10" } } },
    backend: "ldap",
  });
  assertEquals(test.status, 422);
});

Deno.test("a connector's password is not sent in plain text after StartTLS is turned off", async () => {
  await using site = await openComposition();
  const secure = { ...LDAP, start_tls: true };
  assertEquals((await put(site, "corp", { backends: { ldap: secure } })).status, 200);
  const { bind_password: _, ...open } = secure;
  assertEquals((await put(site, "corp", { backends: { ldap: { ...open, timeout_ms: 900 } } })).status, 200);
  for (const start_tls of [false, undefined]) {
    const plain = await put(site, "corp", { backends: { ldap: { ...open, start_tls } } });
    assertEquals([plain.status, plain.problem], [422, ["targets.corp.backends.ldap.bind_password"]]);
  }
  const repeated = await put(site, "corp", { backends: { ldap: { ...secure, start_tls: false } } });
  assertEquals(repeated.status, 200);
});

const FAULTS: readonly { what: string; name?: string; table: unknown; keys: readonly string[] }[] = [
  { what: "a name with a space", name: "a%20b", table: {}, keys: ['targets."a b"'] },
  { what: "a directory of the file", name: "fixed", table: {}, keys: ["targets.fixed"] },
  { what: "a page size of 0", table: { page_size: 0 }, keys: ["targets.corp.page_size"] },
  {
    what: "an unknown kind",
    table: { backends: { x: { kind: "nis" } } },
    keys: ["targets.corp.backends.x.kind"],
  },
  {
    what: "a reference to the environment",
    table: { backends: { x: { ...LDAP, bind_password: "env:HOME" } } },
    keys: ["targets.corp.backends.x.bind_password"],
  },
  {
    what: "a path of a certificate",
    table: { backends: { x: { ...LDAP, url: "ldaps://127.0.0.1", ca_cert: "/etc/passwd" } } },
    keys: ["targets.corp.backends.x.ca_cert"],
  },
  {
    what: "a path of schema extensions",
    table: { extensions: "/etc/passwd" },
    keys: ["targets.corp.extensions"],
  },
  {
    what: "schema extensions that cannot be used",
    table: { extensions: '[{"id":"urn:ietf:params:scim:x","name":"A"}]' },
    keys: ["targets.corp.extensions"],
  },
  {
    what: "schema extensions that are too long for the store",
    table: { extensions: `[${" ".repeat(24_000)}]` },
    keys: ["targets.corp.extensions"],
  },
  {
    what: "two attributes with one front-end attribute",
    table: { mapping: { user: { title: "x", nickName: "x" } } },
    keys: ['targets.corp.mapping.user."nickName"'],
  },
];
for (const { what, name = "corp", table, keys } of FAULTS) {
  Deno.test(`PUT /target-settings refuses ${what}, and saves nothing`, async () => {
    await using site = await openComposition("[targets.fixed]\npage_size = 5\n");
    const { status, problem } = await put(site, name, table);
    assertEquals([status, problem], [422, keys]);
    assertEquals(site.identity.targets.names, ["default", "fixed"]);
  });
}

/** Schema extensions of the greatest length. The store keeps each character in two octets, because of one letter. */
function longExtensions(letter: "ж" | "я"): string {
  const schema = { id: "urn:example:a", name: letter, attributes: [{ name: "x" }] };
  return JSON.stringify([schema]).padEnd(24_000);
}

Deno.test("PUT /target-settings saves, audits and undoes the longest schema extensions", async () => {
  await using site = await openComposition();
  const [first, second] = [longExtensions("ж"), longExtensions("я")];
  assertEquals((await put(site, "corp", { extensions: first, page_size: 7 })).status, 200);
  const { status, body } = await put(site, "corp", { extensions: second, page_size: 7 });
  assertEquals(status, 200);
  const record = (await site.audits()).find(({ action }) => action === "target.change");
  const beginning = (text: string) => `${text.slice(0, 4000)}… (24000 characters)`;
  assertEquals([record?.before, record?.after], [{ extensions: beginning(first) }, {
    extensions: beginning(second),
  }]);
  const extensions = () => site.config.targets.find(({ name }) => name === "corp")?.extensions;
  assertEquals(extensions(), second);
  assertEquals((await site.ask("POST", "/settings/undo", { auditId: body.auditId })).status, 200);
  assertEquals(extensions(), first);
});

Deno.test("PUT /target-settings with other schema extensions leaves the connectors open", async () => {
  await using site = await openComposition();
  await put(site, "corp", { backends: { store: STORE } });
  const { backends } = targetOf(site, "corp");
  assertEquals((await put(site, "corp", { backends: { store: STORE }, extensions: "[]" })).status, 200);
  assertStrictEquals(targetOf(site, "corp").backends, backends);
  await put(site, "corp", { backends: { store: STORE }, extensions: "[]", page_size: 7 });
  assertNotStrictEquals(targetOf(site, "corp").backends, backends);
});

Deno.test("PUT /target-settings of two administrators: the second one gets a conflict", async () => {
  await using site = await openComposition();
  assertEquals((await put(site, "corp", { page_size: 1 }, "0")).status, 200);
  const { status, problem } = await put(site, "corp", { page_size: 2 }, "0");
  assertEquals([status, problem], [409, "changed_meanwhile"]);
  assertEquals(targetOf(site, "corp").pageSize, 1);
});

Deno.test("DELETE /target-settings keeps data and pending writes; undo brings them back", async () => {
  await using site = await openComposition();
  await put(site, "corp", { backends: { store: STORE, ldap: LDAP } });
  await addUser(site, "corp", "ada");
  for (const [name, target] of [["okta", "corp"], ["entra", "default"]]) {
    const made = await site.ask("POST", "/connections", { name, kind: "okta", target });
    assertEquals(made.code, null, made.text);
  }
  const { impact } = (await ask(site, "GET", "/corp")).body.item as { impact: Record<string, unknown> };
  assertEquals([impact.users, impact.pendingWrites, impact.isLogin], [1, 1, false]);
  assertEquals(impact.connections, ["okta"]);
  const { status, body } = await ask(site, "DELETE", "/corp", { version: "99" });
  assertEquals(status, 200);
  assertEquals(site.identity.targets.names, ["default"]);
  const { removed } = (await ask(site, "GET")).body as { removed: { name: string; dataUntilMs: number }[] };
  const dataUntilMs = site.clock.nowMs() + 30 * 24 * 3600_000;
  assertEquals(removed.map((one) => [one.name, one.dataUntilMs]), [["corp", dataUntilMs]]);
  assertEquals((await site.ask("POST", "/settings/undo", { auditId: body.auditId })).status, 200);
  await site.identity.applySettings();
  assertEquals(targetOf(site, "corp").directory.count("user"), 1);
  assertEquals(targetOf(site, "corp").pendingWrites(9).length, 1);
});

Deno.test("DELETE /target-settings with the right counts deletes the data, and only that of the directory", async () => {
  await using site = await openComposition();
  await put(site, "corp", {});
  await Promise.all([addUser(site, "corp", "ada"), addUser(site, "default", "grace")]);
  const others = [
    "enrolment",
    "last_sign_in",
    "remembered_device",
    "remembered_epoch",
    "trash",
    "trash_part",
  ];
  const keys = others.map((table) => [table, "corp", "x"]);
  await site.store.commit({ mutations: keys.map((key) => ({ type: "set", key, value: {} })) });
  const wrong = await ask(site, "DELETE", "/corp", { version: "99", deleteData: { users: 2, groups: 0 } });
  assertEquals([wrong.status, wrong.problem], [409, "target_counts_changed"]);
  const right = { version: "99", deleteData: { users: 1, groups: 0 } };
  assertEquals((await ask(site, "DELETE", "/corp", right)).status, 200);
  const left = async () => (await Array.fromAsync(site.store.list(["user"]))).map(({ key }) => key.slice(1));
  while ((await left()).length > 1) await new Promise((resolve) => setTimeout(resolve, 5));
  assertEquals(await left(), [["default", "grace"]]);
  const isDeleted = async () => (await site.audits()).some(({ action }) => action === "target.delete_data");
  while (!await isDeleted()) await new Promise((resolve) => setTimeout(resolve, 5));
  for (const key of keys) assertEquals((await site.store.get(key)).value, null, key[0]);
  // A new directory with the name is empty.
  assertEquals((await put(site, "corp", {})).status, 200);
  assertEquals(targetOf(site, "corp").directory.count("user"), 0);
});

Deno.test("a removed directory leaves no table of the store whose keys begin with its name", async () => {
  const snapshot = await Deno.readTextFile(new URL("../contract/snapshots/store_keys.txt", import.meta.url));
  const tables = new Set([...snapshot.matchAll(/^(\w+) \/ <target>/gm)].map(([, table = ""]) => table));
  assert(tables.size > 20);
  // The record of the removal stays: it says who removed the directory, and when.
  assertEquals([...tables.difference(new Set<string>(TARGET_TABLES))], ["setting_target"]);
});

Deno.test("the directory of sign-ins cannot be removed; users can sign in from another one", async () => {
  await using site = await openComposition();
  await put(site, "corp", {});
  await addUser(site, "corp", "ada");
  const statusOf = () => site.identity.logins.directory.login("ada").status;
  await site.identity.logins.directory.prepareLogin("ada");
  assertEquals(statusOf(), "unknown");
  const change = { version: "99", changes: { "radius.directory": "corp" } };
  assertEquals((await site.ask("PUT", "/settings", change)).status, 200);
  while (site.identity.logins.name !== "corp") await new Promise((resolve) => setTimeout(resolve, 5));
  await site.identity.logins.directory.prepareLogin("ada");
  assertEquals(statusOf(), "active");
  const { status, problem } = await ask(site, "DELETE", "/corp", { version: "99" });
  assertEquals([status, problem], [422, ["radius.directory"]]);
  assertEquals((await ask(site, "DELETE", "/default", { version: "99" })).problem, ["targets.default"]);
});

Deno.test("POST /target-settings/:name/test says that a server does not answer, and does not save", async () => {
  await using site = await openComposition();
  const { body } = await ask(site, "POST", "/corp/test", {
    table: { backends: { ldap: LDAP } },
    backend: "ldap",
  });
  assertEquals([body.ok, body.code, body.users], [false, "unreachable", []]);
  assertEquals(site.identity.targets.names, ["default"]);
  assert(typeof body.message === "string" && !body.message.includes(SECRET));
});

Deno.test("two nodes: a directory that one creates is open on the other", async () => {
  using kv = await Deno.openKv(":memory:");
  await using a = await openComposition("", { joins: { kv, node: "aaaaaaaa" } });
  await using b = await openComposition("", { joins: { kv, node: "bbbbbbbb" } });
  await put(a, "corp", { page_size: 3 });
  await b.store.catchUp();
  await b.identity.applySettings();
  assertEquals(targetOf(b, "corp").pageSize, 3);
  await put(a, "corp", { page_size: 4 });
});

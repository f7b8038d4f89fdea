// Passwords of administrators: checks, renewal, and the operator on the host.

import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { AdminStore, createAdminPasswordHasher } from "../../console/api/auth/admin_store.ts";
import { sourceKey } from "../../platform/addresses.ts";
import { Refusal } from "../../console/api/errors.ts";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import {
  ACCOUNT_WINDOW_MS,
  ATTACKED_WAIT_MS,
  createAccountRateLimit,
  MAX_ACCOUNT_FAILURES,
} from "../../console/api/auth/sign_in_rate_limit.ts";
import { createManualClock } from "../fakes/console_app.ts";
import { type Admin, adminKey, type AdminRecord } from "../../console/api/auth/admin_records.ts";
import { type PasswordHasher, REQUEST_COST } from "../../platform/password_hasher.ts";
import { Sessions } from "../../console/api/auth/sessions.ts";
import { createLog } from "../../platform/log.ts";
import { createStore, type Store } from "../../platform/store.ts";
import { createVault } from "../../platform/vault.ts";
import { apiValue } from "../../cli/admin_connection.ts";
import { MAX_BODY_OCTETS } from "../../console/request_gate.ts";
import { openComposition, type TestComposition } from "../fakes/composition.ts";
import { CONSOLE_ROUTES, type ConsoleRoute } from "../fakes/console_routes.ts";

// Password hashes of administrators: correctness, limits, and no blocking of the thread that answers RADIUS.

const random = createSystemRandom();

Deno.test("createPasswordHasher() distinguishes the right password from others, in NFC", async () => {
  const hasher = createAdminPasswordHasher({ random, cost: { costLog2: 4 } });
  const hash = await hasher.make("pa\u00dfwort \u00e9");
  assertEquals(await hasher.check("pa\u00dfwort e\u0301", hash), true);
  assertEquals(await hasher.check("pa\u00dfwort e", hash), false);
  assertEquals(await hasher.check("anything", null), false);
  assertEquals(await hasher.check("", null), false);
  assertNotEquals((await hasher.make("same")).hash, (await hasher.make("same")).hash);
});

Deno.test("createPasswordHasher() checks hashes of another cost", async () => {
  const earlier = createAdminPasswordHasher({ random, cost: { costLog2: 5 } });
  const hash = await earlier.make("same words");
  const now = createAdminPasswordHasher({ random, cost: { costLog2: 4, parallelization: 3 } });
  assertEquals(await now.check("same words", hash), true);
  assertEquals(await earlier.check("same words", await now.make("same words")), true);
  assertEquals(await now.check("other words", hash), false);
});

Deno.test("createPasswordHasher() runs 2 checks, queues 16, and refuses the rest", async () => {
  const hasher = createAdminPasswordHasher({ random, cost: { costLog2: 10 } });
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => hasher.make("x")));
  const refused = outcomes.filter((outcome) => outcome.status === "rejected");
  assertEquals(refused.length, 2);
  for (const { reason } of refused) assert(reason instanceof Refusal && reason.code === "busy");
  await hasher.make("room again");
});

Deno.test("createPasswordHasher() frees its slots when a hash fails", async () => {
  const hasher = createAdminPasswordHasher({ random, cost: { costLog2: 4 } });
  const broken = { algorithm: "scrypt", costLog2: 40, salt: "x", hash: "" } as const;
  for (let round = 0; round < 5; round += 1) await assertRejects(() => hasher.check("x", broken));
  assertEquals(await hasher.check("x", await hasher.make("x")), true);
});

Deno.test("createPasswordHasher() does not block the thread at its real cost", async () => {
  const hasher = createAdminPasswordHasher({ random });
  let turns = 0;
  const timer = setInterval(() => turns += 1, 1);
  const { costLog2, parallelization } = await hasher.make("one");
  clearInterval(timer);
  assertEquals([costLog2, parallelization], [15, 3]);
  assertEquals(REQUEST_COST, { costLog2: 15 });
  // A synchronous hash would leave no time for a timer.
  assert(turns > 0);
});

const SOURCES: readonly (readonly [address: string, key: string])[] = [
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::9", "2001:db8:1:2::/64"],
  ["2001:0DB8:0001:2::9", "2001:db8:1:2::/64"],
  ["::1", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
];
for (const [address, key] of SOURCES) {
  Deno.test(`sourceKey() counts ${address} under ${key}`, () => assertEquals(sourceKey(address), key));
}

async function attacked() {
  const clock = createManualClock();
  const attempts = createAccountRateLimit({ clock });
  const isRefused = async (source: string, name = "Ada") => {
    try {
      await attempts.refuseLimited({ name, source });
      return false;
    } catch (fault) {
      if (fault instanceof Refusal && fault.code === "too_many_attempts") return true;
      throw fault;
    }
  };
  for (let at = 0; at < MAX_ACCOUNT_FAILURES; at += 1) {
    await attempts.failed({ name: "ada", source: `198.51.100.${at}` });
  }
  return { clock, attempts, isRefused };
}

Deno.test("createAccountRateLimit() allows each source one wrong sign-in in 15 minutes for an account under attack", async () => {
  const { clock, attempts, isRefused } = await attacked();
  assertEquals([await isRefused("203.0.113.1"), await isRefused("198.51.100.3")], [false, true]);
  assertEquals(await isRefused("198.51.100.3", "bob"), false);
  await attempts.failed({ name: "ADA", source: "203.0.113.1" });
  assertEquals(await isRefused("203.0.113.1"), true);
  clock.advance(ATTACKED_WAIT_MS);
  assertEquals(await isRefused("203.0.113.1"), false);
});

Deno.test("createAccountRateLimit() does not limit a source from which the account signed in", async () => {
  const { attempts, isRefused } = await attacked();
  await attempts.failed({ name: "ada", source: "2001:db8::1" });
  assertEquals(await isRefused("2001:db8::2"), true);
  await attempts.succeeded({ name: "ada", source: "2001:db8::2" });
  await attempts.failed({ name: "ada", source: "2001:db8::1" });
  assertEquals(await isRefused("2001:db8::1"), false);
});

Deno.test("createAccountRateLimit() forgets an attack after an hour", async () => {
  const { clock, isRefused } = await attacked();
  clock.advance(ACCOUNT_WINDOW_MS);
  assertEquals(await isRefused("198.51.100.3"), false);
});

// A password hash with an earlier cost is renewed at sign-in, so that every sign-in takes the same work.

const PASSWORD = "correct horse battery";
const PLACE = { source: "192.0.2.1", agent: "a browser", by: "password", freshMs: 0 } as const;
const EARLIER = createAdminPasswordHasher({ random: random, cost: { costLog2: 5 } });
const CURRENT = createAdminPasswordHasher({
  random: random,
  cost: { costLog2: 4, parallelization: 3 },
});

interface Accounts extends AsyncDisposable {
  readonly store: Store;
  adminsWith(hasher: PasswordHasher): AdminStore;
  sessionsOf(admins: AdminStore): Sessions;
  record(): Promise<AdminRecord>;
}

/** A store with the administrator Ada, whose password hash has an earlier cost. */
async function openAccounts(changes: Partial<AdminRecord> = {}): Promise<Accounts> {
  const store = createStore(await Deno.openKv(":memory:"), { nowMs: systemClock.nowMs });
  const password = await EARLIER.make(PASSWORD);
  const ada: AdminRecord = { id: "ada-1", name: "Ada", role: "owner", createdMs: 1, password, ...changes };
  await store.commit({ mutations: [{ type: "set", key: adminKey("Ada"), value: ada }] });
  const vault = createVault(new Uint8Array(32).fill(7), random);
  const settings = { sessionMs: 3_600_000, idleMs: 3_600_000 };
  return {
    store,
    sessionsOf: (admins) =>
      new Sessions({ store, vault, clock: systemClock, random: random, admins, settings }),
    adminsWith: (hasher) =>
      new AdminStore({
        store,
        vault,
        clock: systemClock,
        random: random,
        log: createLog({ format: "text", level: "error", clock: systemClock, write: () => undefined }),
        http: { publicUrl: "http://localhost" },
        configAdmins: [],
        hasher,
      }),
    record: async () => (await store.get<AdminRecord>(adminKey("Ada"))).value ?? ada,
    [Symbol.asyncDispose]: () => store.close(),
  };
}

Deno.test("check() renews a hash of an earlier cost once, and the password stays valid", async () => {
  await using accounts = await openAccounts();
  const admins = accounts.adminsWith(CURRENT);
  const before = await accounts.record();
  assertEquals((await admins.check("Ada", PASSWORD))?.name, "Ada");
  const renewed = await accounts.record();
  assertEquals([renewed.password?.costLog2, renewed.password?.parallelization], [4, 3]);
  assertEquals({ ...renewed, password: null }, { ...before, password: null });
  assertEquals((await admins.check("Ada", PASSWORD))?.name, "Ada");
  assertEquals(await accounts.record(), renewed);
  assertEquals(await admins.check("Ada", "another password"), null);
});

Deno.test("a renewed hash ends no session, neither an older one nor the new one", async () => {
  await using accounts = await openAccounts();
  const admins = accounts.adminsWith(CURRENT);
  const sessions = accounts.sessionsOf(admins);
  const begin = async (admin: Admin | null) => {
    if (admin === null) throw new Error("The right password was refused");
    return (await sessions.begin(admin, PLACE)).token;
  };
  const tokens = [
    await begin(await accounts.adminsWith(EARLIER).check("Ada", PASSWORD)),
    // Two sign-ins at once: one of them loses the race to write the new hash.
    ...await Promise.all([1, 2].map(async () => begin(await admins.check("Ada", PASSWORD)))),
  ];
  assertEquals((await accounts.record()).password?.costLog2, 4);
  for (const token of tokens) {
    assertEquals((await sessions.resume(token, { countsAsUse: true }))?.admin.name, "Ada");
  }
});

Deno.test("check() does not renew a hash after a wrong password or for a disabled administrator", async () => {
  await using accounts = await openAccounts();
  const before = await accounts.record();
  assertEquals(await accounts.adminsWith(CURRENT).check("Ada", "another password"), null);
  assertEquals(await accounts.record(), before);
  await using disabled = await openAccounts({ disabled: true });
  const kept = await disabled.record();
  assertEquals(await disabled.adminsWith(CURRENT).check("Ada", PASSWORD), null);
  assertEquals(await disabled.record(), kept);
});

Deno.test("check() does not overwrite a record that changed while the password was hashed", async () => {
  await using accounts = await openAccounts();
  const admins = accounts.adminsWith({
    ...CURRENT,
    async make(password) {
      const changed = { ...await accounts.record(), role: "viewer" };
      await accounts.store.commit({ mutations: [{ type: "set", key: adminKey("Ada"), value: changed }] });
      return await CURRENT.make(password);
    },
  });
  await admins.check("Ada", PASSWORD);
  const { role, password } = await accounts.record();
  assertEquals([role, password?.costLog2], ["viewer", 5]);
});

Deno.test("check() accepts a right password while too many hashes wait", async () => {
  await using accounts = await openAccounts();
  const busy = { ...CURRENT, make: () => Promise.reject(new Refusal("busy")) };
  assertEquals((await accounts.adminsWith(busy).check("Ada", PASSWORD))?.name, "Ada");
  assertNotEquals((await accounts.record()).password?.costLog2, 4);
});

// Requests of the operator through the control socket: which are answered, under which name, and which are refused.

/** How the authentication middleware refuses a request. */
const GATE_REFUSALS = new Set([
  "role",
  "step_up",
  "not_signed_in",
  "not_same_origin",
  "not_for_tokens",
  "bad_api_token",
  "browser_only",
]);
/** Starts a response that never ends. */
const STREAM = "/live/stream";
const ASKED = CONSOLE_ROUTES.filter(({ needs, path }) => needs !== "anyone" && path !== STREAM);

const ask = ({ ask }: TestComposition, { method, path }: ConsoleRoute) =>
  ask(method, path.replaceAll(/:\w+/g, "some-id"), method === "GET" ? undefined : {});

Deno.test("answerControlSocket() allows the operator everything without a session and a recent factor, except browser-only routes", async (t) => {
  await using gateway = await openComposition();
  for (const row of ASKED) {
    const expected = row.browserOnly ? "browser_only" : "answered";
    await t.step(`${row.method} ${row.path}: ${expected}`, async () => {
      const { code } = await ask(gateway, row);
      assertEquals(code !== null && GATE_REFUSALS.has(code) ? code : "answered", expected);
    });
  }
});

Deno.test("may() marks every route about the browser's own session and factors as browserOnly", () => {
  const own = CONSOLE_ROUTES.filter(({ path, needs }) =>
    needs !== "anyone" && /^\/(session|sessions|factors)\b/.test(path)
  );
  assertEquals(own.filter(({ browserOnly }) => browserOnly !== true), []);
  assertEquals(CONSOLE_ROUTES.filter(({ browserOnly }) => browserOnly === true), own);
});

/** Other paths of the listeners, which do not exist on the socket. */
const UNREACHABLE = [
  "/",
  "/users",
  "/me",
  "/me/api/session",
  "/device",
  "/device/api/session",
  "/openapi.json",
  "/assets/web.js",
  "/idm/scim/default/Users",
  "/console/api",
  "/console/apis/users",
  "/console/api/../../me",
];
for (const path of UNREACHABLE) {
  Deno.test(`answerControlSocket() answers ${path} with 404`, async () => {
    await using gateway = await openComposition();
    const response = await gateway.app.answerControlSocket(new Request(`http://localhost${path}`));
    assertEquals([response.status, (await response.json()).error.code], [404, "not_found"]);
  });
}

/** Requests that an operator never sends, and how they are refused. */
const REFUSED: readonly (readonly [what: string, path: string, init: RequestInit, code: string])[] = [
  ["an unknown method", "/users", { method: "OPTIONS" }, "method"],
  ["an unknown route", "/user", {}, "not_found"],
  ["a body that is no JSON", "/users", { method: "POST", body: "userName=ann" }, "not_json"],
  ["a very long address", `/users?q=${"x".repeat(9000)}`, {}, "target_too_long"],
];
for (const [what, path, init, code] of REFUSED) {
  Deno.test(`answerControlSocket() refuses ${what} as ${code}`, async () => {
    await using gateway = await openComposition();
    const request = new Request(`http://localhost/console/api${path}`, init);
    assertEquals((await (await gateway.app.answerControlSocket(request)).json()).error.code, code);
  });
}

Deno.test("answerControlSocket() accepts a body of 1 MiB and no larger one", async () => {
  await using gateway = await openComposition();
  const post = (displayName: string) =>
    gateway.ask("POST", "/users", { user: { userName: "ann", displayName } });
  assertEquals((await post("x".repeat(MAX_BODY_OCTETS))).code, "body_too_large");
  assertEquals((await post("x".repeat(100_000))).code, null);
});

Deno.test("answerControlSocket() ignores the Host header, because the socket has no name", async () => {
  await using gateway = await openComposition();
  const url = "http://elsewhere.example/console/api/live";
  const response = await gateway.app.answerControlSocket(new Request(url));
  await response.body?.cancel();
  assertEquals(response.status, 200);
});

Deno.test("a request of the HTTP listener is never treated as the operator's, whatever its headers are", async () => {
  await using gateway = await openComposition();
  const headers = { origin: "http://127.0.0.1:8080", host: "127.0.0.1:8080", cookie: "console=command" };
  const known = { remoteAddress: "127.0.0.1", viaControlSocket: true, secure: true };
  for (const row of ASKED) {
    const path = row.path.replaceAll(/:\w+/g, "some-id");
    const { method } = row;
    const request = new Request(`http://127.0.0.1:8080/console/api${path}`, { method, headers });
    const response = await gateway.app(request, known);
    assertEquals((await response.json()).error.code, "not_signed_in", `${method} ${path}`);
  }
});

Deno.test("the audit log names the operator `command`, also in the records of the directory", async () => {
  await using gateway = await openComposition();
  const { api } = gateway;
  await apiValue(api.users.$post({ json: { user: { userName: "ann" } }, query: {} }));
  await apiValue(api.groups.$post({ json: { name: "staff", members: ["ann"] }, query: {} }));
  const json = { name: "saas", targets: ["default"], access: "read" as const };
  await apiValue(api.credentials.$post({ json }));
  const records = await gateway.audits();
  assertEquals(records.map(({ actor, action }) => [actor, action]), [
    ["command", "user.created"],
    ["command", "group.created"],
    ["command", "scim_credential.add"],
  ]);
  assert(records.every(({ source, browser }) => source === undefined && browser === undefined));
});

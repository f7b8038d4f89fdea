// Sessions, and the audit records of sign-ins.

import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { ADMINS, createManualClock, PASSWORD, startConsole, type TestConsole } from "../fakes/console_app.ts";
import { createRejectedSignIns, UNKNOWN_NAME } from "../../console/api/auth/sign_in.ts";
import { UNKNOWN_ACTOR } from "../../platform/audit.ts";
import { createLog } from "../../platform/log.ts";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";

// Sessions of the console: sign-in, cookies, timeouts and sign-out.

const SESSION = "/console/api/session";

function signInBody(values: Record<string, unknown> = {}) {
  return { method: "POST", json: { name: "owner", password: PASSWORD, ...values } };
}

Deno.test("createSessionRoutes() sets a new HttpOnly, SameSite=Strict cookie of 128 bits each time", async () => {
  await using site = await startConsole();
  const cookies: string[] = [];
  for (let round = 0; round < 2; round += 1) {
    const response = await site.call(SESSION, signInBody());
    assertEquals((await response.json()).session.role, "owner");
    cookies.push(response.headers.get("set-cookie") ?? "");
  }
  for (const cookie of cookies) {
    assertMatch(cookie, /^countersign=[A-Za-z0-9_-]{22}; Path=\/; HttpOnly; SameSite=Strict$/);
  }
  assertNotEquals(cookies[0], cookies[1]);
});

Deno.test("createSessionRoutes() uses the __Host- prefix and Secure behind https", async () => {
  await using site = await startConsole({
    change: (deps) => ({ ...deps, http: { ...deps.http, publicUrl: "https://gate.example.org" } }),
  });
  const request = new Request("http://gate.example.org/console/api/session", {
    method: "POST",
    headers: {
      host: "gate.example.org",
      origin: "https://gate.example.org",
      "content-type": "application/json",
    },
    body: JSON.stringify({ name: "owner", password: PASSWORD }),
  });
  const response = await site.app(request, { remoteAddress: "192.0.2.1" });
  assertEquals(response.status, 200);
  assertMatch(
    response.headers.get("set-cookie") ?? "",
    /^__Host-countersign=[A-Za-z0-9_-]{22}; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
  );
  assertMatch(response.headers.get("strict-transport-security") ?? "", /^max-age=\d+$/);
});

Deno.test("Sessions stores no token", async () => {
  await using site = await startConsole();
  const token = (await site.signIn("owner")).split("=")[1] ?? "";
  const entries = await Array.fromAsync(site.store.list(["console_session"]));
  assertEquals(entries.length, 1);
  assertEquals(JSON.stringify(entries).includes(token), false);
});

const REFUSED: readonly (readonly [what: string, headers: Record<string, string>, status: number])[] = [
  ["another site's Origin", { origin: "https://evil.test" }, 403],
  ["Origin null", { origin: "null" }, 403],
  ["the same host over another scheme", { origin: "https://HERE" }, 403],
  ["Sec-Fetch-Site: cross-site", { "sec-fetch-site": "cross-site" }, 403],
  ["Sec-Fetch-Site: same-site", { "sec-fetch-site": "same-site" }, 403],
  ["a form's content type", { "content-type": "application/x-www-form-urlencoded" }, 415],
  ["text/plain", { "content-type": "text/plain" }, 415],
  ["a JSON type with a parameter", { "content-type": "application/json; charset=utf-8" }, 200],
];
Deno.test("sameOrigin and jsonBody() refuse requests that a page of another site could send", async (t) => {
  await using site = await startConsole();
  for (const [what, headers, status] of REFUSED) {
    await t.step(`${what}: ${status}`, async () => {
      const here = new URL(site.origin).host;
      const all = Object.fromEntries(Object.entries(headers).map(([n, v]) => [n, v.replace("HERE", here)]));
      const response = await site.call(SESSION, { ...signInBody(), headers: all });
      await response.body?.cancel();
      assertEquals(response.status, status);
    });
  }
  await t.step("neither Origin nor Sec-Fetch-Site: 403", async () => {
    const response = await fetch(site.origin + SESSION, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: "owner", password: PASSWORD }),
    });
    await response.body?.cancel();
    assertEquals(response.status, 403);
  });
});

const MALFORMED: readonly string[] = [
  "",
  "{",
  "null",
  "[]",
  '{"name":"owner"}',
  '{"name":1,"password":"x"}',
  '{"name":"owner","password":"x","role":"owner"}',
  `{"name":"owner","password":"${"x".repeat(2000)}"}`,
  "[".repeat(60_000),
  `{"name":${'{"a":'.repeat(40)}1${"}".repeat(40)},"password":"x"}`,
];
Deno.test("jsonBody() answers 400 to a body that does not match the route", async () => {
  await using site = await startConsole();
  for (const body of MALFORMED) {
    const response = await fetch(site.origin + SESSION, {
      method: "POST",
      headers: { origin: site.origin, "content-type": "application/json" },
      body,
    });
    assertEquals(
      [response.status, (await response.json()).error.code],
      [400, "malformed"],
      body.slice(0, 60),
    );
  }
});

Deno.test("createSignInRateLimit() stops a source after five failures a minute, and does not limit others", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock });
  const from = async (remoteAddress: string, password: string) => {
    const request = new Request(site.origin + SESSION, {
      method: "POST",
      headers: { host: new URL(site.origin).host, origin: site.origin, "content-type": "application/json" },
      body: JSON.stringify({ name: "owner", password }),
    });
    const response = await site.app(request, { remoteAddress });
    await response.body?.cancel();
    return response;
  };
  const wrong = await Promise.all(Array.from({ length: 8 }, () => from("192.0.2.1", "wrong")));
  assertEquals(wrong.map(({ status }) => status).toSorted(), [401, 401, 401, 401, 401, 429, 429, 429]);
  const refused = await from("192.0.2.1", PASSWORD);
  assertEquals([refused.status, refused.headers.get("retry-after")], [429, "60"]);
  assertEquals((await from("192.0.2.2", PASSWORD)).status, 200);
  // The account signed in from another source, so strangers at this address cannot block it.
  assertEquals((await from("192.0.2.1", PASSWORD)).status, 200);
  assertEquals((await from("192.0.2.1", "wrong")).status, 429);
  clock.advance(60_001);
  assertEquals((await from("192.0.2.1", "wrong")).status, 401);
});

Deno.test("createSessionRoutes() allows step-up in a live session although its address has used up its failures", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("owner");
  for (let at = 0; at < 40; at++) {
    await (await site.call(SESSION, signInBody({ name: `stranger ${at}`, password: "wrong" }))).body
      ?.cancel();
  }
  assertEquals((await site.call(SESSION, signInBody({ name: "viewer", password: PASSWORD }))).status, 429);
  const shown = await site.call(`${SESSION}/step-up`, {
    method: "POST",
    json: { password: PASSWORD },
    cookie,
  });
  assertEquals(shown.status, 200);
});

Deno.test("createSessionRoutes() gives the same answer to an unknown name and to a wrong password", async () => {
  await using site = await startConsole();
  const bodies = [];
  for (const name of ["owner", "nobody"]) {
    const response = await site.call(SESSION, signInBody({ name, password: "wrong" }));
    bodies.push([response.status, await response.text()]);
  }
  assertEquals(bodies[0], bodies[1]);
});

Deno.test("Sessions ends a session after its idle time unless the user is active", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock, idleMs: 15 * 60_000 });
  const cookie = await site.signIn("viewer");
  const status = async (path: string, method = "GET") => {
    const response = await site.call(path, { cookie, method, json: method === "POST" ? {} : undefined });
    await response.body?.cancel();
    return response.status;
  };
  for (let round = 0; round < 4; round += 1) {
    clock.advance(10 * 60_000);
    assertEquals(await status("/console/api/session/stay", "POST"), 200);
  }
  clock.advance(10 * 60_000);
  assertEquals(await status("/console/api/live"), 200, "what a page asks by itself is answered");
  clock.advance(6 * 60_000);
  assertEquals(await status("/console/api/live"), 401, "but extends no session");
});

Deno.test("Sessions ends a session at its absolute limit, used or not", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock, sessionMs: 3_600_000, idleMs: 900_000 });
  const cookie = await site.signIn("viewer");
  const statuses: number[] = [];
  for (let minute = 0; minute <= 60; minute += 10) {
    const response = await site.call("/console/api/session/stay", { cookie, method: "POST", json: {} });
    await response.body?.cancel();
    statuses.push(response.status);
    clock.advance(600_000);
  }
  assertEquals(statuses, [200, 200, 200, 200, 200, 200, 401]);
});

Deno.test("createSessionRoutes() ends the session on sign-out, and at the next sign-in of the same browser", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("owner");
  const out = await site.call(SESSION, { method: "DELETE", cookie });
  assertEquals((await out.json()).session, null);
  assertMatch(out.headers.get("set-cookie") ?? "", /^countersign=; Max-Age=0; Path=\//);
  assertEquals((await (await site.call(SESSION, { cookie })).json()).session, null);
  const first = await site.signIn("owner");
  const second = await site.call(SESSION, { ...signInBody(), cookie: first });
  await second.body?.cancel();
  assertEquals((await (await site.call(SESSION, { cookie: first })).json()).session, null);
});

Deno.test("Sessions ends the sessions of an account when its password or its role changes", async () => {
  const admins = ADMINS.map((admin) => ({ ...admin }));
  await using site = await startConsole({ admins });
  const token = await site.signIn("owner");
  const find = site.admins.find.bind(site.admins);
  for (const change of [{ credential: "another" }, null]) {
    site.admins.find = async (name) => {
      const admin = await find(name);
      return admin === null || change === null ? null : { ...admin, ...change };
    };
    assertEquals((await (await site.call(SESSION, { cookie: token })).json()).session, null);
  }
  site.admins.find = find;
  assertEquals((await (await site.call(SESSION, { cookie: token })).json()).session?.name, "owner");
});

Deno.test("createHttpApp() shows no password and no token in logs or bodies", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("owner");
  const token = cookie.split("=")[1] ?? "";
  const wrong = await site.call(SESSION, signInBody({ password: "planted-wrong-password" }));
  const text = await wrong.text() + await (await site.call(SESSION, { cookie })).text() +
    await (await site.call("/metrics")).text();
  await site.log.flush();
  const all = text + site.lines.join("");
  for (const secret of [PASSWORD, token, "planted-wrong-password"]) assertEquals(all.includes(secret), false);
});

Deno.test("an owner ends all sessions of an administrator, however many there are, and keeps the own one", async () => {
  await using site = await startConsole();
  const owner = await site.signIn("owner");
  const others = await Promise.all(Array.from({ length: 4 }, () => site.signIn("owner")));
  const viewers: string[] = [];
  for (let at = 0; at < 410; at += 1) viewers.push(await site.signIn("viewer"));
  const end = (name: string) =>
    site.call(`/console/api/administrators/${name}/sessions`, { method: "DELETE", json: {}, cookie: owner });
  assertEquals((await (await end("viewer")).json()).ended, 410);
  assertEquals((await (await end("owner")).json()).ended, 4);
  const statusOf = async (cookie: string) => {
    const response = await site.call("/console/api/users", { cookie });
    await response.body?.cancel();
    return response.status === 401 ? "over" : "live";
  };
  for (const cookie of [...viewers, ...others]) assertEquals(await statusOf(cookie), "over");
  assertEquals(await statusOf(owner), "live");
  assertEquals(await statusOf(await site.signIn("viewer")), "live");
});

for (
  const [role, page] of [
    ["help_desk", "/users?tab=1"],
    ["viewer", "/overview?tab=1"],
    ["owner", "/overview?tab=1"],
    ["", "/overview?tab=1"],
  ] as const
) {
  Deno.test(`createHttpApp() opens ${page} at the root with ${role || "no"} session`, async () => {
    await using site = await startConsole();
    const cookie = role === "" ? "" : await site.signIn(role);
    const answer = await site.call("/?tab=1", { cookie });
    await answer.body?.cancel();
    assertEquals([answer.status, answer.headers.get("location")], [302, page]);
  });
}

// Audit records of sign-ins: user, source and method of sign-ins and sign-outs, and grouped refusals.

type AuditRecord = Readonly<Record<string, unknown>>;

async function records(site: Pick<TestConsole, "store">): Promise<AuditRecord[]> {
  const found: AuditRecord[] = [];
  for await (const { value } of site.store.list<AuditRecord>(["audit"])) {
    if (value !== null) found.push(value);
  }
  return found;
}

/** The content of the records, without time and random ids. */
const told = async (site: Pick<TestConsole, "store">) =>
  (await records(site)).map(({ actor, action, object, by }) =>
    [actor, action, object, by].filter((part) => part !== undefined).join(" ")
  );

const OWN = "administrator:owner";

async function tryAs(site: TestConsole, { name = "owner", password = "wrong", source = "192.0.2.1" }: {
  name?: string;
  password?: string;
  source?: string;
} = {}): Promise<number> {
  const request = new Request(site.origin + SESSION, {
    method: "POST",
    headers: { origin: site.origin, host: new URL(site.origin).host, "content-type": "application/json" },
    body: JSON.stringify({ name, password }),
  });
  const response = await site.app(request, { remoteAddress: source });
  await response.body?.cancel();
  return response.status;
}

Deno.test("Sessions records the user, method and source of a sign-in, and the sign-out, once", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("owner");
  for (let round = 0; round < 2; round += 1) {
    await (await site.call(SESSION, { method: "DELETE", cookie })).body?.cancel();
  }
  assertEquals(await told(site), [
    `owner administrator.sign_in ${OWN} password`,
    `owner administrator.sign_out ${OWN}`,
  ]);
  assertEquals((await records(site)).map(({ source }) => source), ["127.0.0.1", "127.0.0.1"]);
});

Deno.test("Sessions records that a sign-in of the same browser replaced a session", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("owner");
  const json = { name: "viewer", password: PASSWORD };
  await (await site.call(SESSION, { method: "POST", json, cookie })).body?.cancel();
  assertEquals((await told(site)).slice(1).toSorted(), [
    `owner session.replace ${OWN}`,
    "viewer administrator.sign_in administrator:viewer password",
  ]);
});

Deno.test("Sessions records an expired session once, with the time of its end", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock, idleMs: 60_000 });
  const cookie = await site.signIn("owner");
  const untilMs = clock.nowMs() + 60_000;
  clock.advance(90_000);
  for (let round = 0; round < 2; round += 1) {
    await (await site.call("/console/api/live", { cookie })).body?.cancel();
  }
  assertEquals((await told(site)).slice(1), [`owner session.run_out ${OWN}`]);
  assertEquals((await records(site)).at(-1)?.deadlineMs, untilMs);
});

Deno.test("createSignIn() records the first owner's sign-in by the one-time link", async () => {
  await using site = await startConsole({ admins: [] });
  const token = new URL(await site.admins.setupLink() ?? "").hash.slice(1);
  const json = { token, name: "grace", password: PASSWORD };
  await (await site.call("/console/api/setup", { method: "POST", json })).body?.cancel();
  assertEquals(await told(site), [
    "grace administrator.create administrator:grace",
    "grace administrator.sign_in administrator:grace link",
  ]);
});

Deno.test("createRejectedSignIns() groups the refusals of a name in one minute, with their number and source", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock });
  for (let at = 1; at <= 7; at += 1) assertEquals(await tryAs(site, { source: `192.0.2.${at}` }), 401);
  const [record, ...more] = await records(site);
  assertEquals(more, []);
  const { actor, action, object, count, because, source, sources } = record ?? {};
  assertEquals([actor, action, object], [UNKNOWN_ACTOR, "administrator.refused", OWN]);
  assertEquals([count, because, source], [7, ["wrong_sign_in"], "192.0.2.1"]);
  assertEquals(sources, [1, 2, 3, 4, 5].map((at) => `192.0.2.${at}`));
  clock.advance(60_000);
  await tryAs(site);
  assertEquals((await records(site)).length, 2);
});

Deno.test("createRejectedSignIns() records no unknown name, because it may be a password", async () => {
  await using site = await startConsole();
  const typed = ["planted-password-1", "planted-password-2", '"><img src=x onerror=alert(1)>'];
  for (const name of typed) await tryAs(site, { name });
  assertEquals(await told(site), [`${UNKNOWN_ACTOR} administrator.refused ${UNKNOWN_NAME}`]);
  assertEquals((await records(site))[0]?.count, 3);
  for await (const { key, value } of site.store.list([])) {
    const kept = JSON.stringify(
      [key, value],
      (_name, part) => typeof part === "bigint" ? String(part) : part,
    );
    for (const name of typed) assertEquals(kept.includes(name), false);
  }
});

Deno.test("createRejectedSignIns() records nothing for an address that is rate limited", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock });
  const statuses: number[] = [];
  for (let round = 0; round < 8; round += 1) statuses.push(await tryAs(site));
  assertEquals(statuses.slice(-3), [429, 429, 429]);
  assertEquals((await records(site)).map(({ count }) => count), [5]);
});

Deno.test("createRejectedSignIns() counts many refusals at once, and continues after a failure of the store", async () => {
  await using site = await startConsole();
  const lines: string[] = [];
  const log = createLog({
    format: "text",
    level: "error",
    clock: systemClock,
    write: (octets) => void lines.push(new TextDecoder().decode(octets)),
  });
  let isFailing = true;
  const store = {
    ...site.store,
    commit: (given: Parameters<typeof site.store.commit>[0]) =>
      isFailing ? Promise.reject(new Error("The disk is full")) : site.store.commit(given),
  };
  const refused = createRejectedSignIns({
    ...{ store, log, admins: site.admins },
    ...{ clock: createManualClock(), random: createSystemRandom() },
  });
  const note = () => refused.note({ name: "OWNER", source: "192.0.2.1", because: "wrong_code" });
  await note();
  await log.flush();
  assert(lines.join("").includes("not in the audit"));
  isFailing = false;
  await Promise.all(Array.from({ length: 20 }, note));
  assertEquals((await records(site)).map(({ object, count }) => [object, count]), [[OWN, 21]]);
});

Deno.test("isAdminName() reserves the actor name of refused sign-ins", async () => {
  await using site = await startConsole();
  const json = { name: "nobody", role: "viewer" };
  const cookie = await site.signIn("owner");
  const response = await site.call("/console/api/administrators", { method: "POST", json, cookie });
  assertEquals((await response.json()).error.code, "bad_name");
});

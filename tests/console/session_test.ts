// Sessions of the console: sign-in, cookies, timeouts and sign-out.

import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { ADMINS, createManualClock, PASSWORD, startConsole } from "../fakes/console_app.ts";

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

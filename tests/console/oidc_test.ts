// OpenID Connect sign-in: valid answers of the provider, and every refusal.

import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import type { Role } from "../../console/api/auth/admin_records.ts";
import { auditRecordsOf } from "../fakes/audited.ts";
import { createManualClock, startConsole, type TestConsole } from "../fakes/console_app.ts";
import {
  type FakeOidcProvider,
  oidcSettings,
  type OidcWishes,
  startOidcProvider,
} from "../fakes/oidc_provider.ts";

const OIDC = "/console/api/oidc";

/** A console that trusts the provider. */
const trusting = (provider: FakeOidcProvider, options: Parameters<typeof startConsole>[0] = {}) =>
  startConsole({
    ...options,
    change: (deps) => {
      const changed = options.change?.(deps) ?? deps;
      return { ...changed, console: { ...changed.console, oidc: oidcSettings(provider) } };
    },
  });

const cookieOf = (response: Response, name: string) =>
  response.headers.getSetCookie().map((one) => one.split(";")[0] ?? "")
    .find((one) => one.startsWith(`${name}=`) && !one.endsWith("=")) ?? "";

/** Starts a sign-in at the provider; returns the callback address and the cookie of the sign-in. */
async function leave(site: TestConsole, { returnTo = "/access", again = false } = {}) {
  const start = await site.call(`${OIDC}/start`, { method: "POST", json: { returnTo, again } });
  const { url } = await start.json();
  const there = await fetch(url, { redirect: "manual" });
  await there.body?.cancel();
  const back = new URL(there.headers.get("location") ?? "");
  const setCookie = start.headers.get("set-cookie") ?? "";
  return { back, journey: cookieOf(start, "countersign-journey"), setCookie };
}

async function arrive(site: TestConsole, { back, journey }: { back: URL; journey: string }) {
  const response = await site.call(back.pathname + back.search, { cookie: journey });
  await response.body?.cancel();
  return {
    status: response.status,
    location: response.headers.get("location"),
    session: cookieOf(response, "countersign"),
  };
}

async function whoIs(site: TestConsole, cookie: string) {
  const response = await site.call("/console/api/session", { cookie });
  return (await response.json()).session as
    | { name: string; role: Role; freshUntilMs: number; nowMs: number }
    | null;
}

Deno.test("createOidcRoutes() signs in the provider's user with the role of the claim, and redirects them back", async () => {
  await using provider = await startOidcProvider();
  await using site = await trusting(provider);
  const left = await leave(site);
  assertMatch(left.setCookie, /HttpOnly.*SameSite=Lax/);
  const arrived = await arrive(site, left);
  assertEquals([arrived.status, arrived.location], [303, "/access"]);
  const who = await whoIs(site, arrived.session);
  assertEquals([who?.name, who?.role], ["ada", "owner"]);
  assertEquals(provider.refused, []);
  const [visit] = provider.visits;
  assertEquals(visit?.get("code_challenge_method"), "S256");
  assertEquals(visit?.get("redirect_uri"), `${site.origin}${OIDC}/callback`);
  const records = await auditRecordsOf(site.store);
  assertEquals(records.map(({ value }) => [value?.action, value?.object]), [[
    "administrator.create",
    "administrator:ada",
  ]]);
  await site.log.flush();
  assertMatch(site.lines.join(), /console sign-in/);
  const secrets = [provider.clientSecret, left.back.searchParams.get("code") ?? ""];
  for (const secret of secrets) assertEquals(site.lines.join().includes(secret), false);
});

/** By the code of the refusal, then by the fault. */
const WRONG_ANSWERS: Readonly<Record<string, Readonly<Record<string, OidcWishes>>>> = {
  oidc_token: {
    "another nonce": { claims: { nonce: "else" } },
    "no nonce": { claims: { nonce: null } },
    "another issuer": { claims: { iss: "https://else.example.org" } },
    "another audience": { claims: { aud: "else" } },
    "several audiences, none of them named": { claims: { aud: ["countersign", "else"] } },
    "another party": { claims: { azp: "else" } },
    "an expired token": { claims: { exp: 1 } },
    "a token without an expiry": { claims: { exp: null } },
    "no subject": { claims: { sub: null } },
    "a key that is not the provider's": { signing: "unknown_key" },
    "no signature": { signing: "none" },
    "a signature with the client's secret": { signing: "client_secret" },
    "a signature with the client's secret, which the provider says it uses": {
      signing: "client_secret",
      discovery: { id_token_signing_alg_values_supported: ["HS256"] },
    },
  },
  oidc_state: {
    "another state": { state: "else" },
    "an answer of another issuer": { answerIssuer: "https://else.example.org" },
  },
  oidc_denied: {
    "an error instead of a code": { refuse: "access_denied" },
  },
  oidc_code: {
    "a token endpoint that fails": { tokenStatus: 500 },
  },
  oidc_no_role: {
    "no role": { claims: { groups: ["guests"] } },
  },
  oidc_name: {
    "no name": { claims: { preferred_username: "a\u202eb" } },
  },
  name_taken: {
    "the name of an administrator of the settings file": { claims: { preferred_username: "OWNER" } },
  },
};
for (const [code, rows] of Object.entries(WRONG_ANSWERS)) {
  for (const [what, wishes] of Object.entries(rows)) {
    Deno.test(`createOidcRoutes() refuses a sign-in with ${what}: ${code}`, async () => {
      await using provider = await startOidcProvider();
      await using site = await trusting(provider);
      provider.wishes = wishes;
      const arrived = await arrive(site, await leave(site));
      assertEquals([arrived.location, arrived.session], [`/?problem=${code}`, ""]);
    });
  }
}

Deno.test("createOidcRoutes() accepts a sign-in once, in the browser that began it, and for ten minutes", async () => {
  const clock = createManualClock(Date.now());
  await using provider = await startOidcProvider({ nowMs: clock.nowMs });
  await using site = await trusting(provider, { clock });
  const first = await leave(site);
  const second = await leave(site);
  assertNotEquals(first.back.searchParams.get("state"), second.back.searchParams.get("state"));
  assertEquals((await arrive(site, { back: first.back, journey: "" })).location, "/?problem=oidc_state");
  assertEquals(
    (await arrive(site, { back: first.back, journey: second.journey })).location,
    "/?problem=oidc_state",
  );
  const forged = { back: first.back, journey: "countersign-journey=AAAA" };
  assertEquals((await arrive(site, forged)).location, "/?problem=oidc_state");
  assertEquals((await arrive(site, first)).location, "/access");
  // The provider accepts no code twice.
  assertEquals((await arrive(site, first)).location, "/?problem=oidc_code");
  clock.advance(10 * 60_000 + 1);
  assertEquals((await arrive(site, second)).location, "/?problem=oidc_state");
});

Deno.test("createOidcRoutes() reports a provider that is unreachable or describes another issuer", async () => {
  await using provider = await startOidcProvider();
  const clock = createManualClock();
  await using site = await trusting(provider, { clock });
  const start = async (console: TestConsole) => {
    const response = await console.call(`${OIDC}/start`, { method: "POST", json: { returnTo: "/" } });
    return [response.status, (await response.json()).error?.code];
  };
  const issuer = "https://else.example.org";
  for (const discovery of [{ issuer }, { token_endpoint: "file:///etc/passwd" }, { jwks_uri: 5 }]) {
    provider.wishes = { discovery };
    assertEquals(await start(site), [502, "oidc_unreachable"]);
    // A failure is remembered for some seconds.
    clock.advance(5000);
  }
  await site.log.flush();
  assertMatch(
    site.lines.join(""),
    /a sign-in at the provider failed.*issuer.* does not match the expected value/,
  );
  await using plain = await startConsole();
  assertEquals(await start(plain), [404, "no_oidc"]);
});

Deno.test("createOidcAdmins() follows the provider's role, which ends older sessions, and refuses users whom an owner disabled", async () => {
  await using provider = await startOidcProvider();
  await using site = await trusting(provider);
  const first = await arrive(site, await leave(site));
  provider.wishes = { claims: { groups: ["staff"], preferred_username: "renamed" } };
  const second = await arrive(site, await leave(site));
  assertEquals(await whoIs(site, first.session), null);
  const who = await whoIs(site, second.session);
  assertEquals([who?.name, who?.role], ["ada", "viewer"]);
  const owner = await site.signIn("owner");
  const change = async (json: unknown) => {
    const response = await site.call("/console/api/administrators/ada", {
      method: "PATCH",
      json,
      cookie: owner,
    });
    return (await response.json()).error?.code ?? response.status;
  };
  assertEquals(await change({ role: "owner" }), "provider_admin");
  assertEquals(await change({ disabled: true }), 200);
  assertEquals(await whoIs(site, second.session), null);
  assertEquals((await arrive(site, await leave(site))).location, "/?problem=oidc_denied");
});

Deno.test("createOidcAdmins() keeps the role of the last owner, and logs it, until there is another owner", async () => {
  await using provider = await startOidcProvider();
  await using site = await trusting(provider, { admins: [] });
  const roleNow = async () => (await whoIs(site, (await arrive(site, await leave(site))).session))?.role;
  assertEquals(await roleNow(), "owner");
  provider.wishes = { claims: { groups: ["staff"] } };
  assertEquals(await roleNow(), "owner");
  await site.log.flush();
  assertMatch(site.lines.join(""), /the sign-in provider's role is not taken.*last_owner/);
  provider.wishes = { claims: { sub: "second", preferred_username: "bert" } };
  assertEquals(await roleNow(), "owner");
  provider.wishes = { claims: { groups: ["staff"] } };
  assertEquals(await roleNow(), "viewer");
  const audits = await auditRecordsOf(site.store);
  assertEquals(audits.map(({ value }) => value?.after), [
    { role: "owner", decidedBy: "provider" },
    { role: "owner", decidedBy: "provider" },
    { role: "viewer", decidedBy: "provider" },
  ]);
});

Deno.test("createOidcRoutes() uses the provider's time of the factor, and requires a new one if it is too old", async () => {
  await using provider = await startOidcProvider();
  await using site = await trusting(provider);
  /** 1: the factor is fresh; -1: it is too old. */
  const freshness = async (options = {}) => {
    const who = await whoIs(site, (await arrive(site, await leave(site, options))).session);
    return Math.sign((who?.freshUntilMs ?? 0) - (who?.nowMs ?? 0));
  };
  for (const authTime of [Math.floor(Date.now() / 1000) - 3600, null]) {
    provider.wishes = { claims: { auth_time: authTime } };
    assertEquals(await freshness(), -1);
  }
  provider.wishes = {};
  assertEquals(await freshness({ again: true }), 1);
  assertEquals([provider.visits.at(-1)?.get("prompt"), provider.visits.at(-1)?.get("max_age")], [
    "login",
    "0",
  ]);
});

Deno.test("the OIDC callback counts no failure for a request that another site caused", async () => {
  await using provider = await startOidcProvider();
  await using site = await trusting(provider);
  const forged = await leave(site);
  for (let times = 0; times < 10; times += 1) {
    for (const query of ["", "?state=guess&code=x", forged.back.search]) {
      assertEquals((await site.call(`${OIDC}/callback${query}`)).status, 303);
    }
    const wrong = await site.call(`${OIDC}/callback?state=guess`, { cookie: forged.journey });
    assertEquals([wrong.status, wrong.headers.get("location")], [303, "/?problem=oidc_state"]);
  }
  const image = await site.call(forged.back.pathname + forged.back.search, {
    cookie: forged.journey,
    headers: { "sec-fetch-dest": "image" },
  });
  assertEquals(image.status, 403);
  assertEquals((await arrive(site, await leave(site))).location, "/access");
});

/** The status of a call with the cookie of a session, and of one with an API token of the session's account. */
async function reach(site: TestConsole, { session, token }: { session: string; token: string }) {
  const statuses: number[] = [];
  for (const options of [{ cookie: session }, { headers: { authorization: `Bearer ${token}` } }]) {
    const response = await site.call("/console/api/history", options);
    await response.body?.cancel();
    statuses.push(response.status);
  }
  return statuses;
}

async function withToken(site: TestConsole, session: string) {
  const json = { name: "ci", role: "viewer", days: 366 };
  const made = await site.call("/console/api/tokens", { method: "POST", json, cookie: session });
  return { session, token: (await made.json()).token as string };
}

Deno.test("the provider's withdrawal of a role ends the sessions and API tokens of the account", async () => {
  await using provider = await startOidcProvider();
  await using site = await trusting(provider);
  const held = await withToken(site, (await arrive(site, await leave(site, { again: true }))).session);
  assertEquals(await reach(site, held), [200, 200]);
  provider.wishes = { claims: { groups: ["guests"] } };
  assertEquals((await arrive(site, await leave(site))).location, "/?problem=oidc_no_role");
  assertEquals(await reach(site, held), [401, 401]);
  provider.wishes = {};
  await arrive(site, await leave(site));
  assertEquals(await reach(site, held), [200, 200]);
});

Deno.test("a role that the provider no longer confirms counts for 4 hours in sessions and 7 days in API tokens", async () => {
  const clock = createManualClock(Date.now());
  await using provider = await startOidcProvider({ nowMs: clock.nowMs });
  await using site = await trusting(provider, { clock, idleMs: 24 * 3_600_000 });
  const held = await withToken(site, (await arrive(site, await leave(site, { again: true }))).session);
  clock.advance(4 * 3_600_000 - 1);
  assertEquals(await reach(site, held), [200, 200]);
  clock.advance(1);
  assertEquals(await reach(site, held), [401, 200]);
  clock.advance((7 * 24 - 4) * 3_600_000);
  assertEquals(await reach(site, held), [401, 401]);
  await arrive(site, await leave(site));
  assertEquals(await reach(site, held), [401, 200]);
});

Deno.test("a provider that hangs gets one request, and takes no place from phones, accounts and monitoring", async () => {
  await using provider = await startOidcProvider();
  const clock = createManualClock();
  let asked = 0;
  await using site = await trusting(provider, {
    clock,
    change: (deps) => ({
      ...deps,
      isProxy: () => true,
      fetch: (_url, { signal } = {}) => {
        asked += 1;
        return new Promise((_resolve, reject) => {
          signal?.addEventListener("abort", () => reject(new Error("aborted")));
        });
      },
    }),
  });
  const start = (source: number) =>
    site.call(`${OIDC}/start`, {
      method: "POST",
      json: { returnTo: "/" },
      headers: { "x-forwarded-for": `198.51.${source >> 8}.${source & 255}` },
    });
  const starts = Array.from({ length: 700 }, (_, source) => start(source));
  const refused = await Promise.race(starts);
  assertEquals([refused.status, (await refused.json()).error.code], [503, "overloaded"]);
  for (const path of ["/device/api/view", "/me/api/session", "/console/api/session", "/healthz"]) {
    const response = await site.call(path);
    await response.body?.cancel();
    assertEquals(response.status, 200, path);
  }
  assertEquals(asked, 1);
  clock.advance(5000);
  const statuses = await Promise.all(starts.slice(0, 700).map(async (one) => (await one).status));
  assertEquals([asked, statuses.filter((status) => status === 502).length], [1, 32]);
  // The failure is remembered for some seconds.
  assertEquals((await start(1)).status, 502);
  assertEquals(asked, 1);
  clock.advance(5000);
  const again = start(2);
  while (asked === 1) await new Promise((resolve) => setTimeout(resolve, 1));
  clock.advance(5000);
  assertEquals((await again).status, 502);
});

Deno.test("starts of a sign-in are limited for each source", async () => {
  await using provider = await startOidcProvider();
  await using site = await trusting(provider, { change: (deps) => ({ ...deps, isProxy: () => true }) });
  const start = async (path: string, source: string) => {
    const json = path === `${OIDC}/start` ? { returnTo: "/" } : {};
    const headers = { "x-forwarded-for": source };
    const response = await site.call(path, { method: "POST", json, headers });
    await response.body?.cancel();
    return response.status;
  };
  const statuses: number[] = [];
  for (let at = 0; at < 60; at += 1) {
    statuses.push(
      await start(at % 2 === 0 ? `${OIDC}/start` : "/console/api/session/passkey/options", "192.0.2.1"),
    );
  }
  assertEquals(statuses.includes(429), false);
  assertEquals(await start(`${OIDC}/start`, "192.0.2.1"), 429);
  assertEquals(await start("/console/api/session/passkey/options", "192.0.2.1"), 429);
  assertEquals(await start(`${OIDC}/start`, "192.0.2.2"), 200);
});

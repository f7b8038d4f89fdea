// Second factors of administrators: required ones, passkeys, and the first set-up.

import { assertEquals, assertMatch, assertNotEquals, assertRejects } from "@std/assert";
import { decodeBase32, TOTP_STEP_MS, totpAt } from "../../radius/factors/totp.ts";
import {
  type AuthenticatorLies,
  createAuthenticator,
  type FakeAuthenticator,
} from "../fakes/authenticator.ts";
import { createManualClock, PASSWORD, startConsole, type TestConsole } from "../fakes/console_app.ts";
import { CONSOLE_ROUTES } from "../fakes/console_routes.ts";
import { CHALLENGE_MS, PasskeyChallenges } from "../../console/api/auth/passkeys.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createVault } from "../../platform/vault.ts";
import { RECENT_FACTOR_MS } from "../../console/api/auth/permissions.ts";
import { Refusal } from "../../console/api/errors.ts";
import { auditRecordsOf } from "../fakes/audited.ts";

// Required second factors of administrators, and the recovery of an owner whose only keys are passkeys.

const API = "/console/api";
const NEEDED = "second_factor_needed";

/** Calls the site by its host name, because an IP address has no passkeys. */
async function ask(
  site: TestConsole,
  path: string,
  { method = "POST", json = {}, cookie }: { method?: string; json?: unknown; cookie?: string } = {},
) {
  const origin = site.origin.replace("127.0.0.1", "localhost");
  const response = await fetch(`${origin}${API}${path}`, {
    method,
    headers: { origin, "content-type": "application/json", ...(cookie === undefined ? {} : { cookie }) },
    body: method === "GET" || method === "DELETE" ? undefined : JSON.stringify(json),
  });
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  const body = isJson ? await response.json() : {};
  // A stream that lets the caller in has no end.
  if (!isJson) await response.body?.cancel();
  const setCookie = response.headers.get("set-cookie")?.split(";")[0];
  return { status: response.status, body, code: body.error?.code ?? "let in", cookie: setCookie };
}

async function addPasskey(site: TestConsole, cookie: string) {
  const authenticator = await createAuthenticator(site.origin.replace("127.0.0.1", "localhost"));
  const { body: options } = await ask(site, "/factors/passkeys/options", { cookie });
  const response = await authenticator.register(options);
  await ask(site, "/factors/passkeys", { json: { label: "key", response }, cookie });
}

for (const role of ["owner", "help_desk", "viewer"]) {
  Deno.test(`a required second factor: ${role} without one reaches only its set-up, on every route`, async (t) => {
    await using site = await startConsole({ secondFactor: "required" });
    const cookie = await site.signIn(role);
    const session = (await ask(site, "/session", { method: "GET", cookie })).body.session;
    assertEquals(session.mustSetUpFactor, true);
    for (const { method, path, needs, beforeSecondFactor } of CONSOLE_ROUTES) {
      // The test ends the session with the last one.
      if (needs === "anyone" || beforeSecondFactor) continue;
      await t.step(`${method} ${path}`, async () => {
        const { code } = await ask(site, path.replaceAll(/:\w+/g, "some-id"), { method, cookie });
        assertEquals(code, NEEDED);
      });
    }
  });
}

Deno.test("a required second factor: an app or a passkey opens the console, and the password alone no longer signs in with a passkey", async () => {
  const clock = createManualClock(Date.now());
  await using site = await startConsole({ clock, secondFactor: "required" });
  const cookie = await site.signIn("viewer");
  assertEquals((await ask(site, "/clients", { method: "GET", cookie })).code, NEEDED);
  const seed = decodeBase32((await ask(site, "/factors/totp", { cookie })).body.secret);
  if (seed === null) throw new Error("The seed is not base32");
  const code = totpAt(seed, Math.floor(clock.nowMs() / TOTP_STEP_MS), 6);
  assertEquals((await ask(site, "/factors/totp/confirm", { json: { code }, cookie })).status, 200);
  assertEquals((await ask(site, "/sessions", { method: "GET", cookie })).code, "let in");

  const owner = await site.signIn("owner");
  await addPasskey(site, owner);
  assertEquals((await ask(site, "/sessions", { method: "GET", cookie: owner })).code, "let in");
  const { body: { codes } } = await ask(site, "/factors/recovery-codes", { cookie: owner });
  const typed = { name: "owner", password: PASSWORD };
  assertEquals((await ask(site, "/session", { json: typed })).code, "passkey_or_code_needed");
  const recovered = await ask(site, "/session", { json: { ...typed, code: codes[0] } });
  assertEquals([recovered.code, recovered.body.session.has.passkey], ["let in", true]);
  assertEquals((await ask(site, "/session", { json: { ...typed, code: codes[0] } })).code, "wrong_code");
});

Deno.test("a required second factor concerns no API tokens, and nothing while it is offered", async () => {
  await using offered = await startConsole();
  const cookie = await offered.signIn("owner");
  assertEquals((await ask(offered, "/sessions", { method: "GET", cookie })).code, "let in");
  assertEquals(
    (await ask(offered, "/session", { method: "GET", cookie })).body.session.mustSetUpFactor,
    undefined,
  );
  const made = await ask(offered, "/tokens", { json: { name: "ci", role: "viewer", days: 1 }, cookie });
  await using required = await startConsole({ secondFactor: "required", store: offered.store });
  const answer = await required.call(`${API}/audit`, {
    headers: { authorization: `Bearer ${made.body.token}` },
  });
  assertEquals(answer.status, 200);
  await answer.body?.cancel();
});

Deno.test("an owner whose only key is a passkey signs in with a name and a recovery code, once each", async () => {
  await using site = await startConsole({ admins: [] });
  const token = (await site.admins.setupLink() ?? "").split("#")[1] ?? "";
  const claim = { token, name: "Ada" };
  const authenticator = await createAuthenticator(site.origin.replace("127.0.0.1", "localhost"));
  const { body: options } = await ask(site, "/setup/passkey/options", { json: claim });
  const response = await authenticator.register(options);
  const made = await ask(site, "/setup/passkey", { json: { ...claim, response } });
  const cookie = made.cookie ?? "";
  const before = (await ask(site, "/factors", { method: "GET", cookie })).body;
  assertEquals([before.passkeys.length, before.hasPassword, before.recoveryCodesLeft], [1, false, 0]);
  const { body: { codes } } = await ask(site, "/factors/recovery-codes", { cookie });
  const recover = (json: unknown) => ask(site, "/session/recovery", { json });
  for (const typed of [{ name: "Ada", code: "aaaaa-bbbbb" }, { name: "nobody", code: codes[0] }]) {
    assertEquals((await recover(typed)).code, "wrong_sign_in");
  }
  const back = await recover({ name: "ada", code: codes[1] });
  assertEquals([back.code, back.body.session.name], ["let in", "Ada"]);
  assertEquals((await recover({ name: "Ada", code: codes[1] })).code, "wrong_sign_in");
  // The session of the code is fresh, so that a new passkey can be added.
  await addPasskey(site, back.cookie ?? "");
  assertEquals(
    (await ask(site, "/factors", { method: "GET", cookie: back.cookie ?? "" })).body.passkeys.length,
    2,
  );
});

Deno.test("a recovery code alone does not open an account with a password", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("owner");
  await addPasskey(site, cookie);
  const { body: { codes } } = await ask(site, "/factors/recovery-codes", { cookie });
  assertEquals(
    (await ask(site, "/session/recovery", { json: { name: "owner", code: codes[0] } })).code,
    "wrong_sign_in",
  );
});

// Passkeys with a software authenticator: valid sign-ins, forged answers, and replays.

/** Calls the site by its host name, because an IP address has no passkeys. */
async function askApi(
  site: TestConsole,
  path: string,
  { method = "POST", json = {}, cookie }: { method?: string; json?: unknown; cookie?: string } = {},
) {
  const origin = byName(site);
  const response = await fetch(origin + API + path, {
    method,
    headers: { origin, "content-type": "application/json", ...(cookie === undefined ? {} : { cookie }) },
    body: method === "POST" ? JSON.stringify(json) : undefined,
  });
  const body = await response.json();
  return { status: response.status, body, code: body.error?.code ?? "let in", headers: response.headers };
}

const byName = (site: TestConsole) => site.origin.replace("127.0.0.1", "localhost");

async function withPasskey(site: TestConsole, role = "owner") {
  const cookie = await site.signIn(role);
  const authenticator = await createAuthenticator(byName(site));
  const { body: options } = await askApi(site, "/factors/passkeys/options", { cookie });
  const response = await authenticator.register(options);
  const made = await askApi(site, "/factors/passkeys", {
    json: { label: "laptop", response },
    cookie,
  });
  return { cookie, authenticator, options, made };
}

async function show(site: TestConsole, { authenticator, lies, path = "/session/passkey", cookie }: {
  authenticator: FakeAuthenticator;
  lies?: AuthenticatorLies;
  path?: string;
  cookie?: string;
}) {
  const { body: options } = await askApi(site, "/session/passkey/options");
  const response = await authenticator.show(options, lies);
  return { response, answer: await askApi(site, path, { json: { response }, cookie }) };
}

Deno.test("Passkeys registers a passkey that signs in, and its answer is valid once", async () => {
  await using site = await startConsole();
  const { authenticator, options, made } = await withPasskey(site);
  assertEquals([options.rp.id, options.authenticatorSelection.userVerification], ["localhost", "required"]);
  assertEquals(made.body.passkeys.map(({ label }: { label: string }) => label), ["laptop"]);
  const { response, answer } = await show(site, { authenticator });
  assertEquals([answer.body.session.name, answer.body.session.has.passkey], ["owner", true]);
  const replayed = await askApi(site, "/session/passkey", { json: { response } });
  assertEquals([replayed.status, replayed.code, replayed.headers.get("set-cookie")], [
    401,
    "passkey_refused",
    null,
  ]);
});

Deno.test("for an account with a passkey the password alone is no step-up, even by signing in again", async () => {
  const clock = createManualClock(Date.now());
  await using site = await startConsole({ clock });
  const { cookie, authenticator } = await withPasskey(site);
  clock.advance(RECENT_FACTOR_MS + 1);
  const invite = (as: string) =>
    askApi(site, "/administrators", { json: { name: "thief", role: "owner" }, cookie: as });
  assertEquals((await invite(cookie)).code, "step_up");
  const typed = await askApi(site, "/session/step-up", { json: { password: PASSWORD }, cookie });
  assertEquals([typed.status, typed.code], [403, "passkey_needed"]);
  assertEquals((await invite(cookie)).code, "step_up");
  assertEquals((await invite(await site.signIn("owner"))).code, "step_up");
  assertEquals((await show(site, { authenticator, path: "/session/step-up", cookie })).answer.code, "let in");
  assertEquals((await invite(cookie)).code, "let in");
});

const LIES: Readonly<Record<string, AuthenticatorLies>> = {
  "another origin": { origin: "https://evil.test" },
  "another relying party": { rpId: "evil.test" },
  "a challenge that the server did not issue": { challenge: "AAAA" },
  "no user verification": { verified: false },
  "no user present": { present: false },
  "a signature of other data": { badSignature: true },
  "the type of a registration": { type: "webauthn.create" },
};
for (const [what, lies] of Object.entries(LIES)) {
  Deno.test(`Passkeys refuses a sign-in with ${what}`, async () => {
    await using site = await startConsole();
    const { authenticator } = await withPasskey(site);
    const { answer } = await show(site, { authenticator, lies });
    assertEquals([answer.status, answer.code], [401, "passkey_refused"]);
  });
}

Deno.test("Passkeys refuses a copy whose counter goes back, and an unknown passkey", async () => {
  await using site = await startConsole();
  const { authenticator } = await withPasskey(site);
  assertEquals((await show(site, { authenticator, lies: { counter: 90 } })).answer.status, 200);
  assertEquals((await show(site, { authenticator, lies: { counter: 5 } })).answer.code, "passkey_refused");
  const stranger = await createAuthenticator(byName(site));
  assertEquals((await show(site, { authenticator: stranger })).answer.code, "passkey_refused");
});

Deno.test("Passkeys registers nothing for the challenge of another session, a second time, or with an attestation", async () => {
  await using site = await startConsole();
  const { cookie, authenticator, options } = await withPasskey(site);
  const add = (response: unknown, by = cookie) =>
    askApi(site, "/factors/passkeys", { json: { label: "x", response }, cookie: by }).then((
      { code },
    ) => code);
  const fresh = async () => (await askApi(site, "/factors/passkeys/options", { cookie })).body;
  assertEquals(await add(await authenticator.register(await fresh())), "passkey_known");
  const other = await createAuthenticator(byName(site));
  assertEquals(await add(await other.register(options), await site.signIn("viewer")), "passkey_refused");
  assertEquals(await add(await other.register(await fresh(), { format: "apple" })), "passkey_refused");
  assertEquals(await add(await other.register(await fresh(), { verified: false })), "passkey_refused");
  const signIn = (await askApi(site, "/session/passkey/options")).body;
  assertEquals(await add(await other.register(signIn)), "passkey_refused");
  assertEquals(await add(await other.register(await fresh())), "let in");
});

Deno.test("createSessionRoutes() accepts a passkey as a recent factor only from its owner", async () => {
  await using site = await startConsole();
  const { authenticator, cookie } = await withPasskey(site);
  const path = "/session/step-up";
  assertEquals((await show(site, { authenticator, path, cookie })).answer.status, 200);
  const viewer = await site.signIn("viewer");
  assertEquals((await show(site, { authenticator, path, cookie: viewer })).answer.code, "wrong_person");
});

Deno.test("Passkeys explains at an IP address why there are no passkeys", async () => {
  await using site = await startConsole();
  const response = await site.call(`${API}/session/passkey/options`, { method: "POST", json: {} });
  assertEquals([response.status, (await response.json()).error.code], [400, "passkeys_need_name"]);
});

Deno.test("PasskeyChallenges accepts its own challenges for five minutes and for their purpose, and each challenge is different", () => {
  const clock = createManualClock();
  const random = createSystemRandom();
  const challenges = new PasskeyChallenges({
    vault: createVault(new Uint8Array(32), random),
    clock,
    random,
  });
  const foreign = new PasskeyChallenges({
    vault: createVault(new Uint8Array(32).fill(1), random),
    clock,
    random,
  });
  const issued = challenges.issue("sign in");
  assertNotEquals(issued, challenges.issue("sign in"));
  assertEquals(challenges.isValid(issued, "sign in"), true);
  assertEquals(challenges.isValid(issued, "else"), false);
  assertEquals(foreign.isValid(issued, "sign in"), false);
  for (const odd of ["", "AAAA", issued.slice(1), `${issued}A`, "!".repeat(20), "A".repeat(9000)]) {
    assertEquals(challenges.isValid(odd, "sign in"), false, odd.slice(0, 20));
  }
  clock.advance(CHALLENGE_MS);
  assertEquals(challenges.isValid(issued, "sign in"), true);
  clock.advance(1);
  assertEquals(challenges.isValid(issued, "sign in"), false);
});

// The first owner, created by a link that works once.

const CLAIM = { name: "Ada", password: "a long enough one" };

function tokenOf(link: string | null): string {
  return link?.split("#")[1] ?? "";
}

Deno.test("setupLink() is null when the settings name an owner", async () => {
  await using site = await startConsole();
  assertEquals(await site.admins.setupLink(), null);
});

Deno.test("setupLink() has 128 bits after the public address, and the store has only their digest", async () => {
  await using site = await startConsole({ admins: [] });
  const link = await site.admins.setupLink();
  assertMatch(link ?? "", /^http:\/\/127\.0\.0\.1:\d+\/setup#[A-Za-z0-9_-]{22}$/);
  const kept = JSON.stringify(await site.store.get(["console_setup"]));
  assertEquals(kept.includes(tokenOf(link)), false);
});

Deno.test("createSetUpRoutes() creates the owner, signs in, and uses up the link", async () => {
  await using site = await startConsole({ admins: [] });
  const before = await (await site.call("/console/api/session")).json();
  assertEquals(before.needsSetUp, true);
  const token = tokenOf(await site.admins.setupLink());
  const call = (claim: Record<string, string>) =>
    site.call("/console/api/setup", { method: "POST", json: { token, ...claim } });
  const made = await call(CLAIM);
  assertEquals((await made.json()).session.role, "owner");
  assertMatch(made.headers.get("set-cookie") ?? "", /HttpOnly; SameSite=Strict$/);
  const again = await call({ name: "Eve", password: CLAIM.password });
  assertEquals([again.status, (await again.json()).error.code], [410, "bad_set_up_link"]);
  assertEquals(await site.admins.setupLink(), null);
  const signedIn = await site.call("/console/api/session", {
    method: "POST",
    json: { name: "aDA ", password: CLAIM.password },
  });
  assertEquals((await signedIn.json()).session.name, "Ada");
  const records = await auditRecordsOf(site.store);
  assertEquals(records.map(({ value }) => [value?.actor, value?.action, value?.after]), [
    ["Ada", "administrator.create", { role: "owner" }],
  ]);
});

Deno.test("setUp() accepts one of two simultaneous claims", async () => {
  await using site = await startConsole({ admins: [] });
  const token = tokenOf(await site.admins.setupLink());
  const claims = ["a", "b", "c"].map((name) =>
    site.admins.setUp({ token, name, password: CLAIM.password, source: "" })
  );
  const outcomes = await Promise.allSettled(claims);
  assertEquals(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
});

Deno.test("setUp() refuses an old link, a voided one, and an unknown one", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ admins: [], clock });
  const claim = (token: string) =>
    assertRejects(() => site.admins.setUp({ token, ...CLAIM, source: "" }), Refusal, "no longer valid");
  await claim("");
  const voided = tokenOf(await site.admins.setupLink());
  const current = tokenOf(await site.admins.setupLink());
  await claim(voided);
  clock.advance(3_600_001);
  await claim(current);
});

const WEAK: readonly (readonly [name: string, password: string, code: string])[] = [
  ["Ada", "elevenchars", "weak_password"],
  ["Ada", "x".repeat(1025), "weak_password"],
  ["", "a long enough one", "bad_name"],
  ["  ", "a long enough one", "bad_name"],
  ["a\u202eb", "a long enough one", "bad_name"],
  ["a\r\nb", "a long enough one", "bad_name"],
  ["x".repeat(65), "a long enough one", "bad_name"],
];
Deno.test("setUp() refuses weak passwords and invalid names, and the link stays valid", async () => {
  await using site = await startConsole({ admins: [] });
  const token = tokenOf(await site.admins.setupLink());
  for (const [name, password, code] of WEAK) {
    const fault = await assertRejects(
      () => site.admins.setUp({ token, name, password, source: "" }),
      Refusal,
    );
    assertEquals(fault.code, code);
  }
  assertEquals((await site.admins.setUp({ token, ...CLAIM, source: "" })).name, "Ada");
});

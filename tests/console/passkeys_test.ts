// Passkeys with a software authenticator: valid sign-ins, forged answers, and replays.

import { assertEquals, assertNotEquals } from "@std/assert";
import { CHALLENGE_MS, PasskeyChallenges } from "../../console/api/auth/passkeys.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createVault } from "../../platform/vault.ts";
import {
  type AuthenticatorLies,
  createAuthenticator,
  type FakeAuthenticator,
} from "../fakes/authenticator.ts";
import { RECENT_FACTOR_MS } from "../../console/api/auth/permissions.ts";
import { createManualClock, PASSWORD, startConsole, type TestConsole } from "../fakes/console_app.ts";

const API = "/console/api";

/** Calls the site by its host name, because an IP address has no passkeys. */
async function ask(
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
  const { body: options } = await ask(site, "/factors/passkeys/options", { cookie });
  const response = await authenticator.register(options);
  const made = await ask(site, "/factors/passkeys", { json: { label: "laptop", response }, cookie });
  return { cookie, authenticator, options, made };
}

async function show(site: TestConsole, { authenticator, lies, path = "/session/passkey", cookie }: {
  authenticator: FakeAuthenticator;
  lies?: AuthenticatorLies;
  path?: string;
  cookie?: string;
}) {
  const { body: options } = await ask(site, "/session/passkey/options");
  const response = await authenticator.show(options, lies);
  return { response, answer: await ask(site, path, { json: { response }, cookie }) };
}

Deno.test("Passkeys registers a passkey that signs in, and its answer is valid once", async () => {
  await using site = await startConsole();
  const { authenticator, options, made } = await withPasskey(site);
  assertEquals([options.rp.id, options.authenticatorSelection.userVerification], ["localhost", "required"]);
  assertEquals(made.body.passkeys.map(({ label }: { label: string }) => label), ["laptop"]);
  const { response, answer } = await show(site, { authenticator });
  assertEquals([answer.body.session.name, answer.body.session.has.passkey], ["owner", true]);
  const replayed = await ask(site, "/session/passkey", { json: { response } });
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
    ask(site, "/administrators", { json: { name: "thief", role: "owner" }, cookie: as });
  assertEquals((await invite(cookie)).code, "step_up");
  const typed = await ask(site, "/session/step-up", { json: { password: PASSWORD }, cookie });
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
    ask(site, "/factors/passkeys", { json: { label: "x", response }, cookie: by }).then(({ code }) => code);
  const fresh = async () => (await ask(site, "/factors/passkeys/options", { cookie })).body;
  assertEquals(await add(await authenticator.register(await fresh())), "passkey_known");
  const other = await createAuthenticator(byName(site));
  assertEquals(await add(await other.register(options), await site.signIn("viewer")), "passkey_refused");
  assertEquals(await add(await other.register(await fresh(), { format: "apple" })), "passkey_refused");
  assertEquals(await add(await other.register(await fresh(), { verified: false })), "passkey_refused");
  const signIn = (await ask(site, "/session/passkey/options")).body;
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

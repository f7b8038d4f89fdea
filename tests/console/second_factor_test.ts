// Required second factors of administrators, and the recovery of an owner whose only keys are passkeys.

import { assertEquals } from "@std/assert";
import { decodeBase32, TOTP_STEP_MS, totpAt } from "../../radius/factors/totp.ts";
import { createAuthenticator } from "../fakes/authenticator.ts";
import { createManualClock, PASSWORD, startConsole, type TestConsole } from "../fakes/console_app.ts";
import { CONSOLE_ROUTES } from "../fakes/console_routes.ts";

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

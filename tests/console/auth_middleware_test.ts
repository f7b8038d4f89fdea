// Authentication middleware: which calls require a recent factor, and which API tokens are accepted.

import { assertEquals } from "@std/assert";
import { SignJWT, UnsecuredJWT } from "jose";
import { RECENT_FACTOR_MS } from "../../console/api/auth/permissions.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createVault } from "../../platform/vault.ts";
import { CONSOLE_ROUTES } from "../fakes/console_routes.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";
import { createManualClock, PASSWORD, startConsole, type TestConsole } from "../fakes/console_app.ts";

const API = "/console/api";
const code = async (response: Response): Promise<string> => {
  const body = await response.json();
  return body.error?.code ?? "let in";
};

async function makeToken(site: TestConsole, { cookie, role = "viewer", days = 30, name = "ci" }: {
  cookie?: string;
  role?: string;
  days?: number;
  name?: string;
} = {}) {
  const response = await site.call(`${API}/tokens`, {
    method: "POST",
    json: { name, role, days },
    cookie: cookie ?? await site.signIn("owner"),
  });
  return await response.json() as { token: string; item: { id: string } };
}

const asToken = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

Deno.test("createAuthMiddleware() requires a recent factor after five minutes, on the rows that declare it and on no other", async (t) => {
  const clock = createManualClock();
  await using site = await startConsole({ clock });
  for (const row of CONSOLE_ROUTES.filter(({ needs }) => needs !== "anyone")) {
    if (row.path === "/live/stream") continue;
    await t.step(`${row.method} ${row.path}: ${row.recentFactor ? "asks" : "does not ask"}`, async () => {
      const cookie = await site.signIn("owner");
      clock.advance(RECENT_FACTOR_MS + 1);
      const path = API + row.path.replaceAll(/:\w+/g, "some-id");
      const withBody = ["POST", "PUT", "PATCH"].includes(row.method);
      const response = await site.call(path, { method: row.method, json: withBody ? {} : undefined, cookie });
      const text = await response.text();
      assertEquals(text.includes('"step_up"'), row.recentFactor === true, text.slice(0, 200));
    });
  }
});

/** Requests of routes without `recentFactor`, and whether their change requires a recent factor. */
const GRANTS: readonly (readonly [method: string, path: string, json: unknown, asks: boolean])[] = [
  ["POST", "/users", { user: { userName: "new" } }, false],
  ["POST", "/users", { user: { userName: "new2", phoneNumbers: [] } }, false],
  ["POST", "/users", { user: { userName: "new3", password: "secret" } }, true],
  ["POST", "/users", { user: { userName: "new4", phoneNumbers: [{ value: "+14155550199" }] } }, true],
  ["PUT", "/users/ada", { user: { userName: "ada", phoneNumbers: [{ value: "+1 415 555 0123" }] } }, false],
  ["PUT", "/users/ada", { user: { userName: "ada", phoneNumbers: [{ value: "+14155550199" }] } }, true],
  ["PUT", "/users/ada", { user: { userName: "ada", phoneNumbers: [{ value: "0199" }] } }, true],
  ["PUT", "/users/ada", { user: { userName: "ada", password: "secret" } }, true],
  ["PUT", "/users/ada", { user: { userName: "ada", active: false } }, false],
  ["PUT", "/users/gone", { user: { userName: "gone", active: true } }, true],
  ["PUT", "/users/gone", { user: { userName: "gone", active: false, title: "Dr" } }, false],
  ["PUT", "/users/gone/active", { active: true }, true],
  ["PUT", "/users/ada/active", { active: false }, false],
  ["POST", "/bulk", { choice: { names: ["gone"] }, action: "activate" }, true],
  ["POST", "/bulk", { choice: { names: ["gone"] }, action: "deactivate" }, false],
];

Deno.test("a request that gives a user a sign-in method requires a recent factor, on every route", async (t) => {
  const now = createManualClock(Date.now());
  await using site = await startPeopleConsole({ clock: now });
  await site.put("ada", { phoneNumbers: [{ value: "+14155550123" }] });
  await site.put("gone", { active: false });
  const cookie = await site.signIn("owner");
  now.advance(RECENT_FACTOR_MS + 1);
  for (const [method, path, json, asks] of GRANTS) {
    await t.step(`${method} ${path} ${JSON.stringify(json)}: ${asks ? "asks" : "does not ask"}`, async () => {
      const view = await (await site.call(`${API}${path}`, { cookie })).json();
      const version = method === "PUT" && view.record?.version;
      const body = method === "PUT" && path.split("/").length === 3 ? { ...json as object, version } : json;
      const response = await site.call(API + path, { method, json: body, cookie });
      assertEquals(await code(response), asks ? "step_up" : "let in");
    });
  }
});

Deno.test("createSessionRoutes() makes a factor fresh only for the same user, and only with the right password", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock });
  const cookie = await site.signIn("owner");
  clock.advance(RECENT_FACTOR_MS + 1);
  const ask = () => site.call(`${API}/invitations/x`, { method: "DELETE", cookie }).then(code);
  const show = (password: string) =>
    site.call(`${API}/session/step-up`, { method: "POST", json: { password }, cookie }).then(code);
  assertEquals(await ask(), "step_up");
  assertEquals(await show("wrong"), "wrong_sign_in");
  assertEquals(await ask(), "step_up");
  assertEquals(await show(PASSWORD), "let in");
  assertEquals(await ask(), "bad_invitation");
  clock.advance(RECENT_FACTOR_MS + 1);
  assertEquals(await ask(), "step_up");
});

Deno.test("createSessionRoutes() counts wrong factors like failed sign-ins", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("viewer");
  const show = () =>
    site.call(`${API}/session/step-up`, { method: "POST", json: { password: "wrong" }, cookie }).then(code);
  const said: string[] = [];
  for (let round = 0; round < 6; round += 1) said.push(await show());
  assertEquals(said, [...Array<string>(5).fill("wrong_sign_in"), "too_many_attempts"]);
});

Deno.test("ApiTokens gives a token the rights of its role, without an Origin, and no others", async () => {
  await using site = await startConsole();
  const { token } = await makeToken(site, { role: "operator" });
  assertEquals(
    await site.call(`${API}/live`, asToken(token)).then(({ status, body }) => (body?.cancel(), status)),
    200,
  );
  const deny = await fetch(`${site.origin}${API}/approvals/none/deny`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: "{}",
  });
  assertEquals(await code(deny), "already_decided");
  assertEquals(await site.call(`${API}/tokens`, asToken(token)).then(code), "role");
});

Deno.test("ApiTokens refuses tokens, also an owner's, where a recent factor or a browser is required", async () => {
  await using site = await startConsole();
  const { token } = await makeToken(site, { role: "owner" });
  for (const row of CONSOLE_ROUTES.filter(({ recentFactor, browserOnly }) => recentFactor || browserOnly)) {
    const withBody = ["POST", "PUT", "PATCH"].includes(row.method);
    const response = await site.call(API + row.path.replaceAll(/:\w+/g, "x"), {
      method: row.method,
      json: withBody ? {} : undefined,
      ...asToken(token),
    });
    assertEquals(await code(response), "not_for_tokens", row.path);
  }
});

Deno.test("ApiTokens refuses tokens with no algorithm, or another key, type, audience or issuer", async () => {
  await using site = await startConsole();
  const { item, token } = await makeToken(site, { role: "owner" });
  const key = createVault(new Uint8Array(32).fill(7), createSystemRandom()).deriveKey(
    "console api tokens",
    32,
  );
  const claims = () =>
    new SignJWT({ role: "owner" }).setJti(item.id).setSubject("ci").setExpirationTime("1h").setIssuedAt();
  const sound = (header: { alg?: string; typ?: string } = {}) =>
    claims().setIssuer("countersign").setAudience("countersign:console")
      .setProtectedHeader({ alg: "HS256", typ: "at+jwt", ...header });
  const [head = "", body = "", signature = ""] = token.split(".");
  const { privateKey } = await crypto.subtle.generateKey("Ed25519", true, [
    "sign",
    "verify",
  ]) as CryptoKeyPair;
  const forged: Readonly<Record<string, string>> = {
    "alg none": new UnsecuredJWT({ role: "owner" }).setJti(item.id).setSubject("ci").setIssuer("countersign")
      .setAudience("countersign:console").setExpirationTime("1h").encode(),
    "another key": await sound().sign(new Uint8Array(32)),
    "HS512 with the right key": await sound({ alg: "HS512" }).sign(
      new Uint8Array(64).fill(1),
    ),
    "EdDSA": await sound({ alg: "EdDSA" }).sign(privateKey),
    "another type": await sound({ typ: "JWT" }).sign(key),
    "another audience": await sound().setAudience("else").sign(key),
    "another issuer": await sound().setIssuer("else").sign(key),
    "expired": await sound().setExpirationTime(1).sign(key),
    "an unknown jti": await sound().setJti("unknown").sign(key),
    "no signature": `${head}.${body}.`,
    "half a signature": `${head}.${body}.${signature.slice(0, 20)}`,
    "nothing": "",
    "no JWT": "abc",
    "endless": "a".repeat(7000),
  };
  assertEquals(await site.call(`${API}/live`, asToken(await sound().sign(key))).then(code), "let in");
  for (const [what, one] of Object.entries(forged)) {
    assertEquals(await site.call(`${API}/live`, asToken(one)).then(code), "bad_api_token", what);
  }
});

Deno.test("ApiTokens refuses a token that is revoked or expired, or whose creator lost the account", async () => {
  const clock = createManualClock(Date.now());
  await using site = await startConsole({ clock });
  const cookie = await site.signIn("owner");
  const ask = (token: string) => site.call(`${API}/live`, asToken(token)).then(code);
  const revoked = await makeToken(site, { cookie });
  assertEquals(await ask(revoked.token), "let in");
  await (await site.call(`${API}/tokens/${revoked.item.id}`, { method: "DELETE", cookie })).body?.cancel();
  assertEquals(await ask(revoked.token), "bad_api_token");
  const short = await makeToken(site, { cookie, days: 1 });
  clock.advance(24 * 3_600_000 + 1000);
  assertEquals(await ask(short.token), "bad_api_token");
});

Deno.test("createAuthMiddleware() ignores an Authorization header of another scheme, which a proxy may add", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("viewer");
  const response = await site.call(`${API}/live`, { cookie, headers: { authorization: "Basic eDp5" } });
  assertEquals(await code(response), "let in");
});

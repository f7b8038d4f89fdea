// The client of an OpenID Connect provider, with a provider in memory: limits, endpoints, issuers and algorithms.

import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import type { Fetch } from "../../platform/fetch_with_deadline.ts";
import { OidcProvider } from "../../console/api/auth/oidc_provider.ts";
import { Refusal } from "../../console/api/errors.ts";
import { systemClock } from "../../platform/runtime.ts";
import { type FakeOidcProvider, oidcSettings } from "../fakes/oidc_provider.ts";
import type { Role } from "../../console/api/auth/admin_records.ts";
import { nameOfClaims, ownPath, roleOfClaims } from "../../console/api/auth/oidc_routes.ts";

const ISSUER = "https://id.example.org/realm";
const METADATA = {
  issuer: ISSUER,
  authorization_endpoint: `${ISSUER}/authorize?tenant=1`,
  token_endpoint: `${ISSUER}/token`,
  jwks_uri: `${ISSUER}/keys`,
};
const REQUEST = {
  redirectUri: "https://gate.example.org/callback",
  state: "state",
  nonce: "nonce",
  // RFC 7636, Appendix B.
  codeVerifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
};

function providerOf(fetch: Fetch): OidcProvider {
  const fake = { issuer: ISSUER, clientId: "my-client", clientSecret: "a b/c" } as FakeOidcProvider;
  return new OidcProvider({ settings: oidcSettings(fake), fetch, clock: systemClock });
}

const describing = (change: Readonly<Record<string, unknown>>) =>
  providerOf(() => Promise.resolve(Response.json({ ...METADATA, ...change })));

const codeOf = async (promise: Promise<unknown>): Promise<string> => {
  const refusal: Refusal = await assertRejects(() => promise, Refusal);
  return refusal.code;
};

Deno.test("OidcProvider.authorizationUrl() sends the challenge of RFC 7636 and keeps the endpoint's query", async () => {
  const asked: string[] = [];
  const provider = providerOf((url) => {
    asked.push(url);
    return Promise.resolve(Response.json(METADATA));
  });
  const url = new URL(await provider.authorizationUrl({ ...REQUEST, again: false }));
  assertEquals(url.searchParams.get("code_challenge"), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
  assertEquals(url.searchParams.get("tenant"), "1");
  await provider.authorizationUrl({ ...REQUEST, again: true });
  assertEquals(asked, [`${ISSUER}/.well-known/openid-configuration`], "asked once in ten minutes");
  assertEquals(provider.lastContact()?.ok, true);
});

Deno.test("OidcProvider accepts its issuer with a trailing slash, and no other issuer", async () => {
  const url = await describing({ issuer: `${ISSUER}/` }).authorizationUrl({ ...REQUEST, again: false });
  assertMatch(url, /^https:\/\/id\.example\.org\/realm\/authorize/);
  for (const issuer of [`${ISSUER}/x`, `${ISSUER}//`, "https://id.example.org", ISSUER.toUpperCase(), 5]) {
    const wrong = describing({ issuer });
    assertEquals(await codeOf(wrong.authorizationUrl({ ...REQUEST, again: false })), "oidc_unreachable");
    assertEquals(wrong.lastContact()?.ok, false);
  }
});

Deno.test("OidcProvider accepts no endpoint without https from an issuer with https", async () => {
  for (const name of ["authorization_endpoint", "token_endpoint", "jwks_uri"]) {
    for (const value of ["http://id.example.org/x", "javascript:alert(1)", "/x", null]) {
      const wrong = describing({ [name]: value });
      assertEquals(await codeOf(wrong.authorizationUrl({ ...REQUEST, again: false })), "oidc_unreachable");
    }
  }
});

Deno.test("OidcProvider reads at most 256 KiB of a response, and follows no redirect", async () => {
  const inits: RequestInit[] = [];
  let isCancelled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(65_536).fill(0x20)),
    cancel: () => void (isCancelled = true),
  });
  const provider = providerOf((_url, init) => {
    inits.push(init);
    return Promise.resolve(new Response(endless));
  });
  assertEquals(await codeOf(provider.authorizationUrl({ ...REQUEST, again: false })), "oidc_unreachable");
  assertEquals([isCancelled, inits[0]?.redirect, inits[0]?.signal instanceof AbortSignal], [
    true,
    "manual",
    true,
  ]);
});

Deno.test("OidcProvider.redeem() sends the client secret form-encoded, and refuses an endless token response", async () => {
  const sent: string[] = [];
  const provider = providerOf((url, init) => {
    if (url !== METADATA.token_endpoint) return Promise.resolve(Response.json(METADATA));
    sent.push(new Headers(init.headers).get("authorization") ?? "", String(init.body));
    return Promise.resolve(new Response("x".repeat(300_000)));
  });
  const response = new URLSearchParams({ code: "c", state: REQUEST.state });
  assertEquals(await codeOf(provider.redeem({ ...REQUEST, response })), "oidc_code");
  const [authorization = "", body = ""] = sent;
  assertEquals(atob(authorization.replace("Basic ", "")), "my-client:a+b%2Fc");
  assertEquals(Object.fromEntries(new URLSearchParams(body)), {
    grant_type: "authorization_code",
    code: "c",
    redirect_uri: REQUEST.redirectUri,
    code_verifier: REQUEST.codeVerifier,
  });
});

/** Queries of the callback address, and the refusal of each. */
const RESPONSES: readonly (readonly [Record<string, string>, string])[] = [
  [{ state: "state" }, "oidc_denied"],
  [{ state: "state", code: "x".repeat(2049) }, "oidc_denied"],
  [{ state: "state", error: "access_denied" }, "oidc_denied"],
  [{ state: "else", code: "c" }, "oidc_state"],
  [{ code: "c" }, "oidc_state"],
  [{ state: "state", code: "c", iss: "https://else.example.org" }, "oidc_state"],
];
for (const [query, code] of RESPONSES) {
  Deno.test(`OidcProvider.redeem() refuses ${JSON.stringify(query).slice(0, 60)}: ${code}`, async () => {
    const provider = describing({});
    const response = new URLSearchParams(query);
    assertEquals(await codeOf(provider.redeem({ ...REQUEST, response })), code);
  });
}

/** What the token endpoint sends with a successful status, and the refusal. */
const TOKENS: readonly (readonly [string, unknown])[] = [
  ["no ID token", { access_token: "a", token_type: "Bearer" }],
  ["an invalid ID token", { access_token: "a", token_type: "Bearer", id_token: "x.y.z" }],
  ["no object", []],
];
for (const [what, body] of TOKENS) {
  Deno.test(`OidcProvider.redeem() refuses a token response with ${what}: oidc_token`, async () => {
    const provider = providerOf((url) =>
      Promise.resolve(Response.json(url === METADATA.token_endpoint ? body : METADATA))
    );
    const response = new URLSearchParams({ code: "c", state: REQUEST.state });
    assertEquals(await codeOf(provider.redeem({ ...REQUEST, response })), "oidc_token");
  });
}

Deno.test("ownPath() accepts only paths of this site", () => {
  const origin = "https://gate.example.org";
  const cases: readonly (readonly [string, string])[] = [
    ["/access?x=1", "/access?x=1"],
    ["//evil.test/a", "/"],
    ["/\\evil.test", "/"],
    ["https://evil.test", "/"],
    ["javascript:alert(1)", "/"],
    ["access", "/"],
    ["/a/../../b", "/b"],
    ["/.//evil.test", "/"],
    ["/a/..//evil.test", "/"],
    ["/./\\evil.test", "/"],
    ["/a\\b", "/"],
    ["/\t/evil.test", "/"],
    ["/a\nb", "/"],
    ["/\u007f", "/"],
  ];
  for (const [asked, expected] of cases) assertEquals(ownPath(asked, origin), expected, asked);
});

Deno.test("roleOfClaims() returns the highest role, and none for a user without a role", () => {
  const settings = {
    ...oidcSettings({ issuer: "https://id", clientId: "", clientSecret: "" } as FakeOidcProvider),
  };
  const cases: readonly (readonly [unknown, Role | null])[] = [
    [["staff", "managers"], "user_manager"],
    [["staff", "help desk"], "help_desk"],
    ["operators", "operator"],
    [["owners"], "owner"],
    [[], null],
    [{ owners: true }, null],
    [undefined, null],
    [["__proto__", 5, null], null],
  ];
  for (const [groups, role] of cases) assertEquals(roleOfClaims({ groups }, settings), role);
});

Deno.test("nameOfClaims() returns the first claim that is a valid name", () => {
  assertEquals(nameOfClaims({ preferred_username: "", email: "ada@example.org" }), "ada@example.org");
  assertEquals(nameOfClaims({ preferred_username: "token:ci", name: " Ada " }), "Ada");
  assertEquals(nameOfClaims({ preferred_username: 5, email: ["x"] }), null);
});

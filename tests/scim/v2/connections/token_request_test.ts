// The OAuth token endpoint: requests and errors as rows of RFC 6749, the life of access tokens, and the HTTP application.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { jwtVerify, SignJWT } from "jose";
import { createTokenApp } from "../../../../scim/v2/connections/token_app.ts";
import { readTokenRequest, TOKEN_ERRORS } from "../../../../scim/v2/connections/access_token.ts";
import { createLog } from "../../../../platform/log.ts";
import { createSystemRandom } from "../../../../platform/runtime.ts";
import { createVault } from "../../../../platform/vault.ts";
import { startConsole } from "../../../fakes/console_app.ts";
import { basicHeader, bearer, HERE, HOUR_MS, openConnectionStage, OWNER } from "./stage.ts";

const FORM = "application/x-www-form-urlencoded";
const SECRET = `css_${"S".repeat(43)}`;
const GRANT = "grant_type=client_credentials";
const CLIENT = `client_id=entra&client_secret=${SECRET}`;

interface RequestRow {
  readonly ref: string;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly type?: string | null;
  readonly authorization?: string;
  /** The code of the error, or the client. */
  readonly expected: keyof typeof TOKEN_ERRORS | readonly [string, string];
}

const REQUESTS: Readonly<Record<string, RequestRow>> = {
  "client in the body": { ref: "§2.3.1", body: `${GRANT}&${CLIENT}`, expected: ["entra", SECRET] },
  "client in the header": {
    ref: "§4.4.2",
    authorization: basicHeader("entra", SECRET),
    expected: ["entra", SECRET],
  },
  "form-encoded client in the header": {
    ref: "§2.3.1",
    authorization: basicHeader("en%74ra", "a+b%2Bc%3A"),
    expected: ["entra", "a b+c:"],
  },
  "the same client_id in header and body": {
    ref: "§3.2.1",
    body: `${GRANT}&client_id=entra`,
    authorization: basicHeader("entra", SECRET),
    expected: ["entra", SECRET],
  },
  "a charset": {
    ref: "§4.4.2",
    type: `${FORM}; charset=UTF-8`,
    body: `${GRANT}&${CLIENT}`,
    expected: ["entra", SECRET],
  },
  "unknown parameters": {
    ref: "§3.2",
    body: `${GRANT}&${CLIENT}&resource=x&__proto__=1`,
    expected: ["entra", SECRET],
  },
  "a scope": {
    ref: "§3.3",
    body: `${GRANT}&${CLIENT}&scope=scim+api%3A%2F%2Fx%2F.default`,
    expected: ["entra", SECRET],
  },
  "a parameter without a value": {
    ref: "§3.2",
    body: `${GRANT}&${CLIENT}&scope=`,
    expected: ["entra", SECRET],
  },
  "JSON": { ref: "§4.4.2", type: "application/json", body: "{}", expected: "not_a_form" },
  "no type": { ref: "§4.4.2", type: null, body: `${GRANT}&${CLIENT}`, expected: "not_a_form" },
  "no body": { ref: "§4.4.2", body: "", expected: "no_grant_type" },
  "grant_type without a value": { ref: "§3.2", body: `grant_type=&${CLIENT}`, expected: "no_grant_type" },
  "another grant": { ref: "§5.2", body: `grant_type=password&${CLIENT}`, expected: "grant_type" },
  "a repeated parameter": { ref: "§3.2", body: `${GRANT}&${CLIENT}&client_id=entra`, expected: "repeated" },
  "no client": { ref: "§5.2", body: GRANT, expected: "no_client" },
  "no secret": { ref: "§5.2", body: `${GRANT}&client_id=entra`, expected: "no_client" },
  "two secrets": {
    ref: "§2.3",
    body: `${GRANT}&${CLIENT}`,
    authorization: basicHeader("entra", SECRET),
    expected: "two_methods",
  },
  "two client_ids": {
    ref: "§2.3",
    body: `${GRANT}&client_id=okta`,
    authorization: basicHeader("entra", SECRET),
    expected: "two_methods",
  },
  "another scheme": { ref: "§5.2", authorization: bearer(SECRET), expected: "wrong_client" },
  "a header that is not encoded": {
    ref: "§2.3.1",
    authorization: basicHeader("entra", "%zz"),
    expected: "wrong_client",
  },
  "a scope with a quotation mark": {
    ref: "§3.3",
    body: `${GRANT}&${CLIENT}&scope=%22`,
    expected: "bad_scope",
  },
  "a scope without an end": {
    ref: "§3.3",
    body: `${GRANT}&${CLIENT}&scope=${"s".repeat(5000)}`,
    expected: "bad_scope",
  },
  "octets that are not UTF-8": { ref: "§3.2", body: Uint8Array.of(0xff, 0x3d, 0x31), expected: "bad_form" },
  "too many parameters": {
    ref: "§3.2",
    body: `${GRANT}&${CLIENT}${"&a=1".repeat(100)}`,
    expected: "bad_form",
  },
};

for (const [title, { ref, body = GRANT, type = FORM, authorization, expected }] of Object.entries(REQUESTS)) {
  Deno.test(`readTokenRequest() reads ${title} (RFC 6749 ${ref})`, () => {
    const octets = typeof body === "string" ? new TextEncoder().encode(body) : body;
    const read = readTokenRequest({ contentType: type, body: octets, authorization: authorization ?? null });
    assertEquals(read.ok ? [read.request.clientId, read.request.clientSecret] : read.code, expected);
  });
}

for (const [code, { description, ref }] of Object.entries(TOKEN_ERRORS)) {
  Deno.test(`TOKEN_ERRORS.${code} has a description of the characters of RFC 6749 §5.2, and a source`, () => {
    assertMatch(description, /^[\x20\x21\x23-\x5b\x5d-\x7e]+\.$/);
    assertMatch(ref, /^RFC 6\d{3} §/);
  });
}

const CLIENT_ID = "entra";

/** A connection with a client secret. */
async function openClient(lifeMs?: number) {
  const stage = await openConnectionStage();
  const options = { kind: "client_secret", ...lifeMs === undefined ? {} : { lifeMs } } as const;
  const { text, id } = await stage.create(CLIENT_ID, options);
  const issue = (clientSecret = text, clientId = CLIENT_ID) =>
    stage.connections.issueToken({ clientId, clientSecret }, HERE);
  return { ...stage, id, text, issue };
}

Deno.test("an access token is valid for an hour, and a new one can be had at any time", async () => {
  const stage = await openClient();
  const first = await stage.issue();
  assertEquals(first?.expiresInS, 3600);
  stage.clock.advance(HOUR_MS - 1000);
  assertEquals(await stage.authenticate(bearer(first?.token ?? "")), CLIENT_ID);
  const second = await stage.issue();
  stage.clock.advance(1000);
  assertEquals(await stage.authenticate(bearer(first?.token ?? "")), null);
  assertEquals(await stage.authenticate(bearer(second?.token ?? "")), CLIENT_ID);
});

Deno.test("an access token never lives longer than its secret", async () => {
  const stage = await openClient(HOUR_MS / 2);
  const issued = await stage.issue();
  assertEquals(issued?.expiresInS, 1800);
  stage.clock.advance(HOUR_MS / 2);
  assertEquals(await stage.authenticate(bearer(issued?.token ?? "")), null);
  assertEquals(await stage.issue(), null);
});

Deno.test("an access token ends with its secret, and a paused connection gets tokens", async () => {
  const stage = await openClient();
  const { administration } = stage.connections;
  await administration.change(CLIENT_ID, { version: 1, change: { paused: true } }, OWNER);
  const issued = await stage.issue();
  assertEquals(await stage.authenticate(bearer(issued?.token ?? "")), CLIENT_ID);
  await administration.revokeSecret(CLIENT_ID, stage.id, OWNER);
  assertEquals([await stage.authenticate(bearer(issued?.token ?? "")), await stage.issue()], [null, null]);
});

Deno.test("issueToken() refuses another client, and tokens of other keys, issuers and purposes are worth nothing", async () => {
  const stage = await openClient();
  await stage.create("other", { kind: "client_secret" });
  assertEquals(await stage.issue(stage.text, "other"), null);
  assertEquals(await stage.issue(stage.text, "__proto__"), null);
  const vault = createVault(new Uint8Array(32).fill(7), createSystemRandom());
  const nowS = Math.floor(stage.clock.nowMs() / 1000);
  const sign = (
    purpose: string,
    { issuer = "countersign", audience = "countersign:scim", typ = "at+jwt" } = {},
  ) =>
    new SignJWT({ secret: stage.id }).setProtectedHeader({ alg: "HS256", typ }).setIssuer(issuer)
      .setAudience(audience).setSubject(CLIENT_ID).setJti("1").setIssuedAt(nowS).setExpirationTime(nowS + 60)
      .sign(vault.deriveKey(purpose, 32));
  const right = "scim access tokens";
  assertEquals(await stage.authenticate(bearer(await sign(right))), CLIENT_ID);
  const wrong = [
    await sign("console api tokens"),
    await sign(right, { issuer: "else" }),
    await sign(right, { audience: "countersign:console" }),
    await sign(right, { typ: "JWT" }),
  ];
  for (const token of wrong) assertEquals(await stage.authenticate(bearer(token)), null);
});

/** The token endpoint behind the listener. */
async function openEndpoint() {
  const stage = await openClient();
  const site = await startConsole({
    change(deps) {
      const log = createLog({ format: "text", level: "error", clock: stage.clock, write: () => undefined });
      const app = createTokenApp({ connections: stage.connections, log, random: createSystemRandom() });
      return { ...deps, scim: [app] };
    },
  });
  return {
    ...stage,
    send: (init: RequestInit = {}, path = "/scim/oauth/token") =>
      fetch(site.origin + path, { method: "POST", ...init }),
    [Symbol.asyncDispose]: () => site[Symbol.asyncDispose](),
  };
}

Deno.test("POST /scim/oauth/token answers like RFC 6749 §5.1, and the token is signed with HS256", async () => {
  await using endpoint = await openEndpoint();
  const { text } = endpoint;
  const body = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: CLIENT_ID,
    client_secret: text,
  });
  const answer = await endpoint.send({ body });
  assertEquals(answer.status, 200);
  const { headers } = answer;
  assertEquals([headers.get("cache-control"), headers.get("pragma")], ["no-store", "no-cache"]);
  assertMatch(headers.get("content-type") ?? "", /^application\/json/);
  const { access_token: token, ...rest } = await answer.json();
  assertEquals(rest, { token_type: "Bearer", expires_in: 3600, scope: "scim" });
  assertEquals(await endpoint.authenticate(bearer(token)), CLIENT_ID);
  const key = createVault(new Uint8Array(32).fill(7), createSystemRandom()).deriveKey(
    "scim access tokens",
    32,
  );
  const currentDate = new Date(endpoint.clock.nowMs());
  const { payload, protectedHeader } = await jwtVerify(token, key, { currentDate });
  assertEquals([protectedHeader.alg, payload.sub, payload.secret], ["HS256", CLIENT_ID, endpoint.id]);
  const last = await endpoint.connections.administration.lastRequest(CLIENT_ID);
  assertEquals([last?.operation, last?.status], ["token", 200]);
});

Deno.test("POST /scim/oauth/token names errors like RFC 6749 §5.2, with a challenge for a wrong client", async () => {
  await using endpoint = await openEndpoint();
  const headers = { authorization: basicHeader(CLIENT_ID, "wrong"), "content-type": FORM };
  const wrong = await endpoint.send({ headers, body: GRANT });
  assertEquals(wrong.status, 401);
  assertMatch(wrong.headers.get("www-authenticate") ?? "", /^Basic realm=/);
  assertEquals(wrong.headers.get("cache-control"), "no-store");
  const { error, error_description: description } = await wrong.json();
  assertEquals([error, description], ["invalid_client", TOKEN_ERRORS.wrong_client.description]);
  const other = await endpoint.send({
    headers: { "content-type": FORM },
    body: `grant_type=password&${CLIENT}`,
  });
  assertEquals([other.status, (await other.json()).error], [400, "unsupported_grant_type"]);
});

Deno.test("POST /scim/oauth/token limits failures of one client at one address, and the right secret passes", async () => {
  await using endpoint = await openEndpoint();
  const headers = { "content-type": FORM };
  const send = (secret: string) =>
    endpoint.send({ headers, body: `${GRANT}&client_id=${CLIENT_ID}&client_secret=${secret}` });
  const statuses: number[] = [];
  for (let at = 0; at < 7; at++) {
    const answer = await send("wrong");
    statuses.push(answer.status);
    if (answer.status === 429) assertEquals(answer.headers.get("retry-after"), "60");
    assertEquals((await answer.json()).error, "invalid_client");
  }
  assertEquals(statuses, [401, 401, 401, 401, 401, 429, 429]);
  const right = await send(endpoint.text);
  assertEquals(right.status, 200);
  await right.body?.cancel();
});

Deno.test("the token endpoint only accepts POST (RFC 6749 §3.2), and has no other path", async () => {
  await using endpoint = await openEndpoint();
  for (const method of ["GET", "PUT", "DELETE", "OPTIONS"]) {
    const answer = await endpoint.send({ method });
    assertEquals([method, answer.status, answer.headers.get("allow")], [method, 405, "POST"]);
    assertEquals((await answer.json()).error, "invalid_request");
  }
  const unknown = await endpoint.send({}, "/scim/oauth/authorize");
  assertEquals([unknown.status, (await unknown.json()).error], [404, "invalid_request"]);
});

Deno.test("the token endpoint answers a large body with 413, and a fault with an id and no secret", async () => {
  await using endpoint = await openEndpoint();
  const large = await endpoint.send({ headers: { "content-type": FORM }, body: "a=".padEnd(100_000, "a") });
  assertEquals([large.status, (await large.json()).error], [413, "invalid_request"]);
  endpoint.store.close = () => Promise.resolve();
  endpoint.connections.issueToken = () => Promise.reject(new Error(`the secret ${endpoint.text}`));
  const headers = { "content-type": FORM };
  const fault = await endpoint.send({ headers, body: `${GRANT}&${CLIENT}` });
  const { error, error_description: description } = await fault.json();
  assertEquals([fault.status, error], [500, "server_error"]);
  assertMatch(description, /Look for [0-9a-f]{8}\.$/);
  assert(!description.includes(endpoint.text));
});

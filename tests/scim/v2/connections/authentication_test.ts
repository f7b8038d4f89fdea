// Authentication of connections: bearer tokens, their expiry, rotation and revocation, Basic, and the limit of failures.

import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { ScimRefusal } from "../../../../scim/http/refusals.ts";
import { eventually } from "../../../upstream/manual_clock.ts";
import {
  addedSecret,
  basicHeader,
  bearer,
  type ConnectionStage,
  CREDENTIAL,
  HERE,
  HOUR_MS,
  openConnectionStage,
  openTwoNodes,
  OWNER,
} from "./stage.ts";

const DAY_MS = 24 * HOUR_MS;
const OTHER_TOKEN = `cst_${"A".repeat(43)}`;

Deno.test("authenticate() accepts the token of a connection, and the store has only its SHA-256", async () => {
  const stage = await openConnectionStage();
  const { text, id } = await stage.create("okta");
  assertMatch(text, /^cst_[\w-]{43}$/);
  const connection = await stage.connections.authenticate(bearer(text), HERE);
  assertEquals(connection?.settings.name, "okta");
  assertEquals([connection?.targets, connection?.secretId, connection?.actorName], [
    ["default"],
    id,
    "scim:okta",
  ]);
  for await (const { key, value } of stage.store.list([])) {
    assert(!JSON.stringify([key, value]).includes(text.slice(4)), `${key.join(" / ")} has the token`);
  }
});

/** Headers, as functions of a valid token, that prove nothing. */
const REFUSED: Readonly<Record<string, (token: string) => string | null>> = {
  "no header": () => null,
  "an empty header": () => "",
  "the token alone": (token) => token,
  "another scheme": (token) => `Token ${token}`,
  "no token": () => "Bearer ",
  "two tokens": (token) => `Bearer ${token} ${token}`,
  "a token with a suffix": (token) => `Bearer ${token}x`,
  "a token without its prefix": (token) => `Bearer ${token.slice(4)}`,
  "a token in capitals": (token) => `Bearer ${token.toUpperCase()}`,
  "an unknown token": () => `Bearer ${OTHER_TOKEN}`,
  "the name of a property": () => "Bearer __proto__",
  "a token after a null": (token) => `Bearer \0${token}`,
  "an endless header": (token) => `Bearer ${token}${" ".repeat(10_000)}`,
  "blanks without an end": () => `Bearer ${" ".repeat(8000)}`,
  "an access token of no one": () => "Bearer a.b.c",
  "an unsigned access token": () => "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJva3RhIn0.",
  "a bad Basic header": () => "Basic %%%",
  "the token as password": (token) => basicHeader("okta", token),
};

for (const [title, headerOf] of Object.entries(REFUSED)) {
  Deno.test(`authenticate() refuses ${title}`, async () => {
    const stage = await openConnectionStage();
    const { text } = await stage.create("okta");
    assertEquals(await stage.authenticate(headerOf(text)), null);
    assertEquals(await stage.authenticate(`bearer   ${text}`), "okta");
  });
}

Deno.test("authenticate() accepts a SCIM credential with HTTP Basic, with the permissions that it has today", async () => {
  const stage = await openConnectionStage();
  const header = basicHeader(CREDENTIAL.name, CREDENTIAL.password);
  const connection = await stage.connections.authenticate(header, HERE);
  assertEquals([connection?.actorName, connection?.secretId], ["scim:hr", null]);
  assertEquals(connection?.targets, ["default", "corp"]);
  const { name, access, adoption, deletionPercent } = connection?.settings ?? {};
  assertEquals([name, access, adoption, deletionPercent], ["basic:hr", "write", "automatic", 100]);
  assertEquals(await stage.authenticate(basicHeader(CREDENTIAL.name, "wrong password")), null);
});

Deno.test("a token ends at its time, and its connection's log says so", async () => {
  const stage = await openConnectionStage();
  const { text } = await stage.create("okta", { lifeMs: DAY_MS });
  stage.clock.advance(DAY_MS - 1);
  assertEquals(await stage.authenticate(bearer(text)), "okta");
  stage.clock.advance(1);
  assertEquals(await stage.authenticate(bearer(text)), null);
  const last = await stage.connections.administration.lastRequest("okta");
  assertEquals([last?.operation, last?.status, last?.source], ["authenticate", 401, HERE]);
  assertMatch(last?.detail ?? "", /^The token has expired\. Create a new one/);
  assertEquals(stage.connections.administration.secretsOf("okta").length, 1);
});

Deno.test("a rotation lets both tokens pass during the overlap, and then the new one", async () => {
  const stage = await openConnectionStage();
  const old = await stage.create("okta");
  const { administration } = stage.connections;
  const replaces = { id: old.id, overlapMs: HOUR_MS };
  const wanted = { kind: "client_secret", lifeMs: null, replaces } as const;
  const made = addedSecret(await administration.addSecret("okta", wanted, OWNER));
  assertEquals(made.kind, "token");
  assertNotEquals(made.text, old.text);
  const both = async () => [
    await stage.authenticate(bearer(old.text)),
    await stage.authenticate(bearer(made.text)),
  ];
  stage.clock.advance(HOUR_MS - 1);
  assertEquals(await both(), ["okta", "okta"]);
  stage.clock.advance(1);
  assertEquals(await both(), [null, "okta"]);
});

Deno.test("a rotation without an overlap ends the old token at once, and never extends it", async () => {
  const stage = await openConnectionStage();
  const { administration } = stage.connections;
  const first = await stage.create("okta", { lifeMs: 1000 });
  const add = async (id: string, overlapMs: number) => {
    const wanted = { kind: "token", lifeMs: null, replaces: { id, overlapMs } } as const;
    return addedSecret(await administration.addSecret("okta", wanted, OWNER));
  };
  const longer = await add(first.id, DAY_MS);
  stage.clock.advance(1000);
  assertEquals(await stage.authenticate(bearer(first.text)), null);
  const last = await add(longer.id, 0);
  assertEquals(await stage.authenticate(bearer(longer.text)), null);
  assertEquals(await stage.authenticate(bearer(last.text)), "okta");
});

Deno.test("a revoked token, and every token of a removed connection, is refused at once", async () => {
  const stage = await openConnectionStage();
  const { administration } = stage.connections;
  const okta = await stage.create("okta");
  const entra = await stage.create("entra");
  assertEquals(await administration.revokeSecret("entra", okta.id, OWNER), false);
  assert(await administration.revokeSecret("okta", okta.id, OWNER));
  assertEquals(await administration.remove("entra", OWNER), "removed");
  assertEquals([await stage.authenticate(bearer(okta.text)), await stage.authenticate(bearer(entra.text))], [
    null,
    null,
  ]);
  assertEquals(await administration.revokeSecret("okta", okta.id, OWNER), false);
});

Deno.test("a secret is only accepted for its purpose, and the log says what to do", async () => {
  const stage = await openConnectionStage();
  const token = await stage.create("okta");
  const secret = await stage.create("entra", { kind: "client_secret" });
  const { administration } = stage.connections;
  assertEquals(await stage.authenticate(bearer(secret.text)), null);
  const request = { clientId: "okta", clientSecret: token.text };
  assertEquals(await stage.connections.issueToken(request, HERE), null);
  assertMatch((await administration.lastRequest("entra"))?.detail ?? "", /Enter a token of the connection/);
  assertMatch((await administration.lastRequest("okta"))?.detail ?? "", /Enter a client secret/);
});

Deno.test("the last use of a secret is stored at most once a minute", async () => {
  const stage = await openConnectionStage();
  const { text } = await stage.create("okta");
  const stored = async () => {
    for await (
      const { value } of stage.store.list<{ usedMs: number | null; usedFrom: string }>(["scim_secret"])
    ) {
      if (value !== null) return [value.usedMs, value.usedFrom];
    }
    return [];
  };
  const firstMs = stage.clock.nowMs();
  for (let use = 0; use < 3; use++) {
    assertEquals(await stage.authenticate(bearer(text), `192.0.2.${use}`), "okta");
    await eventually("the first use is stored", async () => (await stored())[0] !== null);
    stage.clock.advance(20_000 - 1);
  }
  assertEquals(await stored(), [firstMs, "192.0.2.0"]);
  stage.clock.advance(10);
  await stage.authenticate(bearer(text), "192.0.2.9");
  await eventually("the later use is stored", async () => (await stored())[0] === firstMs + 60_007);
  assertEquals(await stored(), [firstMs + 60_007, "192.0.2.9"]);
});

/** Sends a wrong token until it is limited. Returns how many were answered before. */
async function exhaust(stage: ConnectionStage, header: string, source = HERE): Promise<number> {
  for (let count = 0; count < 100; count++) {
    if (await stage.authenticate(header, source) === "too_many_failures") return count;
  }
  return 100;
}

Deno.test("a client that repeats an old token is limited alone: others at its address, and every correct token, pass", async () => {
  const stage = await openConnectionStage();
  const { text } = await stage.create("okta");
  const { text: entra } = await stage.create("entra");
  assertEquals(await exhaust(stage, bearer(OTHER_TOKEN)), 5);
  assertEquals(await stage.authenticate(bearer(text)), "okta");
  assertEquals(await stage.authenticate(bearer(entra)), "entra");
  assertEquals(await stage.authenticate(bearer(`cst_${"B".repeat(43)}`)), null);
  assertEquals(await stage.authenticate(bearer(OTHER_TOKEN), "198.51.100.1"), null);
});

Deno.test("many wrong tokens of one address are limited together, and a correct one still passes", async () => {
  const stage = await openConnectionStage();
  const { text } = await stage.create("okta");
  const codes: unknown[] = [];
  for (let at = 0; at < 40; at++) {
    codes.push(await stage.authenticate(bearer(`cst_${String(at).padStart(43, "A")}`)));
  }
  assertEquals(codes, [...Array(30).fill(null), ...Array(10).fill("too_many_failures")]);
  assertEquals(await stage.authenticate(bearer(text)), "okta");
  const refusal = await stage.connections.authenticate(bearer(OTHER_TOKEN), HERE).catch((fault) => fault);
  assert(refusal instanceof ScimRefusal);
  assertEquals(refusal.headers, { "retry-after": "60" });
  stage.clock.advance(60_000);
  assertEquals(await stage.authenticate(bearer(OTHER_TOKEN)), null);
});

Deno.test("the log names no part of a wrong token", async () => {
  const stage = await openConnectionStage();
  await stage.authenticate(bearer(OTHER_TOKEN));
  await stage.authenticate(bearer("a password in the wrong field".replaceAll(" ", "-")));
  const lines = await stage.lines();
  assertEquals(lines.join("").match(/was refused/g)?.length, 2);
  assertEquals(lines.filter((line) => /AAAA|password/.test(line)), []);
});

Deno.test("a token that one node revokes is refused by the other nodes at once, and so are the access tokens of a secret", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = await openTwoNodes(kv);
  const token = await a.create("okta");
  const secret = await a.create("entra", { kind: "client_secret" });
  const issued = await b.connections.issueToken({ clientId: "entra", clientSecret: secret.text }, HERE);
  const onB = async () => [
    await b.authenticate(bearer(token.text)),
    await b.authenticate(bearer(issued?.token ?? "")),
  ];
  assertEquals(await onB(), ["okta", "entra"]);
  await a.connections.administration.revokeSecret("okta", token.id, OWNER);
  await a.connections.administration.revokeSecret("entra", secret.id, OWNER);
  assertEquals(await onB(), [null, null]);
  const last = await b.connections.administration.lastRequest("entra", { outcome: "refused" });
  assertEquals(last?.detail, "The client secret was revoked or expired.");
});

Deno.test("nodes have the connections that others created, changed and removed", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = await openTwoNodes(kv);
  const { text } = await a.create("okta");
  assertEquals(await b.authenticate(bearer(text)), "okta");
  const change = { version: 1, change: { paused: true } };
  assert((await b.connections.administration.change("okta", change, OWNER)).ok);
  assertEquals((await a.connections.authenticate(bearer(text), HERE))?.settings.paused, true);
  assertEquals(await a.connections.administration.change("okta", change, OWNER), {
    ok: false,
    reason: "changed",
  });
  assertEquals(await a.connections.administration.remove("okta", OWNER), "removed");
  assertEquals(await b.authenticate(bearer(text)), null);
  assertEquals(b.connections.administration.list(), []);
});

Deno.test("wrong tokens on two nodes count together", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = await openTwoNodes(kv);
  const codes: unknown[] = [];
  for (let at = 0; at < 8; at++) codes.push(await (at % 2 === 0 ? a : b).authenticate(bearer(OTHER_TOKEN)));
  assertEquals(codes, [...Array(5).fill(null), ...Array(3).fill("too_many_failures")]);
});

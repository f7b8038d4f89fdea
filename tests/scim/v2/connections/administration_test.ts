// Connections of identity providers: administration and authentication.

import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { eventually } from "../../../upstream/manual_clock.ts";
import {
  DEFAULT_CONNECTION,
  MAX_CONNECTIONS,
  MAX_SECRETS,
} from "../../../../scim/v2/connections/connection_settings.ts";
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
import { ScimRefusal } from "../../../../scim/http/refusals.ts";

// The administration of connections: names, versions, limits of numbers, removal, and audit entries.

const DAY_MS = 24 * HOUR_MS;
const OKTA = { name: "okta", kind: "okta", target: "default", secret: null } as const;

/** Names, and why no connection gets them. */
const NAMES: Readonly<Record<string, string>> = {
  "": "bad_name",
  Okta: "bad_name",
  "1okta": "bad_name",
  "-okta": "bad_name",
  "okta_1": "bad_name",
  "okta.1": "bad_name",
  "okta\n": "bad_name",
  "basic:hr": "bad_name",
  __proto__: "bad_name",
  ["o".repeat(41)]: "bad_name",
  [CREDENTIAL.name]: "taken",
  okta: "taken",
};

for (const [name, reason] of Object.entries(NAMES)) {
  Deno.test(`create() refuses the name ${JSON.stringify(name)}: ${reason}`, async () => {
    const { connections: { administration } } = await openConnectionStage();
    await administration.create(OKTA, OWNER);
    assertEquals(await administration.create({ ...OKTA, name }, OWNER), { ok: false, reason });
  });
}

Deno.test("create() needs a target, and gives each setting its default", async () => {
  const { connections: { administration } } = await openConnectionStage();
  const refused = await administration.create({ ...OKTA, target: "elsewhere" }, OWNER);
  assertEquals(refused, { ok: false, reason: "unknown_target" });
  for (const name of ["constructor", "o".repeat(40), "a"]) {
    const made = await administration.create({ ...OKTA, name, dryRun: true }, OWNER);
    assertEquals(made.ok && made.connection.settings, {
      ...DEFAULT_CONNECTION,
      ...{ name, kind: "okta", target: "default", dryRun: true },
    });
  }
});

Deno.test("the name of a removed connection is free after 30 days, and its secrets stay worthless", async () => {
  const stage = await openConnectionStage();
  const { administration } = stage.connections;
  const { text } = await stage.create("okta");
  const removedMs = stage.clock.nowMs();
  assertEquals(await administration.remove("okta", OWNER), "removed");
  assertEquals(await administration.remove("okta", OWNER), "unknown");
  assertEquals(await administration.reserved(), [{ name: "okta", untilMs: removedMs + 30 * DAY_MS }]);
  stage.clock.advance(30 * DAY_MS - 1);
  assertEquals(await administration.create(OKTA, OWNER), { ok: false, reason: "reserved" });
  stage.clock.advance(1);
  assertEquals((await administration.create(OKTA, OWNER)).ok, true);
  assertEquals(await administration.reserved(), []);
  assertEquals(await stage.authenticate(bearer(text)), null);
});

Deno.test("change() needs the current version, and leaves no trace if nothing changes", async () => {
  const stage = await openConnectionStage();
  const { administration } = stage.connections;
  await stage.create("okta");
  const change = (version: number, paused: boolean) =>
    administration.change("okta", { version, change: { paused } }, OWNER);
  const done = await change(1, true);
  assertEquals(done.ok && [done.connection.version, done.connection.settings.paused], [2, true]);
  assertEquals(await change(1, false), { ok: false, reason: "changed" });
  const same = await change(2, true);
  assertEquals(same.ok && same.connection.version, 2);
  assertEquals(await administration.change("entra", { version: 1, change: {} }, OWNER), {
    ok: false,
    reason: "unknown",
  });
  const audits = await stage.audits();
  assertEquals(audits.at(-1), {
    ...{ atMs: stage.clock.nowMs(), action: "connection.change", object: "connection:okta" },
    ...{ actor: "owner", source: "192.0.2.200", before: { paused: false }, after: { paused: true } },
  });
  assertEquals(audits.length, 2);
});

Deno.test("change() never changes the name, the kind or the target", async () => {
  const stage = await openConnectionStage();
  await stage.create("okta");
  const change = { name: "entra", kind: "entra", target: "corp", ["__proto__"]: { paused: true } } as object;
  const done = await stage.connections.administration.change("okta", { version: 1, change }, OWNER);
  assertEquals(done.ok && done.connection.version, 1);
});

Deno.test("two nodes that change a connection at the same time: one of them must read it again", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = await openTwoNodes(kv);
  await a.create("okta");
  await b.store.catchUp();
  const outcomes = await Promise.all(
    [a, b].map(({ connections: { administration } }, at) =>
      administration.change("okta", { version: 1, change: { requestsPerMinute: at + 1 } }, OWNER)
    ),
  );
  assertEquals(outcomes.map(({ ok }) => ok).toSorted(), [false, true]);
  const settings = () =>
    [a, b].map(({ connections }) => connections.administration.find("okta")?.settings.requestsPerMinute);
  await a.store.catchUp();
  await b.store.catchUp();
  const won = outcomes[0]?.ok ? 1 : 2;
  await eventually("both nodes have the winner's change", () => settings().every((one) => one === won));
});

Deno.test("the number of connections and of secrets is limited", async () => {
  const stage = await openConnectionStage();
  const { administration } = stage.connections;
  await stage.create("okta");
  const wanted = { kind: "token", lifeMs: null, replaces: null } as const;
  for (let count = 1; count < MAX_SECRETS; count++) {
    assertEquals((await administration.addSecret("okta", wanted, OWNER)).ok, true);
  }
  assertEquals(await administration.addSecret("okta", wanted, OWNER), { ok: false, reason: "too_many" });
  const unknown = { ...wanted, replaces: { id: "?", overlapMs: 0 } };
  assertEquals(await administration.addSecret("okta", unknown, OWNER), {
    ok: false,
    reason: "unknown_secret",
  });
  assertEquals(await administration.addSecret("entra", wanted, OWNER), { ok: false, reason: "unknown" });
  for (let count = 1; count < MAX_CONNECTIONS; count++) {
    await administration.create({ ...OKTA, name: `c${count}` }, OWNER);
  }
  assertEquals(await administration.create({ ...OKTA, name: "more" }, OWNER), {
    ok: false,
    reason: "too_many",
  });
});

Deno.test("each change of a connection and of its secrets leaves an audit entry without the secret", async () => {
  const stage = await openConnectionStage();
  const { administration } = stage.connections;
  const { id, text } = await stage.create("okta");
  const replaces = { id, overlapMs: HOUR_MS };
  await administration.addSecret("okta", { kind: "token", lifeMs: DAY_MS, replaces }, OWNER);
  await administration.revokeSecret("okta", id, OWNER);
  await administration.remove("okta", OWNER);
  const audits = await stage.audits();
  assertEquals(audits.map(({ action, object, actor }) => [action, object, actor]), [
    ["connection.create", "connection:okta", "owner"],
    ["connection.secret_add", "connection:okta", "owner"],
    ["connection.secret_revoke", "connection:okta", "owner"],
    ["connection.remove", "connection:okta", "owner"],
  ]);
  const expires = new Date(stage.clock.nowMs() + DAY_MS).toISOString();
  assertEquals(audits[1]?.after, { kind: "token", expires, replaces: id });
  assertEquals(JSON.stringify(audits).includes(text.slice(4)), false);
});

Deno.test("no record of the store has a secret in clear, however it was made", async () => {
  const stage = await openConnectionStage();
  const first = await stage.create("okta");
  const { administration } = stage.connections;
  const texts = [first.text];
  for (const replaces of [null, { id: first.id, overlapMs: HOUR_MS }]) {
    const added = await administration.addSecret(
      "okta",
      { kind: "client_secret", lifeMs: null, replaces },
      OWNER,
    );
    if (!added.ok) throw new Error(added.reason);
    texts.push(added.secret.text);
  }
  for await (const { key, value } of stage.store.list([])) {
    const record = Deno.inspect([key, value], { depth: 20, strAbbreviateSize: Infinity });
    assertEquals(texts.filter((text) => record.includes(text)), [], String(key[0]));
  }
});

// Authentication of connections: bearer tokens, their expiry, rotation and revocation, Basic, and the limit of failures.

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

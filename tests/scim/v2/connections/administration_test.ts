// The administration of connections: names, versions, limits of numbers, removal, and audit entries.

import { assertEquals } from "@std/assert";
import { eventually } from "../../../upstream/manual_clock.ts";
import {
  DEFAULT_CONNECTION,
  MAX_CONNECTIONS,
  MAX_SECRETS,
} from "../../../../scim/v2/connections/connection_settings.ts";
import { bearer, CREDENTIAL, HOUR_MS, openConnectionStage, openTwoNodes, OWNER } from "./stage.ts";

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

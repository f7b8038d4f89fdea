// Names, records and receivers that would keep an alert from its receiver, or change what it says.

import { assert, assertEquals } from "@std/assert";
import { RECEIVER_DEFAULTS } from "../../../platform/alerts/alert_kinds.ts";
import type { KnownAlert } from "../../../platform/alerts/alert_record.ts";
import { renderMails, safeName } from "../../../platform/alerts/alert_texts.ts";
import { MAX_VALUES_CHARACTERS } from "../../../platform/mail/mail_text.ts";
import { UNREADABLE_ROW } from "../../../platform/sealed_rows.ts";
import { createStore } from "../../../platform/store.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";
import { failing, openAlertWorld, pendingOf, typesOf, webhooksOf } from "./alert_world.ts";

const MINUTE_MS = 60_000;

Deno.test("no name makes an alert too long for a mail", () => {
  for (const character of ["@", "://", "](", "\u{1f600}", "www."]) {
    const users = Array.from({ length: 20 }, () => character.repeat(256).slice(0, 256));
    const times = { openedMs: 0, lastMs: 0, endedMs: null, notifiedMs: 0, notifiedCount: 20 };
    const alert: KnownAlert = {
      ...{ id: "1", kind: "user_locked", severity: "warning", about: "", count: 20, values: { users } },
      ...times,
    };
    const pending = { message: "opened", severity: "warning", budget: "warning", count: 0 } as const;
    const [mail] = renderMails(
      { publicUrl: () => "https://login.example.com", nodeName: "gate", nowMs: () => 0 },
      "team",
      {
        record: {
          settings: { ...RECEIVER_DEFAULTS, addresses: ["ops@example.com"] },
          ...{ sealed: new Uint8Array(), createdMs: 0, version: 1 },
        },
        message: { id: "1", pending: { ...pending, queuedMs: 0, attempts: 0, nextMs: 0 }, alert },
      },
    );
    const length = Object.values(mail?.values ?? {}).join("").length;
    assert(length > 1000 && length < MAX_VALUES_CHARACTERS, `${character}: ${length}`);
  }
});

for (
  const [name, shown] of [
    // Mattermost splits a word at its dots, so this mentions a channel.
    ["x.@channel", "x.(at)channel"],
    ["ada.b@example.com", "ada.b@example.com"],
    // Mail programs make links of it.
    ["www.evil.example", "www. evil.example"],
    ["WWW.evil.example", "WWW. evil.example"],
  ] as const
) {
  Deno.test(`safeName() shows ${name} as ${shown}`, () => assertEquals(safeName(name), shown));
}

Deno.test("each session that must be disconnected by hand is an alert of its own", async () => {
  await using world = await openAlertWorld();
  await world.receive("chat");
  const fail = (session: string) =>
    world.record("vpn_session.disconnect_failed", "ada", {
      ...{ client: `vpn-${session}`, nas: "n", session, by: "disconnect_not_me" },
    });
  await fail("1");
  await fail("2");
  await world.run();
  // The retries of the third one ended later.
  await fail("3");
  await world.run();
  const texts = (await webhooksOf(world, 3)).map(({ body }) => body.text);
  for (const client of ["vpn-1", "vpn-2", "vpn-3"]) {
    assertEquals(texts.filter((text) => text.includes(`RADIUS client: ${client}`)).length, 1, client);
  }
  // The same session again is counted.
  await fail("3");
  await world.run();
  assertEquals((await world.service.list("")).items.map(({ count }) => count).sort(), [1, 1, 2]);
});

Deno.test("an alert whose values cannot be shown does not stop the others, and is given up after a day", async () => {
  await using world = await openAlertWorld();
  await world.receive("chat");
  await world.service.close();
  const nowMs = world.clock.nowMs();
  const times = { openedMs: nowMs, lastMs: nowMs, endedMs: null, notifiedMs: nowMs, notifiedCount: 1 };
  const base = { kind: "fraud_reported", severity: "critical", about: "user:eve", count: 1, ...times };
  const waiting = { message: "opened", severity: "critical", budget: "fraud_reported", count: 0 };
  await world.store.commit({
    mutations: [
      { type: "set", key: ["alert", "0"], value: { ...base, values: { users: "eve", untilMs: 1e300 } } },
      {
        type: "set",
        key: ["alert_pending", "chat", "0"],
        value: { ...waiting, queuedMs: nowMs - 1, attempts: 0, nextMs: nowMs },
      },
    ],
  });
  await using next = await openAlertWorld({ store: world.store, clock: world.clock });
  await next.record("user.not_me", "ada");
  await next.run(10 * MINUTE_MS, MINUTE_MS);
  await webhooksOf(next, 1);
  assertEquals(typesOf(next), ["alert.opened"]);
  await next.run(26 * 60 * MINUTE_MS, 30 * MINUTE_MS);
  assertEquals(await pendingOf(next), 0);
});

Deno.test("a receiver whose secrets cannot be read is listed with its problem, can be removed, and stops no other", async () => {
  await using world = await openAlertWorld();
  await world.receive("chat");
  await world.receive("broken");
  const key = ["alert_receiver", "broken"];
  const { value } = await world.store.get<object>(key);
  await world.service.close();
  await world.store.commit({
    mutations: [{ type: "set", key, value: { ...value, sealed: new Uint8Array(40) } }],
  });
  await using next = await openAlertWorld({ store: world.store, clock: world.clock });
  await next.record("user.not_me", "ada");
  await next.run(MINUTE_MS, MINUTE_MS);
  await webhooksOf(next, 1);
  const found = (await next.service.listReceivers()).map((one) => [one.name, one.problem?.code ?? null]);
  assertEquals(found, [["broken", "failed"], ["chat", null]]);
  assertEquals(await next.service.test("broken", { actor: "owner" }), {
    ...{ ok: false, code: "failed", detail: UNREADABLE_ROW },
  });
  assertEquals(await next.service.receivers.remove("broken", { actor: "owner" }), true);
});

Deno.test("alerts that are off show no open alert on the overview", async () => {
  await using world = await openAlertWorld();
  await world.record("user.not_me", "ada");
  await world.run();
  assertEquals((await world.service.listOpen()).length, 1);
  world.settings.enabled = false;
  await world.run();
  assertEquals(await world.service.listOpen(), []);
});

Deno.test("a token that expires and is removed is not reported as resolved; one that is revoked before is", async () => {
  for (
    const [leftMs, types] of [[MINUTE_MS, ["alert.opened"]], [600 * MINUTE_MS, [
      "alert.opened",
      "alert.ended",
    ]]] as const
  ) {
    await using world = await openAlertWorld();
    await world.receive("chat");
    const values = { of: "token", name: "ci", untilMs: world.clock.nowMs() + leftMs };
    const about = "token:1";
    world.states = [{ kind: "credential_expiring", about, severity: "critical", state: "bad", values }];
    await world.run(MINUTE_MS, 10_000);
    world.states = [];
    await world.run(20 * MINUTE_MS, 10_000);
    await webhooksOf(world, types.length);
    assertEquals(typesOf(world), types);
    assertEquals((await world.service.list("")).open, []);
  }
});

Deno.test("a store that fails now and then does not hide that a backend fails", async () => {
  const clock = createManualClock();
  let isFailing = false;
  const store = createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
  const range = store.range.bind(store);
  await using _closed = { [Symbol.asyncDispose]: () => store.close() };
  store.range = (...args) => {
    if (isFailing) throw new Error("the store is busy");
    return range(...args);
  };
  await using world = await openAlertWorld({ store, clock });
  await world.receive("chat");
  world.states = [failing("a")];
  for (let minute = 0; minute < 8; minute++) {
    await world.run(MINUTE_MS, 10_000);
    isFailing = true;
    await world.run();
    isFailing = false;
  }
  await webhooksOf(world, 1);
  assertEquals(typesOf(world), ["alert.opened"]);
});

Deno.test("a flood whose alerts need several commits: if a later one fails, no event is lost", async () => {
  const clock = createManualClock();
  const store = createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
  await using _closed = { [Symbol.asyncDispose]: () => store.close() };
  const commit = store.commit.bind(store);
  let left = Infinity;
  store.commit = (transaction) =>
    transaction.mutations.some((one) => "key" in one && one.key[0] === "alert") && left-- <= 0
      ? Promise.reject(new Error("the store is busy"))
      : commit(transaction);
  await using world = await openAlertWorld({ store, clock });
  const users: string[] = [];
  for (const action of ["user.locked", "user.not_me", "vpn_session.disconnect_failed"] as const) {
    for (let at = 0; at < 12; at++) {
      users.push(`${action} ${at}`);
      await world.record(action, `${action} ${at}`, { session: String(at) });
    }
  }
  left = 1;
  await world.run();
  left = Infinity;
  await world.run();
  const { items } = await world.service.list("");
  const known = new Set(items.flatMap(({ values: { users: several, user = "" } }) => several ?? [user]));
  assertEquals(users.filter((user) => !known.has(user)), []);
});

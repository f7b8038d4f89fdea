// Receivers of alerts that fail, hang, are removed or paused, and test messages.

import { assert, assertEquals } from "@std/assert";
import { ALERT_KINDS, RECEIVER_DEFAULTS } from "../../../platform/alerts/alert_kinds.ts";
import type { KnownAlert } from "../../../platform/alerts/alert_record.ts";
import { renderMails, renderWebhook, safeName } from "../../../platform/alerts/alert_texts.ts";
import { signWebhook } from "../../../platform/log_export/webhook_sender.ts";
import { MAX_VALUES_CHARACTERS } from "../../../platform/mail/mail_templates.ts";
import { UNREADABLE_ROW } from "../../../platform/sealed_rows.ts";
import { createStore } from "../../../platform/store.ts";
import { createManualClock, eventually } from "../../upstream/manual_clock.ts";
import { configOf } from "../config/samples.ts";
import {
  BY,
  failing,
  openAlertWorld,
  openChatWorld,
  pendingOf,
  RUN_MS,
  typesOf,
  webhooksOf,
} from "./alert_world.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

Deno.test("mail is off, or its queue is full: the alert is stored, the webhook is sent, and the problem is shown", async () => {
  await using world = await openChatWorld();
  await world.receive("team", { kind: "mail" });
  world.mail.isConfigured = false;
  await world.record("user.not_me", "ada");
  await world.run();
  assertEquals((await webhooksOf(world, 1)).length, 1);
  const problem = async () => (await world.service.findReceiver("team"))?.problem?.code;
  await eventually("the problem is shown", async () => await problem() === "mail_off");
  world.mail.isConfigured = true;
  world.mail.isFull = true;
  await world.run(MINUTE_MS, 5000);
  assertEquals(await problem(), "mail_queue_full");
  const [{ deliveries } = { deliveries: [] }] = (await world.service.list("")).items;
  assertEquals(deliveries.find(({ receiver }) => receiver === "team")?.state, "pending");
  world.mail.isFull = false;
  await world.run(10 * MINUTE_MS, MINUTE_MS);
  await eventually("the mail is queued", async () => (await world.mail.mails()).length === 1);
  await eventually("no problem is shown", async () => await problem() === undefined);
});

/** What a receiver answers, and the problem that is shown. */
const ANSWERS: readonly (readonly [string, (request: Request) => Promise<Response>, string])[] = [
  ["is down", () => Promise.reject(new TypeError("connection refused")), "unreachable"],
  ["answers 500", () => Promise.resolve(new Response(null, { status: 500 })), "failed"],
  ["answers 404", () => Promise.resolve(new Response(null, { status: 404 })), "refused"],
  ["answers 429", () => Promise.resolve(new Response(null, { status: 429 })), "busy"],
  [
    "redirects",
    () =>
      Promise.resolve(new Response(null, { status: 302, headers: { location: "https://evil.example/" } })),
    "redirected",
  ],
];

for (const [what, answer, code] of ANSWERS) {
  Deno.test(`a webhook that ${what}: it is tried again, and fails after a day`, async () => {
    await using world = await openChatWorld();
    world.answer = answer;
    await world.record("user.not_me", "ada");
    await world.run();
    const state = async () => {
      const { items: [item] } = await world.service.list("");
      const { state, problem } = item?.deliveries[0] ?? {};
      return [state, problem?.code];
    };
    await eventually("the problem is shown", async () => (await state())[1] === code);
    assertEquals(await state(), ["pending", code]);
    assertEquals((await world.service.findReceiver("chat"))?.problem?.code, code);
    await world.run(25 * HOUR_MS, HOUR_MS);
    await eventually("it failed", async () => (await state())[0] === "failed");
    assertEquals(await pendingOf(world), 0);
    const tries = world.requests();
    assert(tries > 5 && tries < 400, `${tries} tries`);
    // The next message is sent as soon as the receiver works.
    world.answer = () => Promise.resolve(new Response());
    await world.record("user.not_me", "grace");
    await world.run(2 * HOUR_MS, 10 * MINUTE_MS);
    assertEquals((await webhooksOf(world, 1))[0]?.body.data.about, "user:grace");
    await eventually("no problem", async () => (await world.service.findReceiver("chat"))?.problem === null);
  });
}

Deno.test("a webhook that hangs ends by its deadline, and delays no other receiver", async () => {
  await using world = await openChatWorld();
  await world.receive("other");
  let isFirst = true;
  world.answer = () => {
    if (!isFirst) return Promise.resolve(new Response());
    isFirst = false;
    return new Promise(() => undefined);
  };
  await world.record("user.not_me", "ada");
  await world.run();
  assertEquals((await webhooksOf(world, 1)).length, 1);
  await world.run(MINUTE_MS, RUN_MS);
  assertEquals((await webhooksOf(world, 2)).length, 2);
});

Deno.test("a receiver that is removed while a message waits receives nothing, also if its name is used again", async () => {
  await using world = await openChatWorld();
  world.answer = () => Promise.reject(new TypeError("down"));
  await world.record("user.not_me", "ada");
  await world.run();
  await eventually(
    "the first try failed",
    async () => (await world.service.findReceiver("chat"))?.problem !== null,
  );
  await world.service.receivers.remove("chat", BY);
  await world.run();
  await eventually("nothing waits", async () => await pendingOf(world) === 0);
  world.answer = () => Promise.resolve(new Response());
  await world.receive("chat");
  await world.run(10 * MINUTE_MS, MINUTE_MS);
  assertEquals(typesOf(world), []);
  assertEquals((await world.service.findReceiver("chat"))?.problem, null);
});

Deno.test("a paused receiver gets nothing; messages that waited are sent when it is resumed", async () => {
  await using world = await openChatWorld();
  world.answer = () => Promise.reject(new TypeError("down"));
  await world.record("user.not_me", "ada");
  await world.run();
  await eventually("a try failed", () => world.requests() === 1);
  const setPaused = async (isPaused: boolean) => {
    const action = isPaused ? "alert.receiver_pause" : "alert.receiver_resume";
    const outcome = await world.service.receivers.change("chat", {
      action,
      merge: ({ settings }) => ({ settings: { ...settings, isPaused } }),
    }, BY);
    assertEquals(outcome, "done");
  };
  await setPaused(true);
  world.answer = () => Promise.resolve(new Response());
  await world.record("user.not_me", "grace");
  await world.run(10 * MINUTE_MS, MINUTE_MS);
  assertEquals(typesOf(world), []);
  await setPaused(false);
  await world.run();
  assertEquals((await webhooksOf(world, 1)).map(({ body }) => body.data.about), ["user:ada"]);
});

Deno.test("a test message reaches its receiver; one that fails names the problem", async () => {
  await using world = await openChatWorld();
  await world.receive("team", { kind: "mail" });
  assertEquals(await world.service.test("chat", BY), { ok: true, tookMs: 0 });
  assertEquals(typesOf(world), ["alert.test"]);
  assertEquals(await world.service.test("team", BY), { ok: true, tookMs: 0 });
  assertEquals((await world.mail.mails()).map(({ values }) => values.title), [
    "Test alert: this receiver works",
  ]);
  world.mail.isConfigured = false;
  world.answer = () => Promise.resolve(new Response(null, { status: 401 }));
  const failed = await Promise.all(["chat", "team", "gone"].map((name) => world.service.test(name, BY)));
  assertEquals(failed.map((result) => result === null || result.ok ? null : result.code), [
    ...["refused", "mail_off", null],
  ]);
});

// Names, records and receivers that would keep an alert from its receiver, or change what it says.

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
  await using world = await openChatWorld();
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
  await using world = await openChatWorld();
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
  await using world = await openChatWorld();
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
    await using world = await openChatWorld();
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

// docs/alerts.md: its kinds are those of the product, and its example of a webhook is what the gateway sends.

const PAGE = await Deno.readTextFile(new URL("../../../docs/alerts.md", import.meta.url));

/** The code of a fenced block, by its language. */
function blockOf(language: string): string {
  const [, code] = PAGE.match(new RegExp(`\`\`\`${language}\n([^]*?)\n\`\`\``)) ?? [];
  if (code === undefined) throw new Error(`docs/alerts.md has no block of ${language}`);
  return code;
}

const BODY = JSON.stringify(JSON.parse(blockOf("json")));
const HEADERS = new Headers(
  [...blockOf("http").matchAll(/^(webhook-\w+): (.*)$/gm)].map((
    [, name = "", value = ""],
  ): [string, string] => [name, value]),
);
const headerOf = (name: string) => HEADERS.get(name) ?? "";
const [SECRET = ""] = PAGE.match(/whsec_[\w+/=]+/) ?? [];
const SENT_MS = Number(headerOf("webhook-timestamp")) * 1000;

Deno.test("docs/alerts.md lists each kind with its severity", () => {
  const rows = [...PAGE.matchAll(/^\| `(\w+)`\s+\| (warning|critical)/gm)].map(([, kind, severity]) => [
    kind,
    severity,
  ]);
  assertEquals(rows, Object.entries(ALERT_KINDS).map(([kind, { severity }]) => [kind, severity]));
});

Deno.test("docs/alerts.md shows the body that the gateway sends for its example", () => {
  const { data, node, link } = JSON.parse(BODY);
  const { openedAt, lastAt, endedAt, ...alert } = data;
  const lastMs = Date.parse(lastAt);
  const known = { ...alert, openedMs: Date.parse(openedAt), lastMs, endedMs: endedAt };
  const pending = { message: "opened", severity: alert.severity, budget: alert.kind, count: 0 } as const;
  const times = { queuedMs: lastMs, attempts: 0, nextMs: lastMs };
  const rendered = renderWebhook(
    { publicUrl: () => new URL(link).origin, nodeName: node, nowMs: () => SENT_MS },
    { settings: { ...RECEIVER_DEFAULTS, kind: "webhook" } },
    {
      id: alert.id,
      pending: { ...pending, ...times },
      alert: { ...known, notifiedMs: lastMs, notifiedCount: 1 },
    },
  );
  assertEquals(rendered, { id: headerOf("webhook-id"), body: BODY });
});

Deno.test("docs/alerts.md shows the defaults of the settings", () => {
  assertEquals(configOf(blockOf("toml")).alerts, configOf("").alerts);
});

Deno.test("docs/alerts.md shows the signature that the gateway sends with its example", () => {
  const signed = signWebhook({ id: headerOf("webhook-id"), body: BODY }, { secret: SECRET, nowMs: SENT_MS });
  assertEquals(signed, Object.fromEntries(HEADERS));
});

Deno.test("docs/alerts.md verifies its example, and refuses another body, an old request and another secret", async () => {
  const code = new TextEncoder().encode(`import { Buffer } from "node:buffer";\n${blockOf("ts")}`);
  const { isAuthentic } = await import(`data:application/typescript;base64,${code.toBase64()}`);
  assert(isAuthentic(SECRET, HEADERS, BODY, SENT_MS));
  assertEquals(isAuthentic(SECRET, HEADERS, `${BODY} `, SENT_MS), false);
  assertEquals(isAuthentic(SECRET, HEADERS, BODY, SENT_MS + 301_000), false);
  const other = `whsec_${new Uint8Array(32).toBase64()}`;
  assertEquals(isAuthentic(other, HEADERS, BODY, SENT_MS), false);
});

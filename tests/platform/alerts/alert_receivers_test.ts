// Receivers of alerts that fail, hang, are removed or paused, and test messages.

import { assert, assertEquals } from "@std/assert";
import { eventually } from "../../upstream/manual_clock.ts";
import { BY, openAlertWorld, pendingOf, RUN_MS, typesOf, webhooksOf } from "./alert_world.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

Deno.test("mail is off, or its queue is full: the alert is stored, the webhook is sent, and the problem is shown", async () => {
  await using world = await openAlertWorld();
  await world.receive("chat");
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
    await using world = await openAlertWorld();
    await world.receive("chat");
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
  await using world = await openAlertWorld();
  await world.receive("chat");
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
  await using world = await openAlertWorld();
  await world.receive("chat");
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
  await using world = await openAlertWorld();
  await world.receive("chat");
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
  await using world = await openAlertWorld();
  await world.receive("chat");
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

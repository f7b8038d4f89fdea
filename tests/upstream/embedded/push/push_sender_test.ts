// The order of messages about one request, their retries, and what the gateway remembers about push hosts.

import { assertEquals } from "@std/assert";
import { pushProblem } from "../../../../upstream/embedded/push/push_exchange.ts";
import { PushSender } from "../../../../upstream/embedded/push/push_sender.ts";
import { createManualClock, eventually } from "../../manual_clock.ts";
import { right } from "../../start_services.ts";
import { hostOf, startPush, TTL_MS } from "./start_push.ts";

Deno.test("the end of a request stops its retries, and is not sent if the phone received nothing", async () => {
  await using push = await startPush();
  push.service.answers.push({ status: 429 });
  const request = await push.ask();
  await eventually("the first answer", () => hostOf(push)?.problem?.code === "rate_limited");
  right(await push.embedded.phone.decide(push.token, request.id, { approve: false }));
  push.clock.advance(0);
  // This message begins after the one about the end.
  assertEquals(await push.pages.testOwn(push.token), { ok: true });
  assertEquals(push.service.delivered.map(({ payload }) => payload.kind), ["test"]);
  assertEquals(push.service.requests.length, 2);
});

Deno.test("the end of a request waits for its message, so that it never comes first", async () => {
  await using push = await startPush();
  push.service.answers.push("hang");
  const request = await push.ask();
  await eventually("the message is on its way", () => push.service.answers.length === 0);
  right(await push.embedded.phone.decide(push.token, request.id, { approve: false }));
  push.clock.advance(0);
  assertEquals(await push.pages.testOwn(push.token), { ok: true });
  assertEquals(push.service.delivered.map(({ payload }) => payload.kind), ["test"]);
  // The push service may have delivered the message that it did not answer.
  push.clock.advance(10_000);
  await push.delivered(2);
  assertEquals(push.service.delivered.map(({ payload }) => payload.kind), ["test", "ended"]);
});

Deno.test("a request that its phone decided is not sent again, and its end is not sent to a phone that showed it", async () => {
  await using push = await startPush();
  const { phone } = push.embedded;
  const first = await push.ask();
  await push.delivered(1);
  right(await phone.decide(push.token, first.id, { approve: false }, { isNotified: true }));
  push.service.answers.push({ status: 503 });
  const second = await push.ask();
  await eventually("the first answer", () => hostOf(push)?.problem?.code === "service_failed");
  const number = second.numberToMatch ?? "";
  right(await phone.decide(push.token, second.id, { approve: true, number }, { isNotified: true }));
  const third = await push.ask();
  await push.delivered(2);
  await phone.decide(push.token, third.id, { approve: true, number: "1" }, { isNotified: true });
  push.clock.advance(TTL_MS / 2);
  // This message begins after the others.
  assertEquals(await push.pages.testOwn(push.token), { ok: true });
  const sent = push.service.delivered.map(({ payload }) => [payload.kind, payload.requestId]);
  assertEquals(sent, [["request", first.id], ["request", third.id], ["test", undefined]]);
  assertEquals(push.service.requests.length, 4);
});

Deno.test("hosts of foreign subscriptions do not displace the state of a host in use", async () => {
  const clock = createManualClock();
  await using push = await startPush();
  const sender = new PushSender({ clock, random: push.ground.random });
  const attempt = () => Promise.resolve({ ok: true } as const);
  await sender.call("fcm.googleapis.com", attempt);
  const goodMs = clock.nowMs();
  for (let count = 0; count < 100; count++) {
    clock.advance(1);
    await sender.call(`h${count}.push.example`, attempt);
    await sender.call(
      "fcm.googleapis.com",
      () => Promise.resolve({ ok: false, fault: pushProblem("failed") }),
    );
  }
  const hosts = sender.status();
  assertEquals([hosts.length, hosts[0]?.host, hosts[0]?.lastGoodMs], [64, "fcm.googleapis.com", goodMs]);
  await sender.close();
});

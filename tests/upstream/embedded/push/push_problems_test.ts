// A push service that is down, slow or wrong: what is sent again, what ends a subscription, and what System status shows.

import { assertEquals } from "@std/assert";
import { pushParts } from "../../../../console/api/health/health_parts.ts";
import type { PushAnswer } from "../../../fakes/push_service.ts";
import { eventually, settle } from "../../manual_clock.ts";
import { CONTEXT, right } from "../../start_services.ts";
import { hostOf, pagesOf, type PushSetup, startPush, TTL_MS } from "./start_push.ts";

const OK: PushAnswer = { status: 201 };

/** Moves the clock until something happened. */
async function until(push: PushSetup, what: string, has: () => boolean, stepMs = 500): Promise<void> {
  await eventually(what, async () => {
    if (has()) return true;
    await settle();
    push.clock.advance(stepMs);
    return has();
  });
}

/** Answers that no later message to this phone changes. */
const LASTING: readonly (readonly [answer: PushAnswer, problem: string, isEnded: boolean])[] = [
  [{ status: 404 }, "gone", true],
  [{ status: 410 }, "gone", true],
  [{ status: 400 }, "bad_message", false],
  [{ status: 401 }, "credentials_refused", false],
  [{ status: 403 }, "credentials_refused", false],
  [{ status: 413 }, "too_large", false],
];

for (const [answer, problem, isEnded] of LASTING) {
  const status = typeof answer === "object" ? answer.status : 0;
  Deno.test(`status ${status}: ${problem}; it is not sent again, and the phone is shown as failed`, async () => {
    await using push = await startPush();
    push.service.answers.push(answer);
    await push.ask();
    await eventually("the problem is stored", () => push.pages.facts(push.pairingId)?.push === "failed");
    assertEquals(push.pages.facts(push.pairingId)?.pushProblem, problem);
    const view = push.pages.pushView(push.token);
    assertEquals([view?.subscribed, view?.problem], [!isEnded, problem]);
    assertEquals([push.pages.status().subscribed, push.pages.status().ended], isEnded ? [0, 1] : [1, 0]);
    // The push service works: only this phone has a problem.
    assertEquals(hostOf(push)?.problem?.code ?? null, isEnded ? null : problem);
    push.clock.advance(TTL_MS / 2);
    assertEquals(push.service.requests.length, 1);
    await push.ask();
    if (isEnded) return assertEquals(push.service.requests.length, 1);
    await push.delivered(1);
    await eventually("the phone is well again", () => push.pages.facts(push.pairingId)?.push === "on");
  });
}

Deno.test("a subscription that ended is replaced by the next visit of the phone", async () => {
  await using push = await startPush();
  push.service.unsubscribe(push.subscription.endpoint);
  await push.ask();
  await eventually("it ended", () => push.pages.facts(push.pairingId)?.push === "failed");
  const again = push.service.subscribe({ serverKey: push.pages.pushView(push.token)?.publicKey ?? null });
  assertEquals(await push.pages.subscribe(push.token, again), { ok: true });
  await push.ask();
  await push.delivered(1);
  assertEquals(push.pages.facts(push.pairingId)?.push, "on");
});

Deno.test("the answer to a message of an earlier subscription does not end the new one", async () => {
  await using push = await startPush();
  push.service.answers.push("hang");
  await push.ask();
  await eventually("the message is on its way", () => push.service.answers.length === 0);
  push.clock.advance(1);
  await push.pages.subscribe(push.token, push.service.subscribe());
  push.service.unsubscribe(push.subscription.endpoint);
  push.service.release();
  await until(push, "the retry got 410", () => hostOf(push)?.lastGoodMs !== null);
  // The exchange of a later message takes longer than the commit about the earlier one.
  assertEquals(await push.pages.testOwn(push.token), { ok: true });
  assertEquals(push.pages.facts(push.pairingId)?.push, "on");
});

/** Problems that pass: the message is sent again while its request waits. */
const PASSING: readonly (readonly [name: string, problem: string, answer: PushAnswer])[] = [
  ["429 with Retry-After", "rate_limited", { status: 429, headers: { "retry-after": "7" } }],
  ["429", "rate_limited", { status: 429 }],
  ["406 of Windows", "rate_limited", { status: 406 }],
  ["500", "service_failed", { status: 500 }],
  ["503 with a date", "service_failed", {
    status: 503,
    headers: { "retry-after": new Date(1_800_000_005_000).toUTCString() },
  }],
];

for (const [name, problem, answer] of PASSING) {
  Deno.test(`${name}: the message is sent again, and the problem is gone after it`, async () => {
    await using push = await startPush();
    push.service.answers.push(answer);
    await push.ask();
    await eventually("the first answer", () => hostOf(push)?.problem?.code === problem);
    assertEquals(push.pages.facts(push.pairingId)?.push, "on");
    const waitMs = name.includes("date") ? 5000 : name.includes("Retry") ? 7000 : 500;
    await settle();
    push.clock.advance(waitMs - 1);
    await settle();
    assertEquals(push.service.requests.length, 1, "not earlier");
    push.clock.advance(501);
    await push.delivered(1);
    // The push service keeps the message until the deadline of the request, not longer.
    assertEquals(push.service.delivered[0]?.ttlS, Math.floor((TTL_MS - waitMs - 500) / 1000));
    await eventually("the status is well", () => hostOf(push)?.problem === null);
  });
}

Deno.test("Retry-After beyond the deadline of the request: the message is given up", async () => {
  await using push = await startPush();
  push.service.answers.push({ status: 429, headers: { "retry-after": "61" } });
  await push.ask();
  await eventually("the answer", () => hostOf(push)?.problem?.code === "rate_limited");
  push.clock.advance(TTL_MS - 1);
  await settle();
  assertEquals(push.service.requests.length, 1);
});

Deno.test("a push service that stays down gets five attempts for a request at most, and then a pause", async () => {
  await using push = await startPush();
  push.service.answer = { status: 503 };
  for (let request = 0; request < 5; request++) await push.ask();
  await until(push, "the breaker opened", () => push.clock.nowMs() > 1_800_000_000_000 + TTL_MS);
  // Five requests of five attempts each at most, their ends, and a few probes.
  assertEquals(push.service.requests.length < 35, true, `${push.service.requests.length} requests`);
  assertEquals([push.service.delivered, push.bugs], [[], []]);
});

Deno.test("no answer: the exchange ends after ten seconds", async () => {
  await using push = await startPush();
  push.service.answers.push("hang");
  await push.ask();
  await eventually("the message is on its way", () => push.service.answers.length === 0);
  push.clock.advance(9_999);
  await settle();
  assertEquals(hostOf(push)?.problem, null);
  push.clock.advance(1);
  await eventually("it ended", () => hostOf(push)?.problem?.code === "timed_out");
});

Deno.test("an answer without an end is cut off, and its status counts", async () => {
  await using push = await startPush();
  push.service.answers.push("endless");
  await push.ask();
  await eventually("it counts", () => hostOf(push)?.lastGoodMs !== null);
  assertEquals(hostOf(push)?.problem, null);
});

Deno.test("a redirect is not followed", async () => {
  await using push = await startPush();
  push.service.answers.push({ status: 307, headers: { location: `${push.service.address}/send/other` } });
  await push.ask();
  await eventually("the problem", () => hostOf(push)?.problem?.code === "redirected");
  assertEquals(push.service.requests.length, 1);
});

Deno.test("an unreachable service", async () => {
  await using push = await startPush();
  await push.service[Symbol.asyncDispose]();
  await push.ask();
  await eventually("the problem", () => hostOf(push)?.problem?.code === "unreachable");
  assertEquals(hostOf(push)?.problem?.detail.includes("send/"), false);
});

const PRIVATE = ["10.0.0.7", "127.0.0.1", "169.254.169.254", "::1", "fd00::1", "::ffff:192.168.0.1"];
for (const address of PRIVATE) {
  Deno.test(`a host whose name has the address ${address} is never called`, async () => {
    await using push = await startPush();
    push.addresses.set("fcm.googleapis.com", ["142.250.74.10", address]);
    await push.ask();
    const facts = () => push.pages.facts(push.pairingId);
    await eventually("the problem", () => facts()?.pushProblem === "private_address");
    assertEquals([push.service.requests, hostOf(push)?.problem?.code], [[], "private_address"]);
  });
}

Deno.test("a host that is not allowed any more is never called", async () => {
  await using push = await startPush();
  push.settings.hosts = ["*.push.example"];
  await push.ask();
  const facts = () => push.pages.facts(push.pairingId);
  await eventually("the problem", () => facts()?.pushProblem === "host_not_allowed");
  assertEquals(push.service.requests, []);
});

Deno.test("another server key: the push service refuses the message", async () => {
  await using push = await startPush({ subscribes: false });
  await push.pages.subscribe(push.token, push.service.subscribe({ serverKey: "BAnotherKey" }));
  await push.ask();
  await eventually("the problem", () => hostOf(push)?.problem?.code === "credentials_refused");
  assertEquals([push.service.refused, hostOf(push)?.problem?.status], [["another server key"], 403]);
});

Deno.test("a push key that cannot be opened switches messages off, and logins go on", async () => {
  await using push = await startPush();
  const key = ["embedded", "push_keys", "vapid"];
  const { value } = await push.ground.store.get<{ sealedPrivateKey: Uint8Array }>(key);
  const sealedPrivateKey = value?.sealedPrivateKey.toReversed();
  await push.ground.store.commit({
    mutations: [{ type: "set", key, value: { ...value, sealedPrivateKey } }],
  });
  const next = await push.restart();
  const pages = pagesOf(next);
  const view = pages.pushView(push.token);
  assertEquals([view?.enabled, view?.publicKey], [false, ""]);
  const [part] = pushParts(pages.status(), "https://login.example.com");
  assertEquals([part?.state, part?.push, part?.testable], ["bad", "no_key", false]);
  assertEquals(await pages.testOwn(push.token), { ok: false, fault: "push_off" });
  assertEquals(await pages.subscribe(push.token, push.subscription), { ok: false, reason: "push_off" });
  right(await next.service.initiate({ pairingId: push.pairingId, terminalName: "VPN", context: CONTEXT }));
  push.clock.advance(0);
  assertEquals([push.service.requests, push.bugs.length], [[], 1]);
});

Deno.test("a failing push does not change the login", async () => {
  await using push = await startPush();
  push.service.answer = { status: 500 };
  const request = await push.ask();
  const number = request.numberToMatch ?? "";
  right(await push.embedded.phone.decide(push.token, request.id, { approve: true, number }));
  assertEquals(right(await push.embedded.service.status(request.id)).granted, true);
});

Deno.test("the log has the first message that a push service refuses, and the first that it accepts again, without an endpoint", async () => {
  await using push = await startPush();
  push.service.answers.push({ status: 403 }, { status: 403 }, OK);
  for (let count = 0; count < 4; count++) {
    await push.pages.testOwn(push.token);
  }
  const host = "fcm.googleapis.com";
  assertEquals(push.logged, [
    ["the push service does not accept messages", {
      host,
      problem: "credentials_refused",
      status: 403,
      detail: "",
    }],
    ["the push service accepts messages again", { host }],
  ]);
});

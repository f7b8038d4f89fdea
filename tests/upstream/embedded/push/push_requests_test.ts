// Push messages of requests: what a phone receives for a request and for each of its ends, from whichever node.

import { assertEquals, assertNotEquals } from "@std/assert";
import { eventually } from "../../manual_clock.ts";
import { right } from "../../start_services.ts";
import { FCM, pagesOf, type PushSetup, startPush, TTL_MS } from "./start_push.ts";

Deno.test("a request reaches the phone with VAPID, TTL, Topic and Urgency, and without the number", async () => {
  await using push = await startPush();
  const request = await push.ask();
  await push.delivered(1);
  const [message] = push.service.delivered;
  assertEquals(message?.payload, {
    v: 1,
    kind: "request",
    requestId: request.id,
    userName: "ada",
    requesterName: "Example VPN",
    client: "vpn-1",
    place: "192.0.2.7",
    terminalName: "VPN",
    createdMs: push.clock.nowMs(),
    deadlineMs: push.clock.nowMs() + TTL_MS,
    asksNumber: true,
  });
  assertEquals([message?.ttlS, message?.urgency, message?.topic?.length], [60, "high", 32]);
  const nowS = push.clock.nowMs() / 1000;
  assertEquals(message?.claims, { aud: FCM, exp: nowS + 12 * 3600, sub: "mailto:it@example.com" });
  const payload = { ...message?.payload, requestId: "", createdMs: 0, deadlineMs: 0, place: "" };
  assertEquals(JSON.stringify(payload).includes(request.numberToMatch ?? "none"), false);
  assertEquals([push.service.refused, push.bugs], [[], []]);
});

/** Each way in which a request ends, and what the phone is told. */
const ENDS: readonly (readonly [
  name: string,
  how: string,
  end: (push: PushSetup, request: { id: string; numberToMatch?: string }) => unknown,
])[] = [
  [
    "the number on the phone",
    "approved",
    ({ embedded, token }, { id, numberToMatch = "" }) =>
      embedded.phone.decide(token, id, { approve: true, number: numberToMatch }),
  ],
  [
    "Deny on the phone",
    "denied",
    ({ embedded, token }, { id }) => embedded.phone.decide(token, id, { approve: false }),
  ],
  [
    "a wrong number",
    "denied",
    ({ embedded, token }, { id }) => embedded.phone.decide(token, id, { approve: true, number: "1" }),
  ],
  ["a wrong passcode", "denied", ({ embedded }, { id }) => embedded.service.otpAuth(id, "000000")],
  ["an administrator who denies", "denied", ({ embedded }, { id }) => embedded.admin.deny(id)],
  ["an administrator who cancels", "cancelled", ({ embedded }, { id }) => embedded.admin.cancel(id)],
  ["the login that ended", "cancelled", ({ embedded }, { id }) => embedded.service.cancel(id)],
  ["the deadline", "expired", ({ clock }) => clock.advance(TTL_MS)],
];

for (const [name, how, end] of ENDS) {
  Deno.test(`${name}: the phone is told that the request is ${how}`, async () => {
    await using push = await startPush();
    const request = await push.ask();
    await push.delivered(1);
    await end(push, request);
    await eventually(
      "the end is committed",
      () => push.embedded.admin.request(request.id)?.state !== "waiting",
    );
    await eventually("the message about the end", () => {
      push.clock.advance(0);
      return push.service.delivered.length === 2;
    });
    const [asked, ended] = push.service.delivered;
    assertEquals(ended?.payload, { v: 1, kind: "ended", requestId: request.id, how });
    // A later message with the same topic replaces one that was not delivered (RFC 8030 §5.4).
    assertEquals(ended?.topic, asked?.topic);
    assertEquals((ended?.ttlS ?? 0) >= 60, true);
  });
}

Deno.test("an administrator revokes the last pairing while a request waits: the phone is told, and the login is denied", async () => {
  await using push = await startPush();
  const request = await push.ask();
  await push.delivered(1);
  assertEquals(await push.embedded.admin.revokePairing(push.pairingId), true);
  push.clock.advance(0);
  await push.delivered(2);
  const [asked, ended] = push.service.delivered;
  const payload = { v: 1, kind: "ended", requestId: request.id, how: "cancelled" };
  assertEquals([ended?.payload, ended?.topic, ended?.endpoint], [payload, asked?.topic, asked?.endpoint]);
  const { granted, cancelled } = right(await push.embedded.service.status(request.id));
  assertEquals([granted, cancelled], [false, true]);
  assertEquals([push.pages.pushView(push.token), push.pages.status().subscribed, push.bugs], [null, 0, []]);
});

Deno.test("a text of a RADIUS client cannot change the direction of the notification", async () => {
  await using push = await startPush();
  await push.ask({ place: "\u202e5.113.0.302\u2066 \u200fx" });
  await push.delivered(1);
  assertEquals(push.service.delivered[0]?.payload.place, " 5.113.0.302   x");
});

Deno.test("requests have different topics, which do not contain their ids", async () => {
  await using push = await startPush();
  const [first] = [await push.ask(), await push.ask()];
  await push.delivered(2);
  const [one, two] = push.service.delivered;
  assertNotEquals(one?.topic, two?.topic);
  assertEquals(one?.topic?.includes(first?.id.slice(0, 8) ?? "") ?? true, false);
});

Deno.test("too many requests of a pairing: the phone is told which ones ended", async () => {
  await using push = await startPush();
  const requests = [];
  for (let count = 0; count < 6; count++) requests.push(await push.ask());
  await push.delivered(7);
  const ended = push.service.delivered.filter(({ payload }) => payload.kind === "ended");
  assertEquals(ended.map(({ payload }) => [payload.requestId, payload.how]), [[
    requests[0]?.id,
    "cancelled",
  ]]);
});

Deno.test("a phrase that is typed at a login tells a phone that it must confirm", async () => {
  await using push = await startPush();
  const { phrase } = right(await push.embedded.phone.newPhrase(push.token));
  const { id } = right(await push.embedded.service.createPairing({ phrase, userName: "bob" }));
  push.clock.advance(0);
  await push.delivered(1);
  const [message] = push.service.delivered;
  assertEquals(message?.payload, { v: 1, kind: "pairing", pairingId: id, userName: "bob" });
});

Deno.test("long texts are shortened, so that a payload stays below 3,000 octets", async () => {
  await using push = await startPush();
  await push.ask({ place: `"\u0001\ud83d\ude00${"ẞ".repeat(10_000)}` });
  await push.delivered(1);
  const [message] = push.service.delivered;
  assertEquals(new TextEncoder().encode(message?.text).length < 3000, true);
  assertEquals((message?.bodyOctets ?? 0) <= 4096, true);
});

Deno.test("two nodes: the one that opens a request, and the one that decides it, each send one message", async () => {
  await using push = await startPush();
  const other = await push.restart();
  assertEquals(pagesOf(other).pushView(push.token), push.pages.pushView(push.token));
  const request = await push.ask();
  await push.delivered(1);
  // The other node has read the request from the store.
  const third = await push.restart();
  right(await third.phone.decide(push.token, request.id, { approve: false }));
  push.clock.advance(0);
  await push.delivered(2);
  assertEquals(push.service.delivered.map(({ payload }) => payload.kind), ["request", "ended"]);
  assertEquals(new Set(push.service.delivered.map(({ topic }) => topic)).size, 1);
});

Deno.test("a phone without a subscription, and switched-off messages: nothing is sent", async () => {
  await using push = await startPush({ subscribes: false });
  await push.ask();
  await push.pages.subscribe(push.token, push.subscription);
  push.settings.enabled = false;
  await push.ask();
  assertEquals([push.service.requests, push.clock.timers()], [[], 1]);
});

Deno.test("close() ends waits for retries, and an exchange that hangs after a moment", async () => {
  const push = await startPush();
  push.service.answers.push("hang", { status: 503 });
  await push.ask();
  await push.ask();
  await eventually("both messages were sent", () => push.service.answers.length === 0);
  let isClosed = false;
  void push.embedded.close().then(() => isClosed = true);
  await eventually("the exchange is aborted", () => {
    push.clock.advance(1000);
    return isClosed;
  });
  await push[Symbol.asyncDispose]();
});

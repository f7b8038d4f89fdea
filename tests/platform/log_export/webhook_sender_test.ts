// Webhooks: the signature of the Standard Webhooks specification, the meaning of each answer, deadlines, and pauses.

import { assertEquals, assertThrows } from "@std/assert";
import type { Fetch } from "../../../platform/fetch_with_deadline.ts";
import {
  createWebhookSecret,
  signWebhook,
  type WebhookOutcome,
  webhookPauseMs,
  type WebhookReceiver,
  WebhookSender,
  webhookUrlProblem,
} from "../../../platform/log_export/webhook_sender.ts";
import { createManualClock, settle } from "../../upstream/manual_clock.ts";

/** The example of the specification and of its libraries. */
const SPECIFIED = {
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  message: { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", body: '{"test": 2432232314}' },
  nowMs: 1_614_265_330_999,
  signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
};
const RECEIVER: WebhookReceiver = {
  id: "log-export:siem",
  url: "https://siem.example/in",
  allowsHttp: false,
  secret: SPECIFIED.secret,
  authorization: "Splunk 1234",
};
const MESSAGE = { id: "m1", body: "{}" };
const zeros = { bytes: (length: number) => new Uint8Array(length) };

function start(fetch: Fetch) {
  const clock = createManualClock();
  const inits: RequestInit[] = [];
  const sender = new WebhookSender({
    clock,
    random: zeros,
    fetch(url, init) {
      inits.push(init);
      return fetch(url, init);
    },
  });
  return { clock, inits, sender };
}

function summaryOf(outcome: WebhookOutcome): string {
  if (outcome.ok) return "ok";
  const { code, detail, retryAfterMs, isPermanent } = outcome.problem;
  return `${code} ${retryAfterMs}${isPermanent ? " permanent" : ""}: ${detail}`;
}

Deno.test("a message is signed as the specification says", () => {
  const { secret, message, nowMs, signature } = SPECIFIED;
  assertEquals(signWebhook(message, { secret, nowMs }), {
    "webhook-id": message.id,
    "webhook-timestamp": "1614265330",
    "webhook-signature": signature,
  });
  assertThrows(() => signWebhook(message, { secret: "plain", nowMs }), RangeError);
});

Deno.test("a new secret has 32 octets", () => {
  assertEquals(createWebhookSecret(zeros), `whsec_${"A".repeat(43)}=`);
});

Deno.test("addresses begin with https, or with http if it is allowed, and have no user and no fragment", () => {
  const rows: [string, boolean, ReturnType<typeof webhookUrlProblem>][] = [
    ["https://siem.example/a?channel=1", false, null],
    ["http://siem.example/", false, "http_not_allowed"],
    ["http://siem.example/", true, null],
    ["https://user:secret@siem.example/", false, "bad_url"],
    ["https://siem.example/#part", false, "bad_url"],
    ["file:///etc/passwd", true, "bad_url"],
    ["javascript:alert(1)", true, "bad_url"],
    ["siem.example", true, "bad_url"],
    [`https://siem.example/${"a".repeat(2000)}`, false, "bad_url"],
  ];
  for (const [url, allowsHttp, problem] of rows) {
    assertEquals(webhookUrlProblem(url, { allowsHttp }), problem, url);
  }
});

Deno.test("a message is posted with its signature, the authorization, and no redirects", async () => {
  const { sender, inits } = start(() => Promise.resolve(new Response("thanks", { status: 202 })));
  assertEquals(await sender.send(RECEIVER, { ...MESSAGE, contentType: "application/x-ndjson" }), {
    ok: true,
  });
  const { headers, ...init } = inits[0] ?? {};
  assertEquals([init.method, init.body, init.redirect], ["POST", "{}", "manual"]);
  const sent = new Headers(headers);
  assertEquals(sent.get("authorization"), "Splunk 1234");
  assertEquals(sent.get("content-type"), "application/x-ndjson");
  assertEquals(sent.get("webhook-signature")?.slice(0, 3), "v1,");
});

const ANSWERS: readonly [number, Record<string, string>, string][] = [
  [200, {}, "ok"],
  [204, {}, "ok"],
  [301, { location: "https://elsewhere.example/" }, "redirected 0 permanent: redirected (HTTP 301)"],
  [400, {}, "refused 0 permanent: HTTP 400"],
  [401, {}, "refused 0 permanent: HTTP 401"],
  [408, {}, "busy 0: HTTP 408"],
  [413, {}, "too_large 0 permanent: HTTP 413"],
  [429, { "retry-after": "7" }, "busy 7000: HTTP 429"],
  [503, { "retry-after": "99999" }, "failed 3600000: HTTP 503"],
  [500, { "retry-after": "soon" }, "failed 0: HTTP 500"],
];

for (const [status, headers, expected] of ANSWERS) {
  Deno.test(`an answer of ${status} ${JSON.stringify(headers)} means: ${expected}`, async () => {
    const body = [204, 301].includes(status) ? null : "x";
    const { sender } = start(() => Promise.resolve(new Response(body, { status, headers })));
    assertEquals(summaryOf(await sender.send(RECEIVER, MESSAGE)), expected);
  });
}

Deno.test("a lost connection does not reveal the address; an answer of any size is accepted", async () => {
  const lost = start(() =>
    Promise.reject(new TypeError("error sending request for url (https://siem.example/in)"))
  );
  assertEquals(summaryOf(await lost.sender.send(RECEIVER, MESSAGE)), "unreachable 0: the exchange broke off");
  const long = start(() => Promise.resolve(new Response("x".repeat(100_000))));
  assertEquals(summaryOf(await long.sender.send(RECEIVER, MESSAGE)), "ok");
});

Deno.test("a receiver that does not answer in time ends the call", async () => {
  const { sender, clock } = start(() => new Promise(() => undefined));
  const sending = sender.send({ ...RECEIVER, timeoutMs: 500 }, MESSAGE);
  await settle();
  clock.advance(500);
  assertEquals(summaryOf(await sending), "timeout 0: no answer in time");
});

Deno.test("after five failures in a row, the receiver is left alone for a while", async () => {
  const { sender, inits, clock } = start(() => Promise.resolve(new Response("", { status: 500 })));
  for (let tries = 0; tries < 5; tries++) await sender.send(RECEIVER, MESSAGE);
  assertEquals(summaryOf(await sender.send(RECEIVER, MESSAGE)).slice(0, 11), "paused 5000");
  assertEquals(summaryOf(await sender.send({ ...RECEIVER, id: "other" }, MESSAGE)), "failed 0: HTTP 500");
  assertEquals(inits.length, 6);
  clock.advance(5000);
  await sender.send(RECEIVER, MESSAGE);
  assertEquals(inits.length, 7);
});

Deno.test("messages to one receiver are sent one after the other", async () => {
  const answers: ((response: Response) => void)[] = [];
  const { sender } = start(() => new Promise((resolve) => void answers.push(resolve)));
  const both = Promise.all([sender.send(RECEIVER, MESSAGE), sender.send(RECEIVER, MESSAGE)]);
  await settle();
  assertEquals(answers.length, 1);
  answers[0]?.(new Response());
  await settle();
  assertEquals(answers.length, 2);
  answers[1]?.(new Response());
  assertEquals((await both).map(summaryOf), ["ok", "ok"]);
});

Deno.test("a bad address is refused without a call", async () => {
  const { sender, inits } = start(() => Promise.resolve(new Response()));
  const outcome = await sender.send({ ...RECEIVER, url: "http://siem.example/" }, MESSAGE);
  assertEquals(summaryOf(outcome), "http_not_allowed 0 permanent: http: is not allowed");
  assertEquals(inits.length, 0);
});

Deno.test("pauses double up to five minutes, and are as long as the receiver asked", () => {
  const pauses = [1, 2, 3, 9, 10, 1000].map((failures) =>
    webhookPauseMs({ failures, retryAfterMs: 0 }, zeros)
  );
  assertEquals(pauses, [1000, 2000, 4000, 256_000, 300_000, 300_000]);
  assertEquals(webhookPauseMs({ failures: 1, retryAfterMs: 60_000 }, zeros), 60_000);
  assertEquals(webhookPauseMs({ failures: 1, retryAfterMs: 9e9 }, zeros), 3_600_000);
});

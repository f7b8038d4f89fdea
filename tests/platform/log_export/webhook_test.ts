// Webhooks: the signature of the Standard Webhooks specification, the meaning of each answer, deadlines, and pauses.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { retryPauseMs } from "../../../platform/backoff.ts";
import type { Fetch } from "../../../platform/fetch_with_deadline.ts";
import { type EcsRecord, toEcsRecord } from "../../../platform/log_export/ecs_fields.ts";
import { ChannelFault, type SendOptions } from "../../../platform/log_export/log_channel.ts";
import {
  createWebhookSecret,
  signWebhook,
  WebhookChannel,
  type WebhookOutcome,
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
  const pauses = [1, 2, 3, 9, 10, 1000].map((failures) => retryPauseMs({ failures, retryAfterMs: 0 }, zeros));
  assertEquals(pauses, [1000, 2000, 4000, 256_000, 300_000, 300_000]);
  assertEquals(retryPauseMs({ failures: 1, retryAfterMs: 60_000 }, zeros), 60_000);
  assertEquals(retryPauseMs({ failures: 1, retryAfterMs: 9e9 }, zeros), 3_600_000);
});

// Batches of webhooks: size, format, stable ids, halves of a batch that is too large, and the meaning of problems.

const EXPORT_RECEIVER = {
  ...{ id: "log-export:siem", url: "https://siem.example/in", allowsHttp: false },
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
};

const STRICT = { leavesOutRefused: false, isStopped: () => false };
const LENIENT = { ...STRICT, leavesOutRefused: true };

function records(count: number, octets = 0): EcsRecord[] {
  return Array.from({ length: count }, (_, at) => {
    const value = { atMs: 1, action: "user.created", actor: "x".repeat(octets), object: `user:${at}` };
    return toEcsRecord({ id: `id${at}`, value }, { observer: { hostName: "gate", version: "0" } });
  });
}

/** What the receiver got, by id, if it answers as `status` says. */
async function sendTo(
  status: (line: string) => number,
  options: SendOptions,
  sent = records(10),
) {
  const taken: string[] = [];
  const { channel, received } = open("ndjson", (body) => {
    const lines = body.trimEnd().split("\n");
    const refused = lines.map(status).find((one) => one !== 200);
    if (refused !== undefined) return new Response(null, { status: refused });
    taken.push(...lines.map((line) => JSON.parse(line).event.id));
    return new Response();
  });
  const leftOut = await channel.send(sent, options);
  return { taken, leftOut, requests: received.length };
}

for (const status of [400, 413, 422]) {
  Deno.test(`one record that is refused with ${status} is left out, and the others arrive once`, async () => {
    const poison = (line: string) => line.includes('"id3"') ? status : 200;
    const { taken, leftOut } = await sendTo(poison, LENIENT);
    assertEquals([leftOut, taken], [["id3"], [
      "id0",
      "id1",
      "id2",
      "id4",
      "id5",
      "id6",
      "id7",
      "id8",
      "id9",
    ]]);
    await assertRejects(() => sendTo(poison, STRICT), ChannelFault, `HTTP ${status}`);
  });
}

for (const status of [400, 401, 403, 404, 413, 429, 500]) {
  Deno.test(`a receiver that refuses everything with ${status} loses nothing`, async () => {
    await assertRejects(() => sendTo(() => status, LENIENT), ChannelFault, `HTTP ${status}`);
    await assertRejects(() => sendTo(() => status, LENIENT, records(200)), ChannelFault, `HTTP ${status}`);
  });
}

Deno.test("a stop ends the search for refused records", async () => {
  let asked = 0;
  const slow = () => (asked++, 400);
  const stopped = { ...LENIENT, isStopped: () => asked >= 3 };
  await assertRejects(() => sendTo(slow, stopped, records(1)), ChannelFault, "HTTP 400");
  asked = 3;
  await assertRejects(() => sendTo(slow, stopped, records(1)), ChannelFault, "the gateway stops");
  assertEquals(asked, 3);
});

Deno.test("a record that is too large is sent without its dispensable fields", async () => {
  const value = {
    atMs: 1,
    action: "user.created",
    actor: "scim:hr",
    object: "user:ada",
    before: "x".repeat(1900),
  };
  const large = toEcsRecord({ id: "large", value }, { observer: { hostName: "gate", version: "0" } });
  const shown: unknown[] = [];
  const { taken, leftOut } = await sendTo(
    (line) => {
      if (line.length > 1500) return 413;
      const { user, countersign } = JSON.parse(line);
      shown.push([user.target.name, countersign.truncated, countersign.before]);
      return 200;
    },
    STRICT,
    [large],
  );
  assertEquals([taken, leftOut, shown], [["large"], [], [["ada", true, undefined]]]);
});

interface Received {
  readonly id: string | null;
  readonly body: string;
}

function open(format: "json" | "ndjson", answer: (body: string) => Response) {
  const received: Received[] = [];
  const sender = new WebhookSender({
    clock: createManualClock(),
    random: { bytes: (length) => new Uint8Array(length) },
    fetch: (_url, { headers, body }) => {
      const text = String(body);
      received.push({ id: new Headers(headers).get("webhook-id"), body: text });
      return Promise.resolve(answer(text));
    },
  });
  return { received, channel: new WebhookChannel({ sender }, { receiver: EXPORT_RECEIVER, format }) };
}

const accept = () => new Response(null, { status: 204 });

Deno.test("JSON has the records in one object, NDJSON one record per line", async () => {
  const json = open("json", accept);
  await json.channel.send(records(2), STRICT);
  const { records: sent } = JSON.parse(json.received[0]?.body ?? "");
  assertEquals(sent.map((one: { event: { id: string } }) => one.event.id), ["id0", "id1"]);
  const lines = open("ndjson", accept);
  await lines.channel.send(records(2), STRICT);
  assertEquals(
    (lines.received[0]?.body ?? "").trimEnd().split("\n").map((line) => JSON.parse(line).event.id),
    ["id0", "id1"],
  );
});

Deno.test("a repeated batch has the same id", async () => {
  const { channel, received } = open("json", accept);
  await channel.send(records(3), STRICT);
  await channel.send(records(3), STRICT);
  assertEquals(received.map(({ id }) => id), ["id0-id2-3", "id0-id2-3"]);
});

Deno.test("a batch has at most 500 records and half a megabyte", async () => {
  const many = open("ndjson", accept);
  await many.channel.send(records(1100), STRICT);
  assert(many.received.length >= 3);
  const large = open("ndjson", accept);
  await large.channel.send(records(600, 2000), STRICT);
  for (const { body } of [...many.received, ...large.received]) {
    assert(new TextEncoder().encode(body).length <= 512 * 1024);
    assert(body.trimEnd().split("\n").length <= 500);
  }
  const sent = large.received.flatMap(({ body }) => body.trimEnd().split("\n"));
  assertEquals(sent.length, 600);
});

Deno.test("a batch that is too large for the receiver is sent in halves", async () => {
  const taken: string[] = [];
  const { channel } = open("ndjson", (body) => {
    const lines = body.trimEnd().split("\n");
    if (lines.length > 3) return new Response(null, { status: 413 });
    taken.push(...lines.map((line) => JSON.parse(line).event.id));
    return new Response();
  });
  await channel.send(records(10), STRICT);
  assertEquals(taken, Array.from({ length: 10 }, (_, at) => `id${at}`));
});

const PROBLEMS: readonly (readonly [number, string])[] = [[401, "refused"], [429, "busy"], [500, "refused"], [
  302,
  "redirected",
], [413, "too_large"]];
for (const [status, code] of PROBLEMS) {
  Deno.test(`an answer of ${status} is the problem ${code}`, async () => {
    const { channel } = open("json", () => new Response(null, { status, headers: { "retry-after": "9" } }));
    const fault = await assertRejects(() => channel.send(records(1), STRICT), ChannelFault);
    assertEquals([fault.code, fault.retryAfterMs > 0], [code, status !== 302 && status !== 413]);
  });
}

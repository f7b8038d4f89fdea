// Batches of webhooks: size, format, stable ids, halves of a batch that is too large, and the meaning of problems.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { type EcsRecord, toEcsRecord } from "../../../platform/log_export/ecs_fields.ts";
import { ChannelFault, type SendOptions } from "../../../platform/log_export/log_channel.ts";
import { WebhookChannel } from "../../../platform/log_export/webhook_channel.ts";
import { WebhookSender } from "../../../platform/log_export/webhook_sender.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";

const RECEIVER = {
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
  return { received, channel: new WebhookChannel({ sender }, { receiver: RECEIVER, format }) };
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

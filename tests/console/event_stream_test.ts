// The live stream over HTTP: resuming, limits and its end.

import { readUntil } from "../fakes/stream_text.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { createEventStreams, eventChunk } from "../../console/api/conversations/event_stream.ts";
import { conversation } from "../fakes/console_gateway.ts";
import { createManualClock, startConsole } from "../fakes/console_app.ts";

function readerOf(response: Response): ReadableStreamDefaultReader<Uint8Array> {
  if (response.body === null) throw new Error("the answer has no body");
  return response.body.getReader();
}

function idsOf(text: string): string[] {
  return [...text.matchAll(/^id: (.+)$/gm)].map((match) => match[1] ?? "");
}

Deno.test("createLiveRoutes() streams from the snapshot on, and resumes from Last-Event-ID without a gap", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("viewer");
  const { at } = await (await site.call("/console/api/live", { cookie })).json();
  const first = await site.call(`/console/api/live/stream?after=${at}`, { cookie });
  assertEquals(first.headers.get("content-type"), "text/event-stream; charset=utf-8");
  assertEquals(first.headers.get("cache-control"), "no-store");
  const reader = readerOf(first);
  site.watch.put(conversation(1, { user: "first" }));
  const text = await readUntil(reader, '"first"');
  assertMatch(text, /^retry: 1000$/m);
  const lastId = idsOf(text).at(-1) ?? "";
  await reader.cancel();
  for (let number = 2; number <= 40; number += 1) {
    site.watch.put(conversation(number, { user: `missed-${number}` }));
  }
  // EventSource repeats its first address and adds the header, so the header is newer.
  const second = await site.call(`/console/api/live/stream?after=${at}`, {
    cookie,
    headers: { "last-event-id": lastId },
  });
  const again = readerOf(second);
  const resumed = await readUntil(again, '"missed-40"');
  assertEquals(resumed.includes('"first"'), false);
  for (let number = 2; number <= 40; number += 1) assert(resumed.includes(`"missed-${number}"`), `${number}`);
  assertEquals(Number(idsOf(resumed).at(-1)?.split(".")[1]), 40);
  await again.cancel();
});

Deno.test("createLiveRoutes() refuses a thirteenth stream of a session, until one of the others is closed", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("viewer");
  const open = () => site.call("/console/api/live/stream", { cookie });
  const streams = [];
  for (let number = 0; number < 12; number += 1) streams.push(await open());
  const refused = await open();
  assertEquals([refused.status, (await refused.json()).error.code], [503, "too_many_streams"]);
  assertEquals(refused.headers.get("retry-after"), "10");
  for (const stream of streams) await stream.body?.cancel();
  // The server notices the closed connection soon, but not at once.
  let again = await open();
  for (const endMs = performance.now() + 10_000; again.status !== 200 && performance.now() < endMs;) {
    await again.body?.cancel();
    await new Promise((resolve) => setTimeout(resolve, 10));
    again = await open();
  }
  assertEquals(again.status, 200);
  await again.body?.cancel();
});

function streamsWith(deps: { maxOpen?: number; maxBufferedOctets?: number } = {}) {
  const clock = createManualClock();
  return {
    clock,
    streams: createEventStreams({ clock, maxOpen: deps.maxOpen ?? 4, maxPerOwner: 4, ...deps }),
  };
}

Deno.test("createEventStreams() sends a comment and a heartbeat every 5 s, so that a page hears two within its 12 s", async () => {
  const { clock, streams } = streamsWith();
  const response = streams.open({
    owner: "a",
    start: () => () => undefined,
    isStillAllowed: () => Promise.resolve(true),
  });
  const reader = readerOf(response);
  clock.advance(5000);
  assertMatch(await readUntil(reader, "beat"), /\n:\n\nevent: beat\n/);
  clock.advance(5000);
  assertMatch(await readUntil(reader, "beat"), /^:\n\nevent: beat\n/);
  await reader.cancel();
  assertEquals(streams.openCount(), 0);
});

Deno.test("createEventStreams() ends a stream whose reader lost the permission to read", async () => {
  const { clock, streams } = streamsWith();
  let stopped = 0;
  const response = streams.open({
    owner: "a",
    start: () => () => stopped += 1,
    isStillAllowed: () => Promise.reject(new Error("the store is away")),
  });
  clock.advance(5000);
  const text = await readUntil(readerOf(response), "<never>");
  assertMatch(text, /event: signed_out\ndata: {}\n\n<end>$/);
  assertEquals([stopped, streams.openCount()], [1, 0]);
});

Deno.test("createEventStreams() disconnects a reader with too much unread data", async () => {
  const { streams } = streamsWith({ maxBufferedOctets: 10_000 });
  let stopped = 0;
  let send: (chunk: Uint8Array<ArrayBuffer>) => void = () => undefined;
  const response = streams.open({
    owner: "a",
    start: (sink) => {
      send = sink.send;
      return () => stopped += 1;
    },
    isStillAllowed: () => Promise.resolve(true),
  });
  for (let round = 0; round < 12; round += 1) send(eventChunk("live", JSON.stringify("x".repeat(1000))));
  assertEquals([stopped, streams.openCount()], [1, 0]);
  const fault = await readUntil(readerOf(response), "<never>").catch((error: Error) => error.message);
  assertEquals(fault, "the reader is too slow");
});

Deno.test("closeAll() ends every stream, and no new stream can be opened", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("viewer");
  const reader = readerOf(await site.call("/console/api/live/stream", { cookie }));
  site.app.close();
  assertMatch(await readUntil(reader, "<never>"), /<end>$/);
  const refused = await site.call("/console/api/live/stream", { cookie });
  await refused.body?.cancel();
  assertEquals(refused.status, 503);
});

Deno.test("createLiveRoutes() ends the stream of an administrator who signed out, at the next heartbeat", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock });
  const cookie = await site.signIn("viewer");
  const reader = readerOf(await site.call("/console/api/live/stream", { cookie }));
  await readUntil(reader, "reset");
  await (await site.call("/console/api/session", { method: "DELETE", cookie })).body?.cancel();
  clock.advance(5000);
  assertMatch(await readUntil(reader, "<never>"), /signed_out[^]*<end>$/);
});

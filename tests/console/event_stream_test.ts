// Streams of events, and the source that the tabs of a browser share.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { readUntil } from "../fakes/stream_text.ts";
import { createEventStreams, eventChunk } from "../../console/api/conversations/event_stream.ts";
import { conversation } from "../fakes/console_gateway.ts";
import { createManualClock, startConsole } from "../fakes/console_app.ts";
import {
  createSharedEventSource,
  type IdChannel,
  type TabBroadcast,
} from "../../console/web/app/shared_event_source.ts";
import type { EventSourceLike } from "../../console/web/app/live_stream.ts";

// The live stream over HTTP: resuming, limits and its end.

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

// One stream for many tabs: one tab leads, the others follow, new tabs catch up, and another tab takes over the lead.

interface FakeStream extends IdChannel {
  readonly after: string;
  closed: boolean;
  /** `data` defaults to the id. */
  say(id: string, options?: { readonly data?: string }): void;
  breakOff(readyState: number): void;
}

function setUp() {
  const buses = new Set<TabBroadcast>();
  const streams: FakeStream[] = [];
  const waiting: { lead: () => Promise<void>; signal: AbortSignal }[] = [];
  let leading = false;
  let names = 0;
  const next = (): void => {
    if (leading) return;
    const turn = waiting.shift();
    if (turn === undefined) return;
    if (turn.signal.aborted) return next();
    leading = true;
    void turn.lead().then(() => {
      leading = false;
      next();
    });
  };
  const open = createSharedEventSource({
    openBroadcast() {
      const bus: TabBroadcast = {
        onmessage: null,
        postMessage(note) {
          for (const other of [...buses]) {
            const data = structuredClone(note);
            if (other !== bus) queueMicrotask(() => other.onmessage?.(new MessageEvent("message", { data })));
          }
        },
        close: () => void buses.delete(bus),
      };
      buses.add(bus);
      return bus;
    },
    whenLeading(lead, signal) {
      waiting.push({ lead, signal });
      next();
      return Promise.resolve();
    },
    openStream(after) {
      const listeners = new Map<string, (event: MessageEvent<string>) => void>();
      const stream: FakeStream = {
        after,
        closed: false,
        readyState: 1,
        onerror: null,
        addEventListener: (type, listener) => void listeners.set(type, listener),
        close() {
          stream.closed = true;
        },
        say: (id, { data = id } = {}) =>
          listeners.get("live")?.(
            new MessageEvent("live", { data: JSON.stringify(data), lastEventId: id }),
          ),
        breakOff(readyState) {
          Object.assign(stream, { readyState });
          stream.onerror?.(new Event("error"));
        },
      };
      streams.push(stream);
      return stream;
    },
    createTabId: () => `tab ${names++}`,
  });
  const settle = () => new Promise((resolve) => setTimeout(resolve, 0));
  const tab = async (after: string) => {
    const heard: string[] = [];
    const channel: EventSourceLike = open(after);
    for (const type of ["live", "reset"]) {
      channel.addEventListener(type, ({ data }) => heard.push(type === "live" ? JSON.parse(data) : type));
    }
    let errors = 0;
    channel.onerror = () => errors++;
    await settle();
    return { channel, heard, errors: () => errors };
  };
  return { tab, streams, settle };
}

Deno.test("createSharedEventSource() opens one stream for nine tabs, and each tab receives every event", async () => {
  const { tab, streams, settle } = setUp();
  const tabs = await Promise.all(Array.from({ length: 9 }, () => tab("e.0")));
  assertEquals(streams.length, 1);
  streams[0]?.say("e.1");
  streams[0]?.say("e.2");
  await settle();
  for (const { heard } of tabs) assertEquals(heard, ["e.1", "e.2"]);
});

Deno.test("createSharedEventSource() sends a new tab the events after its snapshot", async () => {
  const { tab, streams, settle } = setUp();
  await tab("e.0");
  for (const id of ["e.1", "e.2", "e.3"]) streams[0]?.say(id);
  await settle();
  assertEquals((await tab("e.2")).heard, ["e.3"]);
  assertEquals((await tab("e.3")).heard, []);
});

Deno.test("createSharedEventSource() sends a new tab the messages that repeat the id of its snapshot", async () => {
  const { tab, streams, settle } = setUp();
  await tab("e.0");
  streams[0]?.say("e.1");
  for (const data of ["first approvals", "second approvals"]) streams[0]?.say("e.1", { data });
  await settle();
  assertEquals((await tab("e.1")).heard, ["first approvals", "second approvals"]);
});

Deno.test("createSharedEventSource() makes a new tab load another snapshot when its id is unknown", async () => {
  const { tab, streams, settle } = setUp();
  await tab("e.0");
  streams[0]?.say("e.1");
  await settle();
  assertEquals((await tab("other.7")).heard, ["reset"]);
});

Deno.test("createSharedEventSource() continues after the last id when the leading tab closes", async () => {
  const { tab, streams, settle } = setUp();
  const [first, second] = [await tab("e.0"), await tab("e.0")];
  streams[0]?.say("e.1");
  await settle();
  first.channel.close();
  await settle();
  assertEquals([streams[0]?.closed, streams.length, streams[1]?.after], [true, 2, "e.1"]);
  streams[1]?.say("e.2");
  await settle();
  assertEquals([first.heard, second.heard], [["e.1"], ["e.1", "e.2"]]);
});

Deno.test("createSharedEventSource() reports to followers that the stream broke and that it is back", async () => {
  const { tab, streams, settle } = setUp();
  const [leader, follower] = [await tab("e.0"), await tab("e.0")];
  streams[0]?.breakOff(0);
  await settle();
  assertEquals([leader.errors(), follower.errors(), follower.channel.readyState], [1, 1, 0]);
  streams[0]?.say("e.1");
  await settle();
  assertEquals([follower.heard, follower.channel.readyState], [["e.1"], 1]);
});

Deno.test("createSharedEventSource() sends nothing to a closed tab", async () => {
  const { tab, streams, settle } = setUp();
  await tab("e.0");
  const gone = await tab("e.0");
  gone.channel.close();
  streams[0]?.say("e.1");
  await settle();
  assertEquals(gone.heard, []);
  assert(streams.length === 1);
});

Deno.test("createSharedEventSource() lets tabs that open at the same moment follow the one that holds the lock", async () => {
  const { tab, streams, settle } = setUp();
  const both = [tab("e.0"), tab("e.0")];
  const [first, second] = await Promise.all(both);
  streams[0]?.say("e.1");
  await settle();
  assertEquals([first?.heard, second?.heard, streams.length], [["e.1"], ["e.1"], 1]);
});

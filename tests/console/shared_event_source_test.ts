// One stream for many tabs: one tab leads, the others follow, new tabs catch up, and another tab takes over the lead.

import { assert, assertEquals } from "@std/assert";
import {
  createSharedEventSource,
  type IdChannel,
  type TabBroadcast,
} from "../../console/web/app/shared_event_source.ts";
import type { EventSourceLike } from "../../console/web/app/live_stream.ts";

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

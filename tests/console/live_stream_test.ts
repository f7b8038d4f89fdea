// The client of the live stream: snapshots, resuming, lost connections, and sign-out.

import { assertEquals } from "@std/assert";
import { signal } from "@preact/signals";
import { LoginList } from "../../console/web/pages/live/login_list.ts";
import { type EventSourceLike, hasGap, LiveStream } from "../../console/web/app/live_stream.ts";
import type { LiveMessage, LiveSnapshot } from "../../console/api/api_types.ts";
import { conversation } from "../fakes/console_gateway.ts";
import { createManualClock } from "../fakes/console_app.ts";

interface FakeChannel extends EventSourceLike {
  readyState: number;
  readonly after: string;
  closed: boolean;
  say(type: string, data?: unknown): void;
  fail(readyState: number): void;
}

function setUp({ probe = () => Promise.resolve(true) }: { probe?: () => Promise<boolean> } = {}) {
  const clock = createManualClock();
  const channels: FakeChannel[] = [];
  let snapshots = 0;
  let fails = false;
  const board = new LoginList(signal({ text: "", state: "", client: "", target: "" }));
  const model = new LiveStream({
    board,
    fetchSnapshot() {
      if (fails) return Promise.reject(new Error("away"));
      snapshots += 1;
      return Promise.resolve(
        {
          at: `e.${snapshots * 100}`,
          nowMs: 0,
          conversations: [],
          steps: {},
          counters: {},
          newestStray: 0,
          approvals: null,
          outbox: null,
          nodes: {},
        } satisfies LiveSnapshot,
      );
    },
    openChannel(after) {
      const listeners = new Map<string, (event: MessageEvent<string>) => void>();
      const channel: FakeChannel = {
        after,
        readyState: 1,
        closed: false,
        onerror: null,
        addEventListener: (type, listener) => void listeners.set(type, listener),
        close() {
          channel.closed = true;
        },
        say: (type, data = {}) =>
          listeners.get(type)?.(new MessageEvent(type, { data: JSON.stringify(data) })),
        fail(readyState) {
          channel.readyState = readyState;
          channel.onerror?.(new Event("error"));
        },
      };
      channels.push(channel);
      return channel;
    },
    checkSession: probe,
    onServerTime: () => undefined,
    localNowMs: clock.nowMs,
    later: clock.after,
  });
  /** Runs all promise callbacks that are ready. */
  const settle = async () => {
    for (let round = 0; round < 10; round += 1) await Promise.resolve();
  };
  return {
    clock,
    board,
    model,
    channels,
    settle,
    newest: () => channels.at(-1),
    snapshots: () => snapshots,
    failSnapshots: (next: boolean) => {
      fails = next;
    },
  };
}

function message(upTo: string, numbers: number[], values: Partial<LiveMessage> = {}): LiveMessage {
  return {
    upTo,
    nowMs: 0,
    conversations: numbers.map((number) => conversation(number)),
    steps: { A: numbers.length },
    drops: {},
    ...values,
  };
}

Deno.test("LiveStream loads a snapshot, follows the stream from there, and renders four times a second", async () => {
  const { model, board, settle, newest } = setUp();
  model.start();
  await settle();
  assertEquals([newest()?.after, model.connection.value.kind], ["e.100", "live"]);
  assertEquals(board.rows.value.length, 0);
  newest()?.say("live", message("e.102", [1, 2]));
  assertEquals(board.rows.value.length, 0);
  model.show();
  assertEquals([board.rows.value.length, model.steps.value], [2, { A: 2 }]);
});

for (
  const [what, next] of [
    ["reports lost changes", message("e.103", [1], { lost: 7 })],
    ["skips an id", message("e.105", [1])],
    ["is of another epoch", message("f.101", [1])],
  ] as const
) {
  Deno.test(`LiveStream loads a new snapshot when a message ${what}`, async () => {
    const { model, settle, newest, snapshots } = setUp();
    model.start();
    await settle();
    newest()?.say("live", next);
    await settle();
    assertEquals([snapshots(), newest()?.after], [2, "e.200"]);
  });
}

Deno.test("LiveStream loads a new snapshot when the server has no history for it", async () => {
  const { model, settle, newest, channels, snapshots } = setUp();
  model.start();
  await settle();
  newest()?.say("reset");
  await settle();
  assertEquals([snapshots(), channels[0]?.closed], [2, true]);
});

Deno.test("LiveStream reports after a lost connection how many logins changed, until the user dismisses it", async () => {
  const { model, settle, newest } = setUp();
  model.start();
  await settle();
  assertEquals(model.missed.value, null);
  newest()?.fail(0);
  newest()?.say("live", message("e.103", [1, 2, 3]));
  newest()?.say("live", message("e.103", []));
  newest()?.say("live", message("e.104", [4]));
  assertEquals(model.missed.value, 3);
  model.clearMissed();
  newest()?.say("live", message("e.105", [5]));
  assertEquals(model.missed.value, null);
});

Deno.test("LiveStream shows since when it is disconnected, and reconnects by itself", async () => {
  const { model, settle, newest, clock, channels } = setUp();
  model.start();
  await settle();
  const lastMs = clock.nowMs();
  clock.advance(5000);
  newest()?.fail(0);
  assertEquals(model.connection.value, { kind: "reconnecting", sinceMs: lastMs });
  newest()?.say("live", message("e.100", []));
  assertEquals([model.connection.value.kind, channels.length], ["live", 1]);
});

Deno.test("LiveStream reconnects with its last id when the browser has given up", async () => {
  const { model, settle, newest, clock, channels, snapshots } = setUp();
  model.start();
  await settle();
  newest()?.say("live", message("e.101", [1]));
  newest()?.fail(2);
  await settle();
  clock.advance(1000);
  assertEquals([channels.length, newest()?.after, snapshots()], [2, "e.101", 1]);
});

Deno.test("LiveStream waits longer after each failure, and stops when the session has ended", async () => {
  let standing = true;
  const { model, settle, newest, clock, channels } = setUp({ probe: () => Promise.resolve(standing) });
  model.start();
  await settle();
  for (const waitMs of [1000, 2000, 4000, 8000, 15_000, 15_000]) {
    const before = channels.length;
    newest()?.fail(2);
    await settle();
    clock.advance(waitMs - 1);
    assertEquals(channels.length, before);
    clock.advance(1);
    assertEquals(channels.length, before + 1);
  }
  standing = false;
  const before = channels.length;
  newest()?.fail(2);
  await settle();
  clock.advance(600_000);
  assertEquals(channels.length, before);
});

Deno.test("LiveStream treats silence as a lost connection", async () => {
  const { model, settle, newest, clock, channels } = setUp();
  model.start();
  await settle();
  clock.advance(11_000);
  newest()?.say("beat");
  clock.advance(11_000);
  model.show();
  assertEquals(model.connection.value.kind, "live");
  clock.advance(2000);
  model.show();
  assertEquals([model.connection.value.kind, channels[0]?.closed], ["reconnecting", true]);
});

Deno.test("LiveStream tries the first snapshot again until the server answers", async () => {
  const { model, settle, clock, failSnapshots, channels } = setUp({
    probe: () => Promise.reject(new Error("away")),
  });
  failSnapshots(true);
  model.start();
  await settle();
  assertEquals(model.connection.value.kind, "reconnecting");
  failSnapshots(false);
  clock.advance(1000);
  await settle();
  assertEquals([model.connection.value.kind, channels.length], ["live", 1]);
});

Deno.test("LiveStream resumes at the same id when it is stopped and started again", async () => {
  const { model, settle, newest, channels, snapshots } = setUp();
  model.start();
  await settle();
  newest()?.say("live", message("e.103", [1, 2, 3]));
  model.stop();
  assertEquals(channels[0]?.closed, true);
  channels[0]?.say("live", message("e.104", [4]));
  model.start();
  assertEquals([newest()?.after, snapshots()], ["e.103", 1]);
});

Deno.test("LiveStream waits for the server after a restart as long as for any other event", async () => {
  const { model, settle, newest, clock, channels } = setUp();
  model.start();
  await settle();
  model.stop();
  clock.advance(3_600_000);
  model.start();
  assertEquals(model.connection.value.kind, "connecting");
  model.show();
  assertEquals([model.connection.value.kind, newest()?.closed], ["connecting", false]);
  newest()?.say("live", message("e.101", [1]));
  assertEquals([model.connection.value.kind, model.missed.value], ["live", null]);
  model.stop();
  model.start();
  clock.advance(12_001);
  model.show();
  assertEquals([model.connection.value.kind, channels.at(-1)?.closed], ["reconnecting", true]);
});

Deno.test("hasGap() is true exactly when ids are missing", () => {
  assertEquals(hasGap("e.5", message("e.7", [6, 7])), false);
  assertEquals(hasGap("e.5", message("e.6", [6, 7])), false, "a repeat is no gap");
  assertEquals(hasGap("e.5", message("e.8", [7, 8])), true);
  assertEquals(hasGap("e.5", message("f.6", [6])), true);
});

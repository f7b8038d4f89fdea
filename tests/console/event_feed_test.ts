// The live feed: batches of changes, ids to resume from, and limits.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { HISTORY_LIMIT, LiveFeed, ReplayBuffer } from "../../console/api/conversations/event_feed.ts";
import type { LiveMessage } from "../../console/api/api_types.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import {
  approval,
  conversation,
  createFakeOutbox,
  createFakeSecondFactorAdmin,
  createFakeWatch,
  ended,
} from "../fakes/console_gateway.ts";
import { createManualClock } from "../fakes/console_app.ts";

function setUp() {
  const clock = createManualClock();
  const watch = createFakeWatch();
  const secondFactorAdmin = createFakeSecondFactorAdmin(() => Promise.resolve());
  const outbox = createFakeOutbox();
  const feed = new LiveFeed({
    ...{ clock, watch, random: createSystemRandom() },
    secondFactorAdmin: () => secondFactorAdmin,
    outbox: () => outbox,
  });
  return { clock, watch, secondFactorAdmin, outbox, feed };
}

/** Follows the feed and collects event names and messages. */
function reader(feed: LiveFeed, after: string | null) {
  const events: { event: string; id: string; message: LiveMessage }[] = [];
  const stop = feed.follow(after, (chunk) => {
    const lines = new TextDecoder().decode(chunk).split("\n");
    const field = (name: string) =>
      lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? "";
    events.push({ event: field("event"), id: field("id"), message: JSON.parse(field("data")) });
  });
  return {
    events,
    stop,
    users: () => events.flatMap(({ message }) => message.conversations?.map(({ user }) => user) ?? []),
    last: () => events.at(-1),
  };
}

Deno.test("LiveFeed sends changes of the same moment in one message, the newest of each conversation", () => {
  const { feed, watch, clock } = setUp();
  const page = reader(feed, feed.snapshot().at);
  const greeted = page.events.length;
  for (let round = 0; round < 50; round += 1) watch.put(conversation(1, { user: `v${round}` }));
  watch.put(conversation(2, { user: "other" }));
  assertEquals(page.events.length, greeted, "nothing leaves on the hot path");
  clock.advance(100);
  assertEquals(page.events.length, greeted + 1);
  assertEquals(page.users(), ["v49", "other"]);
});

Deno.test("LiveFeed resumes from any id without a gap or a repeat", () => {
  const { feed, watch, clock } = setUp();
  const first = reader(feed, feed.snapshot().at);
  for (let number = 1; number <= 1200; number += 1) {
    watch.put(conversation(number, { user: `u${number}` }));
    if (number % 7 === 0) clock.advance(100);
  }
  clock.advance(500);
  const all = first.users();
  assertEquals(all.length, 1200);
  for (const { id } of first.events.filter((_, at) => at % 20 === 0)) {
    const seen = Number(id.split(".")[1]);
    assertEquals(reader(feed, id).users(), all.slice(seen), `after ${id}`);
  }
});

Deno.test("LiveFeed numbers every change once, across all messages", () => {
  const { feed, watch, clock } = setUp();
  const page = reader(feed, feed.snapshot().at);
  for (let number = 1; number <= 30; number += 1) {
    watch.put(conversation(number));
    clock.advance(number * 10);
  }
  let expected = 0;
  for (const { id, message } of page.events) {
    expected += message.conversations.length;
    assertEquals([message.upTo, Number(id.split(".")[1])], [id, expected]);
  }
});

for (const after of [null, "", "0.0", "x", "epoch.1", "9".repeat(500), "\u0000.1", "a.-1", "a.1e3"]) {
  Deno.test(`LiveFeed answers the unknown id ${JSON.stringify(after)?.slice(0, 30)} with a reset`, () => {
    const { feed } = setUp();
    feed.snapshot();
    assertEquals(reader(feed, after).events.map(({ event }) => event), ["reset"]);
  });
}

Deno.test("LiveFeed resets a page whose id is older than the history or newer than the present", () => {
  const { feed, watch, clock } = setUp();
  const start = feed.snapshot().at;
  for (let number = 1; number <= HISTORY_LIMIT + 1; number += 1) {
    watch.put(conversation(number));
    if (number % 1000 === 0) clock.advance(100);
  }
  clock.advance(100);
  assertEquals(reader(feed, start).last()?.event, "reset");
  const epoch = start.split(".")[0];
  assertEquals(reader(feed, `${epoch}.1`).events[0]?.event, "live");
  assertEquals(reader(feed, `${epoch}.${HISTORY_LIMIT + 2}`).last()?.event, "reset");
});

Deno.test("LiveFeed reports how many changes were lost when more arrive than it keeps", () => {
  const { feed, watch, clock } = setUp();
  const at = feed.snapshot().at;
  const page = reader(feed, at);
  for (let number = 1; number <= HISTORY_LIMIT + 40; number += 1) watch.put(conversation(number));
  clock.advance(100);
  assertEquals(page.last()?.message.lost, 40);
  assertEquals(reader(feed, at).last()?.event, "reset", "and allows no resumption across the loss");
});

Deno.test("LiveFeed observes nothing without readers", () => {
  const { feed, watch, clock } = setUp();
  assertEquals(watch.observers(), 0);
  const at = feed.snapshot().at;
  assertEquals(watch.observers(), 1);
  const page = reader(feed, at);
  clock.advance(120_000);
  assertEquals(watch.observers(), 1);
  page.stop();
  clock.advance(59_000);
  assertEquals(watch.observers(), 1, "a page that reloads finds its history");
  clock.advance(2000);
  assertEquals(watch.observers(), 0);
  assertNotEquals(feed.snapshot().at, at, "later numbers are of another epoch");
});

Deno.test("LiveFeed counts live conversations at each step, including those that began before it", () => {
  const { feed, watch, clock } = setUp();
  watch.put(conversation(1, { step: "A" }));
  watch.put(conversation(2, { step: "B" }));
  watch.put(ended(conversation(3, { step: "B" }), { outcome: "accepted", row: "approved", atMs: 1 }));
  const snapshot = feed.snapshot();
  assertEquals(snapshot.steps, { A: 1, B: 1 });
  const page = reader(feed, snapshot.at);
  watch.put(conversation(1, { step: "B" }));
  watch.put(ended(conversation(2), { outcome: "rejected", row: "not_approved", atMs: 1 }));
  clock.advance(100);
  assertEquals(page.last()?.message.steps, { B: 1 });
});

Deno.test("LiveFeed sends pending approvals and outbox messages when they change, a few times a second", () => {
  const { feed, secondFactorAdmin, outbox, clock } = setUp();
  const page = reader(feed, feed.snapshot().at);
  clock.advance(1000);
  const before = page.events.length;
  for (let number = 0; number < 300; number += 1) {
    secondFactorAdmin.wait(approval(`r${number}`, { createdMs: number }));
    outbox.put({ id: `m${number}`, kind: "text", to: "+15555550100", createdMs: 0, deadlineMs: 1 }, "x");
    clock.advance(5);
  }
  clock.advance(1000);
  const messages = page.events.slice(before).map(({ message }) => message);
  const last = messages.findLast((message) => message.approvals !== undefined);
  assertEquals([last?.approvals?.total, last?.approvals?.items.length], [300, 200]);
  assertEquals(last?.approvals?.items[0]?.requestId, "r299");
  const sent = messages.flatMap((message) => message.outbox ?? []);
  assertEquals([...new Set(sent.map(({ to }) => to))], ["+1*******100"], "numbers are masked");
  assert(messages.length < 10, `sent ${messages.length} times in 2.5 s`);
});

Deno.test("LiveFeed counts dropped packets by reason", () => {
  const { feed, watch, clock } = setUp();
  const page = reader(feed, feed.snapshot().at);
  watch.drop("bad_authenticator");
  watch.drop("bad_authenticator");
  watch.drop("unknown_client");
  clock.advance(100);
  assertEquals(page.last()?.message.drops, { bad_authenticator: 2, unknown_client: 1 });
});

Deno.test("ReplayBuffer keeps only the newest `limit` messages", () => {
  const history = new ReplayBuffer<number>(3);
  history.restart("e");
  for (let number = 1; number <= 5; number += 1) history.add(number);
  assertEquals(history.head(), "e.5");
  assertEquals(history.after("e.2"), [3, 4, 5]);
  assertEquals(history.after("e.5"), []);
  assertEquals(history.after("e.1"), null);
  assertEquals(history.after("f.5"), null);
  history.forget();
  assertEquals(history.after("e.4"), null);
  assertEquals(history.after("e.5"), []);
});

// The conversations in memory and in the store: found, bounded, ended at their deadline, and brought back after a restart.

import { assert, assertEquals } from "@std/assert";
import type { Conversation } from "../../radius/conversation/conversation.ts";
import {
  type Conversations,
  createConversations,
  MAX_REMEMBERED,
  REMEMBERED_MS,
} from "../../radius/conversation/conversation_store.ts";
import { createStore, type Store } from "../../platform/store.ts";
import { createManualClock, type ManualClock } from "../upstream/manual_clock.ts";
import { conversation, TTL_MS } from "./conversation_sample.ts";

const tokenOf = (orderedId: string, step: string) => `token of ${orderedId} at ${step}`;
const MENU = "CHOOSE_WHICH_MULTIFACTOR";

interface Ground extends AsyncDisposable {
  readonly store: Store;
  readonly clock: ManualClock;
  readonly conversations: Conversations;
  make(orderedId: string, more?: Partial<Conversation>): Conversation;
  /** Records a conversation as the gateway does. */
  keep(conversation: Conversation): Promise<boolean>;
  /** As after a restart. */
  again(most?: number): Promise<{ conversations: Conversations; alive: number; unreadable: number }>;
}

async function ground(most = 100): Promise<Ground> {
  const clock = createManualClock();
  const store = createStore(await Deno.openKv(":memory:"), { nowMs: clock.nowMs });
  const conversations = createConversations({ store, clock, most, tokenOf });
  return {
    store,
    clock,
    conversations,
    make: (orderedId, more) => conversation(orderedId, { clock, ...more }),
    async keep(conversation) {
      const writing = conversations.record(conversation);
      const outcome = await store.commit(
        "journal" in writing
          ? { mutations: [], journal: writing.journal }
          : { checks: [writing.check], mutations: [writing.mutation] },
      );
      if (outcome.ok) {
        conversation.stored = "journal" in writing ? "journal" : { versionstamp: outcome.versionstamp };
      }
      return outcome.ok;
    },
    async again(mostAgain = most) {
      const later = createConversations({ store, clock, most: mostAgain, tokenOf });
      return { conversations: later, ...await later.load() };
    },
    [Symbol.asyncDispose]: () => store.close(),
  };
}

const ids = (list: readonly Conversation[]) => list.map(({ orderedId }) => orderedId);

Deno.test("createConversations() finds a conversation by tuple and token, newest first, and counts those alive", async () => {
  await using at = await ground();
  const { conversations } = at;
  conversations.add(at.make("a", { hasToken: true }));
  conversations.add(at.make("b"));
  assertEquals(conversations.newestOn("tuple of a")?.orderedId, "a");
  assertEquals(conversations.byToken(tokenOf("a", MENU))?.orderedId, "a");
  assertEquals([conversations.newestOn("a"), conversations.byToken("tuple of a")], [null, null]);
  assertEquals([conversations.bareOn("tuple of a"), conversations.bareOn("tuple of b")?.orderedId], [
    null,
    "b",
  ]);
  assertEquals(ids(conversations.newestFirst(9)), ["b", "a"]);
  assertEquals(ids(conversations.newestFirst(1)), ["b"]);
  assertEquals([conversations.alive, conversations.size], [2, 2]);
});

Deno.test("end() forgets the one that ended first when more than 4,096 are remembered, and none in progress", async () => {
  await using at = await ground(10_000);
  const { conversations } = at;
  conversations.add(at.make("alive"));
  for (let number = 0; number < 5000; number++) {
    const one = at.make(`ended${String(number).padStart(4, "0")}`);
    conversations.add(one);
    conversations.end(one, "rejected", "denied");
  }
  assertEquals([conversations.size, conversations.alive], [MAX_REMEMBERED + 1, 1]);
  assertEquals(conversations.byId("ended0903"), null);
  assert(conversations.byId("ended0904") !== null && conversations.byId("alive") !== null);
});

Deno.test("add() of the same tuple again hides the older one, and forgetting that one hides nothing", async () => {
  await using at = await ground();
  const older = at.make("a", { tuple: "same" });
  at.conversations.add(older);
  at.conversations.add(at.make("b", { tuple: "same" }));
  at.conversations.remove(older);
  assertEquals(at.conversations.newestOn("same")?.orderedId, "b");
});

Deno.test("remove() takes one out, and twice does no harm", async () => {
  await using at = await ground();
  const one = at.make("a", { hasToken: true });
  at.conversations.add(one);
  at.conversations.remove(one);
  at.conversations.remove(one);
  const { conversations } = at;
  assertEquals([conversations.newestOn(one.tuple), conversations.byToken(tokenOf("a", MENU))], [null, null]);
  assertEquals([conversations.alive, conversations.size], [0, 0]);
});

Deno.test("hasRoom() refuses a login in a full table, and add() forgets what ended, never what is in progress", async () => {
  await using at = await ground(3);
  const { conversations } = at;
  const [first, second, third] = ["a", "b", "c"].map((id) => at.make(id, { hasToken: true }));
  if (first === undefined || second === undefined || third === undefined) throw new Error("They are missing");
  for (const one of [first, second, third]) conversations.add(one);
  assertEquals(conversations.hasRoom({ signed: true }), false);
  conversations.end(second, "rejected", "denied");
  conversations.end(first, "rejected", "denied");
  assertEquals(conversations.hasRoom({ signed: true }), true);
  conversations.add(at.make("d"));
  assertEquals(ids(conversations.newestFirst(9)), ["d", "c", "a"]);
  assertEquals([conversations.byToken(tokenOf("b", MENU)), conversations.newestOn("tuple of b")], [
    null,
    null,
  ]);
  conversations.add(at.make("e"));
  assertEquals(ids(conversations.newestFirst(9)), ["e", "d", "c"]);
  assertEquals([conversations.alive, conversations.size, conversations.hasRoom({ signed: true })], [
    3,
    3,
    false,
  ]);
});

Deno.test("hasRoom() leaves half of the table to signed logins", async () => {
  await using at = await ground(4);
  const { conversations } = at;
  const unsigned = at.make("a", { signed: false });
  conversations.add(unsigned);
  assertEquals(conversations.hasRoom({ signed: false }), true);
  conversations.add(at.make("b", { signed: false }));
  assertEquals([conversations.hasRoom({ signed: false }), conversations.hasRoom({ signed: true })], [
    false,
    true,
  ]);
  conversations.end(unsigned, "accepted", "approved");
  assertEquals(conversations.hasRoom({ signed: false }), true);
});

Deno.test("add() of Cancel in a full table loses no login in progress, however often", async () => {
  await using at = await ground(3);
  const { conversations } = at;
  let last = at.make("c10");
  conversations.add(at.make("a"));
  conversations.add(at.make("b"));
  conversations.add(last);
  for (let count = 11; count < 60; count++) {
    conversations.end(last, "cancelled", "cancelled");
    last = at.make(`c${count}`);
    conversations.add(last);
  }
  assertEquals(ids(conversations.newestFirst(9)), ["c59", "b", "a"]);
  assertEquals([conversations.alive, conversations.size], [3, 3]);
});

Deno.test("byToken() finds a conversation by the tokens of its step and of the step before, and by no older one", async () => {
  await using at = await ground();
  const { conversations } = at;
  const one = at.make("a", { hasToken: true });
  conversations.add(one);
  const steps = [MENU, "GET_SMS_PHONE_NUMBER", "VERIFY_SMS_PHONE_NUMBER"] as const;
  const answered = { identifier: 1, authenticator: "auth", atMs: 0 };
  for (const [count, step] of steps.entries()) {
    const before = steps[count - 1] ?? null;
    one.at = step;
    one.lastAnswer = { state: before, ...answered };
    assert(await at.keep(one));
    conversations.park(one);
    const found = steps.filter((each) => conversations.byToken(tokenOf("a", each)) !== null);
    assertEquals(found, before === null ? [step] : [before, step]);
    Object.assign(one, conversations.byToken(tokenOf("a", step)));
    conversations.remove(one);
    conversations.add(one);
  }
  const { conversations: again } = await at.again();
  assertEquals(steps.filter((each) => again.byToken(tokenOf("a", each)) !== null), steps.slice(1));
});

Deno.test("byLoginPacket() finds each of several logins of one tuple by the packet that began it", async () => {
  await using at = await ground();
  const packet = (identifier: number) => ({ identifier, authenticator: `auth ${identifier}` });
  for (const [count, id] of ["a", "b", "c"].entries()) {
    const lastAnswer = { state: null, ...packet(count), atMs: 0 };
    const one = at.make(id, { hasToken: true, tuple: "same", lastAnswer });
    at.conversations.add(one);
    await at.keep(one);
  }
  for (const { conversations } of [at, await at.again()]) {
    const found = [0, 1, 2, 3].map((count) => conversations.byLoginPacket(packet(count))?.orderedId);
    assertEquals(found, ["a", "b", "c", undefined]);
    assertEquals(conversations.newestOn("same")?.orderedId, "c");
  }
});

Deno.test("bareOn() selects the older login until a newer one behind it claims the tuple", async () => {
  await using at = await ground();
  const { conversations } = at;
  conversations.add(at.make("a", { tuple: "same" }));
  const newer = at.make("b", { tuple: "same" });
  conversations.add(newer, { behind: true });
  conversations.add(at.make("c", { tuple: "same", hasToken: true }));
  assertEquals([conversations.bareOn("same")?.orderedId, conversations.newestOn("same")?.orderedId], [
    "a",
    "c",
  ]);
  conversations.claimTuple(newer);
  assertEquals(conversations.bareOn("same")?.orderedId, "b");
});

Deno.test("end() notes outcome and moment once, and takes the passcode away", async () => {
  await using at = await ground();
  const one = at.make("a", {
    passcode: { factor: "sms", digest: "d", expiresMs: 9, number: "+15005550006" },
  });
  at.conversations.add(one);
  at.conversations.end(one, "accepted", "text_code_right");
  at.conversations.end(one, "rejected", "too_late");
  assertEquals([one.outcome, one.passcode, at.conversations.alive], ["accepted", null, 0]);
  assertEquals(one.moments, [{ atMs: at.clock.nowMs(), step: "accepted", row: "text_code_right" }]);
  assertEquals(at.conversations.newestOn(one.tuple)?.outcome, "accepted");
});

Deno.test("sweep() ends what is past its deadline, to the millisecond, and forgets it a minute later", async () => {
  await using at = await ground();
  at.conversations.add(at.make("a"));
  at.clock.advance(1000);
  at.conversations.add(at.make("b"));
  at.clock.advance(TTL_MS - 1001);
  assertEquals(ids(at.conversations.sweep()), []);
  at.clock.advance(1);
  assertEquals(ids(at.conversations.sweep()), ["a"]);
  assertEquals([at.conversations.alive, at.conversations.size], [1, 2]);
  assertEquals(at.conversations.newestOn("tuple of a")?.outcome, "expired");
  at.clock.advance(1000);
  assertEquals(ids(at.conversations.sweep()), ["b"]);
  at.clock.advance(REMEMBERED_MS - 1001);
  at.conversations.sweep();
  assertEquals(at.conversations.size, 2);
  at.clock.advance(1);
  at.conversations.sweep();
  assertEquals([at.conversations.newestOn("tuple of a"), at.conversations.size], [null, 1]);
});

Deno.test("sweep() forgets what ended early a minute later, although it stands behind one that lives", async () => {
  await using at = await ground();
  at.conversations.add(at.make("lives"));
  const ended = at.make("ended");
  at.conversations.add(ended);
  at.conversations.end(ended, "accepted", "approved");
  at.clock.advance(REMEMBERED_MS);
  assertEquals(ids(at.conversations.sweep()), []);
  assertEquals([at.conversations.alive, at.conversations.size], [1, 1]);
});

Deno.test("park() and byTuple() give the same conversation back, with what only this process knows of it", async () => {
  await using at = await ground();
  const one = at.make("a", {
    ...{ hasToken: true, requestId: "r1", numbers: ["+15005550006"], round: 4, answerDigest: "digest" },
  });
  at.conversations.add(one);
  for (let i = 0; i < 2; i++) {
    assert(await at.keep(one));
    const stored = one.stored;
    at.conversations.park(one);
    assertEquals(at.conversations.newestOn(one.tuple), { ...one, stored });
    assertEquals(at.conversations.byToken(tokenOf("a", MENU))?.stored, stored);
    at.conversations.park(at.conversations.newestOn(one.tuple) ?? one);
    assertEquals(ids(at.conversations.newestFirst(1)), ["a"]);
    const back = at.conversations.byToken(tokenOf("a", MENU));
    if (back === null) throw new Error("It is gone");
    one.stored = back.stored;
    at.conversations.remove(back);
    at.conversations.add(one);
  }
});

Deno.test("park() before sweep(): a parked conversation expires like any other", async () => {
  await using at = await ground();
  const one = at.make("a");
  at.conversations.add(one);
  await at.keep(one);
  at.conversations.park(one);
  at.clock.advance(TTL_MS);
  assertEquals(ids(at.conversations.sweep()), ["a"]);
  assertEquals([at.conversations.newestOn(one.tuple)?.outcome, at.conversations.alive], ["expired", 0]);
});

Deno.test("record() writes the journal first, then a key of its own, and lets one of two writers win", async () => {
  await using at = await ground();
  const one = at.make("a");
  at.conversations.add(one);
  assert(await at.keep(one));
  assertEquals(one.stored, "journal");
  const rival = structuredClone(one);
  one.round = 2;
  assert(await at.keep(one));
  assert(typeof one.stored === "object");
  assertEquals(await at.keep(rival), false);
  one.round = 3;
  assert(await at.keep(one));
  assertEquals((await at.again()).conversations.newestOn(one.tuple)?.round, 3);
});

Deno.test("load() brings back what the journal and the keys have, the newest of each, in order", async () => {
  await using at = await ground();
  for (const id of ["a", "b", "c"]) {
    const one = at.make(id, { hasToken: true, lastAnswer: null, requestId: `request of ${id}` });
    at.conversations.add(one);
    await at.keep(one);
    if (id !== "b") continue;
    one.at = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
    one.round = 7;
    await at.keep(one);
  }
  const { conversations, alive, unreadable } = await at.again();
  assertEquals([alive, unreadable, ids(conversations.newestFirst(9))], [3, 0, ["c", "b", "a"]]);
  const b = conversations.byToken(tokenOf("b", "SECONDFACTOR_AWAIT_DEVICE_APPROVAL"));
  assertEquals([b?.round, b?.at, b?.requestId], [7, "SECONDFACTOR_AWAIT_DEVICE_APPROVAL", "request of b"]);
  assertEquals(conversations.newestOn("tuple of a")?.stored, "journal");
  assert(typeof b?.stored === "object");
});

Deno.test("load() leaves out what is long over, keeps what ended just now, and does not go beyond the cap", async () => {
  await using at = await ground();
  const ended = at.make("a");
  at.conversations.add(ended);
  at.conversations.end(ended, "accepted", "approved");
  await at.keep(ended);
  for (const id of ["b", "c", "d"]) await at.keep(at.make(id));
  const { conversations, alive } = await at.again();
  assertEquals([alive, conversations.size], [3, 4]);
  assertEquals(conversations.newestOn("tuple of a")?.outcome, "accepted");
  assert((await at.again(2)).conversations.size <= 2);
  at.clock.advance(TTL_MS + REMEMBERED_MS);
  assertEquals((await at.again()).conversations.size, 0);
});

Deno.test("load() counts what cannot be read, in journal and keys, and brings the rest back", async () => {
  await using at = await ground();
  await at.keep(at.make("good"));
  await at.store.commit({ mutations: [], journal: { text: "{ broken", expireInMs: 1000 } });
  const value = new TextEncoder().encode("broken too");
  await at.store.commit({ mutations: [{ type: "set", key: ["conversation", "bad"], value }] });
  await at.store.commit({ mutations: [{ type: "set", key: ["conversation", "odd"], value: 7 }] });
  const { alive, unreadable, conversations } = await at.again();
  assertEquals([alive, unreadable, ids(conversations.newestFirst(9))], [1, 3, ["good"]]);
});

// The conversations in memory: lookup, limits, and their end at the deadline.

import { assert, assertEquals } from "@std/assert";
import { encodeConversation } from "../../radius/conversation/conversation_codec.ts";
import { ENDED_RETENTION_MS, MAX_ENDED } from "../../radius/conversation/conversation_store.ts";
import { ids, openConversations, tokenOf, TTL_MS } from "./conversation_sample.ts";

const MENU = "CHOOSE_WHICH_MULTIFACTOR";

Deno.test("ConversationStore finds a conversation by tuple and token, newest first, and counts the live ones", async () => {
  await using at = await openConversations();
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

Deno.test("end() removes the oldest ended conversation above 4,096, and none in progress", async () => {
  await using at = await openConversations(10_000);
  const { conversations } = at;
  conversations.add(at.make("alive"));
  for (let number = 0; number < 5000; number++) {
    const one = at.make(`ended${String(number).padStart(4, "0")}`);
    conversations.add(one);
    conversations.end(one, "rejected", "denied");
  }
  assertEquals([conversations.size, conversations.alive], [MAX_ENDED + 1, 1]);
  assertEquals(conversations.byId("ended0903"), null);
  assert(conversations.byId("ended0904") !== null && conversations.byId("alive") !== null);
});

Deno.test("add() of the same tuple hides the older conversation, and removing the older one changes nothing", async () => {
  await using at = await openConversations();
  const older = at.make("a", { tuple: "same" });
  at.conversations.add(older);
  at.conversations.add(at.make("b", { tuple: "same" }));
  at.conversations.remove(older);
  assertEquals(at.conversations.newestOn("same")?.orderedId, "b");
});

Deno.test("remove() removes a conversation, and a second call changes nothing", async () => {
  await using at = await openConversations();
  const one = at.make("a", { hasToken: true });
  at.conversations.add(one);
  at.conversations.remove(one);
  at.conversations.remove(one);
  const { conversations } = at;
  assertEquals([conversations.newestOn(one.tuple), conversations.byToken(tokenOf("a", MENU))], [null, null]);
  assertEquals([conversations.alive, conversations.size], [0, 0]);
});

Deno.test("hasRoom() refuses a login in a full table, and add() removes ended conversations, never live ones", async () => {
  await using at = await openConversations(3);
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

Deno.test("hasRoom() reserves half of the table for signed logins", async () => {
  await using at = await openConversations(4);
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

Deno.test("add() of Cancel in a full table never removes a login in progress", async () => {
  await using at = await openConversations(3);
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

Deno.test("byToken() finds a conversation by the tokens of its present and its previous step, and by no older token", async () => {
  await using at = await openConversations();
  const { conversations } = at;
  const one = at.make("a", { hasToken: true });
  conversations.add(one);
  const steps = [MENU, "GET_SMS_PHONE_NUMBER", "VERIFY_SMS_PHONE_NUMBER"] as const;
  const answered = { identifier: 1, authenticator: "auth", eapIdentifier: null, atMs: 0 };
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
  await using at = await openConversations();
  const packet = (identifier: number) => ({ identifier, authenticator: `auth ${identifier}` });
  for (const [count, id] of ["a", "b", "c"].entries()) {
    const lastAnswer = { state: null, ...packet(count), eapIdentifier: null, atMs: 0 };
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

Deno.test("bareOn() selects the older login until a newer one after it claims the tuple", async () => {
  await using at = await openConversations();
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

Deno.test("end() records outcome and time once, and clears the passcode", async () => {
  await using at = await openConversations();
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

Deno.test("sweep() ends conversations at their deadline, to the millisecond, and removes them a minute later", async () => {
  await using at = await openConversations();
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
  at.clock.advance(ENDED_RETENTION_MS - 1001);
  at.conversations.sweep();
  assertEquals(at.conversations.size, 2);
  at.clock.advance(1);
  at.conversations.sweep();
  assertEquals([at.conversations.newestOn("tuple of a"), at.conversations.size], [null, 1]);
});

Deno.test("sweep() removes a conversation a minute after its early end, although an older one is alive", async () => {
  await using at = await openConversations();
  at.conversations.add(at.make("lives"));
  const ended = at.make("ended");
  at.conversations.add(ended);
  at.conversations.end(ended, "accepted", "approved");
  at.clock.advance(ENDED_RETENTION_MS);
  assertEquals(ids(at.conversations.sweep()), []);
  assertEquals([at.conversations.alive, at.conversations.size], [1, 1]);
});

Deno.test("sweep() ends a conversation of another node at its deadline, although younger ones were added before it", async () => {
  await using at = await openConversations();
  const { conversations, clock } = at;
  const older = at.make("older", { node: "b" });
  clock.advance(TTL_MS - 30_000);
  conversations.add(at.make("younger"));
  conversations.adopt({ octets: encodeConversation(older).slice(), orderedId: "older" }, {
    versionstamp: "0001",
  });
  clock.advance(30_001);
  assertEquals(ids(conversations.sweep()), ["older"]);
});

Deno.test("sweep() ends conversations that began after the clock was set back, although an older one began later by the clock", async () => {
  await using at = await openConversations();
  const { conversations, clock } = at;
  conversations.add(at.make("tomorrow"));
  clock.advance(-24 * 3600_000);
  conversations.add(at.make("today"));
  clock.advance(TTL_MS);
  assertEquals(ids(conversations.sweep()), ["today"]);
});

Deno.test("remove() selects the login of another node that waited behind the removed one", async () => {
  await using at = await openConversations();
  const { conversations } = at;
  const here = at.make("here", { tuple: "same" });
  conversations.add(here);
  const there = at.make("there", { tuple: "same", node: "b", outcome: "rejected" });
  conversations.adopt({ octets: encodeConversation(there).slice(), orderedId: "there" }, "journal");
  assertEquals(conversations.newestOn("same")?.orderedId, "here");
  conversations.remove(here);
  assertEquals(conversations.newestOn("same")?.orderedId, "there");
});

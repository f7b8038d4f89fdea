// Conversations in the store: parked, recorded, and loaded after a restart.

import { assert, assertEquals } from "@std/assert";
import { ENDED_RETENTION_MS } from "../../radius/conversation/conversation_store.ts";
import { ids, openConversations, tokenOf, TTL_MS } from "./conversation_sample.ts";

const MENU = "CHOOSE_WHICH_MULTIFACTOR";

Deno.test("park() and byTuple() return the same conversation, with the fields that are only in memory", async () => {
  await using at = await openConversations();
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
  await using at = await openConversations();
  const one = at.make("a");
  at.conversations.add(one);
  await at.keep(one);
  at.conversations.park(one);
  at.clock.advance(TTL_MS);
  assertEquals(ids(at.conversations.sweep()), ["a"]);
  assertEquals([at.conversations.newestOn(one.tuple)?.outcome, at.conversations.alive], ["expired", 0]);
});

Deno.test("record() writes the journal first, then its own key, and one of two writers wins", async () => {
  await using at = await openConversations();
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

Deno.test("load() reads the newest record of each conversation from journal and keys, in order", async () => {
  await using at = await openConversations();
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

Deno.test("load() skips conversations that ended long ago, loads recently ended ones, and stays within the limit", async () => {
  await using at = await openConversations();
  const ended = at.make("a");
  at.conversations.add(ended);
  at.conversations.end(ended, "accepted", "approved");
  await at.keep(ended);
  for (const id of ["b", "c", "d"]) await at.keep(at.make(id));
  const { conversations, alive } = await at.again();
  assertEquals([alive, conversations.size], [3, 4]);
  assertEquals(conversations.newestOn("tuple of a")?.outcome, "accepted");
  assert((await at.again(2)).conversations.size <= 2);
  at.clock.advance(TTL_MS + ENDED_RETENTION_MS);
  assertEquals((await at.again()).conversations.size, 0);
});

Deno.test("load() counts unreadable records in journal and keys, and loads the others", async () => {
  await using at = await openConversations();
  await at.keep(at.make("good"));
  await at.store.commit({
    mutations: [],
    journal: { octets: new TextEncoder().encode("{ broken"), expireInMs: 1000 },
  });
  const value = new TextEncoder().encode("broken too");
  await at.store.commit({ mutations: [{ type: "set", key: ["conversation", "bad"], value }] });
  await at.store.commit({ mutations: [{ type: "set", key: ["conversation", "odd"], value: 7 }] });
  const { alive, unreadable, conversations } = await at.again();
  assertEquals([alive, unreadable, ids(conversations.newestFirst(9))], [1, 3, ["good"]]);
});

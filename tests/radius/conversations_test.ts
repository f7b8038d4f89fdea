// The conversations in memory and in the store: found, bounded, ended at their deadline, and brought back after a restart.

import { assert, assertEquals } from "@std/assert";
import { type Conversation, decodeRecord, recordText, viewOf } from "../../radius/doing/conversation.ts";
import { RECORD_FIELDS } from "../../radius/doing/record_fields.ts";
import { type Conversations, createConversations, REMEMBERED_MS } from "../../radius/doing/conversations.ts";
import { PASSAGES, STEPS } from "../../radius/facts/steps.ts";
import { createStore, type Store } from "../../store.ts";
import { createManualClock, type ManualClock } from "../upstream/manual_clock.ts";

const TTL_MS = 300_000;
const tokenOf = (orderedId: string) => `token of ${orderedId}`;
const decode = (value: unknown) => decodeRecord(value, { stored: "journal", tokenOf });

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

function conversation(
  orderedId: string,
  { clock, ...more }: Partial<Conversation> & { clock: ManualClock },
): Conversation {
  const now = clock.nowMs();
  return {
    orderedId,
    secretId: `secret of ${orderedId}`,
    client: "vpn",
    user: "ada",
    shownUser: "Ada",
    source: "192.0.2.1",
    place: "",
    tuple: `tuple of ${orderedId}`,
    token: null,
    startedMs: now,
    deadlineMs: now + TTL_MS,
    passwordDigest: "a digest",
    at: "CHOOSE_WHICH_MULTIFACTOR",
    round: 1,
    updatedMs: now,
    firstFactorRight: false,
    factor: null,
    requestId: null,
    pairingId: null,
    phone: null,
    newPairingId: null,
    numberToMatch: null,
    passcode: null,
    numbers: [],
    prompt: "menu",
    lastAnswer: null,
    outcome: null,
    moments: [],
    stored: "not",
    ...more,
  };
}

const ids = (list: readonly Conversation[]) => list.map(({ orderedId }) => orderedId);

Deno.test("createConversations() finds a conversation by tuple and token, newest first, and counts those alive", async () => {
  await using at = await ground();
  const { conversations } = at;
  conversations.add(at.make("a", { token: "token of a" }));
  conversations.add(at.make("b"));
  assertEquals(conversations.byTuple("tuple of a")?.orderedId, "a");
  assertEquals(conversations.byToken("token of a")?.orderedId, "a");
  assertEquals([conversations.byTuple("a"), conversations.byToken("tuple of a")], [null, null]);
  assertEquals(ids(conversations.newestFirst(9)), ["b", "a"]);
  assertEquals(ids(conversations.newestFirst(1)), ["b"]);
  assertEquals([conversations.alive, conversations.size], [2, 2]);
});

Deno.test("add() of the same tuple again hides the older one, and forgetting that one hides nothing", async () => {
  await using at = await ground();
  const older = at.make("a", { tuple: "same" });
  at.conversations.add(older);
  at.conversations.add(at.make("b", { tuple: "same" }));
  at.conversations.remove(older);
  assertEquals(at.conversations.byTuple("same")?.orderedId, "b");
});

Deno.test("remove() takes one out, and twice does no harm", async () => {
  await using at = await ground();
  const one = at.make("a", { token: "t" });
  at.conversations.add(one);
  at.conversations.remove(one);
  at.conversations.remove(one);
  const { conversations } = at;
  assertEquals([conversations.byTuple(one.tuple), conversations.byToken("t")], [null, null]);
  assertEquals([conversations.alive, conversations.size], [0, 0]);
});

Deno.test("add() forgets the oldest one above the cap, however many come", async () => {
  await using at = await ground(3);
  for (let i = 0; i < 50; i++) at.conversations.add(at.make(`c${10 + i}`, { token: `t${i}` }));
  assertEquals(ids(at.conversations.newestFirst(9)), ["c59", "c58", "c57"]);
  assertEquals([at.conversations.alive, at.conversations.size], [3, 3]);
  assertEquals([at.conversations.byToken("t46"), at.conversations.byTuple("tuple of c56")], [null, null]);
  assert(at.conversations.byToken("t47") !== null);
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
  assertEquals(at.conversations.byTuple(one.tuple)?.outcome, "accepted");
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
  assertEquals(at.conversations.byTuple("tuple of a")?.outcome, "expired");
  at.clock.advance(1000);
  assertEquals(ids(at.conversations.sweep()), ["b"]);
  at.clock.advance(REMEMBERED_MS - 1001);
  at.conversations.sweep();
  assertEquals(at.conversations.size, 2);
  at.clock.advance(1);
  at.conversations.sweep();
  assertEquals([at.conversations.byTuple("tuple of a"), at.conversations.size], [null, 1]);
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
  const one = at.make("a", { token: "t", requestId: "r1", numbers: ["+15005550006"], round: 4 });
  at.conversations.add(one);
  for (let i = 0; i < 2; i++) {
    assert(await at.keep(one));
    const stored = one.stored;
    at.conversations.park(one);
    assertEquals(at.conversations.byTuple(one.tuple), { ...one, stored });
    assertEquals(at.conversations.byToken("t")?.stored, stored);
    at.conversations.park(at.conversations.byTuple(one.tuple) ?? one);
    assertEquals(ids(at.conversations.newestFirst(1)), ["a"]);
    const back = at.conversations.byToken("t");
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
  assertEquals([at.conversations.byTuple(one.tuple)?.outcome, at.conversations.alive], ["expired", 0]);
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
  assertEquals((await at.again()).conversations.byTuple(one.tuple)?.round, 3);
});

Deno.test("load() brings back what the journal and the keys have, the newest of each, in order", async () => {
  await using at = await ground();
  for (const id of ["a", "b", "c"]) {
    const one = at.make(id, { token: `token of ${id}`, lastAnswer: null, requestId: `request of ${id}` });
    at.conversations.add(one);
    await at.keep(one);
    if (id !== "b") continue;
    one.at = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
    one.round = 7;
    await at.keep(one);
  }
  const { conversations, alive, unreadable } = await at.again();
  assertEquals([alive, unreadable, ids(conversations.newestFirst(9))], [3, 0, ["c", "b", "a"]]);
  const b = conversations.byToken("token of b");
  assertEquals([b?.round, b?.at, b?.requestId], [7, "SECONDFACTOR_AWAIT_DEVICE_APPROVAL", "request of b"]);
  assertEquals(conversations.byTuple("tuple of a")?.stored, "journal");
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
  assertEquals(conversations.byTuple("tuple of a")?.outcome, "accepted");
  assert((await at.again(2)).conversations.size <= 2);
  at.clock.advance(TTL_MS + REMEMBERED_MS);
  assertEquals((await at.again()).conversations.size, 0);
});

const record = (more: Record<string, unknown>) => {
  const list = JSON.parse(recordText(conversation("x", { clock: createManualClock() })));
  for (const [name, value] of Object.entries(more)) {
    list[RECORD_FIELDS.findIndex((field) => field === name)] = value;
  }
  return JSON.stringify(list);
};
const UNREADABLE: Readonly<Record<string, unknown>> = {
  "no JSON": "{",
  "nothing": "",
  "null": "null",
  "a number": "7",
  "a list": "[]",
  "an empty object": "{}",
  "a list that is too short": JSON.stringify(JSON.parse(record({})).slice(2)),
  "a record whose moments are cut": record({ moments: [1, "start"] }),
  "a record without an id": record({ orderedId: undefined }),
  "a record whose deadline is a text": record({ deadlineMs: "soon" }),
  "a record without moments": record({ moments: undefined }),
  "a record without numbers": record({ numbers: undefined }),
  "a record whose user is an object": record({ user: {} }),
  "a record at a place that is none": record({ at: "NOWHERE" }),
  "a record at a place named like an object's own": record({ at: "constructor" }),
  "a record that cannot go on": record({ at: "start" }),
  "no octets": { some: "object" },
  "octets that are no UTF-8": Uint8Array.of(0xff, 0xfe),
  "a number where octets belong": 7,
};
Deno.test("decodeRecord() reads a record of before phones had names", () => {
  const list = JSON.parse(record({ phone: "Pixel" }));
  assertEquals(decode(JSON.stringify(list))?.phone, "Pixel");
  assertEquals(decode(JSON.stringify(list.slice(0, -1)))?.phone, null);
});

for (const [what, value] of Object.entries(UNREADABLE)) {
  Deno.test(`decodeRecord() gives null for ${what}`, () => {
    assertEquals(decode(value), null);
  });
}

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

for (const [name, { afterCrash }] of Object.entries(PASSAGES)) {
  Deno.test(`decodeRecord() lets a conversation that died at "${name}" go on at ${afterCrash ?? "nothing"}`, () => {
    const back = decode(record({ at: name }));
    assertEquals(back?.at ?? null, afterCrash);
    if (back !== null) assert(back.prompt !== null && back.prompt !== "menu");
  });
}

for (const name of Object.keys(STEPS)) {
  Deno.test(`decodeRecord() leaves a conversation at ${name} where it is`, () => {
    const back = decode(new TextEncoder().encode(record({ at: name })));
    assertEquals([back?.at, back?.prompt], [name, "menu"]);
  });
}

Deno.test("recordText() holds no token, and decodeRecord() gives it back to whoever had one", () => {
  const clock = createManualClock();
  for (const token of [null, "token of x"]) {
    const one = conversation("x", { clock, token, stored: "journal" });
    assert(!recordText(one).includes("token of"), recordText(one));
    assertEquals(decode(recordText(one)), one);
  }
});

Deno.test("viewOf() shows no id that stays inside, no token, no digest, no number", () => {
  const planted = conversation("x", {
    clock: createManualClock(),
    token: "planted-token",
    secretId: "planted-secret",
    passwordDigest: "planted-digest",
    requestId: "planted-request",
    passcode: { factor: "sms", digest: "planted-code", expiresMs: 1, number: "planted-number" },
    numbers: ["planted-numbers"],
    lastAnswer: { state: null, digest: "planted-last", authenticator: "planted-auth", atMs: 1 },
  });
  const seen = JSON.stringify(viewOf(planted, { target: "default" }));
  assert(!seen.includes("planted"), seen);
});

// The record of a login: its codec, its text, and loading it at the start.

import { assert, assertEquals } from "@std/assert";
import { type Conversation, toConversationView } from "../../radius/conversation/conversation.ts";
import {
  decodeOrderedId,
  decodeRecord,
  encodeConversation,
  isRecordField,
} from "../../radius/conversation/conversation_codec.ts";
import { PASSAGES, STEPS } from "../../radius/protocol/steps.ts";
import { createManualClock } from "../upstream/manual_clock.ts";
import { conversation, ids, openConversations, tokenOf, TTL_MS } from "./conversation_sample.ts";
import fc from "../packages/fast_check.ts";
import { PROMPTS } from "../../radius/flow/prompts.ts";
import { ConversationStore, ENDED_RETENTION_MS } from "../../radius/conversation/conversation_store.ts";

// The record of a conversation: its encoding, its decoding, and its view in the console.

const decode = (value: unknown) => decodeRecord(value, { stored: "journal" });

const record = (more: Partial<Record<keyof Conversation, unknown>>) =>
  encodeConversation({ ...conversation("x", { clock: createManualClock() }), ...more } as Conversation)
    .slice();

const UNREADABLE: Readonly<Record<string, unknown>> = {
  "a text": "{}",
  "no octets": { some: "object" },
  "a number where octets belong": 7,
  "no octet": new Uint8Array(),
  "octets that are no UTF-8": Uint8Array.of(0xff, 0xfe),
  "a record of another form": record({}).with(0, 3),
  "a record at an unknown step": record({ at: "NOWHERE" }),
  "a record at a step with the name of an object member": record({ at: "constructor" }),
  "a record that cannot continue": record({ at: "start" }),
};

for (const [what, value] of Object.entries(UNREADABLE)) {
  Deno.test(`decodeRecord() returns null for ${what}`, () => {
    assertEquals(decode(value), null);
  });
}

for (const [name, { afterCrash }] of Object.entries(PASSAGES)) {
  Deno.test(`decodeRecord() lets a conversation that crashed at "${name}" continue at ${afterCrash ?? "nothing"}`, () => {
    const back = decode(record({ at: name }));
    assertEquals(back?.at ?? null, afterCrash);
    if (back !== null) assert(back.prompt !== null && back.prompt !== "menu");
  });
}

for (const name of Object.keys(STEPS)) {
  Deno.test(`decodeRecord() leaves a conversation at ${name} at that step`, () => {
    const back = decode(record({ at: name }));
    assertEquals([back?.at, back?.prompt], [name, "menu"]);
  });
}

Deno.test("encodeConversation() has no token and no digest of the password; decodeRecord() returns whether there is a token", () => {
  const clock = createManualClock();
  for (const hasToken of [true, false]) {
    const lastAnswer = { state: null, identifier: 7, authenticator: "auth", eapIdentifier: null, atMs: 1 };
    const one = conversation("x", {
      clock,
      hasToken,
      lastAnswer,
      stored: "journal",
      answerDigest: "a digest",
    });
    const record = encodeConversation(one);
    const text = new TextDecoder().decode(record);
    assert(!text.includes("token of") && !text.includes("a digest"), text);
    assertEquals(decode(record), { ...one, answerDigest: null });
  }
});

Deno.test("viewOf() shows no internal id, no token, no digest and no number", () => {
  const planted = conversation("x", {
    clock: createManualClock(),
    hasToken: true,
    secretId: "planted-secret",
    answerDigest: "planted-digest",
    requestId: "planted-request",
    passcode: { factor: "sms", digest: "planted-code", expiresMs: 1, number: "planted-number" },
    numbers: ["planted-numbers"],
    lastAnswer: { state: null, identifier: 1, authenticator: "planted-auth", eapIdentifier: null, atMs: 1 },
  });
  const seen = JSON.stringify(toConversationView(planted, { target: "default" }));
  assert(!seen.includes("planted"), seen);
});

// The stored form of a conversation: any conversation is read as it was written, and damaged octets are refused.

const clock = createManualClock();
const text = fc.string({ unit: "grapheme", maxLength: 40 }).map((one) => one.toWellFormed());
const textOrNull = fc.option(text);
const time = fc.integer({ min: 0, max: 2 ** 48 - 1 });
const step = fc.constantFrom(...(Object.keys(STEPS) as (keyof typeof STEPS)[]));
const octetText = fc.uint8Array({ minLength: 16, maxLength: 16 })
  .map((octets) => String.fromCharCode(...octets));

const anyConversation: fc.Arbitrary<Conversation> = fc.record({
  ...{ orderedId: text, secretId: text, client: text, user: text, shownUser: text, source: text },
  ...{ place: text, tuple: text, hasToken: fc.boolean(), signed: fc.boolean() },
  ...{ startedMs: time, deadlineMs: time, at: step, round: fc.integer({ min: 0, max: 65_535 }) },
  ...{
    updatedMs: time,
    firstFactorRight: fc.boolean(),
    firstFactorReply: octetText,
    firstFactorServer: text,
    passwordChange: text,
  },
  relay: fc.option(fc.record({ key: text, method: text, outer: text })),
  factor: fc.option(fc.constantFrom("device", "sms", "voice", "totp", "recovery")),
  ...{
    requestId: textOrNull,
    pairingId: textOrNull,
    phone: textOrNull,
    newPairingId: textOrNull,
    token: textOrNull,
  },
  numberToMatch: textOrNull,
  passcode: fc.option(fc.record({
    factor: fc.constantFrom("sms", "voice"),
    ...{ digest: text, expiresMs: time, number: text },
  })),
  numbers: fc.array(text, { maxLength: 9 }),
  prompt: fc.option(fc.constantFrom(...(Object.keys(PROMPTS) as (keyof typeof PROMPTS)[]))),
  lastAnswer: fc.option(fc.record({
    state: fc.option(step),
    identifier: fc.integer({ min: 0, max: 255 }),
    eapIdentifier: fc.option(fc.integer({ min: 0, max: 255 })),
    ...{ authenticator: octetText, atMs: time },
  })),
  outcome: fc.option(fc.constantFrom("accepted", "rejected", "expired", "cancelled", "superseded")),
  moments: fc.array(fc.record({ atMs: time, step: text, row: text }), { maxLength: 40 }),
  node: text,
  policy: text,
  peerDigests: fc.array(fc.record({ node: text, digest: text }), { maxLength: 3 }),
  ...{ stored: fc.constant("journal"), answerDigest: fc.constant(null) },
  ...{ interrupted: fc.constant(false), overtaken: fc.constant(false) },
}) as fc.Arbitrary<Conversation>;

Deno.test("decodeRecord() reads every conversation that encodeConversation() wrote", () => {
  fc.assert(fc.property(anyConversation, (one) => {
    assertEquals(decodeRecord(encodeConversation(one), { stored: "journal" }), one);
  }));
});

Deno.test("decodeRecord() returns null for every truncation, and reads records with the fields of another version", () => {
  const passcode = { factor: "sms", digest: "d", expiresMs: 9, number: "+15005550006" } as const;
  const moments = [{ atMs: 1, step: "menu", row: "row" }];
  const fields = { clock, passcode, numbers: ["1"], moments, stored: "journal" } as const;
  const [firstFactorReply, passwordChange] = ["sealed", "sealed, too"];
  const relay = { key: "k", method: "PEAP", outer: "anon" };
  const added = { firstFactorReply, passwordChange, relay };
  const one = conversation("x", { ...fields, policy: "p", token: "t", ...added });
  const octets = encodeConversation(one).slice();
  const read = (end: number) => decodeRecord(octets.subarray(0, end), { stored: "journal" });
  const texts = [firstFactorReply, one.firstFactorServer, passwordChange, ...Object.values(relay)];
  const endOfEarlier = octets.length - texts.reduce((sum, { length }) => sum + 2 + length, 0);
  const without = { firstFactorReply: "", passwordChange: "", relay: null };
  for (let end = 0; end < octets.length; end++) {
    const earlier = end === endOfEarlier ? { ...one, ...without } : null;
    assertEquals(read(end), earlier, `${end} octets`);
  }
  const later = Uint8Array.of(...octets, 0, 3, 97, 98, 99);
  assertEquals(decodeRecord(later, { stored: "journal" }), one);
});

Deno.test("isRecordField() and decodeOrderedId() find the fields of a record inside a larger array", () => {
  fc.assert(fc.property(anyConversation, text, (one, other) => {
    const record = encodeConversation(one);
    const octets = new Uint8Array(record.length + 20);
    octets.set(record, 7);
    const block = { octets, at: 7 };
    assertEquals(decodeOrderedId(block), one.orderedId);
    for (const name of ["orderedId", "tuple", "user"] as const) {
      assert(isRecordField(block, name, one[name]));
      assertEquals(isRecordField(block, name, other), one[name] === other);
    }
  }));
});

// Conversations in the store: parked, recorded, and loaded after a restart.

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
    journal: [{ octets: new TextEncoder().encode("{ broken"), expireInMs: 1000 }],
  });
  const value = new TextEncoder().encode("broken too");
  await at.store.commit({ mutations: [{ type: "set", key: ["conversation", "bad"], value }] });
  await at.store.commit({ mutations: [{ type: "set", key: ["conversation", "odd"], value: 7 }] });
  const { alive, unreadable, conversations } = await at.again();
  assertEquals([alive, unreadable, ids(conversations.newestFirst(9))], [1, 3, ["good"]]);
});

// Conversations of a node whose clock is wrong: this node loads them with the times of its own clock.

const OFFSET_MS = 30_000;

/** All times of a conversation that decide something. */
const timesOf = ({ startedMs, deadlineMs, updatedMs, passcode, lastAnswer }: Conversation) => [
  startedMs,
  deadlineMs,
  updatedMs,
  passcode?.expiresMs,
  lastAnswer?.atMs,
];

Deno.test("load() converts the times of conversations that another node wrote", async () => {
  await using at = await openConversations();
  const nowMs = at.clock.nowMs();
  const made = ["own", "other"].map((node) =>
    at.make(node, {
      node,
      passcode: { factor: "sms", digest: "digest", number: "+15005550010", expiresMs: nowMs + 1 },
      lastAnswer: {
        state: null,
        identifier: 1,
        authenticator: "0123456789abcdef",
        eapIdentifier: null,
        atMs: nowMs + 2,
      },
    })
  );
  const { store, clock } = at;
  for (const one of made) {
    const writer = new ConversationStore({ store, clock, tokenOf, maxConversations: 100, node: one.node });
    const writing = writer.record(one);
    if (!("journal" in writing)) {
      throw new Error("The first record of a conversation is a line of the journal");
    }
    await store.commit({ mutations: [], journal: [writing.journal] });
  }
  const later = new ConversationStore({
    ...{ store, clock, tokenOf },
    maxConversations: 100,
    node: "own",
    clockOffsetMs: (node) => node === "other" ? OFFSET_MS : 0,
  });
  await later.load();
  const [own, other] = made.map(({ orderedId }) => later.byId(orderedId) as Conversation);
  const times = timesOf(made[0] as Conversation);
  assertEquals(timesOf(own as Conversation), times);
  assertEquals(timesOf(other as Conversation), times.map((atMs) => (atMs ?? 0) - OFFSET_MS));
});

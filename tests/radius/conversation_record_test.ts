// The record of a conversation: its encoding, its decoding, and its view in the console.

import { assert, assertEquals } from "@std/assert";
import { toConversationView } from "../../radius/conversation/conversation.ts";
import { decodeRecord, encodeConversation } from "../../radius/conversation/conversation_codec.ts";
import { RECORD_FIELDS } from "../../radius/conversation/text_record.ts";
import { PASSAGES, STEPS } from "../../radius/protocol/steps.ts";
import { createManualClock } from "../upstream/manual_clock.ts";
import { conversation } from "./conversation_sample.ts";
import { textRecord } from "./text_record.ts";

const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const decode = (value: unknown) => decodeRecord(value, { stored: "journal" });

const record = (more: Record<string, unknown>) => {
  const list = JSON.parse(textRecord(conversation("x", { clock: createManualClock() })));
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
  "a record with truncated moments": record({ moments: [1, "start"] }),
  "a record without an id": record({ orderedId: undefined }),
  "a record whose deadline is a text": record({ deadlineMs: "soon" }),
  "a record without moments": record({ moments: undefined }),
  "a record without numbers": record({ numbers: undefined }),
  "a record whose user is an object": record({ user: {} }),
  "a record at an unknown step": record({ at: "NOWHERE" }),
  "a record at a step with the name of an object member": record({ at: "constructor" }),
  "a record that cannot continue": record({ at: "start" }),
  "no octets": { some: "object" },
  "octets that are no UTF-8": Uint8Array.of(0xff, 0xfe),
  "a number where octets belong": 7,
};
Deno.test("decodeRecord() reads a record without a phone's name", () => {
  const list = JSON.parse(record({ phone: "Pixel" }));
  assertEquals(decode(JSON.stringify(list))?.phone, "Pixel");
  assertEquals(decode(JSON.stringify(list.slice(0, -2)))?.phone, null);
});

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
    const back = decode(new TextEncoder().encode(record({ at: name })));
    assertEquals([back?.at, back?.prompt], [name, "menu"]);
  });
}

Deno.test("encodeConversation() has no token and no digest of the password; decodeRecord() returns whether there is a token", () => {
  const clock = createManualClock();
  for (const hasToken of [true, false]) {
    const lastAnswer = { state: null, identifier: 7, authenticator: "auth", atMs: 1 };
    const one = conversation("x", {
      clock,
      hasToken,
      lastAnswer,
      stored: "journal",
      answerDigest: "a digest",
    });
    for (const record of [encodeConversation(one), textRecord(one)]) {
      const text = typeof record === "string" ? record : new TextDecoder().decode(record);
      assert(!text.includes("token of") && !text.includes("a digest"), text);
      assertEquals(decode(record), { ...one, answerDigest: null });
    }
  }
});

/** A record of version 0.1: with digests of the password, and without an identifier. */
function recordOf01(): string {
  const list = JSON.parse(record({ lastAnswer: ["CHOOSE_WHICH_MULTIFACTOR", "other digest", "auth", 5] }));
  list[11] = "digest of the password";
  return JSON.stringify(list.slice(0, -1));
}

Deno.test("decodeRecord() reads a record of version 0.1 and drops the digests of the password", () => {
  const back = decode(recordOf01());
  assertEquals(back?.lastAnswer, { state: MENU, identifier: null, authenticator: "auth", atMs: 5 });
  assertEquals([back?.signed, back?.at, back?.answerDigest], [false, MENU, null]);
  assert(!JSON.stringify(back).includes("digest of"), JSON.stringify(back));
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
    lastAnswer: { state: null, identifier: 1, authenticator: "planted-auth", atMs: 1 },
  });
  const seen = JSON.stringify(toConversationView(planted, { target: "default" }));
  assert(!seen.includes("planted"), seen);
});

// The record of a conversation: its encoding, its decoding, and its view in the console.

import { assert, assertEquals } from "@std/assert";
import { type Conversation, toConversationView } from "../../radius/conversation/conversation.ts";
import { decodeRecord, encodeConversation } from "../../radius/conversation/conversation_codec.ts";
import { PASSAGES, STEPS } from "../../radius/protocol/steps.ts";
import { createManualClock } from "../upstream/manual_clock.ts";
import { conversation } from "./conversation_sample.ts";

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
    const lastAnswer = { state: null, identifier: 7, authenticator: "auth", atMs: 1 };
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
    lastAnswer: { state: null, identifier: 1, authenticator: "planted-auth", atMs: 1 },
  });
  const seen = JSON.stringify(toConversationView(planted, { target: "default" }));
  assert(!seen.includes("planted"), seen);
});

// The stored form of a conversation: any conversation is read as it was written, and damaged octets are refused.

import { assert, assertEquals } from "@std/assert";
import fc from "../packages/fast_check.ts";
import type { Conversation } from "../../radius/conversation/conversation.ts";
import {
  decodeOrderedId,
  decodeRecord,
  encodeConversation,
  isRecordField,
} from "../../radius/conversation/conversation_codec.ts";
import { PROMPTS } from "../../radius/flow/prompts.ts";
import { STEPS } from "../../radius/protocol/steps.ts";
import { createManualClock } from "../upstream/manual_clock.ts";
import { conversation } from "./conversation_sample.ts";

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
  ...{ updatedMs: time, firstFactorRight: fc.boolean() },
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
    identifier: fc.option(fc.integer({ min: 0, max: 255 })),
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

Deno.test("decodeRecord() returns null for every truncation, and ignores fields of a later version", () => {
  const passcode = { factor: "sms", digest: "d", expiresMs: 9, number: "+15005550006" } as const;
  const moments = [{ atMs: 1, step: "menu", row: "row" }];
  const fields = { clock, passcode, numbers: ["1"], moments, stored: "journal" } as const;
  const one = conversation("x", { ...fields, policy: "p", token: "t" });
  const octets = encodeConversation(one).slice();
  const read = (end: number) => decodeRecord(octets.subarray(0, end), { stored: "journal" });
  for (let end = 0; end < octets.length; end++) {
    assertEquals(read(end), null, `${end} octets`);
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

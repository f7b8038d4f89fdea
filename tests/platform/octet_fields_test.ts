// Fields as octets: whatever is written is read, and damaged octets are refused.

import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "../packages/fast_check.ts";
import {
  decodeUtf8,
  FieldReader,
  FieldsEndError,
  FieldWriter,
  hashText,
  isTextAt,
} from "../../platform/octet_fields.ts";

const MAX_TIME_MS = 2 ** 48 - 1;

/** One field with its value. */
const field = fc.oneof(
  fc.record({ kind: fc.constant("small"), value: fc.integer({ min: 0, max: 255 }) }),
  fc.record({ kind: fc.constant("count"), value: fc.integer({ min: 0, max: 65_535 }) }),
  fc.record({ kind: fc.constant("timeMs"), value: fc.integer({ min: 0, max: MAX_TIME_MS }) }),
  fc.record({ kind: fc.constant("text"), value: fc.string({ unit: "grapheme", maxLength: 300 }) }),
  fc.record({ kind: fc.constant("textOrNull"), value: fc.option(fc.string({ unit: "binary" })) }),
  fc.record({
    kind: fc.constant("octetString"),
    value: fc.uint8Array({ maxLength: 300 }).map((one) => Uint8Array.from(one)),
  }),
  fc.record({
    kind: fc.constant("octetText"),
    value: fc.uint8Array({ maxLength: 40 }).map((octets) => String.fromCharCode(...octets)),
  }),
) as fc.Arbitrary<
  { kind: "small" | "count" | "timeMs" | "text" | "textOrNull" | "octetString" | "octetText"; value: never }
>;

Deno.test("FieldReader reads every sequence of fields that FieldWriter wrote", () => {
  const writer = new FieldWriter();
  fc.assert(fc.property(fc.array(field, { maxLength: 30 }), (fields) => {
    writer.begin();
    for (const { kind, value } of fields) writer[kind](value);
    const reader = new FieldReader(writer.view());
    for (const { kind, value } of fields) assertEquals<unknown>(reader[kind](), value);
    assertThrows(() => reader.small(), FieldsEndError);
  }));
});

Deno.test("FieldReader refuses every truncation, and never reads beyond its part of the array", () => {
  const writer = new FieldWriter();
  writer.text("ada");
  writer.timeMs(1);
  writer.octetText("ÿ");
  const whole = writer.view().slice();
  for (let end = 0; end < whole.length; end++) {
    const reader = new FieldReader(whole, 0, end);
    assertThrows(
      () => [reader.text(), reader.timeMs(), reader.octetText()],
      FieldsEndError,
      undefined,
      `${end}`,
    );
  }
});

Deno.test("FieldWriter refuses values that a field cannot hold", () => {
  const writer = new FieldWriter();
  for (const time of [-1, 2 ** 48, Number.NaN, Number.POSITIVE_INFINITY]) {
    assertThrows(() => writer.timeMs(time), RangeError, "as a time");
  }
  assertThrows(() => writer.text("x".repeat(65_535)), RangeError, "65,534");
  assertThrows(() => writer.octetText("Ā"), RangeError, "U+00FF");
  assertThrows(() => writer.octetString(new Uint8Array(65_536)), RangeError, "65,535");
});

Deno.test("FieldWriter copyTo() writes the octets of view() at a position", () => {
  const writer = new FieldWriter();
  writer.text("é");
  const target = new Uint8Array(8);
  writer.copyTo(target, 3);
  assertEquals(target.subarray(3, 7), writer.view());
});

Deno.test("isTextAt() is true for exactly the text whose UTF-8 is there", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 12 });
  fc.assert(fc.property(text, text, (stored, wanted) => {
    const octets = new TextEncoder().encode(`<<${stored}>>`);
    const place = { at: 2, lengthOctets: octets.length - 4 };
    // A lone surrogate is stored as U+FFFD.
    assertEquals(isTextAt(octets, place, wanted), stored.toWellFormed() === wanted);
    assert(isTextAt(octets, place, stored.toWellFormed()));
  }));
});

Deno.test("hashText() is equal for equal texts, also if they were composed, and depends on the seed", () => {
  const half = "abc".repeat(10);
  assertEquals(hashText(half + half, 7), hashText("abc".repeat(20), 7));
  assert(hashText(half, 7) !== hashText(half, 8));
});

Deno.test("decodeUtf8() gives the same text as a decoder, also for octets that share the place of a text that was decoded before", () => {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  for (let pair = 0; pair <= 0xffff; pair++) {
    const octets = Uint8Array.of(pair >> 8, pair);
    const [first, again] = [decodeUtf8(octets, 0, 2), decodeUtf8(octets, 0, 2)];
    if (first !== decoder.decode(octets) || again !== first) throw new Error(`${octets} became "${again}"`);
  }
});

// Keys of the value index: their order is that of the values, and the ranges of a comparison have exactly the keys of the values that match.

import { assertEquals } from "@std/assert";
import fc from "../../../packages/fast_check.ts";
import { compareText } from "../../../../scim/directory/keys.ts";
import { indexText, markedText, NO_VALUE } from "../../../../scim/directory/value_keys.ts";
import type { KeyRange } from "../../../../scim/index_port.ts";
import {
  complementRanges,
  intersectRanges,
  type KeyRanges,
  nameRanges,
  uniteRanges,
  valueRanges,
} from "../../../../scim/v2/query/key_ranges.ts";

const RARE = [
  "\0",
  "\u0001",
  "\u0002",
  "a",
  "b",
  "ﬀ",
  "😀",
  "\uffff",
  "\u{10fffb}",
  "\u{10fffc}",
  "\u{10fffd}",
  "\u{10fffe}",
  "\u{10ffff}",
];
const text = fc.array(fc.constantFrom(...RARE), { maxLength: 4 }).map((parts) => parts.join(""));
const plain = fc.array(fc.constantFrom("a", "b", "ﬀ", "😀"), { maxLength: 3 }).map((parts) => parts.join(""));
const has = (ranges: KeyRanges, key: string): boolean =>
  ranges.some(({ from, to }) => compareText(from, key) <= 0 && compareText(key, to) < 0);

/** What each operator means for two texts. */
const MEANINGS = {
  eq: (actual: string, wanted: string) => actual === wanted,
  ne: (actual: string, wanted: string) => actual !== wanted,
  sw: (actual: string, wanted: string) => actual.startsWith(wanted),
  gt: (actual: string, wanted: string) => compareText(actual, wanted) > 0,
  ge: (actual: string, wanted: string) => compareText(actual, wanted) >= 0,
  lt: (actual: string, wanted: string) => compareText(actual, wanted) < 0,
  le: (actual: string, wanted: string) => compareText(actual, wanted) <= 0,
} as const;

for (const [operator, matches] of Object.entries(MEANINGS)) {
  Deno.test(`valueRanges() and nameRanges() of ${operator} have the keys of the values that match`, () => {
    const isOperator = operator as keyof typeof MEANINGS;
    fc.assert(
      fc.property(text, text, plain, (actual, wanted, name) => {
        const ranges = valueRanges(isOperator, indexText(wanted).text) ?? [];
        assertEquals(has(ranges, `${indexText(actual).text}\0${name}`), matches(actual, wanted));
        assertEquals(has(ranges, `${NO_VALUE}\0${name}`), operator === "ne");
      }),
      { numRuns: 2000 },
    );
    fc.assert(
      fc.property(plain, plain, (actual, wanted) => {
        assertEquals(has(nameRanges(isOperator, wanted) ?? [], actual), matches(actual, wanted));
      }),
      { numRuns: 500 },
    );
  });
}

Deno.test("valueRanges() and nameRanges() leave co and ew to a comparison", () => {
  for (const operator of ["co", "ew"] as const) {
    assertEquals([valueRanges(operator, "a"), nameRanges(operator, "a")], [null, null]);
  }
});

Deno.test("indexText() cuts long texts and texts that are not well formed, and keeps whole characters", () => {
  const long = "x".repeat(200);
  assertEquals(indexText(long), { text: long, isCut: false });
  assertEquals(indexText(`${long}y`), { text: long, isCut: true });
  assertEquals(indexText(`${"x".repeat(199)}😀`), { text: "x".repeat(199), isCut: true });
  assertEquals(indexText("a\ud800b"), { text: "a", isCut: true });
  assertEquals(markedText(indexText("a\ud800b")), "a\u{10fffd}");
  assertEquals(indexText("\0").text, "\u0001\u0001");
});

const range = fc.tuple(plain, plain).map(([a, b]): KeyRange =>
  compareText(a, b) <= 0 ? { from: a, to: b } : { from: b, to: a }
);
const ranges = fc.array(range, { maxLength: 4 }).map((all) =>
  uniteRanges(all.filter(({ from, to }) => from !== to), [])
);

Deno.test("ranges are a Boolean algebra of keys", () => {
  fc.assert(
    fc.property(ranges, ranges, plain, (one, other, key) => {
      assertEquals(has(intersectRanges(one, other), key), has(one, key) && has(other, key));
      assertEquals(has(uniteRanges(one, other), key), has(one, key) || has(other, key));
      assertEquals(has(complementRanges(one), key), !has(one, key));
    }),
    { numRuns: 2000 },
  );
});

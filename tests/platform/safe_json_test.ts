// Parsing of JSON from outside, with limits.

import { assert, assertEquals } from "@std/assert";
import { asRecord, type JsonFlaw, parseBoundedJson } from "../../platform/safe_json.ts";
import fc from "../packages/fast_check.ts";

const BOUNDS = { maxDepth: 32, maxValues: 1000 };
const utf8 = new TextEncoder();
const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
const many = (values: number) => `[${new Array(values - 1).fill("0").join(",")}]`;

const FLAWS: readonly (readonly [why: string, flaw: JsonFlaw | null, source: string | Uint8Array])[] = [
  ["32 levels", null, nested(32)],
  ["33 levels", "too_deep", nested(33)],
  ["5,000,000 brackets", "too_deep", "[".repeat(5_000_000)],
  ["100,000 objects inside each other", "too_deep", '{"a":'.repeat(100_000)],
  ["1,000 values", null, many(1000)],
  ["1,001 values", "too_many_values", many(1001)],
  ["a thousand commas", "too_many_values", `{${",".repeat(1000)}`],
  [
    "brackets and commas inside strings",
    null,
    JSON.stringify({ a: "[,".repeat(600), b: '\\"[[{{', "[[[": 1 }),
  ],
  ["escaped quotes and backslashes", null, '{"a":"\\"[","b":"\\\\"}'],
  ["nothing", "not_json", ""],
  ["half an object", "not_json", "{"],
  ["a word", "not_json", "nope"],
  ["text after the value", "not_json", '{"a":1}x'],
  ["an open string", "not_json", '{"a":"'],
  ["an open escape", "not_json", '{"a":"\\'],
  ["a byte order mark in a text", "not_json", "\ufeff{}"],
  ["a byte order mark in octets", null, utf8.encode("\ufeff{}")],
  ["an octet that no UTF-8 has", "not_utf8", Uint8Array.of(0x7b, 0xff, 0x7d)],
  ["a surrogate in UTF-8", "not_utf8", Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22)],
  ["UTF-16", "not_utf8", Uint8Array.of(0xff, 0xfe, 0x7b, 0x00)],
];

for (const [why, flaw, source] of FLAWS) {
  Deno.test(`parseBoundedJson() ${flaw === null ? "accepts" : "refuses"} ${why}`, () => {
    const parsed = parseBoundedJson(source, BOUNDS);
    assertEquals(parsed.ok ? null : parsed.flaw, flaw);
  });
}

Deno.test("parseBoundedJson() refuses an object of over 1,000 names, and counts each object alone", () => {
  const members = (count: number) =>
    Array.from({ length: count }, (_, at) => `"n${at}":{"a":1,"b":2}`).join(",");
  const flawOf = (text: string) => {
    const parsed = parseBoundedJson(text, { maxDepth: 32, uniqueNames: "exact" });
    return parsed.ok ? null : parsed.flaw;
  };
  assertEquals(flawOf(`[{${members(1000)}},{${members(1000)}}]`), null);
  assertEquals(flawOf(`{"a":{${members(1000)}},${members(999)}}`), null);
  assertEquals(flawOf(`{"a":{${members(1000)}},${members(1000)}}`), "too_many_names");
  assertEquals(flawOf(`[{},{${members(1001)}}]`), "too_many_names");
  assertEquals(flawOf("}:".repeat(100_000)), "not_json");
});

Deno.test("parseBoundedJson() returns the same as JSON.parse for any value, from a text and from octets", () => {
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
    const text = JSON.stringify(value);
    const expected = { ok: true, value: JSON.parse(text) } as const;
    assertEquals(parseBoundedJson(text, { maxDepth: 32 }), expected);
    assertEquals(parseBoundedJson(utf8.encode(text), { maxDepth: 32 }), expected);
  }));
});

Deno.test("parseBoundedJson() never throws, for any octets", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (octets) => {
    const parsed = parseBoundedJson(octets, BOUNDS);
    assert(parsed.ok || parsed.flaw !== "too_many_values");
  }));
});

Deno.test("parseBoundedJson() does not change an object's prototype when a name is __proto__", () => {
  const parsed = parseBoundedJson('{"__proto__":{"active":false}}', BOUNDS);
  const value: object = parsed.ok ? Object(parsed.value) : {};
  assertEquals(Object.keys(value), ["__proto__"]);
  assertEquals("active" in value, false);
  assertEquals(Object.getPrototypeOf(value), Object.prototype);
});

Deno.test("asRecord() reads own members only", () => {
  const record = asRecord(JSON.parse('{"__proto__":{"granted":true},"id":"x"}'));
  assertEquals(record?.member("granted"), undefined);
  assertEquals(record?.member("toString"), undefined);
  assertEquals(record?.member("id"), "x");
});

Deno.test("asRecord() is null for everything except an object", () => {
  for (const value of [null, undefined, [], "x", 1, true]) assertEquals(asRecord(value), null);
});

/** The name that an object has twice, compared exactly and without case. */
const NAMES: readonly (readonly [source: string, exact: string | null, anyCase: string | null])[] = [
  ['{"a":1,"b":{"a":2},"c":[{"a":1},{"a":2}]}', null, null],
  ['{"a":1,"b":"a","c":"x\\"a\\":","d":{},"e":[],"f":null}', null, null],
  ['{"a":":","b":{"c":[{"d":1},[{"d":1}]]},"__proto__":{"a":1}}', null, null],
  ['{"a":1,"a":2}', "a", "a"],
  ['{"a":1,"A":2}', null, "A"],
  ['{"a":1,"\\u0061" \n :2}', "a", "a"],
  ['{"x":[{"y":{"a":1,"b":{},"a":2}}]}', "a", "a"],
  ['{"x":{"y":{"z":1}},"x":{}}', "x", "x"],
  ['{"__proto__":1,"__proto__":2}', "__proto__", "__proto__"],
  ['{"":1,"":2}', "", ""],
];

Deno.test("parseBoundedJson() refuses the same name twice in an object, if the caller wants it", () => {
  for (const [source, exact, anyCase] of NAMES) {
    for (const [uniqueNames, expected] of [["exact", exact], ["anyCase", anyCase]] as const) {
      const strict = parseBoundedJson(source, { ...BOUNDS, uniqueNames });
      assertEquals(
        strict.ok ? null : [strict.flaw, strict.name],
        expected === null ? null : ["repeated_name", expected],
        source,
      );
    }
    assert(parseBoundedJson(source, BOUNDS).ok);
  }
});

// The limits of a JSON body: size, depth, number of members and values, and refused forms.

import { assert, assertEquals } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import type { JsonValue } from "../../../scim/schema/resource.ts";
import { MAX_JSON_DEPTH, MAX_JSON_VALUES, parseJsonObject } from "../../../scim/schema/json_limits.ts";
import { taken } from "./bodies.ts";

const utf8 = new TextEncoder();
const parse = (text: string) => parseJsonObject(utf8.encode(text));
const nested = (depth: number) => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
const many = (values: number) => `{"a":[${new Array(values - 2).fill("0").join(",")}]}`;

const REFUSED: readonly (readonly [text: string, problem: string, why: string])[] = [
  ["", "The body is not JSON.", "nothing"],
  ["{", "The body is not JSON.", "half an object"],
  ["{} {}", "The body is not JSON.", "two objects"],
  ["{'a':1}", "The body is not JSON.", "single quotes"],
  ['{"a":1,}', "The body is not JSON.", "a comma too many"],
  ['{"a":NaN}', "The body is not JSON.", "NaN"],
  ['{"a":"\n"}', "The body is not JSON.", "a line break in a text"],
  ['{"a":"', "The body is not JSON.", "an open text"],
  ['{"a":"\\', "The body is not JSON.", "an open escape"],
  ['{"a":1,"a":2}', "The body has an object with the same name twice: a.", "a name twice"],
  [
    '{"a":[{"b c":1,"b c":1}]}',
    "The body has an object with the same name twice: ….",
    "a text as a name, twice",
  ],
  ["[]", "The body is JSON, but not an object.", "an array"],
  ["null", "The body is JSON, but not an object.", "null"],
  ['"x"', "The body is JSON, but not an object.", "a text"],
  [nested(MAX_JSON_DEPTH + 1), "The body is nested over 32 levels deep.", "33 levels"],
  ["[".repeat(5_000_000), "The body is nested over 32 levels deep.", "5,000,000 brackets"],
  ['{"a":'.repeat(100_000), "The body is nested over 32 levels deep.", "100,000 objects in one another"],
  [many(MAX_JSON_VALUES + 1), "The body has over 200000 values.", "200,001 values"],
  [`{${",".repeat(MAX_JSON_VALUES)}`, "The body has over 200000 values.", "200,000 commas"],
];

for (const [text, problem, why] of REFUSED) {
  Deno.test(`parseJsonObject() refuses ${why}`, () => assertEquals(parse(text), { ok: false, problem }));
}

Deno.test("parseJsonObject() refuses octets that are not UTF-8", () => {
  for (const octets of [[0x7b, 0xff, 0x7d], [0x22, 0xed, 0xa0, 0x80, 0x22], [0xff, 0xfe, 0x7b, 0x00]]) {
    assertEquals(parseJsonObject(Uint8Array.from(octets)), { ok: false, problem: "The body is not UTF-8." });
  }
});

const TAKEN: readonly (readonly [text: string, value: Record<string, JsonValue>, why: string])[] = [
  ["{}", {}, "an empty object"],
  ["\ufeff{}", {}, "a byte order mark"],
  ['{"a":"[[[[{{{{,,,,"}', { a: "[[[[{{{{,,,," }, "brackets inside of a text"],
  ['{"a":"\\"[","b":"\\\\"}', { a: '"[', b: "\\" }, "escaped quotes and backslashes"],
  [
    '{"a":1e400,"b":123456789012345678901234567890}',
    { a: Infinity, b: 123456789012345678901234567890 },
    "huge numbers",
  ],
  ['{"a":"\\ud800"}', { a: "\ud800" }, "an escaped lone surrogate"],
];

for (const [text, value, why] of TAKEN) {
  Deno.test(`parseJsonObject() accepts ${why}`, () => assertEquals(parse(text), { ok: true, value }));
}

Deno.test("parseJsonObject() accepts 32 levels and 50,000 values", () => {
  assert(parse(nested(MAX_JSON_DEPTH)).ok);
  assert(parse(many(MAX_JSON_VALUES)).ok);
});

Deno.test("parseJsonObject() does not change an object's prototype when a name is __proto__", () => {
  const read = taken(parse('{"__proto__":{"active":false},"a":{"__proto__":{"b":1}}}'));
  assertEquals(read.value["active"], undefined);
  assertEquals(Object.getPrototypeOf(read.value), Object.prototype);
});

Deno.test("parseJsonObject() returns the same as JSON.parse for any small object", () => {
  fc.assert(fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 6 })), (value) => {
    const text = JSON.stringify(value);
    const read = taken(parse(text));
    assertEquals(JSON.stringify(read.value), text);
  }));
});

Deno.test("parseJsonObject() never throws, for any octets", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (octets) => {
    const read = parseJsonObject(octets);
    assert(read.ok || read.problem !== "");
  }));
});

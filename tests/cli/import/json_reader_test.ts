// JSON split into resources: arrays, ListResponses, lines; and other texts.

import { assertEquals } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import { type JsonPiece, JsonReader } from "../../../scim/transfer/row_reader.ts";

function read(text: string, size: number): JsonPiece[] {
  const reader = new JsonReader();
  const pieces: JsonPiece[] = [];
  for (let at = 0; at < text.length; at += size) pieces.push(...reader.push(text.slice(at, at + size)));
  return [...pieces, ...reader.end()];
}

const LIST =
  '{"schemas":["urn:x"],"totalResults":2,\n"Resources":[{"a":1},\n{"b":[{}]}],"z":{"Resources":3},"y":"]"}';
/** Text, and its parts as [line, text] or [line, "!" + problem]. */
const TEXTS: readonly (readonly [string, string, readonly (readonly [number, string])[]])[] = [
  ["an array", '[{"a":1},\n{"b":"]}\\"{"}\n]\n', [[1, '{"a":1}'], [2, '{"b":"]}\\"{"}']]],
  ["one object a line", '{"a":1}\n\n{"b":{"c":[2]}}\n', [[1, '{"a":1}'], [3, '{"b":{"c":[2]}}']]],
  ["one object over several lines", '{\n"a":\n1}', [[1, '{\n"a":\n1}']]],
  ["a ListResponse", LIST, [[2, '{"a":1}'], [3, '{"b":[{}]}']]],
  ["a ListResponse without resources", '{"Resources":[],"totalResults":0}', []],
  ["an object that only mentions Resources", '{"a":["Resources"],"b":[1]}', [[
    1,
    '{"a":["Resources"],"b":[1]}',
  ]]],
  ["nothing", " \n", []],
  ["no JSON", "userName\nanna\n", [[1, "!expected a JSON object here"]]],
  ["a text", '"anna"', [[1, "!expected a JSON object here"]]],
  ["an array of arrays", '[{"a":1},\n[1]]', [[1, '{"a":1}'], [
    2,
    "!expected a JSON object here",
  ]]],
  ["a resource that is cut off", '[{"a":1},\n{"b":', [
    [1, '{"a":1}'],
    [2, "!the file ends before this object or list is complete"],
  ]],
  ["an array that is cut off", '[{"a":1}\n', [[1, '{"a":1}'], [
    2,
    "!the file ends before this object or list is complete",
  ]]],
];

for (const [what, text, expected] of TEXTS) {
  Deno.test(`new JsonReader() reads ${what}, in parts of any size`, () => {
    for (const size of [1, 2, 7, 1000]) {
      const found = read(text, size).map((one) => [one.line, one.ok ? one.text : `!${one.problem}`]);
      assertEquals(found, expected.map((one) => [...one]), `pieces of ${size}`);
    }
  });
}

Deno.test("new JsonReader() gives up a resource of over 1 MiB", () => {
  const found = read(`[{"a":1},{"b":"${"x".repeat(1_100_000)}"},{"c":1}]`, 65_536);
  assertEquals(found.map(({ ok }) => ok), [true, false]);
});

Deno.test("new JsonReader() finds all objects, however they are written", () => {
  const objects = fc.array(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), { maxLength: 5 });
  fc.assert(fc.property(objects, fc.integer({ min: 1, max: 50 }), (given, size) => {
    const written = [
      JSON.stringify(given),
      JSON.stringify(given, null, 1),
      given.map((one) => JSON.stringify(one)).join("\n"),
    ];
    // The name that makes a top-level object a ListResponse.
    fc.pre(!given.some((one) => Object.keys(one).some((name) => name.toLowerCase() === "resources")));
    for (const text of written) {
      const found = read(text, size).map((piece) => piece.ok ? JSON.parse(piece.text) : piece.problem);
      assertEquals(found, JSON.parse(JSON.stringify(given)));
    }
  }));
});

// Which texts are valid names of resources.

import { assert, assertEquals } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import { distinctNames, nameFromPath, parseName } from "../../../scim/schema/resource_name.ts";
import { refused } from "./bodies.ts";

const TAKEN: readonly (readonly [given: string, name: string, why: string])[] = [
  ["anna", "anna", "a plain name"],
  ["Anna", "Anna", "case is kept"],
  ["a", "a", "one character"],
  ["a.b", "a.b", "dots within"],
  ["Sales/EMEA", "Sales/EMEA", "a slash"],
  ["/", "/", "a slash alone"],
  ["a//b.c/.d", "a//b.c/.d", "slashes beside dots that are no step"],
  ["...", "...", "three dots are no step"],
  ["anna@example.com", "anna@example.com", "an address"],
  ["DOMAIN\\anna", "DOMAIN\\anna", "a backslash"],
  ["Anna Müller", "Anna Müller", "a blank and an umlaut"],
  ["Mu\u0308ller", "M\u00fcller", "decomposed comes out composed"],
  ["名前", "名前", "another script"],
  ["=cmd|' /C calc'!A0".replace("/", ""), "=cmd|' C calc'!A0", "what a spreadsheet takes for a formula"],
  ["x".repeat(256), "x".repeat(256), "256 characters"],
  ["😀".repeat(256), "😀".repeat(256), "256 characters of two units each"],
  ["__proto__", "__proto__", "a name of the language"],
];

const REFUSED: readonly (readonly [given: string, why: string])[] = [
  ["", "nothing"],
  [".", "a step of a path"],
  ["..", "a step of a path upwards"],
  ["../../etc/passwd", "steps upwards"],
  ["a/..", "a step upwards at the end"],
  ["a/./b", "a step beside slashes"],
  ["x".repeat(257), "257 characters"],
  ["x".repeat(1_000_000), "a million characters"],
  ["a\u0000b", "NUL"],
  ["a\r\nb", "a line break"],
  ["a\u007f", "delete"],
  ["a\u0085", "a control character above ASCII"],
  ["a\u2028b", "a line separator"],
  ["a\u2029b", "a paragraph separator"],
  ["a\u202eb", "a right-to-left override"],
  ["a\u2066b", "an isolate"],
  ["a\ud800", "half a character"],
];

for (const [given, name, why] of TAKEN) {
  Deno.test(`parseName() accepts ${why}`, () => assertEquals(parseName(given), { ok: true, name }));
}
for (const [given, why] of REFUSED) {
  Deno.test(`parseName() refuses ${why}`, () => {
    const read = refused(parseName(given));
    assert(read.problem.startsWith("a name "), read.problem);
  });
}

const SEGMENTS: readonly (readonly [segment: string, name: string | null, why: string])[] = [
  ["anna", "anna", "as it is"],
  ["Anna%20M%C3%BCller", "Anna Müller", "percent-encoded UTF-8"],
  ["anna+x", "anna+x", "a plus, which is no blank in a path"],
  ["100%25", "100%", "an encoded percent sign"],
  ["%2561nna", "%61nna", "decoded once only"],
  ["Sales%2FEMEA", "Sales/EMEA", "an encoded slash"],
  ["Sales%2fEMEA", "Sales/EMEA", "a slash in small letters"],
  ["..%2F..", null, "an encoded step upwards beside a slash"],
  ["%2e%2e", null, "an encoded step upwards"],
  ["a%00", null, "an encoded NUL"],
  ["%zz", null, "no hexadecimal"],
  ["%", null, "a lone percent sign"],
  ["%ff", null, "no UTF-8"],
  ["%ed%a0%80", null, "an encoded surrogate"],
];

for (const [segment, name, why] of SEGMENTS) {
  Deno.test(`nameFromPath() ${name === null ? "refuses" : "reads"} ${why}`, () => {
    const read = nameFromPath(segment);
    assertEquals(read.ok ? read.name : null, name);
  });
}

Deno.test("parseName() returns its own results unchanged, for any text", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    const read = parseName(text);
    if (read.ok) assertEquals(parseName(read.name), read);
  }));
});

Deno.test("distinctNames() keeps the first spelling of each name, in order", () => {
  assertEquals(distinctNames(["Anna", "bob", "ANNA", "M\u00fcller", "MU\u0308LLER"]), [
    "Anna",
    "bob",
    "M\u00fcller",
  ]);
});

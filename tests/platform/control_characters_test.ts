// Control and format characters of foreign text are always escaped; all outputs share one set.

import { assertEquals } from "@std/assert";
import {
  blankControlCharacters,
  escapeControlCharacters,
  escapeLines,
  hasControlCharacters,
} from "../../platform/control_characters.ts";
import { printFaults } from "../../cli/check_config.ts";
import { printable as printableAnswer } from "../../cli/format_result.ts";
import { foreignDetail } from "../../scim/backends/backend_error.ts";

/** By their escaped form. */
const CONTROLS: Readonly<Record<string, string>> = {
  "\\u001b": "\u001b",
  "\\u007f": "\u007f",
  "\\u009b": "\u009b",
  "\\u00ad": "\u00ad",
  "\\u200e": "\u200e",
  "\\u2028": "\u2028",
  "\\u202e": "\u202e",
  "\\u2066": "\u2066",
  "\\ufeff": "\ufeff",
  "\\ud800": "\ud800",
  "\\udb40\\udc41": "\u{e0041}",
};

for (const [shown, character] of Object.entries(CONTROLS)) {
  Deno.test(`the control character ${shown} is shown by every output and refused by inputs`, () => {
    const text = `a${character}b`;
    const expected = `a${shown}b`;
    assertEquals(hasControlCharacters(text), true);
    assertEquals(escapeControlCharacters(text), expected);
    assertEquals(escapeLines(`${text}\n`), `${expected}\n`);
    assertEquals(printableAnswer(text), expected);
    assertEquals(printFaults([{ key: text, problem: "x" }]).includes(`${expected}: x`), true);
    assertEquals([blankControlCharacters(text), foreignDetail(text)], ["a b", "a b"]);
    assertEquals(JSON.parse(`"${expected}"`), text);
  });
}

Deno.test("text without control characters is unchanged, also astral letters and emoji", () => {
  const text = 'Ærø 𝒜 📱 \\ "';
  assertEquals(hasControlCharacters(text), false);
  assertEquals([escapeControlCharacters(text), escapeLines(text), blankControlCharacters(text)], [
    text,
    text,
    text,
  ]);
});

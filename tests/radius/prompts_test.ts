// Prompts: the inserted values, and the division of a text into Reply-Messages.

import { assert, assertEquals } from "@std/assert";
import fc from "../packages/fast_check.ts";
import { type Factor, menuOf } from "../../radius/flow/context.ts";
import {
  type Prompt,
  type PromptContext,
  PROMPTS,
  renderPrompt,
  splitReplyMessage,
} from "../../radius/flow/prompts.ts";

const ALL: ReadonlySet<Factor> = new Set<Factor>(["device", "sms", "voice", "totp"]);
const NAMES = Object.keys(PROMPTS) as Prompt[];
const FULL: PromptContext = {
  menu: ALL,
  numberToMatch: "42",
  numbers: Array.from({ length: 9 }, (_, i) => `+12345678901234${i}`),
};
const PLAIN: PromptContext = { menu: ALL, numberToMatch: null, numbers: [] };

for (const name of NAMES) {
  Deno.test(`renderPrompt() leaves no brace in "${name}", and explains how to start over unless it is final`, () => {
    for (const context of [PLAIN, FULL, PLAIN]) {
      const text = renderPrompt(name, context);
      assert(text !== "" && !/[{}]/.test(text), text);
      const row: { readonly text: string; readonly final?: true } = PROMPTS[name];
      assertEquals(text.endsWith("Type cancel to start over. "), row.final !== true, text);
      for (const part of splitReplyMessage(text)) assert(part.length <= 253);
    }
  });
}

Deno.test("renderPrompt() lists the factors that are enabled, by their letters", () => {
  const lettersOf = (...factors: Factor[]) =>
    renderPrompt("menu", { ...PLAIN, menu: menuOf(new Set(factors)) }).split("\n").slice(1, -1)
      .map((line) => line[0]).join("");
  assertEquals(lettersOf("device", "sms", "voice", "totp"), "STPD");
  assertEquals(lettersOf("sms"), "T");
  // A paired device may generate passcodes, so D is listed for it too.
  assertEquals(lettersOf("device"), "SD");
  assertEquals(lettersOf("device", "sms", "voice", "totp"), "STPD");
});

Deno.test("renderPrompt() shows the number to match if there is one, and does not mention it otherwise", () => {
  const without = renderPrompt("approve_on_device", PLAIN);
  const withOne = renderPrompt("approve_on_device", { ...PLAIN, numberToMatch: "07" });
  assert(withOne.includes(" with the number 07,"), withOne);
  assertEquals(renderPrompt("approve_on_device", PLAIN), without);
  assert(!/[0-9]/.test(without));
});

Deno.test("renderPrompt() shows masked numbers, each with its line number", () => {
  const text = renderPrompt("which_sms_number", FULL);
  for (const [at, number] of FULL.numbers.entries()) {
    assert(text.includes(`\n${at + 1}: ${number.slice(0, 2)}`), text);
    assert(!text.includes(number), text);
  }
});

Deno.test("renderPrompt() inserts values as they are, not as a pattern", () => {
  const text = renderPrompt("approve_on_device", { ...PLAIN, numberToMatch: "$& $' {menu}" });
  assert(text.includes("$& $' {menu}"), text);
});

const CUTS: readonly (readonly [string, string, number[]])[] = [
  ["nothing of an empty text", "", []],
  ["one of 253 octets", "x".repeat(253), [253]],
  ["two of 254 octets", "x".repeat(254), [253, 1]],
  ["two at the last line break", `${"x".repeat(200)}\n${"y".repeat(200)}`, [201, 200]],
  ["two at a line break that just fits", `${"x".repeat(252)}\n${"y".repeat(10)}`, [253, 10]],
  ["a part up to an early line break, not up to the middle of a line", `a\n${"x".repeat(300)}`, [2, 253, 47]],
  ["between characters of two octets", "é".repeat(127), [252, 2]],
  ["between characters of four octets", "😀".repeat(64), [252, 4]],
];
for (const [what, text, sizes] of CUTS) {
  Deno.test(`splitReplyMessage() makes ${what}`, () => {
    assertEquals(splitReplyMessage(text).map(({ length }) => length), sizes);
  });
}

Deno.test("splitReplyMessage() loses nothing, splits no character, and each part has 1 to 253 octets", () => {
  const texts = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 400 }),
    fc.string({ unit: fc.constantFrom("a", "é", "漢", "😀", "\n"), maxLength: 700 }),
  );
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  fc.assert(fc.property(texts, (text) => {
    const parts = splitReplyMessage(text);
    assert(parts.every(({ length }) => length >= 1 && length <= 253));
    assertEquals(parts.map((part) => strict.decode(part)).join(""), text);
  }));
});

// Parsing of typed codes and of passwords in append mode.

import { assertEquals } from "@std/assert";
import { readAppended, readCode } from "../../radius/protocol/login_input.ts";

for (
  const [typed, code] of [
    ["123456", "123456"],
    ["123 456", "123456"],
    ["123-456", "123456"],
    ["12 34-56", "123456"],
    ["123\u00a0456", "123456"],
    ["123\u2011456", "123456"],
    ["123\u2013456", "123456"],
    ["12 34", "1234"],
    ["-", "-"],
    ["", ""],
    ["abcde-fghij", "abcde-fghij"],
    ["maple river 7", "maple river 7"],
    ["+49 151 12345678", "+49 151 12345678"],
    ["123.456", "123.456"],
  ] as const
) {
  Deno.test(`readCode(${JSON.stringify(typed)}) is ${JSON.stringify(code)}`, () => {
    assertEquals(readCode(typed), code);
  });
}

const split = (
  typed: string,
  separator: string,
  firstFactor: "none" | "directory" = "directory",
  { hasBypassCode = false } = {},
) => {
  const policy = { appendSeparator: separator, firstFactor, hasBypassCode };
  const { password, appended } = readAppended(new TextEncoder().encode(typed), policy);
  return [new TextDecoder().decode(password), appended];
};

Deno.test("readAppended() splits only at the last separator, and only before a code or a known word", () => {
  assertEquals(split("a,b,123456", ","), ["a,b", { kind: "code", code: "123456" }]);
  assertEquals(split("a,12 34-5678", ","), ["a", { kind: "code", code: "12345678" }]);
  assertEquals(split("a,123456", ":"), ["a,123456", null]);
  assertEquals(split("a:Phone ", ":"), ["a", { kind: "call" }]);
  assertEquals(split("a,auto", ","), ["a", { kind: "auto" }]);
  assertEquals(split("a,123456789", ","), ["a,123456789", null]);
  assertEquals(split(`a,${"1 ".repeat(13)}`, ","), [`a,${"1 ".repeat(13)}`, null]);
  assertEquals(split("123456", ",", "none"), ["", { kind: "code", code: "123456" }]);
  assertEquals(split("123456", ","), ["123456", null]);
  assertEquals(split("push", ",", "none"), ["push", null]);
});

Deno.test("readAppended() takes ten digits for a bypass code only if the user has one", () => {
  const bypass = { kind: "bypass", code: "1234567890" } as const;
  const has = { hasBypassCode: true };
  assertEquals(split("a,12345-67890", ",", "directory", has), ["a", bypass]);
  assertEquals(split("a, 12345 67890 ", ",", "directory", has), ["a", bypass]);
  assertEquals(split("1234567890", ",", "none", has), ["", bypass]);
  assertEquals(split("1234567890", ",", "directory", has), ["1234567890", null]);
  assertEquals(split("a,123456789", ",", "directory", has), ["a,123456789", null]);
  assertEquals(split("a,123456", ",", "directory", has), ["a", { kind: "code", code: "123456" }]);
  assertEquals(split("a,1234567890", ","), ["a,1234567890", null]);
  assertEquals(split("1234567890", ",", "none"), ["1234567890", null]);
});

// Foreign JSON.

import { assertEquals } from "@std/assert";
import { asRecord, parseForeignJson } from "../../upstream/json_text.ts";

Deno.test("parseForeignJson() takes 32 levels and refuses 33 before it parses", () => {
  const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  assertEquals(parseForeignJson(nested(32)).ok, true);
  assertEquals(parseForeignJson(nested(33)).ok, false);
  assertEquals(parseForeignJson("[".repeat(5_000_000)).ok, false);
});

Deno.test("parseForeignJson() does not count brackets inside texts", () => {
  const text = JSON.stringify({ a: "[".repeat(100), b: '\\"[[{{', "[[[": 1 });
  assertEquals(parseForeignJson(text), { ok: true, value: JSON.parse(text) });
});

Deno.test("parseForeignJson() says what is no JSON", () => {
  for (const text of ["", "{", "nope", '{"a":1}x', "\ufeff{}"]) {
    assertEquals(parseForeignJson(text), { ok: false, detail: "not JSON" });
  }
});

Deno.test("asRecord() reads own members only", () => {
  const record = asRecord(JSON.parse('{"__proto__":{"granted":true},"id":"x"}'));
  assertEquals(record?.member("granted"), undefined);
  assertEquals(record?.member("toString"), undefined);
  assertEquals(record?.member("id"), "x");
});

Deno.test("asRecord() is null for everything but an object", () => {
  for (const value of [null, undefined, [], "x", 1, true]) assertEquals(asRecord(value), null);
});

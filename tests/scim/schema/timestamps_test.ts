// Timestamps as texts.

import fc from "../../packages/fast_check.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { isoTime } from "../../../scim/schema/render_resource.ts";

Deno.test("isoTime() writes the same as Date.toISOString(), for any time and in any order", () => {
  const limitMs = 8.64e15;
  const anyMs = fc.oneof(fc.integer({ min: -limitMs, max: limitMs }), fc.integer({ min: 0, max: 4e12 }));
  fc.assert(fc.property(fc.array(anyMs, { maxLength: 5 }), (times) => {
    for (const ms of times) assertEquals(isoTime(ms), new Date(ms).toISOString());
  }));
});

Deno.test("isoTime() is right at the edges of a day", () => {
  for (
    const text of [
      "2026-01-01T00:00:00.000Z",
      "2025-12-31T23:59:59.999Z",
      "2024-02-29T12:00:00.001Z",
      "1969-12-31T23:59:59.999Z",
    ]
  ) {
    assertEquals(isoTime(Date.parse(text)), text);
  }
});

Deno.test("isoTime() throws for an invalid time", () => {
  assertThrows(() => isoTime(NaN), RangeError);
  assertThrows(() => isoTime(1e17), RangeError);
});

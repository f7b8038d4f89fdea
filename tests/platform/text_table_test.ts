// The table of values by text, compared with a Map.

import { assertEquals } from "@std/assert";
import fc from "../packages/fast_check.ts";
import { TextTable } from "../../platform/octet_fields.ts";

Deno.test("TextTable has the entries of a Map after any sequence of calls", () => {
  const step = fc.record({
    act: fc.constantFrom("set", "set", "remove"),
    key: fc.constantFrom("", "a", "b", "ab", "ü"),
    value: fc.integer({ min: 0, max: 2 }),
  });
  fc.assert(fc.property(fc.array(step), (steps) => {
    const table = new TextTable<number>(7);
    const expected = new Map<string, number>();
    const rows = new Map<string, number>();
    for (const { act, key, value } of steps) {
      if (act === "set") {
        rows.set(key, table.set(key, value));
        expected.set(key, value);
      } else {
        const row = rows.get(key);
        if (row === undefined) continue;
        table.remove(row, value);
        if (expected.get(key) !== value) continue;
        expected.delete(key);
        rows.delete(key);
      }
      assertEquals(table.get(key), expected.get(key));
      assertEquals(table.size, expected.size);
    }
    for (const [key, value] of expected) assertEquals(table.get(key), value);
  }));
});

Deno.test("TextTable finds 5,000 entries, and none of them after their removal", () => {
  const table = new TextTable<number>(7);
  const keys = Array.from({ length: 5000 }, (_, at) => `key ${at}`);
  const rows = keys.map((key, at) => table.set(key, at));
  assertEquals(keys.map((key) => table.get(key)), keys.map((_, at) => at));
  for (const [at, row] of rows.entries()) table.remove(row, at);
  assertEquals(table.size, 0);
  assertEquals(keys.filter((key) => table.get(key) !== undefined), []);
});

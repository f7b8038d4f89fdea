// The index of rows by hash, compared with a plain list.

import { assertEquals } from "@std/assert";
import fc from "../packages/fast_check.ts";
import { HashIndex } from "../../platform/octet_fields.ts";

function rowsOf(index: HashIndex, hash: number): number[] {
  const rows: number[] = [];
  for (let row = index.first(hash); row >= 0; row = index.next(row)) rows.push(row);
  return rows;
}

Deno.test("HashIndex returns the rows of a hash, the newest first, for any sequence of calls", () => {
  const step = fc.record({
    act: fc.constantFrom("add", "add", "remove"),
    // Rows beyond the first size, and hashes that share a bucket.
    row: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 1000, max: 5000 })),
    hash: fc.constantFrom(0, 1, -1, 2 ** 31 - 1, -(2 ** 31), 1 << 20),
  });
  fc.assert(fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
    const index = new HashIndex();
    let list: { row: number; hash: number }[] = [];
    for (const { act, row, hash } of steps) {
      const isThere = list.some((one) => one.row === row);
      if (act === "add" && !isThere) {
        index.add(row, hash);
        list = [{ row, hash }, ...list];
      } else if (act === "remove") {
        index.remove(row);
        list = list.filter((one) => one.row !== row);
      }
      const expected = list.filter((one) => one.hash === hash).map((one) => one.row);
      assertEquals(rowsOf(index, hash), expected);
    }
  }));
});

Deno.test("HashIndex keeps all rows while it grows", () => {
  const index = new HashIndex();
  for (let row = 0; row < 10_000; row++) index.add(row, row % 100);
  assertEquals(rowsOf(index, 42).length, 100);
  assertEquals(rowsOf(index, 42).slice(0, 2), [9942, 9842]);
});

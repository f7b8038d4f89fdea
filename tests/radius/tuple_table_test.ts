// The table of tuples, compared with a Map.

import { assertEquals } from "@std/assert";
import fc from "../packages/fast_check.ts";
import { type KnownTuple, TupleTable } from "../../radius/conversation/tuple_table.ts";

Deno.test("TupleTable agrees with a Map for any sequence of calls", () => {
  const step = fc.record({
    act: fc.constantFrom("add", "add", "remove", "user", "open", "share"),
    key: fc.constantFrom("p", "q", "place of é", "x".repeat(128)),
    user: fc.constantFrom("ada", "bob", "ádám", "a much longer name of a user ".repeat(4)),
    open: fc.boolean(),
    sharedUntilMs: fc.integer({ min: 0, max: 9 }),
  });
  fc.assert(fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const table = new TupleTable(7);
    const map = new Map<string, KnownTuple>();
    for (const { act, ...tuple } of steps) {
      const { key, user, open, sharedUntilMs } = tuple;
      const known = map.get(key);
      const row = table.find(key);
      assertEquals(row >= 0 ? table.read(row) : undefined, known);
      if (known === undefined) {
        if (act !== "add") continue;
        table.add(tuple);
        map.set(key, tuple);
      } else if (act === "remove") {
        table.remove(row);
        map.delete(key);
      } else if (act === "user") {
        assertEquals(table.isUser(row, user), known.user === user);
        table.setUser(row, { key, user });
        map.set(key, { ...known, user });
      } else if (act === "open") {
        table.setOpen(row, open);
        map.set(key, { ...known, open });
      } else if (act === "share") {
        table.setSharedUntil(row, sharedUntilMs);
        map.set(key, { ...known, sharedUntilMs });
      }
      assertEquals(table.size, map.size);
    }
    const shared = [...table.shared(4)].map((row) => table.read(row).key).sort();
    const expected = [...map.values()].filter((one) => one.sharedUntilMs > 4).map(({ key }) => key).sort();
    assertEquals(shared, expected);
  }));
});

Deno.test("TupleTable keeps its tuples while it grows", () => {
  const table = new TupleTable(1);
  for (let number = 0; number < 3000; number++) {
    table.add({
      key: `place ${number}`,
      user: `user ${number}`,
      open: number % 2 === 0,
      sharedUntilMs: number,
    });
  }
  const row = table.find("place 2999");
  assertEquals(table.read(row), { key: "place 2999", user: "user 2999", open: false, sharedUntilMs: 2999 });
  assertEquals(table.read(table.find("place 0")).user, "user 0");
});

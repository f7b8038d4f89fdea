// Which element draws which row of a list: rows keep their elements, and free elements are reused unless they have the
// focus.

import { assertEquals } from "@std/assert";
import { assignSlots, type NextSlots } from "../../console/web/components/virtual_list.tsx";
import { NameCounters } from "../../console/web/pages/live/live_counts.ts";

const NONE: NextSlots = { slots: new Map(), free: 0 };

for (
  const { what, then, reuse, slots } of [
    { what: "keeps the elements of rows that stay", then: ["b", "a"], reuse: true, slots: [1, 0] },
    {
      what: "reuses the elements of removed rows, in their order",
      then: ["x", "y"],
      reuse: true,
      slots: [0, 1],
    },
    {
      what: "creates an element for a new row if reuse is forbidden",
      then: ["x", "b"],
      reuse: false,
      slots: [2, 1],
    },
    { what: "adds elements for more rows", then: ["x", "a", "b"], reuse: true, slots: [2, 0, 1] },
    { what: "removes elements for fewer rows", then: ["b"], reuse: true, slots: [1] },
  ]
) {
  Deno.test(`assignSlots() ${what}`, () => {
    const before = assignSlots(NONE, ["a", "b"], { reuse: true });
    const after = assignSlots(before, then, { reuse });
    assertEquals(then.map((key) => after.slots.get(key)), slots);
    assertEquals(new Set(after.slots.values()).size, then.length);
  });
}

Deno.test("NameCounters returns its counts on request, and the same array for the same names", () => {
  const tally = new NameCounters();
  tally.add("vpn-2", 1);
  tally.add("vpn-1", 2);
  assertEquals([tally.counts.value, tally.names.value], [{}, []]);
  tally.show();
  assertEquals([tally.counts.value, tally.names.value], [{ "vpn-2": 1, "vpn-1": 2 }, ["vpn-1", "vpn-2"]]);
  const names = tally.names.value;
  tally.add("vpn-1", -1);
  tally.show();
  assertEquals([tally.counts.value["vpn-1"], tally.names.value === names], [1, true]);
  tally.add("vpn-1", -1);
  tally.show();
  assertEquals(tally.names.value, ["vpn-2"]);
});

// The columns of a table at every width: names stay readable, columns of low priority disappear first, and long contents get the room.

import { assert, assertEquals } from "@std/assert";
import { cardColumns, type ColumnWidth, layOutColumns } from "../../console/web/components/table_layout.ts";

/** The list of users, with the menu of the row. */
const USERS: readonly ColumnWidth[] = [
  { min: 160 },
  { min: 150 },
  { width: "128px" },
  { width: "140px", priority: 2 },
  { min: 150, priority: 2 },
  { min: 180, priority: 3 },
  { width: "84px", priority: 3 },
  { width: "130px", priority: 3 },
  { width: "52px", isPinned: true },
];

/** The longest content of each column; the usual one, if it is different. */
type Need = number | readonly [longestPx: number, usualPx: number];
const at = (widthPx: number, columns = USERS, needs: readonly Need[] = []) =>
  layOutColumns(columns, {
    widthPx,
    needs: needs.map((need) => typeof need === "number" ? [need, need] : need),
  });

Deno.test("layOutColumns() never makes a name narrower than 140 px, from a tablet to a wide screen", () => {
  for (let widthPx = 220; widthPx < 2000; widthPx += 7) {
    const { shown, widthsPx } = at(widthPx);
    for (const [place, index] of shown.entries()) {
      const { width = "" } = USERS[index] ?? {};
      if (!width.endsWith("px")) assert((widthsPx[place] ?? 0) >= 140, `${widthPx}: column ${index}`);
    }
    const sumPx = widthsPx.reduce((sum, width) => sum + width, 0);
    assert(Math.abs(sumPx - widthPx) < 1, `${widthPx}: the columns are ${sumPx} wide`);
  }
});

Deno.test("layOutColumns() hides columns by priority, the last one first, but never the first one and the menu", () => {
  const rows: readonly (readonly [number, readonly number[]])[] = [
    [1180, [0, 1, 2, 3, 4, 5, 6, 7, 8]],
    [1100, [0, 1, 2, 3, 4, 5, 6, 8]],
    [1000, [0, 1, 2, 3, 4, 5, 8]],
    [800, [0, 1, 2, 3, 4, 8]],
    [640, [0, 1, 2, 3, 8]],
    [500, [0, 1, 2, 8]],
    [400, [0, 1, 8]],
    [220, [0, 8]],
  ];
  for (const [widthPx, shown] of rows) assertEquals(at(widthPx).shown, shown, `${widthPx} px`);
});

Deno.test("layOutColumns() gives long contents the room before it distributes the rest", () => {
  const columns: readonly ColumnWidth[] = [{}, {}, { width: "100px" }];
  assertEquals(at(780, columns, [400, 0]).widthsPx, [400 + 70, 140 + 70, 100]);
  // Not enough room: both get the same part of what they need.
  assertEquals(at(580, columns, [340, 340]).widthsPx, [140 + 100, 140 + 100, 100]);
  const mixed: readonly ColumnWidth[] = [{}, { priority: 3 }, { width: "100px" }];
  // One long name does not cut the usual contents of the other columns.
  assertEquals(at(580, mixed, [[480, 200], 240]).widthsPx, [200 + 40, 240, 100]);
  assertEquals(at(580, mixed, [[480, 200], [240, 150]]).widthsPx, [200 + 130, 150, 100]);
  // A column of low priority leaves what its contents do not need.
  assertEquals(at(400, mixed, [200, 60]).widthsPx, [140 + 60 + 5, 90 + 5, 100]);
});

Deno.test("layOutColumns() hides a column before more important ones cut their usual contents", () => {
  const columns: readonly ColumnWidth[] = [{}, { priority: 2 }, { priority: 3 }];
  assertEquals(at(500, columns, [200, 150, 150]).shown, [0, 1, 2]);
  assertEquals(at(480, columns, [200, 150, 150]).shown, [0, 1], "the third one has no room for its contents");
  assertEquals(at(330, columns, [200, 150, 150]).shown, [0], "the name has the room that it needs");
  assertEquals(at(345, columns, [[400, 200], 150, 150]).shown, [0, 1], "one long name hides nothing");
});

Deno.test("layOutColumns() distributes the remaining width by the percentages", () => {
  assertEquals(at(780, [{}, { width: "60%" }, { width: "100px" }]).widthsPx, [140 + 100, 140 + 300, 100]);
});

Deno.test("cardColumns() leaves out the columns of low priority", () => {
  assertEquals(cardColumns(USERS), [0, 1, 2, 3, 4, 8]);
});

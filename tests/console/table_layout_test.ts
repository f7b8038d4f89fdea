// The columns of a table at every width: names stay readable, and columns of low priority disappear first.

import { assert, assertEquals } from "@std/assert";
import { type ColumnWidth, layOutColumns } from "../../console/web/components/data_table.tsx";

/** The list of users. */
const USERS: readonly ColumnWidth[] = [
  {},
  { wideOnly: true },
  { wideOnly: true, width: "18%" },
  { width: "124px", narrow: "116px" },
  { wideOnly: true, width: "150px" },
  { wideOnly: true, width: "84px" },
  { wideOnly: true, width: "130px" },
];

const at = (widthPx: number, columns = USERS) => layOutColumns(columns, { widthPx, isNarrow: widthPx < 552 });

Deno.test("layOutColumns() never makes a name narrower than 140 px, from a phone to a wide screen", () => {
  for (let widthPx = 264; widthPx < 2000; widthPx += 7) {
    const { shown, widthsPx } = at(widthPx);
    for (const [place, index] of shown.entries()) {
      const { width = "" } = USERS[index] ?? {};
      if (!width.endsWith("px")) assert((widthsPx[place] ?? 0) >= 140, `${widthPx}: column ${index}`);
    }
    const sumPx = widthsPx.reduce((sum, width) => sum + width, 0);
    assert(Math.abs(sumPx - widthPx) < 1, `${widthPx}: the columns are ${sumPx} wide`);
  }
});

Deno.test("layOutColumns() hides the last columns of low priority first, and the first column never", () => {
  assertEquals(at(1200).shown, [0, 1, 2, 3, 4, 5, 6]);
  assertEquals(at(800).shown, [0, 1, 2, 3, 4, 5]);
  assertEquals(at(600).shown, [0, 1, 2, 3]);
  assertEquals(at(300).shown, [0, 3]);
  assertEquals(at(200).shown, [0]);
});

Deno.test("layOutColumns() hides a column of text before a column of actions", () => {
  const columns: readonly ColumnWidth[] = [{}, {}, { width: "120px" }];
  assertEquals(at(500, columns).shown, [0, 1, 2]);
  assertEquals(at(390, columns).shown, [0, 2]);
  const fixed: readonly ColumnWidth[] = [{}, { width: "100px" }, { width: "104px" }];
  assertEquals(at(264, fixed).shown, [0, 2]);
});

Deno.test("layOutColumns() distributes the remaining width by the percentages", () => {
  const { widthsPx } = layOutColumns([{}, { width: "60%" }, { width: "100px" }], {
    widthPx: 780,
    isNarrow: false,
  });
  assertEquals(widthsPx, [140 + 100, 140 + 300, 100]);
});

// CSV of RFC 4180 and its spreadsheet variants; cells with several texts, and cells that would be formulas.

import { assertEquals } from "@std/assert";
import fc from "../../packages/fast_check.ts";
import {
  csvLine,
  escapeFormula,
  joinTexts,
  splitTexts,
  unescapeFormula,
} from "../../../scim/transfer/columns.ts";
import { CsvReader, type CsvRecord, detectSeparator } from "../../../platform/csv_reader.ts";

/** Reads in parts of `size` characters. */
function read(
  text: string,
  { separator = ",", size = 1000 }: { separator?: string; size?: number } = {},
): CsvRecord[] {
  const reader = new CsvReader(separator);
  const records: CsvRecord[] = [];
  for (let at = 0; at < text.length; at += size) records.push(...reader.push(text.slice(at, at + size)));
  return [...records, ...reader.end()];
}

/** Text, and its records as [line, cells] or [line, problem]. */
const TABLES:
  readonly (readonly [string, string, readonly (readonly [number, readonly string[] | string])[]])[] = [
    ["cells and line ends", "a,b\r\n1,2\n3,4", [[1, ["a", "b"]], [2, ["1", "2"]], [3, ["3", "4"]]]],
    ["line ends of old", "a,b\r1,2\r", [[1, ["a", "b"]], [2, ["1", "2"]]]],
    ["quotes (RFC 4180 §2.5 to 2.7)", 'a,"b,""c"""\r\n', [[1, ["a", 'b,"c"']]]],
    ["a line end within quotes counts as a line", '"a\r\nb",c\r\nd,e\r\n', [[1, ["a\r\nb", "c"]], [3, [
      "d",
      "e",
    ]]]],
    ["empty cells, also the last", "a,,\n,,b\n", [[1, ["a", "", ""]], [2, ["", "", "b"]]]],
    ["empty quoted cells are a record", '""\n', [[1, [""]]]],
    ["blank lines are none", "\n\na\n\n", [[3, ["a"]]]],
    ["a quote within a bare cell is a character", 'a"b,c\n', [[1, ['a"b', "c"]]]],
    ["what follows a closing quote is a fault of that row alone", '"a"b,c\nd,e\n', [
      [1, "text after the closing quote of a cell"],
      [2, ["d", "e"]],
    ]],
    ["a quote that is never closed", 'a\n"b,c\nd\n', [[1, ["a"]], [
      2,
      "it has a quote that is never closed",
    ]]],
  ];

for (const [what, text, expected] of TABLES) {
  Deno.test(`new CsvReader() reads ${what}, in parts of any size`, () => {
    for (const size of [1, 2, 3, 1000]) {
      const found = read(text, { size }).map((one) => [one.line, one.ok ? one.cells : one.problem]);
      assertEquals(found, expected.map((one) => [...one]), `pieces of ${size}`);
    }
  });
}

Deno.test("new CsvReader() gives up a record of over 1 MiB, and keeps none of it", () => {
  const found = read(`a,b\n"${"x".repeat(1_100_000)}"\nc,d\n`, { size: 65_536 });
  assertEquals(found.map(({ ok, line }) => [ok, line]), [[true, 1], [false, 2]]);
});

Deno.test("new CsvReader() refuses a row of over 1,000 cells", () => {
  assertEquals(read(",".repeat(1500)).map((one) => one.ok ? "read" : one.problem), [
    "it has over 1000 cells",
  ]);
});

Deno.test("detectSeparator() finds comma, semicolon and tab, and ignores text within quotes", () => {
  assertEquals(
    ["a,b;c,d", "a;b,c;d", "a\tb", '"a,b,c,d";e', "a", ""].map(detectSeparator),
    [",", ";", "\t", ";", ",", ","],
  );
});

Deno.test("unescapeFormula() reverses escapeFormula(), and no escaped cell is a formula", () => {
  const signs = [..."=+-@＝＋－＠﹦", "\t", "\r", "\n"].map((sign) => `${sign}1`);
  const hidden = [
    " =1",
    "\u200b=1",
    "\ufeff=1",
    "\u00a0@x",
    "\u3164＋1",
    "\u2060\u00ad-1",
    "\u0000=1",
    "\ufe0f=1",
  ];
  for (const text of [...signs, ...hidden, "'=x", "''+1", "'\u200b=1"]) {
    assertEquals(escapeFormula(text), `'${text}`);
    assertEquals(unescapeFormula(escapeFormula(text)), text);
  }
  assertEquals(["", "anna", "'tis", "a=b"].map(escapeFormula), ["", "anna", "'tis", "a=b"]);
  const unit = fc.constantFrom("a", "'", "=", "＝", "\u200b", " ", "\n", "\t");
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.string({ unit })),
      (text) => unescapeFormula(escapeFormula(text)) === text,
    ),
  );
});

Deno.test("splitTexts() reverses joinTexts(); a backslash before any other character stays", () => {
  assertEquals(splitTexts("CORP\\Admins|a\\|b|"), ["CORP\\Admins", "a|b", ""]);
  const texts = fc.array(fc.string({ unit: fc.constantFrom("a", "|", "\\", "'", " ") }), { minLength: 1 });
  fc.assert(fc.property(texts, (given) => {
    assertEquals(splitTexts(joinTexts(given)), given);
  }));
});

Deno.test("new CsvReader() reads back every line of csvLine()", () => {
  const cell = fc.string({ unit: fc.constantFrom("a", '"', ",", "\n", "\r", "=", "'", " ", "ä", "|") });
  fc.assert(
    fc.property(
      fc.array(cell, { minLength: 2, maxLength: 5 }),
      fc.integer({ min: 1, max: 9 }),
      (cells, size) => {
        const [record] = read(csvLine(cells), { size });
        assertEquals(record?.ok === true ? record.cells.map(unescapeFormula) : record, cells);
      },
    ),
  );
});

// CSV of RFC 4180 and its spreadsheet variants; cells with several texts, and cells that would be formulas.

import { createMapping } from "../../../scim/schema/mapping.ts";
import { jsonRow, openRowFile } from "../../../scim/transfer/row_reader.ts";
import { readUpload } from "../../../scim/transfer/upload.ts";
import { assert, assertEquals } from "@std/assert";
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

/** Files that begin with the separator, as spreadsheets write them, and their names. */
const STARTS: readonly (readonly [text: string, names: readonly string[]])[] = [
  ["sep=;\nuserName;title\nanna;Dr\n", ["anna"]],
  ["SEP=;\r\nuserName;title\r\nanna;Dr, med\r\n", ["anna"]],
  ["\ufeffsep=,\nuserName,title\nanna,a;b;c;d\n", ["anna"]],
  ['"sep=;"\nuserName;title\nanna;x\n', ["anna"]],
  ["sep=\t\nuserName\ttitle\nanna\tx\n", ["anna"]],
  ["userName;title\nsep=;\n", ["sep="]],
];

Deno.test("readUpload() and openRowFile() read a first line that names the separator, and count it as a line", async () => {
  const mapping = createMapping({ user: {}, group: {} });
  for (const [text, names] of STARTS) {
    const read = readUpload({ name: "people.csv", text }, { mapping, mostRows: 10 });
    const rows = read.ok ? read.upload.rows.map((row) => row.read) : [];
    assertEquals(rows.map((row) => row.ok && row.row.body["userName"]), names, text);
    const path = await Deno.makeTempFile({ suffix: ".csv" });
    await Deno.writeTextFile(path, text);
    const found: unknown[] = [];
    for await (const row of (await openRowFile(path, { mapping })).rows()) {
      found.push(row.ok ? [row.row.line, row.row.body["userName"]] : row);
    }
    assertEquals(found, names.map((name) => [/^\W*sep/i.test(text) ? 3 : 2, name]), text);
    await Deno.remove(path);
  }
});

Deno.test("jsonRow() refuses an object with the same name twice, and keeps other rows", () => {
  const rowOf = (text: string) => jsonRow(1, new TextEncoder().encode(text));
  assert(rowOf('{"userName":"anna","emails":[{"value":"a"},{"value":"b"}]}').ok);
  for (const name of ["userName", "USERNAME"]) {
    const row = rowOf(`{"userName":"anna","${name}":"bob"}`);
    assertEquals(
      row.ok ? "read" : row.problem,
      `It has an object with the same name twice: ${name}. Case does not count.`,
    );
  }
});

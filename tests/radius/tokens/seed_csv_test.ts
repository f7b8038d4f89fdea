// The CSV forms of vendors and of other servers, and rows with problems.

import { assertEquals, assertNotMatch } from "@std/assert";
import { BASE32, read, rowsOf, SEED } from "./seed_reading.ts";
import { SEED_TABLES } from "./seed_tables.ts";

for (const [what, text, options, expected] of SEED_TABLES) {
  Deno.test(`CSV: ${what}`, async () => {
    assertEquals(await rowsOf(text, options), expected);
  });
}

Deno.test("CSV: a serial number of dots is refused: no address could name the token", async () => {
  const rows = [".", "..", ". .", "a."].map((serial) => `${serial},${SEED},hotp`).join("\n");
  const file = await read(rows);
  assertEquals(file.ok && file.rows.map(({ problem }) => problem), ["bad_serial", "bad_serial", null, null]);
});

Deno.test("CSV: a seed in another column than expected is not shown", async () => {
  const swapped = [`${SEED},T1\n`, `secret,serial\nT1,${BASE32}\n`, `upn,serial,secret\n${SEED},T1,x\n`];
  for (const text of swapped) assertNotMatch((await rowsOf(text)).join(), /31323334|GEZDGNBV/);
});

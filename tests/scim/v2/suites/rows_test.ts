// One row for each requirement of RFC 7643 and RFC 7644 that a server can be tested for, against the real program.

import { assertEquals } from "@std/assert";
import { RFC_ROWS } from "./rfc_rows.ts";
import { runRow } from "./suite_run.ts";
import { startSuiteWorld } from "./suite_world.ts";

Deno.test("the interface does what RFC 7643, RFC 7644 and RFC 9865 require", async (context) => {
  await using world = await startSuiteWorld();
  const server = await world.server("rows");
  for (const row of RFC_ROWS) {
    await context.step(`${row.ref}: ${row.must}`, async () => assertEquals(await runRow(server, row), []));
  }
});

// Rows of the RFC and of vendors.

import { assertEquals } from "@std/assert";
import { RFC_ROWS } from "./rfc_rows.ts";
import { runRow } from "./suite_run.ts";
import { startSuiteWorld } from "./suite_world.ts";
import { COLLECTION_ROWS } from "./entra_collection_rows.ts";
import { VALIDATOR_ROWS } from "./entra_validator_rows.ts";
import { OKTA_ROWS } from "./okta_rows.ts";

// One row for each requirement of RFC 7643 and RFC 7644 that a server can be tested for, against the real program.

Deno.test("the interface does what RFC 7643, RFC 7644 and RFC 9865 require", async (context) => {
  await using world = await startSuiteWorld();
  const server = await world.server("rows");
  for (const row of RFC_ROWS) {
    await context.step(`${row.ref}: ${row.must}`, async () => assertEquals(await runRow(server, row), []));
  }
});

// The published tests of Okta and Microsoft, against the real program.

Deno.test("the interface passes the published tests of Okta and Microsoft", async (context) => {
  await using world = await startSuiteWorld();
  for (
    const [target, rows] of [
      ["okta", OKTA_ROWS],
      ["validator", VALIDATOR_ROWS],
      ["collection", COLLECTION_ROWS],
    ] as const
  ) {
    const server = await world.server(target);
    for (const row of rows) {
      await context.step(`${row.ref}: ${row.must}`, async () => {
        assertEquals(await runRow(server, row), []);
      });
    }
  }
});

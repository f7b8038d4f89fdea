// The published tests of Okta and Microsoft, against the real program.

import { assertEquals } from "@std/assert";
import { COLLECTION_ROWS } from "./entra_collection_rows.ts";
import { VALIDATOR_ROWS } from "./entra_validator_rows.ts";
import { OKTA_ROWS } from "./okta_rows.ts";
import { runRow } from "./suite_run.ts";
import { startSuiteWorld } from "./suite_world.ts";

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

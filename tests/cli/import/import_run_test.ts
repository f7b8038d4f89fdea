// The summary of an import counts the pending writes of each backend.

import { assertEquals } from "@std/assert";
import { importSummary } from "../../../cli/import.ts";
import { createRowErrors, type ImportCounts, ImportJob } from "../../../cli/import.ts";
import type { RowOutcome } from "../../../scim/transfer/bulk_plan.ts";
import { createMapping } from "../../../scim/schema/mapping.ts";

/** The counts of an import of one user for each outcome. */
async function countsOf(outcomes: readonly RowOutcome[]): Promise<ImportCounts> {
  const run = new ImportJob({
    write: () => Promise.resolve(outcomes),
    target: "default",
    mapping: createMapping({ user: {}, group: {} }),
    mayUpdate: false,
    isDryRun: false,
    backends: null,
    covers: null,
    faults: createRowErrors(),
  });
  for (const at of outcomes.keys()) {
    await run.add({ line: at + 2, kind: "user", body: { userName: `user${at}` }, groups: [] });
  }
  await run.finish();
  return run.counts;
}

const SUMS: readonly (readonly [what: string, outcomes: readonly RowOutcome[], sum: string])[] = [
  ["none if every backend has every row", [{ did: "created" }], ""],
  [
    "one write of one backend",
    [{ did: "created", owes: ["crm"] }, { did: "updated" }],
    "; 1 write pending for crm",
  ],
  [
    "each backend with its own number",
    [{ did: "created", owes: ["crm", "hr"] }, { did: "created", owes: ["crm"] }],
    "; 2 writes pending for crm; 1 write pending for hr",
  ],
];
for (const [what, outcomes, owed] of SUMS) {
  Deno.test(`importSummary() counts pending writes: ${what}`, async () => {
    const text = importSummary({ isDryRun: false }, await countsOf(outcomes));
    assertEquals(text.slice(text.indexOf(" refused") + " refused".length), `${owed}.`);
  });
}

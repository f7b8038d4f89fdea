// The run of an import: what backends have not got yet is counted, each on its own, and said in the sum.

import { assertEquals } from "@std/assert";
import { summary } from "../../../cli/import.ts";
import { createFaultList } from "../../../cli/error_summary.ts";
import { createImportRun, type ImportCounts } from "../../../cli/import_job.ts";
import type { RowOutcome } from "../../../scim/transfer/import_rows.ts";
import { createMapping } from "../../../scim/schema/mapping.ts";

/** The counts of an import of one user for each outcome. */
async function countsOf(outcomes: readonly RowOutcome[]): Promise<ImportCounts> {
  const run = createImportRun({
    write: () => Promise.resolve(outcomes),
    target: "default",
    mapping: createMapping({ user: {}, group: {} }),
    mayUpdate: false,
    isDryRun: false,
    backends: null,
    covers: null,
    faults: createFaultList(),
  });
  for (const at of outcomes.keys()) {
    await run.add({ line: at + 2, kind: "user", body: { userName: `user${at}` }, groups: [] });
  }
  await run.finish();
  return run.counts;
}

const SUMS: readonly (readonly [what: string, outcomes: readonly RowOutcome[], sum: string])[] = [
  ["nothing where every backend has all", [{ did: "created" }], ""],
  [
    "one write of one backend",
    [{ did: "created", owes: ["crm"] }, { did: "updated" }],
    "; 1 write still owed to crm",
  ],
  [
    "each backend with its own number",
    [{ did: "created", owes: ["crm", "hr"] }, { did: "created", owes: ["crm"] }],
    "; 2 writes still owed to crm; 1 write still owed to hr",
  ],
];
for (const [what, outcomes, owed] of SUMS) {
  Deno.test(`summary() says of what is owed: ${what}`, async () => {
    const text = summary({ isDryRun: false }, await countsOf(outcomes));
    assertEquals(text.slice(text.indexOf(" refused") + " refused".length), `${owed}.`);
  });
}

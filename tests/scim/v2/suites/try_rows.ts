// Runs the RFC rows against any SCIM 2.0 server, to compare it with the gateway or to check the rows themselves.
//
//   deno run -A --lock=tests/deno.lock tests/scim/v2/suites/try_rows.ts <base URL> <Authorization header> [text in the row]

import { RFC_ROWS } from "./rfc_rows.ts";
import { runRow } from "./suite_run.ts";

const [baseUrl = "", authorization = "", text = ""] = Deno.args;
let failed = 0;
const rows = RFC_ROWS.filter(({ ref, must }) => `${ref}: ${must}`.includes(text));
for (const row of rows) {
  const problems = await runRow({ baseUrl, authorization }, row);
  if (problems.length === 0) continue;
  failed += 1;
  console.log(`${row.ref}: ${row.must}\n  ${problems.join("\n  ")}`);
}
console.log(`${rows.length - failed} passed, ${failed} failed`);

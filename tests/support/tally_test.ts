// Tests of the summary of test results.

import { assertEquals } from "@std/assert";
import { addTallies, EMPTY_TALLY, judge, readJunit, summaryLine } from "./junit_summary.ts";

const REPORT = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="deno test" tests="4" failures="1" errors="0" time="0.029">
    <testsuite name="./a_test.ts" tests="4" disabled="2" errors="0" failures="1">
        <testcase name="works" classname="./a_test.ts" time="0.001" line="1" col="6">
        </testcase>
        <testcase name="bad &lt;one&gt;" classname="./a_test.ts" time="0.005" line="2" col="6">
            <failure message="Uncaught Error: &lt;skipped/&gt;">Error: &lt;testcase </failure>
        </testcase>
        <testcase name="later" classname="./a_test.ts" time="0.000" line="3" col="6">
            <skipped/>
        </testcase>
        <testcase name="steps &gt; first" classname="./a_test.ts" time="0.000" line="4" col="43">
        </testcase>
    </testsuite>
</testsuites>`;

Deno.test("readJunit() counts passed, failed and skipped tests and names the latter two", () => {
  assertEquals(readJunit(REPORT), {
    passed: 2,
    failed: 1,
    skipped: 1,
    failures: ["./a_test.ts: bad <one>\n    Uncaught Error: <skipped/>"],
    skips: ["./a_test.ts: later"],
  });
});

Deno.test("judge() counts a fault outside of any test as one failure", () => {
  const clean = { ...EMPTY_TALLY, passed: 3 };
  assertEquals(judge(clean, { suite: "unit", exitCode: 0 }), clean);
  assertEquals(judge(clean, { suite: "unit", exitCode: 1 }).failed, 1);
  assertEquals(judge(null, { suite: "unit", exitCode: 1 }).failed, 1);
  assertEquals(judge(null, { suite: "unit", exitCode: 0 }).failed, 1, "no report is no proof");
  assertEquals(judge(clean, { suite: "unit", exitCode: -1 }).failures, ["unit: ended by its deadline"]);
  assertEquals(judge({ ...clean, failed: 2 }, { suite: "unit", exitCode: 1 }).failed, 2);
});

Deno.test("summaryLine() names the skipped tests only when there are any", () => {
  const one = readJunit(REPORT);
  assertEquals(summaryLine(addTallies([one, one])), "4 passed, 2 failed, 2 skipped");
  assertEquals(summaryLine({ ...EMPTY_TALLY, passed: 7 }), "7 passed, 0 failed");
});

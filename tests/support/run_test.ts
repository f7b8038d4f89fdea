// Tests of the groups of test files, and of the summary of their results.

import { assert, assertEquals } from "@std/assert";
import {
  addTallies,
  EMPTY_TALLY,
  judge,
  readJunit,
  readTimings,
  slowestLines,
  summaryLine,
} from "./junit_summary.ts";
import { endingWithParent, meterHost, runProgram } from "./child.ts";
import { TextLineStream } from "./lines.ts";
import { groupFiles, readFacts, writeGroups } from "./test_groups.ts";

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
    failures: ["a_test.ts: bad <one>\n    Uncaught Error: <skipped/>"],
    skips: ["a_test.ts: later"],
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

Deno.test("slowestLines() adds up each file, with its loading, and counts a step once", () => {
  const step = { file: "a_test.ts", name: "both > first", seconds: 4 };
  const timings = [...readTimings(REPORT), step, { ...step, name: "both", seconds: 5 }];
  assertEquals(slowestLines(timings, { "a_test.ts": 2.04, "b_test.ts": 1 }), [
    "slowest tests (seconds)",
    "    5.0  a_test.ts: both",
    "    4.0  a_test.ts: both > first",
    "    0.0  a_test.ts: bad <one>",
    "    0.0  a_test.ts: works",
    "    0.0  a_test.ts: later",
    "    0.0  a_test.ts: steps > first",
    "slowest files (seconds, and those of them that load modules)",
    "    7.0  a_test.ts (2.0)",
    "    1.0  b_test.ts (1.0)",
  ]);
});

Deno.test("groupFiles() puts neighbours into groups of 100 seconds, and marked files into their own", () => {
  const numbered = (folder: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${folder}/${String(index).padStart(2, "0")}_test.ts`);
  const long = ["tests/interop/deliveries_test.ts", "tests/interop/logins_test.ts"];
  const files = [...long, ...numbered("tests/platform", 61)];
  const groups = groupFiles(files, () => "");
  assertEquals(groups.map(({ length }) => length), [1, 1, 50, 11], "long ones are alone");
  assertEquals(groups.flat(), files);
  assertEquals(groupFiles(["a", "b", "c", "d"], (file) => ["a", "c"].includes(file) ? "english" : ""), [
    ["a", "c"],
    ["b", "d"],
  ]);
});

Deno.test("a group names the file of each test, and a file that cannot be loaded fails alone", async () => {
  const folder = await Deno.makeTempDir({ prefix: "countersign-group-" });
  try {
    await Deno.writeTextFile(
      `${folder}/helper.ts`,
      "export const check = (name: string) => Deno.test(name, async (test) => { await test.step('a > b', () => {}); });",
    );
    const texts = {
      broken: 'import "./missing.ts";',
      works: 'import { check } from "./helper.ts"; check("by > a helper");',
      fails: 'Deno.test("fails", () => { throw new Error("no"); });',
    };
    const files = Object.keys(texts).map((name) => `${folder}/${name}_test.ts`);
    for (const [name, text] of Object.entries(texts)) {
      await Deno.writeTextFile(`${folder}/${name}_test.ts`, text);
    }
    const [group = { path: "" }] = await writeGroups({ folder, suite: "some", files });
    const report = `${folder}/report.xml`;
    const { code } = await runProgram(Deno.execPath(), {
      args: ["test", "--no-check", "--allow-all", `--junit-path=${report}`, group.path],
      cwd: folder,
    });
    assertEquals(code, 1);
    const { loads, fileOf } = await readFacts(group.path);
    const xml = await Deno.readTextFile(report);
    const { failures } = readJunit(xml, fileOf);
    assertEquals(failures.map((one) => one.replace(/\n[^]*$/, "")), [
      `${files[0]}: ${files[0]} can be loaded`,
      "fails_test.ts: fails",
    ]);
    assertEquals(
      readTimings(xml, fileOf).filter(({ name }) => name.startsWith("by")).map((
        { file, name },
      ) => [file, name]),
      [[files[1], "by > a helper"], [files[1], "by > a helper > a > b"]],
    );
    assertEquals(Object.keys(loads), files);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("meterHost() tells the share of busy processors", async () => {
  const busy = meterHost();
  await runProgram(Deno.execPath(), {
    args: ["eval", "const end = Date.now() + 300; while (Date.now() < end);"],
  });
  const percent = busy();
  assert(percent > 0 && percent <= 100, `${percent} %`);
});

Deno.test("endingWithParent() starts a program that does not outlive a parent that is killed", async () => {
  const [command, args] = endingWithParent("sleep", ["300"]);
  const parent = `const child = new Deno.Command(${JSON.stringify(command)}, { args: ${
    JSON.stringify(args)
  } }).spawn();
    console.log(child.pid); await new Promise((resolve) => setTimeout(resolve, 300_000));`;
  const child = new Deno.Command(Deno.execPath(), { args: ["eval", parent], stdout: "piped" }).spawn();
  const lines = child.stdout.pipeThrough(new TextLineStream()).getReader();
  await lines.read();
  child.kill("SIGKILL");
  await child.status;
  // The output ends with the last process that has it.
  while (!(await lines.read()).done);
});

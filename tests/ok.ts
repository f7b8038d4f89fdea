// The quick check before a commit (`deno task ok`): one line for each check, and the output of failed ones.

import { summaryLine } from "./support/junit_summary.ts";
import { reportFolder, runSuite, SUITES, TEST_LOCK } from "./support/suites.ts";
import { runProgram } from "./support/child.ts";

interface Check {
  readonly title: string;
  readonly args: readonly string[];
}

const HELP = `Checks form, rules and types, and runs the fast tests.

  deno task ok [--no-tests]

  --no-tests  only what reads the sources: formatting, lint, types, generated pages
  --help      show this help`;

/** The checks of `deno` itself, on all files that are tracked or new, except ignored ones. */
const CHECKS: readonly Check[] = [
  { title: "fmt", args: ["fmt", "--check"] },
  { title: "lint", args: ["lint", "--quiet"] },
  { title: "check", args: ["check", "--quiet", TEST_LOCK] },
  { title: "docs", args: ["task", "--quiet", "docs", "--check"] },
];

async function holds(check: Check): Promise<boolean> {
  const { code, stdout, stderr, elapsedMs } = await runProgram(Deno.execPath(), {
    args: check.args,
    timeoutMs: 600_000,
  });
  console.log(`${code === 0 ? "ok  " : "FAIL"}  ${check.title}  (${(elapsedMs / 1000).toFixed(1)} s)`);
  if (code !== 0) console.log(`${stdout}${stderr}`.trimEnd());
  return code === 0;
}

async function main(args: readonly string[]): Promise<number> {
  if (args.includes("--help")) {
    console.log(HELP);
    return 0;
  }
  const unknown = args.find((arg) => arg !== "--no-tests");
  if (unknown !== undefined) {
    console.error(`Cannot use "${unknown}".\n\n${HELP}`);
    return 2;
  }
  let good = true;
  for (const check of CHECKS) good = await holds(check) && good;
  if (args.includes("--no-tests")) return good ? 0 : 1;
  const folder = await reportFolder();
  for (const name of ["architecture", "unit"] as const) {
    const { tally } = await runSuite(name, { folder });
    good = tally.failed === 0 && good;
    console.log(`${tally.failed === 0 ? "ok  " : "FAIL"}  ${SUITES[name].title}  (${summaryLine(tally)})`);
  }
  return good ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));

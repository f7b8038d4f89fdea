// The quick check before a commit (`deno task ok`): one line for each check, and the output of failed ones.

import { addTallies, EMPTY_TALLY, summaryLine, type Tally } from "./support/junit_summary.ts";
import { reportFolder, runSuites, SUITES, TEST_LOCK } from "./support/suites.ts";
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

/** Runs the checks and shows a line for each. One that does not hold is a failure. */
export async function runChecks(): Promise<Tally> {
  return addTallies(await Promise.all(CHECKS.map(runCheck)));
}

async function runCheck({ title, args }: Check): Promise<Tally> {
  const { code, stdout, stderr, elapsedMs } = await runProgram(Deno.execPath(), { args, timeoutMs: 600_000 });
  console.log(`${code === 0 ? "ok  " : "FAIL"}  ${title}  (${(elapsedMs / 1000).toFixed(1)} s)`);
  if (code === 0) return EMPTY_TALLY;
  const output = `${stdout}${stderr}`.trimEnd();
  console.log(output);
  return { ...EMPTY_TALLY, failed: 1, failures: [`deno ${args[0]}\n${output.slice(-2000)}`] };
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
  const { failed } = await runChecks();
  if (args.includes("--no-tests")) return failed === 0 ? 0 : 1;
  const results = await runSuites(["architecture", "unit"], { folder: await reportFolder() });
  for (const { suite, tally } of results) {
    console.log(`${tally.failed === 0 ? "ok  " : "FAIL"}  ${SUITES[suite].title}  (${summaryLine(tally)})`);
  }
  return failed === 0 && results.every(({ tally }) => tally.failed === 0) ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));

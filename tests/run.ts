// The whole test run (`deno task test`): peers, pages, every suite, and one line at the end.

import { parseArgs } from "node:util";
import { addTallies, EMPTY_TALLY, slowestLines, summaryLine, type Tally } from "./support/junit_summary.ts";
import { installPeers } from "./support/peers.ts";
import { reportFolder, runSuites, type SuiteName, type SuiteResult, SUITES } from "./support/suites.ts";
import { meterHost, runProgram } from "./support/child.ts";
import { buildDenokv } from "./support/denokv_build.ts";
import { installScimPeers } from "./support/scim_peers.ts";
import { runChecks } from "./ok.ts";

const HELP =
  `Runs every test. On Debian, as root, it first installs the programs that it plays against. It installs SCIM clients in
Python, and where cargo is installed, it builds denokv while other tests run. Both are kept for the next run.

  deno task test [--only <filter>] [--fast] [--checks]

  --only <filter>  only tests whose name contains <filter>, or matches it when it is written /like this/
  --fast           no installing, no real peers, no browser
  --checks         also the checks of \`deno task ok\`; each one that fails counts as a failed test
  --help           show this help

At the end it shows what took longest, and the folder of the JUnit reports, which stays. The last line is
"N passed, N failed", with ", N skipped" when something was skipped. The exit code is 1 when a test failed, and when
CI=true and a test was skipped.`;

const FAST: readonly SuiteName[] = ["unit", "architecture"];

async function buildPages(): Promise<Tally> {
  const built = await runProgram(Deno.execPath(), { args: ["task", "--quiet", "build"], timeoutMs: 120_000 });
  if (built.code === 0) {
    console.log(`pages: built (${Math.round(built.elapsedMs)} ms)`);
    return EMPTY_TALLY;
  }
  console.log(`pages: not built\n${built.stdout}${built.stderr}`);
  return { ...EMPTY_TALLY, failed: 1, failures: ["deno task build"] };
}

function showResult({ suite, tally, seconds, cpuSeconds }: SuiteResult): void {
  const minutes = (value: number) => (value / 60).toFixed(1);
  const times = `${minutes(seconds)} min in its processes, ${minutes(cpuSeconds)} min of processor time`;
  console.log(`-- ${SUITES[suite].title}: ${summaryLine(tally)} (${times})`);
}

async function main(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      help: { type: "boolean" },
      fast: { type: "boolean" },
      checks: { type: "boolean" },
      only: { type: "string" },
    },
  });
  if (values.help === true) {
    console.log(HELP);
    return 0;
  }
  const fast = values.fast === true;
  if (!fast) await installPeers();
  const checks = values.checks === true ? runChecks() : EMPTY_TALLY;
  // Built while other tests run.
  const building = fast ? null : buildDenokv().catch((fault: unknown) => console.log(`denokv: ${fault}`));
  const scimPeers = fast ? null : installScimPeers();
  const built = await buildPages();
  await scimPeers;
  const folder = await reportFolder();
  const busy = meterHost();
  const suites = fast ? FAST : Object.keys(SUITES) as SuiteName[];
  const results = await runSuites(suites, {
    folder,
    filter: values.only,
    after: building === null ? {} : { cluster: building },
  });
  const busyPercent = busy();
  const checked = await checks;
  for (const result of results) showResult(result);
  console.log(`-- processors: busy for ${busyPercent} % of the suites' time`);
  const total = addTallies([built, checked, ...results.map(({ tally }) => tally)]);
  const loads = Object.assign({}, ...results.map(({ loads }) => loads));
  console.log("");
  for (const line of slowestLines(results.flatMap(({ timings }) => timings), loads)) console.log(line);
  console.log(`\nreports: ${folder}`);
  for (const failure of total.failures) console.log(`failed: ${failure}`);
  for (const skip of total.skips) console.log(`skipped: ${skip}`);
  console.log(summaryLine(total));
  const skippedInCi = total.skipped > 0 && Deno.env.get("CI") === "true";
  // A run without any test proves nothing.
  return total.failed > 0 || total.passed === 0 || skippedInCi ? 1 : 0;
}

if (import.meta.main) {
  try {
    Deno.exit(await main(Deno.args));
  } catch (fault) {
    console.error(fault instanceof Error ? fault.message : String(fault));
    Deno.exit(2);
  }
}

// The whole test run (`deno task test`): peers, pages, every suite, and one line at the end.

import { parseArgs } from "node:util";
import { addTallies, EMPTY_TALLY, slowestLines, summaryLine, type Tally } from "./support/junit_summary.ts";
import { installPeers } from "./support/peers.ts";
import { reportFolder, runSuite, type SuiteName, type SuiteResult, SUITES } from "./support/suites.ts";
import { runProgram } from "./support/child.ts";
import { buildDenokv } from "./support/denokv_build.ts";
import { installScimPeers } from "./support/scim_peers.ts";

const HELP =
  `Runs every test. On Debian, as root, it first installs the programs that it plays against. It installs SCIM clients in
Python, and where cargo is installed, it builds denokv while other tests run. Both are kept for the next run.

  deno task test [--only <filter>] [--fast]

  --only <filter>  only tests whose name contains <filter>, or matches it when it is written /like this/
  --fast           no installing, no real peers, no browser
  --help           show this help

At the end it shows what took longest, and the folder of the JUnit reports, which stays. The last line is
"N passed, N failed", with ", N skipped" when something was skipped. The exit code is 1 when a test failed, and when
CI=true and a test was skipped.`;

/**
 * Stages run one after the other, the suites of a stage at the same time: real peers and nodes mostly wait. The last stage
 * needs denokv, which is built during the first.
 */
type Stages = readonly (readonly SuiteName[])[];
const FAST: Stages = [["unit"], ["architecture"]];
const FIRST: Stages = [["unit", "interop"]];
const LAST: Stages = [["e2e", "cluster", "architecture"]];

async function buildPages(): Promise<Tally> {
  const built = await runProgram(Deno.execPath(), { args: ["task", "--quiet", "build"], timeoutMs: 120_000 });
  if (built.code === 0) {
    console.log(`pages: built (${Math.round(built.elapsedMs)} ms)`);
    return EMPTY_TALLY;
  }
  console.log(`pages: not built\n${built.stdout}${built.stderr}`);
  return { ...EMPTY_TALLY, failed: 1, failures: ["deno task build"] };
}

async function runStages(stages: Stages, options: StageOptions): Promise<SuiteResult[]> {
  const results: SuiteResult[] = [];
  for (const names of stages) {
    results.push(
      ...await Promise.all(names.map((name, index) => runOne(name, { ...options, isBackground: index > 0 }))),
    );
  }
  return results;
}

interface StageOptions {
  readonly folder: string;
  readonly filter: string | undefined;
}

async function runOne(
  name: SuiteName,
  options: StageOptions & { readonly isBackground: boolean },
): Promise<SuiteResult> {
  const { title } = SUITES[name];
  console.log(
    `\n== ${title}${options.isBackground ? " (at the same time; their output follows at their end)" : ""}`,
  );
  const startedMs = performance.now();
  const result = await runSuite(name, options);
  const minutes = ((performance.now() - startedMs) / 60_000).toFixed(1);
  const cpu = `${(result.cpuSeconds / 60).toFixed(1)} min of processor time`;
  console.log(`-- ${title}: ${summaryLine(result.tally)} (${minutes} min, ${cpu})`);
  return result;
}

async function main(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: { help: { type: "boolean" }, fast: { type: "boolean" }, only: { type: "string" } },
  });
  if (values.help === true) {
    console.log(HELP);
    return 0;
  }
  const fast = values.fast === true;
  if (!fast) await installPeers();
  const building = fast ? null : buildDenokv().catch((fault: unknown) => console.log(`denokv: ${fault}`));
  const scimPeers = fast ? null : installScimPeers();
  const built = await buildPages();
  await scimPeers;
  const options = { folder: await reportFolder(), filter: values.only };
  const results = await runStages(fast ? FAST : FIRST, options);
  if (building !== null) {
    await building;
    results.push(...await runStages(LAST, options));
  }
  const total = addTallies([built, ...results.map(({ tally }) => tally)]);
  const loads = Object.assign({}, ...results.map((one) => one.loads));
  console.log("");
  for (const line of slowestLines(results.flatMap(({ timings }) => timings), loads)) console.log(line);
  console.log(`\nreports: ${options.folder}`);
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

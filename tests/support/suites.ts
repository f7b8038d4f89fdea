// The suites of the whole test run, as rows, and the start of each.

import { judge, readJunit, readTimings, type Tally, type Timing } from "./junit_summary.ts";
import { meterCpu, type RunOptions, runProgram, streamProgram } from "./child.ts";
import { findTestFiles, type LoadTimes, readLoadTimes, writeGroups } from "./test_groups.ts";

/** One `deno test` process. */
export interface Suite {
  readonly title: string;
  readonly paths: readonly string[];
  readonly ignore: readonly string[];
  /** The number of its files that run in parallel. The tests of a file run one after the other. */
  readonly jobs: number;
  /** Ends a suite that hangs. Several times the duration of the suite on a busy machine. */
  readonly timeoutMs: number;
  readonly permissions: readonly string[];
}

/** The permissions of tests: they start servers and peers on free ports in temporary directories. */
const PERMISSIONS = [
  "--allow-net",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-run",
  "--allow-sys",
] as const;
/** Playwright reads below /proc/sys when it is loaded, which the runtime allows only with all permissions. */
const BROWSER_PERMISSIONS = ["--allow-all"] as const;

/** The packages of the tests have a lock file of their own, so that a start does not install them (docs/adr/0003). */
export const TEST_LOCK = "--lock=tests/deno.lock";

/** In the order in which they run. */
export const SUITES = {
  unit: {
    title: "unit tests",
    paths: ["tests"],
    ignore: ["tests/interop", "tests/e2e", "tests/architecture", "tests/cluster"],
    // More than the cores: these tests wait for programs, deadlines and limits a third of their time.
    jobs: 3,
    timeoutMs: 1_800_000,
    permissions: PERMISSIONS,
  },
  architecture: {
    title: "architecture",
    paths: ["tests/architecture"],
    ignore: [],
    jobs: 1,
    timeoutMs: 300_000,
    permissions: PERMISSIONS,
  },
  interop: {
    title: "real peers",
    paths: ["tests/interop"],
    ignore: [],
    jobs: 1,
    timeoutMs: 1_200_000,
    permissions: PERMISSIONS,
  },
  cluster: {
    title: "several nodes",
    paths: ["tests/cluster"],
    ignore: [],
    jobs: 2,
    timeoutMs: 1_800_000,
    permissions: PERMISSIONS,
  },
  e2e: {
    title: "browser",
    paths: ["tests/e2e"],
    ignore: [],
    jobs: 2,
    timeoutMs: 4_200_000,
    permissions: BROWSER_PERMISSIONS,
  },
} as const satisfies Record<string, Suite>;

export type SuiteName = keyof typeof SUITES;

/** The outcome of one suite. */
export interface SuiteResult {
  readonly tally: Tally;
  readonly timings: readonly Timing[];
  /** Seconds that each file took to load. The first one of a group loads what the others share. */
  readonly loads: LoadTimes;
  /** Of its process and of all programs that it started and that have ended. */
  readonly cpuSeconds: number;
}

/**
 * Runs one suite in its own process. Its output is shown at once; with `isBackground`, at its end. Its report stays in
 * the folder.
 */
export async function runSuite(
  name: SuiteName,
  { folder, filter, isBackground = false }: { folder: string; filter?: string; isBackground?: boolean },
): Promise<SuiteResult> {
  const suite: Suite = SUITES[name];
  const report = `${folder}/${name}.xml`;
  const files = findTestFiles(suite.paths, suite.ignore);
  const groups = await writeGroups({ folder, suite: name, files, jobs: suite.jobs });
  const cpu = meterCpu();
  const exitCode = await (isBackground ? runSilently : streamProgram)(Deno.execPath(), {
    args: [
      "test",
      "--config=deno.json",
      // `deno task ok` checks the types of everything.
      "--no-check",
      "--quiet",
      "--no-prompt",
      TEST_LOCK,
      ...suite.permissions,
      ...(suite.jobs > 1 ? ["--parallel"] : []),
      ...(filter === undefined ? [] : [`--filter=${filter}`]),
      `--junit-path=${report}`,
      ...groups,
    ],
    env: { DENO_JOBS: String(suite.jobs) },
    timeoutMs: suite.timeoutMs,
    onStart: cpu.follow,
  });
  const cpuSeconds = cpu.stop();
  const xml = await readIfPresent(report);
  const tally = judge(xml === null ? null : readJunit(xml), { suite: suite.title, exitCode });
  return {
    // deno reports tests that a filter excludes as skipped.
    tally: filter === undefined ? tally : { ...tally, skipped: 0, skips: [] },
    timings: xml === null ? [] : readTimings(xml),
    loads: await readLoadTimes(groups),
    cpuSeconds,
  };
}

/** A new folder for the reports of a run. It stays, so that a run can be compared with an earlier one. */
export async function reportFolder(): Promise<string> {
  return await Deno.makeTempDir({ prefix: "countersign-tests-" });
}

/** Prints the output of the program after it has ended, so that it does not mix with that of another suite. */
async function runSilently(program: string, options: RunOptions): Promise<number> {
  const { code, stdout, stderr } = await runProgram(program, options);
  console.log(stdout + stderr);
  return code;
}

/** `null` when deno wrote no report. */
async function readIfPresent(path: string): Promise<string | null> {
  try {
    return await Deno.readTextFile(path);
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return null;
    throw fault;
  }
}

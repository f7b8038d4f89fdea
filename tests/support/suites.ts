// The suites of the whole test run, as rows, and the start of each.

import { judge, readJunit, type Tally } from "./junit_summary.ts";
import { type RunOptions, runProgram, streamProgram } from "./child.ts";

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

/** Runs one suite in its own process. Its output is shown at once; with `isBackground`, at its end. */
export async function runSuite(
  suite: Suite,
  options: { filter?: string; isBackground?: boolean } = {},
): Promise<Tally> {
  const scratch = await Deno.makeTempDir({ prefix: "countersign-junit-" });
  const report = `${scratch}/report.xml`;
  try {
    const exitCode = await (options.isBackground === true ? runSilently : streamProgram)(Deno.execPath(), {
      args: [
        "test",
        // `deno task ok` checks the types of everything.
        "--no-check",
        "--quiet",
        "--no-prompt",
        "--permit-no-files",
        TEST_LOCK,
        ...suite.permissions,
        ...(suite.jobs > 1 ? ["--parallel"] : []),
        ...(suite.ignore.length > 0 ? [`--ignore=${suite.ignore.join(",")}`] : []),
        ...(options.filter === undefined ? [] : [`--filter=${options.filter}`]),
        `--junit-path=${report}`,
        ...suite.paths,
      ],
      env: { DENO_JOBS: String(suite.jobs) },
      timeoutMs: suite.timeoutMs,
    });
    const tally = judge(await readReport(report), { suite: suite.title, exitCode });
    // deno reports tests that a filter excludes as skipped.
    return options.filter === undefined ? tally : { ...tally, skipped: 0, skips: [] };
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

/** Prints the output of the program after it has ended, so that it does not mix with that of another suite. */
async function runSilently(program: string, options: RunOptions): Promise<number> {
  const { code, stdout, stderr } = await runProgram(program, options);
  console.log(stdout + stderr);
  return code;
}

/** The report; empty when no file of the suite matched, `null` when deno wrote none. */
async function readReport(path: string): Promise<Tally | null> {
  try {
    return readJunit(await Deno.readTextFile(path));
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return null;
    throw fault;
  }
}

// The suites of the whole test run, as rows, and how their groups of files run side by side.

import { addTallies, judge, readJunit, readTimings, type Tally, type Timing } from "./junit_summary.ts";
import { meterCpu, runProgram } from "./child.ts";
import { findTestFiles, readFacts, type TestGroup, writeGroups } from "./test_groups.ts";

/** Test files that need the same. */
export interface Suite {
  readonly title: string;
  readonly paths: readonly string[];
  readonly ignore: readonly string[];
  readonly permissions: readonly string[];
  /** Its tests wait for programs and deadlines most of the time. */
  readonly waits: boolean;
  /** Its tests create network interfaces. When one appears on the host, browsers abort their requests (net::ERR_NETWORK_CHANGED). */
  readonly hasInterfaces: boolean;
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

/** In the order in which the results are shown. */
export const SUITES = {
  unit: {
    title: "unit tests",
    paths: ["tests"],
    // tests/prove: `deno task prove`.
    ignore: ["tests/interop", "tests/e2e", "tests/architecture", "tests/cluster", "tests/prove"],
    permissions: PERMISSIONS,
    waits: false,
    hasInterfaces: false,
  },
  architecture: {
    title: "architecture",
    paths: ["tests/architecture"],
    ignore: [],
    permissions: PERMISSIONS,
    waits: false,
    hasInterfaces: false,
  },
  e2e: {
    title: "browser",
    paths: ["tests/e2e"],
    ignore: [],
    permissions: BROWSER_PERMISSIONS,
    waits: false,
    hasInterfaces: false,
  },
  interop: {
    title: "real peers",
    paths: ["tests/interop"],
    ignore: [],
    permissions: PERMISSIONS,
    waits: true,
    hasInterfaces: true,
  },
  cluster: {
    title: "several nodes",
    paths: ["tests/cluster"],
    ignore: [],
    permissions: PERMISSIONS,
    waits: true,
    hasInterfaces: false,
  },
} as const satisfies Record<string, Suite>;

export type SuiteName = keyof typeof SUITES;

/**
 * How many jobs begin with which groups: on two cores, those that wait leave room for those that compute. A job without
 * groups of its kind continues with the other kind.
 */
const JOBS = { computing: 3, waiting: 2 } as const;
/** Ends a group that hangs. Several times the duration of the longest one on a busy machine. */
const TIMEOUT_MS = 1_800_000;

/** The outcome of a suite, or of one of its groups. */
export interface SuiteResult {
  readonly suite: SuiteName;
  readonly tally: Tally;
  readonly timings: readonly Timing[];
  /** Seconds that each file took to load. The first one of a group loads what the others share. */
  readonly loads: Readonly<Record<string, number>>;
  /** From the start to the end of each group, added up. */
  readonly seconds: number;
  /** Of its processes and of all programs that they started and that have ended. */
  readonly cpuSeconds: number;
}

/** The options of {@link runSuites}. */
export interface RunOfSuites {
  /** Where the reports stay. */
  readonly folder: string;
  /** Only tests with this in their names, or that match it when it is written /like this/. */
  readonly filter?: string | undefined;
  /** Suites that can only start when something has been built, and therefore come last. */
  readonly after?: Partial<Record<SuiteName, Promise<unknown>>>;
}

/**
 * Runs the suites. Each group is a process. The longest groups start first, so that no core idles at the end. The output
 * of a group is shown at its end.
 */
export async function runSuites(names: readonly SuiteName[], options: RunOfSuites): Promise<SuiteResult[]> {
  const { folder, after = {} } = options;
  const written = await Promise.all(names.map(async (suite) => {
    const files = findTestFiles(SUITES[suite].paths, SUITES[suite].ignore);
    return (await writeGroups({ folder, suite, files })).map((group) => ({ ...group, suite }));
  }));
  const groups = written.flat().sort((a, b) =>
    Number(a.suite in after) - Number(b.suite in after) || b.seconds - a.seconds
  );
  const waiting = groups.filter(({ suite }) => SUITES[suite].waits);
  const computing = groups.filter(({ suite }) => !SUITES[suite].waits);
  const work = async (...[first, then]: readonly (typeof groups)[]): Promise<SuiteResult[]> => {
    const results: SuiteResult[] = [];
    for (let group; (group = first?.shift() ?? then?.shift()) !== undefined;) {
      await after[group.suite];
      results.push(await runGroup(group, options));
    }
    return results;
  };
  const workers = [
    ...Array.from({ length: JOBS.computing }, () => work(computing, waiting)),
    ...Array.from({ length: JOBS.waiting }, () => work(waiting, computing)),
  ];
  const results = (await Promise.all(workers)).flat();
  return names.map((suite) => addResults(suite, results.filter((one) => one.suite === suite)));
}

async function runGroup(
  { suite, path }: TestGroup & { suite: SuiteName },
  { filter }: RunOfSuites,
): Promise<SuiteResult> {
  const report = path.replace(/_test\.ts$/, ".xml");
  const cpu = meterCpu();
  const [program, ...args] = [...SUITES[suite].hasInterfaces ? await ownNetwork() : [], Deno.execPath()];
  const { code, stdout, stderr, elapsedMs } = await runProgram(program ?? "", {
    args: [
      ...args,
      "test",
      "--config=deno.json",
      // `deno task ok` checks the types of everything.
      "--no-check",
      "--quiet",
      "--no-prompt",
      TEST_LOCK,
      ...SUITES[suite].permissions,
      ...(filter === undefined ? [] : [`--filter=${filter}`]),
      `--junit-path=${report}`,
      path,
    ],
    timeoutMs: TIMEOUT_MS,
    endsWithParent: true,
    onStart: cpu.follow,
  });
  console.log(`${stdout}${stderr}`.trim());
  const cpuSeconds = cpu.stop();
  const { loads, fileOf } = await readFacts(path);
  const xml = await readIfPresent(report);
  const tally = judge(xml === null ? null : readJunit(xml, fileOf), {
    suite: `${SUITES[suite].title}, ${path}`,
    exitCode: code,
  });
  return {
    suite,
    // deno reports tests that a filter excludes as skipped.
    tally: filter === undefined ? tally : { ...tally, skipped: 0, skips: [] },
    timings: xml === null ? [] : readTimings(xml, fileOf),
    loads,
    seconds: elapsedMs / 1000,
    cpuSeconds,
  };
}

/** Runs a program in a network namespace with a loopback interface of its own. */
const IN_NAMESPACE = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$0" "$@"'] as const;

/** Only for root, and only where programs can create interfaces. Elsewhere the tests that do so are skipped. */
async function ownNetwork(): Promise<readonly string[]> {
  const [program, ...args] = IN_NAMESPACE;
  const tried = await runProgram(program, { args: [...args, "true"] }).catch(() => null);
  return tried?.code === 0 ? IN_NAMESPACE : [];
}

function addResults(suite: SuiteName, groups: readonly SuiteResult[]): SuiteResult {
  return {
    suite,
    tally: addTallies(groups.map(({ tally }) => tally)),
    timings: groups.flatMap(({ timings }) => timings),
    loads: Object.assign({}, ...groups.map(({ loads }) => loads)),
    seconds: groups.reduce((sum, one) => sum + one.seconds, 0),
    cpuSeconds: groups.reduce((sum, one) => sum + one.cpuSeconds, 0),
  };
}

/** A new folder for the reports of a run. It stays, so that a run can be compared with an earlier one. */
export async function reportFolder(): Promise<string> {
  return await Deno.makeTempDir({ prefix: "countersign-tests-" });
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

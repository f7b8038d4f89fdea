// Groups of test files. `deno test` loads each file that it is given in a worker of its own, up to 180 modules, and runs
// them cold: a third of the time of the whole run. So the runner writes modules that import many files each, and runs
// these. A report still names the file in which a test is written. A file alone is run by `deno test`, as always.

import { fileURLToPath, pathToFileURL } from "node:url";

/**
 * About how many seconds a file takes, measured on two cores. The longest path that contains the file counts. Only
 * what is much longer than its neighbours needs a row: the longest groups of files start first.
 */
const SECONDS: Readonly<Record<string, number>> = {
  "tests": 2,
  "tests/bench/identity/report_test.ts": 20,
  "tests/cli/import_beside_gateway_test.ts": 20,
  "tests/cli/tasks_test.ts": 20,
  "tests/cluster": 30,
  "tests/cluster/failover_test.ts": 55,
  "tests/console/access_test.ts": 10,
  "tests/console/audited_actions_test.ts": 12,
  "tests/e2e": 25,
  "tests/e2e/pages_narrow_test.ts": 120,
  "tests/e2e/pages_wide_test.ts": 150,
  "tests/fault_injection": 15,
  "tests/interop": 40,
  "tests/interop/combined_attack_test.ts": 60,
  "tests/interop/deliveries_test.ts": 65,
  "tests/interop/eap_gtc_test.ts": 5,
  "tests/interop/first_factor_test.ts": 5,
  "tests/interop/ldap_login_test.ts": 5,
  "tests/interop/logins_test.ts": 100,
  "tests/interop/shadow_test.ts": 5,
  "tests/interop/try_methods_test.ts": 5,
  "tests/packaging/debian_package_test.ts": 15,
  "tests/radius/relay/relay_test.ts": 20,
  "tests/radius/rows": 6,
  "tests/scim/directory": 4,
  "tests/scim/v2/suites": 10,
  "tests/security": 25,
  "tests/security/login_attacks_test.ts": 40,
};
/** Long enough to load shared modules rarely, and so short that all jobs end at about the same time. */
const SECONDS_OF_GROUP = 100;

/** A module that imports test files. */
export interface TestGroup {
  readonly path: string;
  readonly files: readonly string[];
  /** Its estimated duration. */
  readonly seconds: number;
}

/** The test files below the paths, sorted. A path may be a file. */
export function findTestFiles(paths: readonly string[], ignore: readonly string[] = []): string[] {
  const files: string[] = [];
  const visit = (path: string): void => {
    if (ignore.includes(path)) return;
    if (!Deno.statSync(path).isDirectory) return void files.push(path);
    for (const entry of Deno.readDirSync(path)) {
      if (entry.isDirectory || entry.name.endsWith("_test.ts")) visit(`${path}/${entry.name}`);
    }
  };
  for (const path of paths) visit(path);
  return files.sort();
}

/** A file has this line when it changes state of a module for all its tests, for example the language of the pages. */
const GROUP_MARK = /^\/\/ Group: (\w+)$/m;

/**
 * The same files are always in the same groups: neighbours, because they share most modules. Files with a mark are in the
 * group that the mark names, and no others.
 */
export function groupFiles(files: readonly string[], markOf = readMark): string[][] {
  const groups: string[][] = [];
  for (const [, marked] of Map.groupBy(files, markOf)) {
    let group: string[] = [];
    for (const file of marked) {
      if (group.length > 0 && secondsOf([...group, file]) > SECONDS_OF_GROUP) groups.push(group), group = [];
      group.push(file);
    }
    groups.push(group);
  }
  return groups;
}

const readMark = (file: string): string => GROUP_MARK.exec(Deno.readTextFileSync(file))?.[1] ?? "";

function secondsOf(files: readonly string[]): number {
  return files.reduce((sum, file) => {
    let path = file;
    while (path.includes("/") && SECONDS[path] === undefined) path = path.slice(0, path.lastIndexOf("/"));
    return sum + (SECONDS[path] ?? 1);
  }, 0);
}

/** Writes the groups of a suite into a folder. */
export async function writeGroups(
  { folder, suite, files }: { folder: string; suite: string; files: readonly string[] },
): Promise<TestGroup[]> {
  const here = import.meta.url;
  return await Promise.all(
    groupFiles(files).map(async (group, index) => {
      const path = `${folder}/${suite}_${String(index + 1).padStart(2, "0")}_test.ts`;
      const lines = group.map((file) => {
        const url = JSON.stringify(pathToFileURL(Deno.realPathSync(file)).href);
        return `  [${JSON.stringify(file)}, () => import(${url})],\n`;
      });
      await Deno.writeTextFile(
        path,
        `import { loadGroup } from ${JSON.stringify(here)};\nawait loadGroup(import.meta.url, [\n${
          lines.join("")
        }]);\n`,
      );
      return { path, files: group, seconds: secondsOf(group) };
    }),
  );
}

/** What a group notes about its files while it loads them. */
interface GroupFacts {
  /** How many seconds each file took to load. The first files load what the others share. */
  readonly loads: Record<string, number>;
  /** The files of the tests that a helper registers, by their names: a report names the module that registers them. */
  readonly registered: Record<string, string>;
}

/** Called by a group. A file that cannot be loaded is one failed test; the others run. */
export async function loadGroup(
  group: string,
  files: readonly (readonly [file: string, load: () => Promise<unknown>])[],
): Promise<void> {
  const facts: GroupFacts = { loads: {}, registered: {} };
  let current = "";
  noteTests((name) => facts.registered[name] = current);
  for (const [file, load] of files) {
    current = file;
    const startedMs = performance.now();
    try {
      await load();
    } catch (fault) {
      Deno.test(`${file} can be loaded`, () => Promise.reject(fault));
    }
    facts.loads[file] = (performance.now() - startedMs) / 1000;
  }
  await Deno.writeTextFile(factsFile(fileURLToPath(group)), JSON.stringify(facts));
}

/** Calls back with the name of each test that is registered in another module than a test file. */
function noteTests(note: (name: string) => void): void {
  const test = Deno.test;
  const noting = new Proxy(test, {
    apply(target, self, args) {
      note(typeof args[0] === "string" ? args[0] : args[0].name);
      return Reflect.apply(target, self, args);
    },
  });
  // The report has the place of the call, which is here for a noted test, so the others are not noted.
  const isInTestFile = () => /_test\.ts:/.test(new Error().stack?.split("\n")[3] ?? "");
  Object.defineProperty(Deno, "test", { get: () => isInTestFile() ? test : noting });
}

/** What a group noted. One that did not load noted nothing. */
export async function readFacts(
  group: string,
): Promise<{ loads: Readonly<Record<string, number>>; fileOf: (place: string, test: string) => string }> {
  let facts: GroupFacts = { loads: {}, registered: {} };
  try {
    facts = JSON.parse(await Deno.readTextFile(factsFile(group)));
  } catch (fault) {
    if (!(fault instanceof Deno.errors.NotFound)) throw fault;
  }
  return {
    loads: facts.loads,
    fileOf(place, test) {
      const names = test.split(" > ").map((_, index, all) => all.slice(0, all.length - index).join(" > "));
      const known = place.endsWith("_test.ts") ? undefined : names.find((name) => name in facts.registered);
      return known === undefined ? place : facts.registered[known] ?? place;
    },
  };
}

const factsFile = (group: string): string => `${group}.facts.json`;

// Groups of test files. `deno test` loads each file that it is given in a worker of its own, up to 180 modules, and runs
// them cold: a third of the time of the whole run. So the runner writes modules that import about twenty files each, and
// runs these. A report still names the file in which a test is written. A file alone is run by `deno test`, as always.

import { fileURLToPath, pathToFileURL } from "node:url";

/** Large enough to load shared modules rarely. */
const MOST_FILES = 20;
/** Enough groups for each job that parallel jobs end at about the same time. */
const GROUPS_PER_JOB = 6;

/** How many seconds each file took to load. The first files of a group load what the others share. */
export type LoadTimes = Readonly<Record<string, number>>;

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
export function groupFiles(files: readonly string[], jobs: number, markOf = readMark): string[][] {
  const marked = Map.groupBy(files, markOf);
  const plain = marked.get("") ?? [];
  marked.delete("");
  const mostFiles = Math.min(MOST_FILES, Math.ceil(plain.length / (jobs * GROUPS_PER_JOB)));
  const groups = Math.ceil(plain.length / mostFiles);
  const size = Math.ceil(plain.length / groups);
  return [
    ...Array.from({ length: groups }, (_, index) => plain.slice(index * size, (index + 1) * size)),
    ...marked.values(),
  ];
}

const readMark = (file: string): string => GROUP_MARK.exec(Deno.readTextFileSync(file))?.[1] ?? "";

/** Writes the groups of a suite into a folder. @returns their paths, in order */
export async function writeGroups(
  { folder, suite, files, jobs }: { folder: string; suite: string; files: readonly string[]; jobs: number },
): Promise<string[]> {
  const here = import.meta.url;
  return await Promise.all(
    groupFiles(files, jobs).map(async (group, index) => {
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
      return path;
    }),
  );
}

/** Called by a group. A file that cannot be loaded is one failed test; the others run. */
export async function loadGroup(
  group: string,
  files: readonly (readonly [file: string, load: () => Promise<unknown>])[],
): Promise<void> {
  const times: Record<string, number> = {};
  for (const [file, load] of files) {
    const startedMs = performance.now();
    try {
      await load();
    } catch (fault) {
      Deno.test(`${file} can be loaded`, () => Promise.reject(fault));
    }
    times[file] = (performance.now() - startedMs) / 1000;
  }
  await Deno.writeTextFile(loadsFile(fileURLToPath(group)), JSON.stringify(times));
}

/** What the groups wrote. A group that did not load is left out. */
export async function readLoadTimes(groups: readonly string[]): Promise<LoadTimes> {
  const read = async (group: string): Promise<LoadTimes> => {
    try {
      return JSON.parse(await Deno.readTextFile(loadsFile(group)));
    } catch (fault) {
      if (fault instanceof Deno.errors.NotFound) return {};
      throw fault;
    }
  };
  return Object.assign({}, ...await Promise.all(groups.map(read)));
}

const loadsFile = (group: string): string => `${group}.loads.json`;

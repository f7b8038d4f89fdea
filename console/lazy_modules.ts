// Checks the lazy modules of the console (loaded on demand, by a dynamic import), so that the build fails instead of bundling them wrongly.

import { roomOf, ROOMS } from "./rooms.ts";

/** A module of the console. `path`: below `web/`. */
export interface WebModule {
  readonly path: string;
  readonly text: string;
}

const ENTRY = "main.tsx";
const PAGE = /^pages\/(\w+)_page\.tsx$/;
/** Shown at the address of any page while there is no session. */
const PAGES_WITHOUT_PLACE: readonly string[] = ["sign_in"];
const COMMENT = /^\s*(?:\/\/|\/?\*).*$/gm;
const DYNAMIC = /\bimport\(/g;
/** The one form that the build reads: one literal path, on the line of its `import(`. */
const READABLE = /^import\("([^"\n]{1,200})"\)/;
const STATIC = /^(?:import|export)\b(?! type\b)[^;]*?"(\.[^"\n]{1,200})"/gm;

interface Imports {
  /** Paths below `web/`. */
  readonly eager: readonly string[];
  readonly lazy: readonly string[];
  /** Lines with an `import(` that the build cannot read. */
  readonly unreadable: readonly number[];
}

/**
 * One sentence for each module that would be in the wrong file, or in no file that a page loads.
 *
 * @param places the names of the pages in `web/places.ts`.
 */
export function lazyModuleProblems(modules: readonly WebModule[], places: readonly string[]): string[] {
  const imports = new Map(modules.map((module) => [module.path, readImports(module)]));
  const reached = reachedFrom(ENTRY, imports);
  const lazyModules = new Set<string>();
  const problems: string[] = [];
  for (const [path, { lazy, unreadable }] of imports) {
    for (const line of unreadable) {
      problems.push(
        `web/${path}:${line} has an import() that the build cannot read. Write import("./path.tsx") with one literal path, on one line.`,
      );
    }
    for (const target of lazy) {
      if (reached.has(path)) lazyModules.add(target);
      else {problems.push(
          `web/${path} loads web/${target} on demand, but no page imports web/${path}. Remove it, or import it from a page.`,
        );}
      if (!imports.has(target)) {
        problems.push(`web/${path} loads web/${target} on demand, which does not exist.`);
      }
    }
  }
  for (const path of lazyModules) problems.push(...moduleProblems(path, places));
  return [...problems, ...staleRows(lazyModules)];
}

function moduleProblems(path: string, places: readonly string[]): string[] {
  const page = PAGE.exec(path)?.[1];
  if (page !== undefined) {
    return places.includes(page) || PAGES_WITHOUT_PLACE.includes(page) ? [] : [
      `web/${path} is not listed in web/places.ts. Add the page "${page}" there, or remove the file.`,
    ];
  }
  return roomOf(path) !== null ? [] : [
    `web/${path} is a lazy module, but no row of rooms.ts lists it. Add it to the row of the page that loads it, or to dialogs.`,
  ];
}

/** Modules in `rooms.ts` that are not loaded on demand. */
function staleRows(lazyModules: ReadonlySet<string>): string[] {
  const stems = new Set([...lazyModules].map((path) => path.replace(/\.tsx?$/, "")));
  return Object.entries(ROOMS).flatMap(([page, { of }]) =>
    of.filter((stem) => !stems.has(stem)).map((stem) =>
      `The row ${page} of rooms.ts lists ${stem}, which is not loaded on demand. Remove it from the row.`
    )
  );
}

function readImports({ path, text }: WebModule): Imports {
  const code = text.replace(COMMENT, "");
  const lazy: string[] = [];
  const unreadable: number[] = [];
  for (const { index } of code.matchAll(DYNAMIC)) {
    const target = READABLE.exec(code.slice(index, index + 300))?.[1];
    if (target === undefined) unreadable.push(code.slice(0, index).split("\n").length);
    // Packages are files of their own.
    else if (target.startsWith(".")) lazy.push(resolve(target, path));
  }
  const eager = [...code.matchAll(STATIC)].map(([, target = ""]) => resolve(target, path));
  return { eager, lazy, unreadable };
}

function resolve(target: string, from: string): string {
  return new URL(target, `file:///${from}`).pathname.slice(1);
}

function reachedFrom(entry: string, imports: ReadonlyMap<string, Imports>): ReadonlySet<string> {
  const reached = new Set([entry]);
  for (const path of reached) {
    const { eager = [], lazy = [] } = imports.get(path) ?? {};
    for (const target of [...eager, ...lazy]) reached.add(target);
  }
  return reached;
}

/** All modules below `folder`, which ends in a slash. */
export async function readWebModules(folder: string, prefix = ""): Promise<WebModule[]> {
  const modules: WebModule[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder + prefix)) {
    const path = prefix + name;
    if (isDirectory) modules.push(...await readWebModules(folder, `${path}/`));
    else if (/\.tsx?$/.test(name)) modules.push({ path, text: await Deno.readTextFile(folder + path) });
  }
  return modules.toSorted((a, b) => a.path < b.path ? -1 : 1);
}

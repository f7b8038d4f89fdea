// Checks the modules of the console that are fetched later, so that the build fails instead of cutting its files wrongly.

import { roomOf, ROOMS } from "./rooms.ts";

/** A module of the console. `path`: below `web/`. */
export interface WebModule {
  readonly path: string;
  readonly text: string;
}

const ENTRY = "main.tsx";
const PAGE = /^pages\/(\w+)_page\.tsx$/;
/** Shown at the address of any place while no session is there. */
const PAGES_WITHOUT_PLACE: readonly string[] = ["sign_in"];
const COMMENT = /^\s*(?:\/\/|\/?\*).*$/gm;
const DYNAMIC = /\bimport\(/g;
/** The one form that the build reads: one literal path, on the line of its `import(`. */
const READABLE = /^import\("([^"\n]{1,200})"\)/;
const STATIC = /^(?:import|export)\b(?! type\b)[^;]*?"(\.[^"\n]{1,200})"/gm;

interface Imports {
  /** Paths below `web/`. */
  readonly now: readonly string[];
  readonly later: readonly string[];
  /** Lines with an `import(` that the build cannot read. */
  readonly unreadable: readonly number[];
}

/**
 * One sentence for each module that would be in the wrong file, or in none that a page fetches.
 *
 * @param places the names of the places in `web/places.ts`.
 */
export function lateProblems(modules: readonly WebModule[], places: readonly string[]): string[] {
  const imports = new Map(modules.map((module) => [module.path, readImports(module)]));
  const reached = reachedFrom(ENTRY, imports);
  const late = new Set<string>();
  const problems: string[] = [];
  for (const [path, { later, unreadable }] of imports) {
    for (const line of unreadable) {
      problems.push(
        `web/${path}:${line} has an import() that the build cannot read. Write import("./path.tsx") with one literal path, on one line.`,
      );
    }
    for (const target of later) {
      if (reached.has(path)) late.add(target);
      else {problems.push(
          `web/${path} fetches web/${target} later, but no place needs web/${path}. Remove it, or import it from a page.`,
        );}
      if (!imports.has(target)) {
        problems.push(`web/${path} fetches web/${target} later, which does not exist.`);
      }
    }
  }
  for (const path of late) problems.push(...moduleProblems(path, places));
  return [...problems, ...staleRows(late)];
}

function moduleProblems(path: string, places: readonly string[]): string[] {
  const page = PAGE.exec(path)?.[1];
  if (page !== undefined) {
    return places.includes(page) || PAGES_WITHOUT_PLACE.includes(page) ? [] : [
      `web/${path} is the page of no place. Add the place "${page}" to web/places.ts, or remove the page.`,
    ];
  }
  return roomOf(path) !== null ? [] : [
    `web/${path} is fetched later, but no room in rooms.ts names it. Add it to the room of the page that needs it, or to dialogs.`,
  ];
}

/** Modules that rooms name and that nothing fetches later. */
function staleRows(late: ReadonlySet<string>): string[] {
  const stems = new Set([...late].map((path) => path.replace(/\.tsx?$/, "")));
  return Object.entries(ROOMS).flatMap(([room, { of }]) =>
    of.filter((stem) => !stems.has(stem)).map((stem) =>
      `The room ${room} in rooms.ts names ${stem}, which nothing fetches later. Remove it from the room.`
    )
  );
}

function readImports({ path, text }: WebModule): Imports {
  const code = text.replace(COMMENT, "");
  const later: string[] = [];
  const unreadable: number[] = [];
  for (const { index } of code.matchAll(DYNAMIC)) {
    const target = READABLE.exec(code.slice(index, index + 300))?.[1];
    if (target === undefined) unreadable.push(code.slice(0, index).split("\n").length);
    // Packages are files of their own.
    else if (target.startsWith(".")) later.push(resolve(target, path));
  }
  const now = [...code.matchAll(STATIC)].map(([, target = ""]) => resolve(target, path));
  return { now, later, unreadable };
}

function resolve(target: string, from: string): string {
  return new URL(target, `file:///${from}`).pathname.slice(1);
}

function reachedFrom(entry: string, imports: ReadonlyMap<string, Imports>): ReadonlySet<string> {
  const reached = new Set([entry]);
  for (const path of reached) {
    const { now = [], later = [] } = imports.get(path) ?? {};
    for (const target of [...now, ...later]) reached.add(target);
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

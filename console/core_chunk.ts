// Makes the build write few files. esbuild splits the code by which entry points import it, so lazy modules are loaded by the
// rows of rooms.ts, and each row imports the modules that many pages share.

import type { Plugin } from "esbuild";
import { lazyModuleProblems, readWebModules } from "./lazy_modules.ts";
import { type Core, type RoomName, roomOf, ROOMS } from "./rooms.ts";
import { PLACES } from "./web/places.ts";

const IS_MODULE = /\.tsx?$/;
const LAZY_IMPORT = /\bimport\("(\.[^"]{1,200})"\)/g;
/** The usual case: one exported name and nothing else, which needs no object around the names of the row. */
const LAZY_IMPORT_OF_ONE_NAME = /\(await import\("(\.[^"]{1,200})"\)\)\.(\w+)/g;
const EXPORTED = /^export (?:default )?(?:async )?(?:function|class|const) (\w+)/gm;
const PASSED_ON = /^export \{ ([^}]+) \} from/gm;
const IS_DEFAULT = /^export default /m;
const ROOM = "room";
/** What pages without a row use. */
const ALONE: readonly Core[] = ["main", "list_core", "table_core"];

/** The lazy modules by path, each with the names that it exports. */
type LazyModules = ReadonlyMap<string, readonly string[]>;

/** @param web the folder of `main.tsx` and of the cores, with its slash. */
export function coreChunk(web: string): Plugin {
  return {
    name: "core",
    setup(build) {
      let lazy: LazyModules = new Map();
      build.onStart(async () => {
        const problems = lazyModuleProblems(await readWebModules(web), Object.keys(PLACES));
        if (problems.length > 0) {
          return { errors: problems.map((text) => ({ text: `Cannot build: ${text}` })) };
        }
        lazy = await readLazyModules(web);
        return null;
      });
      build.onResolve({ filter: /^room:/ }, ({ path }) => ({ path: path.slice(5), namespace: ROOM }));
      build.onLoad({ filter: /.*/, namespace: ROOM }, ({ path }) => ({
        contents: roomText(path as RoomName, { web, lazy }),
        loader: "ts",
        resolveDir: web,
      }));
      build.onLoad({ filter: IS_MODULE }, async ({ path }) => {
        if (!path.startsWith(web)) return null;
        const text = throughRooms(await Deno.readTextFile(path), { path, web, lazy });
        const isAlone = path.endsWith("x") && lazy.has(path) && roomOf(path.slice(web.length)) === null;
        return {
          contents: isAlone ? `${text}\n${coreImports(web, ALONE)}` : text,
          loader: path.endsWith("x") ? "tsx" : "ts",
        };
      });
    },
  };
}

/** The modules of each row by path below `web/`; esbuild names a row's file by its entry point, `room:live`. */
export async function roomMembers(web: string): Promise<Record<string, readonly string[]>> {
  const members: Record<string, string[]> = {};
  for (const path of (await readLazyModules(web)).keys()) {
    const name = roomOf(path.slice(web.length));
    if (name !== null) (members[`${ROOM}:${name}`] ??= []).push(path.slice(web.length));
  }
  return members;
}

/** A module that exports all names of a row's modules, each with the module's name before it. */
function roomText(name: RoomName, { web, lazy }: { web: string; lazy: LazyModules }): string {
  const members = [...lazy].filter(([path]) => roomOf(path.slice(web.length)) === name);
  const exports = members.map(([path, names]) => {
    const list = names.map((one) => `${one} as ${stemOf(path)}_${one}`);
    return `export { ${list.join(", ")} } from ${JSON.stringify(path)};`;
  });
  return [...exports, coreImports(web, ROOMS[name].cores)].join("\n");
}

/** Replaces the lazy imports of a module by imports of the rows that contain them. */
function throughRooms(
  text: string,
  { path, web, lazy }: { path: string; web: string; lazy: LazyModules },
): string {
  const placeOf = (target: string) => {
    const found = resolved(target, path);
    return { found, name: roomOf(found.slice(web.length)) };
  };
  const short = text.replace(LAZY_IMPORT_OF_ONE_NAME, (whole, target: string, one: string) => {
    const { found, name } = placeOf(target);
    return name === null ? whole : `(await import("${ROOM}:${name}")).${stemOf(found)}_${one}`;
  });
  return short.replace(LAZY_IMPORT, (whole, target: string) => {
    const { found, name } = placeOf(target);
    if (name === null) return whole;
    const parts = (lazy.get(found) ?? []).map((one) => `${one}: room.${stemOf(found)}_${one}`);
    return `import("${ROOM}:${name}").then((room) => ({ ${parts.join(", ")} }))`;
  });
}

function coreImports(web: string, cores: readonly Core[]): string {
  return cores.map((core) => `import ${JSON.stringify(web + CORE_FILES[core])};`).join("\n");
}

const CORE_FILES: Readonly<Record<Core, string>> = {
  main: "main.tsx",
  list_core: "cores/lists.ts",
  table_core: "cores/tables.ts",
  listing_core: "cores/listings.ts",
  field_core: "cores/fields.ts",
  dialog_core: "cores/dialogs.ts",
  people_core: "cores/people.ts",
  people_list_core: "cores/people_lists.ts",
  profile_core: "cores/profiles.ts",
  connect_core: "cores/connect.ts",
  access_core: "cores/access.ts",
  live_core: "cores/live.ts",
  login_core: "cores/logins.ts",
  gate_core: "cores/gate.ts",
};

function stemOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1).replace(IS_MODULE, "");
}

function resolved(target: string, from: string): string {
  return decodeURIComponent(new URL(target, `file://${from}`).pathname);
}

/** All modules that a module below `web` loads with `import()`, in the order of their paths. */
export async function readLazyModules(web: string): Promise<LazyModules> {
  const paths = [...await lazyPaths(web)].toSorted();
  return new Map(await Promise.all(paths.map(async (path) => [path, await exportsOf(path)] as const)));
}

/** Throws, and so ends the build, for a module that exports nothing that can be seen. */
async function exportsOf(path: string): Promise<string[]> {
  const text = await Deno.readTextFile(path);
  if (IS_DEFAULT.test(text)) return ["default"];
  const passedOn = [...text.matchAll(PASSED_ON)].flatMap(([, names = ""]) => names.split(", "));
  const names = [...[...text.matchAll(EXPORTED)].map(([, name = ""]) => name), ...passedOn];
  if (names.length === 0) throw new Error(`Cannot load ${path} on demand: it exports nothing`);
  return names;
}

/** The paths of all modules that a module below `folder` loads with `import()`. */
async function lazyPaths(folder: string): Promise<Set<string>> {
  const found = new Set<string>();
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = folder + name;
    if (isDirectory) {
      for (const one of await lazyPaths(`${path}/`)) found.add(one);
    } else if (IS_MODULE.test(name)) {
      for (const [, target = ""] of (await Deno.readTextFile(path)).matchAll(LAZY_IMPORT)) {
        found.add(resolved(target, path));
      }
    }
  }
  return found;
}

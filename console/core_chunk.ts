// Makes the build cut few files: esbuild cuts by who reaches what, so modules that are fetched later are fetched by rooms
// (rooms.ts), and each of these is made to reach the cores that many use.

import type { Plugin } from "esbuild";
import { lateProblems, readWebModules } from "./late_modules.ts";
import { type Core, type RoomName, roomOf, ROOMS } from "./rooms.ts";
import { PLACES } from "./web/places.ts";

const IS_MODULE = /\.tsx?$/;
const FETCHED_LATER = /\bimport\("(\.[^"]{1,200})"\)/g;
/** The usual case: one name of it and nothing else, which needs no object around the room's names. */
const ONE_NAME_LATER = /\(await import\("(\.[^"]{1,200})"\)\)\.(\w+)/g;
const EXPORTED = /^export (?:default )?(?:async )?(?:function|class|const) (\w+)/gm;
const PASSED_ON = /^export \{ ([^}]+) \} from/gm;
const IS_DEFAULT = /^export default /m;
const ROOM = "room";
/** What pages use that have no room. */
const ALONE: readonly Core[] = ["main", "list_core", "table_core"];

/** A module that is fetched later, and the names that it exports. */
type Late = ReadonlyMap<string, readonly string[]>;

/** @param web the folder of `main.tsx` and of the cores, with its slash. */
export function coreChunk(web: string): Plugin {
  return {
    name: "core",
    setup(build) {
      let late: Late = new Map();
      build.onStart(async () => {
        const problems = lateProblems(await readWebModules(web), Object.keys(PLACES));
        if (problems.length > 0) {
          return { errors: problems.map((text) => ({ text: `Cannot build: ${text}` })) };
        }
        late = await readLate(web);
        return null;
      });
      build.onResolve({ filter: /^room:/ }, ({ path }) => ({ path: path.slice(5), namespace: ROOM }));
      build.onLoad({ filter: /.*/, namespace: ROOM }, ({ path }) => ({
        contents: roomText(path as RoomName, { web, late }),
        loader: "ts",
        resolveDir: web,
      }));
      build.onLoad({ filter: IS_MODULE }, async ({ path }) => {
        if (!path.startsWith(web)) return null;
        const text = throughRooms(await Deno.readTextFile(path), { path, web, late });
        const isAlone = path.endsWith("x") && late.has(path) && roomOf(path.slice(web.length)) === null;
        return {
          contents: isAlone ? `${text}\n${coreImports(web, ALONE)}` : text,
          loader: path.endsWith("x") ? "tsx" : "ts",
        };
      });
    },
  };
}

/** The modules of a room by path below `web/`; esbuild names the room's file by its entry point, `room:live`. */
export async function roomMembers(web: string): Promise<Record<string, readonly string[]>> {
  const members: Record<string, string[]> = {};
  for (const path of (await readLate(web)).keys()) {
    const name = roomOf(path.slice(web.length));
    if (name !== null) (members[`${ROOM}:${name}`] ??= []).push(path.slice(web.length));
  }
  return members;
}

/** A module that has what the room's modules export, each under a name that tells from where. */
function roomText(name: RoomName, { web, late }: { web: string; late: Late }): string {
  const members = [...late].filter(([path]) => roomOf(path.slice(web.length)) === name);
  const exports = members.map(([path, names]) => {
    const list = names.map((one) => `${one} as ${stemOf(path)}_${one}`);
    return `export { ${list.join(", ")} } from ${JSON.stringify(path)};`;
  });
  return [...exports, coreImports(web, ROOMS[name].cores)].join("\n");
}

/** Has what a module fetches later be fetched as a part of its room. */
function throughRooms(text: string, { path, web, late }: { path: string; web: string; late: Late }): string {
  const placeOf = (target: string) => {
    const found = resolved(target, path);
    return { found, name: roomOf(found.slice(web.length)) };
  };
  const short = text.replace(ONE_NAME_LATER, (whole, target: string, one: string) => {
    const { found, name } = placeOf(target);
    return name === null ? whole : `(await import("${ROOM}:${name}")).${stemOf(found)}_${one}`;
  });
  return short.replace(FETCHED_LATER, (whole, target: string) => {
    const { found, name } = placeOf(target);
    if (name === null) return whole;
    const parts = (late.get(found) ?? []).map((one) => `${one}: room.${stemOf(found)}_${one}`);
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

/** All modules that some module below `web` fetches by `import()`, in the order of their paths. */
export async function readLate(web: string): Promise<Late> {
  const paths = [...await fetchedLater(web)].toSorted();
  return new Map(await Promise.all(paths.map(async (path) => [path, await exportsOf(path)] as const)));
}

/** Throws, and so ends the build, for a module that exports nothing that can be seen. */
async function exportsOf(path: string): Promise<string[]> {
  const text = await Deno.readTextFile(path);
  if (IS_DEFAULT.test(text)) return ["default"];
  const passedOn = [...text.matchAll(PASSED_ON)].flatMap(([, names = ""]) => names.split(", "));
  const names = [...[...text.matchAll(EXPORTED)].map(([, name = ""]) => name), ...passedOn];
  if (names.length === 0) throw new Error(`Cannot fetch ${path} later: it exports nothing`);
  return names;
}

/** The paths of all modules that some module below `folder` fetches by `import()`. */
async function fetchedLater(folder: string): Promise<Set<string>> {
  const found = new Set<string>();
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = folder + name;
    if (isDirectory) {
      for (const one of await fetchedLater(`${path}/`)) found.add(one);
    } else if (IS_MODULE.test(name)) {
      for (const [, target = ""] of (await Deno.readTextFile(path)).matchAll(FETCHED_LATER)) {
        found.add(resolved(target, path));
      }
    }
  }
  return found;
}

// Makes the build cut few files: esbuild cuts by who reaches what, so modules that are fetched later are fetched by rooms
// (rooms.ts), and each of these is made to reach the cores that many use.

import type { Plugin } from "esbuild";
import { type Core, type RoomName, roomOf, ROOMS } from "./rooms.ts";

const IS_MODULE = /\.tsx?$/;
const FETCHED_LATER = /\bimport\("(\.[^"]{1,200})"\)/g;
const ROOM = "room";
/** What pages use that have no room. */
const ALONE: readonly Core[] = ["core", "list_core", "table_core"];

/** @param web the folder of `core.ts`, `list_core.ts` and `table_core.ts`, with its slash. */
export function coreChunk(web: string): Plugin {
  return {
    name: "core",
    setup(build) {
      let late: readonly string[] = [];
      build.onStart(async () => {
        late = [...await fetchedLater(web)].toSorted();
      });
      build.onResolve({ filter: /^room:/ }, ({ path }) => ({ path: path.slice(5), namespace: ROOM }));
      build.onLoad({ filter: /.*/, namespace: ROOM }, ({ path }) => ({
        contents: roomText(path as RoomName, { web, late }),
        loader: "ts",
        resolveDir: web,
      }));
      build.onLoad({ filter: IS_MODULE }, async ({ path }) => {
        if (!path.startsWith(web)) return null;
        const text = throughRooms(await Deno.readTextFile(path), { path, web });
        const isAlone = path.endsWith("x") && late.includes(path) && roomOf(path.slice(web.length)) === null;
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
  for (const path of await fetchedLater(web)) {
    const name = roomOf(path.slice(web.length));
    if (name !== null) (members[`${ROOM}:${name}`] ??= []).push(path.slice(web.length));
  }
  return members;
}

/** A module that has the room's modules by their names. */
function roomText(name: RoomName, { web, late }: { web: string; late: readonly string[] }): string {
  const members = late.filter((path) => roomOf(path.slice(web.length)) === name);
  const exports = members.map((path) => `export * as ${stemOf(path)} from ${JSON.stringify(path)};`);
  return [...exports, coreImports(web, ROOMS[name].cores)].join("\n");
}

/** Has what a module fetches later be fetched as a part of its room. */
function throughRooms(text: string, { path, web }: { path: string; web: string }): string {
  return text.replace(FETCHED_LATER, (whole, target: string) => {
    const found = resolved(target, path);
    const name = roomOf(found.slice(web.length));
    return name === null ? whole : `import("${ROOM}:${name}").then((room) => room.${stemOf(found)})`;
  });
}

function coreImports(web: string, cores: readonly Core[]): string {
  return cores.map((core) => `import ${JSON.stringify(`${web}${core}.ts`)};`).join("\n");
}

function stemOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1).replace(IS_MODULE, "");
}

function resolved(target: string, from: string): string {
  return decodeURIComponent(new URL(target, `file://${from}`).pathname);
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

// Makes the build put what nearly every page uses into one file: esbuild cuts by who reaches what, so each module that is
// fetched later is made to reach the core.

import type { Plugin } from "esbuild";

/** What comes later without lists and forms: it brings what it needs itself. */
const WITHOUT_LISTS = /\/(live_page|toasts)\.tsx$/;
/** Pages that are a list above all, and parts that are. */
const TABLES =
  /\/((users|history|charts|health|groups|devices|clients|targets|credentials|audit)_page|admin_list|token_list|own_sessions)\.tsx$/;
const IS_MODULE = /\.tsx?$/;
const FETCHED_LATER = /\bimport\("(\.[^"]{1,200})"\)/g;

/** @param web the folder of `core.ts`, `list_core.ts` and `table_core.ts`, with its slash. */
export function coreChunk(web: string): Plugin {
  const coresOf = (path: string) => [
    "core.ts",
    ...(WITHOUT_LISTS.test(path) ? [] : ["list_core.ts"]),
    ...(TABLES.test(path) ? ["table_core.ts"] : []),
  ];
  return {
    name: "core",
    setup(build) {
      let late: ReadonlySet<string> = new Set();
      build.onStart(async () => {
        late = await fetchedLater(web);
      });
      build.onLoad({ filter: IS_MODULE }, async ({ path }) => {
        if (!late.has(path)) return null;
        const imports = coresOf(path).map((core) => `import ${JSON.stringify(web + core)};`);
        const contents = [await Deno.readTextFile(path), ...imports, ""].join("\n");
        return { contents, loader: path.endsWith("x") ? "tsx" : "ts" };
      });
    },
  };
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
        found.add(decodeURIComponent(new URL(target, `file://${path}`).pathname));
      }
    }
  }
  return found;
}

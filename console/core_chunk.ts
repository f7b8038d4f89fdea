// Makes the build put what nearly every page uses into one file: esbuild cuts by who reaches what, so each module that is
// fetched later is made to reach the core.

import type { Plugin } from "esbuild";

/** Words import nothing, and are best left so. */
const STANDS_ALONE = /\/words\//;
const DONE = { asked: true };

/** Pages without lists: they bring what they need themselves. */
const WITHOUT_LISTS = /\/(live|conversation|dropped|charts|sign_in|set_up)_page\.tsx$/;
const IS_PAGE = /_page\.tsx$/;

/** @param web the folder of `core.ts` and `list_core.ts`, with its slash. */
export function coreChunk(web: string): Plugin {
  const coresOf = (path: string) =>
    IS_PAGE.test(path) && !WITHOUT_LISTS.test(path) ? ["core.ts", "list_core.ts"] : ["core.ts"];
  return {
    name: "core",
    setup(build) {
      build.onResolve({ filter: /^\./ }, async (args) => {
        if (args.kind !== "dynamic-import" || args.pluginData === DONE || STANDS_ALONE.test(args.path)) {
          return null;
        }
        const { kind, importer, resolveDir } = args;
        const found = await build.resolve(args.path, { kind, importer, resolveDir, pluginData: DONE });
        return {
          path: found.path,
          errors: found.errors,
          pluginData: { late: !STANDS_ALONE.test(found.path) },
        };
      });
      build.onLoad({ filter: /\.tsx?$/ }, async (args) => {
        if (args.pluginData?.late !== true) return null;
        const imports = coresOf(args.path).map((core) => `import ${JSON.stringify(web + core)};`);
        const contents = [await Deno.readTextFile(args.path), ...imports, ""].join("\n");
        return { contents, loader: args.path.endsWith("x") ? "tsx" : "ts" };
      });
    },
  };
}

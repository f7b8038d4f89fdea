// Makes the build put what nearly every page uses into one file: esbuild cuts by who reaches what, so each module that is
// fetched later is made to reach the core.

import type { Plugin } from "esbuild";

/** Words import nothing, and are best left so. */
const STANDS_ALONE = /\/words\//;
const DONE = { asked: true };

/** @param core the path of the module that imports the core. */
export function coreChunk(core: string): Plugin {
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
        const contents = `${await Deno.readTextFile(args.path)}\nimport ${JSON.stringify(core)};\n`;
        return { contents, loader: args.path.endsWith("x") ? "tsx" : "ts" };
      });
    },
  };
}

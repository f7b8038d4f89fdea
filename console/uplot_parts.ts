// Makes the build leave out what the charts do not use of uPlot. It hangs all it can on one function, which keeps esbuild
// from finding unused code: with the rows of uplot_rows.ts put, two fifths of it fall away.

import type { Plugin } from "esbuild";
import { UPLOT_ROWS } from "./uplot_rows.ts";

/** Throws, and so ends the build, when a new version of uPlot is written otherwise. */
export function uplotParts(): Plugin {
  return {
    name: "uplot-parts",
    setup(build) {
      build.onLoad({ filter: /\/uPlot\.esm\.js$/ }, async ({ path }) => ({
        contents: partsOf(await Deno.readTextFile(path)),
        loader: "js",
      }));
    },
  };
}

/** The library's text without what the charts never come to. */
export function partsOf(text: string): string {
  let rest = text;
  for (const { finds, puts } of UPLOT_ROWS) {
    if (rest.match(finds) === null) throw new Error(`Cannot leave out parts of uPlot: nothing is ${finds}`);
    // As a function, so that a `$` in what is put stands for itself.
    rest = rest.replace(finds, () => puts);
  }
  return rest;
}

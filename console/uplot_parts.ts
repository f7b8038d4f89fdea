// Makes the build leave out what the charts do not use of uPlot. It hangs all it can on one function, which keeps esbuild
// from seeing what nobody asks for: without these lines an eighth of it falls away.

import type { Plugin } from "esbuild";

const UNUSED = [
  /^\s*\(paths\.(stepped|bars|spline)\s*= \w+\);$/gm,
  /^\s*uPlot\.(assign|fmtNum|range\w*|orient|pxRatio|join|fmtDate|tzDate|sync|addGap|clipGaps)\s*= \w+;$/gm,
];

/** Throws, and so ends the build, when a new version of uPlot is written otherwise. */
export function uplotParts(): Plugin {
  return {
    name: "uplot-parts",
    setup(build) {
      build.onLoad({ filter: /\/uPlot\.esm\.js$/ }, async ({ path }) => {
        const text = await Deno.readTextFile(path);
        for (const lines of UNUSED) {
          if (text.match(lines) === null) {
            throw new Error(`Cannot leave out parts of uPlot: no line is ${lines}`);
          }
        }
        return { contents: UNUSED.reduce((rest, lines) => rest.replace(lines, ""), text), loader: "js" };
      });
    },
  };
}

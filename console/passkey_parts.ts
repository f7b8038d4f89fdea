// Makes the build leave out what the console does not use of the passkey library: its guesses, in English, at why a
// browser refused. The console goes by the name of the browser's own error, and has its own words for each.

import type { Plugin } from "esbuild";

const GUESSES = /\/identify(Registration|Authentication)Error\.js$/;
const GUESS = /^export function (identify\w+Error)\(\{ error, options,? \}\) \{$/m;

/** Throws, and so ends the build, when a new version of the library is written otherwise. */
export function passkeyParts(): Plugin {
  return {
    name: "passkey-parts",
    setup(build) {
      build.onLoad({ filter: GUESSES }, async ({ path }) => {
        const name = GUESS.exec(await Deno.readTextFile(path))?.[1];
        if (name === undefined) throw new Error(`Cannot leave out parts of ${path}: it guesses otherwise`);
        return { contents: `export const ${name} = ({ error }) => error;`, loader: "js" };
      });
    },
  };
}

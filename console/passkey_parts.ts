// Makes the build leave out what the console does not use of the passkey library: its guesses, in English, at why a
// browser refused (the console goes by the name of the browser's own error, and has its own words for each), its advice
// to those who call it wrongly, and what the server never reads of an answer (api/sign_in/webauthn_shapes.ts).

import type { Plugin } from "esbuild";

const GUESSES = /\/identify(Registration|Authentication)Error\.js$/;
const GUESS = /^export function (identify\w+Error)\(\{ error, options,? \}\) \{$/m;

const ADVICE = /^ {4}if \(!options\.optionsJSON && options\.challenge\) \{[\s\S]*?^ {4}\}$/m;
/** By the end of a file's name, what falls away of it: every one must be there. */
const UNUSED: Readonly<Record<string, readonly RegExp[]>> = {
  "startAuthentication.js": [ADVICE],
  "startRegistration.js": [
    ADVICE,
    /^ {4}let responsePublicKeyAlgorithm = [\s\S]*?(?=^ {4}return \{$)/m,
    /^ {12}publicKeyAlgorithm: .*\n {12}publicKey: .*\n {12}authenticatorData: .*$/m,
  ],
  "webAuthnAbortService.js": [/^ {4}cancelCeremony\(\) \{[\s\S]*?^ {4}\}$/m],
};
const PARTED = /simplewebauthn.*\/(startAuthentication\.js|startRegistration\.js|webAuthnAbortService\.js)$/;

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
      build.onLoad({ filter: PARTED }, async ({ path }) => {
        const unused = UNUSED[PARTED.exec(path)?.[1] ?? ""] ?? [];
        let rest = await Deno.readTextFile(path);
        for (const part of unused) {
          if (!part.test(rest)) throw new Error(`Cannot leave out parts of ${path}: nothing is ${part}`);
          rest = rest.replace(part, "");
        }
        return { contents: rest, loader: "js" };
      });
    },
  };
}

// Accessibility checks. Not in deno.json, so that `deno task start` does not install the package (docs/adr/0003).
// The minified file, because each page compiles its source.

// @ts-types="npm:axe-core@4.14.1"
export { default } from "npm:axe-core@4.14.1/axe.min.js";

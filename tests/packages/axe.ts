// Accessibility checks. Not in deno.json, so that `deno task start` does not install the package (docs/adr/0003).

export { default } from "npm:axe-core@4.14.1";

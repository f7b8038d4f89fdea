// Serves SCIMMY's router. Not in deno.json, so that `deno task start` does not install the package (docs/adr/0003).

export { default } from "npm:express@4.21.2";

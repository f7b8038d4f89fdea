// Serves SCIMMY. Not in deno.json, so that `deno task start` does not install the package (docs/adr/0003).

export { default } from "npm:scimmy-routers@1.3.2";

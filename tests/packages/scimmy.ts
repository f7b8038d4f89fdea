// A SCIM server to compare with. Not in deno.json, so that `deno task start` does not install the package
// (docs/adr/0003).

export { default } from "npm:scimmy@1.3.5";

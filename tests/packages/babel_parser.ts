// Syntax trees of TypeScript. Not in deno.json, so that `deno task start` does not install the package
// (docs/adr/0003).

export { parse } from "npm:@babel/parser@8.1.2";

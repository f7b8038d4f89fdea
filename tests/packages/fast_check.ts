// Property tests. Not in deno.json, so that `deno task start` does not install the package (docs/adr/0003).

export { default } from "npm:fast-check@4.10.2";
export * from "npm:fast-check@4.10.2";

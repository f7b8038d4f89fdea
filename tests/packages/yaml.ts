// Reads the alert rules of Prometheus. Not in deno.json, so that `deno task start` does not install the package (docs/adr/0003).

export { parse } from "npm:yaml@2.8.1";

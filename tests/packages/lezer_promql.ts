// The PromQL grammar of Prometheus' own web interface. Not in deno.json, so that `deno task start` does not install the package
// (docs/adr/0003).

export { parser } from "npm:@prometheus-io/lezer-promql@0.315.0";

// Drives Chromium. Not in deno.json, so that `deno task start` does not install the package (docs/adr/0003).

export * from "npm:playwright-core@1.65.1";

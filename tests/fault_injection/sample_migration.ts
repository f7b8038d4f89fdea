// Runs in the program before main.ts: a migration of a later version, so slow that a test can kill the program meanwhile.

import { type Migration, MIGRATIONS } from "../../platform/upgrade/migrations.ts";

const PAUSE_MS = 0.5;

(MIGRATIONS as Migration[]).push({
  to: MIGRATIONS.length + 2,
  version: "9.0.0",
  reader: MIGRATIONS.length + 2,
  tables: [{
    prefix: ["sample"],
    convert({ key, value }) {
      for (const endMs = performance.now() + PAUSE_MS; performance.now() < endMs;);
      return typeof value === "string" ? [{ type: "set", key, value: [value] }] : [];
    },
  }],
});

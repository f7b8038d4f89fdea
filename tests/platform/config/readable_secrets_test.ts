// Warnings about secrets that others can read: in the settings file, and on the network.

import { assertEquals } from "@std/assert";
import { loadConfig } from "../../../platform/config/load.ts";

function warningsOf(toml: string, mode: number | null = 0o600): string[] {
  const outcome = loadConfig({
    env: (name) => name === "COUNTERSIGN_CONFIG" ? "/etc/countersign.toml" : undefined,
    readTextFile: () => toml,
    fileMode: () => mode,
    cwd: "/srv",
  });
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.faults));
  return outcome.warnings.map(({ key }) => key);
}

const FILE = "/etc/countersign.toml";
const SECRET = "radius.secret = 'a-long-shared-secret'";
const CASES: readonly (readonly [toml: string, mode: number | null, warned: boolean])[] = [
  [SECRET, 0o600, false],
  [SECRET, 0o640, true],
  [SECRET, 0o604, true],
  [SECRET, null, false],
  ["server.log_level = 'info'", 0o644, false],
  ["[[console.admin]]\nname = 'ann'\npassword = 'correct horse battery'", 0o644, true],
];
for (const [toml, mode, warned] of CASES) {
  Deno.test(`loadConfig() ${warned ? "warns" : "does not warn"} about mode ${mode?.toString(8)} with ${toml}`, () => {
    assertEquals(warningsOf(toml, mode).includes(FILE), warned);
  });
}

const LISTENERS: readonly (readonly [listen: string, warned: boolean])[] = [
  ["127.0.0.1:8080", false],
  ["[::1]:8080", false],
  ["0.0.0.0:8080", true],
  ["192.0.2.7:8080", true],
];
for (const [listen, warned] of LISTENERS) {
  Deno.test(`loadConfig() ${warned ? "warns" : "does not warn"} about clear text on ${listen}`, () => {
    assertEquals(warningsOf(`http.listen = '${listen}'`).includes("http.listen"), warned);
  });
}

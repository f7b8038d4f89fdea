// A Config never shows its secrets.

import { assert, assertEquals, assertThrows } from "@std/assert";
import type { Config } from "../../../platform/config/config.ts";
import { configOf } from "./samples.ts";
import { loadConfig } from "../../../platform/config/load.ts";

const PLANTED = "planted-0123456789";
const TOML = `[radius]\nsecret = "${PLANTED}"\n[[radius.client]]\nname = "vpn"\naddress = ["192.0.2.1"]\n` +
  `secret = "${PLANTED}"\nfirst_factor = "radius"\n` +
  `first_factor_server = { address = "192.0.2.20:1812", secret = "${PLANTED}" }\n` +
  `disconnect_port = 3799\ndisconnect_secret = "${PLANTED}"\n` +
  `[second_factor]\nurl = "https://a"\nconsumer_key = "${PLANTED}"\nconsumer_secret = "${PLANTED}"\n` +
  `[telephony]\nurl = "https://b"\naccount_id = "AC1"\nauth_token = "${PLANTED}"\nfrom = "+1"\n` +
  `[http]\ntls_cert = "c"\ntls_key = "k"\n[[console.admin]]\nname = "ann"\npassword = "${PLANTED}"\n` +
  `[console.oidc]\nissuer = "https://id"\nclient_id = "x"\nclient_secret = "${PLANTED}"\n`;

function planted(): Config {
  const files = {
    "/srv/c": "-----BEGIN CERTIFICATE-----",
    "/srv/k": `-----BEGIN PRIVATE KEY-----\n${PLANTED}`,
  };
  return configOf(TOML, { files });
}

Deno.test("loadConfig() returns the secrets by name, and shows none in JSON, inspection or a message", () => {
  const config = planted();
  assertEquals(config.radius.clients[0]?.secret, PLANTED);
  assertEquals(config.console.admins[0]?.password, PLANTED);
  const parts = [config, config.radius, config.radius.clients, config.radius.clients[0], config.http.tls];
  for (const part of [...parts, config.telephony, config.secondFactor, config.console.admins]) {
    const shown = [JSON.stringify(part), Deno.inspect(part, { depth: 20 }), JSON.stringify({ part })].join(
      "\n",
    );
    assert(!shown.includes(PLANTED), shown);
    assert(shown.includes("***"), shown);
  }
});

Deno.test("loadConfig() shows whether a secret is set", () => {
  assertEquals(JSON.parse(JSON.stringify(configOf(""))).radius.secret, "");
  assertEquals(JSON.parse(JSON.stringify(planted())).radius.secret, "***");
});

Deno.test("loadConfig() freezes its result, to the last table", () => {
  const { radius } = planted();
  for (const part of [radius, radius.clients, radius.clients[0], radius.replyDefault, radius.anyClient]) {
    assertThrows(() => Object.assign(part ?? {}, { 0: "changed" }), TypeError);
  }
});

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

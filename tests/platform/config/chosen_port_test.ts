// Port 0 is the host's choice: what links say follows from it, unless the file says where the gateway is.

import { assertEquals, assertStrictEquals } from "@std/assert";
import { withChosenPort } from "../../../platform/config/bound_port.ts";
import { configOf, shownOf } from "./samples.ts";

const told = (toml: string) => ({ config: configOf(toml), settings: shownOf(toml) });
const shown = ({ settings }: ReturnType<typeof told>) =>
  settings.find(({ key }) => key === "http.public_url")?.value;

const ROWS = [
  { listen: "127.0.0.1:0", url: "http://127.0.0.1:4711" },
  { listen: "0.0.0.0:0", url: "http://127.0.0.1:4711" },
  { listen: "[::1]:0", url: "http://[::1]:4711" },
] as const;
for (const { listen, url } of ROWS) {
  Deno.test(`withChosenPort() has links name the port that "${listen}" got`, () => {
    const after = withChosenPort(told(`[http]\nlisten = "${listen}"`), 4711);
    assertEquals([after.config.http.publicUrl, after.config.http.listen.port], [url, 4711]);
    assertEquals(shown({ ...after, settings: [...after.settings] }), `"${url}"`);
  });
}

Deno.test("withChosenPort() leaves http.public_url of the file, and knows the port", () => {
  const before = told('[http]\nlisten = "127.0.0.1:0"\npublic_url = "https://gate.example.org"');
  const { config, settings } = withChosenPort(before, 4711);
  assertEquals([config.http.publicUrl, config.http.listen.port], ["https://gate.example.org", 4711]);
  assertStrictEquals(settings, before.settings);
});

Deno.test("withChosenPort() changes nothing where a port was asked for, and keeps secrets masked", () => {
  const before = told('[http]\nlisten = "127.0.0.1:9090"');
  assertStrictEquals(withChosenPort(before, 9090), before);
  const { config } = withChosenPort(
    told('[http]\nlisten = "127.0.0.1:0"\n[radius]\nsecret = "0123456789abcdef"'),
    1,
  );
  assertEquals(config.radius.secret, "0123456789abcdef");
  assertEquals(JSON.stringify(config).includes("0123456789abcdef"), false);
});

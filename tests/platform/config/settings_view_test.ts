// Links after port 0 was bound, and the view of the settings.

import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { withBoundPort } from "../../../platform/config/settings_view.ts";
import { configOf, shownOf } from "./samples.ts";
import { GENERAL_ROWS } from "../../../platform/config/settings.ts";
import { POLICY_ROWS } from "../../../platform/config/client_rows.ts";

const told = (toml: string) => ({ config: configOf(toml), settings: shownOf(toml) });
const shown = ({ settings }: ReturnType<typeof told>) =>
  settings.find(({ key }) => key === "http.public_url")?.value;

const ROWS = [
  { listen: "127.0.0.1:0", url: "http://127.0.0.1:4711" },
  { listen: "0.0.0.0:0", url: "http://127.0.0.1:4711" },
  { listen: "[::1]:0", url: "http://[::1]:4711" },
] as const;
for (const { listen, url } of ROWS) {
  Deno.test(`withBoundPort() makes links with the port that "${listen}" got`, () => {
    const after = withBoundPort(told(`[http]\nlisten = "${listen}"`), 4711);
    assertEquals([after.config.http.publicUrl, after.config.http.listen.port], [url, 4711]);
    assertEquals(shown({ ...after, settings: [...after.settings] }), `"${url}"`);
  });
}

Deno.test("withBoundPort() keeps http.public_url of the file, and knows the port", () => {
  const before = told('[http]\nlisten = "127.0.0.1:0"\npublic_url = "https://gate.example.org"');
  const { config, settings } = withBoundPort(before, 4711);
  assertEquals([config.http.publicUrl, config.http.listen.port], ["https://gate.example.org", 4711]);
  assertStrictEquals(settings, before.settings);
});

Deno.test("withBoundPort() changes nothing for a fixed port, and keeps secrets masked", () => {
  const before = told('[http]\nlisten = "127.0.0.1:9090"');
  assertStrictEquals(withBoundPort(before, 9090), before);
  const { config } = withBoundPort(
    told('[http]\nlisten = "127.0.0.1:0"\n[radius]\nsecret = "0123456789abcdef"'),
    1,
  );
  assertEquals(config.radius.secret, "0123456789abcdef");
  assertEquals(JSON.stringify(config).includes("0123456789abcdef"), false);
});

const SECRET = "a secret that must not be seen";

Deno.test("listSettings() has every row once, with its default if the file has no value", () => {
  const shown = shownOf("");
  const keys = [...Object.keys(GENERAL_ROWS), ...Object.keys(POLICY_ROWS).map((key) => `radius.${key}`)];
  assertEquals(shown.map(({ key }) => key).toSorted(), keys.toSorted());
  const parts = shown.map(({ key }) => key.slice(0, key.indexOf(".")));
  assertEquals(parts.filter((part, at) => part !== parts[at - 1]), [...new Set(parts)]);
  for (const { key, value, preset, isGiven, doc } of shown) {
    assertEquals([value, isGiven], [preset, false], key);
    assert(doc !== "", key);
  }
});

Deno.test("listSettings() shows the values of the file, in the file's units", () => {
  const shown = shownOf(`
    [console]
    idle_minutes = 20
    [radius]
    unknown_users = "reject"
    limit_proxy_state = true
    [factors]
    country_codes = ["1", "49"]
  `);
  const of = (asked: string) => {
    const { value, preset, isGiven } = shown.find(({ key }) => key === asked) ?? {};
    return [value, preset, isGiven];
  };
  assertEquals(of("console.idle_minutes"), ["20", "15", true]);
  assertEquals(of("radius.unknown_users"), ['"reject"', '"auto"', true]);
  assertEquals(of("radius.limit_proxy_state"), ["true", "false", true]);
  assertEquals(of("factors.country_codes"), ['["1", "49"]', "[]", true]);
  assertEquals(of("console.session_hours"), ["12", "12", false]);
});

Deno.test("listSettings() shows of a secret only whether it is set, whatever its source", () => {
  const env = { CONSUMER: SECRET, NAME: SECRET };
  const shown = shownOf(
    `
    [radius]
    secret = "${SECRET}"
    [second_factor]
    url = "https://sf.example.com"
    consumer_key = "env:CONSUMER"
    consumer_secret = "env:CONSUMER"
    [factors]
    terminal_name = "env:NAME"
  `,
    { env },
  );
  assertEquals(JSON.stringify(shown).includes(SECRET), false);
  const secrets = shown.filter(({ isSecret }) => isSecret);
  assertEquals(
    secrets.filter(({ isSet }) => isSet).map(({ key }) => key),
    ["radius.secret", "second_factor.consumer_key", "second_factor.consumer_secret"],
  );
  assertEquals(secrets.every(({ value, preset }) => value === "" && preset === ""), true);
  // The view shows a reference, not its value.
  assertEquals(shown.find(({ key }) => key === "factors.terminal_name")?.value, '"env:NAME"');
});

// The settings for eyes: every row is there, with what the file says, and no secret is.

import { assert, assertEquals } from "@std/assert";
import { GENERAL_ROWS } from "../../../platform/config/settings.ts";
import { POLICY_ROWS } from "../../../platform/config/client_rows.ts";
import { shownOf } from "./samples.ts";

const SECRET = "a secret that must not be seen";

Deno.test("shownSettings() has every row once, each with its default where the file has none", () => {
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

Deno.test("shownSettings() shows what the file has, in the file's own units", () => {
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

Deno.test("shownSettings() shows of a secret only whether it is set, however it is given", () => {
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
  // What is borrowed is shown as it stands in the file.
  assertEquals(shown.find(({ key }) => key === "factors.terminal_name")?.value, '"env:NAME"');
});

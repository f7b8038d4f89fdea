// The settings as the console shows them.

import { assert, assertEquals } from "@std/assert";
import { shownOf } from "./samples.ts";
import { GENERAL_ROWS } from "../../../platform/config/settings.ts";
import { RADIUS_ROWS } from "../../../platform/config/list_settings.ts";

const SECRET = "a secret that must not be seen";

Deno.test("listSettings() has every row once, with its default if the file has no value", () => {
  const shown = shownOf("");
  const keys = [
    ...Object.keys(GENERAL_ROWS),
    ...Object.keys(RADIUS_ROWS).map((key) => `radius.${key}`),
    "radius.reply.default",
  ];
  assertEquals(shown.map(({ key }) => key).toSorted(), keys.toSorted());
  const parts = shown.map(({ key }) => key.slice(0, key.indexOf(".")));
  assertEquals(parts.filter((part, at) => part !== parts[at - 1]), [...new Set(parts)]);
  for (const { key, value, preset, source, doc } of shown) {
    assertEquals([value, source], [preset, "default"], key);
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
    const { value, preset, source, locked } = shown.find(({ key }) => key === asked) ?? {};
    return [value, preset, source, locked];
  };
  assertEquals(of("console.idle_minutes"), [20, 15, "file", "file"]);
  assertEquals(of("radius.unknown_users"), ["reject", "auto", "file", "file"]);
  assertEquals(of("radius.limit_proxy_state"), [true, false, "file", "file"]);
  assertEquals(of("factors.country_codes"), [["1", "49"], [], "file", "file"]);
  assertEquals(of("console.session_hours"), [12, 12, "default", null]);
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
  assertEquals(secrets.every(({ value, preset }) => value === null && preset === null), true);
  // The view shows a reference, not its value.
  assertEquals(shown.find(({ key }) => key === "factors.terminal_name")?.value, "env:NAME");
});

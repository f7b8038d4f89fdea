// The documentation of settings is generated from the table, and its example is a valid file.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { ADMIN_SETTINGS, GENERAL_ROWS } from "../../../platform/config/settings.ts";
import { CLIENT_TABLE } from "../../../platform/config/list_settings.ts";
import {
  BACKEND_ROWS,
  CREDENTIAL_SETTINGS,
  TARGET_SETTINGS,
} from "../../../platform/config/target_settings.ts";
import { rowsByKey } from "../../../platform/config/setting_rows.ts";
import { configurationPage, exampleToml } from "../../../docs/configuration_page.ts";
import { suggestKey } from "../../../platform/config/parse_settings.ts";
import { configOf } from "./samples.ts";

Deno.test("exampleToml() is a valid file", () => {
  const secret = "0123456789abcdef";
  const env = {
    VPN_SECRET: secret,
    UPSTREAM_SECRET: secret,
    CONSOLE_PASSWORD: secret,
    LDAP_PASSWORD: secret,
    SAAS_TOKEN: secret,
    SCIM_PASSWORD: secret,
  };
  const { radius, console, targets, scim } = configOf(exampleToml(), { env });
  assertEquals(radius.clients.length, 1);
  assertEquals(console.admins.length, 1);
  assertEquals({ ...radius.replyDefault }, { "Session-Timeout": 28800 });
  assertEquals(radius.replyGroups.map(({ group }) => group), ["vpn-admins"]);
  assertEquals(targets.map(({ name }) => name), ["default", "corp"]);
  assertEquals(targets[1]?.backends.map(({ kind }) => kind), ["store", "ldap", "scim"]);
  assertEquals(scim.credentials.length, 1);
});

Deno.test("configurationPage() names every key", () => {
  const page = configurationPage();
  const tables = [CLIENT_TABLE, ADMIN_SETTINGS, TARGET_SETTINGS, CREDENTIAL_SETTINGS].map(rowsByKey);
  for (const key of [...tables, ...Object.values(BACKEND_ROWS)].flatMap((rows) => Object.keys(rows))) {
    assertStringIncludes(page, key);
  }
  for (const key of Object.keys(GENERAL_ROWS)) {
    assertStringIncludes(page, `\`${key.slice(key.lastIndexOf(".") + 1)}\``);
  }
});

Deno.test("suggestKey() finds the most similar key, and none without a similar one", () => {
  const known = ["server.log_level", "http.listen", "radius.listen", "radius.state"];
  assertEquals(suggestKey("server.loglevel", known), "server.log_level");
  assertEquals(suggestKey("radius.listn", known), "radius.listen");
  assertEquals(suggestKey("udp.state", known), "radius.state");
  assertEquals(suggestKey("something.else", known), null);
  assertEquals(suggestKey("x".repeat(100_000), known), null);
});

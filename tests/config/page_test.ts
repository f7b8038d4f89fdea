// The page of settings is derived from the table, and its example is a sound file.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { ADMIN_ROWS, CLIENT_ROWS, GENERAL_ROWS, LATER_TABLES } from "../../config/settings.ts";
import { configurationPage, exampleToml } from "../../docs/configuration_page.ts";
import { nearKey } from "../../config/near_key.ts";
import { configOf } from "./samples.ts";

Deno.test("exampleToml() is a sound file", () => {
  const secret = "0123456789abcdef";
  const env = { VPN_SECRET: secret, UPSTREAM_SECRET: secret, CONSOLE_PASSWORD: secret };
  const { radius, console } = configOf(exampleToml(), { env });
  assertEquals(radius.clients.length, 1);
  assertEquals(console.admins.length, 1);
  assertEquals({ ...radius.replyDefault }, { "Session-Timeout": 28800 });
});

Deno.test("configurationPage() names every key, and every table that comes later", () => {
  const page = configurationPage();
  for (const key of [...Object.keys(CLIENT_ROWS), ...Object.keys(ADMIN_ROWS)]) {
    assertStringIncludes(page, key);
  }
  for (const [key, row] of Object.entries(GENERAL_ROWS)) {
    const name = "later" in row ? key : key.slice(key.lastIndexOf(".") + 1);
    assertStringIncludes(page, `\`${name}\``);
  }
  for (const key of Object.keys(LATER_TABLES)) assertStringIncludes(page, key);
});

Deno.test("docs/configuration.md is what configurationPage() writes", () => {
  const written = Deno.readTextFileSync(new URL("../../docs/configuration.md", import.meta.url));
  assertEquals(written, configurationPage());
});

Deno.test("nearKey() finds the key that was meant, and none when nothing is near", () => {
  const known = ["server.log_level", "http.listen", "radius.listen", "radius.state"];
  assertEquals(nearKey("server.loglevel", known), "server.log_level");
  assertEquals(nearKey("radius.listn", known), "radius.listen");
  assertEquals(nearKey("udp.state", known), "radius.state");
  assertEquals(nearKey("something.else", known), null);
  assertEquals(nearKey("x".repeat(100_000), known), null);
});

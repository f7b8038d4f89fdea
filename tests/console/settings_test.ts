// The settings API: it shows the effective values, and no secret.

import { assertEquals } from "@std/assert";
import { LICENCES, passkeysAt, type SettingsAnswer } from "../../console/api/settings/setting_routes.ts";
import en from "../../console/web/i18n/en.json" with { type: "json" };
import { apiCaller } from "../fakes/console_caller.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";

const SECRET = "a secret that must not be seen";

Deno.test("GET /settings shows the effective settings to a viewer, and no secret", async () => {
  await using site = await startPeopleConsole({
    toml: `[radius]\nsecret = "${SECRET}"\nunknown_users = "reject"`,
  });
  const ask = apiCaller(site, await site.signIn("viewer"));
  const answer = await ask<SettingsAnswer>("/console/api/settings");
  assertEquals(JSON.stringify(answer).includes(SECRET), false);
  assertEquals(answer.file, "/srv/countersign.toml");
  const unknown = answer.settings.find(({ key }) => key === "radius.unknown_users");
  assertEquals([unknown?.value, unknown?.preset], ["reject", "auto"]);
  assertEquals(answer.signIn.passkeys, "address_is_number");
  assertEquals(answer.signIn.provider, null);
  assertEquals(answer.about.version, "0.0.0");
  for (const { name, amount } of answer.kept) {
    assertEquals(`settings.kept_${name}` in en && amount > 0, true, name);
  }
});

Deno.test("GET /settings has the retention of the audit log from the settings", async () => {
  await using site = await startPeopleConsole({ toml: "[console]\naudit_days = 30" });
  const ask = apiCaller(site, await site.signIn("viewer"));
  const { kept } = await ask<SettingsAnswer>("/console/api/settings");
  assertEquals(kept.find(({ name }) => name === "audit"), {
    name: "audit",
    amount: 30,
    unit: "days",
    where: "store",
  });
});

const ADDRESSES = {
  "https://login.example.com": "possible",
  "http://localhost:8080": "possible",
  "http://login.example.com": "not_secure",
  "https://192.0.2.1": "address_is_number",
  "https://[2001:db8::1]:8443": "address_is_number",
} as const;

for (const [address, passkeys] of Object.entries(ADDRESSES)) {
  Deno.test(`passkeysAt() is "${passkeys}" for ${address}`, () =>
    assertEquals(passkeysAt(address), passkeys));
}

Deno.test("LICENCES lists each package of the program with its licence", () => {
  const read = (path: string) => JSON.parse(Deno.readTextFileSync(new URL(`../../${path}`, import.meta.url)));
  const { imports, license }: { imports: Record<string, string>; license: string } = read("deno.json");
  // esbuild runs before the server starts. The standard library is one package with several names.
  const packages = Object.keys(imports).filter((name) => name !== "esbuild");
  const names = new Set(packages.map((name) => name.replace(/^@std\/.*/, "@std")));
  const expected = [...names].map((name) => ({
    name,
    licence: read(`node_modules/${name === "@std" ? "deno-std" : name}/package.json`).license as string,
  }));
  const byName = (rows: readonly { name: string; licence: string }[]) =>
    rows.toSorted((a, b) => a.name < b.name ? -1 : 1);
  assertEquals(byName(LICENCES), byName([{ name: "Countersign", licence: license }, ...expected]));
});

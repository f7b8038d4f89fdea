// `deno task check-config` with a store: the settings file and the settings of the console together, while the server runs or not.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { askOperator } from "../fakes/composition.ts";
import { openOperator, openStandIn, type Operator } from "./operator.ts";

const SECRET = "a-password-that-is-stored";
const LDAP = {
  kind: "ldap",
  mode: "async",
  url: "ldap://ldap.example.org",
  users_dn: "ou=people,dc=example,dc=org",
  bind_dn: "cn=admin,dc=example,dc=org",
  bind_password: SECRET,
};

/** Saves settings of the console, then calls `work` while the server runs. */
async function withServer(operator: Operator, work: () => Promise<void> = () => Promise.resolve()) {
  await using server = await openStandIn(operator);
  const send = async (method: string, path: string, json: unknown) => {
    const { status, text } = await askOperator(await server.openApp(), { method, path, json });
    assert(status < 300, text);
  };
  await send("PUT", "/target-settings/corp", { version: "99", table: { backends: { ldap: LDAP } } });
  const changes = {
    "radius.directory": "corp",
    "radius.first_factor": "ldap",
    "radius.first_factor_backend": "ldap",
    "factors.phone_numbers": "any",
  };
  await send("PUT", "/settings", { version: "99", changes });
  await work();
}

/** Replaces the settings of the file besides the data directory. */
async function writeFile(operator: Operator, toml: string): Promise<void> {
  const data = `[server]\ndata_dir = ${JSON.stringify(operator.dataDir)}\n`;
  await Deno.writeTextFile(`${operator.home}/countersign.toml`, `${toml}\n${data}`);
}

const check = (operator: Operator) => operator.run("check_config");

Deno.test("check-config without a store checks the file, and creates nothing", async () => {
  await using operator = await openOperator();
  const { code, stdout, stderr } = await check(operator);
  assertEquals([code, stderr], [0, ""]);
  assertStringIncludes(stdout, "countersign.toml is valid.");
  assert(!stdout.includes("console"));
  assertEquals(await Array.fromAsync(Deno.readDir(operator.home), ({ name }) => name), ["countersign.toml"]);
});

Deno.test("check-config sums up the settings in effect, with the layer of each warning, while the server runs and after", async () => {
  await using operator = await openOperator();
  const expectSound = async () => {
    const { code, stdout, stderr } = await check(operator);
    assertEquals([code, stderr], [0, ""]);
    for (
      const part of [
        "corp (ldap: ldap, async) for sign-ins",
        "The console has saved 4 settings and 1 directory; 5 of them are used.",
        "  factors.phone_numbers (console): ",
        "  factors.country_codes (default): ",
        "  targets.corp.backends.ldap.url (console): ",
      ]
    ) assertStringIncludes(stdout, part);
    assert(!stdout.includes(SECRET));
  };
  await withServer(operator, expectSound);
  await expectSound();
});

Deno.test("check-config names saved settings that do not fit a changed file, and those that it overrides", async () => {
  await using operator = await openOperator();
  await withServer(operator);
  const text =
    '[factors]\nphone_numbers = "registered"\n[targets.corp]\npage_size = 9\n[mail]\npassword = "a secret"\n';
  await writeFile(operator, text);
  await Deno.chmod(`${operator.home}/countersign.toml`, 0o644);
  const { code, stdout, stderr } = await check(operator);
  assertEquals(code, 1);
  assertStringIncludes(stdout, "countersign.toml: it contains secrets");
  assertStringIncludes(
    stdout,
    "The settings file overrides:\n  factors.phone_numbers (settings file)\n  targets.corp (settings file)\n",
  );
  assertStringIncludes(stderr, "2 saved settings cannot be used:\n  radius.first_factor_backend (console): ");
  assertStringIncludes(stderr, "it must name an ldap backend of targets.corp: there is none");
  assertStringIncludes(
    stderr,
    "radius.first_factor (console): it does not fit radius.first_factor_backend (console): ",
  );
});

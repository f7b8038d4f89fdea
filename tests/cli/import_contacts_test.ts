// `deno task import` checks e-mail addresses and phone numbers like the import of the console.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { openOperator, openStandIn } from "./operator.ts";
import { CREDENTIAL_TOML, writeResource } from "./people_world.ts";

Deno.test("deno task import refuses new e-mail addresses and phone numbers that are not valid, with line and reason", async () => {
  await using operator = await openOperator();
  const people = `${operator.home}/people.csv`;
  await Deno.writeTextFile(people, "userName,mail\nanna,a@example.com\n");
  assertEquals((await operator.run("import", "default", people)).code, 0);
  const table = `userName,mail,phoneNumber
anna,a@example.com,555-CALL-ME
carl,not-a-mail,
dora,dora@example.com,+49 151 12345678
`;
  const file = `${operator.home}/contacts.csv`;
  await Deno.writeTextFile(file, table);
  const message = `2 rows cannot be imported. Nothing was changed:
  line 2: "555-CALL-ME" is not a phone number. Enter a number such as +49 151 12345678.
  line 3: "not-a-mail" is not an e-mail address. Enter an address such as ada@example.com.
`;
  const refused = await operator.run("import", "default", file, "--update");
  assertEquals([refused.code, refused.stdout, refused.stderr], [1, "", message]);
  const dry = await operator.run("import", "default", file, "--update", "--dry-run");
  assertEquals([dry.code, dry.stdout], [1, ""]);
  assertStringIncludes(dry.stderr, 'line 3: "not-a-mail" is not an e-mail address.');
  const { stdout } = await operator.run("export", "default", "--format", "csv");
  assertEquals([stdout.includes("anna"), stdout.includes("dora")], [true, false]);
});

Deno.test("deno task import --update keeps a stored value that is not valid, and refuses it for another user", async () => {
  await using operator = await openOperator({ toml: CREDENTIAL_TOML });
  await using server = await openStandIn(operator, { toml: CREDENTIAL_TOML });
  const body = { userName: "old", phoneNumbers: [{ value: "extension 12" }] };
  await writeResource(server, "POST", { path: "Users", body });
  const file = `${operator.home}/people.csv`;
  await Deno.writeTextFile(file, "userName,title,phoneNumber\nold,Dr,extension 12\n");
  const kept = await operator.run("import", "default", file, "--update");
  assertEquals([kept.code, kept.stderr], [0, ""]);
  assertStringIncludes(kept.stdout, "0 created, 1 updated");
  await Deno.writeTextFile(file, "userName,phoneNumber\nnew,extension 12\n");
  const refused = await operator.run("import", "default", file, "--update");
  assertStringIncludes(refused.stderr, 'line 2: "extension 12" is not a phone number.');
});

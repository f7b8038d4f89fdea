// `deno task export` as an operator runs it, and a new import by `deno task import`.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { planExport } from "../../cli/export.ts";
import { openOperator, type Operator } from "./operator.ts";

const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

/** Users with difficult values: formulas, quotes, separators, entries with parts, other scripts. */
const PEOPLE = [
  {
    userName: "anna",
    name: { familyName: "Ärmel", givenName: '=HYPERLINK("x")', honorificSuffix: "'=Dr" },
    emails: [{ value: "a@example.com", type: "work", primary: true }, { value: "b@example.com" }],
    phoneNumbers: [{ value: "+4917112345", type: "mobile" }],
    [ENTERPRISE]: { department: "R|D", costCenter: "@7" },
    title: "a;b,c|d\\",
    roles: [{ value: "x|y" }, { value: "\\z" }],
    groups: [{ display: "staff" }, { display: "a|b" }],
    password: "a password of hers",
  },
  { userName: "Bob", active: false, addresses: [{ locality: "Køge", type: "home" }, { country: "DK" }] },
  { userName: "陳", displayName: "two\nlines", badge: "7", tags: ["one"], groups: ["staff"] },
  {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:Group"],
    displayName: "staff",
    members: ["nobody"],
    note: "-1",
  },
];

/** An operator with {@link PEOPLE} in the target. */
async function openSource(): Promise<Operator> {
  const source = await openOperator();
  const file = `${source.home}/people.jsonl`;
  await Deno.writeTextFile(file, PEOPLE.map((one) => JSON.stringify(one)).join("\n"));
  const imported = await source.run("import", "default", file);
  assertEquals([imported.code, imported.stderr], [0, ""]);
  return source;
}

/** The whole target, without values that differ between two stores. */
async function everything(operator: Operator): Promise<Record<string, unknown>[]> {
  const exported = await operator.run("export", "default", "--groups");
  assertEquals([exported.code, exported.stderr], [0, ""]);
  return exported.stdout.split("\n").filter((line) => line !== "").map((line) => {
    const { meta: _, ...resource } = JSON.parse(line);
    return resource;
  });
}

Deno.test("deno task export as JSON, imported into an empty target, gives the same resources and no password", async () => {
  await using source = await openSource();
  const file = `${source.home}/all.json`;
  const exported = await source.run("export", "default", "--groups", "--output", file);
  assertEquals([exported.code, exported.stdout, exported.stderr], [0, "", ""]);
  const { mode } = await Deno.stat(file);
  assertEquals((mode ?? 0) & 0o777, 0o600);
  assertEquals((await Deno.readTextFile(file)).includes("password"), false);

  await using copy = await openOperator();
  const imported = await copy.run("import", "default", file);
  assertEquals([imported.code, imported.stderr], [0, ""]);
  const resources = await everything(source);
  assertEquals(resources.map(({ id }) => id), ["a|b", "staff", "anna", "Bob", "陳"]);
  assertEquals(await everything(copy), resources);
});

Deno.test("deno task export as tables, imported into an empty target, gives the same resources", async () => {
  await using source = await openSource();
  await using copy = await openOperator();
  for (const [name, ...args] of [["groups.csv", "--groups"], ["users.csv"]] as const) {
    const file = `${source.home}/${name}`;
    const exported = await source.run("export", "default", "--format", "csv", "--output", file, ...args);
    assertEquals([exported.code, exported.stdout, exported.stderr], [0, "", ""]);
    const imported = await copy.run("import", "default", file);
    assertEquals([imported.code, imported.stderr], [0, ""]);
  }
  assertEquals(await everything(copy), await everything(source));
});

Deno.test("deno task export as a table writes no cell that a spreadsheet would calculate", async () => {
  await using source = await openSource();
  const { stdout } = await source.run("export", "default", "--format", "csv");
  const [header = ""] = stdout.split("\r\n");
  assertStringIncludes(header, "userName,active,familyName,givenName,");
  for (
    const part of ["emails[].type", "mail", "honirificSuffix", `${ENTERPRISE}:department`, "tags[]", "groups"]
  ) {
    assertStringIncludes(header, part);
  }
  assertStringIncludes(stdout, `"'=HYPERLINK(""x"")"`);
  assertEquals(/(^|[,\n"])[=+@-]/.test(stdout), false, stdout);
});

Deno.test("deno task export lists values that a table cannot contain", async () => {
  await using operator = await openOperator();
  const file = `${operator.home}/odd.json`;
  await Deno.writeTextFile(file, '{"userName":"a","badge":{"n":1},"size":7,"urn:x:y":{"deep":{"er":1}}}');
  await operator.run("import", "default", file);
  const exported = await operator.run("export", "default", "--format", "csv");
  assertEquals([exported.code, exported.stdout], [
    0,
    "userName,active,familyName,givenName,groups\r\na,true,,,\r\n",
  ]);
  assertEquals(
    exported.stderr,
    'CSV cannot contain all values of "badge.n", "size", "urn:x:y:deep.er". To export everything, use --format json.\n',
  );
});

Deno.test("deno task export explains an invalid target, file and argument", async () => {
  await using operator = await openOperator();
  const unknown = await operator.run("export", "corp");
  assertEquals([unknown.code, unknown.stdout], [1, ""]);
  assertEquals(unknown.stderr, 'There is no target "corp". The settings define "default".\n');
  const nowhere = await operator.run("export", "default", "--output", `${operator.home}/no/such/file`);
  assertEquals([nowhere.code, nowhere.stderr], [1, "Cannot write the output file (NotFound).\n"]);
  const wrong = await operator.run("export", "default", "--format", "xml");
  assertEquals([
    wrong.code,
    wrong.stderr.startsWith("Cannot use the arguments: --format must be json or csv.\n\n"),
  ], [
    2,
    true,
  ]);
  assertEquals(
    (await operator.run("export", "--help")).stdout.startsWith("Export the users and groups of a target."),
    true,
  );
});

Deno.test("planExport() reads arguments", () => {
  assertEquals(planExport(["corp", "--format=csv", "--groups", "--output", "f"]), {
    target: "corp",
    format: "csv",
    kinds: ["group"],
    output: "f",
  });
  for (const args of [[], ["a", "b"], ["a", "--output", ""], ["a", "--groups=yes"]]) {
    assertEquals(typeof planExport(args), "string", args.join(" "));
  }
});

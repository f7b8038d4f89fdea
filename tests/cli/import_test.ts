// `deno task import` as an operator runs it without a running gateway: results, errors and arguments.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { planImport } from "../../cli/import.ts";
import { openOperator, type Operator } from "./operator.ts";
import { groupsOf } from "./people_world.ts";

async function fileOf({ home }: Operator, name: string, text: string | Uint8Array): Promise<string> {
  const path = `${home}/${name}`;
  if (typeof text === "string") await Deno.writeTextFile(path, text);
  else await Deno.writeFile(path, text);
  return path;
}

/** The exported users by name, with their groups. */
async function usersOf(operator: Operator): Promise<Map<string, Record<string, unknown>>> {
  const exported = await operator.run("export", "default");
  assertEquals(exported.code, 0, exported.stderr);
  const users = exported.stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  return new Map(users.map((user) => [String(user.userName), user]));
}

const PEOPLE = `\ufeffuserName;familyName;givenName;mail;phoneNumber;active;groups;password\r
anna;Ärmel;"An""na";a@example.com|b@example.com;'+4917112345;;staff|vpn;a password of hers\r
Bob;;;;;FALSE;;\r
`;

Deno.test("deno task import creates the users of a table without a server, and --dry-run shows the result first", async () => {
  await using operator = await openOperator();
  const file = await fileOf(operator, "people.csv", PEOPLE);
  const dry = await operator.run("import", "default", file, "--dry-run");
  assertEquals([dry.code, dry.stderr], [0, ""]);
  assertStringIncludes(
    dry.stdout,
    "nothing is changed. Result would be: 2 created, 0 updated, 0 unchanged, 0 refused; 2 groups",
  );
  assertEquals((await usersOf(operator)).size, 0);

  const imported = await operator.run("import", "default", file);
  assertEquals([imported.code, imported.stderr], [0, ""]);
  assertStringIncludes(
    imported.stdout,
    "2 created, 0 updated, 0 unchanged, 0 refused; 2 groups with new members, 2 of them new.",
  );
  const users = await usersOf(operator);
  const anna = users.get("anna");
  assertEquals(
    [anna?.name, anna?.emails, anna?.phoneNumbers, anna?.active, groupsOf(anna), "password" in (anna ?? {})],
    [
      { familyName: "Ärmel", givenName: 'An"na' },
      [{ value: "a@example.com" }, { value: "b@example.com" }],
      [{ value: "+4917112345" }],
      true,
      ["staff", "vpn"],
      false,
    ],
  );
  assertEquals(users.get("Bob")?.active, false);
});

Deno.test("deno task import refuses users that exist, and with --update changes only the columns of the file", async () => {
  await using operator = await openOperator();
  await operator.run("import", "default", await fileOf(operator, "people.csv", PEOPLE));
  const again = await fileOf(
    operator,
    "again.csv",
    "userName,mail,groups\nANNA,new@example.com,admins\ncarl,,vpn\n",
  );
  const refused = await operator.run("import", "default", again);
  assertEquals(refused.code, 1);
  assertStringIncludes(refused.stdout, "1 created, 0 updated, 0 unchanged, 1 refused");
  assertEquals(
    refused.stderr,
    "1 row cannot be imported:\n  line 2: A resource of that name exists already.\n",
  );
  assertEquals(groupsOf((await usersOf(operator)).get("anna")), ["staff", "vpn"]);

  const updated = await operator.run("import", "default", again, "--update");
  assertEquals([updated.code, updated.stderr], [0, ""]);
  assertStringIncludes(
    updated.stdout,
    "0 created, 1 updated, 1 unchanged, 0 refused; 1 group with new members, 1 of them new.",
  );
  const anna = (await usersOf(operator)).get("anna");
  assertEquals(
    [anna?.name, anna?.emails, groupsOf(anna)],
    [{ familyName: "Ärmel", givenName: 'An"na' }, [{ value: "new@example.com" }], ["admins", "staff", "vpn"]],
  );
});

Deno.test("deno task import --update reactivates a user for true, but not for an empty cell", async () => {
  await using operator = await openOperator();
  await operator.run("import", "default", await fileOf(operator, "people.csv", PEOPLE));
  const isActive = async (table: string) => {
    const updated = await operator.run(
      "import",
      "default",
      await fileOf(operator, "more.csv", table),
      "--update",
    );
    assertEquals([updated.code, updated.stderr], [0, ""]);
    return (await usersOf(operator)).get("Bob")?.active;
  };
  assertEquals(await isActive("userName,active,title\nBob,,Dr\n"), false);
  assertEquals(await isActive("userName,title\nBob,\n"), false);
  assertEquals(await isActive("userName,active\nBob,True\n"), true);
});

Deno.test("deno task import --update removes the groups and pairings of a user that becomes inactive", async () => {
  await using operator = await openOperator();
  await operator.run("import", "default", await fileOf(operator, "people.csv", PEOPLE));
  await operator.run("pair", "anna", "--sms", "+14155550123");
  const leaving = await fileOf(operator, "leaving.csv", "userName,active\nAnna,false\n");
  const updated = await operator.run("import", "default", leaving, "--update");
  assertEquals([updated.code, updated.stderr], [0, ""]);
  const anna = (await usersOf(operator)).get("Anna") ?? (await usersOf(operator)).get("anna");
  assertEquals([anna?.active, groupsOf(anna)], [false, []]);
  assertStringIncludes((await operator.run("pair", "anna", "--list")).stdout, '"anna" has no factors.');
});

/** Invalid rows among valid ones, and the errors. */
const FAULTY: readonly (readonly [string, string, readonly string[]])[] = [
  [
    "people.csv",
    'userName,active,groups\nanna,true,a/..\nbob,maybe,\n,true,\n"carl,\nanna,true,\nx,y\nev\u0007il,,\n',
    [
      "line 2: A name in groups is not valid: a name must not be ., .. or .search, or have . or .. beside a slash.",
      "line 3: active must be true or false.",
      "line 4: It has no userName.",
      "line 5: It has a quote that is never closed.",
    ],
  ],
  ["people.csv", "userName,active\nanna,true\nANNA,\nx\nev\u0007il,\n", [
    'line 3: An earlier row contains the user "ANNA".',
    "line 4: It has one cell, and the header has 2.",
    "line 5: userName cannot be a name: a name must not contain control characters.",
  ]],
  ["people.json", '[{"userName":"a"},\n{"userName":7},\n{"userName":"b","emails":[[1]]},\n{"x":}]', [
    "line 2: userName must be a string.",
    "line 3: An entry of emails must be an object.",
    "line 4: It is not JSON.",
  ]],
  ["deep.json", `{"userName":"a","x":${"[".repeat(40)}${"]".repeat(40)}}`, [
    "line 1: It is nested over 32 levels deep.",
  ]],
];

Deno.test("deno task import checks the whole file first, lists each error with its line, and changes nothing", async () => {
  await using operator = await openOperator();
  for (const [name, text, faults] of FAULTY) {
    const refused = await operator.run("import", "default", await fileOf(operator, name, text));
    const title = faults.length === 1 ? "1 row cannot" : `${faults.length} rows cannot`;
    assertEquals(
      [refused.code, refused.stdout, refused.stderr],
      [
        1,
        "",
        `${title} be imported. Nothing was changed:\n${faults.map((fault) => `  ${fault}\n`).join("")}`,
      ],
    );
  }
  assertEquals((await usersOf(operator)).size, 0);
});

Deno.test("deno task import shows the first 50 errors and counts the rest", async () => {
  await using operator = await openOperator();
  const rows = Array.from({ length: 1234 }, (_, at) => `u${at},perhaps\n`).join("");
  const refused = await operator.run(
    "import",
    "default",
    await fileOf(operator, "x.csv", `userName,active\n${rows}`),
  );
  assertStringIncludes(refused.stderr, "1,234 rows cannot be imported. Nothing was changed:\n  line 2: ");
  assertStringIncludes(refused.stderr, "  line 51: active must be true or false.\n  and 1,184 more\n");
  assertEquals(refused.stderr.includes("line 52"), false);
});

/** Files that cannot be read, and the errors. */
const UNREADABLE: readonly (readonly [string, string | Uint8Array, string])[] = [
  ["empty.csv", "", "Cannot import the file: it is empty.\n"],
  [
    "header.csv",
    "familyName\nA\n",
    "Cannot import the file. The header has no userName (for groups: no groupName).\n",
  ],
  [
    "utf16.csv",
    Uint8Array.of(0xff, 0xfe, 0x75, 0, 0x73, 0),
    "Cannot read the file: it is not UTF-8. In a spreadsheet, save it as CSV UTF-8.\n",
  ],
];

Deno.test("deno task import explains an invalid file, target, backend and argument", async () => {
  await using operator = await openOperator();
  for (const [name, text, message] of UNREADABLE) {
    const refused = await operator.run("import", "default", await fileOf(operator, name, text));
    assertEquals([refused.code, refused.stdout, refused.stderr], [1, "", message]);
  }
  const missing = await operator.run("import", "default", `${operator.home}/nowhere.csv`);
  assertEquals([missing.code, missing.stderr], [1, "Cannot read the file: it is not there.\n"]);
  const file = await fileOf(operator, "people.csv", PEOPLE);
  const unknown = await operator.run("import", "corp", file);
  assertEquals([unknown.code, unknown.stderr], [
    1,
    'There is no target "corp". The settings define "default".\n',
  ]);
  const backend = await operator.run("import", "default", file, "--backends", "ldap");
  assertEquals(backend.code, 1);
  assertStringIncludes(
    backend.stderr,
    'Stopped at line 2: The directory has no connector "ldap".',
  );
  const wrong = await operator.run("import", "default");
  assertEquals([
    wrong.code,
    wrong.stderr.startsWith("Cannot use the arguments: the file is missing.\n\nImport users and groups"),
  ], [2, true]);
});

Deno.test("planImport() reads valid arguments and explains invalid ones", () => {
  assertEquals(planImport(["corp", "f.csv", "--update", "--backends=a,b", "--backends", "c"]), {
    target: "corp",
    file: "f.csv",
    isDryRun: false,
    mayUpdate: true,
    backends: ["a", "b", "c"],
  });
  for (
    const args of [[], ["corp"], ["corp", "a", "b"], ["corp", "a", "--force"], [
      "corp",
      "a",
      "--backends",
      ",",
    ]]
  ) {
    assertEquals(typeof planImport(args), "string", args.join(" "));
  }
});

const GROUPS = [
  {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:Group"],
    displayName: "Staff",
    members: [{ value: "anna" }],
    note: "x",
  },
  { userName: "anna", groups: [{ value: "9f", display: "VPN" }] },
  { displayName: "vpn", members: ["bob"] },
  { displayName: "STAFF", members: [{ display: "carl" }, { display: "anna" }] },
];

Deno.test("deno task import accepts groups, groups in several rows, and memberships of users in any order", async () => {
  await using operator = await openOperator();
  const list = JSON.stringify({ totalResults: 4, Resources: GROUPS });
  const imported = await operator.run("import", "default", await fileOf(operator, "all.json", list));
  assertEquals([imported.code, imported.stderr], [0, ""]);
  assertStringIncludes(
    imported.stdout,
    "3 created, 0 updated, 0 unchanged, 0 refused; 2 groups with new members, 0 of them new.",
  );
  const exported = await operator.run("export", "default", "--groups", "--format", "csv");
  assertEquals(exported.stdout, "groupName,note,member\r\nStaff,x,anna|carl\r\nvpn,,anna|bob\r\n");
});

// `deno task import` beside a running gateway: large files, an interruption, and the audit records.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { openOperator, openStandIn, runHere } from "./operator.ts";
import { CREDENTIAL_TOML, getResource, groupsOf, runBeside } from "./people_world.ts";

/** A temporary file; the end of the block removes it. */
async function openTempFile({ suffix, text }: { readonly suffix: string; readonly text: string }) {
  const path = await Deno.makeTempFile({ suffix });
  await Deno.writeTextFile(path, text);
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path) };
}

const runOn = ({ configPath }: RunningProgram, command: string, ...args: string[]) =>
  runHere(command, args, { env: { COUNTERSIGN_CONFIG: configPath } });

Deno.test("deno task import creates users and groups that the running gateway knows at once", async () => {
  await using operator = await openOperator();
  await using _server = await openStandIn(operator);
  const file = `${operator.home}/people.csv`;
  const rows = Array.from({ length: 600 }, (_, at) => `user${at},Family${at},all|g${at % 3}\n`).join("");
  await Deno.writeTextFile(file, `userName,familyName,groups\n${rows}`);
  const imported = await operator.run("import", "default", file);
  assertEquals([imported.code, imported.stderr], [0, ""]);
  assertMatch(
    imported.stdout,
    /^600 created, 0 updated, 0 unchanged, 0 refused; 4 groups with new members, 4 of them new\. \(/,
  );
  const { stdout } = await operator.run("export", "default", "--groups");
  const exported = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  const last = exported.find(({ id }) => id === "user599");
  assertEquals(last.name, { familyName: "Family599", givenName: "" });
  assertEquals(groupsOf(last), ["all", "g2"]);
  assertEquals(exported.find(({ id }) => id === "all").members.length, 600);

  const again = await operator.run("import", "default", file, "--update");
  assertMatch(again.stdout, /^0 created, 0 updated, 600 unchanged, 0 refused\. \(/);
});

Deno.test("deno task import reports that a killed gateway interrupted it, and continues with --update without a loss", async () => {
  await using gateway = await startProgram({ toml: CREDENTIAL_TOML });
  const rows = Array.from({ length: 2500 }, (_, at) => `user${at},Family${at},all\n`).join("");
  await using file = await openTempFile({ suffix: ".csv", text: `userName,familyName,groups\n${rows}` });
  const importing = runBeside(gateway, "import", "default", file.path);
  while (await getResource(gateway, "Users/user300") === null) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await gateway.kill9();
  const stopped = await importing;
  // Between two requests nothing is lost: the command opens the store itself, and continues.
  if (stopped.code === 0) assertStringIncludes(stopped.stdout, "2,500 created");
  else {
    assertMatch(stopped.stderr, /^Stopped at line \d+: The result is unknown/);
    assertStringIncludes(stopped.stderr, "To continue, run the same command with --update.");
  }

  await gateway.restart();
  const again = await runOn(gateway, "import", "default", file.path, "--update");
  assertEquals([again.code, again.stderr], [0, ""]);
  const exported = await runOn(gateway, "export", "default", "--format", "csv");
  const lines = exported.stdout.trimEnd().split("\r\n");
  assertEquals([lines.length, lines.filter((line) => line.endsWith(",all")).length], [2501, 2500]);
});

Deno.test("deno task import accepts a resource that is larger than a batch", async () => {
  await using operator = await openOperator();
  await using _server = await openStandIn(operator);
  const photos = [{ value: "x".repeat(150_000) }];
  const members = Array.from({ length: 5500 }, (_, at) => ({ value: `member-number-${at}` }));
  const rows = [{ userName: "anna", photos }, { displayName: "big", members }];
  await Deno.writeTextFile(
    `${operator.home}/all.json`,
    rows.map((row) => `${JSON.stringify(row)}\n`).join(""),
  );
  const imported = await operator.run("import", "default", `${operator.home}/all.json`);
  assertEquals([imported.code, imported.stderr], [0, ""]);
  const { stdout } = await operator.run("export", "default", "--groups");
  const exported = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  assertEquals(exported.length, 6 + 1, "a big group goes on in further lines");
  assertEquals(exported.find(({ userName }) => userName === "anna").photos, photos);
  assertEquals(exported.flatMap((one) => one.members ?? []).length, 5500);
});

Deno.test("deno task import writes audit records with the command as their actor and without passwords", async () => {
  await using operator = await openOperator();
  const { home } = operator;
  await Deno.writeTextFile(`${home}/people.csv`, "userName,password\nanna,a password of hers\nbob,\n");
  {
    await using _server = await openStandIn(operator);
    assertEquals((await operator.run("import", "default", `${home}/people.csv`)).code, 0);
  }
  const kv = await Deno.openKv(`${operator.dataDir}/countersign.kv`);
  try {
    const records: Record<string, unknown>[] = [];
    for await (const { value } of kv.list<Record<string, unknown>>({ prefix: ["audit"] })) {
      records.push(value);
    }
    const created = records.filter(({ action }) => action === "user.created").map((
      { actor, object, target },
    ) => ({ actor, object, target }));
    assertEquals(created.toSorted((a, b) => String(a.object) < String(b.object) ? -1 : 1), [
      { actor: "command", object: "user:anna", target: "default" },
      { actor: "command", object: "user:bob", target: "default" },
    ]);
    assertEquals(JSON.stringify(records).includes("a password of hers"), false);
  } finally {
    kv.close();
  }
});

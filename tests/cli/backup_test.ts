// `deno task backup`, `restore` and `move-store` as an operator runs them.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { planBackup } from "../../cli/backup.ts";
import { planMove } from "../../cli/move_store.ts";
import { planRestore } from "../../cli/restore.ts";
import { BackupWriter } from "../../platform/backup/backup_format.ts";
import { FORMAT, FORMAT_KEY, newestRecord } from "../../platform/upgrade/store_format.ts";
import { openOperator, openStandIn, type Operator } from "./operator.ts";

async function paired(operator: Operator, user: string): Promise<void> {
  assertEquals((await operator.run("pair", user, "--device", `phone-of-${user}`)).code, 0);
}

const listed = async (operator: Operator) => (await operator.run("pair", "--list")).stdout;

/** Copies the master key of one data directory to another. */
async function copyKey(from: Operator, to: Operator): Promise<void> {
  await Deno.mkdir(to.dataDir, { recursive: true });
  await Deno.copyFile(`${from.dataDir}/master.key`, `${to.dataDir}/master.key`);
}

Deno.test("deno task backup and restore copy the store of a running server, without its master key", async () => {
  await using operator = await openOperator();
  const file = `${operator.home}/a.backup`;
  {
    await using _server = await openStandIn(operator);
    await paired(operator, "ada");
    const done = await operator.run("backup", file);
    assertEquals([done.code, done.stderr], [0, ""]);
    assertMatch(done.stdout, /^Backed up \d+ entries \([\d.]+ (octets|KiB)\) in [\d.]+ s\.$/m);
  }
  assertEquals(((await Deno.stat(file)).mode ?? 0) & 0o777, 0o600);

  await using other = await openOperator();
  const restored = await other.run("restore", file);
  assertEquals([restored.code, restored.stderr], [0, ""]);
  assertMatch(restored.stdout, /^Restored \d+ entries/);
  assertStringIncludes(restored.stdout, "copy the master.key of the backup");
  assertStringIncludes((await other.run("pair", "--list")).stderr, "master.key");
  await copyKey(operator, other);
  assertStringIncludes(await listed(other), "phone-of-ada");
});

Deno.test("deno task backup works without a server, refuses an existing file, and says that there is no store", async () => {
  await using operator = await openOperator();
  const file = `${operator.home}/a.backup`;
  const none = await operator.run("backup", file);
  assertEquals(none.code, 1);
  assertStringIncludes(none.stderr, "it does not exist");
  assertEquals(
    await Array.fromAsync(Deno.readDir(operator.home), ({ name }) => name).then((all) => all.sort()),
    [
      "countersign.toml",
      "data",
    ],
  );
  await paired(operator, "ada");
  assertEquals((await operator.run("backup", file)).code, 0);
  const again = await operator.run("backup", file);
  assertEquals(again.code, 1);
  assertStringIncludes(again.stderr, "exists. Choose another name");
});

Deno.test("deno task restore replaces a store only with --force, and shows what it deletes", async () => {
  await using operator = await openOperator();
  const file = `${operator.home}/a.backup`;
  await paired(operator, "ada");
  await operator.run("backup", file);
  await paired(operator, "bob");
  const refused = await operator.run("restore", file);
  assertEquals(refused.code, 1);
  assertMatch(refused.stderr, /it is not empty\. It contains \d+ entries \(.*pairing 2.*\)\. Use --force/);
  assertStringIncludes(await listed(operator), "phone-of-bob");
  const forced = await operator.run("restore", file, "--force");
  assertEquals(forced.code, 0);
  assertMatch(forced.stderr, /^Deleting \d+ entries \(.*pairing 2.*\)\.$/m);
  const after = await listed(operator);
  assert(after.includes("phone-of-ada") && !after.includes("phone-of-bob"), after);
});

Deno.test("deno task restore --force replaces a damaged store", async () => {
  await using operator = await openOperator();
  const file = `${operator.home}/a.backup`;
  await paired(operator, "ada");
  await operator.run("backup", file);
  await Deno.writeTextFile(`${operator.dataDir}/countersign.kv`, "this is no database ".repeat(500));
  const refused = await operator.run("restore", file);
  assertEquals(refused.code, 1);
  assertStringIncludes(refused.stderr, "a file that cannot be opened as a store");
  assertEquals((await operator.run("restore", file, "--force")).code, 0);
  assertStringIncludes(await listed(operator), "phone-of-ada");
});

Deno.test("deno task restore refuses a running server, another master key, and damaged and newer backups", async () => {
  await using operator = await openOperator();
  const file = `${operator.home}/a.backup`;
  await paired(operator, "ada");
  await operator.run("backup", file);
  const octets = await Deno.readFile(file);

  await Deno.writeFile(`${operator.home}/cut.backup`, octets.subarray(0, -40));
  const damaged = octets.slice();
  damaged[150] = (damaged[150] ?? 0) ^ 1;
  await Deno.writeFile(`${operator.home}/damaged.backup`, damaged);
  const newer = await Deno.create(`${operator.home}/newer.backup`);
  const writer = new BackupWriter(async (chunk) => void await newer.write(chunk), { deflate: true });
  await writer.begin({ format: 1, version: "99.0.0", createdMs: 0 });
  await writer.end({ isExact: true });
  newer.close();
  for (
    const [name, says] of [
      ["cut", "it is incomplete"],
      ["damaged", "it is damaged"],
      ["newer", "Upgrade Countersign first"],
      ["missing", "Cannot read the backup"],
    ]
  ) {
    const { code, stdout, stderr } = await operator.run(
      "restore",
      `${operator.home}/${name}.backup`,
      "--force",
    );
    assertEquals([code, stdout], [1, ""], name);
    assertStringIncludes(stderr, says ?? "");
  }
  {
    await using _server = await openStandIn(operator);
    const running = await operator.run("restore", file, "--force");
    assertEquals(running.code, 1);
    assertStringIncludes(running.stderr, "another process uses it");
  }
  await using other = await openOperator();
  await paired(other, "eve");
  const foreign = await other.run("restore", file, "--force");
  assertEquals(foreign.code, 1);
  assertStringIncludes(foreign.stderr, "another master key");
  for (const one of [operator, other]) assertStringIncludes(await listed(one), "phone-of-");
});

Deno.test("deno task move-store copies a store, compares the counts, and refuses a store that is not empty", async () => {
  await using operator = await openOperator();
  await paired(operator, "ada");
  const from = `${operator.dataDir}/countersign.kv`;
  const to = `${operator.home}/copy.kv`;
  const moved = await operator.run("move_store", from, to);
  assertEquals([moved.code, moved.stderr], [0, ""]);
  assertStringIncludes(moved.stdout, "  pairing 1\n");
  assertStringIncludes(moved.stdout, "The counts of both stores are equal.");
  const again = await operator.run("move_store", from, to);
  assertEquals(again.code, 1);
  assertStringIncludes(again.stderr, "it is not empty");
  const forced = await operator.run("move_store", from, to, "--force");
  assertEquals(forced.code, 0);
  assertStringIncludes(forced.stderr, "Deleting ");
  assertEquals(((await Deno.stat(operator.home)).mode ?? 0) & 0o777, 0o700);
  {
    await using _server = await openStandIn(operator);
    assertStringIncludes((await operator.run("move_store", to, from)).stderr, "another process uses it");
  }
  const missing = await operator.run("move_store", `${operator.home}/none.kv`, `${operator.home}/other.kv`);
  assertStringIncludes(missing.stderr, "it does not exist");
});

Deno.test("the commands of the store refuse one of a later version, and say what to do", async () => {
  await using operator = await openOperator();
  await paired(operator, "ada");
  const from = `${operator.dataDir}/countersign.kv`;
  {
    using kv = await Deno.openKv(from);
    await kv.set(FORMAT_KEY, { ...newestRecord(0), reader: FORMAT + 1, needs: "9.0.0" });
  }
  const commands = [
    ["backup", `${operator.home}/later.backup`],
    ["move_store", from, `${operator.home}/copy.kv`],
    ["pair", "ada", "--list"],
    ["check_config"],
  ] as const;
  for (const [command, ...args] of commands) {
    const { code, stderr } = await operator.run(command, ...args);
    assertEquals(code, 1, command);
    assertStringIncludes(stderr, "Install version 9.0.0 or later", command);
  }
});

Deno.test("the commands of the store refuse wrong arguments and show their help", async () => {
  assertEquals(planBackup(["a"]), { file: "a" });
  assertEquals(planRestore(["a", "--force"]), { file: "a", force: true });
  assertEquals(planMove(["a", "https://kv"]), { from: "a", to: "https://kv", force: false });
  assertEquals(planBackup([]), "the file is missing");
  assertEquals(planBackup(["a", "b"]), "there is more than one file");
  assertEquals(planRestore(["--force"]), "the file is missing");
  assertEquals(planMove(["a"]), "the stores are missing: <from> <to>");
  assertEquals(planMove(["a", "a"]), "<from> and <to> are the same store");
  assertEquals(planMove(["a", "ftp://kv"]), `"ftp://kv" is neither a path nor an http or https URL`);
  await using operator = await openOperator();
  for (const command of ["backup", "restore", "move_store"]) {
    const { code, stdout } = await operator.run(command, "--help");
    assertEquals(code, 0);
    assertStringIncludes(stdout, `deno task ${command.replace("_", "-")} <f`);
  }
});

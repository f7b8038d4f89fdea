// The backup before an upgrade: where it is, who can read it, and what a full disk does.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { readBackupFile } from "../../../platform/backup/backup_format.ts";
import { BackupFault } from "../../../platform/backup/records.ts";
import { createLog } from "../../../platform/log.ts";
import { systemClock } from "../../../platform/runtime.ts";
import { backUpBeforeUpgrade } from "../../../platform/upgrade/upgrade_backup.ts";

const log = createLog({ format: "text", level: "error", clock: systemClock, write: () => undefined });
const NO_END = new AbortController().signal;

interface World extends AsyncDisposable {
  readonly dataDir: string;
  backUp(more?: Partial<Parameters<typeof backUpBeforeUpgrade>[0]>, signal?: AbortSignal): Promise<string>;
  /** The names in a directory. */
  files(dir: string): Promise<string[]>;
}

async function open(): Promise<World> {
  const dataDir = await Deno.makeTempDir({ prefix: "countersign-upgrade-backup-" });
  const kv = await Deno.openKv(`${dataDir}/countersign.kv`);
  for (let at = 0; at < 300; at++) await kv.set(["sample", at], "x".repeat(1000));
  const lifetimes = { auditRetentionMs: 1, conversationTtlMs: 1 };
  const deps = {
    kv,
    isShared: false,
    dataDir,
    setting: "",
    version: "9.0.0",
    lifetimes,
    clock: systemClock,
    log,
  };
  return {
    dataDir,
    backUp: (more = {}, signal = NO_END) =>
      backUpBeforeUpgrade({ ...deps, ...more }, { readBy: "0.2.0", signal }),
    files: (dir) => Array.fromAsync(Deno.readDir(dir), ({ name }) => name),
    async [Symbol.asyncDispose]() {
      kv.close();
      await Deno.remove(dataDir, { recursive: true });
    },
  };
}

for (const isShared of [false, true]) {
  Deno.test(`backUpBeforeUpgrade() writes a private file for the old version; ${isShared ? "several nodes" : "a file"}`, async () => {
    await using world = await open();
    const dir = `${world.dataDir}/backups`;
    await Deno.mkdir(dir);
    // Of a process that was killed, and one that has nothing to do with it.
    await Deno.writeTextFile(`${dir}/before-8.0.0-x.backup.0123456789ab.new`, "");
    await Deno.writeTextFile(`${dir}/other.new`, "");
    const told = await world.backUp({ isShared });
    const path = told.slice(told.indexOf("/"));
    assertEquals(told.startsWith("/"), !isShared);
    assert(path.startsWith(`${dir}/before-9.0.0-2`), path);
    assertEquals((await world.files(dir)).sort(), [path.slice(dir.length + 1), "other.new"].sort());
    assertEquals(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
    const { header, totals } = await readBackupFile(path, { onRecord: () => undefined });
    assertEquals([header.version, totals.records, totals.isExact], ["0.2.0", 300, true]);
  });
}

Deno.test("backUpBeforeUpgrade() writes where the setting says, and nothing with none", async () => {
  await using world = await open();
  const setting = `${world.dataDir}/elsewhere`;
  assert((await world.backUp({ setting })).startsWith(`${setting}/before-`));
  assertEquals(((await Deno.stat(setting)).mode ?? 0) & 0o777, 0o700);
  assertEquals(await world.backUp({ setting: "none" }), "");
  assertEquals((await world.files(world.dataDir)).includes("backups"), false);
});

Deno.test("backUpBeforeUpgrade() ends with its signal, without a file", async () => {
  await using world = await open();
  const ending = new AbortController();
  ending.abort(new Error("the node stops"));
  await assertRejects(() => world.backUp({}, ending.signal), Error, "the node stops");
  assertEquals(await world.files(`${world.dataDir}/backups`), []);
});

Deno.test("backUpBeforeUpgrade() says that the store is unchanged if the backup cannot be written", async () => {
  await using world = await open();
  await Deno.writeTextFile(`${world.dataDir}/backups`, "");
  const fault = await assertRejects(() => world.backUp(), BackupFault, "The store is unchanged.");
  assertStringIncludes(fault.message, "store.upgrade_backup");
});

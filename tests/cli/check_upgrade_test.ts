// `deno task check-config` from a new version, with the store of the old one: what the next start does with it. Reads only.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { checkUpgrade, upgradeText } from "../../cli/check_stored_settings.ts";
import { type Migration, MIGRATIONS } from "../../platform/upgrade/migrations.ts";
import { FORMAT, FORMAT_KEY, type FormatRecord, newestRecord } from "../../platform/upgrade/store_format.ts";
import { readUpgradeFacts, writeUpgradeData } from "../fakes/upgrade_data.ts";
import { openOperator } from "./operator.ts";

const NEXT: Migration = { to: FORMAT + 1, version: "9.0.0", reader: FORMAT, tables: [] };
const WITH_TABLE: Migration = {
  ...NEXT,
  reader: NEXT.to,
  tables: [{ prefix: ["pairing"], convert: () => [] }],
};

interface Case {
  readonly title: string;
  readonly migrations?: readonly Migration[];
  readonly record?: Partial<FormatRecord>;
  readonly nodes?: readonly object[];
  readonly kv?: string;
  readonly setting?: string;
  /** Lines of the text. */
  readonly says: readonly string[];
}

const CASES: readonly Case[] = [
  {
    title: "the newest format",
    says: [`The store has format ${FORMAT}, the newest. This start changes nothing.`],
  },
  {
    title: "version 0.2.0",
    record: { format: 1, reader: 1 },
    says: [
      `upgrades the store from format 1 (version 0.2.0) to ${FORMAT}:`,
      "of version 0.3.0; converts no entry",
      "in /data/backups",
      "version 0.2.0 needs the backup",
    ],
  },
  {
    title: "entries to convert, and no backup",
    migrations: [...MIGRATIONS, WITH_TABLE],
    setting: "none",
    says: ["of version 9.0.0; converts 3 entries", 'backup    none (store.upgrade_backup = "none")'],
  },
  {
    title: "a format that the old version can read",
    migrations: [...MIGRATIONS, NEXT],
    setting: "/var/backups",
    says: ["in /var/backups", "version 0.3.0 can use the store afterwards"],
  },
  {
    title: "an interrupted upgrade",
    migrations: [...MIGRATIONS, WITH_TABLE],
    record: { reader: NEXT.to, cursor: { table: 0, after: null, entries: 0 } },
    says: [", where an interrupted upgrade stopped:"],
  },
  {
    title: "several nodes",
    record: { format: 1, reader: 1 },
    kv: "https://kv.example.org",
    nodes: [{ name: "gw1", version: "0.3.0", format: FORMAT }, { name: "gw2", version: "0.2.0" }],
    says: [
      "nodes     gw1 (0.3.0), gw2 (0.2.0)",
      "waits for gw2 (0.2.0): upgrade",
      "of a size that only the endpoint knows",
    ],
  },
];

for (
  const { title, migrations = MIGRATIONS, record = {}, nodes = [], kv: url = "", setting = "", says } of CASES
) {
  Deno.test(`checkUpgrade(): ${title}`, async () => {
    using kv = await Deno.openKv(":memory:");
    for (let at = 0; at < 3; at++) await kv.set(["pairing", at], at);
    for (const [at, node] of nodes.entries()) await kv.set(["node", `${at}`], node);
    const config = { server: { dataDir: "/data" }, store: { kv: url, upgradeBackup: setting } };
    const check = await checkUpgrade({ kv, config, record: { ...newestRecord(0), ...record }, migrations });
    const text = upgradeText(check);
    for (const part of says) assertStringIncludes(text, part);
    assertEquals(check.problems, []);
  });
}

Deno.test("check-config reads the store of version 0.2.0, says what the upgrade does, and changes nothing", async () => {
  await using operator = await openOperator();
  const location = `${operator.dataDir}/countersign.kv`;
  await Deno.mkdir(operator.dataDir, { recursive: true });
  await writeUpgradeData(location);
  const { code, stdout } = await operator.run("check_config", "--json");
  const { ok, errors, upgrade } = JSON.parse(stdout);
  assertEquals([code, ok, errors], [0, true, []]);
  assertEquals([upgrade.format, upgrade.newestFormat, upgrade.isReversible], [1, FORMAT, false]);
  assertEquals([upgrade.backup.dir, upgrade.waitsFor], [`${operator.dataDir}/backups`, []]);
  assert(upgrade.backup.storeOctets > 10_000);
  using kv = await Deno.openKv(location);
  assertEquals((await kv.get(FORMAT_KEY)).value, null);
  assertEquals((await Array.fromAsync(kv.list({ prefix: [] }))).length, readUpgradeFacts().entries);
});

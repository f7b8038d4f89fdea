// The part of `deno task check-config` that says what this version will do with the store at its next start. Reads only.

import { statfs } from "node:fs/promises";
import { NODE_PREFIX } from "../platform/backup/records.ts";
import type { Config } from "../platform/config/config.ts";
import { FIRST_FORMAT, type Migration, MIGRATIONS } from "../platform/upgrade/migrations.ts";
import { type FormatRecord, newestOf, versionOf } from "../platform/upgrade/store_format.ts";
import { nodesBefore } from "../platform/upgrade/upgrade.ts";
import { upgradeBackupDir } from "../platform/upgrade/upgrade_backup.ts";
import { printable, sizeText } from "./format_result.ts";

/** Entries of 300 octets that are converted in a second; a busy machine with two cores did 6,900 and 930. */
const ENTRIES_PER_S = { file: 5000, endpoint: 700 } as const;

interface UpgradeStep {
  readonly to: number;
  readonly version: string;
  /** The entries that it reads and converts. */
  readonly entries: number;
}

/** What the next start does with the store. */
export interface UpgradeCheck {
  readonly format: number;
  readonly newestFormat: number;
  /** The version that wrote the store, as far as its format says. */
  readonly storeVersion: string;
  /** Whether an upgrade was interrupted. */
  readonly isInterrupted: boolean;
  readonly steps: readonly UpgradeStep[];
  readonly estimatedSeconds: number;
  /** `null`: no backup will be made. `dir`: of this node. A size that cannot be read is `null`. */
  readonly backup: {
    readonly dir: string;
    readonly storeOctets: number | null;
    readonly freeOctets: number | null;
  } | null;
  /** The nodes that run, each with its version. Empty for a store in a file. */
  readonly nodes: readonly string[];
  /** The nodes for which the upgrade waits. */
  readonly waitsFor: readonly string[];
  /** Why the upgrade cannot begin. */
  readonly problems: readonly string[];
  /** Whether the version that wrote the store can use it after the upgrade. Otherwise the backup is needed. */
  readonly isReversible: boolean;
}

interface StoreOf {
  readonly kv: Deno.Kv;
  readonly config: {
    readonly server: Pick<Config["server"], "dataDir">;
    readonly store: Config["store"];
  };
  readonly record: FormatRecord;
  readonly migrations?: readonly Migration[];
}

export async function checkUpgrade(
  { kv, config: { server: { dataDir }, store }, record, migrations = MIGRATIONS }: StoreOf,
): Promise<UpgradeCheck> {
  const left = migrations.filter(({ to }) => to > record.format);
  const isEndpoint = store.kv !== "";
  const steps: UpgradeStep[] = [];
  for (const { to, version, tables } of left) {
    let entries = 0;
    for (const { prefix } of tables) {
      for await (const _ of kv.list({ prefix }, { batchSize: 1000 })) entries++;
    }
    steps.push({ to, version, entries });
  }
  const nodes = isEndpoint ? await readNodes(kv) : [];
  const dir = left.length === 0 ? null : upgradeBackupDir({ dataDir, setting: store.upgradeBackup });
  const backup = dir === null ? null : {
    dir,
    storeOctets: isEndpoint ? null : await storeOctets(`${dataDir}/countersign.kv`),
    freeOctets: await freeOctets(dir),
  };
  const { storeOctets: needed = null, freeOctets: free = null } = backup ?? {};
  const isTight = needed !== null && free !== null && free < needed;
  const entries = steps.reduce((sum, step) => sum + step.entries, 0);
  return {
    format: record.format,
    newestFormat: newestOf(migrations),
    storeVersion: versionOf(record.format, migrations),
    isInterrupted: record.cursor !== null,
    steps,
    estimatedSeconds: Math.ceil(entries / ENTRIES_PER_S[isEndpoint ? "endpoint" : "file"]),
    backup,
    nodes: nodes.map(({ name, version }) => `${name} (${version})`),
    waitsFor: nodesBefore(nodes, Math.max(FIRST_FORMAT, ...left.map(({ reader }) => reader))),
    problems: isTight
      ? [`the backup needs up to ${sizeText(needed)}, and ${sizeText(free)} are free in ${dir}`]
      : [],
    isReversible: left.every(({ reader }) => reader <= record.format),
  };
}

/** The size of a store in a file, with its write-ahead log: a backup is not larger. `null`: there is none. */
async function storeOctets(file: string): Promise<number | null> {
  const sizes = await Promise.all(
    [file, `${file}-wal`].map((path) => Deno.stat(path).then(({ size }) => size, () => null)),
  );
  return sizes[0] === null ? null : sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
}

/** What this user can write to the file system of a directory that may not exist yet; `null` without the permission `--allow-sys=statfs`. */
async function freeOctets(dir: string): Promise<number | null> {
  for (let path = dir;; path = path.slice(0, path.lastIndexOf("/"))) {
    try {
      const { bavail, bsize } = await statfs(path === "" ? "/" : path);
      return bavail * bsize;
    } catch (fault) {
      const isMissing = (fault as { code?: unknown }).code === "ENOENT";
      if (!isMissing || !path.includes("/")) return null;
    }
  }
}

/** The records of the nodes. That of a node that was killed stays for a minute. */
async function readNodes(kv: Deno.Kv): Promise<{ name: string; version: string; format: number }[]> {
  const entries = kv.list<Readonly<Record<string, unknown>>>({ prefix: NODE_PREFIX });
  return await Array.fromAsync(entries, ({ key, value: { name, version, format } }) => ({
    name: String(name ?? key[1]),
    version: String(version ?? ""),
    format: Number(format ?? FIRST_FORMAT),
  }));
}

const entriesText = (count: number) =>
  count === 0 ? "no entry" : count === 1 ? "1 entry" : `${count.toLocaleString("en-US")} entries`;

/** The check as lines for a terminal. */
export function upgradeText(check: UpgradeCheck): string {
  const { format, newestFormat, storeVersion, steps, backup, nodes, waitsFor, isReversible } = check;
  const rows: [string, string][] = nodes.length === 0 ? [] : [["nodes", nodes.join(", ")]];
  if (steps.length === 0) {
    const head = `The store has format ${format}, the newest. This start changes nothing.\n`;
    return head + rowsText(rows);
  }
  const head =
    `The next start upgrades the store from format ${format} (version ${storeVersion}) to ${newestFormat}` +
    `${check.isInterrupted ? ", where an interrupted upgrade stopped" : ""}:\n`;
  for (const { to, version, entries } of steps) {
    rows.push([`format ${to}`, `of version ${version}; converts ${entriesText(entries)}`]);
  }
  rows.push([
    "duration",
    `${
      check.estimatedSeconds < 2 ? "a moment" : `about ${check.estimatedSeconds} s`
    }, and the time of the backup`,
  ]);
  rows.push(["backup", backup === null ? 'none (store.upgrade_backup = "none")' : backupText(backup)]);
  if (waitsFor.length > 0) rows.push(["waits for", `${waitsFor.join(", ")}: upgrade these nodes, too`]);
  rows.push([
    "go back",
    isReversible
      ? `version ${storeVersion} can use the store afterwards`
      : `version ${storeVersion} needs the backup; what changes after the upgrade is lost then`,
  ]);
  return head + rowsText(rows);
}

function backupText(
  { dir, storeOctets: size, freeOctets: free }: NonNullable<UpgradeCheck["backup"]>,
): string {
  const needed = size === null ? "of a size that only the endpoint knows" : `of up to ${sizeText(size)}`;
  const left = free === null ? "free space unknown" : `${sizeText(free)} free`;
  return `${needed}, in ${dir} (${left})`;
}

const rowsText = (rows: readonly (readonly [string, string])[]) =>
  rows.map(([name, value]) => `  ${name.padEnd(9)} ${printable(value)}\n`).join("");

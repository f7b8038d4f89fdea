// The part of `deno task check-config` that checks the settings file together with what administrators saved in the console.

import type { Config, ConfigFault } from "../platform/config/config.ts";
import { shownKey } from "../platform/setting_problems.ts";
import type { SettingsFile } from "../platform/config/load.ts";
import { readStoredSettings, type StoredSettings } from "../platform/config/live_settings.ts";
import { hasContent, openKv, StoreFault } from "../platform/open_kv.ts";
import { FIRST_FORMAT, type Migration, MIGRATIONS } from "../platform/upgrade/migrations.ts";
import { type FormatRecord, newestOf, readFormat, versionOf } from "../platform/upgrade/store_format.ts";
import { type CommandOutcome, counted, printable, sizeText } from "./format_result.ts";
import { statfs } from "node:fs/promises";
import { NODE_PREFIX } from "../platform/backup/records.ts";
import { nodesBefore } from "../platform/upgrade/upgrade.ts";
import { upgradeBackupDir } from "../platform/upgrade/upgrade_backup.ts";

/** What the store adds to the check of the file. */
export interface StoredCheck extends CommandOutcome {
  /** The settings in effect; `null` if the store cannot be read. */
  readonly config: Config | null;
  /** What `err` and the warnings of `out` say, a sentence each. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  /** What the next start does with the store; `null` if the store cannot be read. */
  readonly upgrade: UpgradeCheck | null;
}

type Layer = "settings file" | "console" | "default";

/** Whether `key` is a setting, or a part of it. */
const isOf = (key: string) => (path: string) =>
  path === key || path.startsWith(`${key}.`) || path.startsWith(`${key}[`);

/** Where the value of a setting comes from. */
function layerOf(path: string, { found }: SettingsFile, { stored }: StoredSettings): Layer {
  const isThis = (key: string) => isOf(key)(path);
  const tables = [...found.maps].flatMap(([map, table]) =>
    map === "targets" ? Object.keys(table).map((name) => `targets.${name}`) : [map]
  );
  if ([...found.values.keys(), ...found.lists.keys(), ...tables].some(isThis)) return "settings file";
  const targets = [...stored.targets.keys()].map((name) => `targets.${name}`);
  return [...stored.values.keys(), ...targets].some(isThis) ? "console" : "default";
}

const lines = (entries: readonly string[]) => entries.map((entry) => `  ${printable(entry)}\n`).join("");

/**
 * Describes the settings in effect: what the console stored and does not fit, what the file overrides, and the warnings, each with the
 * layer of the setting.
 */
function describeStored(file: SettingsFile, read: StoredSettings): Omit<StoredCheck, "upgrade"> {
  const { stored: { values, targets }, effective: { problems, warnings, used }, overridden } = read;
  const layer = (key: string) => layerOf(key, file, read);
  const layered = (fault: ConfigFault) => {
    const { key, problem } = fault;
    return key === file.path ? `${key}: ${problem}` : `${shownKey(fault)} (${layer(key)}): ${problem}`;
  };
  const unused = [...problems].map(([key, cause]) =>
    cause.key === key
      ? `${key} (console): ${cause.problem}`
      : `${key} (console): it does not fit ${layered(cause)}`
  );
  const head = values.size + targets.size === 0
    ? "The console has saved no settings.\n"
    : `The console has saved ${counted(values.size, "setting")} and ${targets.size} ${
      targets.size === 1 ? "directory" : "directories"
    }; ${used.values.size + used.targets.size - overridden.length} of them are used.\n`;
  const notes = overridden.length === 0
    ? ""
    : `The settings file overrides:\n${lines(overridden.map((key) => `${key} (settings file)`))}`;
  const shown = warnings.filter(({ code }) => code !== "not_used").map(layered);
  const warned = shown.length === 0 ? "" : `${counted(shown.length, "warning")}\n${lines(shown)}`;
  const err = unused.length === 0
    ? ""
    : `${counted(unused.length, "saved setting")} cannot be used:\n${lines(unused)}`;
  const { config } = read.effective;
  const exitCode = err === "" ? 0 : 1;
  return { out: head + notes + warned, err, exitCode, config, errors: unused, warnings: shown };
}

/** What the check reads of a policy (radius/policy/policy.ts). */
interface StoredPolicy {
  readonly name: string;
  readonly enabled: boolean;
  readonly outcome: { readonly kind: string; readonly unknownUsers?: boolean };
}

/** Warns about policies that accept names outside the directory without a second factor. */
export function policyWarnings(policies: readonly StoredPolicy[]): string[] {
  const open = policies.filter(({ enabled, outcome }) =>
    enabled && outcome.kind === "bypass" && outcome.unknownUsers === true
  );
  return open.map(({ name }) =>
    `policy "${name}": it accepts names outside the directory with the password alone. Such a name can be another spelling of a user's name.`
  );
}

/** Reads the store without changing it, while the server runs or not. `null`: there is no store yet. */
export async function checkStored(config: Config, file: SettingsFile): Promise<StoredCheck | null> {
  const location = config.store.kv || `${config.server.dataDir}/countersign.kv`;
  try {
    if (config.store.kv === "" && !await hasContent(location)) return null;
    const kv = await openKv(location, { mustExist: true });
    try {
      const { record } = await readFormat(kv, location);
      const described = describeStored(file, await readStoredSettings(kv, file));
      const { value } = await kv.get<{ readonly policies: readonly StoredPolicy[] }>(["policy", "list"]);
      const ofPolicies = policyWarnings(value?.policies ?? []);
      const warned = ofPolicies.length === 0
        ? ""
        : `${counted(ofPolicies.length, "warning")}\n${lines(ofPolicies)}`;
      const upgrade = await checkUpgrade({ kv, config: described.config ?? config, record });
      const refused = upgrade.problems.length === 0
        ? ""
        : `Cannot upgrade the store:\n${lines(upgrade.problems)}`;
      return {
        ...described,
        out: described.out + warned + upgradeText(upgrade),
        err: described.err + refused,
        exitCode: refused === "" ? described.exitCode : 1,
        errors: [...described.errors, ...upgrade.problems],
        warnings: [...described.warnings, ...ofPolicies],
        upgrade,
      };
    } finally {
      kv.close();
    }
  } catch (fault) {
    if (!(fault instanceof StoreFault)) throw fault;
    const { message } = fault;
    const err = `Cannot read the settings of the console: ${printable(message)}\n`;
    return { out: "", err, exitCode: 1, config: null, errors: [message], warnings: [], upgrade: null };
  }
}

// The part of `deno task check-config` that says what this version will do with the store at its next start. Reads only.

/** Entries of 300 octets that are converted in a second; a busy machine with two cores did 6,900 and 930. */
const ENTRIES_PER_S = { file: 5000, endpoint: 700 } as const;

interface UpgradeStep {
  readonly to: number;
  readonly version: string;
  /** The entries that it reads and converts. */
  readonly entries: number;
}

/** What the next start does with the store. */
interface UpgradeCheck {
  readonly format: number;
  readonly newestFormat: number;
  /** The version that wrote the store, as far as its format says. */
  readonly storeVersion: string;
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

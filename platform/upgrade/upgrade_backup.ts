// The backup that an upgrade of the store makes before it changes anything.

import { createBackupFile } from "../backup/backup_format.ts";
import type { LifetimeSettings } from "../backup/expiry.ts";
import { BackupFault } from "../backup/records.ts";
import { writeStore } from "../backup/write_store.ts";
import { faultMessage, type Log } from "../log.ts";
import { hostName } from "../process.ts";
import type { Clock } from "../runtime.ts";

/** The value of `store.upgrade_backup` that makes no backup. */
const NO_BACKUP = "none";

interface UpgradeBackupDeps {
  readonly kv: Deno.Kv;
  /** Whether other nodes use the store. */
  readonly isShared: boolean;
  readonly dataDir: string;
  /** `store.upgrade_backup`. */
  readonly setting: string;
  readonly version: string;
  readonly lifetimes: LifetimeSettings;
  readonly clock: Clock;
  readonly log: Log;
}

/** Packets wait while a batch is read. */
const BATCH_ENTRIES = 100;
const UNFINISHED = /^before-.*\.backup\.[0-9a-f]{12}\.new$/;

/** The directory of these backups; `null`: none are made. */
export function upgradeBackupDir(
  { dataDir, setting }: Pick<UpgradeBackupDeps, "dataDir" | "setting">,
): string | null {
  if (setting === NO_BACKUP) return null;
  return setting === "" ? `${dataDir}/backups` : setting;
}

/**
 * Makes the backup of an upgrade.
 *
 * @param options.readBy the first version that can read the records
 * @param options.signal ends it with its reason, without a file
 * @returns its path, behind the name of the host if there are several; "" without a backup
 * @throws BackupFault if it cannot be written: the upgrade must not begin
 */
export async function backUpBeforeUpgrade(
  deps: UpgradeBackupDeps,
  { readBy, signal }: { readBy: string; signal: AbortSignal },
): Promise<string> {
  const { kv, isShared, version, lifetimes, clock, log } = deps;
  const dir = upgradeBackupDir(deps);
  if (dir === null) return "";
  const time = new Date(clock.nowMs()).toISOString().slice(0, 19).replaceAll(":", "-");
  const path = `${dir}/before-${version}-${time}.backup`;
  try {
    await Deno.mkdir(dir, { recursive: true, mode: 0o700 });
    await removeUnfinished(dir);
    const output = await createBackupFile(path);
    try {
      await writeStore(kv, output, {
        ...{ version: readBy, settings: lifetimes, nowMs: clock.nowMs, signal },
        isAlone: !isShared,
        ...isShared ? { batchEntries: BATCH_ENTRIES } : {},
      });
      await output.finish();
    } catch (fault) {
      await output.abandon();
      throw fault;
    }
    log.info("the store was backed up before its upgrade", { backup: path, octets: output.size() });
  } catch (fault) {
    signal.throwIfAborted();
    throw new BackupFault(
      `Cannot upgrade the store, because its backup cannot be written: ${
        faultMessage(fault)
      }. The store is unchanged. ` +
        `Make space in "${dir}", or set store.upgrade_backup to another directory.`,
    );
  }
  return isShared ? `${hostName()}:${path}` : path;
}

/** What a killed process left. */
async function removeUnfinished(dir: string): Promise<void> {
  for await (const { name } of Deno.readDir(dir)) {
    if (UNFINISHED.test(name)) await Deno.remove(`${dir}/${name}`);
  }
}

// `deno task restore`: replaces the content of the store by that of a backup.

import { COMMAND } from "../platform/command_name.ts";
import { VERSION } from "../compose.ts";
import { type BackupHeader, type CheckedBackup, readBackupFile } from "../platform/backup/backup_format.ts";
import { BackupFault } from "../platform/backup/records.ts";
import type { Config } from "../platform/config/config.ts";
import { findMasterKey, lockDataDir, MASTER_KEY_CHECK } from "../platform/data_dir.ts";
import { createSystemRandom } from "../platform/runtime.ts";
import { createVault } from "../platform/vault.ts";
import { type CommandOutcome, printable } from "./format_result.ts";
import { adminCommand, refusal, runMain, runWithSettings, success } from "./run_admin_command.ts";
import { abandonCopy, openCopyTarget, refuseContent, summaryText, supervised } from "./store_copy.ts";
import { interruptSignal, parseCommandArgs, type Progress, terminalProgress } from "./terminal.ts";

const USAGE = `Restore the store from a backup.

Usage:
  ${COMMAND} restore <file>          Restore into an empty store.
  ${COMMAND} restore <file> --force  Delete the content of the store first, after showing what it is.

Stop the server first; with a KV Connect server (store.kv), stop all nodes. The command checks the whole file before it
changes anything. A backup has no master.key: copy that file to the data directory, or set COUNTERSIGN_MASTER_KEY.
If the restore of a file is interrupted, the store is unchanged. If the restore of a KV Connect server is interrupted,
no node starts until you run the restore again with --force.
`;

interface RestorePlan {
  readonly file: string;
  readonly force: boolean;
}

/** Reads the arguments. A text is the problem with them. */
export function planRestore(args: readonly string[]): RestorePlan | string {
  const parsed = parseCommandArgs(args, { force: { type: "boolean" } });
  if (!parsed.ok) return parsed.problem;
  const { words: [file = "", second], values: { force = false } } = parsed;
  if (file === "") return "the file is missing";
  return second === undefined ? { file, force } : "there is more than one file";
}

interface RestoreRun extends RestorePlan {
  readonly config: Config;
  readonly masterKeyHex: string;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

async function run(plan: RestorePlan): Promise<CommandOutcome> {
  const progress = terminalProgress();
  try {
    return await runWithSettings((config, { masterKeyHex }) =>
      restore({ ...plan, config, masterKeyHex, progress, signal: interruptSignal() })
    );
  } finally {
    progress.clear();
  }
}

async function restore(options: RestoreRun): Promise<CommandOutcome> {
  const { config, force, progress, signal } = options;
  const { dataDir } = config.server;
  const { checked, sealedCheck } = await checkBackup(options);
  using _lock = await lockDataDir(dataDir);
  const key = await findMasterKey(dataDir, options.masterKeyHex);
  if (key !== null && sealedCheck !== null) {
    if (createVault(key, createSystemRandom()).open(MASTER_KEY_CHECK, sealedCheck) === null) {
      return refusal(
        `Cannot restore the backup: it belongs to another master key than that of this node. Copy the master.key of the backup to "${
          printable(dataDir)
        }" first.\n`,
      );
    }
  }
  const location = config.store.kv === "" ? `${dataDir}/countersign.kv` : config.store.kv;
  const refused = await refuseContent(location, { action: "restore into", force, progress, signal });
  if (refused !== null) return refused;
  const outcome = await write(options, { location, checked });
  return key === null ? success(outcome + missingKey(dataDir)) : success(outcome);
}

function missingKey(dataDir: string): string {
  return `Before you start the server, copy the master.key of the backup to "${
    printable(dataDir)
  }", or set COUNTERSIGN_MASTER_KEY.\n`;
}

/** Reads the whole file. The master key is checked against the record that a first start sealed. */
async function checkBackup(
  { file, progress, signal }: RestoreRun,
): Promise<{ checked: CheckedBackup; sealedCheck: Uint8Array | null }> {
  let done = 0;
  let sealedCheck: Uint8Array | null = null;
  const checked = await readBackupFile(file, {
    signal,
    onRecord(record) {
      if (++done % PROGRESS_RECORDS === 0) progress.update("Checking", { done, total: null });
      const isCheck = record.key.length === 2 &&
        record.key.every((part, at) => part === MASTER_KEY_CHECK[at]);
      if (isCheck && record.kind === "set" && record.value instanceof Uint8Array) sealedCheck = record.value;
    },
  });
  if (isNewer(checked.header)) {
    throw new BackupFault(
      `Cannot use the backup "${file}": only version ${checked.header.version} or later can read it, and this is version ${VERSION}. Upgrade Countersign first.`,
    );
  }
  return { checked, sealedCheck };
}

/** Whether only a later version can read the records. */
function isNewer({ version }: BackupHeader): boolean {
  const [ours, theirs] = [VERSION, version].map((text) => text.split(".").map(Number));
  for (const [at, part] of (theirs ?? []).entries()) {
    const own = ours?.[at] ?? 0;
    if (part !== own) return part > own;
  }
  return false;
}

const PROGRESS_RECORDS = 500;

async function write(
  { file, progress, signal }: RestoreRun,
  { location, checked: { totals } }: { location: string; checked: CheckedBackup },
): Promise<string> {
  const startedMs = performance.now();
  const target = await openCopyTarget(location, { progress, signal });
  const { writer } = target;
  try {
    let done = 0;
    await supervised(async (onProgress) => {
      await readBackupFile(file, {
        signal,
        async onRecord(record) {
          await writer.add(record);
          if (++done % PROGRESS_RECORDS !== 0) return;
          onProgress();
          progress.update("Restoring", { done, total: totals.records });
        },
      });
      await writer.flush();
    }, { signal });
    await target.finish();
  } catch (fault) {
    await abandonCopy(target, fault);
  }
  const seconds = (performance.now() - startedMs) / 1000;
  const left = writer.expired === 0 ? "" : `${writer.expired} entries had expired and were left out.\n`;
  return summaryText("Restored", { entries: writer.written, octets: writer.octets, seconds }) + left;
}

export const restoreCommand = adminCommand({ usage: USAGE, plan: planRestore, run, needsStop: true });

if (import.meta.main) await runMain(restoreCommand);

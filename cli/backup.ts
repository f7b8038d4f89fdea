// `deno task backup`: writes the whole store into one file, with or without a running server.

import { COMMAND } from "../platform/command_name.ts";
import { answerBackups, BACKUP_PATH, CommitObserver } from "../platform/backup/server_backup.ts";
import {
  type BackupFile,
  type BackupPart,
  type BackupTotals,
  BackupWriter,
  createBackupFile,
  readBackup,
} from "../platform/backup/backup_format.ts";
import { readLifetimes } from "../platform/config/live_settings.ts";
import { BackupFault } from "../platform/backup/records.ts";
import { writeStore } from "../platform/backup/write_store.ts";
import type { Config } from "../platform/config/config.ts";
import type { SettingsFile } from "../platform/config/load.ts";
import { lockDataDir } from "../platform/data_dir.ts";
import { createLog } from "../platform/log.ts";
import { openKv } from "../platform/open_kv.ts";
import { versionOf, writtenFormat } from "../platform/upgrade/store_format.ts";
import { systemClock } from "../platform/runtime.ts";
import { AdminUnreachable, openAdminConnection, readInTime } from "./admin_connection.ts";
import { type CommandOutcome, sizeText } from "./format_result.ts";
import type { OfflineAdmin } from "./admin_connection.ts";
import { adminCommand, runMain, runWithSettings, success } from "./run_admin_command.ts";
import { checkUsable, summaryText, supervised } from "./store_copy.ts";
import { interruptSignal, parseCommandArgs, type Progress, terminalProgress } from "./terminal.ts";

const USAGE = `Back up the whole store into one file.

Usage:
  ${COMMAND} backup <file>  Write the backup to a new file with mode 0600.

The backup has all users, factors, settings of the console, logins and the audit log. It does not have master.key, the
settings file and the TLS files: copy them separately. Without master.key, the secrets in the backup cannot be used.
With a store in a file, the backup is the store at the moment when the command ends, also if the server runs. A backup
of a KV Connect server (store.kv) is that only if no node writes meanwhile.
`;

interface BackupPlan {
  readonly file: string;
}

/** Reads the arguments. A text is the problem with them. */
export function planBackup(args: readonly string[]): BackupPlan | string {
  const parsed = parseCommandArgs(args, {});
  if (!parsed.ok) return parsed.problem;
  const [file = "", second] = parsed.words;
  if (file === "") return "the file is missing";
  return second === undefined ? { file } : "there is more than one file";
}

interface BackupRun {
  readonly config: Config;
  readonly masterKeyHex: string;
  readonly settingsFile: SettingsFile;
  readonly output: BackupFile;
  readonly signal: AbortSignal;
  readonly onProgress: () => void;
}

async function run({ file }: BackupPlan): Promise<CommandOutcome> {
  const progress = terminalProgress();
  const startedMs = performance.now();
  try {
    return await runWithSettings(async (config, source) => {
      // First, so that an interruption does not leave the file.
      const signal = interruptSignal();
      const output = await createBackupFile(file);
      const backUp = config.store.kv === "" ? backUpServer : backUpEndpoint;
      try {
        const totals = await supervised((onProgress) =>
          backUp({
            ...{ ...source, config, output, signal },
            onProgress() {
              onProgress();
              showSize(progress, output);
            },
          }), { signal });
        await output.finish();
        const seconds = (performance.now() - startedMs) / 1000;
        const did = summaryText("Backed up", { entries: totals.records, octets: output.size(), seconds });
        return success(`${did}${totals.isExact ? "" : NOT_EXACT}`);
      } catch (fault) {
        await output.abandon();
        throw fault;
      }
    });
  } finally {
    progress.clear();
  }
}

const NOT_EXACT =
  "The store changed during the backup, so entries of different tables can be of different moments.\n";

function showSize(progress: Progress, output: BackupFile): void {
  progress.showText(`Backing up: ${sizeText(output.size())}`);
}

/** Copies the stream of the server, or of the store without a server. */
async function backUpServer(
  { config, masterKeyHex, settingsFile, output, signal, onProgress }: BackupRun,
): Promise<BackupTotals> {
  const connection = openAdminConnection(config, {
    ...{ masterKeyHex, settingsFile },
    openOffline: openStoppedStore,
  });
  try {
    const { status, body } = await connection.get(BACKUP_PATH);
    if (status === 409) {
      throw new BackupFault("The server is writing another backup. Try again when it is complete.");
    }
    if (status !== 200 || body === null) {
      throw new BackupFault(
        `The server does not make backups (HTTP ${status}). It has another version: restart it with this one.`,
      );
    }
    const writer = new BackupWriter(output.write, { deflate: true });
    for await (const part of serverParts(body)) {
      signal.throwIfAborted();
      onProgress();
      if (part.kind === "header") await writer.begin(part.header);
      else if (part.kind === "records") await writer.addEncoded(part.octets);
      else return await writer.end(part.totals);
    }
    throw new BackupFault(BROKEN_OFF);
  } finally {
    await connection.close();
  }
}

const BROKEN_OFF = "Cannot complete the backup: the server closed the connection. Its log has the reason.";

/** The parts of a response. @throws BackupFault if it is incomplete, AdminUnreachable if the server stops sending */
async function* serverParts(body: ReadableStream<Uint8Array>): AsyncGenerator<BackupPart> {
  try {
    yield* readBackup(chunksInTime(body));
  } catch (fault) {
    throw fault instanceof AdminUnreachable ? fault : new BackupFault(BROKEN_OFF, { cause: fault });
  }
}

async function* chunksInTime(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await readInTime(reader);
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Answers requests for a backup from the store in the data directory, which it locks. */
async function openStoppedStore(
  { config, settingsFile }: Pick<BackupRun, "config" | "settingsFile">,
): Promise<OfflineAdmin> {
  const { dataDir } = config.server;
  const lock = await lockDataDir(dataDir);
  try {
    const kv = await openKv(`${dataDir}/countersign.kv`, { mustExist: true });
    const { record } = await checkUsable(kv, dataDir);
    const source = {
      kv,
      commits: new CommitObserver(kv, Date.now),
      clock: systemClock,
      settings: await readLifetimes(kv, settingsFile),
      format: { writes: writtenFormat(record) },
      log: createLog({ format: "text", level: "error", clock: systemClock, write: () => undefined }),
    };
    return {
      answer: answerBackups(source, () => Promise.resolve(new Response(null, { status: 404 }))),
      close() {
        kv.close();
        lock.close();
        return Promise.resolve();
      },
    };
  } catch (fault) {
    lock.close();
    throw fault;
  }
}

/** Reads the endpoint from here, twice, because other nodes can write to it meanwhile. */
async function backUpEndpoint(
  { config, settingsFile, output, signal, onProgress }: BackupRun,
): Promise<BackupTotals> {
  const location = config.store.kv;
  const kv = await openKv(location);
  try {
    const { record } = await checkUsable(kv, location);
    const settings = await readLifetimes(kv, settingsFile);
    const version = versionOf(writtenFormat(record));
    return await writeStore(kv, output, {
      ...{ version, settings, signal, onProgress },
      nowMs: Date.now,
      isAlone: false,
    });
  } finally {
    kv.close();
  }
}

export const backupCommand = adminCommand({ usage: USAGE, plan: planBackup, run });

if (import.meta.main) await runMain(backupCommand);

// The file of a backup: written beside its place, with mode 0600, and renamed at the end; checked as a whole before a restore.

import { faultMessage } from "../log_line.ts";
import { type BackupHeader, type BackupTotals, type OctetSink, readBackup } from "./backup_format.ts";
import { BackupFault, type BackupRecord, readRecords } from "./records.ts";

export interface BackupFile {
  readonly write: OctetSink;
  /** The path until {@link finish}. */
  readonly path: string;
  /** The octets so far. */
  readonly size: () => number;
  /** Completes the file under its name. */
  finish(): Promise<void>;
  /** Deletes what was written. */
  abandon(): Promise<void>;
}

/** Creates the file of a backup. @throws BackupFault if it exists, or cannot be created */
export async function createBackupFile(path: string): Promise<BackupFile> {
  if (await exists(path)) {
    throw new BackupFault(
      `Cannot write the backup: "${path}" exists. Choose another name, or delete that file.`,
    );
  }
  const unfinished = `${path}.${crypto.getRandomValues(new Uint8Array(6)).toHex()}.new`;
  const file = await Deno.open(unfinished, { write: true, createNew: true, mode: 0o600 }).catch((fault) => {
    throw new BackupFault(`Cannot write the backup "${path}": ${faultMessage(fault)}`);
  });
  let size = 0;
  return {
    async write(octets) {
      for (let at = 0; at < octets.length;) at += await file.write(octets.subarray(at));
      size += octets.length;
    },
    path: unfinished,
    size: () => size,
    async finish() {
      await file.sync();
      file.close();
      await Deno.rename(unfinished, path);
    },
    async abandon() {
      file.close();
      await Deno.remove(unfinished);
    },
  };
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) return false;
    throw new BackupFault(`Cannot write the backup "${path}": ${faultMessage(fault)}`);
  }
}

export interface CheckedBackup {
  readonly header: BackupHeader;
  readonly totals: BackupTotals;
}

interface ReadBackupOptions {
  /** Receives each record, in order. */
  readonly onRecord: (record: BackupRecord) => void | Promise<void>;
  readonly signal?: AbortSignal;
}

/**
 * Reads the file of a backup from start to end.
 *
 * @throws BackupFault if any octet of it is damaged, if it is incomplete, or if it is not a backup
 */
export async function readBackupFile(
  path: string,
  { onRecord, signal }: ReadBackupOptions,
): Promise<CheckedBackup> {
  let header: BackupHeader | null = null;
  try {
    using file = await Deno.open(path, { read: true });
    for await (const part of readBackup(chunksOf(file))) {
      signal?.throwIfAborted();
      if (part.kind === "header") header = part.header;
      else if (part.kind === "end" && header !== null) return { header, totals: part.totals };
      else if (part.kind === "records") {
        for (const record of readRecords(part.octets)) await onRecord(record);
      }
    }
  } catch (fault) {
    if (fault instanceof BackupFault) {
      throw new BackupFault(`Cannot use the backup "${path}": ${fault.message}.`);
    }
    if (fault instanceof Error && fault.name in Deno.errors) {
      throw new BackupFault(`Cannot read the backup "${path}": ${faultMessage(fault)}`);
    }
    throw fault;
  }
  throw new BackupFault(`Cannot use the backup "${path}": it has no end.`);
}

/** The records that an unfinished file has now. More can be written meanwhile. */
export async function* readUnfinished(path: string): AsyncGenerator<BackupRecord> {
  using file = await Deno.open(path, { read: true });
  const { size } = await file.stat();
  for await (const part of readBackup(chunksOf(file, size), { isUnfinished: true })) {
    if (part.kind === "records") yield* readRecords(part.octets);
  }
}

const CHUNK_OCTETS = 1 << 18;

async function* chunksOf(file: Deno.FsFile, maxOctets = Infinity): AsyncGenerator<Uint8Array> {
  for (let left = maxOctets; left > 0;) {
    const chunk = new Uint8Array(Math.min(CHUNK_OCTETS, left));
    const count = await file.read(chunk);
    if (count === null) return;
    left -= count;
    yield chunk.subarray(0, count);
  }
}

// The records of a backup: entries of the store, and changes that happened while they were read.

import { BackupFault, OctetReader, type OctetWriter } from "./octets.ts";
import { readKey, readValue, writeKey, writeValue } from "./value_codec.ts";

/** The records of a backup, applied in their order, result in the store. */
export type BackupRecord =
  | {
    readonly kind: "set";
    readonly key: Deno.KvKey;
    readonly value: unknown;
    /** When the entry expires (milliseconds since the epoch), or `null`. */
    readonly expiresAtMs: number | null;
  }
  | { readonly kind: "delete"; readonly key: Deno.KvKey };

const KINDS = { set: 1, setUntil: 2, delete: 3 } as const;

export function writeRecord(writer: OctetWriter, record: BackupRecord): void {
  if (record.kind === "delete") {
    writer.octet(KINDS.delete);
    writeKey(writer, record.key);
    return;
  }
  const { key, value, expiresAtMs } = record;
  writer.octet(expiresAtMs === null ? KINDS.set : KINDS.setUntil);
  if (expiresAtMs !== null) writer.count(Math.max(0, Math.floor(expiresAtMs)));
  writeKey(writer, key);
  writeValue(writer, value);
}

/** All records of a block, with their size. @throws BackupFault if it contains anything else */
export function* readRecords(octets: Uint8Array): Generator<BackupRecord> {
  const reader = new OctetReader(octets);
  while (!reader.isAtEnd) yield readRecord(reader);
}

function readRecord(reader: OctetReader): BackupRecord {
  const kind = reader.octet();
  switch (kind) {
    case KINDS.delete:
      return { kind: "delete", key: readKey(reader) };
    case KINDS.set:
      return { kind: "set", expiresAtMs: null, key: readKey(reader), value: readValue(reader) };
    case KINDS.setUntil: {
      const expiresAtMs = reader.count();
      return { kind: "set", expiresAtMs, key: readKey(reader), value: readValue(reader) };
    }
    default:
      throw new BackupFault(`a record has the unknown kind ${kind}`);
  }
}

/** The first part of a key, as text: the table that the entry belongs to. */
export function tableOf([first = ""]: Deno.KvKey): string {
  return typeof first === "string" ? first : String(first);
}

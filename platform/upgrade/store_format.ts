// The format of the store: its record, the refusal of a format that this program does not know, and the format in which this process writes.

import { COMMAND } from "../command_name.ts";
import { StoreFault } from "../open_kv.ts";
import { FIRST_FORMAT, FIRST_VERSION, type Migration, MIGRATIONS, RELAY_FORMAT } from "./migrations.ts";

/** Where the format is stored. A store of version 0.2 has no such record. */
export const FORMAT_KEY: Deno.KvKey = ["store_format"];

/** How far a migration in progress has come. */
export interface MigrationCursor {
  /** The place of the table among those of the migration. */
  readonly table: number;
  /** The last key that was converted; `null`: none of the table. */
  readonly after: Deno.KvKey | null;
  /** Entries that were read so far. */
  readonly entries: number;
}

export interface FormatRecord {
  /** Every entry has this format, or a later one. */
  readonly format: number;
  /** A program that knows only earlier formats must not use the store. Larger than `format` while a migration converts entries. */
  readonly reader: number;
  /** The first version that knows `reader`. */
  readonly needs: string;
  /** When the record was written (milliseconds since the epoch). */
  readonly atMs: number;
  /** The host and path of the backup that was made before; "" if there is none. */
  readonly backup: string;
  readonly cursor: MigrationCursor | null;
}

export interface StoredFormat {
  /** What the record says; that of version 0.2 if there is none. */
  readonly record: FormatRecord;
  /** `null`: there is no record. */
  readonly versionstamp: string | null;
}

const FIRST: FormatRecord = {
  format: FIRST_FORMAT,
  reader: FIRST_FORMAT,
  needs: FIRST_VERSION,
  atMs: 0,
  backup: "",
  cursor: null,
};

/** The newest format of a list of migrations. */
export const newestOf = (migrations: readonly Migration[]): number => migrations.at(-1)?.to ?? FIRST_FORMAT;

/** The newest format that this program knows. */
export const FORMAT = newestOf(MIGRATIONS);

/** The first version that knows a format. */
export function versionOf(format: number, migrations: readonly Migration[] = MIGRATIONS): string {
  return migrations.find(({ to }) => to === format)?.version ?? FIRST_VERSION;
}

/** The record of a new store. */
export function newestRecord(nowMs: number, migrations: readonly Migration[] = MIGRATIONS): FormatRecord {
  const format = newestOf(migrations);
  return { ...FIRST, format, reader: format, needs: versionOf(format, migrations), atMs: nowMs };
}

interface Program {
  /** The newest format that it knows. */
  readonly format?: number;
}

/** Reads the format, and changes nothing. @throws StoreFault if this program must not use the store */
export async function readFormat(
  kv: Pick<Deno.Kv, "get">,
  location: string,
  program: Program = {},
): Promise<StoredFormat> {
  const { value, versionstamp } = await kv.get<unknown>(FORMAT_KEY);
  const problem = formatProblem(value, location, program);
  if (problem !== null) throw new StoreFault(problem);
  return { record: value === null ? FIRST : value as FormatRecord, versionstamp };
}

/** Why this program must not use the store with this record, as a sentence; `null`: it may. */
export function formatProblem(
  value: unknown,
  location: string,
  { format: known = FORMAT }: Program = {},
): string | null {
  if (value === null) return null;
  if (!isFormatRecord(value)) {
    return `Cannot use the store "${location}": the record of its format is damaged. Restore the store from a backup.`;
  }
  const { reader, needs, backup } = value;
  if (reader <= known) return null;
  const restore = backup === ""
    ? "restore a backup of this version"
    : `restore the backup that the upgrade made, ${backup}`;
  return `Cannot use the store "${location}": version ${needs} or later upgraded it to format ${reader}, and this version knows ` +
    `format ${known}. Install version ${needs} or later, or ${restore}: ${COMMAND} restore <file> --force.`;
}

function isFormatRecord(value: unknown): value is FormatRecord {
  const { format, reader, needs, atMs, backup, cursor } = Object(value) as Record<
    keyof FormatRecord,
    unknown
  >;
  return isFormat(format) && isFormat(reader) && typeof needs === "string" && typeof atMs === "number" &&
    typeof backup === "string" && (cursor === null || isCursor(cursor));
}

const isFormat = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= FIRST_FORMAT;

function isCursor(value: unknown): value is MigrationCursor {
  const { table, after, entries } = Object(value) as Record<keyof MigrationCursor, unknown>;
  return Number.isSafeInteger(table) && Number.isSafeInteger(entries) &&
    (after === null || Array.isArray(after));
}

/** The format in which a program may write: also while a migration to it is in progress. */
export function writtenFormat({ format, reader }: FormatRecord, newest: number = FORMAT): number {
  return Math.min(newest, Math.max(format, reader));
}

/** The format as this process knows it. With several nodes, it follows the record. */
export class StoreFormat {
  readonly #newest: number;
  #stored: StoredFormat;

  constructor(stored: StoredFormat, newest: number = FORMAT) {
    this.#stored = stored;
    this.#newest = newest;
  }

  get stored(): StoredFormat {
    return this.#stored;
  }

  /** The format in which this process writes. */
  get writes(): number {
    return writtenFormat(this.#stored.record, this.#newest);
  }

  /** Takes over a record that was read or committed. */
  take(stored: StoredFormat): void {
    this.#stored = stored;
  }
}

/** What a store says about its format. */
interface Formatted {
  readonly format: number;
}

/** Nodes of an earlier version use the store, and would misread what was to be written. Nothing was written. */
export class NotUpgraded extends Error {}

/** @throws NotUpgraded while nodes of an earlier version use the store: they might weaken a login by a setting that they misread */
export function requireUpgraded({ format }: Formatted): void {
  if (format < FORMAT) {
    throw new NotUpgraded("Cannot change settings while the store has the format of an earlier version");
  }
}

/** Whether logins that version 0.2 misreads may be stored. */
export const mayRelay = ({ format }: Formatted): boolean => format >= RELAY_FORMAT;

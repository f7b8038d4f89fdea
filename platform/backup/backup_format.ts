// The format of a backup: a line, then blocks. Each block ends with a SHA-256 of itself and of the digest before it, so that a damaged,
// missing, repeated or reordered block is found. The last block has the totals: a file without it is incomplete. docs/backup.md
// describes the format.

import { createHash } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { BackupFault, type BackupRecord, OctetWriter, readRecords, tableOf, writeRecord } from "./records.ts";
import { faultMessage } from "../log.ts";

/** The version of the format. A change that earlier versions cannot read increases it. */
export const BACKUP_FORMAT = 1;

const MAGIC = new TextEncoder().encode("COUNTERSIGN BACKUP\n");
const DIGEST_OCTETS = 32;
const HEAD_OCTETS = 5;
/** A block of records is complete when it has this size. One more record has at most some 100 KiB. */
const BLOCK_OCTETS = 256 * 1024;
/** No writer makes larger blocks. The limit bounds the memory of a reader. */
const MAX_BLOCK_OCTETS = 8 * 1024 * 1024;

const KINDS = { header: 0x48, records: 0x52, deflatedRecords: 0x5a, end: 0x45 } as const;

/** What a backup says about itself before its records. */
export interface BackupHeader {
  readonly format: number;
  /** The first version that can read its records. */
  readonly version: string;
  readonly createdMs: number;
}

/** The totals after the records. */
export interface BackupTotals {
  readonly records: number;
  /** The records of each table (first part of the key). */
  readonly tables: Readonly<Record<string, number>>;
  /** Whether the records are the store at one moment. */
  readonly isExact: boolean;
}

type OctetSink = (octets: Uint8Array<ArrayBuffer>) => Promise<void>;

/** Writes a backup. `deflate`: compresses the records. */
export class BackupWriter {
  readonly #sink: OctetSink;
  readonly #deflate: boolean;
  readonly #pending = new OctetWriter();
  readonly #tables = new Map<string, number>();
  #digest = new Uint8Array(DIGEST_OCTETS);
  #count = 0;

  constructor(sink: OctetSink, { deflate }: { deflate: boolean }) {
    this.#sink = sink;
    this.#deflate = deflate;
  }

  async begin(header: BackupHeader): Promise<void> {
    await this.#sink(MAGIC);
    await this.#block(KINDS.header, jsonOctets(header));
  }

  async add(record: BackupRecord): Promise<void> {
    writeRecord(this.#pending, record);
    const table = tableOf(record.key);
    this.#tables.set(table, (this.#tables.get(table) ?? 0) + 1);
    this.#count++;
    if (this.#pending.length >= BLOCK_OCTETS) await this.flush();
  }

  /** Writes encoded records of another backup. They are not counted: {@link end} needs the totals of that backup. */
  async addEncoded(octets: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.flush();
    await this.#records(octets);
  }

  /** Writes the totals. Without them, the backup is incomplete. */
  async end(
    { isExact, records = this.#count, tables = Object.fromEntries(this.#tables) }:
      & Pick<BackupTotals, "isExact">
      & Partial<BackupTotals>,
  ): Promise<BackupTotals> {
    await this.flush();
    const totals = { records, tables, isExact };
    await this.#block(KINDS.end, jsonOctets(totals));
    return totals;
  }

  /** Writes the records that wait. */
  async flush(): Promise<void> {
    if (this.#pending.length > 0) await this.#records(this.#pending.take());
  }

  async #records(octets: Uint8Array<ArrayBuffer>): Promise<void> {
    if (this.#deflate) {
      await this.#block(KINDS.deflatedRecords, new Uint8Array(deflateRawSync(octets, { level: 3 })));
    } else await this.#block(KINDS.records, octets);
  }

  async #block(kind: number, content: Uint8Array<ArrayBuffer>): Promise<void> {
    const head = headOf(kind, content.length);
    this.#digest = digestOf(this.#digest, head, content);
    await this.#sink(head);
    await this.#sink(content);
    await this.#sink(this.#digest);
  }
}

const jsonOctets = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

function headOf(kind: number, length: number): Uint8Array<ArrayBuffer> {
  const head = new Uint8Array(HEAD_OCTETS);
  head[0] = kind;
  new DataView(head.buffer).setUint32(1, length);
  return head;
}

function digestOf(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return new Uint8Array(hash.digest());
}

/** A part of a backup as it is read. The records of a block are still encoded. */
export type BackupPart =
  | { readonly kind: "header"; readonly header: BackupHeader }
  | { readonly kind: "records"; readonly octets: Uint8Array<ArrayBuffer> }
  | { readonly kind: "end"; readonly totals: BackupTotals };

/**
 * Reads a backup and checks every octet of it. The first part is the header, the last one the totals.
 *
 * @throws BackupFault if it is no backup, damaged, incomplete, or of a later format
 */
export async function* readBackup(
  source: AsyncIterable<Uint8Array>,
  { isUnfinished = false }: { /** The source ends after a block. */ isUnfinished?: boolean } = {},
): AsyncGenerator<BackupPart> {
  const input = new ChunkReader(source);
  if (!startsWith(await input.read(MAGIC.length), MAGIC)) {
    throw new BackupFault("it is not a backup of Countersign");
  }
  let digest: Uint8Array = new Uint8Array(DIGEST_OCTETS);
  for (let at = 0;; at++) {
    if (isUnfinished && await input.isAtEnd()) return;
    const head = await input.readAll(HEAD_OCTETS);
    const length = new DataView(head.buffer, head.byteOffset).getUint32(1);
    if (length > MAX_BLOCK_OCTETS) throw new BackupFault(DAMAGED);
    const content = await input.readAll(length);
    digest = digestOf(digest, head, content);
    if (!startsWith(await input.readAll(DIGEST_OCTETS), digest)) throw new BackupFault(DAMAGED);
    const part = partOf(head[0] ?? 0, content);
    if ((part.kind === "header") !== (at === 0)) throw new BackupFault(DAMAGED);
    yield part;
    if (part.kind === "end") break;
  }
  if (!await input.isAtEnd()) throw new BackupFault("it is damaged: octets follow its end");
}

const DAMAGED = "it is damaged: a checksum does not match";
const INCOMPLETE = "it is incomplete: the end is missing";

function partOf(kind: number, content: Uint8Array<ArrayBuffer>): BackupPart {
  switch (kind) {
    case KINDS.header: {
      const header = parseJson<BackupHeader>(content);
      if (header.format > BACKUP_FORMAT) {
        throw new BackupFault(
          `it is of version ${header.version} and has format ${header.format}, which this version cannot read. Upgrade Countersign first`,
        );
      }
      return { kind: "header", header };
    }
    case KINDS.records:
      return { kind: "records", octets: content };
    case KINDS.deflatedRecords:
      return { kind: "records", octets: inflate(content) };
    case KINDS.end:
      return { kind: "end", totals: parseJson<BackupTotals>(content) };
    default:
      throw new BackupFault(`it has a block of the unknown kind ${kind}`);
  }
}

/** The digest was checked, so the content is what a writer wrote. */
function parseJson<T>(content: Uint8Array): T {
  return JSON.parse(new TextDecoder().decode(content)) as T;
}

function inflate(content: Uint8Array): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(inflateRawSync(content, { maxOutputLength: MAX_BLOCK_OCTETS }));
  } catch (fault) {
    throw new BackupFault("it is damaged: a block cannot be decompressed", { cause: fault });
  }
}

function startsWith(octets: Uint8Array, start: Uint8Array): boolean {
  return octets.length === start.length && octets.every((octet, at) => octet === start[at]);
}

/** Reads exact numbers of octets from chunks of any size. */
class ChunkReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #chunk: Uint8Array = new Uint8Array(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async isAtEnd(): Promise<boolean> {
    while (this.#chunk.length === 0) {
      const { done, value } = await this.#source.next();
      if (done === true) return true;
      this.#chunk = value;
    }
    return false;
  }

  /** @throws BackupFault if the source ends before */
  async readAll(length: number): Promise<Uint8Array<ArrayBuffer>> {
    const octets = await this.read(length);
    if (octets.length < length) throw new BackupFault(INCOMPLETE);
    return octets;
  }

  /** Fewer octets only at the end of the source. */
  async read(length: number): Promise<Uint8Array<ArrayBuffer>> {
    const octets = new Uint8Array(length);
    let filled = 0;
    while (filled < length) {
      if (this.#chunk.length === 0) {
        const { done, value } = await this.#source.next();
        if (done === true) break;
        this.#chunk = value;
        continue;
      }
      const taken = this.#chunk.subarray(0, length - filled);
      octets.set(taken, filled);
      filled += taken.length;
      this.#chunk = this.#chunk.subarray(taken.length);
    }
    return octets.subarray(0, filled);
  }
}

// The file of a backup: written beside its place, with mode 0600, and renamed at the end; checked as a whole before a restore.

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

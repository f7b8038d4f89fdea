// The format of a backup: round trips, and damage of every kind.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import {
  BACKUP_FORMAT,
  type BackupPart,
  BackupWriter,
  readBackup,
} from "../../../platform/backup/backup_format.ts";
import { BackupFault, type BackupRecord, readRecords } from "../../../platform/backup/records.ts";

const RECORDS: readonly BackupRecord[] = [
  { kind: "set", key: ["user", "default", "ada"], value: { name: "ada" }, expiresAtMs: null },
  { kind: "set", key: ["journal", 5, "n"], value: "line", expiresAtMs: 1_700_000_000_123 },
  { kind: "set", key: ["counter"], value: new Deno.KvU64(3n), expiresAtMs: null },
  { kind: "delete", key: ["user", "default", "bob"] },
];
const HEADER = { format: BACKUP_FORMAT, version: "0.1.0", createdMs: 1 };

const join = async (parts: readonly Uint8Array[]) =>
  new Uint8Array(await new Blob(parts.map((part) => new Uint8Array(part))).arrayBuffer());

async function write(
  records: readonly BackupRecord[],
  { deflate = true, header = HEADER } = {},
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  const writer = new BackupWriter((octets) => (chunks.push(octets), Promise.resolve()), { deflate });
  await writer.begin(header);
  for (const record of records) await writer.add(record);
  await writer.end({ isExact: true });
  return await join(chunks);
}

/** Chunks of 1 to 7 octets, so that every boundary falls inside some field. */
async function* chunksOf(octets: Uint8Array, size = 7): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < octets.length; at += size) {
    yield await Promise.resolve(octets.subarray(at, at + size));
  }
}

const partsOf = (octets: Uint8Array, size?: number): Promise<BackupPart[]> =>
  Array.fromAsync(readBackup(chunksOf(octets, size)));

async function problemOf(octets: Uint8Array): Promise<string> {
  return (await assertRejects(() => partsOf(octets, 4096), BackupFault)).message;
}

for (const deflate of [true, false]) {
  Deno.test(`readBackup() returns the header, the records and the totals (deflate: ${deflate})`, async () => {
    const [first, second, last, ...more] = await partsOf(await write(RECORDS, { deflate }));
    assertEquals(first, { kind: "header", header: HEADER });
    assertEquals(second?.kind === "records" ? [...readRecords(second.octets)] : [], RECORDS);
    assertEquals(last, {
      kind: "end",
      totals: { records: 4, tables: { user: 2, journal: 1, counter: 1 }, isExact: true },
    });
    assertEquals(more, []);
  });
}

Deno.test("readBackup() returns an empty backup", async () => {
  assertEquals((await partsOf(await write([]))).map(({ kind }) => kind), ["header", "end"]);
});

Deno.test("BackupWriter splits many records into blocks of bounded size", async () => {
  const records = Array.from({ length: 50 }, (_, at): BackupRecord => ({
    kind: "set",
    key: ["large", at],
    value: new Uint8Array(60_000).fill(at),
    expiresAtMs: null,
  }));
  const blocks = (await partsOf(await write(records), 1 << 16)).filter(({ kind }) => kind === "records");
  assert(blocks.length > 5, String(blocks.length));
  const read = blocks.flatMap((part) => part.kind === "records" ? [...readRecords(part.octets)] : []);
  assertEquals(read, records);
});

Deno.test("readBackup() refuses a backup that is cut at any place", async () => {
  const octets = await write(RECORDS);
  for (let length = 0; length < octets.length; length++) {
    const message = await problemOf(octets.subarray(0, length));
    assertStringIncludes(message, length < 19 ? "not a backup" : "it is incomplete", String(length));
  }
});

Deno.test("readBackup() refuses a backup in which any octet differs", async () => {
  const octets = await write(RECORDS);
  for (let at = 0; at < octets.length; at++) {
    const damaged = octets.slice();
    damaged[at] = (damaged[at] ?? 0) ^ (1 << (at % 8));
    await problemOf(damaged);
  }
});

Deno.test("readBackup() refuses repeated, missing and exchanged blocks, and octets after the end", async () => {
  const records = Array.from({ length: 3 }, (_, at): BackupRecord => ({
    kind: "set",
    key: ["large", at],
    value: "x".repeat(300_000),
    expiresAtMs: null,
  }));
  const octets = await write(records, { deflate: false });
  const blocks: Uint8Array[] = [];
  const view = new DataView(octets.buffer, octets.byteOffset);
  for (let at = 19; at < octets.length;) {
    const end = at + 5 + view.getUint32(at + 1) + 32;
    blocks.push(octets.subarray(at, end));
    at = end;
  }
  const [header, one, two, three, end] = blocks as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ];
  const start = octets.subarray(0, 19);
  await partsOf(await join([start, header, one, two, three, end]), 1 << 16);
  for (
    const parts of [
      [header, one, two, end],
      [header, one, one, two, three, end],
      [header, two, one, three, end],
      [one, two, three, end],
      [header, one, two, three, end, end],
    ]
  ) {
    assertStringIncludes(await problemOf(await join([start, ...parts])), "it is damaged");
  }
});

Deno.test("readBackup() names the version that made a backup of a later format", async () => {
  const octets = await write([], { header: { ...HEADER, format: BACKUP_FORMAT + 1, version: "9.1.0" } });
  const message = await problemOf(octets);
  assertStringIncludes(message, "version 9.1.0 made it");
  assertStringIncludes(message, "Upgrade Countersign first");
});

Deno.test("readBackup() refuses other files", async () => {
  for (const text of ["", "SQLite format 3\0", "COUNTERSIGN BACKUP"]) {
    assertStringIncludes(await problemOf(new TextEncoder().encode(text)), "not a backup of Countersign");
  }
});

// Backups: the format, keys and values as octets, and the capture of commits while the store is read.

import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import {
  BACKUP_FORMAT,
  type BackupPart,
  BackupWriter,
  readBackup,
} from "../../../platform/backup/backup_format.ts";
import {
  BackupFault,
  type BackupRecord,
  OctetReader,
  OctetWriter,
  readKey,
  readRecords,
  readValue,
  writeKey,
  writeValue,
} from "../../../platform/backup/records.ts";
import { answerBackups, BACKUP_PATH, CommitObserver } from "../../../platform/backup/server_backup.ts";
import { createLog } from "../../../platform/log.ts";
import { systemClock } from "../../../platform/runtime.ts";
import fc from "../../packages/fast_check.ts";

export const STORED_VALUES: Readonly<Record<string, unknown>> = {
  "undefined": undefined,
  "null": null,
  "booleans": [true, false],
  "whole numbers": [0, 1, -1, 2 ** 31 - 1, -(2 ** 31), 2 ** 31, Number.MAX_SAFE_INTEGER],
  "other numbers": [-0, 0.5, NaN, Infinity, -Infinity, Number.MIN_VALUE],
  "texts": ["", "a", "ä\u0000😀", "x".repeat(40), "y".repeat(5000)],
  "a text with a lone surrogate": "\ud800x",
  "bigints": [0n, -1n, 2n ** 200n, -(2n ** 63n)],
  "octets": new Uint8Array([0, 1, 255]),
  "the largest octets": new Uint8Array(65_000).fill(7),
  "octets of a larger buffer": new Uint8Array([9, 8, 7, 6]).subarray(1, 3),
  "lists": [[], [1, [2, [3]]], ["a", null, undefined]],
  // deno-lint-ignore no-sparse-arrays
  "a sparse list": [1, , 3],
  "objects": { a: 1, nested: { b: [new Uint8Array(2)], c: undefined }, "": "no name" },
  "maps": new Map<unknown, unknown>([["k", new Map([[1, new Set([2])]])], [{ a: 1 }, null]]),
  "sets": new Set([1, "a", 2n]),
  "dates": [new Date(0), new Date(-1), new Date(8.64e15)],
  "a regular expression": /a+b/giu,
  "an error": new RangeError("too far"),
  "other typed arrays": [new Float64Array([1.5, -0]), new BigInt64Array([-5n]), new Int16Array(3)],
  "an array buffer": new Uint8Array([1, 2]).buffer,
  "a counter": new Deno.KvU64(2n ** 64n - 1n),
};

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
  assertStringIncludes(message, "it is of version 9.1.0");
  assertStringIncludes(message, "Upgrade Countersign first");
});

Deno.test("readBackup() refuses other files", async () => {
  for (const text of ["", "SQLite format 3\0", "COUNTERSIGN BACKUP"]) {
    assertStringIncludes(await problemOf(new TextEncoder().encode(text)), "not a backup of Countersign");
  }
});

function encoded(value: unknown): Uint8Array {
  const writer = new OctetWriter();
  writeValue(writer, value);
  return writer.take();
}

function decoded(octets: Uint8Array): unknown {
  const reader = new OctetReader(octets);
  const value = readValue(reader);
  assert(reader.isAtEnd);
  return value;
}

for (const [name, value] of Object.entries(STORED_VALUES)) {
  Deno.test(`readValue() returns what writeValue() wrote: ${name}`, async () => {
    using kv = await Deno.openKv(":memory:");
    await kv.set(["value"], value);
    const stored = (await kv.get(["value"])).value;
    const back = decoded(encoded(stored));
    assertEquals(back, stored);
    // Deno KV accepts it again, with the same result.
    await kv.set(["again"], back);
    assertEquals((await kv.get(["again"])).value, stored);
  });
}

Deno.test("writeValue() keeps the identity of an object that contains itself", () => {
  const value: Record<string, unknown> = { name: "a" };
  value.self = value;
  const back = decoded(encoded(value)) as Record<string, unknown>;
  assert(back.self === back);
});

Deno.test("readValue() returns a property called __proto__ without a change of the prototype", () => {
  const value = JSON.parse('{"__proto__": {"isAdmin": true}}');
  const back = decoded(encoded(value)) as object;
  assertEquals(Object.keys(back), ["__proto__"]);
  assertEquals(Object.getPrototypeOf(back), Object.prototype);
});

const keyPart = fc.oneof(
  fc.uint8Array(),
  fc.string({ unit: "binary" }),
  fc.double(),
  fc.bigInt(),
  fc.boolean(),
);
const anyValue = fc.anything({
  ...{ withBigInt: true, withDate: true, withMap: true, withSet: true, withSparseArray: true },
  ...{ withTypedArray: true, withUnicodeString: true, withNullPrototype: false, withBoxedValues: false },
});

Deno.test("readValue() returns typed arrays that do not share the octets of their block", () => {
  const writer = new OctetWriter();
  for (let at = 0; at < 3; at++) writeValue(writer, { keys: ["a"], depths: new Int8Array(5) });
  const block = new OctetReader(writer.take());
  for (let at = 0; at < 3; at++) {
    const { depths } = readValue(block) as { depths: Int8Array };
    assertEquals([depths.length, depths.buffer.byteLength], [5, 5]);
  }
});

Deno.test("readKey() returns every key that writeKey() wrote", () => {
  fc.assert(fc.property(fc.array(keyPart, { maxLength: 8 }), (key) => {
    const writer = new OctetWriter();
    writeKey(writer, key);
    assertEquals(readKey(new OctetReader(writer.take())), key);
  }));
});

Deno.test("readValue() returns every value that writeValue() wrote", () => {
  fc.assert(fc.property(anyValue, (value) => {
    assertEquals(decoded(encoded(value)), structuredClone(value));
  }));
});

Deno.test("readValue() refuses a shortened value with a BackupFault", () => {
  fc.assert(fc.property(anyValue, fc.nat(), (value, cut) => {
    const octets = encoded(value);
    const shortened = octets.subarray(0, cut % octets.length);
    assertThrows(() => decoded(shortened), BackupFault);
  }));
});

Deno.test("readValue() fails on arbitrary octets only with a BackupFault", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), (octets) => {
    try {
      readValue(new OctetReader(octets));
    } catch (fault) {
      if (!(fault instanceof BackupFault)) throw fault;
    }
  }));
});

Deno.test("readKey() refuses a part that no key can have", () => {
  const writer = new OctetWriter();
  writer.count(1);
  writeValue(writer, null);
  assertThrows(() => readKey(new OctetReader(writer.take())), BackupFault, "no key can have");
});

Deno.test("OctetWriter.count() and OctetReader.count() agree on every whole number", () => {
  fc.assert(fc.property(fc.maxSafeNat(), (value) => {
    const writer = new OctetWriter();
    writer.count(value);
    assertEquals(new OctetReader(writer.take()).count(), value);
  }));
});

const log = createLog({ format: "text", level: "error", clock: systemClock, write: () => undefined });
const NOT_FOUND = () => Promise.resolve(new Response(null, { status: 404 }));

function answerOf(kv: Deno.Kv, { clock = systemClock } = {}) {
  const commits = new CommitObserver(kv, Date.now);
  const settings = { auditRetentionMs: 1, conversationTtlMs: 1 };
  return answerBackups({ kv, commits, clock, settings, format: { writes: 1 }, log }, NOT_FOUND);
}

const ask = (answer: ReturnType<typeof answerOf>) => answer(new Request(`http://localhost${BACKUP_PATH}`));

/** Applies the records in order. */
async function contentOf(response: Response): Promise<Map<string, unknown>> {
  const content = new Map<string, unknown>();
  for await (const part of readBackup(response.body ?? [] as never)) {
    if (part.kind !== "records") continue;
    for (const record of readRecords(part.octets)) {
      const key = JSON.stringify(record.key);
      if (record.kind === "set") content.set(key, record.value);
      else content.delete(key);
    }
  }
  return content;
}

Deno.test("answerBackups() streams the store at one moment while every commit changes distant keys together", async () => {
  using kv = await Deno.openKv(":memory:");
  const answer = answerOf(kv);
  for (let at = 0; at < 3000; at++) await kv.set(["middle", at], at);
  let isDone = false;
  let step = 0;
  const write = async () => {
    while (!isDone) {
      step++;
      // The first and the last key of the store always have the same value, and "b" exists if and only if "y" does.
      const operation = kv.atomic().set(["a"], { step }).set(["z"], { step });
      if (step % 2 === 0) operation.set(["b"], step).set(["y"], step);
      else operation.delete(["b"]).delete(["y"]);
      await operation.sum(["sum"], 1n).commit();
    }
  };
  await kv.atomic().set(["a"], { step }).set(["z"], { step }).commit();
  const writing = write();
  const contents: Map<string, unknown>[] = [];
  for (let round = 0; round < 5; round++) contents.push(await contentOf(await ask(answer)));
  isDone = true;
  await writing;
  assert(step > 50, `only ${step} commits ran meanwhile`);
  for (const content of contents) {
    assertEquals(content.get('["a"]'), content.get('["z"]'));
    assertEquals(content.get('["b"]'), content.get('["y"]'));
    // A sum is read after its commit, so it can include later ones.
    assert(sumOf(content) >= BigInt((content.get('["a"]') as { step: number }).step));
    assertEquals([...content.keys()].filter((key) => key.startsWith('["middle"')).length, 3000);
  }
});

function sumOf(content: ReadonlyMap<string, unknown>): bigint {
  const sum = content.get('["sum"]');
  return sum instanceof Deno.KvU64 ? sum.value : -1n;
}

Deno.test("CommitObserver.capture() waits for the commits in progress, and its end for the last ones", async () => {
  using kv = await Deno.openKv(":memory:");
  const commits = new CommitObserver(kv, Date.now);
  const before = kv.atomic().set(["before"], 1).commit();
  const capture = await commits.capture();
  assertEquals((await kv.get(["before"])).value, 1);
  const during = kv.atomic().set(["during"], 2, { expireIn: 60_000 }).commit();
  const ending = capture.end();
  const after = kv.atomic().set(["after"], 3).commit();
  await ending;
  const changes = await capture.take();
  assertEquals(changes.map(({ key }) => key), [["during"]]);
  const [change] = changes;
  assert(change?.kind === "set" && Math.abs((change.expiresAtMs ?? 0) - Date.now() - 60_000) < 30_000);
  await Promise.all([before, during, after]);
});

Deno.test("CommitObserver captures no commit whose check failed, and values as they were", async () => {
  using kv = await Deno.openKv(":memory:");
  const capture = await new CommitObserver(kv, Date.now).capture();
  await kv.atomic().check({ key: ["x"], versionstamp: "00000000000000010000" }).set(["x"], 1).commit();
  const value = { list: [1] };
  const committing = kv.atomic().set(["y"], value).commit();
  value.list.push(2);
  await committing;
  const expected: BackupRecord[] = [{ kind: "set", key: ["y"], value: { list: [1] }, expiresAtMs: null }];
  assertEquals(await capture.take(), expected);
  assertEquals(await capture.take(), []);
});

Deno.test("CommitObserver bounds the changes that wait for a slow receiver", async () => {
  using kv = await Deno.openKv(":memory:");
  const capture = await new CommitObserver(kv, Date.now, { maxWaitingOctets: 100 }).capture();
  for (let at = 0; at < 12; at++) await kv.atomic().set(["x", at], at).commit();
  await assertRejects(() => capture.take(), BackupFault, "faster than the backup");
});

Deno.test("CommitObserver ends a capture that could miss an operation", async () => {
  using kv = await Deno.openKv(":memory:");
  const commits = new CommitObserver(kv, Date.now);
  const early = kv.atomic().set(["x"], 1);
  const capture = await commits.capture();
  await early.commit();
  await assertRejects(() => capture.take(), BackupFault, "began before the backup");
});

Deno.test("answerBackups() ends a backup whose reader stopped reading", async () => {
  using kv = await Deno.openKv(":memory:");
  await kv.set(["k"], 1);
  const timers: (() => void)[] = [];
  const clock = {
    ...systemClock,
    after: (_delayMs: number, task: () => void) => (timers.push(task), () => undefined),
  };
  const answer = answerOf(kv, { clock });
  const stopped = await ask(answer);
  assertEquals((await ask(answer)).status, 409);
  timers.at(-1)?.();
  await assertRejects(() => stopped.arrayBuffer());
  assertEquals((await contentOf(await ask(answer))).size, 1);
});

Deno.test("answerBackups() makes one backup at a time, and the next one after a reader that gave up", async () => {
  using kv = await Deno.openKv(":memory:");
  for (let at = 0; at < 2000; at++) await kv.set(["k", at], "x".repeat(1000));
  const answer = answerOf(kv);
  const first = await ask(answer);
  assertEquals((await ask(answer)).status, 409);
  await first.body?.cancel();
  assertEquals((await contentOf(await ask(answer))).size, 2000);
  assertEquals((await answer(new Request("http://localhost/other"))).status, 404);
});

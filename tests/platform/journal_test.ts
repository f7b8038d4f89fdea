// The journal: lines in values, and their listeners.

import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "../packages/fast_check.ts";
import {
  JournalBuffer,
  type JournalListener,
  MAX_LINE_OCTETS,
  readJournalValue,
} from "../../platform/journal.ts";
import { createStore } from "../../platform/store.ts";

const NO_LISTENER: JournalListener = { recorded: () => undefined, notRecorded: () => undefined };

Deno.test("readJournalValue() returns every line that JournalBuffer wrote, in order", () => {
  const line = fc.oneof(
    { weight: 9, arbitrary: fc.uint8Array({ maxLength: 400 }) },
    {
      weight: 1,
      arbitrary: fc.integer({ min: 20_000, max: MAX_LINE_OCTETS }).map((n) => new Uint8Array(n).fill(7)),
    },
  );
  fc.assert(fc.property(fc.array(line, { maxLength: 40 }), (lines) => {
    const buffer = new JournalBuffer();
    for (const octets of lines) buffer.append({ octets, expireInMs: 5 }, NO_LISTENER);
    assertEquals(buffer.lines, lines.length);
    const values = buffer.take(Infinity);
    assert(values.every(({ octets }) => octets.length <= 65_536));
    assertEquals(values.flatMap(({ octets }) => [...readJournalValue(octets)]), lines);
    assertEquals(values.flatMap(({ listeners }) => listeners).length, lines.length);
    assertEquals(buffer.lines, 0);
  }));
});

Deno.test("JournalBuffer take() returns the oldest values first, with the longest life of their lines", () => {
  const buffer = new JournalBuffer();
  const line = (expireInMs: number) => ({ octets: new Uint8Array(40_000), expireInMs });
  for (const expireInMs of [10, 30, 20]) buffer.append(line(expireInMs), NO_LISTENER);
  assertEquals(buffer.take(1).map(({ expireInMs }) => expireInMs), [10]);
  buffer.append({ octets: new Uint8Array(1), expireInMs: 90 }, NO_LISTENER);
  assertEquals(buffer.take(5).map(({ expireInMs }) => expireInMs), [30, 90]);
});

Deno.test("JournalBuffer refuses a line of over 60,000 octets", () => {
  const octets = new Uint8Array(MAX_LINE_OCTETS + 1);
  assertThrows(
    () => new JournalBuffer().append({ octets, expireInMs: 1 }, NO_LISTENER),
    RangeError,
    "60,000",
  );
});

Deno.test("readJournalValue() skips the rest of a damaged value", () => {
  const buffer = new JournalBuffer();
  for (const text of ["one", "two"]) {
    buffer.append({ octets: new TextEncoder().encode(text), expireInMs: 1 }, NO_LISTENER);
  }
  const [value] = buffer.take(1);
  const octets = value?.octets ?? new Uint8Array();
  for (let end = 0; end < octets.length; end++) {
    const read = [...readJournalValue(octets.subarray(0, end))];
    assertEquals(read.length, end < 5 ? 0 : 1, `${end} octets`);
  }
  assertEquals([...readJournalValue({ odd: true })], []);
});

/** A store over a Deno KV whose commits end as `commit` says. */
function storeWith(commit: () => Promise<Deno.KvCommitResult | Deno.KvCommitError>) {
  const operation = { set: () => operation, check: () => operation, delete: () => operation, commit };
  return createStore({ atomic: () => operation, close: () => undefined } as unknown as Deno.Kv);
}

Deno.test("append() tells each listener the result once, also after a listener that throws", async () => {
  const told: string[] = [];
  const listener = (name: string): JournalListener => ({
    recorded: () => void told.push(`${name} recorded`),
    notRecorded: (fault) => void told.push(`${name} ${String(fault)}`),
  });
  const line = { octets: Uint8Array.of(1), expireInMs: 1 };
  const sound = storeWith(() => Promise.resolve({ ok: true, versionstamp: "1" }));
  const uncaught: string[] = [];
  const onError = (event: ErrorEvent) => {
    event.preventDefault();
    uncaught.push(event.message);
  };
  addEventListener("error", onError);
  sound.append(line, listener("a"));
  sound.append(line, {
    ...NO_LISTENER,
    recorded() {
      throw new Error("a listener failed");
    },
  });
  sound.append(line, listener("b"));
  await sound.close();
  removeEventListener("error", onError);
  const broken = storeWith(() => Promise.reject(new Error("the disk is full")));
  broken.append(line, listener("c"));
  broken.append(line, listener("d"));
  await broken.close();
  assertEquals(told, ["a recorded", "b recorded", "c Error: the disk is full", "d Error: the disk is full"]);
  assertEquals(uncaught.map((message) => message.includes("a listener failed")), [true]);
});

Deno.test("append() copies its octets, and a failed transaction of the same batch does not fail the line", async () => {
  const kv = await Deno.openKv(":memory:");
  const store = createStore(kv);
  const octets = Uint8Array.of(1, 2, 3);
  const result = Promise.withResolvers<void>();
  store.append({ octets, expireInMs: 60_000 }, { recorded: result.resolve, notRecorded: result.reject });
  octets.fill(9);
  const raced = store.commit({
    checks: [{ key: ["x"], versionstamp: "00000000000000000001" }],
    mutations: [{ type: "set", key: ["x"], value: 1 }],
  });
  await result.promise;
  assertEquals((await raced).ok, false);
  assertEquals(await Array.fromAsync(store.journal()), [Uint8Array.of(1, 2, 3)]);
  await store.close();
});

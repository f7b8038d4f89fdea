// The journal of the store, and commits during another commit.

import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "../packages/fast_check.ts";
import { takeBatch } from "../../platform/commit_queue.ts";
import { createStore, type Store, type Transaction } from "../../platform/store.ts";

async function open(options: { nowMs?: () => number } = {}): Promise<Store & AsyncDisposable> {
  const store = createStore(await Deno.openKv(":memory:"), options);
  return { ...store, [Symbol.asyncDispose]: () => store.close() };
}

async function linesOf(store: Store): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of store.journal()) {
    lines.push(new TextDecoder().decode(line));
  }
  return lines;
}

const set = (key: string, value: unknown): Transaction => ({
  mutations: [{ type: "set", key: [key], value }],
});

const TOO_LARGE = new Uint8Array(70_000);

Deno.test("journal() returns every line after the store was opened again, newest values first", async () => {
  const path = await Deno.makeTempFile();
  try {
    const lines = Array.from({ length: 5000 }, (_, i) => `${i} ${"é".repeat(200)}`);
    const first = createStore(await Deno.openKv(path));
    await Promise.all(lines.slice(0, 4999).map((text) => first.commit(journal(text))));
    await first.commit(journal(lines[4999] ?? ""));
    await first.close();
    const second = createStore(await Deno.openKv(path), { node: "1" });
    const read = await linesOf(second);
    await second.close();
    assertEquals(read[0], lines[4999]);
    assertEquals(read.toSorted(), lines.toSorted());
  } finally {
    await removeStore(path);
  }
});

Deno.test("journal() writes a line with its transaction: none of one that raced or was refused", async () => {
  await using store = await open();
  const raced = { ...journal("raced"), checks: [{ key: ["x"], versionstamp: "00000000000000000001" }] };
  const large = { ...set("bad", TOO_LARGE), journal: journal("refused").journal };
  const long = journal("x".repeat(60_001));
  await Promise.allSettled(
    [journal("one"), raced, large, long, journal("two")].map((transaction) => store.commit(transaction)),
  );
  assertEquals((await linesOf(store)).toSorted(), ["one", "two"]);
});

Deno.test("journal() accepts lines of 60,000 octets, and refuses a longer one with the reason", async () => {
  await using store = await open();
  const text = "漢".repeat(20_000);
  await store.commit(journal(text));
  assertEquals(await linesOf(store), [text]);
  await assertRejects(() => store.commit(journal(`${text}x`)), RangeError, "60,000");
  const withMutation = { ...set("also", 1), journal: journal(`${text}x`).journal };
  await assertRejects(() => store.commit(withMutation), RangeError, "60,000");
});

Deno.test("journal() skips values that are not octets", async () => {
  await using store = await open();
  await store.commit({ mutations: [{ type: "set", key: ["journal", 1, "0"], value: { odd: true } }] });
  await store.commit(journal("one"));
  assertEquals(await linesOf(store), ["one"]);
});

function journal(text: string): Transaction {
  return { mutations: [], journal: [{ octets: new TextEncoder().encode(text), expireInMs: 60_000 }] };
}

async function removeStore(path: string): Promise<void> {
  for (const suffix of ["", "-wal", "-shm"]) {
    await Deno.remove(path + suffix).catch((fault: unknown) => {
      if (!(fault instanceof Deno.errors.NotFound)) throw fault;
    });
  }
}

Deno.test("commit() sends journal lines during another commit, and nothing else", async () => {
  const begun: { sets: number; end: () => void }[] = [];
  const atomic = () => {
    let sets = 0;
    const operation = {
      set: () => (sets++, operation),
      check: () => operation,
      delete: () => operation,
      commit: () =>
        new Promise((resolve) => begun.push({ sets, end: () => resolve({ ok: true, versionstamp: "1" }) })),
    };
    return operation;
  };
  const store = createStore({ atomic, close: () => undefined } as unknown as Deno.Kv);
  const settled: string[] = [];
  const note = (name: string) => () => void settled.push(name);
  const set = (name: string) =>
    store.commit({ mutations: [{ type: "set", key: [name], value: 1 }] }).then(note(name));
  const line = (text: string) => store.commit(journal(text)).then(note("line"));
  const rest = () => new Promise((resolve) => setTimeout(resolve, 1));

  const all = [set("first")];
  await rest();
  for (let i = 0; i < 31; i++) all.push(line("x"));
  await rest();
  assertEquals(begun.length, 1, "too few lines wait for the commit before them");
  for (let i = 0; i < 9; i++) all.push(line("x"));
  all.push(set("second"));
  await rest();
  assertEquals(begun.map(({ sets }) => sets), [1, 1], "forty lines in one value");
  begun[1]?.end();
  await rest();
  assertEquals([settled.length, begun.length], [40, 2], "what is no line still waits");
  begun[0]?.end();
  await rest();
  begun[2]?.end();
  await Promise.all(all);
  assertEquals([settled[40], settled[41]], ["first", "second"]);
  await store.close();
});

for (const { isShared, length } of [{ isShared: false, length: 40 }, { isShared: true, length: 9 }]) {
  Deno.test(`takeBatch() takes at most as many checks as the store accepts: isShared=${isShared}`, () => {
    const queue = Array.from({ length: 40 }, (_, at) => ({
      transaction: {
        checks: [{ key: ["checked", at], versionstamp: null }],
        mutations: [{ type: "set" as const, key: ["checked", at], value: at }],
      },
    }));
    const { batch, rest } = takeBatch(queue, { isShared });
    assertEquals([batch.length, rest.length], [length, 40 - length]);
  });
}

Deno.test("takeBatch() takes the longest front in which no transaction touches a key that another one checks", () => {
  const key = fc.tuple(fc.constantFrom<Deno.KvKeyPart>("a", "b", 1), fc.constantFrom("x", "y"));
  const transactions = fc.record({
    checked: fc.array(key, { maxLength: 2 }),
    written: fc.array(key, { maxLength: 3 }),
  });
  const overlaps = (some: Deno.KvKey[], others: Deno.KvKey[]): boolean =>
    some.some((one) => others.some((other) => one.join() === other.join()));
  fc.assert(fc.property(fc.array(transactions, { maxLength: 8 }), (list) => {
    const queue = list.map(({ checked, written }, at) => ({
      ...{ checked, written, at },
      transaction: {
        checks: checked.map((key) => ({ key, versionstamp: null })),
        mutations: written.map((key) => ({ type: "set" as const, key, value: at })),
      },
    }));
    const { batch, rest } = takeBatch(queue);
    assertEquals([...batch, ...rest], queue);
    const collides = (one: number, other: number): boolean =>
      overlaps(list[one]?.written ?? [], list[other]?.checked ?? []) ||
      overlaps(list[one]?.checked ?? [], list[other]?.written ?? []);
    const isApart = (at: number): boolean =>
      batch.every((other) => other.at >= at || !collides(at, other.at));
    assert(batch.every(({ at }) => isApart(at)));
    if (rest.length > 0) assert(!isApart(batch.length), "the next one fits too");
  }));
});

// Tables: changes name the row that was read, races, other nodes, late starts, unreadable rows, expiry, and moves to another id.

import { assertEquals } from "@std/assert";
import { createStore, type Store } from "../../platform/store.ts";
import {
  commitChanges,
  joinId,
  type MirroredRow,
  prepareChanges,
  Table,
  type TableChange,
  type TableKind,
} from "../../platform/table.ts";
import { openNode } from "../fakes/shared_store.ts";

interface Note {
  readonly user: string;
  readonly text: string;
  readonly untilMs?: number;
}

const NOTES: TableKind<Note> = {
  prefix: ["note"],
  read(value) {
    if (typeof (value as Partial<Note>).text !== "string") throw new TypeError("it has no text");
    return value as Note;
  },
  expiresMs: ({ untilMs }) => untilMs ?? null,
  index: ({ user }) => [`user ${user}`],
};
const ADA: Note = { user: "ada", text: "1" };
const UNREADABLE = { words: 1 };

interface Node {
  readonly store: Store;
  readonly table: Table<Note>;
  /** What {@link Table} reported about other nodes: the texts before and after. */
  readonly reports: (readonly [before: string | undefined, after: string | undefined])[];
}

function nodeOf(
  store: Store,
  { nowMs = () => 1000, kind = NOTES }: { nowMs?: () => number; kind?: TableKind<Note> } = {},
): Node {
  const reports: Node["reports"] = [];
  const table = new Table<Note>({
    ...{ store, nowMs },
    onForeignChange: ({ before, after }) => void reports.push([before?.text, after?.text]),
  }, kind);
  return { store, table, reports };
}

async function openOne(options: { nowMs?: () => number } = {}) {
  const node = nodeOf(createStore(await Deno.openKv(":memory:")), options);
  await node.table.load();
  return { ...node, [Symbol.asyncDispose]: () => node.store.close() };
}

/** Two nodes of one store. */
async function openTwo() {
  const kv = await Deno.openKv(":memory:");
  const [a, b] = [nodeOf((await openNode(kv, "a")).store), nodeOf((await openNode(kv, "b")).store)];
  return { kv, a, b, [Symbol.dispose]: () => kv.close() };
}

const commit = ({ store }: Node, ...changes: readonly TableChange[]) => commitChanges(store, changes);
const write = (node: Node, value: unknown) =>
  node.store.commit({ mutations: [{ type: "set", key: ["note", "a"], value }] });

function rowOf({ table }: Node, id = "a"): MirroredRow<Note> {
  const row = table.get(id);
  if (row === undefined) throw new Error(`There is no row "${id}"`);
  return row;
}

const idsOf = (rows: readonly MirroredRow<Note>[]) => rows.map(({ id }) => id);

Deno.test("a change names the row that was read: the second of two changes of one row is refused, also one after the other", async () => {
  await using node = await openOne();
  const { table } = node;
  assertEquals(await commit(node, table.add("a", ADA)), true);
  const read = rowOf(node);
  assertEquals(await commit(node, table.replace(read, { ...ADA, text: "2" })), true);
  for (
    const refused of [table.replace(read, { ...ADA, text: "3" }), table.remove(read), table.add("a", ADA)]
  ) {
    assertEquals(await commit(node, refused), false);
  }
  assertEquals(rowOf(node).value.text, "2");
});

Deno.test("put() and erase() win, whatever is stored", async () => {
  using two = await openTwo();
  const { a, b } = two;
  await commit(a, a.table.put("a", ADA));
  // Node b does not know the row yet.
  assertEquals(await commit(b, b.table.put("a", { ...ADA, text: "2" })), true);
  await a.store.catchUp();
  assertEquals(rowOf(a).value.text, "2");
  assertEquals(await commit(a, a.table.erase("a")), true);
  assertEquals(await commit(b, b.table.erase("unknown")), true);
  await b.store.catchUp();
  assertEquals([a.table.size, b.table.size], [0, 0]);
});

Deno.test("rows are listed by index key, oldest first, and a change keeps the place of a row", async () => {
  await using node = await openOne();
  const { table } = node;
  for (const id of ["a", "b", "c"]) await commit(node, table.add(id, ADA));
  await commit(node, table.replace(rowOf(node), { ...ADA, text: "2" }));
  assertEquals(idsOf(table.list("user ada")), ["a", "b", "c"]);
  assertEquals(idsOf(table.list("user ada", 2)), ["a", "b"]);
  assertEquals(idsOf(table.listNewest("user ada", 2)), ["b", "c"]);
  await commit(node, table.replace(rowOf(node, "b"), { ...ADA, user: "bea" }));
  assertEquals([idsOf(table.list("user ada")), table.count("user bea")], [["a", "c"], 1]);
  await commit(node, table.remove(rowOf(node, "b")));
  assertEquals([table.count("user bea"), table.size], [0, 2]);
});

Deno.test("several changes and other mutations are one commit: all or none", async () => {
  await using node = await openOne();
  const { store, table } = node;
  const id = joinId("b", "c");
  await commit(node, table.add("a", ADA), table.add(id, ADA));
  assertEquals((await store.get(["note", "b", "c"])).value, ADA);
  const [a, b] = [rowOf(node), rowOf(node, id)];
  await commit(node, table.replace(b, { ...ADA, text: "2" }));
  const also = [{ type: "set", key: ["other"], value: 1 }] as const;
  assertEquals(await commitChanges(store, [table.remove(a), table.remove(b)], { also }), false);
  assertEquals([rowOf(node).value.text, (await store.get(["other"])).value], ["1", null]);
  // Two changes of one row in one commit have one version; the last one counts.
  await commit(node, table.replace(a, { ...ADA, text: "2" }), table.replace(a, { ...ADA, text: "3" }));
  assertEquals([rowOf(node).value.text, (await store.get<Note>(["note", "a"])).value?.text], ["3", "3"]);
});

Deno.test("a commit that reports late changes nothing that is newer in memory", async () => {
  for (const isRemoval of [false, true]) {
    await using node = await openOne();
    const { store, table } = node;
    await commit(node, table.add("a", ADA));
    const late = isRemoval ? table.erase("a") : table.replace(rowOf(node), { ...ADA, text: "2" });
    const outcome = await store.commit(prepareChanges([late]));
    await commit(node, table.put("a", { user: "bea", text: "3" }));
    if (outcome.ok) late.applied(outcome.versionstamp);
    assertEquals(rowOf(node).value.text, "3");
    assertEquals([table.count("user ada"), table.count("user bea")], [0, 1]);
  }
});

Deno.test("another node's rows follow: added, changed, removed; and a node that starts later loads them", async () => {
  using two = await openTwo();
  const { kv, a, b } = two;
  await commit(a, a.table.add("a", ADA), a.table.add("b", ADA));
  await b.store.catchUp();
  await commit(b, b.table.replace(rowOf(b), { user: "bea", text: "2" }), b.table.remove(rowOf(b, "b")));
  await a.store.catchUp();
  const late = nodeOf((await openNode(kv, "c")).store);
  await late.table.load();
  for (const { table } of [a, b, late]) {
    assertEquals([idsOf([...table.all()]), idsOf(table.list("user bea"))], [["a"], ["a"]]);
  }
  // Own changes are not reported.
  assertEquals(b.reports, [[undefined, "1"], [undefined, "1"]]);
  assertEquals(a.reports, [["1", "2"], ["1", undefined]]);
  assertEquals(late.reports, []);
});

/** Two changes of one row at two nodes, of which the second does not know the first. */
const RACES: Readonly<Record<string, (node: Node) => TableChange>> = {
  "a replacement": (node) => node.table.replace(rowOf(node), { ...ADA, text: "raced" }),
  "a removal": (node) => node.table.remove(rowOf(node)),
  "an addition of what the other node added": ({ table }) => table.add("b", ADA),
  "a move": ({ table }) => table.move("a", "z", (row) => row)[0] as TableChange,
};
for (const [title, change] of Object.entries(RACES)) {
  Deno.test(`${title} that races with another node is refused; memory and its listener then know the other change`, async () => {
    using two = await openTwo();
    const { a, b } = two;
    await commit(a, a.table.add("a", ADA));
    await b.store.catchUp();
    await commit(a, a.table.replace(rowOf(a), { ...ADA, text: "2" }), a.table.add("b", ADA));
    b.reports.length = 0;
    const raced = change(b);
    assertEquals(await commit(b, raced), false);
    const isAddition = raced.check?.key.at(-1) === "b";
    assertEquals(rowOf(b, isAddition ? "b" : "a").value.text, isAddition ? "1" : "2");
    await b.store.catchUp();
    assertEquals(b.reports.length, 2, "each of the two rows is reported once");
    assertEquals(rowOf(b).value.text, "2");
  });
}

Deno.test("a row that cannot be read is reported and listed; the others are loaded; it can be removed", async () => {
  const kv = await Deno.openKv(":memory:");
  await kv.set(["note", "bad"], UNREADABLE);
  await kv.set(["note", "good"], ADA);
  const node = nodeOf(createStore(kv));
  const { store, table } = node;
  const reported: unknown[] = [];
  store.onUnreadable((key) => reported.push(key.at(-1)));
  await table.load();
  assertEquals([reported, table.unreadable, table.size], [["bad"], ["bad"], 1]);
  assertEquals(await commit(node, table.add("bad", ADA)), false);
  const removal = table.removeUnreadable("bad");
  assertEquals(removal && await commit(node, removal), true);
  assertEquals([table.unreadable, (await kv.get(["note", "bad"])).value], [[], null]);
  assertEquals(table.removeUnreadable("bad"), undefined);
  await store.close();
});

for (const whenUnreadable of ["keep", "forget"] as const) {
  Deno.test(`a row that becomes unreadable: "${whenUnreadable}"; it is not overwritten, and is used again when it can be read`, async () => {
    const kv = await Deno.openKv(":memory:");
    const kind = { ...NOTES, whenUnreadable };
    const a = nodeOf((await openNode(kv, "a")).store, { kind });
    const b = nodeOf((await openNode(kv, "b")).store, { kind });
    await commit(a, a.table.add("a", ADA));
    await b.store.catchUp();
    const read = rowOf(b);
    await write(a, UNREADABLE);
    await b.store.catchUp();
    assertEquals(b.table.unreadable, ["a"]);
    assertEquals(b.table.get("a")?.value, whenUnreadable === "keep" ? ADA : undefined);
    assertEquals(await commit(b, b.table.replace(read, { ...ADA, text: "4" })), false);
    await write(a, { ...ADA, text: "2" });
    await b.store.catchUp();
    assertEquals([b.table.unreadable, rowOf(b).value.text], [[], "2"]);
    kv.close();
  });
}

Deno.test("an expired row is not loaded, and leaves memory with a later change or count", async () => {
  let nowMs = 0;
  await using node = await openOne({ nowMs: () => nowMs });
  const { store, table } = node;
  await commit(node, table.add("a", { ...ADA, untilMs: 50_000 }), table.add("b", ADA));
  nowMs = 70_000;
  const late = nodeOf(store, { nowMs: () => nowMs });
  await late.table.load();
  assertEquals(idsOf([...late.table.all()]), ["b"]);
  await commit(node, table.add("c", ADA));
  assertEquals(idsOf(table.list("user ada")), ["b", "c"]);
  await commit(node, table.add("d", { ...ADA, untilMs: 80_000 }));
  nowMs += 60_000;
  assertEquals([table.count("user ada"), table.size], [2, 2]);
});

/** The rows before the move from `a` to `z`, and after it. */
const MOVES: readonly {
  readonly rows: readonly string[];
  readonly ends?: true;
  readonly after: readonly string[];
}[] = [
  { rows: ["a"], after: ["z"] },
  { rows: ["a", "z"], after: ["z"] },
  { rows: ["z"], after: [] },
  { rows: [], after: [] },
  { rows: ["a", "z"], ends: true, after: [] },
];
for (const { rows, ends = false, after } of MOVES) {
  Deno.test(`move(): of ${rows.join(" and ") || "no row"}${ends ? ", which ends," : ""} is left: ${after.join() || "none"}`, async () => {
    using two = await openTwo();
    const { a, b } = two;
    for (const id of rows) await commit(a, a.table.add(id, { ...ADA, text: id }));
    const change = prepareChanges(a.table.move("a", "z", (row) => ends ? null : { ...row, user: "zoe" }));
    const outcome = await a.store.commit(change);
    if (outcome.ok) change.done(outcome.versionstamp);
    await b.store.catchUp();
    for (const { table } of [a, b]) {
      assertEquals(idsOf([...table.all()]), after);
      assertEquals(table.list("user zoe").map(({ value }) => value.text), after.map(() => "a"));
    }
  });
}

/** A store whose reads the test answers. */
function scriptedStore() {
  let follower: (entry: Deno.KvEntryMaybe<unknown>) => void = () => undefined;
  const reading = Promise.withResolvers<Deno.KvEntryMaybe<unknown>>();
  const absent = { key: ["note", "a"], value: null, versionstamp: null };
  const entry = (versionstamp: string) => ({ key: ["note", "a"], value: ADA, versionstamp });
  const store = {
    follow: (_prefix: Deno.KvKey, apply: typeof follower) => {
      follower = apply;
      return () => undefined;
    },
    load(_prefix: Deno.KvKey, apply: typeof follower): Promise<void> {
      follower(absent);
      apply(entry("1"));
      return Promise.resolve();
    },
    get: () => reading.promise,
  } as unknown as Store;
  return { node: nodeOf(store), reading, absent, entry };
}

Deno.test("a row that is removed during the load does not come back with an older list", async () => {
  const { node: { table } } = scriptedStore();
  await table.load();
  assertEquals(table.size, 0);
});

Deno.test("what memory learns while a row is read again is newer: an addition stays, a removed row does not come back", async () => {
  const added = scriptedStore();
  const rereading = added.node.table.reread("a");
  added.node.table.add("a", ADA).applied("2");
  added.reading.resolve(added.absent);
  await rereading;
  assertEquals(added.node.table.size, 1);

  const removed = scriptedStore();
  removed.node.table.add("a", ADA).applied("1");
  const again = removed.node.table.reread("a");
  removed.node.table.erase("a").applied("2");
  removed.reading.resolve(removed.entry("1"));
  await again;
  assertEquals(removed.node.table.size, 0);
});

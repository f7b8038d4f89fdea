// The change log on a shared store: reading, own commits, and answers that were lost.

import { assertEquals, assertRejects } from "@std/assert";
import { RecordVersions, removeStaleHeads } from "../../../platform/cluster/change_log.ts";
import { OwnWrites, SharedLog } from "../../../platform/cluster/shared_log.ts";
import { systemClock } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import { StoreUnavailable } from "../../../platform/store_fault.ts";
import { losingKv, type LostCommit, openNode, type SharedNode } from "../../fakes/shared_store.ts";
import { nextTurn } from "../../support/settle.ts";

const set = (key: Deno.KvKey, value: unknown) => ({ mutations: [{ type: "set" as const, key, value }] });

/** Mirrors the entries below `prefix`. */
function mirror(store: Store, prefix: Deno.KvKey): Map<string, unknown> {
  const seen = new Map<string, unknown>();
  store.follow(prefix, ({ key, value }) => void seen.set(key.join("/"), value));
  return seen;
}

Deno.test("catchUp() hands over every change that another node committed, and nothing of its own", async () => {
  using kv = await Deno.openKv(":memory:");
  const [{ store: a }, { store: b }] = [await openNode(kv, "a"), await openNode(kv, "b")];
  const [ofA, ofB] = [mirror(a, ["user"]), mirror(b, ["user"])];
  for (const node of [a, b]) node.follow(["never"], () => undefined);
  await a.commit(set(["user", "ada"], 1));
  await Promise.all([a.commit(set(["user", "bob"], 2)), a.commit(set(["other", "x"], 3))]);
  await a.commit({ mutations: [{ type: "delete", key: ["user", "ada"] }] });
  await b.catchUp();
  await a.catchUp();
  assertEquals(Object.fromEntries(ofB), { "user/ada": null, "user/bob": 2 });
  assertEquals(ofA.size, 0);
});

Deno.test("catchUp() reads no value of followed groups, and names each once", async () => {
  using kv = await Deno.openKv(":memory:");
  const [{ store: a }, { store: b }] = [await openNode(kv, "a"), await openNode(kv, "b")];
  const groups: string[] = [];
  for (const store of [a, b]) store.followGroups(["member", "t"], 3, (group) => groups.push(group.join("/")));
  const members = Array.from({ length: 900 }, (_, at) => ["member", "t", `set${at % 2}`, `user${at}`]);
  await a.commit({ mutations: members.map((key) => ({ type: "set", key, value: 1 })) });
  await b.catchUp();
  assertEquals(groups.toSorted(), ["member/t/set0", "member/t/set1"]);
});

Deno.test("follow() returns a function that ends it, and no other follower of the prefix", async () => {
  using kv = await Deno.openKv(":memory:");
  const [{ store: a }, { store: b }] = [await openNode(kv, "a"), await openNode(kv, "b")];
  const [seen, other] = [[] as unknown[], mirror(b, ["n"])];
  a.follow(["n"], () => undefined);
  const end = b.follow(["n"], ({ value }) => void seen.push(value));
  await a.commit(set(["n"], 1));
  await b.catchUp();
  end();
  end();
  await a.commit(set(["n"], 2));
  await b.catchUp();
  assertEquals([seen, other.get("n")], [[1], 2]);
});

Deno.test("catchUp() has the changes of a call that begins while another one runs", async () => {
  using kv = await Deno.openKv(":memory:");
  const [{ store: a }, { store: b }] = [await openNode(kv, "a"), await openNode(kv, "b")];
  a.follow(["n"], () => undefined);
  const seen = mirror(b, ["n"]);
  for (let n = 0; n < 200; n++) {
    const earlier = b.catchUp();
    await a.commit(set(["n"], n));
    await b.catchUp();
    assertEquals(seen.get("n"), n);
    await earlier;
  }
});

Deno.test("catchUp() follows 5,000 commits of three nodes, and long keys", async () => {
  using kv = await Deno.openKv(":memory:");
  const nodes = await Promise.all(["a", "b", "c", "d"].map((name) => openNode(kv, name)));
  const [reader, ...writers] = nodes.map(({ store }) => store) as [Store, ...Store[]];
  const seen = mirror(reader, ["k"]);
  for (const writer of writers) writer.follow(["k"], () => undefined);
  const keys = Array.from({ length: 5000 }, (_, at) => ["k", `${"é".repeat(700)}${at}`]);
  await Promise.all(keys.map((key, at) => writers[at % 3]?.commit(set(key, at))));
  await reader.catchUp();
  assertEquals(seen.size, 5000);
  assertEquals(nodes.flatMap(({ gaps }) => gaps), []);
});

Deno.test("catchUp() of a node that starts later has only the changes since its start", async () => {
  using kv = await Deno.openKv(":memory:");
  const { store: a } = await openNode(kv, "a");
  a.follow(["n"], () => undefined);
  await a.commit(set(["n", 1], 1));
  const { store: b } = await openNode(kv, "b");
  const seen = mirror(b, ["n"]);
  await a.commit(set(["n", 2], 2));
  await b.catchUp();
  assertEquals([...seen.keys()], ["n/2"]);
});

Deno.test("catchUp() reports a log that no longer has everything", async () => {
  using kv = await Deno.openKv(":memory:");
  const [{ store: a }, b] = [await openNode(kv, "a"), await openNode(kv, "b")];
  for (const store of [a, b.store]) store.follow(["n"], () => undefined);
  await a.commit(set(["n", 1], 1));
  await b.store.catchUp();
  await a.commit(set(["n", 2], 2));
  await kv.delete(["change", "a.any", 2]);
  await a.commit(set(["n", 3], 3));
  assertEquals(b.gaps, []);
  await b.store.catchUp();
  assertEquals(b.gaps, ["a.any"]);
});

Deno.test("catchUp() reports an entry that is missing between others", async () => {
  using kv = await Deno.openKv(":memory:");
  const [{ store: a }, b] = [await openNode(kv, "a"), await openNode(kv, "b")];
  for (const store of [a, b.store]) store.follow(["n"], () => undefined);
  for (let n = 1; n <= 3; n++) await a.commit(set(["n", n], n));
  await kv.delete(["change", "a.any", 2]);
  await b.store.catchUp();
  assertEquals(b.gaps, ["a.any"]);
});

Deno.test("reread() applies the stored entry, on one node too", async () => {
  using kv = await Deno.openKv(":memory:");
  const { store } = await openNode(kv, "a");
  const seen = mirror(store, ["n"]);
  await store.commit(set(["n"], 7));
  await store.reread([["n"], ["gone"], ["n", "none"]]);
  assertEquals(Object.fromEntries(seen), { n: 7, "n/none": null });
});

Deno.test("a value that was read before an own write that waits is not applied after it", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = [await openNode(kv, "a"), await openNode(kv, "b")];
  const seen = mirror(b.store, ["n"]);
  a.store.follow(["n"], () => undefined);
  await a.store.commit(set(["n"], "paired"));
  const run = b.store.catchUp();
  // Memory has the change before its commit.
  seen.set("n", null);
  const own = b.store.commit({ mutations: [{ type: "delete", key: ["n"] }] });
  await Promise.all([run, own]);
  await b.store.catchUp();
  assertEquals([seen.get("n"), (await kv.get(["n"])).value], [null, null]);
});

Deno.test("reread() never applies a value after a newer one, although its answer is late", async () => {
  using kv = await Deno.openKv(":memory:");
  const a = await openNode(kv, "a");
  const { promise, resolve } = Promise.withResolvers<void>();
  let isFirst = true;
  const late = new Proxy(kv, {
    get(target, name) {
      if (name !== "getMany") return Reflect.get(target, name).bind?.(target);
      return async (keys: Deno.KvKey[]) => {
        const [wait, entries] = [isFirst, await target.getMany(keys)];
        isFirst = false;
        if (wait) await promise;
        return entries;
      };
    },
  });
  const b = await openNode(late, "b");
  const seen = mirror(b.store, ["n"]);
  a.store.follow(["n"], () => undefined);
  await a.store.commit(set(["n"], "paired"));
  const first = b.store.reread([["n"]]);
  await a.store.commit({ mutations: [{ type: "delete", key: ["n"] }] });
  const second = b.store.catchUp();
  resolve();
  await Promise.all([first, second]);
  assertEquals(seen.get("n"), null);
});

Deno.test("rewind() applies again what changed since the start", async () => {
  using kv = await Deno.openKv(":memory:");
  const a = await openNode(kv, "a");
  a.store.follow(["n"], () => undefined);
  await a.store.commit(set(["n", 0], 0));
  const shared = new SharedLog({ kv, node: "b", clock: systemClock, onGap: () => undefined });
  await shared.reader.start();
  const seen: unknown[] = [];
  shared.followers.follow(["n"], ({ value }) => void seen.push(value));
  await a.store.commit(set(["n", 1], 1));
  await shared.reader.catchUp();
  shared.reader.rewind();
  await shared.reader.catchUp();
  assertEquals(seen, [1, 1]);
});

Deno.test("a log that lost its head is reported once, and its commits fail", async () => {
  using kv = await Deno.openKv(":memory:");
  const { store, gaps } = await openNode(kv, "a");
  await store.commit(set(["n"], 1));
  await kv.delete(["change_head", "a.any"]);
  await assertRejects(() => store.commit(set(["n"], 2)), Error);
  assertEquals(gaps, ["a.any"]);
});

Deno.test("removeStaleHeads() removes the heads of nodes that ended a day ago, and no others", async () => {
  using kv = await Deno.openKv(":memory:");
  const nowMs = 10 * 86_400_000;
  const head = (writtenMs: number) => ({ seq: 1, attempt: 1, writtenMs });
  await kv.set(["change_head", "old.any"], head(nowMs - 86_400_001));
  await kv.set(["change_head", "old.journal"], head(0));
  await kv.set(["change_head", "quiet.journal"], head(0));
  await kv.set(["change_head", "recent.any"], head(nowMs - 1000));
  await kv.set(["change_head", "recent.journal"], head(0));
  await kv.set(["node", "quiet"], { node: "quiet" });
  await removeStaleHeads(kv, { nowMs });
  const left: unknown[] = [];
  for await (const { key } of kv.list({ prefix: ["change_head"] })) left.push(key[1]);
  assertEquals(left, ["quiet.journal", "recent.any", "recent.journal"]);
});

interface LossCase {
  readonly plan: LostCommit[];
  /** Whether the first commit counts as applied. */
  readonly applied: boolean;
}

const LOSSES: readonly LossCase[] = [
  { plan: ["answer lost"], applied: true },
  { plan: ["repeated"], applied: true },
  { plan: ["not sent"], applied: false },
  { plan: ["late"], applied: true },
  { plan: ["not sent", "answer lost"], applied: false },
  { plan: ["not sent", "not sent"], applied: false },
  { plan: ["late", "answer lost"], applied: true },
];

for (const { plan, applied } of LOSSES) {
  Deno.test(`commit() knows its outcome: ${plan.join(", ")}`, async () => {
    using kv = await Deno.openKv(":memory:");
    const { store } = await openNode(losingKv(kv, [...plan]), "a");
    const { store: other } = await openNode(kv, "b");
    const seen = mirror(other, ["n"]);
    store.follow(["n"], () => undefined);
    const first = store.commit({
      ...set(["n", 1], "first"),
      checks: [{ key: ["n", 1], versionstamp: null }],
    });
    if (applied) assertEquals((await first).ok, true);
    else await assertRejects(() => first, Error, "connection closed");
    assertEquals((await kv.get(["n", 1])).value, applied ? "first" : null);
    // The log continues without a gap.
    assertEquals((await store.commit(set(["n", 2], "second"))).ok, true);
    await other.catchUp();
    assertEquals(
      Object.fromEntries(seen),
      applied ? { "n/1": "first", "n/2": "second" } : { "n/2": "second" },
    );
  });
}

Deno.test("the end of one connection refuses no other transaction and no line of the journal", async () => {
  using kv = await Deno.openKv(":memory:");
  const { store } = await openNode(losingKv(kv, ["connection ended"]), "a");
  const first = store.commit(set(["n", 1], 1));
  await nextTurn();
  const journal = { octets: new Uint8Array(100), expireInMs: 60_000 };
  const others = [store.commit(set(["n", 2], 2)), store.commit({ mutations: [], journal: [journal] })];
  assertEquals((await Promise.all([first, ...others])).map(({ ok }) => ok), [true, true, true]);
});

Deno.test("while the store is silent, transactions that wait are refused", async () => {
  using kv = await Deno.openKv(":memory:");
  let isSilent = false;
  const silent = new Proxy(losingKv(kv, ["connection ended"]), {
    get(target, name) {
      if (name === "get" && isSilent) return () => Promise.reject(new StoreUnavailable("silent"));
      return Reflect.get(target, name);
    },
  });
  const { store } = await openNode(silent, "a");
  isSilent = true;
  const first = store.commit(set(["n", 1], 1));
  await nextTurn();
  await assertRejects(() => store.commit(set(["n", 2], 2)), StoreUnavailable);
  isSilent = false;
  assertEquals((await first).ok, true);
});

Deno.test("settled() waits for the present writes of its keys, and for no others", async () => {
  const writes = new OwnWrites();
  const [own, other] = [["n"], ["other"]];
  writes.begin([own]);
  writes.begin([other]);
  let isSettled = false;
  const settled = writes.settled([own]).then(() => isSettled = true);
  writes.end([other]);
  await nextTurn();
  assertEquals(isSettled, false);
  writes.begin([own]);
  writes.end([own]);
  await settled;
  assertEquals(writes.touched(own, writes.mark()), true);
});

Deno.test("writes of one node on one record follow each other, and none of them races", async () => {
  using kv = await Deno.openKv(":memory:");
  const { store } = await openNode(kv, "a");
  const versions = new RecordVersions({ isShared: true });
  const key = ["limit", "sends"];
  const outcomes = await Promise.all(
    Array.from(
      { length: 20 },
      (_, n) => store.commit({ mutations: [{ type: "set", key, value: n, basis: versions.basisOf(key) }] }),
    ),
  );
  assertEquals(outcomes.map(({ ok }) => ok), Array.from({ length: 20 }, () => true));
  assertEquals((await kv.get(key)).value, 19);
});

Deno.test("of two nodes that write one record, the one that did not read the other's write races", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = [await openNode(kv, "a"), await openNode(kv, "b")];
  const key = ["limit", "x"];
  const write = ({ store }: SharedNode, value: number, versions: RecordVersions) =>
    store.commit({ mutations: [{ type: "set", key, value, basis: versions.basisOf(key) }] });
  const [ofA, ofB] = [new RecordVersions({ isShared: true }), new RecordVersions({ isShared: true })];
  b.store.follow(key, (entry) => ofB.apply(entry.key, entry.versionstamp));
  assertEquals((await write(a, 1, ofA)).ok, true);
  assertEquals((await write(b, 2, ofB)).ok, false);
  await b.store.reread([key]);
  assertEquals((await write(b, 3, ofB)).ok, true);
  assertEquals((await write(a, 4, ofA)).ok, false);
});

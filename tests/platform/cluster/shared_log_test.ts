// Nodes that share a store: what one commits, the others follow; a commit whose answer gets lost has a known outcome.

import { assertEquals, assertRejects } from "@std/assert";
import { losingKv, type LostCommit, openNode } from "../../fakes/shared_store.ts";
import type { Store } from "../../../platform/store.ts";

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

Deno.test("reread() applies the stored entry, on one node too", async () => {
  using kv = await Deno.openKv(":memory:");
  const { store } = await openNode(kv, "a");
  const seen = mirror(store, ["n"]);
  await store.commit(set(["n"], 7));
  await store.reread([["n"], ["gone"], ["n", "none"]]);
  assertEquals(Object.fromEntries(seen), { n: 7, "n/none": null });
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

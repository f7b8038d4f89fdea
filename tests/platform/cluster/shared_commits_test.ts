// Commits to a shared store: one whose answer gets lost has a known outcome, and one that was computed from a record loses to another node.

import { assertEquals, assertRejects } from "@std/assert";
import { losingKv, type LostCommit, openNode, type SharedNode } from "../../fakes/shared_store.ts";
import { OwnWrites } from "../../../platform/cluster/shared_log.ts";
import { RecordVersions } from "../../../platform/cluster/record_versions.ts";
import type { Store } from "../../../platform/store.ts";
import { StoreUnavailable } from "../../../platform/store_fault.ts";
import { nextTurn } from "../../support/settle.ts";

const set = (key: Deno.KvKey, value: unknown) => ({ mutations: [{ type: "set" as const, key, value }] });

/** Mirrors the entries below `prefix`. */
function mirror(store: Store, prefix: Deno.KvKey): Map<string, unknown> {
  const seen = new Map<string, unknown>();
  store.follow(prefix, ({ key, value }) => void seen.set(key.join("/"), value));
  return seen;
}

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
  const others = [store.commit(set(["n", 2], 2)), store.commit({ mutations: [], journal })];
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

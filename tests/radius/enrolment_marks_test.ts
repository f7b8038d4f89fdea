// The marks of invited users on two nodes that share a store, and what a rename and a removal do with them.

import { assert, assertEquals } from "@std/assert";
import { type EnrolmentMark, EnrolmentMarks } from "../../radius/factors/enrolment_marks.ts";
import type { Store } from "../../platform/store.ts";
import { openNode } from "../fakes/shared_store.ts";
import { commitChange } from "../fakes/commit_change.ts";

const MARK: EnrolmentMark = {
  ...{ recordId: "1.none", campaign: "c", invitedMs: 1000, linkUntilMs: 5000, invitation: "i" },
  ...{ reminders: 0, remindedMs: null, deadlineMs: 9000 },
};

async function openMarks(kv: Deno.Kv, node: string) {
  const { store } = await openNode(kv, node);
  const marks = new EnrolmentMarks({ store, target: "default" });
  await marks.load();
  return { store, marks };
}

/** Changes a mark; `false` if another node changed it first. */
async function put(
  { store, marks }: { store: Store; marks: EnrolmentMarks },
  user: string,
  mark: EnrolmentMark | null,
): Promise<boolean> {
  const change = marks.prepare(user, mark);
  const done = await store.commit({ checks: [change.check], mutations: [change.mutation] });
  if (done.ok) change.done(done.versionstamp);
  return done.ok;
}

Deno.test("a mark of one node refuses a login on the other, and of two changes one wins", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = [await openMarks(kv, "a"), await openMarks(kv, "b")];
  assert(await put(a, "ada", MARK));
  await b.store.catchUp();
  assertEquals([b.marks.isOverdue("ada", 8999), b.marks.isOverdue("ada", 9000)], [false, true]);
  assertEquals([b.marks.isOverdue("bob", 9000), b.marks.of("bob")], [false, null]);
  const stale = b.marks.prepare("ada", { ...MARK, deadlineMs: null });
  assert(await put(a, "ada", { ...MARK, reminders: 1 }));
  const refused = await b.store.commit({ checks: [stale.check], mutations: [stale.mutation] });
  assertEquals(refused.ok, false);
  await b.marks.reread("ada");
  assertEquals(b.marks.of("ada")?.reminders, 1);
  assert(await put(b, "ada", null));
  await a.store.catchUp();
  assertEquals([...a.marks.all()], []);
});

Deno.test("a mark follows a renamed user, and a mark of the new name is removed", async () => {
  using kv = await Deno.openKv(":memory:");
  const node = await openMarks(kv, "a");
  await put(node, "ada", MARK);
  await put(node, "anne", { ...MARK, campaign: "other" });
  const rename = node.marks.prepareRename("ada", "anne");
  const done = await node.store.commit({ checks: rename.checks ?? [], mutations: rename.mutations });
  if (!done.ok) throw new Error("The rename raced");
  rename.done(done.versionstamp);
  const again = await openMarks(kv, "b");
  for (const { marks } of [node, again]) {
    assertEquals([...marks.all()].map(([user, { campaign }]) => `${user} ${campaign}`), ["anne c"]);
  }
  // A user without a mark replaces one who had the name.
  const other = node.marks.prepareRename("bob", "anne");
  const second = await node.store.commit({ checks: other.checks ?? [], mutations: other.mutations });
  if (!second.ok) throw new Error("The rename raced");
  other.done(second.versionstamp);
  assertEquals([...node.marks.all(), ...(await openMarks(kv, "c")).marks.all()], []);
});

Deno.test("a removal deletes the mark, also one that this node does not know yet", async () => {
  using kv = await Deno.openKv(":memory:");
  const [a, b] = [await openMarks(kv, "a"), await openMarks(kv, "b")];
  await put(a, "ada", MARK);
  const removal = b.marks.prepareRemoval("ada");
  await commitChange(b.store, removal);
  await a.store.catchUp();
  assertEquals([a.marks.of("ada"), b.marks.of("ada")], [null, null]);
});

Deno.test("a mark that cannot be read is no mark, and the others are loaded", async () => {
  using kv = await Deno.openKv(":memory:");
  const { store } = await openNode(kv, "a");
  const unreadable: string[] = [];
  store.onUnreadable((key) => unreadable.push(String(key.at(-1))));
  const values = { ada: MARK, bob: { deadlineMs: "soon", invitedMs: 1 }, cleo: 7, dora: {} };
  for (const [user, value] of Object.entries(values)) {
    await store.commit({ mutations: [{ type: "set", key: ["enrolment", "default", user], value }] });
  }
  const marks = new EnrolmentMarks({ store, target: "default" });
  await marks.load();
  assertEquals([[...marks.all()].map(([user]) => user), unreadable], [["ada"], ["bob", "cleo", "dora"]]);
});

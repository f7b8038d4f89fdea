// The marks of invited users: deadlines, renames, and marks that cannot be read.

import { assertEquals } from "@std/assert";
import { type EnrolmentMark, EnrolmentMarks } from "../../radius/factors/own_factors.ts";
import { createStore } from "../../platform/store.ts";
import { commitChanges } from "../../platform/table.ts";

const MARK: EnrolmentMark = {
  ...{ recordId: "1.none", campaign: "c", invitedMs: 1000, linkUntilMs: 5000, invitation: "i" },
  ...{ reminders: 0, remindedMs: null, deadlineMs: 9000 },
};

/** Marks that the store has at the start. */
async function openMarks(stored: Readonly<Record<string, unknown>>) {
  const store = createStore(await Deno.openKv(":memory:"));
  const unreadable: string[] = [];
  store.onUnreadable((key) => unreadable.push(String(key.at(-1))));
  for (const [user, value] of Object.entries(stored)) {
    await store.commit({ mutations: [{ type: "set", key: ["enrolment", "default", user], value }] });
  }
  const marks = new EnrolmentMarks({ store, target: "default" });
  await marks.load();
  return { store, marks, unreadable, [Symbol.asyncDispose]: () => store.close() };
}

Deno.test("isOverdue() is true from the deadline on, and false for users without one", async () => {
  await using world = await openMarks({ ada: MARK, cleo: { ...MARK, deadlineMs: null } });
  const { marks, store } = world;
  assertEquals([marks.isOverdue("ada", 8999), marks.isOverdue("ada", 9000)], [false, true]);
  assertEquals([marks.isOverdue("bob", 9000), marks.isOverdue("cleo", 9000)], [false, false]);
  const read = marks.read("ada");
  const next = (reminders: number) =>
    commitChanges(store, [marks.prepare("ada", { read, mark: { ...MARK, reminders } })]);
  assertEquals([await next(1), await next(2), marks.of("ada")?.reminders], [true, false, 1]);
});

/** What is left of the marks of ada and anne, by campaign. */
const RENAMES: readonly (readonly [from: string, options: { isLeaving?: boolean }, left: string[]])[] = [
  ["ada", {}, ["anne of ada"]],
  ["ada", { isLeaving: true }, []],
  // A user without a mark replaces one who had the name.
  ["bob", {}, ["ada of ada"]],
];
for (const [from, options, left] of RENAMES) {
  Deno.test(`prepareRename() of ${from} ${JSON.stringify(options)}: a mark of the new name is removed`, async () => {
    await using world = await openMarks({
      ada: { ...MARK, campaign: "ada" },
      anne: { ...MARK, campaign: "anne" },
    });
    const { store, marks } = world;
    const rename = marks.prepareRename(from, "anne", options);
    const done = await store.commit({ checks: rename.checks ?? [], mutations: rename.mutations });
    if (done.ok) rename.done(done.versionstamp);
    assertEquals([...marks.all()].map(([user, { campaign }]) => `${user} of ${campaign}`), left);
  });
}

Deno.test("a mark that cannot be read is no mark, and the others are loaded", async () => {
  const stored = { ada: MARK, bob: { deadlineMs: "soon", invitedMs: 1 }, cleo: 7, dora: {} };
  await using world = await openMarks(stored);
  assertEquals([[...world.marks.all()].map(([user]) => user), world.unreadable], [["ada"], [
    "bob",
    "cleo",
    "dora",
  ]]);
});

// Writes to sync backends, which must succeed before anything is recorded.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { MemoryTrouble } from "../../fakes/memory_network.ts";
import { ACTOR, group, openStage, refusalOf, user } from "./stage.ts";

const SHAPE = { local: "store", a: "sync", b: "sync" } as const;

Deno.test("create() puts a user on every backend and reports it in states and receipt", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  const { stored, receipt } = await target.create(user("Anna", { title: "Dr" }), { actor: ACTOR });
  assertEquals(receipt.entries, ["local", "a", "b"].map((backend) => ({ backend, outcome: "done" })));
  assertEquals(
    Object.entries(stored?.backends ?? {}).map(([name, { state, remoteId }]) => [name, state, remoteId]),
    [
      ["local", "present", undefined],
      ["a", "present", "remote-1"],
      ["b", "present", "remote-1"],
    ],
  );
  assertEquals(stage.backend("b").users.get("anna")?.content, user("Anna", { title: "Dr" }));
  assertEquals(await stage.below("intent"), []);
  assertEquals(await stage.below("copy"), []);
});

const TROUBLES: readonly { title: string; trouble: MemoryTrouble; code: string }[] = [
  {
    title: "fails before it does anything",
    trouble: { operation: "put", how: "before", times: 1 },
    code: "backend_unreachable",
  },
  {
    title: "fails after it did it",
    trouble: { operation: "put", how: "after", times: 1 },
    code: "backend_unreachable",
  },
  {
    title: "refuses",
    trouble: { operation: "put", how: "before", times: 1, fault: { kind: "refused", retry: false } },
    code: "backend_failed",
  },
  {
    title: "cannot even be read",
    trouble: { operation: "read", how: "before", times: 1 },
    code: "backend_unreachable",
  },
];

for (const { title, trouble, code } of TROUBLES) {
  for (const isNew of [true, false]) {
    Deno.test(`${isNew ? "create" : "replace"}() changes nothing when backend b ${title}`, async () => {
      await using stage = await openStage({ shape: SHAPE });
      const { target } = await stage.start();
      const before = user("anna", { title: "before" });
      if (!isNew) await target.create(before, { actor: ACTOR });
      const stored = await target.directory.read("user", "anna");
      const audited = (await stage.below("audit")).length;
      stage.backend("b").trouble(trouble);
      const after = user("anna", { title: "after" });
      const refusal = await refusalOf((isNew ? target.create : target.replace)(after, { actor: ACTOR }));

      assertEquals(refusal.code, code);
      assertMatch(refusal.message, /"b"/);
      const expected = isNew ? undefined : before;
      assertEquals(stage.backend("a").users.get("anna")?.content, expected);
      assertEquals(stage.backend("b").users.get("anna")?.content, expected);
      assertEquals(await target.directory.read("user", "anna"), stored);
      assertEquals(await stage.below("intent"), []);
      assertEquals((await stage.below("audit")).length, audited);
      assertEquals(target.pendingWrites(10), []);
    });
  }
}

Deno.test("create() undoes a late write of a backend that hung", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  stage.backend("b").trouble({ operation: "put", how: "hang_after", times: 1 });
  let ended = false;
  const refused = refusalOf(target.create(user("anna"), { actor: ACTOR })).finally(() => ended = true);
  await stage.becomes("the write ends", () => ended);
  assertEquals((await refused).code, "backend_unreachable");
  assertEquals([stage.backend("a").users.size, stage.backend("b").users.size], [0, 0]);
});

Deno.test("remove() restores a user if the next backend fails", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  await target.create(user("anna", { title: "Dr" }), { actor: ACTOR });
  stage.backend("b").trouble({ operation: "remove", how: "before" });
  const refusal = await refusalOf(target.remove("user", "Anna", { actor: ACTOR }));
  assertEquals(refusal.receipt?.entries.map(({ outcome }) => outcome), ["untried", "undone", "failed"]);
  assertEquals(stage.backend("a").users.get("anna")?.content, user("anna", { title: "Dr" }));
  assert(await target.directory.read("user", "anna") !== null);
  stage.backend("b").heal();
  assertEquals((await target.remove("user", "Anna", { actor: ACTOR })).stored, null);
  assertEquals([stage.backend("a").users.size, stage.backend("b").users.size], [0, 0]);
});

Deno.test("a failed compensation is pending, and delivered when the backend is available again", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  const before = user("anna", { title: "before" });
  await target.create(before, { actor: ACTOR });
  stage.backend("b").trouble({ operation: "put", how: "before" });
  // The first put is the write, the second undoes it.
  const a = stage.backend("a");
  a.trouble({ operation: "put", how: "after", fault: { unsure: true } });
  const refusal = await refusalOf(target.replace(user("anna", { title: "after" }), { actor: ACTOR }));
  assertEquals(refusal.receipt?.entries.map(({ outcome }) => outcome), ["untried", "undoing", "untried"]);
  assertMatch(refusal.message, /The rollback at .* is pending/);
  assertEquals(target.pendingWrites(10).map(({ backend, operation }) => ({ backend, operation })), [
    { backend: "a", operation: "put" },
  ]);
  // A change of another client in between, which the compensation overwrites.
  a.heal();
  await stage.becomes("a is as before", () => target.pendingWrites(10).length === 0);
  assertEquals(a.users.get("anna")?.content, before);
  assertEquals(await stage.below("outbox"), []);
  assertEquals(await stage.below("owed"), []);
});

Deno.test("a pending compensation restores the content of the backend, also if the store did not know it", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  await target.create(user("anna"), { actor: ACTOR, backends: ["local"] });
  const a = stage.backend("a");
  const foreign = user("anna", { title: "theirs" });
  a.users.set("anna", { content: foreign, remoteId: "theirs" });
  a.trouble({ operation: "put", how: "after", times: 1 });
  a.trouble({ operation: "put", how: "before", fault: { unsure: true } });
  await refusalOf(target.replace(user("anna", { title: "ours" }), { actor: ACTOR }));
  assertEquals(a.users.get("anna")?.content, user("anna", { title: "ours" }));
  assertEquals((await stage.below("copy")).length, 1);
  a.heal();
  await stage.becomes("the outbox is empty", () => target.pendingWrites(10).length === 0);
  assertEquals(a.users.get("anna")?.content, foreign);
  assertEquals(await stage.below("copy"), []);
});

Deno.test("create() does not overwrite a resource that a backend has and the store does not", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  stage.backend("b").users.set("anna", { content: user("anna", { title: "theirs" }), remoteId: "x" });
  const refusal = await refusalOf(target.create(user("anna"), { actor: ACTOR }));
  assertEquals(refusal.code, "taken");
  assertEquals(stage.backend("a").users.size, 0);
  assertEquals(stage.backend("b").users.get("anna")?.content, user("anna", { title: "theirs" }));
});

Deno.test("of two simultaneous creates of one name one wins, and the backends have the winner's content", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  const outcomes = await Promise.allSettled(
    Array.from({ length: 10 }, (_, n) => target.create(user("anna", { title: `${n}` }), { actor: ACTOR })),
  );
  assertEquals(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
  const stored = await target.directory.read("user", "anna");
  assertEquals(stage.backend("a").users.get("anna")?.content, stored?.content);
  assertEquals(stage.backend("b").users.get("anna")?.content, stored?.content);
});

Deno.test("replace() with an outdated version is refused before any backend is called", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  await target.create(user("anna"), { actor: ACTOR });
  const calls = stage.backend("a").calls.length;
  const refusal = await refusalOf(target.replace(user("anna"), { actor: ACTOR, ifVersion: "old" }));
  assertEquals(refusal.code, "precondition");
  assertEquals(stage.backend("a").calls.length, calls);
});

Deno.test("a password is sent to sync backends in clear, to the directory as a hash, and nowhere else", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  await target.create(user("anna"), { actor: ACTOR, password: "correct horse" });
  assertEquals(stage.backend("a").passwords.get("anna"), "correct horse");
  assertEquals((await target.directory.readPassword("anna"))?.hash, "hash of 13");
  assert(!JSON.stringify(await stage.below()).includes("correct horse"));
  const [record] = await stage.below("audit");
  const { after } = record as { after: Record<string, unknown> };
  assertEquals([after.active, after.password], [true, "********"]);
});

Deno.test("a process that is killed at any commit of a sync write leaves, after the next start, all or nothing", async () => {
  for (let dieAt = 0; dieAt < 3; dieAt++) {
    await using stage = await openStage({ shape: SHAPE });
    const first = await stage.start();
    const before = user("anna", { title: "before" });
    await first.target.create(before, { actor: ACTOR });
    first.kill();
    const mortal = await stage.start({ dieAt });
    const after = user("anna", { title: "after" });
    const ended = await mortal.target.replace(after, { actor: ACTOR }).then(() => "done", () => "failed");
    mortal.kill();
    const { target } = await stage.start();
    await stage.becomes(
      "the outbox is empty",
      async () => target.pendingWrites(10).length === 0 && (await stage.below("intent")).length === 0,
    );
    const expected = ended === "done" ? after : before;
    assertEquals((await target.directory.read("user", "anna"))?.content, expected);
    assertEquals(stage.backend("a").users.get("anna")?.content, expected, `after ${dieAt} commits`);
    assertEquals(stage.backend("b").users.get("anna")?.content, expected);
  }
});

Deno.test("a group of 10,000 members is restored from the copy before the write, also after a crash", async () => {
  const many = Array.from({ length: 10_000 }, (_, n) => `somebody.with.a.name.${n}`);
  // The copy takes two commits, the head in the second; the next one would be the compensation.
  for (const dieAt of [1, 2, undefined]) {
    await using stage = await openStage({ shape: { a: "sync", b: "sync" } });
    const first = await stage.start();
    await first.target.create(group("staff", many), { actor: ACTOR });
    stage.backend("b").trouble({ operation: "put", how: "before" });
    let present = first;
    if (dieAt !== undefined) {
      first.kill();
      present = await stage.start({ dieAt });
    }
    const ended = await present.target.replace(group("staff", ["anna"]), { actor: ACTOR }).catch(() =>
      "failed"
    );
    assertEquals(ended, "failed");
    assertEquals((await stage.below("intent")).length > 0, dieAt !== undefined);
    present.kill();
    stage.backend("b").heal();
    const { target } = await stage.start();
    await stage.becomes("the outbox is empty", () => target.pendingWrites(1).length === 0);
    assertEquals(stage.backend("a").groups.get("staff")?.content, group("staff", many));
    assertEquals(stage.backend("b").groups.get("staff")?.content, group("staff", many));
    assertEquals(await stage.below("intent"), []);
  }
});

// Writes to synchronous backends, and the choice of backends.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { MemoryTrouble } from "../../fakes/memory_network.ts";
import { ACTOR, group, openStage, refusalOf, type Stage, user } from "./stage.ts";
import type { Target } from "../../../scim/ports.ts";
import type { JsonObject, Stored } from "../../../scim/schema/resource.ts";

// Writes to sync backends, which must succeed before anything is recorded.

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

Deno.test("a group of 3,000 members with long names is restored from the copy before the write, also after a crash", async () => {
  const many = Array.from({ length: 3000 }, (_, n) => `${"long-user-name".repeat(6)}${n}`);
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

// The parameter `backends`: the backends of an operation, the content of the others, and the resulting resource.

const MIXED_SHAPE = { local: "store", a: "sync", b: "async" } as const;

type Step =
  | readonly ["create" | "replace", string, readonly string[] | undefined]
  | readonly ["remove", readonly string[] | undefined];

interface Row {
  readonly title: string;
  readonly steps: readonly Step[];
  /** The refusal of the last step, or the state after it. */
  readonly ends: string | {
    /** The title in the answer to GET; `null`: there is no resource. */
    readonly resource: string | null;
    readonly a: string | null;
    readonly b: string | null;
    readonly copies: number;
  };
}

const ROWS: readonly Row[] = [
  {
    title: "create on all",
    steps: [["create", "1", undefined]],
    ends: { resource: "1", a: "1", b: "1", copies: 0 },
  },
  {
    title: "create on one",
    steps: [["create", "1", ["a"]]],
    ends: { resource: "1", a: "1", b: null, copies: 0 },
  },
  {
    title: "create where another has it already",
    steps: [["create", "1", ["a"]], ["create", "2", ["b"]]],
    ends: { resource: "2", a: "1", b: "2", copies: 1 },
  },
  {
    title: "create where one of those named has it",
    steps: [["create", "1", ["a"]], ["create", "2", undefined]],
    ends: "taken",
  },
  {
    title: "replace on one leaves the others as they are",
    steps: [["create", "1", undefined], ["replace", "2", ["a"]]],
    ends: { resource: "2", a: "2", b: "1", copies: 2 },
  },
  {
    title: "replace on all afterwards makes them agree again",
    steps: [["create", "1", undefined], ["replace", "2", ["a"]], ["replace", "3", undefined]],
    ends: { resource: "3", a: "3", b: "3", copies: 0 },
  },
  {
    title: "replace with the same content makes no copies",
    steps: [["create", "1", undefined], ["replace", "1", ["a"]]],
    ends: { resource: "1", a: "1", b: "1", copies: 0 },
  },
  {
    title: "replace creates where it is missing, if another of those named has it",
    steps: [["create", "1", ["a"]], ["replace", "2", ["a", "b"]]],
    ends: { resource: "2", a: "2", b: "2", copies: 0 },
  },
  {
    title: "replace where none of those named has it",
    steps: [["create", "1", ["a"]], ["replace", "2", ["b"]]],
    ends: "not_found",
  },
  {
    title: "replace of what is nowhere",
    steps: [["replace", "2", undefined]],
    ends: "not_found",
  },
  {
    title: "remove on one",
    steps: [["create", "1", undefined], ["remove", ["a"]]],
    ends: { resource: "1", a: null, b: "1", copies: 0 },
  },
  {
    title: "remove where the others keep something else: the first of them is served",
    steps: [["create", "1", ["a", "b"]], ["replace", "2", ["a"]], ["remove", ["a"]]],
    ends: { resource: "1", a: null, b: "1", copies: 0 },
  },
  {
    title: "remove where none of those named has it",
    steps: [["create", "1", ["a"]], ["remove", ["b"]]],
    ends: "not_found",
  },
  {
    title: "remove backend by backend ends in nothing",
    steps: [["create", "1", undefined], ["remove", ["a"]], ["remove", ["b"]], ["remove", ["local"]]],
    ends: { resource: null, a: null, b: null, copies: 0 },
  },
  {
    title: "create again after a removal everywhere",
    steps: [["create", "1", undefined], ["remove", undefined], ["create", "2", undefined]],
    ends: { resource: "2", a: "2", b: "2", copies: 0 },
  },
  { title: "an unknown name", steps: [["create", "1", ["a", "nowhere"]]], ends: "unknown_backend" },
  { title: "no name", steps: [["create", "1", []]], ends: "unknown_backend" },
  {
    title: "a name twice, in another order",
    steps: [["create", "1", ["b", "a", "b"]]],
    ends: { resource: "1", a: "1", b: "1", copies: 0 },
  },
];

async function take(target: Target, step: Step): Promise<void> {
  const options = (backends: readonly string[] | undefined) => ({
    actor: ACTOR,
    ...(backends === undefined ? {} : { backends }),
  });
  if (step[0] === "remove") await target.remove("user", "anna", options(step[1]));
  else await target[step[0]](user("anna", { title: step[1] }), options(step[2]));
}

const titleOf = (holder: Pick<Stored, "content"> | null | undefined): string | null => {
  const attributes: JsonObject | undefined = holder?.content.attributes;
  return typeof attributes?.title === "string" ? attributes.title : null;
};

const quiet = (stage: Stage) =>
  stage.becomes("the outbox is empty", async () => (await stage.below("outbox")).length === 0);

for (const isQuiet of [true, false]) {
  for (const { title, steps, ends } of ROWS) {
    Deno.test(`backends: ${title}${isQuiet ? "" : ", with nothing delivered until the end"}`, async () => {
      await using stage = await openStage({ shape: MIXED_SHAPE });
      const { target } = await stage.start();
      if (!isQuiet) stage.backend("b").trouble({ how: "before" });
      for (const step of steps.slice(0, -1)) {
        await take(target, step);
        if (isQuiet) await quiet(stage);
      }
      const last = steps.at(-1);
      if (last === undefined) throw new Error("A row without steps");
      if (typeof ends === "string") {
        assertEquals((await refusalOf(take(target, last))).code, ends);
        return;
      }
      await take(target, last);
      stage.backend("b").heal();
      await quiet(stage);
      assertEquals({
        resource: titleOf(await target.directory.read("user", "anna")),
        a: titleOf(stage.backend("a").users.get("anna")),
        b: titleOf(stage.backend("b").users.get("anna")),
        copies: (await stage.below("copy")).length,
      }, ends);
    });
  }
}

Deno.test("backends: a backend without groups is skipped for groups, and refused when it is named", async () => {
  await using stage = await openStage({
    shape: MIXED_SHAPE,
    holds: { groups: false, active: true },
  });
  const { target } = await stage.start();
  const { receipt } = await target.create(group("staff", ["anna"]), { actor: ACTOR });
  assertEquals(receipt.entries.map(({ backend }) => backend), ["local"]);
  const refusal = await refusalOf(target.create(group("more"), { actor: ACTOR, backends: ["a"] }));
  assertEquals(refusal.code, "unknown_backend");
});

Deno.test("backends: if no backend has groups, groups are not supported", async () => {
  await using stage = await openStage({ shape: { a: "sync" }, holds: { groups: false, active: true } });
  const { target } = await stage.start();
  assertEquals((await refusalOf(target.create(group("staff"), { actor: ACTOR }))).code, "unsupported");
});

Deno.test("backends: a change of members on one backend leaves the group of the other unchanged", async () => {
  await using stage = await openStage({ shape: MIXED_SHAPE });
  const { target } = await stage.start();
  await target.create(group("staff", ["anna"]), { actor: ACTOR });
  await quiet(stage);
  const change = { add: ["ben"], remove: ["anna"] };
  const { stored } = await target.changeMembers("staff", change, { actor: ACTOR, backends: ["local", "b"] });
  await quiet(stage);
  assertEquals(stored?.content, group("staff", ["ben"]));
  assertEquals(stage.backend("a").groups.get("staff")?.content, group("staff", ["anna"]));
  assertEquals(stage.backend("b").groups.get("staff")?.content, group("staff", ["ben"]));
  assertEquals((await target.directory.read("group", "staff"))?.backends.a?.differs, true);
});

Deno.test("backends: a store without other backends reads the record of a replacement once, and refuses one write of many", async () => {
  await using stage = await openStage({ shape: { local: "store" } });
  const { target } = await stage.start();
  await target.create(user("anna"), { actor: ACTOR });
  const version = (await target.directory.read("user", "anna"))?.version ?? "";
  const reads: Deno.KvKey[] = [];
  const get = stage.kv.get.bind(stage.kv);
  stage.kv.get = (key, ...options) => {
    reads.push(key);
    return get(key, ...options);
  };
  await target.replace(user("anna", { title: "a" }), { actor: ACTOR });
  assertEquals(reads.filter(([table]) => table === "user").length, 1);
  const replace = (title: string, ifVersion?: string) =>
    target.replace(user("anna", { title }), {
      actor: ACTOR,
      ...(ifVersion === undefined ? {} : { ifVersion }),
    });
  const settled = await Promise.allSettled([
    replace("b", version),
    target.create(user("ben"), { actor: ACTOR }),
    target.create(user("Anna"), { actor: ACTOR }),
    replace("c"),
  ]);
  const codes = settled.map((one) => one.status === "rejected" ? one.reason.code : "done");
  assertEquals(codes, ["precondition", "done", "taken", "done"]);
  assertEquals((await target.directory.read("user", "anna"))?.content.attributes.title, "c");
});

Deno.test("backends: a store without other backends changes members without reading the group, and accepts no unknown ones", async () => {
  await using stage = await openStage({ shape: { local: "store" } });
  const { target } = await stage.start();
  await target.create(group("staff", ["anna"]), { actor: ACTOR });
  const { stored } = await target.changeMembers("Staff", { add: ["ben"], remove: [] }, { actor: ACTOR });
  assertEquals(stored?.content, group("staff", ["anna", "ben"]));
  const change = { add: ["ben"], remove: [] };
  assertEquals((await refusalOf(target.changeMembers("none", change, { actor: ACTOR }))).code, "not_found");
});

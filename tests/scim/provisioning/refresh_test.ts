// A refresh: what it imports, updates and delivers, and the versions of answers.

import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import type { RefreshReport } from "../../../scim/backend_port.ts";
import type { MemoryBackend } from "../../fakes/memory_backend.ts";
import { ACTOR, group, openStage, refusalOf, type Stage, user } from "./stage.ts";

// Refresh: the store adopts the content of the backends.

const put = (backend: MemoryBackend, name: string, title: string) =>
  void backend.users.set(name.toLowerCase(), { content: user(name, { title }), remoteId: `id of ${name}` });

/** Another client renames a user there. */
function renameThere({ users }: MemoryBackend, from: string, to: string): void {
  const held = users.get(from);
  if (held === undefined) throw new Error(`no ${from}`);
  users.delete(from);
  users.set(to, { ...held, content: { ...held.content, name: to } });
}

Deno.test("refreshOne() imports a resource that only a backend has", async () => {
  await using stage = await openStage({ shape: { local: "store", a: "sync" } });
  const { target } = await stage.start();
  put(stage.backend("a"), "Anna", "theirs");
  const stored = await target.refreshOne("user", "anna", ACTOR);
  assertEquals(stored?.content, user("Anna", { title: "theirs" }));
  assertEquals(Object.keys(stored?.backends ?? {}), ["a"]);
  assertEquals(stored?.backends.a?.remoteId, "id of Anna");
});

Deno.test("refreshOne() of a resource that does not exist returns null and writes nothing", async () => {
  await using stage = await openStage({ shape: { local: "store", a: "sync" } });
  const { target } = await stage.start();
  assertEquals(await target.refreshOne("user", "anna", ACTOR), null);
  assertEquals(await stage.below("audit"), []);
});

Deno.test("refreshOne() uses the first listed backend in a conflict, and stores the content of the other one separately", async () => {
  for (const shape of [{ a: "sync", b: "sync" }, { b: "sync", a: "sync" }] as const) {
    await using stage = await openStage({ shape });
    const { target } = await stage.start();
    put(stage.backend("a"), "anna", "of a");
    put(stage.backend("b"), "anna", "of b");
    const [first, second] = Object.keys(shape);
    const stored = await target.refreshOne("user", "anna", ACTOR);
    assertEquals(stored?.content.attributes.title, `of ${first}`);
    assertEquals(stored?.backends[second ?? ""]?.differs, true);
    assertEquals((await stage.below("copy")).length, 1);
    // The backends agree again: nothing is stored separately.
    put(stage.backend(second ?? ""), "anna", `of ${first}`);
    const agreed = await target.refreshOne("user", "anna", ACTOR);
    assertEquals(agreed?.backends[second ?? ""]?.differs, undefined);
    assertEquals(await stage.below("copy"), []);
  }
});

Deno.test("refreshOne() updates an embedded store that is listed after a backend", async () => {
  await using stage = await openStage({ shape: { a: "sync", local: "store" } });
  const { target } = await stage.start();
  await target.create(user("anna", { title: "ours" }), { actor: ACTOR });
  put(stage.backend("a"), "anna", "theirs");
  const stored = await target.refreshOne("user", "anna", ACTOR);
  assertEquals(stored?.content.attributes.title, "theirs");
  assertEquals(await stage.below("copy"), []);
});

Deno.test("refreshOne() keeps what a backend cannot store, and active if the backend has no such attribute", async () => {
  const covers = new Set(["title", "name"]);
  await using stage = await openStage({
    shape: { a: "sync", local: "store" },
    covers,
    holds: { groups: true, active: false },
  });
  const { target } = await stage.start();
  const anna = { ...user("anna", { title: "Dr", nickName: "Ann" }), active: false };
  await target.create(anna, { actor: ACTOR });
  const before = await target.directory.read("user", "anna");
  assertEquals(await target.refreshOne("user", "anna", ACTOR), before, "nothing changed, nothing written");
  put(stage.backend("a"), "anna", "Prof");
  const stored = await target.refreshOne("user", "anna", ACTOR);
  assertEquals(stored?.content, { ...anna, attributes: { ...anna.attributes, title: "Prof" } });
});

Deno.test("refreshOne() marks a resource that a backend no longer has, and deletes one that no backend has", async () => {
  await using stage = await openStage({ shape: { a: "sync", b: "sync" } });
  const { target } = await stage.start();
  await target.create(user("anna"), { actor: ACTOR });
  stage.backend("a").users.clear();
  const stored = await target.refreshOne("user", "anna", ACTOR);
  assertEquals(stored?.backends.a?.state, "vanished");
  assertEquals(stored?.backends.b?.state, "present");
  stage.backend("b").users.clear();
  assertEquals(await target.refreshOne("user", "anna", ACTOR), null);
  assertEquals(await target.directory.read("user", "anna"), null);
});

Deno.test("refreshOne() changes nothing when a backend cannot be read", async () => {
  await using stage = await openStage({ shape: { a: "sync", b: "sync" } });
  const { target } = await stage.start();
  await target.create(user("anna"), { actor: ACTOR });
  stage.backend("a").users.clear();
  stage.backend("b").trouble({ operation: "read", how: "before" });
  const before = await target.directory.read("user", "anna");
  assertEquals((await refusalOf(target.refreshOne("user", "anna", ACTOR))).code, "backend_unreachable");
  assertEquals(await target.directory.read("user", "anna"), before);
});

Deno.test("refreshOne() does not overwrite a pending write of a backend", async () => {
  await using stage = await openStage({ shape: { a: "async" } });
  const { target } = await stage.start();
  put(stage.backend("a"), "anna", "old");
  stage.backend("a").trouble({ operation: "put", how: "before" });
  await target.create(user("anna", { title: "new" }), { actor: ACTOR });
  const stored = await target.refreshOne("user", "anna", ACTOR);
  assertEquals(stored?.content.attributes.title, "new");
  assertEquals(stored?.backends.a?.state, "pending");
});

Deno.test("a refresh does not import a user again whose removal is pending", async () => {
  await using stage = await openStage({ shape: { a: "async" } });
  const { target } = await stage.start();
  await target.create(user("anna"), { actor: ACTOR });
  await stage.becomes("it arrives", async () => (await stage.below("outbox")).length === 0);
  stage.backend("a").trouble({ operation: "remove", how: "before" });
  await target.remove("user", "anna", { actor: ACTOR });
  assertEquals(await target.refreshOne("user", "anna", ACTOR), null);
  assertEquals((await target.refreshAll(ACTOR)).created, 0);
  assertEquals(await target.directory.read("user", "anna"), null);
});

Deno.test("refreshAll() imports, updates, marks and deletes, and counts its changes", async () => {
  await using stage = await openStage({ shape: { local: "store", a: "sync" }, maxDropPercent: 100 });
  const { target } = await stage.start();
  const a = stage.backend("a");
  for (let n = 0; n < 1200; n++) put(a, `u${n}`, "1");
  a.groups.set("staff", { content: group("Staff", ["u1", "u2"]), remoteId: "g" });
  const progress: number[] = [];
  const first = await target.refreshAll(ACTOR, { onProgress: ({ read }) => void progress.push(read) });
  assertEquals([first.created, first.updated, first.unchanged, first.ofGroups.created], [1201, 0, 0, 1]);
  assertEquals(progress, [500, 1000, 1200, 1]);
  assertEquals((await target.directory.read("group", "staff"))?.content, group("Staff", ["u1", "u2"]));

  await target.create(user("ours"), { actor: ACTOR });
  put(a, "u1", "2");
  a.users.delete("u3");
  a.users.delete("ours");
  stage.clock.advance(1000);
  const { tookMs: _tookMs, ...second } = await target.refreshAll(ACTOR);
  const none = { created: 0, updated: 0, unchanged: 0, vanished: 0, deleted: 0 };
  const counts = { created: 0, updated: 1, unchanged: 1199, vanished: 1, deleted: 1 };
  assertEquals(second, { ...counts, ofGroups: { ...none, unchanged: 1 }, faults: [] });
  assertEquals((await target.directory.read("user", "ours"))?.backends.a?.state, "vanished");
  assertEquals(await target.directory.read("user", "u3"), null);
  const { tookMs: _again, ...third } = await target.refreshAll(ACTOR);
  assertEquals(third, { ...none, unchanged: 1200, ofGroups: { ...none, unchanged: 1 }, faults: [] });
});

const BRAKES = [
  { held: 1000, gone: 412, percent: 10, isBraked: true },
  { held: 1000, gone: 100, percent: 10, isBraked: false },
  { held: 1000, gone: 101, percent: 10, isBraked: true },
  { held: 12, gone: 10, percent: 10, isBraked: false },
  { held: 12, gone: 11, percent: 10, isBraked: true },
  { held: 100, gone: 100, percent: 100, isBraked: false },
] as const;

for (const { held, gone, percent, isBraked } of BRAKES) {
  Deno.test(`refreshAll(): ${gone} of ${held} gone with a limit of ${percent} % is ${isBraked ? "" : "not "}stopped`, async () => {
    await using stage = await openStage({ shape: { a: "sync" }, maxDropPercent: percent });
    const { target } = await stage.start();
    const a = stage.backend("a");
    for (let n = 0; n < held; n++) put(a, `u${n}`, "1");
    await target.refreshAll(ACTOR);
    stage.clock.advance(1000);
    for (let n = 0; n < gone; n++) a.users.delete(`u${n}`);
    put(a, "new", "1");
    const report = await target.refreshAll(ACTOR);
    assertEquals(report.deleted, isBraked ? 0 : gone);
    assertEquals(report.created, 1, "what is new comes in all the same");
    assertEquals(report.faults.length, isBraked ? 1 : 0);
    if (isBraked) {
      assertMatch(
        report.faults[0]?.detail ?? "",
        new RegExp(`remove ${gone} of [0-9,]+ users. The limit is ${percent} %`),
      );
    }
    assertEquals((await stage.below("user")).length, isBraked ? held + 1 : held - gone + 1);
  });
}

Deno.test("refreshAll() deletes nothing of a backend whose list is incomplete, and continues with the others", async () => {
  await using stage = await openStage({ shape: { a: "sync", b: "sync" }, maxDropPercent: 100 });
  const { target } = await stage.start();
  put(stage.backend("a"), "anna", "1");
  put(stage.backend("b"), "ben", "1");
  await target.refreshAll(ACTOR);
  stage.clock.advance(1000);
  stage.backend("a").trouble({ operation: "list", how: "before" });
  stage.backend("a").users.clear();
  put(stage.backend("b"), "cleo", "1");
  const report = await target.refreshAll(ACTOR);
  assertEquals([report.created, report.deleted, report.vanished], [1, 0, 0]);
  assertEquals(report.faults.map(({ backend }) => backend), ["a"]);
  assert(await target.directory.read("user", "anna") !== null);
});

Deno.test("refreshAll() does not delete users who were created while it read", async () => {
  await using stage = await openStage({ shape: { a: "sync" }, maxDropPercent: 100 });
  const { target } = await stage.start();
  const a = stage.backend("a");
  put(a, "anna", "1");
  let created: Promise<unknown> | null = null;
  const report = await target.refreshAll(ACTOR, {
    onProgress: ({ kind }) => {
      if (kind === "user") created = target.create(user("zoe"), { actor: ACTOR });
    },
  });
  await created;
  assertEquals(report.deleted, 0);
  assert(await target.directory.read("user", "zoe") !== null);
});

Deno.test("refreshAll() does not delete a user who was created after its list began, if the clock is set back", async () => {
  await using stage = await openStage({ shape: { a: "sync" }, maxDropPercent: 100 });
  const a = stage.backend("a");
  const { list } = a;
  Object.assign(a, {
    async *list(kind: "user" | "group") {
      yield* list(kind);
      if (kind === "group") return;
      stage.clock.advance(-60_000);
      await stage.target().create(user("zoe"), { actor: ACTOR });
    },
  });
  const { target } = await stage.start();
  const report = await target.refreshAll(ACTOR);
  assertEquals([report.deleted, report.vanished], [0, 0]);
  assert(await target.directory.read("user", "zoe") !== null);
});

Deno.test("refreshAll() skips invalid names, and counts them", async () => {
  await using stage = await openStage({ shape: { a: "sync" } });
  const { target } = await stage.start();
  for (const name of ["a/..", "..", "bell\u0007", "fine"]) put(stage.backend("a"), name, "1");
  const report = await target.refreshAll(ACTOR);
  assertEquals(report.created, 1);
  assertMatch(report.faults[0]?.detail ?? "", /Left out 3 users/);
});

Deno.test("refreshAll() lets callers that arrive during a run share the next run", async () => {
  await using stage = await openStage({ shape: { a: "sync" } });
  const { target } = await stage.start();
  const a = stage.backend("a");
  a.groups.set("staff", { content: group("staff"), remoteId: "g" });
  const others: Promise<RefreshReport>[] = [];
  await target.refreshAll(ACTOR, {
    onProgress({ kind }) {
      if (kind !== "group") return;
      put(a, "anna", "1");
      for (let n = 0; n < 3; n++) others.push(target.refreshAll(ACTOR));
    },
  });
  assertEquals(others.length, 3);
  const reports = await Promise.all(others);
  assert(reports.every((report) => report === reports[0]));
  assert(await target.directory.read("user", "anna") !== null);
  const listings = a.calls.filter(({ operation, kind }) => operation === "list" && kind === "user").length;
  assertEquals(listings, 2);
});

Deno.test("refreshAll() can be repeated after an interruption", async () => {
  await using stage = await openStage({ shape: { a: "sync" } });
  for (let n = 0; n < 300; n++) put(stage.backend("a"), `u${n}`, "1");
  const mortal = await stage.start({ dieAt: 4 });
  const ended = await mortal.target.refreshAll(ACTOR).then(() => "done", () => "failed");
  assertEquals(ended, "failed");
  const { target } = await stage.start();
  const report = await target.refreshAll(ACTOR);
  assertEquals(report.created + report.unchanged, 300);
  assert(report.created > 0 && report.unchanged > 0);
});

for (const mode of ["sync", "async"] as const) {
  Deno.test(`a rename at one backend reaches the other one (${mode})`, async () => {
    await using stage = await openStage({ shape: { ldap: "sync", local: "store", saas: mode } });
    const { target } = await stage.start();
    for (const name of ["kim", "ann"]) await target.create(user(name), { actor: ACTOR });
    await target.create(group("team", ["kim", "ann"]), { actor: ACTOR });
    const settled = () => stage.becomes("all is delivered", () => target.pendingWrites(1).length === 0);
    await settled();
    const before = await target.directory.read("user", "kim");
    renameThere(stage.backend("ldap"), "kim", "kimberly");
    assertEquals((await target.refreshAll(ACTOR)).faults, []);
    await settled();
    const after = await target.directory.read("user", "kimberly");
    assertEquals([after?.id, after?.groups], [before?.id, ["team"]]);
    assertEquals(await target.directory.read("user", "kim"), null);
    assertEquals([...stage.backend("saas").users.keys()].sort(), ["ann", "kimberly"]);
    const report = await target.refreshAll(ACTOR);
    assertEquals([report.created, report.deleted, report.vanished], [0, 0, 0]);
  });
}

Deno.test("a rename that another backend cannot follow is reported, and the resource keeps its name", async () => {
  await using stage = await openStage({ shape: { ldap: "sync", saas: "sync" }, renames: false });
  const { target } = await stage.start();
  await target.create(user("kim"), { actor: ACTOR });
  renameThere(stage.backend("ldap"), "kim", "kimberly");
  assertEquals((await target.refreshAll(ACTOR)).faults.map(({ kind }) => kind), ["rename_conflict"]);
  assertEquals(target.directory.count("user"), 1);
  assertEquals((await target.directory.read("user", "kim"))?.backends.ldap?.state, "present");
});

// A refresh while a pending write is delivered: the list of the backend is older than the store.

/** Before the start: the backend makes its lists first, and returns the pages after `between`. */
function listEarly(backend: MemoryBackend, between: (kind: "user" | "group") => Promise<void>): void {
  const list = backend.list.bind(backend);
  Object.assign(backend, {
    async *list(kind: "user" | "group") {
      const pages = await Array.fromAsync(list(kind));
      await between(kind);
      yield* pages;
    },
  });
}

for (const shape of [{ cloud: "async", local: "store" }, { local: "store", cloud: "async" }] as const) {
  for (const late of ["user", "group"] as const) {
    Deno.test(
      `refreshAll() keeps a write that is delivered after the list of ${late}s was made, ${
        Object.keys(shape)
      }`,
      async () => {
        await using stage = await openStage({ shape });
        const cloud = stage.backend("cloud");
        let isLate = false;
        listEarly(cloud, async (kind) => {
          if (!isLate || kind !== late) return;
          cloud.heal();
          await stage.becomes("all is delivered", isIdle);
        });
        const { target } = await stage.start();
        const isIdle = () => target.pendingWrites(1).length === 0;
        for (const name of ["anna", "ben"]) await target.create(user(name), { actor: ACTOR });
        await target.create(group("staff", ["anna", "ben"]), { actor: ACTOR });
        await stage.becomes("all arrives", isIdle);
        cloud.trouble({ operation: "put", how: "before" });
        await target.replace(user("anna", { title: "ours" }), { actor: ACTOR });
        await target.replace({ ...user("ben"), active: false }, { actor: ACTOR });
        stage.clock.advance(1000);
        isLate = true;
        assertEquals((await target.refreshAll(ACTOR)).faults, []);
        await target.replace(user("ben"), { actor: ACTOR });
        const [anna, staff] = await Promise.all([
          target.directory.read("user", "anna"),
          target.directory.read("group", "staff"),
        ]);
        assertEquals([anna?.content, staff?.content], [
          user("anna", { title: "ours" }),
          group("staff", ["anna"]),
        ]);
        assertEquals([anna?.backends.cloud?.differs, staff?.backends.cloud?.differs], [undefined, undefined]);
      },
    );
  }
}

// The version of a resource: a write changes it, the result of the write at a backend does not.

const SHAPE = { local: "store", cloud: "async" } as const;

const isIdle = (stage: Stage) => async () => (await stage.below("outbox")).length === 0;

/** The source of an ETag and of a time stamp. */
async function stampsOf(stage: Stage, kind: "user" | "group", name: string) {
  const stored = await stage.target().directory.read(kind, name);
  return { version: stored?.version, modifiedMs: stored?.modifiedMs, state: stored?.backends.cloud?.state };
}

Deno.test("a recorded delivery does not change the version and time of a user", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  const { stored } = await target.create(user("anna"), { actor: ACTOR });
  assertEquals(stored?.backends.cloud?.state, "pending");
  stage.clock.advance(5000);
  await stage.becomes("the outbox is empty", isIdle(stage));
  assertEquals(await stampsOf(stage, "user", "anna"), {
    version: stored?.version,
    modifiedMs: stored?.modifiedMs,
    state: "present",
  });
});

Deno.test("a recorded delivery does not change the version and time of a group", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  await target.create(user("anna"), { actor: ACTOR });
  const { stored } = await target.create(group("staff", ["anna"]), { actor: ACTOR });
  await stage.becomes("the outbox is empty", isIdle(stage));
  const { version, modifiedMs, state } = await stampsOf(stage, "group", "staff");
  assertEquals([version, modifiedMs, state], [stored?.version, stored?.modifiedMs, "present"]);
});

Deno.test("a recorded fault, a dead letter and its retry do not change the version", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  stage.backend("cloud").trouble({
    operation: "put",
    how: "before",
    fault: { kind: "refused", retry: false },
  });
  const { stored } = await target.create(user("anna"), { actor: ACTOR });
  const dead = await waitFor(stage, "failed");
  stage.backend("cloud").heal();
  await target.retryDeadLetters({ backend: "cloud" });
  const revived = await waitFor(stage, "present");
  assertEquals([dead, revived], [stored?.version, stored?.version]);
});

Deno.test("a write with the version from before a delivery is accepted; one from before a write is not", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  const first = (await target.create(user("anna"), { actor: ACTOR })).stored?.version ?? "";
  await stage.becomes("the outbox is empty", isIdle(stage));
  const second =
    (await target.replace(user("anna", { title: "Dr" }), { actor: ACTOR, ifVersion: first })).stored;
  assertNotEquals(second?.version, first);
  await stage.becomes("the outbox is empty", isIdle(stage));
  const late = target.replace(user("anna", { title: "Mx" }), { actor: ACTOR, ifVersion: first });
  assertEquals((await refusalOf(late)).code, "precondition");
});

Deno.test("consecutive writes, each with the version of the one before, get no false conflict", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  let version = (await target.create(user("anna"), { actor: ACTOR })).stored?.version ?? "";
  for (let number = 0; number < 5; number += 1) {
    const saved = target.replace(user("anna", { title: String(number) }), {
      actor: ACTOR,
      ifVersion: version,
    });
    version = (await saved).stored?.version ?? "";
    // Before half of them there is a delivery.
    if (number % 2 === 0) await stage.becomes("the outbox is empty", isIdle(stage));
  }
  await stage.becomes("the outbox is empty", isIdle(stage));
  assertEquals(stage.backend("cloud").users.get("anna")?.content, user("anna", { title: "4" }));
});

Deno.test("a directory write that read the backends before a delivery was recorded gets a conflict", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  const { stored } = await target.create(user("anna"), { actor: ACTOR });
  await stage.becomes("the outbox is empty", isIdle(stage));
  if (stored === null) throw new Error("Cannot go on: nothing was stored");
  const write = {
    kind: "user",
    name: "anna",
    expected: stored.version,
    next: { content: stored.content, backends: stored.backends },
  } as const;
  const stale = await target.directory.write({ ...write, recorded: stored.recorded ?? 0 });
  assertEquals(stale, { ok: false, reason: "changed" });
  assertEquals((await target.directory.write(write)).ok, true);
});

async function waitFor(stage: Stage, state: string): Promise<string | undefined> {
  await stage.becomes(`it is ${state}`, async () => (await stampsOf(stage, "user", "anna")).state === state);
  return (await stampsOf(stage, "user", "anna")).version;
}

// The outbox: order, retries, renames, and what still waits for a backend.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { settle } from "../../support/settle.ts";
import type { MemoryCall } from "../../fakes/memory_network.ts";
import { ACTOR, group, openStage, refusalOf, settled, type Stage, user } from "./stage.ts";
import { createSystemRandom } from "../../../platform/runtime.ts";
import { createStore } from "../../../platform/store.ts";
import { createVault } from "../../../platform/vault.ts";
import type { Target } from "../../../scim/ports.ts";
import {
  Outbox,
  type OutboxChange,
  PendingWriteList,
  type StoredEntry,
  type StoredEntry as PendingEntry,
} from "../../../scim/provisioning/outbox.ts";
import { tickingClock } from "../directory/world.ts";

// Pending writes of async backends: recorded with the write, delivered once and in order, also after a crash.

const SHAPE = { local: "store", cloud: "async" } as const;

const writesOf = (stage: Stage, name = "cloud"): string[] =>
  stage.backend(name).calls.filter(({ operation, ok }) =>
    ok && (operation === "put" || operation === "remove")
  )
    .map(({ operation, name }: MemoryCall) => `${operation} ${name}`);

const isIdle = (stage: Stage) => async () => (await stage.below("outbox")).length === 0;

Deno.test("create() is acknowledged while the async backend is unavailable, and delivered when it is available again", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  stage.backend("cloud").trouble({ how: "before" });
  const { stored, receipt } = await target.create(user("anna", { title: "Dr" }), { actor: ACTOR });
  assertEquals(receipt.entries.map(({ outcome }) => outcome), ["done", "queued"]);
  assertEquals(stored?.backends.cloud?.state, "pending");
  await stage.becomes("three attempts failed", () => (target.pendingWrites(1)[0]?.attempts ?? 0) >= 3);
  const waiting = await target.directory.read("user", "anna");
  assertEquals(waiting?.backends.cloud?.why, "the backend was told to fail");
  assertEquals(stage.backend("cloud").users.size, 0);

  stage.backend("cloud").heal();
  await stage.becomes("the outbox is empty", () => target.pendingWrites(1).length === 0);
  const { state, operation, why, remoteId } = (await target.directory.read("user", "anna"))?.backends.cloud ??
    {};
  assertEquals({ state, operation, why, remoteId }, {
    state: "present",
    operation: undefined,
    why: undefined,
    remoteId: "remote-1",
  });
  assertEquals(writesOf(stage), ["put anna"]);
  assertEquals(await stage.below("owed"), []);
});

Deno.test("several writes of one resource deliver its last state", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  const cloud = stage.backend("cloud");
  cloud.trouble({ how: "before" });
  await target.create(user("anna", { title: "1" }), { actor: ACTOR });
  await target.replace(user("anna", { title: "2" }), { actor: ACTOR });
  await target.remove("user", "anna", { actor: ACTOR });
  await target.create(user("Anna", { title: "3" }), { actor: ACTOR });
  assertEquals(target.pendingWrites(10).map(({ name, operation }) => `${operation} ${name}`), ["put Anna"]);
  cloud.heal();
  await stage.becomes("the outbox is empty", isIdle(stage));
  assertEquals(cloud.users.get("anna")?.content, user("Anna", { title: "3" }));
});

Deno.test("remove() of an async backend's last user deletes it at once, and the removal is pending", async () => {
  await using stage = await openStage({ shape: { cloud: "async" } });
  const { target } = await stage.start();
  await target.create(user("anna"), { actor: ACTOR });
  await stage.becomes("it arrives", () => stage.backend("cloud").users.size === 1);
  await stage.becomes("the outbox is empty", isIdle(stage));
  const { stored, receipt } = await target.remove("user", "anna", { actor: ACTOR });
  assertEquals([stored, receipt.entries[0]?.outcome], [null, "queued"]);
  assertEquals((await refusalOf(target.remove("user", "anna", { actor: ACTOR }))).code, "not_found");
  await stage.becomes("it is gone there", () => stage.backend("cloud").users.size === 0);
});

Deno.test("a write arrives once if the process is killed at any commit of its delivery", async () => {
  const seen = new Set<string>();
  for (let dieAt = 1; dieAt < 7; dieAt++) {
    await using stage = await openStage({ shape: SHAPE });
    const first = await stage.start({ dieAt });
    const outcome = await first.target.create(user("anna", { title: "Dr" }), { actor: ACTOR })
      .then(() => "acknowledged", () => "refused");
    await settle();
    first.kill();
    const second = await stage.start();
    await stage.becomes("the outbox is empty", isIdle(stage));
    const isThere = stage.backend("cloud").users.has("anna");
    assertEquals(isThere, outcome === "acknowledged" || isThere);
    assert(outcome !== "acknowledged" || isThere, `acknowledged and lost, after ${dieAt} commits`);
    assertEquals(writesOf(stage), isThere ? ["put anna"] : [], `after ${dieAt} commits`);
    const state = (await second.target.directory.read("user", "anna"))?.backends.cloud?.state;
    assertEquals(state, isThere ? "present" : undefined);
    seen.add(`${outcome} ${isThere}`);
  }
  assert(seen.has("acknowledged true"));
});

Deno.test("a write with an unknown result is checked before it is repeated", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  const cloud = stage.backend("cloud");
  cloud.trouble({ operation: "put", how: "after", times: 1 });
  await target.create(user("anna"), { actor: ACTOR });
  await stage.becomes("the outbox is empty", isIdle(stage));
  const calls = cloud.calls.map(({ operation, ok }) => `${operation} ${ok}`);
  assertEquals(calls, ["put false", "read true"]);
});

Deno.test("a write that the backend refuses becomes a dead letter: it is listed, skipped, and retried by command or by a newer write", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  const cloud = stage.backend("cloud");
  for (const name of ["anna", "ben"]) {
    cloud.trouble({
      operation: "put",
      name,
      how: "before",
      times: 1,
      fault: { kind: "refused", retry: false },
    });
    await target.create(user(name), { actor: ACTOR });
  }
  await target.create(user("cleo"), { actor: ACTOR });
  await stage.becomes("the others arrive", () => cloud.users.has("cleo"));
  await stage.becomes(
    "two are dead",
    () => target.pendingWrites(10).filter(({ nextMs }) => nextMs === null).length === 2,
  );
  assertEquals((await target.directory.read("user", "anna"))?.backends.cloud?.state, "failed");

  await target.replace(user("anna", { title: "new" }), { actor: ACTOR });
  await stage.becomes("the newer write arrives", () => cloud.users.has("anna"));
  assertEquals(await target.retryDeadLetters({ backend: "other" }), 0);
  assertEquals(await target.retryDeadLetters({}), 1);
  await stage.becomes("the revived one arrives", () => cloud.users.has("ben"));
  await stage.becomes("the outbox is empty", () => target.pendingWrites(10).length === 0);
  assertEquals((await target.directory.read("user", "ben"))?.backends.cloud?.state, "present");
  assertEquals(await stage.below("dead_letter"), []);
});

Deno.test("a write that fails fifty times is given up, unless its backend is unavailable", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  const cloud = stage.backend("cloud");
  cloud.trouble({ operation: "put", name: "anna", how: "before", fault: { kind: "refused", retry: true } });
  await target.create(user("anna"), { actor: ACTOR });
  let hours = 0;
  while (target.pendingWrites(1)[0]?.nextMs !== null && hours++ < 2000) {
    await stage.becomes("time passes", () => true);
    for (let minute = 0; minute < 12; minute++) {
      stage.clock.advance(10 * 60_000);
      await settle();
    }
  }
  assertEquals(target.pendingWrites(1)[0]?.attempts, 50);
  cloud.heal();
  cloud.trouble({ how: "before" });
  await target.create(user("ben"), { actor: ACTOR });
  const benOf = () => target.pendingWrites(10).find(({ name }) => name === "ben");
  for (let minute = 0; minute < 2000 && (benOf()?.attempts ?? 0) < 55; minute++) {
    stage.clock.advance(75_000);
    await settle();
  }
  assert((benOf()?.attempts ?? 0) >= 55);
  assertNotEquals(benOf()?.nextMs, null);
  // After the outage, one refusal is the first failure and not the fifty-sixth.
  cloud.heal();
  cloud.trouble({ name: "ben", how: "before", times: 1, fault: { kind: "refused", retry: true } });
  await stage.becomes("the write arrives", () => cloud.users.has("ben"));
});

Deno.test("a delivery waits for the backend's Retry-After", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  const cloud = stage.backend("cloud");
  cloud.trouble({
    operation: "put",
    how: "before",
    times: 1,
    fault: { kind: "busy", retryAfterMs: 600_000 },
  });
  await target.create(user("anna"), { actor: ACTOR });
  const startedMs = stage.clock.nowMs();
  await stage.becomes("it arrives", () => cloud.users.size === 1);
  assert(stage.clock.nowMs() - startedMs >= 90_000);
});

Deno.test("a password waits encrypted, is delivered to the backend, and is then deleted from the store", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const first = await stage.start();
  const { target } = first;
  const cloud = stage.backend("cloud");
  cloud.trouble({ how: "before" });
  await target.create(user("anna"), { actor: ACTOR, password: "correct horse" });
  await target.replace(user("anna", { title: "Dr" }), { actor: ACTOR });
  const [entry] = await stage.below("outbox");
  const sealed = (entry as { password?: Uint8Array }).password;
  assert(sealed !== undefined && !new TextDecoder("latin1").decode(sealed).includes("correct"));
  assert(!JSON.stringify(await stage.below()).includes("correct horse"));
  first.kill();
  await stage.start();
  cloud.heal();
  await stage.becomes("the outbox is empty", isIdle(stage));
  assertEquals(cloud.passwords.get("anna"), "correct horse");
  assertEquals(cloud.users.get("anna")?.content, user("anna", { title: "Dr" }));
});

Deno.test("a long outbox is listed up to a limit, and delivered completely", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  const cloud = stage.backend("cloud");
  cloud.trouble({ how: "before" });
  await Promise.all(Array.from({ length: 1500 }, (_, n) => target.create(user(`u${n}`), { actor: ACTOR })));
  assertEquals(target.pendingWrites(5000).length, 1000);
  assertEquals((await stage.below("outbox")).length, 1500);
  cloud.heal();
  await stage.becomes("the outbox is empty", isIdle(stage));
  assertEquals(cloud.users.size, 1500);
  assertEquals(writesOf(stage).length, 1500);
  await stage.becomes("none is shown", () => target.pendingWrites(1).length === 0);
});

Deno.test("a flapping backend receives every write once", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  const cloud = stage.backend("cloud");
  for (let n = 0; n < 10; n++) {
    cloud.trouble({ operation: "put", name: `u${n}`, how: n % 2 === 0 ? "before" : "after", times: 1 });
    await target.create(user(`u${n}`), { actor: ACTOR });
  }
  await stage.becomes("the outbox is empty", isIdle(stage));
  assertEquals(cloud.users.size, 10);
  const done = cloud.calls.filter(({ operation, ok }) => operation === "put" && ok).length;
  assertEquals(done, 5, "those that were done but not acknowledged are not done again");
});

Deno.test("a change of members is delivered to an async backend as a put of the group", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  await target.create(group("staff", ["anna"]), { actor: ACTOR });
  await target.changeMembers("Staff", { add: ["ben", "ANNA"], remove: ["nobody"] }, { actor: ACTOR });
  await stage.becomes("the outbox is empty", isIdle(stage));
  assertEquals(stage.backend("cloud").groups.get("staff")?.content, group("staff", ["anna", "ben"]));
});

Deno.test("a user who is deleted or deactivated is removed from the groups of the backends too, and a refresh does not restore them", async () => {
  await using stage = await openStage({ shape: { a: "sync", cloud: "async", local: "store" } });
  const { target } = await stage.start();
  for (const name of ["anna", "ben", "cleo"]) await target.create(user(name), { actor: ACTOR });
  await target.create(group("staff", ["anna", "ben", "cleo"]), { actor: ACTOR });
  await stage.becomes("all arrives", isIdle(stage));
  const groupOf = (name: string) => stage.backend(name).groups.get("staff")?.content;
  await Promise.all([
    target.remove("user", "anna", { actor: ACTOR }),
    target.replace({ ...user("ben"), active: false }, { actor: ACTOR }),
  ]);
  await stage.becomes("the outbox is empty", isIdle(stage));
  assertEquals([groupOf("a"), groupOf("cloud")], [group("staff", ["cleo"]), group("staff", ["cleo"])]);
  const stored = await target.refreshOne("group", "staff", ACTOR);
  assertEquals(stored?.content, group("staff", ["cleo"]));
  assertEquals(await stage.below("owed"), []);
});

// Renames that wait in the outbox: together with other writes of the same names, and during a refresh.

const OPTIONS = { actor: ACTOR };

type Step = (target: Target) => Promise<unknown>;

/** Writes that meet in the outbox while the backend is down, and the users at the end. */
const COALESCED: readonly { title: string; steps: readonly Step[]; ends: readonly string[] }[] = [
  {
    title: "a rename after a change",
    steps: [
      (target) => target.replace(user("anna", { title: "x" }), OPTIONS),
      (target) => target.rename("user", "anna", user("bea", { title: "y" }), OPTIONS),
    ],
    ends: ["bea"],
  },
  {
    title: "a change after a rename",
    steps: [
      (target) => target.rename("user", "anna", user("bea"), OPTIONS),
      (target) => target.replace(user("bea", { title: "x" }), OPTIONS),
    ],
    ends: ["bea"],
  },
  {
    title: "two renames",
    steps: [
      (target) => target.rename("user", "anna", user("bea"), OPTIONS),
      (target) => target.rename("user", "bea", user("cleo"), OPTIONS),
    ],
    ends: ["cleo"],
  },
  {
    title: "there and back",
    steps: [
      (target) => target.rename("user", "anna", user("bea"), OPTIONS),
      (target) => target.rename("user", "bea", user("anna"), OPTIONS),
    ],
    ends: ["anna"],
  },
  {
    title: "a deletion after a rename",
    steps: [
      (target) => target.rename("user", "anna", user("bea"), OPTIONS),
      (target) => target.remove("user", "bea", OPTIONS),
    ],
    ends: [],
  },
  {
    title: "a new user with the former name",
    steps: [
      (target) => target.rename("user", "anna", user("bea", { title: "first" }), OPTIONS),
      (target) => target.create(user("anna", { title: "second" }), OPTIONS),
    ],
    ends: ["anna second", "bea first"],
  },
  {
    title: "a new user with the former name, and a rename of that",
    steps: [
      (target) => target.rename("user", "anna", user("bea", { title: "first" }), OPTIONS),
      (target) => target.create(user("anna", { title: "second" }), OPTIONS),
      (target) => target.rename("user", "anna", user("cleo", { title: "second" }), OPTIONS),
    ],
    ends: ["bea first", "cleo second"],
  },
  {
    title: "a user who was never delivered",
    steps: [
      (target) => target.create(user("dora"), OPTIONS),
      (target) => target.rename("user", "dora", user("eve"), OPTIONS),
    ],
    ends: ["anna", "eve"],
  },
  {
    title: "the name of a user whose deletion is pending",
    steps: [
      (target) => target.create(user("dora", { title: "x" }), OPTIONS),
      (target) => target.remove("user", "anna", OPTIONS),
      (target) => target.rename("user", "dora", user("anna", { title: "x" }), OPTIONS),
    ],
    ends: ["anna x"],
  },
];

for (const { title, steps, ends } of COALESCED) {
  for (const how of ["before", "after"] as const) {
    Deno.test(`the outbox delivers ${title}, when the backend fails ${how} it acts`, async () => {
      await using stage = await openStage({ shape: { local: "store", a: "async" } });
      const { target } = await stage.start();
      const { stored } = await target.create(user("anna"), OPTIONS);
      await target.create(group("staff", ["anna"]), OPTIONS);
      await settled(stage, target);
      stage.backend("a").trouble({ how });
      for (const step of steps) {
        await step(target);
        if (how === "after") stage.clock.advance(1000);
        await stage.becomes("the backend was tried", () => true);
      }
      stage.backend("a").heal();
      await settled(stage, target);
      const held = [...stage.backend("a").users.values()].map(({ content: { name, attributes } }) =>
        attributes.title === undefined || !ends.some((one) => one.includes(" "))
          ? name
          : `${name} ${attributes.title}`
      );
      assertEquals(held.sort(), [...ends]);
      const local = (await Array.fromAsync(target.directory.all("user"))).map(({ content }) => content.name);
      assertEquals(local.sort(), ends.map((one) => one.split(" ")[0] ?? ""));
      const first = await target.directory.readById("user", stored?.id ?? "");
      const staff = stage.backend("a").groups.get("staff")?.content;
      assertEquals(
        staff?.kind === "group" && staff.members,
        first === null ? [] : [first.content.name],
      );
      assertEquals(await stage.below("owed"), []);
      assertEquals(await stage.below("outbox"), []);
    });
  }
}

Deno.test("a refresh during a pending rename does not create the former name again", async () => {
  await using stage = await openStage({ shape: { local: "store", a: "async" } });
  const { target } = await stage.start();
  await target.create(user("anna"), OPTIONS);
  await settled(stage, target);
  stage.backend("a").trouble({ operation: "rename", how: "before" });
  await target.rename("user", "anna", user("zoe"), OPTIONS);
  await target.refreshAll(ACTOR);
  await target.refreshOne("user", "anna", ACTOR);
  assertEquals(await target.directory.read("user", "anna"), null);
  stage.backend("a").heal();
  await settled(stage, target);
  assertEquals([...stage.backend("a").users.keys()], ["zoe"]);
  await target.refreshAll(ACTOR);
  assertEquals(target.directory.count("user"), 1);
});

Deno.test("addRename() commits only if no attempt for the earlier name began since its entry was read", async () => {
  using kv = await Deno.openKv(":memory:");
  const store = createStore(kv);
  const outbox = new Outbox({
    ...{ store, target: "default", backends: ["cloud"], clock: tickingClock() },
    vault: createVault(new Uint8Array(32).fill(7), createSystemRandom()),
    orderedId: () => "1",
  });
  const place = { backend: "cloud", kind: "user" } as const;
  const find = async (name: string) => await outbox.find("cloud", "user", name);
  const commit = async ({ mutations }: OutboxChange) => (await store.commit({ mutations })).ok;
  const rename = (known: StoredEntry | null) =>
    commit(outbox.addRename(
      { ...place, name: "zoe", operation: "rename", earlier: "anna", isNew: true },
      { known, occupied: null },
    ));
  await commit(outbox.add({ ...place, name: "anna", operation: "put" }, null));
  const read = await find("anna") as StoredEntry;
  await commit(outbox.update(read, { ...read.entry, started: true }));
  assertEquals(await rename(read), false);
  assertEquals((await find("anna"))?.entry.started, true);
  assertEquals(await rename(await find("anna")), true);
  assertEquals((await find("zoe"))?.entry.from, ["anna"]);
});

// The list of pending writes, while entries are delivered during the read.

function kept(sequence: string): PendingEntry {
  const entry = {
    kind: "user",
    name: sequence,
    operation: "put",
    sinceMs: 0,
    attempts: 0,
    nextMs: 0,
  } as const;
  return {
    backend: "cloud",
    sequence,
    entry: { ...entry, started: false, why: null },
    versionstamp: "1",
    isDead: false,
  };
}

Deno.test("PendingWriteList does not list entries that were delivered while the store was read", async () => {
  const read = Promise.withResolvers<void>();
  const list = new PendingWriteList(async function* () {
    yield kept("a");
    await read.promise;
    // This entry is of a batch that was read before its delivery.
    yield kept("b");
    yield kept("c");
  });
  const loading = list.load();
  list.forget("b");
  read.resolve();
  await loading;
  assertEquals(list.oldest(9).map(({ id }) => id), ["a", "c"]);
});

Deno.test("pending writes do not wait longer after the clock was set back", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  const cloud = stage.backend("cloud");
  cloud.trouble({ how: "before" });
  await target.create(user("anna"), { actor: ACTOR });
  await stage.becomes("three attempts failed", () => (target.pendingWrites(1)[0]?.attempts ?? 0) >= 3);
  cloud.heal();
  stage.clock.advance(-30 * 60_000);
  await target.create(user("berta"), { actor: ACTOR });
  await settle();
  assertEquals([...cloud.users.keys()], ["anna", "berta"]);
});

Deno.test("a pending write keeps its place before later ones if the clock of the next process is behind", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const first = await stage.start();
  const cloud = stage.backend("cloud");
  await first.target.create(user("anna"), { actor: ACTOR });
  await settled(stage, first.target);
  cloud.trouble({ how: "before" });
  await first.target.rename("user", "anna", user("berta"), { actor: ACTOR });
  first.kill();
  stage.clock.advance(-3600_000);
  const { target } = await stage.start();
  await target.create(user("anna"), { actor: ACTOR });
  cloud.heal();
  await settled(stage, target);
  assertEquals([...cloud.users.keys()].sort(), ["anna", "berta"]);
});

// Deleted users: restored, purged, and after a crash.

import { assert, assertEquals } from "@std/assert";
import type { Target } from "../../../scim/ports.ts";
import {
  ACTOR,
  group,
  openStage,
  refusalOf,
  settled,
  type Shape,
  type Stage,
  trashOf,
  user,
} from "./stage.ts";
import { openScimNodes } from "../../fakes/scim_nodes.ts";

// The trash: what a deletion puts into it, what a restore brings back, and that a crash or a failing backend leaves nothing half done.

const DAY_MS = 24 * 3600_000;
const SHAPE = { local: "store", a: "sync", b: "async" } as const;
const OWNER = { name: "console:owner", source: "192.0.2.9" };
const membersAt = (stage: Stage, backend: string, name: string) => {
  const content = stage.backend(backend).groups.get(name)?.content;
  return content?.kind === "group" ? content.members : null;
};

/** A target with Anna, who has a password and two groups, deleted. @returns the id of her entry. */
async function deleteAnna(stage: Stage, target: Target): Promise<string> {
  await target.create(user("Anna", { displayName: "Anna A.", title: "Dr" }), {
    actor: ACTOR,
    password: "thirteen chars",
  });
  await target.create(user("bert"), { actor: ACTOR });
  for (const name of ["staff", "vpn"]) await target.create(group(name, ["Anna", "bert"]), { actor: ACTOR });
  await settled(stage, target);
  const { trashed } = await target.remove("user", "anna", { actor: OWNER });
  await settled(stage, target);
  if (trashed === undefined) throw new Error("The deletion left no entry");
  return trashed;
}

Deno.test("remove() puts a user into the trash, and restoreUser() brings back the record, the password and the groups", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  const id = await deleteAnna(stage, target);

  const [entry, ...more] = await trashOf(target);
  assertEquals(more, []);
  assertEquals({ ...entry, deletedMs: 0 }, {
    ...{ id, name: "Anna", displayName: "Anna A.", active: true, groupCount: 2 },
    ...{ backends: ["local", "a", "b"], actor: OWNER.name, source: OWNER.source },
    ...{ deletedMs: 0, cause: "deleted", hasPassword: true },
  });
  assertEquals(await target.directory.read("user", "anna"), null);
  assertEquals(await target.directory.readPassword("anna"), null);
  assertEquals(stage.backend("a").users.has("anna"), false);

  const restored = await target.restoreUser(id, { actor: OWNER });
  assertEquals([restored.groups, restored.missingGroups, restored.failedGroups], [["staff", "vpn"], [], []]);
  assertEquals(restored.receipt.entries.map(({ outcome }) => outcome), ["done", "done", "queued"]);
  const stored = await target.directory.read("user", "anna");
  assertEquals(stored?.content, user("Anna", { displayName: "Anna A.", title: "Dr" }));
  assertEquals(stored?.groups, ["staff", "vpn"]);
  assertEquals((await target.directory.readPassword("anna"))?.hash, "hash of 14");
  assertEquals(await trashOf(target), []);
  assertEquals([await stage.below("trash"), await stage.below("trash_part")], [[], []]);
  await settled(stage, target);
  for (const backend of ["a", "b"]) {
    assertEquals(stage.backend(backend).users.get("anna")?.content, stored?.content);
    assertEquals(membersAt(stage, backend, "staff")?.toSorted(), ["Anna", "bert"]);
  }
});

Deno.test("restoreUser() writes one audit entry, with the groups", async () => {
  await using stage = await openStage({ shape: { local: "store" } });
  const { target } = await stage.start();
  const id = await deleteAnna(stage, target);
  await target.restoreUser(id, { actor: OWNER });
  const last = (await stage.below("audit")).at(-1) as Record<string, unknown>;
  assertEquals([
    last.action,
    last.actor,
    last.object,
    last.groups,
    (last.after as Record<string, unknown>).password,
  ], [
    "user.restored",
    OWNER.name,
    "user:Anna",
    ["staff", "vpn"],
    "********",
  ]);
});

interface GroupRow {
  readonly title: string;
  readonly change: (target: Target) => Promise<unknown>;
  readonly groups: readonly string[];
  readonly missing: readonly string[];
}

const GROUP_ROWS: readonly GroupRow[] = [
  {
    title: "was deleted",
    change: (target) => target.remove("group", "vpn", { actor: ACTOR }),
    groups: ["staff"],
    missing: ["vpn"],
  },
  {
    title: "was deleted and created again, because it is another group",
    async change(target) {
      await target.remove("group", "vpn", { actor: ACTOR });
      await target.create(group("vpn", ["bert"]), { actor: ACTOR });
    },
    groups: ["staff"],
    missing: ["vpn"],
  },
  {
    title: "has other members now",
    change: (target) => target.replace(group("VPN", []), { actor: ACTOR }),
    groups: ["staff", "vpn"],
    missing: [],
  },
];

for (const { title, change, groups, missing } of GROUP_ROWS) {
  Deno.test(`restoreUser() with a group that ${title}`, async () => {
    await using stage = await openStage({ shape: { local: "store" } });
    const { target } = await stage.start();
    const id = await deleteAnna(stage, target);
    stage.clock.advance(1000);
    await change(target);
    const restored = await target.restoreUser(id, { actor: OWNER });
    assertEquals([restored.groups, restored.missingGroups], [groups, missing]);
    const members = (await target.directory.read("group", "vpn"))?.content;
    assertEquals(members?.kind === "group" && members.members.includes("Anna"), groups.includes("vpn"));
  });
}

Deno.test("restoreUser() brings back 60 groups, more than fit into one commit", async () => {
  await using stage = await openStage({ shape: { local: "store" } });
  const { target } = await stage.start();
  await target.create(user("anna"), { actor: ACTOR });
  const names = Array.from({ length: 60 }, (_, at) => `group-${String(at).padStart(2, "0")}`);
  for (const name of names) await target.create(group(name, ["anna"]), { actor: ACTOR });
  const { trashed = "" } = await target.remove("user", "anna", { actor: ACTOR });
  await target.remove("group", "group-55", { actor: ACTOR });
  const restored = await target.restoreUser(trashed, { actor: OWNER });
  assertEquals(restored.missingGroups, ["group-55"]);
  assertEquals(restored.groups, names.filter((name) => name !== "group-55"));
  assertEquals((await target.directory.read("user", "anna"))?.groups, restored.groups);
});

interface RefusalRow {
  readonly title: string;
  readonly prepare: (stage: Stage, target: Target, id: string) => unknown;
  readonly code: string;
}

const REFUSALS: readonly RefusalRow[] = [
  {
    title: "the name is taken",
    prepare: (_stage, target) => target.create(user("ANNA"), { actor: ACTOR }),
    code: "taken",
  },
  {
    title: "a connector has a user with that name",
    prepare: (stage) =>
      stage.backend("a").users.set("anna", { content: user("anna", { title: "other" }), remoteId: "9" }),
    code: "taken",
  },
  {
    title: "a connector fails",
    prepare: (stage) => stage.backend("a").trouble({ operation: "put", how: "after", times: 1 }),
    code: "backend_unreachable",
  },
  {
    title: "the entry was removed",
    prepare: (_stage, target, id) => target.purgeUser(id, OWNER),
    code: "not_found",
  },
  {
    title: "30 days have passed",
    prepare: (stage) => stage.clock.advance(30 * DAY_MS),
    code: "not_found",
  },
];

for (const { title, prepare, code } of REFUSALS) {
  Deno.test(`restoreUser() refuses and changes nothing if ${title}`, async () => {
    await using stage = await openStage({ shape: SHAPE });
    const { target } = await stage.start();
    const id = await deleteAnna(stage, target);
    await prepare(stage, target, id);
    await settled(stage, target);
    const before = await target.directory.read("user", "anna");
    const entries = await trashOf(target);
    const refusal = await refusalOf(target.restoreUser(id, { actor: OWNER }));
    assertEquals(refusal.code, code);
    assertEquals(await target.directory.read("user", "anna"), before);
    assertEquals(await trashOf(target), entries);
    assertEquals((await target.directory.read("user", "bert"))?.groups, ["staff", "vpn"]);
  });
}

Deno.test("restoreUser() of one entry by two callers creates the user once", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  const id = await deleteAnna(stage, target);
  const both = await Promise.allSettled([
    target.restoreUser(id, { actor: OWNER }),
    target.restoreUser(id, { actor: ACTOR }),
  ]);
  assertEquals(both.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
  assertEquals(await trashOf(target), []);
});

Deno.test("restoreUser() and purgeUser() at the same time: either the user or nothing remains", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  const id = await deleteAnna(stage, target);
  const [restored, purged] = await Promise.allSettled([
    target.restoreUser(id, { actor: OWNER }),
    target.purgeUser(id, OWNER),
  ]);
  const isPurged = purged.status === "fulfilled" && purged.value;
  assertEquals(isPurged, restored.status === "rejected");
  assertEquals(await target.directory.read("user", "anna") === null, isPurged);
  assertEquals(await trashOf(target), []);
});

Deno.test("purgeUser() removes every key of the entry, and records who did it", async () => {
  await using stage = await openStage({ shape: SHAPE });
  const { target } = await stage.start();
  const id = await deleteAnna(stage, target);
  assertEquals([await target.purgeUser(id, OWNER), await target.purgeUser(id, OWNER)], [true, false]);
  assertEquals([await stage.below("trash"), await stage.below("trash_part")], [[], []]);
  const last = (await stage.below("audit")).at(-1) as Record<string, unknown>;
  assertEquals([last.action, last.object, last.actor], ["user.purged", "user:Anna", OWNER.name]);
});

for (const isWhole of [true, false]) {
  Deno.test(`${isWhole ? "refreshAll" : "refreshOne"}() puts a user who vanished from every connector into the trash`, async () => {
    await using stage = await openStage({ shape: { a: "sync" } });
    const { target } = await stage.start();
    await target.create(user("anna"), { actor: ACTOR });
    stage.clock.advance(1000);
    stage.backend("a").users.delete("anna");
    if (isWhole) await target.refreshAll(OWNER);
    else await target.refreshOne("user", "anna", OWNER);
    const [entry] = await trashOf(target);
    assertEquals([entry?.name, entry?.cause, entry?.actor, entry?.backends], [
      "anna",
      "vanished",
      OWNER.name,
      ["a"],
    ]);
    await target.restoreUser(entry?.id ?? "", { actor: OWNER });
    assert(stage.backend("a").users.has("anna"));
  });
}

// The trash when the process crashes, and with several nodes: a user is either in the directory or in the trash.

const SHAPES: readonly Shape[] = [{ local: "store" }, SHAPE];

for (const shape of SHAPES) {
  Deno.test(`a crash at any commit of a deletion or a restore leaves the user or the entry, with ${Object.keys(shape)}`, async () => {
    let crashes = 0;
    for (const operation of ["remove", "restore"] as const) {
      for (let dieAt = 0;; dieAt++) {
        assert(dieAt < 30, "the operation never ends");
        await using stage = await openStage({ shape });
        const first = await stage.start();
        const id = await deleteAnna(stage, first.target);
        if (operation === "remove") {
          await first.target.restoreUser(id, { actor: OWNER });
          await settled(stage, first.target);
        }
        first.kill();
        const mortal = await stage.start({ dieAt });
        const done = operation === "remove"
          ? mortal.target.remove("user", "anna", { actor: OWNER })
          : mortal.target.restoreUser(id, { actor: OWNER });
        const isDone = await done.then(() => true, () => false);
        mortal.kill();
        const { target } = await stage.start();
        await settled(stage, target);
        const stored = await target.directory.read("user", "anna");
        const entries = await trashOf(target);
        assertEquals([stored === null, entries.length], stored === null ? [true, 1] : [false, 0]);
        if (stored !== null) assertEquals(stored.groups, ["staff", "vpn"]);
        assertEquals((await target.directory.read("user", "bert"))?.groups, ["staff", "vpn"]);
        for (const backend of Object.keys(shape).filter((name) => name !== "local")) {
          assertEquals(stage.backend(backend).users.has("anna"), stored !== null, backend);
          assertEquals(membersAt(stage, backend, "vpn")?.includes("Anna"), stored !== null, backend);
        }
        if (!isDone) crashes++;
        else {
          assertEquals(stored === null, operation === "remove");
          break;
        }
      }
    }
    assert(crashes >= 2);
  });
}

Deno.test("another node restores what one node deleted", async () => {
  await using nodes = await openScimNodes({ local: "store", a: "sync" });
  const [one, other] = [await nodes.start("one"), await nodes.start("other")];
  await one.target.create(user("anna"), { actor: ACTOR });
  await one.target.create(group("staff", ["anna"]), { actor: ACTOR });
  const { trashed = "" } = await one.target.remove("user", "anna", { actor: ACTOR });
  assertEquals((await trashOf(other.target)).map(({ name }) => name), ["anna"]);
  await one.stop();
  assertEquals((await other.target.restoreUser(trashed, { actor: OWNER })).groups, ["staff"]);
  assertEquals((await other.target.directory.read("user", "anna"))?.groups, ["staff"]);
  assert(nodes.backend("a").users.has("anna"));
});

Deno.test("a crash between the groups of a user with 60 groups: the next start adds the user to the rest", async () => {
  await using stage = await openStage({ shape: { local: "store" } });
  const names = Array.from({ length: 60 }, (_, at) => `group-${String(at).padStart(2, "0")}`);
  const first = await stage.start();
  await first.target.create(user("anna"), { actor: ACTOR });
  for (const name of names) await first.target.create(group(name, ["anna"]), { actor: ACTOR });
  const { trashed = "" } = await first.target.remove("user", "anna", { actor: ACTOR });
  first.kill();
  // The first commit restores the user; each of the next ones adds a group.
  const mortal = await stage.start({ dieAt: 4 });
  await mortal.target.restoreUser(trashed, { actor: OWNER }).catch(() => undefined);
  mortal.kill();
  const [rest] = await stage.below("trash_joins") as { groups: string[] }[];
  assertEquals(rest?.groups, names.slice(50));
  const { target } = await stage.start();
  await stage.becomes("all groups are joined", async () => {
    const { groups = [] } = await target.directory.read("user", "anna") ?? {};
    return groups.length === names.length;
  });
  assertEquals((await target.directory.read("user", "anna"))?.groups, names);
  await stage.becomes("nothing is left to do", async () => (await stage.below("trash_joins")).length === 0);
  assertEquals(await trashOf(target), []);
});

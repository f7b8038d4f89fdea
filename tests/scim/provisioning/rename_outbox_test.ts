// Renames that wait in the outbox: together with other writes of the same names, and during a refresh.

import { assertEquals } from "@std/assert";
import { createSystemRandom } from "../../../platform/runtime.ts";
import { createStore } from "../../../platform/store.ts";
import { createVault } from "../../../platform/vault.ts";
import type { Target } from "../../../scim/ports.ts";
import { Outbox, type OutboxChange, type StoredEntry } from "../../../scim/provisioning/outbox.ts";
import { tickingClock } from "../directory/world.ts";
import { ACTOR, group, openStage, user } from "./stage.ts";
import { settled } from "./trash_stage.ts";

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

// The trash when the process crashes, and with several nodes: a user is either in the directory or in the trash.

import { assert, assertEquals } from "@std/assert";
import { openScimNodes } from "../../fakes/scim_nodes.ts";
import { ACTOR, group, openStage, type Shape, user } from "./stage.ts";
import { deleteAnna, membersAt, OWNER, settled, SHAPE, trashOf } from "./trash_stage.ts";

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

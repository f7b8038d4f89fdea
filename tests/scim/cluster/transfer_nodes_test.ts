// Imports on several nodes at the same time.

import { assertEquals } from "@std/assert";
import { systemClock } from "../../../platform/runtime.ts";
import { createTransfer } from "../../../scim/transfer/import_export.ts";
import { openScimNodes } from "../../fakes/scim_nodes.ts";
import { numbered } from "../directory/world.ts";
import { ACTOR } from "../provisioning/stage.ts";

Deno.test("two nodes import users and their groups at the same time, and no row is lost", async () => {
  await using nodes = await openScimNodes();
  const both = [await nodes.start("a"), await nodes.start("b")];
  const bulk = createTransfer({ clock: systemClock, http: { publicUrl: "http://127.0.0.1:8080" } });
  const names = numbered("u", 240);
  const outcomes = await Promise.all(both.map(async ({ target }, at) => {
    const own = names.filter((_, row) => row % 2 === at);
    const rows = own.map((userName) => ({ kind: "user", body: { userName }, groups: ["staff"] }));
    const request = {
      rows: bulk.readRows(rows) ?? [],
      actor: ACTOR,
      mayUpdate: false,
      isDryRun: false,
      covers: null,
    };
    return await bulk.write(target, request);
  }));
  assertEquals(outcomes.flat().filter(({ did }) => did !== "created"), []);
  for (const { store, target: { directory } } of both) {
    await store.catchUp();
    const staff = await directory.read("group", "staff");
    assertEquals(staff?.content.kind === "group" ? staff.content.members : [], names);
    assertEquals(directory.count("user"), names.length);
    assertEquals((await directory.read("user", "u00239"))?.groups, ["staff"]);
  }
});

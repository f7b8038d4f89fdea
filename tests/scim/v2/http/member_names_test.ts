// The members that a body of `/scim/v2` names by their ids.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { createStore, type Store } from "../../../../platform/store.ts";
import { ScimRefusal } from "../../../../scim/http/refusals.ts";
import type { Stored } from "../../../../scim/schema/resource.ts";
import { memberNames } from "../../../../scim/v2/http/member_names.ts";
import fc from "../../../packages/fast_check.ts";
import { drop, numbered, openWorld, putGroup, putUser } from "../../directory/world.ts";

Deno.test("law: memberNames() finds the members of a group in any order, and reads each of the others once", async () => {
  const LETTERS = [..."abcdefgh"];
  await fc.assert(fc.asyncProperty(
    fc.array(fc.tuple(fc.constantFrom(...LETTERS), fc.boolean())),
    fc.shuffledSubarray(LETTERS),
    async (held, ids) => {
      const members = [...new Map(held)];
      const memberIds = members.map(([id, isUser]) => isUser ? id : null);
      const content = {
        kind: "group",
        name: "g",
        attributes: {},
        members: members.map(([id]) => `old ${id}`),
      };
      const read: string[] = [];
      const readHeadById = (_: string, id: string) => {
        read.push(id);
        return Promise.resolve({ id, content: { name: `new ${id}` } } as Stored);
      };
      const stored = { content, memberIds } as unknown as Stored;
      const isSettled = () => Promise.resolve(true);
      const { names } = await memberNames({ readHeadById, isSettled }, ids, { unknown: "refuse", stored });
      assertEquals(names, ids.map((id) => `${memberIds.includes(id) ? "old" : "new"} ${id}`));
      assertEquals(read, ids.filter((id) => !memberIds.includes(id)));
    },
  ));
});

Deno.test("memberNames() finds no user who is deleted, while the user still leaves many groups", async () => {
  const memory = createStore(await Deno.openKv(":memory:"));
  let beforeCommit = (): Promise<void> => Promise.resolve();
  const store: Store = {
    ...memory,
    async commit(transaction) {
      await beforeCommit();
      return await memory.commit(transaction);
    },
  };
  await using world = await openWorld({ store });
  const { directory } = world;
  await putUser(directory, "anna");
  const groups = numbered("g", 60);
  for (const name of groups) await putGroup(directory, name, ["anna"]);
  const id = (await directory.read("user", "anna"))?.id ?? "";
  const refused: string[] = [];
  let commits = 0;
  beforeCommit = async () => {
    if (++commits !== 2) return;
    for (const name of groups) {
      const stored = await directory.read("group", name);
      if (stored?.memberIds?.includes(id) !== true) continue;
      await assertRejects(() => memberNames(directory, [id], { unknown: "refuse", stored }), ScimRefusal);
      refused.push(name);
    }
  };
  await drop(directory, { kind: "user", name: "anna" });
  assert(refused.length > 0);
  await memory.close();
});

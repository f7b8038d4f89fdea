// Groups in groups: a login has the groups that contain the groups of its user, and follows each change.

import { assertEquals } from "@std/assert";
import type { TargetDirectory } from "../../../scim/ports.ts";
import { openScimNodes } from "../../fakes/scim_nodes.ts";
import { drop, loginOf, numbered, openWorld, putGroup, putUser } from "./world.ts";

async function groupsOf(directory: TargetDirectory): Promise<readonly string[]> {
  const { groups, allGroups = groups } = await loginOf(directory, "anna");
  return allGroups;
}

const member = (directory: TargetDirectory, group: string, change: "add" | "remove", name: string) =>
  directory.changeMembers({ group, add: [], remove: [], [change]: [name] });

/** A change, and the groups of anna, who is in Inner, after it. */
const STEPS: readonly (readonly [
  title: string,
  change: (directory: TargetDirectory) => Promise<unknown>,
  groups: readonly string[],
])[] = [
  ["only her own group", () => Promise.resolve(), ["Inner"]],
  ["a group that contains it", (at) => putGroup(at, "Outer", ["INNER", "bob"]), ["Inner", "Outer"]],
  ["and one that contains that", (at) => putGroup(at, "Top", ["outer"]), ["Inner", "Outer", "Top"]],
  ["a cycle ends", (at) => putGroup(at, "Inner", ["anna", "top"]), ["Inner", "Outer", "Top"]],
  ["the middle one leaves", (at) => member(at, "top", "remove", "outer"), ["Inner", "Outer"]],
  ["it joins again", (at) => member(at, "top", "add", "outer"), ["Inner", "Outer", "Top"]],
  ["a container is deleted", (at) => drop(at, { kind: "group", name: "Top" }), ["Inner", "Outer"]],
  ["it is created again", (at) => putGroup(at, "Top", ["outer"]), ["Inner", "Outer", "Top"]],
  [
    "a user has the name of the member: it is that user",
    (at) => putUser(at, "outer"),
    ["Inner", "Outer"],
  ],
  ["the user is gone", async (at) => {
    await drop(at, { kind: "user", name: "outer" });
    await member(at, "top", "add", "outer");
  }, ["Inner", "Outer", "Top"]],
  [
    "a group with very many members",
    (at) => putGroup(at, "Outer", ["inner", ...numbered("u", 1500)]),
    ["Inner", "Outer", "Top"],
  ],
  [
    "it loses the inner one",
    (at) => putGroup(at, "Outer", numbered("v", 1500)),
    ["Inner"],
  ],
  ["two paths count once", async (at) => {
    await putGroup(at, "Outer", ["inner"]);
    await putGroup(at, "Second", ["inner"]);
    await putGroup(at, "Top", ["outer", "second"]);
  }, ["Inner", "Outer", "Second", "Top"]],
  ["she leaves her group", (at) => member(at, "inner", "remove", "anna"), []],
];

Deno.test("login() has the groups that contain the user's groups, after each change", async () => {
  await using world = await openWorld();
  let { directory } = world;
  await putUser(directory, "anna");
  await putGroup(directory, "Inner", ["anna"]);
  for (const [title, change, groups] of STEPS) {
    await change(directory);
    assertEquals(await groupsOf(directory), groups, title);
    // The next change uses it: recovery of two directories at once would remove what the other one writes.
    directory = await world.reopen();
    assertEquals(await groupsOf(directory), groups, `${title}, after a restart`);
  }
});

Deno.test("login() on another node follows each change of groups in groups", async () => {
  await using nodes = await openScimNodes();
  const [a, b] = [await nodes.start("a"), await nodes.start("b")];
  await putUser(a.target.directory, "anna");
  await putGroup(a.target.directory, "Inner", ["anna"]);
  for (const [title, change, groups] of STEPS) {
    await change(a.target.directory);
    await b.store.catchUp();
    assertEquals(await groupsOf(b.target.directory), groups, title);
  }
});

Deno.test("prepareLogin() waits for nothing while no group in a group changes", async () => {
  await using world = await openWorld();
  await putUser(world.directory, "anna");
  await putGroup(world.directory, "Inner", ["anna"]);
  await putGroup(world.directory, "Outer", ["inner"]);
  await groupsOf(world.directory);
  await putUser(world.directory, "bob");
  await member(world.directory, "inner", "add", "bob");
  assertEquals(world.directory.prepareLogin("anna"), null);
});

// Groups in groups: a login has the groups that contain the groups of its user, and follows each change.

import { assertEquals } from "@std/assert";
import type { TargetDirectory } from "../../../scim/ports.ts";
import { openScimNodes } from "../../fakes/scim_nodes.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import { drop, links, loginOf, numbered, openWorld, putGroup, putUser, storedIn } from "./world.ts";

async function groupsOf(directory: TargetDirectory): Promise<readonly string[]> {
  const { groups, allGroups = groups } = await loginOf(directory, "anna");
  return allGroups;
}

const member = (directory: TargetDirectory, group: string, change: "add" | "remove", name: string) =>
  directory.changeMembers({ group, add: [], remove: [], [change]: [name] });

async function renameGroup(
  directory: TargetDirectory,
  from: string,
  to: string,
  members?: readonly string[],
) {
  const stored = await directory.read("group", canonicalName(from));
  if (stored?.content.kind !== "group") throw new Error(`Cannot rename ${from}: it is missing`);
  const content = { ...stored.content, name: to, ...members === undefined ? {} : { members } };
  const expected = stored.version;
  storedIn(await directory.rename({ kind: "group", from, expected, next: { content, backends: {} } }));
}

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
  ["the middle one is renamed", (at) => renameGroup(at, "Outer", "Middle"), [
    "Inner",
    "Middle",
    "Second",
    "Top",
  ]],
  ["another group gets its earlier name", (at) => putGroup(at, "Outer", ["inner"]), [
    "Inner",
    "Middle",
    "Second",
    "Outer",
    "Top",
  ]],
  ["and is no member of the group above", async (at) => {
    await drop(at, { kind: "group", name: "Second" });
    await member(at, "middle", "remove", "inner");
  }, ["Inner", "Outer"]],
  ["a renamed group joins and leaves by its new name", async (at) => {
    await member(at, "top", "remove", "Middle");
    await member(at, "top", "add", "outer");
  }, ["Inner", "Outer", "Top"]],
  ["a deleted group leaves the groups around it, so that a later one is no member", async (at) => {
    await drop(at, { kind: "group", name: "Outer" });
    await putGroup(at, "Outer", ["inner"]);
  }, ["Inner", "Outer"]],
  ["with very many members, too", async (at) => {
    await putGroup(at, "Outer", ["inner", ...numbered("w", 1500)]);
    await member(at, "top", "add", "outer");
    await drop(at, { kind: "group", name: "Outer" });
    await putGroup(at, "Outer", ["inner"]);
  }, ["Inner", "Outer"]],
  ["a rename together with very many members", async (at) => {
    await member(at, "top", "add", "outer");
    await renameGroup(at, "Outer", "Wide", ["inner", ...numbered("x", 1500)]);
    await putGroup(at, "Outer", ["inner"]);
    await member(at, "wide", "remove", "inner");
  }, ["Inner", "Outer"]],
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

Deno.test("rename() of a group in a hundred groups renames it in each, and leaves members that are users", async () => {
  await using world = await openWorld();
  const { directory } = world;
  await putGroup(directory, "Inner", []);
  const outer = numbered("outer", 100);
  for (const name of outer) await putGroup(directory, name, ["INNER", "bob"]);
  await renameGroup(directory, "Inner", "Core");
  for (const now of [directory, await world.reopen()]) {
    for (const name of outer) assertEquals(links(await now.read("group", name)), ["bob", "Core"]);
  }
  await putUser(directory, "inner");
  await putGroup(directory, "Inner", []);
  await putGroup(directory, "mixed", ["inner"]);
  await renameGroup(directory, "Inner", "Shell");
  assertEquals(links(await directory.read("group", "mixed")), ["inner"]);
});

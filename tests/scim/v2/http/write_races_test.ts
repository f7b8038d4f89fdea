// Parallel writes of one resource: no acknowledged change is lost, and of two writes with the same version one wins.

import { assertEquals, assertRejects } from "@std/assert";
import { ScimRefusal } from "../../../../scim/http/refusals.ts";
import { PATCH_SCHEMA, startV2World, USER_SCHEMA, type V2World } from "./v2_world.ts";

const user = (userName: string, more: object = {}) => ({ schemas: [USER_SCHEMA], userName, ...more });
const ROUNDS = 10;

/** A PATCH of one attribute, only if the resource has the version. */
function patchIf(world: V2World, path: string, etag: string | null, operation: object) {
  return world.call("PATCH", path, {
    headers: { "if-match": etag ?? "" },
    body: { schemas: [PATCH_SCHEMA], Operations: [operation] },
  });
}

Deno.test("a soft deletion keeps what other requests change at the same time", async () => {
  await using world = await startV2World({ softDelete: true, deletionPercent: 100 });
  for (let round = 0; round < ROUNDS; round++) {
    const path = `/Users/${await world.add("/Users", user(`u${round}`))}`;
    await Promise.all([
      world.patch(path, [{ op: "replace", path: "title", value: "a" }]),
      world.call("DELETE", path),
      world.patch(path, [{ op: "replace", path: "nickName", value: "b" }]),
    ]);
    const { json } = await world.call("GET", path);
    assertEquals([json.title, json.active, json.nickName], ["a", false, "b"]);
  }
});

for (
  const [path, name, other] of [["/Users", "userName", "title"], [
    "/Groups",
    "displayName",
    "externalId",
  ]] as const
) {
  Deno.test(`changes of ${path} that arrive during a rename are applied to the renamed resource`, async () => {
    await using world = await startV2World();
    const place = `${path}/${await world.add(path, { [name]: "first" })}`;
    for (let round = 0; round < ROUNDS; round++) {
      const answers = await Promise.all([
        world.patch(place, [{ op: "replace", path: other, value: `a${round}` }]),
        world.patch(place, [{ op: "replace", path: name, value: `name${round}` }]),
        world.patch(place, [{ op: "replace", path: other, value: `a${round}` }]),
      ]);
      assertEquals(answers.filter(({ status }) => status >= 300).map(({ json }) => json), []);
      const { json } = await world.call("GET", place);
      assertEquals([json[name], json[other]], [`name${round}`, `a${round}`]);
    }
  });
}

Deno.test("of a PATCH and a DELETE with the same If-Match, one wins", async () => {
  await using world = await startV2World({ deletionPercent: 100 });
  for (let round = 0; round < ROUNDS; round++) {
    const path = `/Users/${await world.add("/Users", user(`u${round}`))}`;
    const etag = (await world.call("GET", path)).headers.get("etag");
    const answers = await Promise.all([
      patchIf(world, path, etag, { op: "replace", path: "title", value: "a" }),
      world.call("DELETE", path, { headers: { "if-match": etag ?? "" } }),
    ]);
    const [won, ...lost] = answers.map(({ status }) => status).toSorted();
    assertEquals((won ?? 0) < 300 && lost.every((status) => status === 412 || status === 404), true);
  }
});

Deno.test("of two changes of members with the same If-Match, one wins", async () => {
  await using world = await startV2World();
  const users = [await world.add("/Users", user("a")), await world.add("/Users", user("b"))];
  for (let round = 0; round < ROUNDS; round++) {
    const path = `/Groups/${await world.add("/Groups", { displayName: `g${round}` })}`;
    const etag = (await world.call("GET", path)).headers.get("etag");
    const answers = await Promise.all(
      users.map((value) => patchIf(world, path, etag, { op: "add", path: "members", value: [{ value }] })),
    );
    assertEquals(answers.map(({ status }) => status).toSorted(), [204, 412]);
  }
});

/** PATCHes that leave `active` without a value. */
const WITHOUT_ACTIVE: readonly object[] = [
  { op: "remove", path: "active" },
  { op: "replace", path: "active", value: null },
  { op: "replace", value: { active: null } },
];
for (const operation of WITHOUT_ACTIVE) {
  Deno.test(`an inactive user stays inactive after ${JSON.stringify(operation)}`, async () => {
    await using world = await startV2World();
    const path = `/Users/${await world.add("/Users", user("anna", { active: false }))}`;
    const { status, json } = await world.patch(path, [operation]);
    assertEquals([status, json.active], [200, undefined]);
    const other = `/Users/${await world.add("/Users", user("ben"))}`;
    await world.patch(other, [operation]);
    const directory = world.gateway.identity.targets.get("default")?.directory;
    for (const [name, isActive] of [["anna", false], ["ben", true]] as const) {
      const stored = await directory?.read("user", name);
      assertEquals(stored?.content.kind === "user" && stored.content.active, isActive);
    }
    await world.patch(path, [{ op: "add", path: "title", value: "Dr" }]);
    const again = await directory?.read("user", "anna");
    assertEquals(again?.content.kind === "user" && again.content.active, false);
  });
}

Deno.test("an externalId over 1,024 characters is refused", async () => {
  await using world = await startV2World();
  for (const [length, status] of [[1024, 201], [1025, 400], [100_000, 400]] as const) {
    const body = user(`u${length}`, { externalId: "é".repeat(length) });
    assertEquals((await world.call("POST", "/Users", { body })).status, status);
  }
});

Deno.test("a change of members never reaches another group that has the name since", async () => {
  await using world = await startV2World();
  const former = await world.add("/Groups", { displayName: "team" });
  await world.patch(`/Groups/${former}`, [{ op: "replace", path: "displayName", value: "others" }]);
  const team = await world.add("/Groups", { displayName: "team" });
  await world.add("/Users", user("anna"));
  const target = world.gateway.identity.targets.get("default");
  const options = { actor: { name: "scim:provider", source: "" }, ifId: former };
  await assertRejects(
    async () => await target?.changeMembers("team", { add: ["anna"], remove: [] }, options),
    ScimRefusal,
    "at the same time",
  );
  assertEquals((await world.call("GET", `/Groups/${team}`)).json.members, undefined);
});

for (const isMember of [false, true]) {
  Deno.test(`a member that gets another name meanwhile is ${isMember ? "removed" : "added"} all the same`, async () => {
    await using world = await startV2World();
    const value = await world.add("/Users", user("anna"));
    const group = `/Groups/${await world.add("/Groups", {
      displayName: "team",
      members: isMember ? [{ value }] : [],
    })}`;
    const directory = world.gateway.identity.targets.get("default")?.directory;
    if (directory === undefined) throw new Error("no directory");
    // The rename is committed between the read of the name and the change of the members.
    const readHeadById = directory.readHeadById.bind(directory);
    let isFirst = true;
    Object.assign(directory, {
      async readHeadById(kind: "user" | "group", id: string) {
        const found = await readHeadById(kind, id);
        if (kind === "user" && isFirst) {
          isFirst = false;
          await world.patch(`/Users/${value}`, [{ op: "replace", path: "userName", value: "beth" }]);
        }
        return found;
      },
    });
    const operation = isMember
      ? { op: "remove", path: `members[value eq "${value}"]` }
      : { op: "add", path: "members", value: [{ value }] };
    assertEquals((await world.patch(group, [operation])).status, 204);
    const stored = await directory.read("group", "team");
    assertEquals(stored?.content.kind === "group" ? stored.content.members : null, isMember ? [] : ["beth"]);
  });
}

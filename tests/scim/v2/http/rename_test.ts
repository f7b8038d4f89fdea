// Renames through /scim/v2: the id stays, and everything follows the new name.

import { assertEquals } from "@std/assert";
import { startV2World, USER_SCHEMA } from "./v2_world.ts";

const user = (userName: string, more: object = {}) => ({ schemas: [USER_SCHEMA], userName, ...more });

/** The ways to send a new name. */
const WAYS = {
  "PATCH with a path": {
    method: "PATCH",
    of: (value: string) => patch({ op: "replace", path: "userName", value }),
  },
  "PATCH without a path": {
    method: "PATCH",
    of: (userName: string) => patch({ op: "Replace", value: { userName } }),
  },
  "PUT": { method: "PUT", of: (userName: string) => user(userName, { title: "Dr" }) },
} as const;

function patch(operation: object) {
  return { schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], Operations: [operation] };
}

for (const [way, { method, of }] of Object.entries(WAYS)) {
  Deno.test(`a user gets another name by ${way}, and keeps id, groups and password`, async () => {
    await using world = await startV2World();
    const id = await world.add("/Users", user("anna", { title: "Dr", password: "correct horse" }));
    const team = await world.add("/Groups", { displayName: "team", members: [{ value: id }] });
    const renamed = await world.call(method, `/Users/${id}`, { body: of("anne") });
    assertEquals([renamed.status, renamed.json.id, renamed.json.userName, renamed.json.title], [
      ...[200, id, "anne", "Dr"],
    ]);
    const { json } = await world.call("GET", `/Groups/${team}`);
    const members = json.members as { value: string }[];
    assertEquals(members.map(({ value }) => value), [id]);
    const { identity } = world.gateway;
    assertEquals([await identity.hasPassword("anne"), await identity.hasPassword("anna")], [true, false]);
    const old = await world.call("GET", "/Users?filter=userName%20eq%20%22anna%22");
    assertEquals([old.status, old.json.totalResults], [200, 0]);
    // The earlier name is free, and its user is another one.
    const other = await world.add("/Users", user("anna"));
    assertEquals(other === id, false);
    assertEquals((await world.call("GET", `/Users/${id}`)).json.userName, "anne");
  });
}

Deno.test("a new name that exists is 409 uniqueness, and nothing changes", async () => {
  await using world = await startV2World();
  const anna = await world.add("/Users", user("anna"));
  await world.add("/Users", user("ben"));
  const { json } = await world.call("PUT", `/Users/${anna}`, { body: user("BEN", { title: "x" }) });
  assertEquals([json.status, json.scimType], ["409", "uniqueness"]);
  const read = await world.call("GET", `/Users/${anna}`);
  assertEquals([read.json.userName, read.json.title], ["anna", undefined]);
});

Deno.test("another spelling of the name is stored, and another group name keeps the members", async () => {
  await using world = await startV2World();
  const anna = await world.add("/Users", user("anna"));
  const spelled = await world.call("PUT", `/Users/${anna}`, { body: user("Anna") });
  assertEquals([spelled.status, spelled.json.userName, spelled.json.id], [200, "Anna", anna]);
  const team = await world.add("/Groups", { displayName: "team", members: [{ value: anna }] });
  const renamed = await world.patch(`/Groups/${team}`, [{
    op: "replace",
    path: "displayName",
    value: "crew",
  }]);
  const members = renamed.json.members as { value: string }[];
  assertEquals([renamed.status, renamed.json.displayName, members[0]?.value], [200, "crew", anna]);
  const { json } = await world.call("GET", `/Users/${anna}?attributes=groups`);
  assertEquals(
    (json.groups as { display: string; value: string }[]).map(({ display, value }) => [display, value]),
    [
      ["crew", team],
    ],
  );
});

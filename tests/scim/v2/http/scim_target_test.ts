// What a SCIM server gets from a write: what changed, and nothing else. Over /scim/v2 and /idm/scim, for synchronous and asynchronous connectors.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type FakeScimServer, type ScimServerHabits, startScimServer } from "../../../fakes/scim_server.ts";
import { eventually } from "../../../upstream/manual_clock.ts";
import { credentialsToml } from "../../rows/rows_world.ts";
import { type SpecifiedCall, specifiedCalls } from "./ldap_world.ts";
import { scimTarget, startV2World, USER_SCHEMA, type V2World } from "./v2_world.ts";

const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const ADMIN = { name: "console:ada", source: "" };
type Mode = "sync" | "async";

interface World extends AsyncDisposable {
  readonly v2: V2World;
  readonly saas: FakeScimServer;
  /** Waits until all writes are delivered. */
  delivered(): Promise<void>;
  refresh(): Promise<void>;
  readonly specified: SpecifiedCall;
  /** The names of a group's members here. */
  members(name: string): Promise<string[]>;
}

/** @param shape the connectors in order: `saas`, `local`. */
async function open(
  habits: ScimServerHabits,
  { mode = "sync", shape = ["saas", "local"] }: { mode?: Mode; shape?: readonly string[] } = {},
): Promise<World> {
  const saas = startScimServer(habits);
  const v2 = await startV2World({}, credentialsToml(["default"]) + scimTarget(saas.url, { mode, shape }));
  const target = v2.gateway.identity.targets.get("default");
  if (target === null) throw new Error("no target");
  return {
    v2,
    saas,
    delivered: () => eventually("everything is delivered", () => target.pendingWrites(1).length === 0),
    async refresh() {
      const { faults } = await target.refreshAll(ADMIN);
      assertEquals(faults, []);
    },
    specified: specifiedCalls(v2),
    async members(name) {
      const stored = await target.directory.read("group", name);
      return stored?.content.kind === "group" ? [...stored.content.members].sort() : [];
    },
    async [Symbol.asyncDispose]() {
      await v2[Symbol.asyncDispose]();
      await saas[Symbol.asyncDispose]();
    },
  };
}

async function addUsers({ v2, delivered }: World, names: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const userName of names) ids.push(await v2.add("/Users", { userName, title: "T" }));
  await delivered();
  return ids;
}

const value = (id: string | undefined) => ({ value: id });

/** How a client removes ann from the group of ann, ben and cleo. The last way changes ann. */
const REMOVALS: Readonly<
  Record<string, (world: World, group: string, ids: readonly string[]) => Promise<{ status: number }>>
> = {
  "a PATCH that removes one": ({ v2 }, group, [ann]) =>
    v2.patch(`/Groups/${group}`, [{ op: "remove", path: `members[value eq "${ann}"]` }]),
  "a PATCH that removes a list": ({ v2 }, group, [ann]) =>
    v2.patch(`/Groups/${group}`, [{ op: "remove", path: "members", value: [value(ann)] }]),
  "a PATCH that replaces the members": ({ v2 }, group, [, ben, cleo]) =>
    v2.patch(`/Groups/${group}`, [{ op: "replace", path: "members", value: [value(ben), value(cleo)] }]),
  "a PUT": ({ v2 }, group, [, ben, cleo]) =>
    v2.call("PUT", `/Groups/${group}`, { body: { displayName: "team", members: [value(ben), value(cleo)] } }),
  "a PUT of the specified interface": ({ specified }) =>
    specified("PUT", "/Groups/team", { displayName: "team", members: [{ value: "ben" }, { value: "cleo" }] }),
  "a deactivation": ({ v2 }, _group, [ann]) =>
    v2.patch(`/Users/${ann}`, [{ op: "replace", path: "active", value: false }]),
};

const HABITS: Readonly<Record<string, ScimServerHabits>> = {
  "that shows members": {},
  "that leaves members out": { members: "absent" },
  "that shows no members": { members: "empty", strictRemoval: true },
  "that leaves members out of lists": { members: "absent in lists" },
  "that hides members and lacks PUT": { members: "absent", methods: ["PATCH"], maxMembers: 100 },
  "that hides members and lacks PATCH": { members: "absent", methods: ["PUT"] },
  "that lacks PATCH, contrary to its config": { methods: ["PUT"], saysPatch: true, lacks: 405 },
  "without ServiceProviderConfig that lacks PUT": { methods: ["PATCH"], saysPatch: null, lacks: 404 },
};

for (const mode of ["sync", "async"] as const) {
  for (const [habit, habits] of Object.entries(HABITS)) {
    Deno.test(`a member that is removed here leaves the group at a server ${habit} (${mode})`, async () => {
      await using world = await open(habits, { mode });
      const { v2, saas } = world;
      const names = ["ann", "ben", "cleo"];
      const ids = await addUsers(world, names);
      for (const [how, remove] of Object.entries(REMOVALS)) {
        const group = await v2.add("/Groups", { displayName: "team", members: ids.map(value) });
        await world.delivered();
        assertEquals(saas.members("team"), names, how);
        const { status } = await remove(world, group, ids);
        assert(status < 300, `${how}: ${status}`);
        await world.delivered();
        assertEquals(saas.members("team"), ["ben", "cleo"], how);
        assertEquals(await world.members("team"), ["ben", "cleo"], how);
        await v2.call("DELETE", `/Groups/${group}`);
        await world.delivered();
      }
    });
  }

  Deno.test(`all members that leave at once are removed in requests of at most 100 (${mode})`, async () => {
    await using world = await open({ members: "empty", maxMembers: 100, methods: ["PATCH"] }, { mode });
    const names = Array.from({ length: 230 }, (_, n) => `user${n}`);
    const ids = await addUsers(world, names);
    const group = await world.v2.add("/Groups", { displayName: "team" });
    const put = (members: readonly string[]) =>
      world.v2.call("PUT", `/Groups/${group}`, {
        body: { displayName: "team", members: members.map(value) },
      });
    assertEquals((await put(ids)).status, 200);
    await world.delivered();
    assertEquals(world.saas.members("team").length, 230);
    assertEquals((await put(ids.slice(0, 3))).status, 200);
    await world.delivered();
    assertEquals(world.saas.members("team"), ["user0", "user1", "user2"]);
    assertEquals((await put([])).status, 200);
    await world.delivered();
    assertEquals(world.saas.members("team"), []);
  });
}

Deno.test("members that left while the server could not be reached are removed, and those who came back are not", async () => {
  await using world = await open({ members: "absent" }, { mode: "async" });
  const ids = await addUsers(world, ["ann", "ben", "cleo"]);
  const group = await world.v2.add("/Groups", { displayName: "team", members: ids.map(value) });
  await world.delivered();
  world.saas.habits = { members: "absent", methods: [], lacks: 503 };
  const remove = (id: string | undefined) =>
    world.v2.patch(`/Groups/${group}`, [{ op: "remove", path: `members[value eq "${id}"]` }]);
  await remove(ids[0]);
  // From then on the connector pauses, and nothing is sent until the time passes.
  await eventually("the delivery failed", () => {
    const [write] = world.v2.gateway.identity.targets.get("default")?.pendingWrites(1) ?? [];
    return typeof write?.why === "string";
  });
  await remove(ids[1]);
  await world.v2.patch(`/Groups/${group}`, [{ op: "add", path: "members", value: [value(ids[1])] }]);
  world.saas.habits = { members: "absent" };
  world.v2.gateway.clock.advance(75_000);
  await world.delivered();
  assertEquals(world.saas.members("team"), ["ben", "cleo"]);
});

Deno.test("a client gets an error, and no change here, when the server cannot be told who leaves", async () => {
  await using world = await open({ members: "absent" });
  const ids = await addUsers(world, ["ann", "ben"]);
  const group = await world.v2.add("/Groups", { displayName: "team", members: ids.map(value) });
  world.saas.habits = { members: "absent", methods: [], lacks: 405 };
  const { status } = await world.v2.patch(`/Groups/${group}`, [{ op: "remove", path: "members" }]);
  assertEquals(status, 502);
  assertEquals(await world.members("team"), ["ann", "ben"]);
});

for (const shape of [["saas"], ["saas", "local"], ["local", "saas"]]) {
  Deno.test(`a refresh of ${shape.join(", ")} takes hidden members for no statement, and shown ones for one`, async () => {
    await using world = await open({}, { shape });
    const ids = await addUsers(world, ["ann", "ben"]);
    for (const displayName of ["team", "other"]) {
      await world.v2.add("/Groups", { displayName, members: ids.map(value) });
    }
    const target = world.v2.gateway.identity.targets.get("default");
    for (const members of ["absent", "empty", "absent in lists"] as const) {
      world.saas.habits = { members };
      world.v2.gateway.clock.advance(120_000);
      await world.refresh();
      assertEquals(await world.members("team"), ["ann", "ben"], members);
      await target?.refreshOne("group", "team", ADMIN);
      assertEquals(await world.members("team"), ["ann", "ben"], members);
    }
    if (shape[0] !== "saas") return;
    world.saas.habits = {};
    world.v2.gateway.clock.advance(120_000);
    world.saas.group("team").members = [];
    await world.refresh();
    assertEquals(await world.members("team"), [], "the server shows the members of the other group");
    assertEquals(await world.members("other"), ["ann", "ben"]);
  });
}

/** What only the server's administrator set. */
const OWN = {
  nickName: "Annie",
  locale: "de-AT",
  roles: [{ value: "admin" }],
  entitlements: [{ value: "seat" }],
  [ENTERPRISE]: { costCenter: "7" },
  "urn:custom:1": { badge: 4 },
};
const CHANGES: Readonly<Record<string, readonly object[]>> = {
  title: [{ op: "replace", path: "title", value: "Boss" }],
  active: [{ op: "replace", path: "active", value: false }],
  userName: [{ op: "replace", path: "userName", value: "anna" }],
  "name.givenName": [{ op: "replace", path: "name.givenName", value: "Ann" }],
  department: [{ op: "add", path: `${ENTERPRISE}:department`, value: "IT" }],
  "no title": [{ op: "remove", path: "title" }],
};

for (const mode of ["sync", "async"] as const) {
  for (const methods of [["PATCH"], ["PUT"], ["PUT", "PATCH"]] as const) {
    Deno.test(`a change keeps what the server has besides (${mode}, ${methods.join(" and ")})`, async () => {
      for (const [what, operations] of Object.entries(CHANGES)) {
        for (const shape of [["saas", "local"], ["local", "saas"]]) {
          await using world = await open({ methods }, { mode, shape });
          const [id] = await addUsers(world, ["ann"]);
          await world.delivered();
          Object.assign(world.saas.user("ann"), structuredClone(OWN));
          if (shape[0] === "local") await world.refresh();
          assertEquals((await world.v2.patch(`/Users/${id}`, operations)).status, 200, what);
          await world.delivered();
          const [held] = world.saas.users.values();
          for (const [name, own] of Object.entries(OWN)) {
            const kept = name === ENTERPRISE
              ? { ...(held?.[name] as object), department: undefined }
              : held?.[name];
            assertEquals(JSON.stringify(kept), JSON.stringify(own), `${what}: ${name}`);
          }
          const expected: Record<string, unknown> = {
            title: "Boss",
            active: false,
            userName: "anna",
            "no title": undefined,
          };
          if (what in expected) assertEquals(held?.[what.replace("no ", "")], expected[what], what);
          if (what === "department") {
            assertEquals((held?.[ENTERPRISE] as { department?: string }).department, "IT");
          }
          if (what === "name.givenName") {
            assertEquals((held?.name as { givenName?: string }).givenName, "Ann");
          }
        }
      }
    });
  }

  Deno.test(`a rename of a group keeps the members and the attributes that only the server has (${mode})`, async () => {
    for (const methods of [["PATCH"], ["PUT"]] as const) {
      await using world = await open({ methods }, { mode });
      const [ann] = await addUsers(world, ["ann", "eve"]);
      const group = await world.v2.add("/Groups", { displayName: "team", members: [value(ann)] });
      await world.delivered();
      const held = world.saas.group("team");
      held.members = [...held.members as object[], { value: world.saas.user("eve").id }];
      held["urn:custom:1"] = { colour: "red" };
      const { status } = await world.v2.patch(`/Groups/${group}`, [
        { op: "replace", path: "displayName", value: "crew" },
      ]);
      assert(status < 300, String(status));
      await world.delivered();
      assertEquals(world.saas.members("crew"), ["ann", "eve"]);
      assertEquals(world.saas.group("crew")["urn:custom:1"], { colour: "red" });
    }
  });
}

Deno.test("a PATCH has only what changed", async () => {
  await using world = await open({});
  const [id] = await addUsers(world, ["ann"]);
  const before = world.saas.writes.length;
  await world.v2.patch(`/Users/${id}`, [{ op: "replace", path: "title", value: "Boss" }]);
  assertEquals(world.saas.writes.slice(before).map(({ line, body }) => [line, body.Operations]), [
    ["PATCH /Users/U1", [{ op: "replace", path: "title", value: "Boss" }]],
  ]);
  assertEquals(world.saas.user("ann").schemas, [USER_SCHEMA]);
});

for (const uniqueEmails of [[409, "uniqueness"], [400, "uniqueness"], [409, ""]] as const) {
  for (const methods of [["PATCH"], ["PUT"]] as const) {
    for (const shape of [["saas"], ["local", "saas"]] as const) {
      const title = `${uniqueEmails.join(" ")} ${methods.join()}, ${shape.join(", ")}`;
      Deno.test(`an e-mail address that another resource of the server has is 409, and makes nothing (${title})`, async () => {
        await using world = await open({ uniqueEmails, methods }, { shape });
        world.saas.users.set("x", { id: "x", userName: "owner", emails: [{ value: "a@x.test" }] });
        const [ann] = await addUsers(world, ["ann"]);
        const emails = [{ value: "a@x.test" }];
        const answers = [
          await world.v2.call("POST", "/Users", { body: { userName: "bob", emails } }),
          await world.v2.call("PUT", `/Users/${ann}`, { body: { userName: "ann", emails } }),
          await world.v2.patch(`/Users/${ann}`, [{ op: "add", path: "emails", value: emails }]),
          await world.v2.patch(`/Users/${ann}`, [{ op: "replace", value: { userName: "anna", emails } }]),
        ];
        for (const { status, json } of answers) {
          assertEquals([status, json.scimType], [409, "uniqueness"], JSON.stringify(json));
          assertStringIncludes(String(json.detail), 'The connector "saas" has another resource');
        }
        assertEquals((await world.specified("POST", "/Users", { userName: "bob", emails })).status, 409);
        assertEquals((await world.specified("PUT", "/Users/ann", { emails })).status, 409);
        const names = ((await world.v2.call("GET", "/Users")).json.Resources as { userName: string }[])
          .map(({ userName }) => userName);
        assertEquals(names, ["ann"]);
        assertEquals([...world.saas.users.values()].map(({ userName }) => userName), ["owner", "ann"]);
        assertEquals((await world.v2.call("GET", `/Users/${ann}`)).json.emails, undefined);
      });
    }
  }
}

/** How servers refuse a value, and the answer to the client. A refusal of the form of our request is not the client's error. */
const REFUSALS = [
  ...[[400, "invalidValue", 400], [400, "", 400], [400, "mutability", 400], [422, "", 400], [413, "", 400]],
  [400, "invalidSyntax", 502],
] as [number, string, number][];
for (const [status, scimType, expected] of REFUSALS) {
  Deno.test(`a value that the server refuses with ${status} ${scimType} is ${expected}`, async () => {
    await using world = await open({ refusesValue: "bad@", refusal: [status, scimType] });
    const [ann] = await addUsers(world, ["ann"]);
    const emails = [{ value: "bad@x.test" }];
    for (
      const answer of [
        await world.v2.call("POST", "/Users", { body: { userName: "bob", emails } }),
        await world.v2.call("PUT", `/Users/${ann}`, { body: { userName: "ann", emails } }),
        await world.v2.patch(`/Users/${ann}`, [{ op: "add", path: "emails", value: emails }]),
        await world.specified("PUT", "/Users/ann", { emails }),
      ]
    ) {
      assertEquals(answer.status, expected);
      if ("json" in answer && expected === 400) assertEquals(answer.json.scimType, "invalidValue");
    }
    assertEquals((await world.v2.call("GET", "/Users")).json.totalResults, 1);
  });
}

// Members and references, their races, and renames.

import { assert, assertEquals } from "@std/assert";
import { type FakeScimServer, startScimServer } from "../../../fakes/scim_server.ts";
import { eventually } from "../../../upstream/manual_clock.ts";
import { credentialsToml, WRITER } from "../../rows/rows_world.ts";
import { specifiedCalls } from "./ldap_world.ts";
import { PATCH_SCHEMA, scimTarget, startV2World, USER_SCHEMA, type V2World } from "./v2_world.ts";
import { basic } from "../../rows/caller.ts";
import { type RunningProgram, startProgram } from "../../../support/program.ts";
import { startIdentityWorld } from "../../../fault_injection/identity_world.ts";
import { testNeeding } from "../../../support/skip_unless.ts";

// References to other resources at a SCIM server: the manager, and the ids in extensions.

const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const DESK = "urn:example:desk:1.0:User";
const ADMIN = { name: "console:ada", source: "" };
const EXTENSION = {
  id: DESK,
  name: "Desk",
  attributes: [
    { name: "mentor", type: "complex", subAttributes: [{ name: "value" }, { name: "note" }] },
    { name: "deputyId" },
    { name: "page", type: "reference", referenceTypes: ["User"] },
    { name: "number" },
  ],
};

interface Options {
  readonly mode?: "sync" | "async";
  readonly shape?: readonly string[];
  readonly methods?: readonly ("PUT" | "PATCH")[];
}

async function open(
  url: string,
  token: string,
  { mode = "sync", shape = ["saas", "local"] }: Options,
): Promise<V2World> {
  const target = `[targets.default]\nextensions = '${JSON.stringify([EXTENSION])}'\n`;
  return await startV2World(
    {},
    credentialsToml(["default"]) + target + scimTarget(url, { token, mode, shape }),
  );
}

const targetOf = (v2: V2World) => {
  const target = v2.gateway.identity.targets.get("default");
  if (target === null) throw new Error("no target");
  return target;
};

async function delivered(v2: V2World): Promise<void> {
  const target = targetOf(v2);
  await eventually("everything is delivered", () => target.pendingWrites(1).length === 0);
}

function idAt({ users }: FakeScimServer, name: string): string | undefined {
  return [...users.values()].find(({ userName }) => userName === name)?.id;
}

/** The manager of a user at the server. */
function managerAt(saas: FakeScimServer, name: string): unknown {
  const extension = saas.user(name)[ENTERPRISE] as { manager?: { value?: string } } | undefined;
  return extension?.manager?.value;
}

const ROWS: readonly Options[] = [
  {},
  { mode: "async" },
  { methods: ["PUT"] },
  { mode: "async", methods: ["PUT"] },
  { shape: ["local", "saas"] },
  { shape: ["saas"] },
];

for (const row of ROWS) {
  const { methods } = row;
  const title = JSON.stringify(row);
  Deno.test(`the manager of a user is the server's resource (${title})`, async () => {
    await using saas = startScimServer(methods === undefined ? {} : { methods });
    await using v2 = await open(saas.url, "t", row);
    const boss = await v2.add("/Users", { userName: "boss" });
    const chief = await v2.add("/Users", { userName: "chief" });
    await delivered(v2);
    const ann = await v2.add("/Users", {
      userName: "ann",
      [ENTERPRISE]: { department: "IT", manager: { value: boss, $ref: `../Users/${boss}` } },
    });
    await delivered(v2);
    assertEquals(managerAt(saas, "ann"), saas.user("boss").id);
    const change = async (value: object) => {
      const path = `${ENTERPRISE}:manager`;
      assertEquals((await v2.patch(`/Users/${ann}`, [{ op: "replace", path, value }])).status, 200);
      await delivered(v2);
    };
    await change({ value: chief });
    assertEquals(managerAt(saas, "ann"), saas.user("chief").id);
    const shown = saas.user("ann")[ENTERPRISE] as { manager: { value: string } };
    shown.manager.value = saas.user("boss").id;
    await targetOf(v2).refreshAll(ADMIN);
    const { json } = await v2.call("GET", `/Users/${ann}`);
    const here = (json[ENTERPRISE] as { manager: { value: string } }).manager.value;
    if (row.shape?.[0] !== "local") assertEquals(here, boss, "a refresh brings back the id here");
    await v2.patch(`/Users/${ann}`, [{ op: "remove", path: `${ENTERPRISE}:manager` }]);
    await delivered(v2);
    assertEquals(managerAt(saas, "ann"), undefined);
  });

  Deno.test(`a manager that the server lacks is left out, and follows (${title})`, async () => {
    if (row.shape?.length === 1) return;
    await using saas = startScimServer(methods === undefined ? {} : { methods });
    await using v2 = await open(saas.url, "t", row);
    const boss = await targetOf(v2).create(
      { kind: "user", name: "boss", active: true, attributes: { name: { familyName: "B", givenName: "" } } },
      { actor: ADMIN, backends: ["local"] },
    );
    const ann = await v2.add("/Users", {
      userName: "ann",
      [ENTERPRISE]: { manager: { value: boss.stored?.id ?? "" } },
    });
    await delivered(v2);
    assertEquals(managerAt(saas, "ann"), undefined);
    const here = async () => {
      const { json } = await v2.call("GET", `/Users/${ann}`);
      return (json[ENTERPRISE] as { manager?: { value: string } } | undefined)?.manager?.value;
    };
    await targetOf(v2).refreshAll(ADMIN);
    assertEquals(await here(), boss.stored?.id, "its absence there is no statement");
    await targetOf(v2).replace(
      { kind: "user", name: "boss", active: true, attributes: { name: { familyName: "B", givenName: "" } } },
      { actor: ADMIN },
    );
    await eventually("the manager follows", () => managerAt(saas, "ann") === (idAt(saas, "boss") ?? "none"));
    await delivered(v2);
    assertEquals(await here(), boss.stored?.id);
  });
}

Deno.test("a manager whom the server's administrator creates follows with the next refresh", async () => {
  await using saas = startScimServer();
  await using v2 = await open(saas.url, "t", {});
  const boss = await targetOf(v2).create(
    { kind: "user", name: "boss", active: true, attributes: { name: { familyName: "", givenName: "" } } },
    { actor: ADMIN, backends: ["local"] },
  );
  await v2.add("/Users", { userName: "ann", [ENTERPRISE]: { manager: { value: boss.stored?.id ?? "" } } });
  saas.users.set("x", { id: "x", userName: "boss" });
  await targetOf(v2).refreshAll(ADMIN);
  await eventually("the manager follows", () => managerAt(saas, "ann") === "x");
  await delivered(v2);
});

Deno.test("a user can be its own manager, and two users each other's", async () => {
  await using saas = startScimServer();
  await using v2 = await open(saas.url, "t", {});
  const specified = specifiedCalls(v2);
  assertEquals(
    (await specified("POST", "/Users", { userName: "ann", manager: { value: "ann" } })).status,
    201,
  );
  await eventually("ann manages ann", () => managerAt(saas, "ann") === saas.user("ann").id);
  assertEquals(
    (await specified("POST", "/Users", { userName: "ben", manager: { value: "ann" } })).status,
    201,
  );
  assertEquals(managerAt(saas, "ben"), saas.user("ann").id);
  await delivered(v2);
});

Deno.test("ids in extensions are those of the server", async () => {
  await using saas = startScimServer();
  await using v2 = await open(saas.url, "t", {});
  const boss = await v2.add("/Users", { userName: "boss" });
  const other = crypto.randomUUID();
  const ann = await v2.add("/Users", {
    userName: "ann",
    [DESK]: {
      mentor: { value: boss, note: "n" },
      deputyId: boss,
      page: `https://here.test/Users/${boss}`,
      number: other,
    },
  });
  const { id } = saas.user("boss");
  assertEquals(saas.user("ann")[DESK], {
    ...{ mentor: { value: id, note: "n" }, deputyId: id, page: `${saas.url}/Users/${id}`, number: other },
  });
  const { json } = await v2.call("GET", `/Users/${ann}`);
  assertEquals((json[DESK] as { deputyId: string }).deputyId, boss);
});

Deno.test("a member whom the server lacks follows", async () => {
  await using saas = startScimServer();
  await using v2 = await open(saas.url, "t", {});
  const content = {
    kind: "user",
    name: "late",
    active: true,
    attributes: { name: { familyName: "", givenName: "" } },
  } as const;
  const late = await targetOf(v2).create(content, { actor: ADMIN, backends: ["local"] });
  await v2.add("/Groups", { displayName: "team", members: [{ value: late.stored?.id ?? "" }] });
  assertEquals(saas.members("team"), []);
  await targetOf(v2).replace(content, { actor: ADMIN });
  await eventually("the member follows", () => saas.members("team").length === 1);
  await delivered(v2);
});

// Two writers change the members of one group at the same time, with the real program, also when it is killed meanwhile.

const CHANGES = 150;
const USERS = 10;
/** A writer continues after a lost connection; this ends a test whose program does not come back. */
const MAX_TRIES = 300;

async function send(gateway: RunningProgram, method: string, path: string, body?: object): Promise<Response> {
  return await fetch(`${gateway.httpUrl}/scim/v2/default${path}`, {
    method,
    headers: { authorization: basic(WRITER), "content-type": "application/scim+json" },
    ...body === undefined ? {} : { body: JSON.stringify(body) },
    signal: AbortSignal.timeout(30_000),
  });
}

async function add(gateway: RunningProgram, path: string, body: object): Promise<string> {
  const response = await send(gateway, "POST", path, body);
  assertEquals(response.status, 201);
  return String((await response.json()).id);
}

/** Sends one change until it is acknowledged: adding and removing can be repeated. */
async function change(
  gateway: RunningProgram,
  { group, user, isMember }: { group: string; user: string; isMember: boolean },
): Promise<void> {
  const operation = isMember
    ? { op: "add", path: "members", value: [{ value: user }] }
    : { op: "remove", path: `members[value eq "${user}"]` };
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const answer = await send(gateway, "PATCH", `/Groups/${group}`, {
      ...{ schemas: [PATCH_SCHEMA], Operations: [operation] },
    }).catch((_lost: unknown) => null);
    await answer?.body?.cancel();
    if (answer?.status === 204) return;
    assert(answer === null || answer.status === 503, `status ${answer?.status}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("The change was never acknowledged");
}

for (const crash of [false, true]) {
  Deno.test(`two writers change one group 300 times: no membership is lost or left over${crash ? ", after kill -9" : ""}`, async () => {
    await using gateway = await startProgram({ toml: credentialsToml(["default"]) });
    const schemas = ["urn:ietf:params:scim:schemas:core:2.0:User"];
    const users: string[] = [];
    for (let n = 0; n < 2 * USERS; n++) {
      users.push(await add(gateway, "/Users", { schemas, userName: `u${n}` }));
    }
    const group = await add(gateway, "/Groups", { displayName: "team" });
    const expected = new Set<string>();
    let done = 0;
    const write = async (own: readonly string[]): Promise<void> => {
      for (let n = 0; n < CHANGES; n++) {
        // Each round changes every user; the pattern differs from round to round.
        const user = own[n % own.length] ?? "";
        const isMember = (Math.floor(n / own.length) + n) % 3 !== 0;
        await change(gateway, { group, user, isMember });
        if (isMember) expected.add(user);
        else expected.delete(user);
        done++;
      }
    };
    const writing = Promise.all([write(users.slice(0, USERS)), write(users.slice(USERS))]);
    if (crash) {
      while (done < CHANGES) await new Promise((resolve) => setTimeout(resolve, 5));
      await gateway.kill9();
      await gateway.restart();
    }
    await writing;
    const response = await send(gateway, "GET", `/Groups/${group}`);
    const { members = [] }: { members?: { value: string }[] } = await response.json();
    assertEquals(members.map(({ value }) => value).toSorted(), [...expected].toSorted());
    for (const user of users) {
      const { groups = [] } = await (await send(gateway, "GET", `/Users/${user}`)).json();
      assertEquals(groups.length, expected.has(user) ? 1 : 0);
    }
  });
}

// A PATCH of one member changes one member in an LDAP directory: members that another client added there stay.

testNeeding({ peers: ["slapd"] }, "PATCH of one member of a group sends slapd this member only", async () => {
  await using world = await startIdentityWorld("sync");
  const { gateway, ldap, wire } = world;
  const send = async (method: string, path: string, body: object) => {
    const response = await fetch(`${gateway.httpUrl}/scim/v2/default${path}`, {
      method,
      headers: { authorization: basic(WRITER), "content-type": "application/scim+json" },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, id: text === "" ? "" : String(JSON.parse(text).id) };
  };
  const schemas = ["urn:ietf:params:scim:schemas:core:2.0:User"];
  const ids: Record<string, string> = {};
  for (const userName of ["anna", "ben", "cleo"]) {
    ids[userName] = (await send("POST", "/Users", { schemas, userName, name: { familyName: "x" } })).id;
  }
  const group = await send("POST", "/Groups", { displayName: "team", members: [{ value: ids.anna }] });
  const dn = world.groupDn("team");
  const foreign = world.userDn("stranger");
  await ldap.replace(dn, "member", [world.userDn("anna"), foreign]);
  const before = wire.writes.length;
  const patch = (operation: object) =>
    send("PATCH", `/Groups/${group.id}`, { schemas: [PATCH_SCHEMA], Operations: [operation] });
  assertEquals((await patch({ op: "add", path: "members", value: [{ value: ids.ben }] })).status, 204);
  assertEquals((await patch({ op: "remove", path: `members[value eq "${ids.anna}"]` })).status, 204);
  assertEquals((await ldap.entry(dn))?.member?.toSorted(), [world.userDn("ben"), foreign].toSorted());
  assertEquals(wire.writes.slice(before).map(({ operation, dn: of }) => `${operation} ${of}`), [
    `modify ${dn}`,
    `modify ${dn}`,
  ]);
});

// Renames through /scim/v2: the id stays, and everything follows the new name.

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

// Members of a PUT.

Deno.test("a PUT of a group reads only the members that join, and keeps those that are no users", async () => {
  await using world = await startV2World();
  const ids: string[] = [];
  for (const userName of ["anna", "beth", "carl"]) ids.push(await world.add("/Users", { userName }));
  const [anna, beth, carl] = ids.map((value) => ({ value }));
  const group = `/Groups/${await world.add("/Groups", { displayName: "team", members: [anna, beth] })}`;
  const target = world.gateway.identity.targets.get("default");
  const options = { actor: { name: "scim:provider", source: "" } };
  await target?.changeMembers("team", { add: ["eve"], remove: [] }, options);
  const directory = target?.directory;
  if (directory === undefined) throw new Error("no directory");
  const read: string[] = [];
  const readHeadById = directory.readHeadById.bind(directory);
  Object.assign(directory, {
    readHeadById(kind: "user" | "group", id: string) {
      if (kind === "user") read.push(id);
      return readHeadById(kind, id);
    },
  });
  const { status, json } = await world.call("PUT", group, {
    body: { displayName: "team", members: [beth, carl, beth] },
  });
  assertEquals([status, read], [200, [carl?.value]]);
  assertEquals((json.members as { value: string }[]).map(({ value }) => value), [beth?.value, carl?.value]);
  const stored = await directory.read("group", "team");
  assertEquals(stored?.content.kind === "group" ? stored.content.members : null, ["beth", "carl", "eve"]);
});

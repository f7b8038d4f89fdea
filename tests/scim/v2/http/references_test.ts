// References to other resources at a SCIM server: the manager, and the ids in extensions.

import { assertEquals } from "@std/assert";
import { type FakeScimServer, startScimServer } from "../../../fakes/scim_server.ts";
import { eventually } from "../../../upstream/manual_clock.ts";
import { credentialsToml } from "../../rows/rows_world.ts";
import { specifiedCalls } from "./ldap_world.ts";
import { startV2World, type V2World } from "./v2_world.ts";

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
  const backends = shape.map((name) =>
    name === "local"
      ? '[targets.default.backends.local]\nkind = "store"\n'
      : `[targets.default.backends.saas]\nkind = "scim"\nmode = "${mode}"\nurl = "${url}"\ntoken = "${token}"\n`
  );
  return await startV2World(
    {},
    `${credentialsToml(["default"])}\n[targets.default]\nextensions = '${JSON.stringify([EXTENSION])}'\n${
      backends.join("")
    }`,
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

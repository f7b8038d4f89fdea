// Custom extensions: their API, backends, and values that were stored before.

import { assert, assertEquals } from "@std/assert";
import { CONSOLE, startSecured } from "../../../security/console_caller.ts";
import { basic } from "../../rows/caller.ts";
import { BADGE_EXTENSION, BADGE_URN, GROUP_URN, USER_URN } from "../schema/read_bodies.ts";
import { FILTERS, PATCHES, PROJECTIONS } from "./custom_extension_rows.ts";
import { startProgram } from "../../../support/program.ts";
import { testNeeding } from "../../../support/skip_unless.ts";
import { ldapTarget, startSlapd } from "../../../support/slapd.ts";
import { viewOf } from "../../rows/ldap_view.ts";
import { credentialsToml, WRITER } from "../../rows/rows_world.ts";
import { readGroupsOnce } from "../../../../scim/v2/schema/render_stored.ts";
import { createTargetSchemas } from "../../../../scim/v2/schema/target_schemas.ts";
import { startV2World } from "./v2_world.ts";

// Custom schema extensions of the running program (RFC 7643 §3.3): discovery, bodies, PATCH, filters, projection, and changes of the
// setting without a restart.

const ACCOUNT = { name: "provisioner", password: "a long password" };
const TEAM_URN = "urn:example:team:1.0:Group";
const TEAM_EXTENSION = {
  id: TEAM_URN,
  name: "Team",
  resourceType: "Group",
  attributes: [{ name: "cost", type: "decimal" }],
};
const EXTENSIONS = JSON.stringify([BADGE_EXTENSION, TEAM_EXTENSION]);
const SEARCH_URN = "urn:ietf:params:scim:api:messages:2.0:SearchRequest";
const PATCH_URN = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

/** What the tests read of the answers. */
interface Json {
  readonly id: string;
  readonly name?: unknown;
  readonly title?: string;
  readonly userName?: string;
  readonly scimType?: string;
  readonly totalResults?: number;
  readonly schemas: readonly string[];
  readonly attributes: readonly unknown[];
  readonly schemaExtensions: readonly object[];
  readonly Resources: readonly Json[];
  readonly displayName?: string;
  readonly [urn: `urn:${string}`]: object | undefined;
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly json: Json;
}

type World = Awaited<ReturnType<typeof startWorld>>;

async function startWorld(toml = "") {
  const secured = await startSecured(`
[[scim.credential]]
name = "${ACCOUNT.name}"
password = "${ACCOUNT.password}"
targets = ["default"${toml === "" ? "" : ', "fixed"'}]
${toml}`);
  const { gateway, owner } = secured;
  const ask = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const response = await fetch(gateway.httpUrl + path, {
      method,
      headers: { authorization: basic(ACCOUNT), "content-type": "application/scim+json" },
      ...body === undefined ? {} : { body: JSON.stringify(body) },
    });
    const text = await response.text();
    return { status: response.status, text, json: text.startsWith("{") ? JSON.parse(text) : {} };
  };
  const scim = (method: string, path: string, body?: unknown) =>
    ask(method, `/scim/v2/default${path.replaceAll(" ", "%20").replaceAll('"', "%22")}`, body);
  return {
    gateway,
    ask,
    scim,
    /** Saves the setting in the console. `null`: it is removed. */
    async setExtensions(extensions: string | null) {
      const { version } = await owner.take<{ version: string }>(`${CONSOLE}/target-settings/default`);
      const table = extensions === null ? {} : { extensions };
      return await owner.call(`${CONSOLE}/target-settings/default`, {
        method: "PUT",
        json: { version, table },
      });
    },
    patch: (path: string, ...Operations: object[]) =>
      scim("PATCH", path, { schemas: [PATCH_URN], Operations }),
    async add(userName: string, badge?: object): Promise<string> {
      const body = { schemas: [USER_URN], userName, ...badge === undefined ? {} : { [BADGE_URN]: badge } };
      const { status, json, text } = await scim("POST", "/Users", body);
      assertEquals(status, 201, text);
      return json.id;
    },
    async find(userName: string): Promise<Json> {
      const [found] = (await scim("GET", `/Users?filter=userName eq "${userName}"`)).json.Resources;
      if (found === undefined) throw new Error(`There is no ${userName}`);
      return found;
    },
    names: async (filter: string) => {
      const { status, json } = await scim("GET", `/Users?filter=${encodeURIComponent(filter)}`);
      if (status !== 200) return `${status} ${json.scimType}`;
      return json.Resources.map(({ userName }) => userName).sort().join(" ");
    },
    [Symbol.asyncDispose]: () => secured[Symbol.asyncDispose](),
  };
}

const isOk = ({ status, text }: Answer) => assert(status === 200 || status === 201, `${status} ${text}`);

async function noneYet({ scim, names, add, patch }: World): Promise<void> {
  assertEquals((await scim("GET", `/Schemas/${BADGE_URN}`)).status, 404);
  assertEquals(await names(`${BADGE_URN}:number eq 7`), "400 invalidFilter");
  const id = await add("early", { number: 5 });
  assertEquals((await scim("GET", `/Users/${id}`)).json[BADGE_URN], undefined);
  const patched = await patch(`/Users/${id}`, { op: "add", path: `${BADGE_URN}:number`, value: 1 });
  assertEquals([patched.status, patched.json.scimType], [400, "invalidPath"]);
  assertEquals((await scim("DELETE", `/Users/${id}`)).status, 204);
}

async function discovered({ scim }: World): Promise<void> {
  const { json } = await scim("GET", `/Schemas/${BADGE_URN}`);
  assertEquals([json.id, json.name, json.attributes.length], [BADGE_URN, "Badge", 12]);
  const { Resources } = (await scim("GET", "/Schemas")).json;
  const ids = Resources.map(({ id }) => id);
  assertEquals([ids.includes(BADGE_URN), ids.includes(TEAM_URN)], [true, true]);
  const user = (await scim("GET", "/ResourceTypes/User")).json.schemaExtensions;
  assertEquals(user.at(-1), { schema: BADGE_URN, required: false });
  const group = (await scim("GET", "/ResourceTypes/Group")).json.schemaExtensions;
  assertEquals(group, [{ schema: TEAM_URN, required: false }]);
}

async function written({ scim, add }: World): Promise<void> {
  const id = await add("ada", { number: 7, serial: "AB", notes: "secret", colour: "red", doors: ["north"] });
  await add("bob", { number: 10, isLost: "True", floors: [{ value: 3, primary: true }] });
  await add("eve");
  const { json } = await scim("GET", `/Users/${id}`);
  assertEquals(json.schemas, [USER_URN, BADGE_URN]);
  const bad = await scim("POST", "/Users", {
    schemas: [USER_URN, BADGE_URN],
    userName: "bad",
    [BADGE_URN]: { number: "x" },
  });
  assertEquals([bad.status, bad.json.scimType], [400, "invalidValue"]);
  const team = await scim("POST", "/Groups", {
    schemas: [GROUP_URN],
    displayName: "team",
    [TEAM_URN]: { cost: 1.5 },
    // This extension is for users.
    [BADGE_URN]: { number: 1 },
  });
  assertEquals([team.status, team.json[TEAM_URN], team.json[BADGE_URN]], [201, { cost: 1.5 }, undefined]);
  const groups = await scim("GET", `/Groups?filter=${TEAM_URN}:cost gt 1`);
  assertEquals([groups.json.totalResults, groups.json.Resources[0]?.displayName], [1, "team"]);
}

async function patched({ scim, patch, add }: World): Promise<void> {
  const id = await add("patched");
  for (const { operation, gives } of PATCHES) {
    const { status, json } = await patch(`/Users/${id}`, operation);
    if (typeof gives === "string" && gives !== "gone") {
      assertEquals(`${status} ${json.scimType}`, gives, JSON.stringify(operation));
      continue;
    }
    assertEquals(status, 200, JSON.stringify([operation, json]));
    const stored = (await scim("GET", `/Users/${id}`)).json;
    assertEquals(stored[BADGE_URN], gives === "gone" ? undefined : gives, JSON.stringify(operation));
    assertEquals(stored.schemas.includes(BADGE_URN), gives !== "gone");
  }
  assertEquals((await scim("DELETE", `/Users/${id}`)).status, 204);
}

async function projected({ scim, find }: World): Promise<void> {
  const { id } = await find("ada");
  for (const [query, badge] of PROJECTIONS) {
    assertEquals((await scim("GET", `/Users/${id}?${query}`)).json[BADGE_URN], badge, query);
  }
  const byNumber = async (sortOrder: string) => {
    const search = {
      schemas: [SEARCH_URN],
      sortBy: `${BADGE_URN}:number`,
      sortOrder,
      attributes: ["userName"],
    };
    return (await scim("POST", "/Users/.search", search)).json.Resources.map(({ userName }) => userName);
  };
  assertEquals(await byNumber("ascending"), ["ada", "bob", "eve"]);
  assertEquals((await byNumber("descending")).at(-1), "ada");
}

/** The values of a removed extension are hidden, stay through every write, and return with it. */
async function removedAndBack({ ask, scim, find, patch, names, setExtensions }: World): Promise<void> {
  const { id, [BADGE_URN]: badge } = await find("ada");
  const specified = () => ask("GET", "/idm/scim/default/Users/ada");
  const before = await specified();
  assertEquals((await setExtensions(null)).status, 200);
  assertEquals((await specified()).text, before.text);
  const hidden = (await scim("GET", `/Users/${id}`)).json;
  assertEquals([hidden[BADGE_URN], hidden.schemas], [undefined, [USER_URN]]);
  assertEquals(await names(`${BADGE_URN}:number eq 7`), "400 invalidFilter");
  assertEquals((await scim("GET", `/Schemas/${BADGE_URN}`)).status, 404);
  assertEquals((await scim("GET", "/ResourceTypes/Group")).json.schemaExtensions, []);
  isOk(await patch(`/Users/${id}`, { op: "add", path: "title", value: "Guide" }));
  isOk(await scim("PUT", `/Users/${id}`, { schemas: [USER_URN], userName: "ada", title: "Boss" }));
  assertEquals((await setExtensions(EXTENSIONS)).status, 200);
  const back = (await scim("GET", `/Users/${id}`)).json;
  assertEquals([back.title, back[BADGE_URN], back.schemas], ["Boss", badge, [USER_URN, BADGE_URN]]);
  // A PUT without the extension clears what can be changed.
  const cleared = await scim("PUT", `/Users/${id}`, { schemas: [USER_URN], userName: "ada" });
  assertEquals(cleared.json[BADGE_URN], { serial: "AB" });
}

/** A value of an attribute whose type changed is not shown in its old type. */
async function retyped({ scim, find, setExtensions }: World): Promise<void> {
  const { id } = await find("bob");
  const attributes = [{ name: "number", type: "string" }, {
    name: "isLost",
    type: "complex",
    subAttributes: [{ name: "at" }],
  }];
  const other = JSON.stringify([{ id: BADGE_URN, name: "Badge", attributes }]);
  assertEquals((await setExtensions(other)).status, 200);
  const shown = await scim("GET", `/Users/${id}`);
  isOk(shown);
  for (const value of Object.values(shown.json[BADGE_URN] ?? {})) assertEquals(typeof value, "string");
  isOk(
    await scim("PUT", `/Users/${id}`, {
      schemas: [USER_URN],
      userName: "bob",
      [BADGE_URN]: { number: "A 9" },
    }),
  );
  assertEquals((await scim("GET", `/Users?filter=${BADGE_URN}:number sw "a"`)).json.totalResults, 1);
  assertEquals((await setExtensions(EXTENSIONS)).status, 200);
  isOk(await scim("GET", `/Users/${id}`));
}

Deno.test("custom extensions apply to every request from the save of the setting on", async (t) => {
  await using world = await startWorld();
  await t.step("without them, nothing has their attributes", () => noneYet(world));
  await t.step("the console saves them", async () => {
    const { status, body } = await world.setExtensions(EXTENSIONS);
    assertEquals(status, 200, JSON.stringify(body));
  });
  await t.step("/Schemas and /ResourceTypes list them", () => discovered(world));
  await t.step("bodies have their attributes", () => written(world));
  await t.step("PATCH changes their attributes", () => patched(world));
  for (const [filter, names] of FILTERS) {
    await t.step(`filter ${filter}`, async () => assertEquals(await world.names(filter), names));
  }
  await t.step("attributes, excludedAttributes and sortBy name them", () => projected(world));
  await t.step("a removed extension hides its values and keeps them", () => removedAndBack(world));
  await t.step("a value fits the present type, or is hidden", () => retyped(world));
  await t.step("the console refuses extensions that cannot be used", async () => {
    const { status, body } = await world.setExtensions('[{"id":"x","name":"X"}]');
    const { error } = body as { error: { faults: { key: string; problem: string }[] } };
    assertEquals([status, error.faults[0]?.key], [422, "targets.default.extensions"]);
    assert(error.faults[0]?.problem.includes("must be a URN"), JSON.stringify(error));
  });
});

Deno.test("custom extensions of the settings file are read at the start, also by a required one", async () => {
  const file = await Deno.makeTempFile({ suffix: ".json" });
  const required = { ...TEAM_EXTENSION, resourceType: "User", extensionRequired: true };
  const attributes = [{ name: "cost", type: "decimal", required: true }];
  await Deno.writeTextFile(file, JSON.stringify([{ ...required, attributes }], null, 2));
  try {
    await using world = await startWorld(`[targets.fixed]\nextensions = ${JSON.stringify(file)}\n`);
    const create = (more: object) =>
      world.ask("POST", "/scim/v2/fixed/Users", { schemas: [USER_URN], userName: "ada", ...more });
    const without = await create({});
    assertEquals([without.status, without.json.scimType], [400, "invalidValue"]);
    assertEquals((await create({ [TEAM_URN]: { cost: 2.5 } })).json[TEAM_URN], { cost: 2.5 });
    // Another target does not have them.
    assertEquals((await world.scim("GET", `/Schemas/${TEAM_URN}`)).status, 404);
    await Deno.writeTextFile(file, "[{}]");
    const { code, stderr } = await world.gateway.command("cli/check_config.ts");
    assertEquals(code, 1);
    assert(
      stderr.includes("targets.fixed.extensions: an extension or one of its attributes needs the text id"),
      stderr,
    );
  } finally {
    await Deno.remove(file);
  }
});

// Attributes of a custom extension that are mapped to a directory server: writes, and values that change there.

const URN = "urn:example:desk:1.0:User";
const ATTRIBUTES = [{ name: "desk" }, { name: "number", type: "integer" }, { name: "plants" }];
const NAMES = 'attributes = { desk = "roomNumber", deskNumber = "employeeNumber" }';
const EXTENSION = { id: URN, name: "Desk", attributes: ATTRIBUTES };

testNeeding(
  { peers: ["slapd"] },
  "attributes of an extension follow the mapping to LDAP and back",
  async () => {
    const slapd = await startSlapd();
    const gateway = await startProgram({
      toml: `${credentialsToml(["default"])}
[targets.default]
extensions = '${JSON.stringify([EXTENSION])}'
[targets.default.mapping.user]
"${URN}:desk" = "desk"
"${URN}:number" = "deskNumber"
${ldapTarget(slapd, { name: "directory", timeoutMs: 30_000, isFirst: true, more: NAMES })}`,
    });
    const ask = async (method: string, path: string, body?: object) => {
      const response = await fetch(`${gateway.httpUrl}/scim/v2/default${path}`, {
        method,
        headers: { authorization: basic(WRITER), "content-type": "application/scim+json" },
        ...body === undefined ? {} : { body: JSON.stringify(body) },
      });
      const json: Readonly<Record<string, unknown>> = await response.json();
      return { status: response.status, desk: json[URN], id: String(json.id) };
    };
    const dn = `uid=ada,${slapd.usersDn}`;
    const ldap = viewOf(slapd);
    const stored = async () => {
      const entry = await ldap.entry(dn);
      return [entry?.roomNumber, entry?.employeeNumber];
    };
    try {
      const { status, id } = await ask("POST", "/Users", {
        schemas: [USER_URN, URN],
        userName: "ada",
        name: { familyName: "Lovelace", givenName: "Ada" },
        [URN]: { desk: "A 1", number: 7, plants: "two" },
      });
      assertEquals([status, await stored()], [201, [["A 1"], ["7"]]]);
      await ldap.replace(dn, "roomNumber", ["B 2"]);
      await ldap.replace(dn, "employeeNumber", ["9"]);
      const { code, stderr } = await gateway.command("cli/refresh.ts", "default");
      assertEquals([code, stderr], [0, ""]);
      const desk = { desk: "B 2", number: 9, plants: "two" };
      assertEquals((await ask("GET", `/Users/${id}`)).desk, desk);
      const patch = {
        schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
        Operations: [{ op: "replace", path: `${URN}:desk`, value: "C 3" }],
      };
      assertEquals((await ask("PATCH", `/Users/${id}`, patch)).desk, { ...desk, desk: "C 3" });
      assertEquals(await stored(), [["C 3"], ["9"]]);
    } finally {
      await gateway.dispose();
      await slapd.dispose();
    }
  },
);

// The ids that a response with several users reads.

Deno.test("readGroupsOnce() reads each group once, also one that does not exist", async () => {
  const asked: string[] = [];
  const { directory } = readGroupsOnce({
    type: createTargetSchemas().types.user,
    baseUrl: "https://scim.example.com",
    directory: {
      readIds(_kind, names) {
        asked.push(...names);
        return Promise.resolve(names.map((name) => name === "gone" ? null : `id of ${name}`));
      },
    },
  });
  assertEquals(await directory.readIds("group", ["staff", "gone"]), ["id of staff", null]);
  assertEquals(await directory.readIds("group", ["gone", "board", "staff"]), [
    null,
    "id of board",
    "id of staff",
  ]);
  assertEquals(await directory.readIds("group", []), []);
  assertEquals(asked, ["staff", "gone", "board"]);
});

// What the specified interface stored stays, whatever the full interface changes elsewhere in the resource.

const TOML = `
[[scim.credential]]
name = "hr"
password = "the password of hr"
targets = ["default"]
access = "write"
`;
const CALL = {
  token: null,
  headers: {
    authorization: `Basic ${btoa("hr:the password of hr")}`,
    "content-type": "application/scim+json",
  },
};

/** Attributes that the full interface shows in another form, in part, or not at all. */
const STORED = {
  userName: "odd",
  name: { familyName: "F", givenName: "G", honirificSuffix: "X", unknown: "w" },
  imgs: [{ value: "http://x/y", type: "t", unknown: 1 }],
  emails: [{ value: "a@b.c", type: "work", primary: true, unknown: "e" }, { value: "d@e.f" }],
  phoneNumbers: ["123"],
  addresses: [{ postralCode: "1", unknown: "b", type: "home" }, { formatted: "x" }],
  roles: ["r"],
  x509Certificates: ["MTIz"],
  custom: { a: [1, 2, { b: null }] },
  manager: { value: "m", displayName: "M" },
  "urn:x:y": { z: 1 },
  department: "dep",
  photos: "http://p",
};

Deno.test("a PATCH of one attribute keeps all others as the specified interface stored them", async () => {
  await using world = await startV2World({ adoption: "automatic" }, TOML);
  const read = async () => {
    const { meta: _meta, title, ...rest } =
      (await world.call("GET", "!/idm/scim/default/Users/odd", CALL)).json;
    return { title, rest };
  };
  assertEquals((await world.call("POST", "!/idm/scim/default/Users", { ...CALL, body: STORED })).status, 201);
  const before = await read();
  const { json } = await world.call("GET", "/Users?filter=userName%20eq%20%22odd%22");
  const [{ id } = { id: "" }] = json.Resources as readonly { id: string }[];
  assertEquals((await world.patch(`/Users/${id}`, [{ op: "add", path: "title", value: "T" }])).status, 200);
  assertEquals(await read(), { title: "T", rest: before.rest });
});

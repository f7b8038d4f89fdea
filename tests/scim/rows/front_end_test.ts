// The front end of SCIM 1.1 and its mapping, over a whole gateway.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { lacking, testNeeding } from "../../support/skip_unless.ts";
import { ldapTarget, type Slapd, startSlapd } from "../../support/slapd.ts";
import { type RunningProgram, startProgram } from "../../support/program.ts";
import { type Caller, createCaller } from "./caller.ts";
import { bodyWith, GROUP_MAPPING, textsAt, USER_MAPPING } from "./document_tables.ts";
import { type LdapView, viewOf } from "./ldap_view.ts";
import { credentialsToml, type RowsWorld, startRowsWorld, WRITER } from "./rows_world.ts";

// The front-end side of both mapping tables, with the real process and a real slapd that has the front-end attributes
// of the specification; and the query parameters that need a second backend.

const NEEDS = { peers: ["slapd"] } as const;

/** Front-end attributes that slapd stores under their own names, with a prefix if LDAP has one of that name. */
const FRONT_ENDS = [...new Set(USER_MAPPING.map(([, frontEnd]) => frontEnd))].filter((name) =>
  name !== "userName"
);
const ldapName = (frontEnd: string) => `cs-${frontEnd}`;

const SCHEMA = [
  ...FRONT_ENDS.map((name, at) =>
    `attributetype ( 1.3.6.1.4.1.32473.1.${at} NAME '${ldapName(name)}' EQUALITY caseIgnoreMatch ` +
    "SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )"
  ),
  // Other attributes that an inetOrgPerson may have.
  `ditcontentrule ( 2.16.840.1.113730.3.2.2 NAME 'csRule' MAY ( ${FRONT_ENDS.map(ldapName).join(" $ ")} ) )`,
].join("\n");

const settings = (slapd: Slapd) => {
  const names = FRONT_ENDS.map((name) => `${name} = "${ldapName(name)}"`).join(", ");
  const target = ldapTarget(slapd, {
    name: "directory",
    timeoutMs: 30_000,
    isFirst: true,
    more: `attributes = { ${names} }`,
  });
  return credentialsToml(["default"]) + target;
};

let slapd: Slapd;
let gateway: RunningProgram | undefined;
let world: Caller;
let ldap: LdapView;
if (lacking(NEEDS) === null) {
  Deno.test.beforeAll(async () => {
    slapd = await startSlapd({ schema: SCHEMA });
    gateway = await startProgram({ toml: settings(slapd) });
    world = createCaller(gateway, { account: WRITER, target: "default" });
    ldap = viewOf(slapd);
  });
  Deno.test.afterAll(async () => {
    await gateway?.dispose();
    await slapd?.dispose();
  });
}

type Resource = Readonly<Record<string, unknown>>;

const userDn = (name: string) => `uid=${name},${slapd.usersDn}`;
const groupDn = (name: string) => `cn=${name},${slapd.groupsDn}`;

for (const [at, [scim, frontEnd]] of USER_MAPPING.entries()) {
  if (frontEnd === "userName") {
    testNeeding(NEEDS, `User: ${scim} and the front-end attribute userName are one`, async () => {
      const name = `front${at}`;
      assertEquals((await world.post("/Users", { [scim]: name })).status, 201);
      assertEquals((await ldap.entry(userDn(name)))?.uid, [name]);
      assertEquals(textsAt((await world.get(`/Users/${name}?refresh=true`)).json, scim), [name]);
    });
    continue;
  }
  testNeeding(NEEDS, `User: ${scim} is the front-end attribute ${frontEnd}, both ways`, async () => {
    const name = `front${at}`;
    const attribute = ldapName(frontEnd);
    const created = await world.post("/Users", { userName: name, ...bodyWith(scim, "Written Here") });
    assertEquals(created.status, 201, created.text);
    const written = await ldap.entry(userDn(name));
    assertEquals(written?.[attribute], ["Written Here"]);
    // It is in no other front-end attribute.
    const others = FRONT_ENDS.map(ldapName).filter((one) =>
      one !== attribute && written?.[one] !== undefined
    );
    assertEquals(others, []);

    await ldap.replace(userDn(name), attribute, ["Written There"]);
    assertEquals(textsAt((await world.get(`/Users/${name}`)).json, scim), ["Written Here"]);
    assertEquals(textsAt((await world.get(`/Users/${name}?refresh=true`)).json, scim), ["Written There"]);
    const { json: list } = await world.get(`/Users?q=${name}`);
    const [listed = {}] = (list.Resources as Resource[]).filter(({ id }) => id === name);
    assertEquals(textsAt(listed, scim), ["Written There"]);

    const emptied = await world.put(`/Users/${name}`, { userName: name });
    // The two parts of a name are always present.
    const left = scim === "name.familyName" || scim === "name.givenName" ? [""] : [];
    assertEquals([emptied.status, textsAt(emptied.json, scim)], [200, left]);
    assertEquals((await ldap.entry(userDn(name)))?.[attribute], undefined);
  });
}

for (const [scim, frontEnd] of GROUP_MAPPING.filter(([, name]) => name === "groupName")) {
  testNeeding(NEEDS, `Group: ${scim} and the front-end attribute ${frontEnd} are one`, async () => {
    const name = `front ${scim}`;
    assertEquals((await world.post("/Groups", { [scim]: name })).status, 201);
    assertEquals((await ldap.entry(groupDn(name)))?.cn, [name]);
    const { json } = await world.get(`/Groups/${encodeURIComponent(name)}?refresh=true`);
    assertEquals(textsAt(json, scim), [name]);
  });
}

testNeeding(NEEDS, "Group: members[].display is the front-end attribute member, both ways", async () => {
  for (const userName of ["in1", "in2"]) await world.post("/Users", { userName });
  assertEquals(
    (await world.post("/Groups", { displayName: "team", members: [{ display: "in1" }] })).status,
    201,
  );
  assert((await ldap.entry(groupDn("team")))?.member?.includes(userDn("in1")));
  await ldap.replace(groupDn("team"), "member", [userDn("in2")]);
  const { json } = await world.get("/Groups/team?refresh=true");
  assertEquals(textsAt(json, "members[].display"), ["in2"]);
  assertEquals((await world.get("/Users/in1")).json.groups, undefined);
  assertEquals(textsAt((await world.get("/Users/in2")).json, "groups[].display"), ["team"]);
});

testNeeding(
  NEEDS,
  "a deleted user is in no group of any backend, and a refresh does not restore the membership",
  async () => {
    for (const userName of ["stays", "leaves"]) await world.post("/Users", { userName });
    const members = ["stays", "leaves"].map((display) => ({ display }));
    await world.post("/Groups", { displayName: "leavers", members });
    assertEquals((await world.remove("/Users/leaves")).status, 204);
    assertEquals(textsAt((await world.get("/Groups/leavers")).json, "members[].display"), ["stays"]);
    const refreshed = await world.get("/Groups/leavers?refresh=true");
    assertEquals(textsAt(refreshed.json, "members[].display"), ["stays"], refreshed.text);
    await world.get("/Users?refresh=true");
    assertEquals(textsAt((await world.get("/Groups/leavers")).json, "members[].display"), ["stays"]);
    // After a new creation, the user is a member of no group.
    await world.post("/Users", { userName: "leaves" });
    await world.get("/Groups?refresh=true");
    assertEquals((await world.get("/Users/leaves")).json.groups, undefined);
  },
);

testNeeding(
  NEEDS,
  "refresh: a list shows new, changed and deleted entries of slapd, and without refresh it does not",
  async () => {
    await world.post("/Users", { userName: "kept1" });
    await world.post("/Users?backends=directory", { userName: "lost1" });
    await ldap.add(userDn("gained1"), {
      objectClass: ["inetOrgPerson"],
      uid: ["gained1"],
      cn: ["g"],
      sn: ["g"],
    });
    await ldap.replace(userDn("kept1"), ldapName("mail"), ["kept1@example.org"]);
    await ldap.remove(userDn("lost1"));
    assertEquals((await world.get("/Users/lost1")).status, 200);
    const seen = async (path: string) =>
      ((await world.get(path)).json.Resources as { id: string }[]).map(({ id }) => id);
    assertEquals(await seen("/Users?q=gained1"), []);
    assertEquals(await seen("/Users?q=gained1&refresh=false"), []);
    assertEquals(await seen("/Users?q=gained1&refresh=true"), ["gained1"]);
    assertEquals(await seen("/Users?q=kept1@example"), ["kept1"]);
    assertEquals((await world.get("/Users/gained1")).status, 200);
    assertEquals((await world.get("/Users/lost1")).status, 404);
  },
);

/** For each list of backends: the status of a POST, and the backends that then have the user. */
const CHOICES: readonly (readonly [query: string, status: number, inDirectory: boolean])[] = [
  ["", 201, true],
  ["?backends=local,directory", 201, true],
  ["?backends=directory,local", 201, true],
  ["?backends=%20local%20,%20directory%20", 201, true],
  ["?backends=local", 201, false],
  ["?backends=directory", 201, true],
  ["?backends=local,local", 201, false],
  ["?backends=nowhere", 400, false],
  ["?backends=local,nowhere", 400, false],
  ["?backends=", 400, false],
  ["?backends=local,", 400, false],
  ["?backends=LOCAL", 400, false],
  ["?backends=local&backends=directory", 400, false],
];
for (const [at, [query, status, inDirectory]] of CHOICES.entries()) {
  testNeeding(
    NEEDS,
    `backends: POST /Users${query} is ${status}${inDirectory ? ", in slapd" : ""}`,
    async () => {
      const userName = `chosen${at}`;
      const answer = await world.post(`/Users${query}`, { userName });
      assertEquals(answer.status, status, answer.text);
      assertEquals((await world.get(`/Users/${userName}`)).status, status === 201 ? 200 : 404);
      assertEquals(await ldap.entry(userDn(userName)) !== null, inDirectory);
    },
  );
}

testNeeding(
  NEEDS,
  "backends: a create on one backend takes a name only there, and DELETE removes it from the named ones",
  async () => {
    const userName = "half";
    assertEquals((await world.post("/Users?backends=local", { userName })).status, 201);
    assertEquals((await world.post("/Users?backends=local", { userName })).status, 409);
    assertEquals((await world.post("/Users", { userName })).status, 409);
    assertEquals((await world.post("/Users?backends=directory", { userName })).status, 201);
    assertEquals((await world.remove("/Users/half?backends=directory")).status, 204);
    assertEquals([await ldap.entry(userDn("half")), (await world.get("/Users/half")).status], [null, 200]);
    assertEquals((await world.remove("/Users/half?backends=directory")).status, 404);
    assertEquals((await world.remove("/Users/half?backends=local")).status, 204);
    assertEquals((await world.get("/Users/half")).status, 404);
  },
);

testNeeding(NEEDS, "backends: PUT changes the named backends, and the other keeps its content", async () => {
  await world.post("/Users", { userName: "apart", ...bodyWith("emails[].value", "old@example.org") });
  const body = { userName: "apart", ...bodyWith("emails[].value", "new@example.org") };
  assertEquals((await world.put("/Users/apart?backends=local", body)).status, 200);
  assertEquals((await ldap.entry(userDn("apart")))?.[ldapName("mail")], ["old@example.org"]);
  assertEquals(textsAt((await world.get("/Users/apart")).json, "emails[].value"), ["new@example.org"]);
  assertEquals((await world.put("/Users/apart?backends=directory", body)).status, 200);
  assertEquals((await ldap.entry(userDn("apart")))?.[ldapName("mail")], ["new@example.org"]);
});

// The mapping of the specification with the embedded store alone: members, attributes without a row, and other spellings.

let mappedWorld: RowsWorld;
Deno.test.beforeAll(async () => void (mappedWorld = await startRowsWorld()));
Deno.test.afterAll(() => mappedWorld.dispose());

Deno.test("Group: members[].display is member, and a value names a member too", async () => {
  await mappedWorld.post("/Users", { userName: "Anna" });
  const created = await mappedWorld.post("/Groups", {
    displayName: "members",
    members: [{ display: "anna" }, { value: "Bert" }, { display: "", value: "Carla" }, { display: "ANNA" }],
  });
  assertEquals(created.status, 201, created.text);
  const { json } = await mappedWorld.get("/Groups/members");
  assertEquals(textsAt(json, "members[].display").map((name) => String(name).toLowerCase()), [
    "anna",
    "bert",
    "carla",
  ]);
  assertEquals(textsAt(json, "members[].value"), textsAt(json, "members[].display"));
  assertEquals(textsAt((await mappedWorld.get("/Users/anna")).json, "groups[].display"), ["members"]);
  const emptied = await mappedWorld.put("/Groups/members", { displayName: "members" });
  assertEquals([emptied.status, emptied.json.members], [200, []]);
  assertEquals((await mappedWorld.get("/Users/anna")).json.groups, undefined);
});

Deno.test("attributes with the same name on both sides are stored unchanged", async () => {
  const given = {
    displayName: "Ann Lee",
    nickName: "Annie",
    title: "Engineer",
    userType: "Employee",
    locale: "de-CH",
    timezone: "Europe/Zurich",
    preferredLanguage: "de",
    profileUrl: "https://example.org/~ann",
    "urn:example:2.0:Shoes": { size: 42, laces: [true, null, "x"] },
    badge: [{ number: 7 }],
  };
  const created = await mappedWorld.post("/Users", { userName: "identical", ...given });
  for (const [name, value] of Object.entries(given)) assertEquals(created.json[name], value, name);
  assert((created.json.schemas as string[]).includes("urn:example:2.0:Shoes"));
});

Deno.test("values keep their type, their primary mark and their order", async () => {
  const emails = [
    { value: "b@example.org", type: "work" },
    { value: "a@example.org", type: "home", primary: true, display: "A" },
  ];
  const addresses = [{
    type: "work",
    streetAddress: "1 Road",
    postralCode: "8000",
    formatted: "1 Road\n8000",
  }];
  await mappedWorld.post("/Users", { userName: "ordered", emails, addresses });
  const { json } = await mappedWorld.get("/Users/ordered");
  assertEquals([json.emails, json.addresses], [emails, addresses]);
});

/** The RFC's spelling of attributes that the specification spells differently. */
const RFC_SPELLINGS: readonly (readonly [given: Record<string, unknown>, scim: string])[] = [
  [{ addresses: [{ postalCode: "8001" }] }, "addresses[].postralCode"],
  [{ ims: [{ value: "8001" }] }, "imgs[].value"],
  [{ NAME: { FAMILYNAME: "8001" } }, "name.familyName"],
  [{ "urn:ietf:params:scim:schemas:core:2.0:User:emails": [{ value: "8001" }] }, "emails[].value"],
];
for (const [at, [given, scim]] of RFC_SPELLINGS.entries()) {
  Deno.test(`User: ${Object.keys(given)[0]}, as spelled in the RFC, becomes ${scim}`, async () => {
    const { json } = await mappedWorld.post("/Users", { userName: `spelled${at}`, ...given });
    assertEquals(textsAt(json, scim), ["8001"]);
  });
}

Deno.test("a user without any name gets a UUID, and so does a group", async () => {
  for (const [collection, field] of [["/Users", "userName"], ["/Groups", "displayName"]] as const) {
    const { status, json } = await mappedWorld.post(collection, {});
    assertMatch(String(json[field]), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assertEquals([status, json.id], [201, json[field]]);
    assertEquals((await mappedWorld.get(`${collection}/${json.id}`)).status, 200);
  }
});

Deno.test("a target's own mapping: externalId with its own front-end attribute is separate from the name", async () => {
  const own = (path: string, method = "GET", body?: unknown) =>
    mappedWorld.call(path, { target: "own", method, ...body === undefined ? {} : { body } });
  const created = await own("/Users", "POST", {
    userName: "ann",
    externalId: "42",
    name: { familyName: "Lee" },
  });
  assertEquals([created.status, created.json.id, created.json.externalId], [201, "ann", "42"]);
  assertEquals((await own("/Users/ann")).text, created.text);
  const found = await own(`/Users?q=${encodeURIComponent('externalId eq "42"')}`);
  assertEquals([found.status, found.json.totalResults], [200, 1], found.text);
  const replaced = await own("/Users/ann", "PUT", { userName: "ann" });
  assertEquals(replaced.json.externalId, "");
  const group = await own("/Groups", "POST", { displayName: "g", externalId: "7" });
  assertEquals([group.json.id, group.json.externalId], ["g", "7"]);
});

Deno.test("creating and replacing check no required attributes", async () => {
  for (const [collection, field] of [["/Users", "userName"], ["/Groups", "displayName"]] as const) {
    const created = await mappedWorld.post(collection, { schemas: [], [field]: "bare" });
    assertEquals(created.status, 201);
    assertEquals((await mappedWorld.put(`${collection}/bare`, {})).status, 200);
    const { json } = await mappedWorld.get(`${collection}/bare`);
    assertEquals([json.id, json[field]], ["bare", "bare"]);
  }
});

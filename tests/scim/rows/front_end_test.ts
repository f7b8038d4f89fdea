// The front-end side of both mapping tables, with the real process and a real slapd that has the front-end attributes
// of the specification; and the query parameters that need a second backend.

import { assert, assertEquals } from "@std/assert";
import { lacking, testNeeding } from "../../support/skip_unless.ts";
import { type Slapd, startSlapd } from "../../support/slapd.ts";
import { type RunningProgram, startProgram } from "../../support/program.ts";
import { type Caller, createCaller } from "./caller.ts";
import { bodyWith, GROUP_MAPPING, textsAt, USER_MAPPING } from "./document_tables.ts";
import { type LdapView, viewOf } from "./ldap_view.ts";
import { credentialsToml, WRITER } from "./rows_world.ts";

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

/** The directory is listed first, so its content applies if the two differ. */
const settings = (slapd: Slapd) =>
  `${credentialsToml(["default"])}
[targets.default.backends.directory]
kind = "ldap"
url = "${slapd.url}"
bind_dn = "${slapd.bindDn}"
bind_password = "${slapd.bindPassword}"
users_dn = "${slapd.usersDn}"
groups_dn = "${slapd.groupsDn}"
[targets.default.backends.directory.attributes]
${FRONT_ENDS.map((name) => `${name} = "${ldapName(name)}"`).join("\n")}
[targets.default.backends.local]
kind = "store"
`;

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
    assertEquals(textsAt((await world.get(`/Users/${name}`)).json, scim), ["Written There"]);

    assertEquals((await world.put(`/Users/${name}`, { userName: name })).status, 200);
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

// SCIM 2.0 in front of backends: LDAP values, and what a backend has already.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { startScimServer } from "../../../fakes/scim_server.ts";
import { startScimmy } from "../../../support/scimmy_server.ts";
import { testNeeding } from "../../../support/skip_unless.ts";
import { credentialsToml } from "../../rows/rows_world.ts";
import { type LdapWorld, startLdapWorld } from "./ldap_world.ts";
import { scimTarget, startV2World, type V2World } from "./v2_world.ts";
import { eventually } from "../../../upstream/manual_clock.ts";

// Resources that only a connector has, and names that change there: what refuses a create is found, and a rename keeps the id.

const ADMIN = { name: "console:ada", source: "" };
const NEEDS = { peers: ["slapd"] } as const;

async function refresh(
  { gateway }: V2World,
  { faults = [] }: { faults?: readonly string[] } = {},
): Promise<void> {
  const report = await gateway.identity.targets.get("default")?.refreshAll(ADMIN);
  assertEquals(report?.faults.map(({ kind }) => String(kind)), [...faults]);
}

const scimToml = (url: string, token: string, shape: readonly string[]) =>
  credentialsToml(["default"]) + scimTarget(url, { token, shape });

/** A filter that finds one resource, and its id. */
async function idOf(v2: V2World, collection: "Users" | "Groups", name: string): Promise<string | null> {
  const attribute = collection === "Users" ? "userName" : "displayName";
  const filter = encodeURIComponent(`${attribute} eq "${name}"`);
  const { json } = await v2.call("GET", `/${collection}?filter=${filter}`);
  const [found] = json.Resources as { id: string }[] | undefined ?? [];
  return found?.id ?? null;
}

async function idsOf(v2: V2World, collection: "Users" | "Groups", ...names: readonly string[]) {
  return await Promise.all(names.map((name) => idOf(v2, collection, name)));
}

/** The user kim is now kimberly, and the group staff is now crew, with the same ids and the same member. */
async function assertRenamed(v2: V2World, kim: string | null, staff: string | null): Promise<void> {
  assertEquals(await idsOf(v2, "Users", "kim", "kimberly"), [null, kim]);
  assertEquals(await idsOf(v2, "Groups", "staff", "crew"), [null, staff]);
  const { json } = await v2.call("GET", `/Groups/${staff}`);
  assertEquals((json.members as { value: string }[]).map(({ value }) => value), [kim]);
}

async function expectFound(v2: V2World): Promise<void> {
  for (
    const [collection, name, body] of [
      ["Users", "there", { userName: "there" }],
      ["Groups", "staff", { displayName: "staff" }],
    ] as const
  ) {
    assertEquals(await idOf(v2, collection, name), null);
    const post = await v2.call("POST", `/${collection}`, { body });
    assertEquals([post.status, post.json.scimType], [409, "uniqueness"]);
    const id = await idOf(v2, collection, name);
    assert(id !== null, `${collection}: what is 409 is found`);
    const again = await v2.call("POST", `/${collection}`, { body });
    assertEquals([again.status, await idOf(v2, collection, name)], [409, id]);
    const { proposals } = await v2.gateway.identity.connections.administration.proposals("provider", {
      ...{ state: null, cursor: null, size: 10 },
    });
    assert(proposals.some((one) => one.id === id), "it is among the existing users of the connection");
  }
}

for (const shape of [["saas"], ["local", "saas"]]) {
  Deno.test(`what a SCIM server has already is 409, and then found (${shape.join(", ")})`, async () => {
    await using saas = startScimServer();
    saas.users.set("x", { id: "x", userName: "there" });
    saas.groups.set("y", { id: "y", displayName: "staff", members: [{ value: "x" }] });
    await using v2 = await startV2World({}, scimToml(saas.url, "t", shape));
    await expectFound(v2);
  });
}

Deno.test("what SCIMMY has already is 409, and then found", async () => {
  const scimmy = await startScimmy();
  try {
    scimmy.users.set("x", { id: "x", userName: "there" });
    scimmy.groups.set("y", { id: "y", displayName: "staff" });
    await using v2 = await startV2World({}, scimToml(scimmy.url, scimmy.token, ["saas"]));
    await expectFound(v2);
  } finally {
    await scimmy.close();
  }
});

for (const schema of ["openldap", "active_directory"] as const) {
  testNeeding(NEEDS, `what an LDAP directory has already is 409, and then found (${schema})`, async () => {
    await using world = await startLdapWorld({ schema });
    await addEntries(world, schema);
    await expectFound(world.v2);
  });
}

async function addEntries(
  { ldap, slapd }: LdapWorld,
  schema: "openldap" | "active_directory",
  names: { user: string; group: string } = { user: "there", group: "staff" },
): Promise<void> {
  const { user, group } = names;
  if (schema === "openldap") {
    const dn = `uid=${user},${slapd.usersDn}`;
    await ldap.add(dn, { objectClass: ["inetOrgPerson"], uid: [user], sn: ["S"], cn: ["C"] });
    await ldap.add(`cn=${group},${slapd.groupsDn}`, { objectClass: ["groupOfNames"], member: [dn] });
    return;
  }
  const dn = `cn=${user},${slapd.usersDn}`;
  await ldap.add(dn, {
    objectClass: ["person", "organizationalPerson", "user"],
    ...{ sAMAccountName: [user], objectGUID: ["0123456789abcdef"] },
  });
  await ldap.add(`cn=${group},${slapd.groupsDn}`, {
    objectClass: ["group"],
    ...{ sAMAccountName: [group], objectGUID: ["fedcba9876543210"], member: [dn] },
  });
}

for (const shape of [["directory"], ["local", "directory"], ["directory", "local"]]) {
  for (const schema of ["openldap", "active_directory"] as const) {
    testNeeding(
      NEEDS,
      `an entry that is renamed in LDAP keeps its id and its groups (${shape.join(", ")}, ${schema})`,
      async () => {
        await using world = await startLdapWorld({ shape, schema, change: { adoption: "automatic" } });
        const { v2, ldap, slapd } = world;
        await addEntries(world, schema, { user: "kim", group: "staff" });
        await refresh(v2);
        const kim = await idOf(v2, "Users", "kim");
        const staff = await idOf(v2, "Groups", "staff");
        if (schema === "openldap") {
          await ldap.rename(`uid=kim,${slapd.usersDn}`, "uid=kimberly");
          await ldap.rename(`cn=staff,${slapd.groupsDn}`, "cn=crew");
        } else {
          await ldap.replace(`cn=kim,${slapd.usersDn}`, "sAMAccountName", ["kimberly"]);
          await ldap.replace(`cn=staff,${slapd.groupsDn}`, "sAMAccountName", ["crew"]);
        }
        // A change before the next refresh reaches the same entry.
        const patch = await v2.patch(`/Users/${kim}`, [{ op: "replace", path: "title", value: "Boss" }]);
        assertEquals(patch.status, 200);
        assertEquals(Object.keys(await ldap.below(slapd.usersDn)).length, 1, "no second entry");
        await refresh(v2);
        await refresh(v2);
        await assertRenamed(v2, kim, staff);
        const { json } = await v2.call("GET", `/Users/${kim}`);
        assertEquals([json.title, json.active], ["Boss", true]);
        // The provider still calls the user kim.
        const post = await v2.call("POST", "/Users", { body: { userName: "kimberly" } });
        assertEquals(post.status, 409);
        assertEquals(Object.keys(await ldap.below(slapd.usersDn)).length, 1);
      },
    );
  }

  testNeeding(
    NEEDS,
    `a GET with refresh follows a rename, and a new entry with the earlier name is another user (${
      shape.join(", ")
    })`,
    async () => {
      await using world = await startLdapWorld({ shape });
      const { v2, ldap, slapd, specified } = world;
      await addEntries(world, "openldap", { user: "kim", group: "staff" });
      await refresh(v2);
      const kim = await idOf(v2, "Users", "kim");
      await ldap.rename(`uid=kim,${slapd.usersDn}`, "uid=kimberly");
      await addEntries(world, "openldap", { user: "kim", group: "other" });
      assertEquals((await specified("GET", "/Users/kimberly?refresh=true")).status, 200);
      assertEquals(await idOf(v2, "Users", "kimberly"), kim);
      await refresh(v2);
      const other = await idOf(v2, "Users", "kim");
      assert(other !== null && other !== kim);
      assertEquals(await idOf(v2, "Users", "kimberly"), kim);
    },
  );
}

testNeeding(NEEDS, "a moved DN, and names that change places, keep the ids", async () => {
  await using world = await startLdapWorld();
  const { v2, ldap, slapd } = world;
  await addEntries(world, "openldap", { user: "ann", group: "a" });
  await addEntries(world, "openldap", { user: "ben", group: "b" });
  await addEntries(world, "openldap", { user: "cleo", group: "c" });
  await refresh(v2);
  const ids = await idsOf(v2, "Users", "ann", "ben", "cleo");
  const sub = `ou=sub,${slapd.usersDn}`;
  await ldap.add(sub, { objectClass: ["organizationalUnit"] });
  await ldap.rename(`uid=cleo,${slapd.usersDn}`, `uid=cleo,${sub}`);
  await ldap.rename(`uid=ben,${slapd.usersDn}`, "uid=bob");
  await ldap.rename(`uid=ann,${slapd.usersDn}`, "uid=ben");
  await refresh(v2);
  assertEquals(
    await idsOf(v2, "Users", "ben", "bob", "cleo"),
    ids,
  );
});

for (const shape of [["saas"], ["local", "saas"]]) {
  Deno.test(`a user who is renamed at a SCIM server keeps the id and the groups (${shape.join(", ")})`, async () => {
    await using saas = startScimServer();
    await using v2 = await startV2World({}, scimToml(saas.url, "t", shape));
    const kim = await v2.add("/Users", { userName: "kim" });
    const staff = await v2.add("/Groups", { displayName: "staff", members: [{ value: kim }] });
    saas.user("kim").userName = "kimberly";
    saas.group("staff").displayName = "crew";
    assertEquals(
      (await v2.patch(`/Users/${kim}`, [{ op: "replace", path: "title", value: "T" }])).status,
      200,
    );
    assertEquals([saas.users.size, saas.user("kimberly").title], [1, "T"]);
    await refresh(v2);
    await assertRenamed(v2, kim, staff);
    assertEquals(
      (await v2.patch(`/Users/${kim}`, [{ op: "replace", path: "active", value: false }])).status,
      200,
    );
    assertEquals([saas.users.size, saas.user("kimberly").active], [1, false]);
  });
}

Deno.test("a rename that this directory cannot follow is reported, and creates no second user", async () => {
  await using saas = startScimServer();
  await using v2 = await startV2World({}, scimToml(saas.url, "t", ["local", "saas"]));
  const kim = await v2.add("/Users", { userName: "kim" });
  const target = v2.gateway.identity.targets.get("default");
  await target?.create(
    { kind: "user", name: "kimberly", active: true, attributes: { name: { familyName: "", givenName: "" } } },
    { actor: ADMIN, backends: ["local"] },
  );
  const kimberly = await idOf(v2, "Users", "kimberly");
  saas.user("kim").userName = "kimberly";
  await refresh(v2, { faults: ["rename_conflict"] });
  assertEquals(await idsOf(v2, "Users", "kim", "kimberly"), [kim, kimberly]);
});

Deno.test("a backend that lists users without end adds no more than the limit", async () => {
  await using saas = startScimServer();
  saas.habits = { endless: true };
  await using v2 = await startV2World({}, scimToml(saas.url, "t", ["saas"]));
  await refresh(v2, { faults: ["addition_limit"] });
  assertEquals(v2.gateway.identity.targets.get("default")?.directory.count("user"), 1000);
});

Deno.test("a first refresh takes what the backend says it has, and a later one at most the limit", async () => {
  await using saas = startScimServer();
  const addUsers = (from: number, to: number) => {
    for (let n = from; n < to; n++) saas.users.set(`u${n}`, { id: `u${n}`, userName: `user${n}` });
  };
  addUsers(0, 1500);
  await using v2 = await startV2World({}, scimToml(saas.url, "t", ["saas"]));
  const count = () => v2.gateway.identity.targets.get("default")?.directory.count("user");
  await refresh(v2);
  assertEquals(count(), 1500);
  addUsers(1500, 2400);
  await refresh(v2);
  assertEquals(count(), 2400, "below 1,000");
  addUsers(2400, 3600);
  await refresh(v2, { faults: ["addition_limit"] });
  assertEquals(count(), 3400);
});

// Values that an LDAP directory takes for the same, or refuses, and names that its entries have twice.

/** Attributes of a new user, and what the directory stores. */
const SAME: readonly {
  readonly given: object;
  readonly attribute: string;
  readonly stored: readonly string[];
}[] = [
  {
    given: { emails: [{ value: "A@x.test", type: "work" }, { value: "a@x.test", type: "home" }] },
    attribute: "mail",
    stored: ["A@x.test"],
  },
  {
    given: { emails: [{ value: "a@x.test" }, { value: "b@x.test" }, { value: " a@x.test" }] },
    attribute: "mail",
    stored: ["a@x.test", "b@x.test"],
  },
  {
    given: { phoneNumbers: [{ value: "+1 555 0100" }, { value: "+15550100" }, { value: "+1-555-0100" }] },
    attribute: "telephoneNumber",
    stored: ["+1 555 0100"],
  },
];

/** Attributes that the directory refuses, and how the answer names them. */
const REFUSED: readonly { readonly given: object; readonly names: string }[] = [
  { given: { phoneNumbers: [{ value: "tel:+1-201-555-0123;ext=102" }] }, names: "phoneNumbers" },
  { given: { phoneNumbers: [{ value: "+1\u2010555" }] }, names: "phoneNumbers" },
  { given: { emails: [{ value: "j\u00f6rg@b\u00fccher.test" }] }, names: "emails" },
];

testNeeding(NEEDS, "values that the directory takes for the same are written once", async () => {
  await using world = await startLdapWorld();
  const { v2, ldap, slapd, specified } = world;
  for (const [at, { given, attribute, stored }] of SAME.entries()) {
    const sorted = async (name: string) =>
      (await ldap.entry(`uid=${name},${slapd.usersDn}`))?.[attribute]?.toSorted();
    const id = await v2.add("/Users", { userName: `user${at}`, ...given });
    assertEquals(await sorted(`user${at}`), stored, attribute);
    const put = { userName: `user${at}`, title: "T", ...given };
    assertEquals((await v2.call("PUT", `/Users/${id}`, { body: put })).status, 200);
    assertEquals(await sorted(`user${at}`), stored, attribute);
    assertEquals((await specified("POST", "/Users", { userName: `other${at}`, ...given })).status, 201);
    assertEquals(await sorted(`other${at}`), stored, attribute);
  }
});

testNeeding(
  NEEDS,
  "a value that the directory refuses is the client's error, and names the attribute",
  async () => {
    await using world = await startLdapWorld();
    const { v2, ldap, slapd, specified } = world;
    const id = await v2.add("/Users", { userName: "there" });
    for (const { given, names } of REFUSED) {
      const post = await v2.call("POST", "/Users", { body: { userName: "ann", ...given } });
      const patch = await v2.patch(`/Users/${id}`, [{ op: "replace", value: given }]);
      for (const { status, json } of [post, patch]) {
        assertEquals([status, json.scimType], [400, "invalidValue"], names);
        assertStringIncludes(String(json.detail), names);
      }
      for (
        const [method, path, userName] of [["POST", "/Users", "ann"], [
          "PUT",
          "/Users/there",
          "there",
        ]] as const
      ) {
        const { status, text } = await specified(method, path, { userName, ...given });
        assertEquals(status, 400, text);
        assertStringIncludes(text, names);
      }
      assertEquals(await ldap.entry(`uid=ann,${slapd.usersDn}`), null, "nothing stays");
    }
  },
);

testNeeding(
  NEEDS,
  "a name that an entry of another object class has is 409, and the entry stays",
  async () => {
    await using world = await startLdapWorld();
    const { v2, ldap, slapd, specified } = world;
    const [user, group] = [`uid=printer,${slapd.usersDn}`, `cn=scanner,${slapd.groupsDn}`];
    await ldap.add(user, { objectClass: ["account"], uid: ["printer"] });
    await ldap.add(group, { objectClass: ["organizationalRole"], cn: ["scanner"] });
    const ann = await v2.add("/Users", { userName: "ann" });
    const team = await v2.add("/Groups", { displayName: "team" });
    const answers = [
      ["userName", await v2.call("POST", "/Users", { body: { userName: "printer" } })],
      ["userName", await v2.patch(`/Users/${ann}`, [{ op: "replace", path: "userName", value: "printer" }])],
      ["displayName", await v2.call("POST", "/Groups", { body: { displayName: "scanner" } })],
      [
        "displayName",
        await v2.patch(`/Groups/${team}`, [{ op: "replace", path: "displayName", value: "scanner" }]),
      ],
    ] as const;
    for (const [name, { status, json }] of answers) {
      assertEquals([status, json.scimType], [409, "uniqueness"], JSON.stringify(json));
      assertStringIncludes(String(json.detail), 'The connector "directory" has another resource');
      assertStringIncludes(String(json.detail), name);
    }
    assertEquals((await specified("POST", "/Users", { userName: "printer" })).status, 409);
    assertEquals((await specified("POST", "/Groups", { displayName: "scanner" })).status, 409);
    assertEquals((await v2.call("GET", "/Users")).json.totalResults, 1);
    assertEquals((await v2.call("GET", "/Groups")).json.totalResults, 1);
    assertEquals((await ldap.entry(user))?.objectClass, ["account"]);
    assertEquals((await ldap.entry(group))?.objectClass, ["organizationalRole"]);
  },
);

testNeeding(NEEDS, "an asynchronous write that the directory refuses is a dead letter at once", async () => {
  await using world = await startLdapWorld({ mode: "async" });
  const target = world.v2.gateway.identity.targets.get("default");
  await world.v2.add("/Users", { userName: "ann", phoneNumbers: [{ value: "tel:+1;ext=1" }] });
  await eventually("it is a dead letter", () => target?.pendingWrites(1)[0]?.nextMs === null);
  assertStringIncludes(String(target?.pendingWrites(1)[0]?.why), "phoneNumbers");
});

testNeeding(NEEDS, "Active Directory: the earlier name of a renamed user or group is free", async () => {
  await using world = await startLdapWorld({ schema: "active_directory" });
  const { v2, ldap, slapd } = world;
  const ann = await v2.add("/Users", { userName: "ann" });
  const team = await v2.add("/Groups", { displayName: "team", members: [{ value: ann }] });
  assertEquals(
    (await v2.patch(`/Users/${ann}`, [{ op: "replace", path: "userName", value: "beth" }])).status,
    200,
  );
  const renamed = await v2.patch(`/Groups/${team}`, [{ op: "replace", path: "displayName", value: "crew" }]);
  assert(renamed.status < 300);
  const beth = `cn=beth,${slapd.usersDn}`;
  assertEquals((await ldap.entry(beth))?.sAMAccountName, ["beth"]);
  assertEquals((await ldap.entry(`cn=crew,${slapd.groupsDn}`))?.member, [beth]);
  await v2.add("/Users", { userName: "ann" });
  await v2.add("/Groups", { displayName: "team" });
  assertEquals((await ldap.entry(`cn=ann,${slapd.usersDn}`))?.sAMAccountName, ["ann"]);
});

testNeeding(NEEDS, "Active Directory: a CN that another entry has does not block a name", async () => {
  await using world = await startLdapWorld({ schema: "active_directory" });
  const { v2, ldap, slapd } = world;
  const foreign = (name: string, of: "user" | "group") =>
    ldap.add(`cn=${name},${of === "user" ? slapd.usersDn : slapd.groupsDn}`, {
      objectClass: of === "user" ? ["person", "organizationalPerson", "user"] : ["group"],
      sAMAccountName: [`${name}.other`],
    });
  await foreign("ann", "user");
  await foreign("team", "group");
  await foreign("zoe", "user");
  const ann = await v2.add("/Users", { userName: "ann" });
  await v2.add("/Groups", { displayName: "team", members: [{ value: ann }] });
  assertEquals((await ldap.entry(`cn=ann (2),${slapd.usersDn}`))?.sAMAccountName, ["ann"]);
  assertEquals((await ldap.entry(`cn=team (2),${slapd.groupsDn}`))?.sAMAccountName, ["team"]);
  assertEquals(
    (await v2.patch(`/Users/${ann}`, [{ op: "replace", path: "userName", value: "zoe" }])).status,
    200,
  );
  assertEquals((await ldap.entry(`cn=ann (2),${slapd.usersDn}`))?.sAMAccountName, ["zoe"]);
  assertEquals((await v2.patch(`/Users/${ann}`, [{ op: "replace", path: "title", value: "T" }])).status, 200);
});

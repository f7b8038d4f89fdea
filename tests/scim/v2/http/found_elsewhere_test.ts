// Resources that only a connector has, and names that change there: what refuses a create is found, and a rename keeps the id.

import { assert, assertEquals } from "@std/assert";
import { startScimServer } from "../../../fakes/scim_server.ts";
import { startScimmy } from "../../../support/scimmy_server.ts";
import { testNeeding } from "../../../support/skip_unless.ts";
import { credentialsToml } from "../../rows/rows_world.ts";
import { type LdapWorld, startLdapWorld } from "./ldap_world.ts";
import { startV2World, type V2World } from "./v2_world.ts";

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
  credentialsToml(["default"]) +
  shape.map((name) =>
    name === "local"
      ? '[targets.default.backends.local]\nkind = "store"\n'
      : `[targets.default.backends.${name}]\nkind = "scim"\nurl = "${url}"\ntoken = "${token}"\n`
  ).join("");

/** A filter that finds one resource, and its id. */
async function idOf(v2: V2World, collection: "Users" | "Groups", name: string): Promise<string | null> {
  const attribute = collection === "Users" ? "userName" : "displayName";
  const filter = encodeURIComponent(`${attribute} eq "${name}"`);
  const { json } = await v2.call("GET", `/${collection}?filter=${filter}`);
  const [found] = json.Resources as { id: string }[] | undefined ?? [];
  return found?.id ?? null;
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
        assertEquals([await idOf(v2, "Users", "kim"), await idOf(v2, "Users", "kimberly")], [null, kim]);
        assertEquals([await idOf(v2, "Groups", "staff"), await idOf(v2, "Groups", "crew")], [null, staff]);
        const group = await v2.call("GET", `/Groups/${staff}`);
        assertEquals((group.json.members as { value: string }[]).map(({ value }) => value), [kim]);
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
  const ids = [
    await idOf(v2, "Users", "ann"),
    await idOf(v2, "Users", "ben"),
    await idOf(v2, "Users", "cleo"),
  ];
  const sub = `ou=sub,${slapd.usersDn}`;
  await ldap.add(sub, { objectClass: ["organizationalUnit"] });
  await ldap.rename(`uid=cleo,${slapd.usersDn}`, `uid=cleo,${sub}`);
  await ldap.rename(`uid=ben,${slapd.usersDn}`, "uid=bob");
  await ldap.rename(`uid=ann,${slapd.usersDn}`, "uid=ben");
  await refresh(v2);
  assertEquals(
    [await idOf(v2, "Users", "ben"), await idOf(v2, "Users", "bob"), await idOf(v2, "Users", "cleo")],
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
    assertEquals([await idOf(v2, "Users", "kim"), await idOf(v2, "Users", "kimberly")], [null, kim]);
    assertEquals([await idOf(v2, "Groups", "staff"), await idOf(v2, "Groups", "crew")], [null, staff]);
    const group = await v2.call("GET", `/Groups/${staff}`);
    assertEquals((group.json.members as { value: string }[]).map(({ value }) => value), [kim]);
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
  assertEquals([await idOf(v2, "Users", "kim"), await idOf(v2, "Users", "kimberly")], [kim, kimberly]);
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

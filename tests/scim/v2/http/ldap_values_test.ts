// Values that an LDAP directory takes for the same, or refuses, and names that its entries have twice.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { testNeeding } from "../../../support/skip_unless.ts";
import { eventually } from "../../../upstream/manual_clock.ts";
import { startLdapWorld } from "./ldap_world.ts";

const NEEDS = { peers: ["slapd"] } as const;

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

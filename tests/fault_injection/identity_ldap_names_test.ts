// Names that LDAP, a DN or slapd treat differently from SCIM, with the real program and a real slapd.

import { assert, assertEquals } from "@std/assert";
import { testNeeding } from "../support/skip_unless.ts";
import { textsAt } from "../scim/rows/document_tables.ts";
import { eventuallyPasses, startIdentityWorld, userBody } from "./identity_world.ts";

const NEEDS = { peers: ["slapd"] } as const;
const pathOf = (collection: string, name: string) => `${collection}/${encodeURIComponent(name)}`;

/** Names with a meaning in a DN, a filter or slapd's matching. */
const NAMES: readonly string[] = [
  "comma, inside",
  "plus+sign",
  'quote"d',
  "back\\slash",
  "equals=sign",
  "less<more>",
  "semi;colon",
  "#hash first",
  "two  blanks",
  "star*",
  "paren(theses)",
  "uid=x,ou=people",
  "\\2a",
  "日本語",
  "Zo\u00eb",
  "İstanbul",
  "straße",
  "🦊",
  "x".repeat(200),
];

testNeeding(
  NEEDS,
  "names with a meaning in LDAP are created, found, made members, refreshed and deleted",
  async (context) => {
    await using world = await startIdentityWorld("sync");
    const { scim, ldap, slapd } = world;
    for (const name of NAMES) {
      await context.step(JSON.stringify(name.slice(0, 30)), async () => {
        const created = await scim.post("/Users", { ...userBody(name, "first") });
        assertEquals(created.status, 201, created.text);
        const people = Object.values(await ldap.below(slapd.usersDn));
        assertEquals(people.map(({ uid }) => uid), [[name]]);
        const group = await scim.post("/Groups", { displayName: name, members: [{ display: name }] });
        assertEquals(group.status, 201, group.text);
        const path = pathOf("/Users", name);
        assertEquals((await scim.put(path, userBody(name, "second"))).status, 200);
        const refreshed = await scim.get(`${path}?refresh=true`);
        assertEquals([refreshed.json.userName, refreshed.json.title], [name, "second"], refreshed.text);
        const team = await scim.get(`${pathOf("/Groups", name)}?refresh=true`);
        assertEquals(
          [team.json.displayName, textsAt(team.json, "members[].display")],
          [name, [name]],
          team.text,
        );
        assertEquals((await scim.remove(path)).status, 204);
        assertEquals(await ldap.below(slapd.usersDn), {});
        assertEquals(
          textsAt((await scim.get(`${pathOf("/Groups", name)}?refresh=true`)).json, "members[].display"),
          [],
        );
        assertEquals((await scim.remove(pathOf("/Groups", name))).status, 204);
        assertEquals(await ldap.below(slapd.groupsDn), {});
      });
    }
  },
);

/** Pairs of names that are different here and equal in slapd. */
const ALIKE: readonly (readonly [string, string])[] = [
  ["anna b", "anna  b"],
  ["straße", "strasse"],
  ["anna", "\uff41nna"],
];
for (const [first, second] of ALIKE) {
  testNeeding(
    NEEDS,
    `${JSON.stringify(first)} and ${
      JSON.stringify(second)
    }: slapd cannot hold both, or does; the first suffers nothing`,
    async () => {
      await using world = await startIdentityWorld("sync");
      const { scim, ldap } = world;
      await scim.post("/Users", userBody(first, "first"));
      await scim.post("/Groups", { displayName: "team", members: [{ display: first }] });
      const before = await ldap.entry(world.groupDn("team"));
      const created = await scim.post("/Users", userBody(second, "second"));
      assert([201, 409, 502].includes(created.status), created.text);
      assertEquals((await scim.get(pathOf("/Users", second))).status, created.status === 201 ? 200 : 404);
      if (created.status === 201) assertEquals((await scim.remove(pathOf("/Users", second))).status, 204);
      // Neither the attempt nor a removal of the other name changed the first.
      await scim.post("/Users?backends=local", userBody(second, "second"));
      assertEquals((await scim.remove(pathOf("/Users", second))).status, 204);
      const held = await scim.get(`${pathOf("/Users", first)}?refresh=true`);
      assertEquals([held.status, held.json.title], [200, "first"]);
      assertEquals(await ldap.entry(world.groupDn("team")), before);
      assertEquals(textsAt(held.json, "groups[].display"), ["team"]);
    },
  );
}

for (const delayMs of [0, 300]) {
  testNeeding(
    NEEDS,
    `a deactivated user is in no group of any backend, and stays out after a reactivation: slapd gets the group ${delayMs} ms later`,
    async () => {
      await using world = await startIdentityWorld("sync");
      const { scim, ldap, wire } = world;
      for (const name of ["stays", "rests"]) await scim.post("/Users", userBody(name, "x"));
      await scim.post("/Groups", {
        displayName: "team",
        members: ["stays", "rests"].map((display) => ({ display })),
      });
      wire.decide(async ({ dn }) => {
        if (dn === world.groupDn("team")) await new Promise((resolve) => setTimeout(resolve, delayMs));
        return "pass" as const;
      });
      const off = await scim.put("/Users/rests", { ...userBody("rests", "x"), active: false });
      assertEquals(off.status, 200);
      const shown = async () => textsAt((await scim.get("/Groups/team")).json, "members[].display");
      assertEquals(await shown(), ["stays"]);
      await scim.get("/Groups/team?refresh=true");
      await scim.get("/Users?refresh=true");
      assertEquals(await shown(), ["stays"]);
      assertEquals((await scim.put("/Users/rests", userBody("rests", "x"))).json.active, true);
      await scim.get("/Groups?refresh=true");
      assertEquals([await shown(), (await scim.get("/Users/rests")).json.groups], [["stays"], undefined]);
      await eventuallyPasses("slapd has the group without the user", async () => {
        assertEquals((await ldap.entry(world.groupDn("team")))?.member, [world.userDn("stays")]);
      });
      await scim.get("/Groups?refresh=true");
      assertEquals([await shown(), (await scim.get("/Users/rests")).json.groups], [["stays"], undefined]);
    },
  );
}

testNeeding(NEEDS, "another spelling of a name is the same entry: replaced, a member, deleted", async () => {
  await using world = await startIdentityWorld("sync");
  const { scim, ldap, slapd } = world;
  await scim.post("/Users", userBody("anna", "first"));
  const replaced = await scim.put("/Users/ANNA", userBody("Anna", "second"));
  assertEquals([replaced.status, replaced.json.userName], [200, "Anna"]);
  assertEquals(Object.values(await ldap.below(slapd.usersDn)).map(({ title }) => title), [["second"]]);
  await scim.post("/Groups", { displayName: "team", members: [{ display: "aNNa" }, { value: "ANNA" }] });
  assertEquals(textsAt((await scim.get("/Groups/team?refresh=true")).json, "members[].display").length, 1);
  assertEquals((await scim.remove("/Users/anna")).status, 204);
  assertEquals(await ldap.below(slapd.usersDn), {});
});

// Both mapping tables of the specification, row by row, with the real process: what is written to a SCIM attribute is
// read there again.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { bodyWith, GROUP_MAPPING, textsAt, USER_MAPPING } from "./document_tables.ts";
import { type RowsWorld, startRowsWorld } from "./rows_world.ts";

let world: RowsWorld;
Deno.test.beforeAll(async () => void (world = await startRowsWorld()));
Deno.test.afterAll(() => world.dispose());

type Resource = Readonly<Record<string, unknown>>;

/** A resource of a list, found by its name. */
async function listed(collection: string, name: string): Promise<Resource | undefined> {
  const { json } = await world.get(`${collection}?q=${encodeURIComponent(name)}`);
  return (json.Resources as Resource[]).find(({ id }) => id === name);
}

const IS_NAME = new Set(["id", "externalId", "displayName"]);

for (const [at, [scim, frontEnd]] of USER_MAPPING.entries()) {
  if (IS_NAME.has(scim)) {
    Deno.test(`User: ${scim} is ${frontEnd}, for any body with a userName`, async () => {
      const name = `Mapped ${at}`;
      const created = await world.post("/Users", { userName: name, [scim]: "something else" });
      for (const one of [created.json, (await world.get(`/Users/Mapped%20${at}`)).json]) {
        assertEquals([one[scim], one.userName], [name, name]);
      }
      assertEquals((await listed("/Users", name))?.[scim], name);
      assertEquals((await world.get("/Users/something%20else")).status, 404);
    });
    Deno.test(`User: ${scim} names a user whose body has no userName`, async () => {
      const name = `named by ${scim}`;
      const created = await world.post("/Users", { [scim]: name });
      assertEquals([created.status, created.json.userName, created.json[scim]], [201, name, name]);
    });
    continue;
  }
  Deno.test(`User: ${scim} is stored, shown, listed and replaced`, async () => {
    const userName = `mapped${at}`;
    const created = await world.post("/Users", { userName, ...bodyWith(scim, "the first text") });
    assertEquals([created.status, textsAt(created.json, scim)], [201, ["the first text"]]);
    assertEquals(textsAt((await world.get(`/Users/${userName}`)).json, scim), ["the first text"]);
    assertEquals(textsAt(await listed("/Users", userName) ?? {}, scim), ["the first text"]);

    const replaced = await world.put(`/Users/${userName}`, { userName, ...bodyWith(scim, "the second") });
    assertEquals(textsAt(replaced.json, scim), ["the second"]);
    const emptied = await world.put(`/Users/${userName}`, { userName });
    // The two parts of a name are always present.
    const left = scim === "name.familyName" || scim === "name.givenName" ? [""] : [];
    assertEquals(textsAt(emptied.json, scim), left);
    assertEquals((await world.get(`/Users/${userName}`)).text, emptied.text);
  });
}

for (const [scim, frontEnd] of GROUP_MAPPING) {
  if (!IS_NAME.has(scim)) continue;
  Deno.test(`Group: ${scim} is ${frontEnd}`, async () => {
    const displayName = `mapped by ${scim}`;
    const created = await world.post("/Groups", { id: "x", externalId: "y", displayName });
    assertEquals([created.status, created.json[scim]], [201, displayName]);
    const { json } = await world.get(`/Groups/${encodeURIComponent(displayName)}`);
    assertEquals(json[scim], displayName);
    assertEquals((await listed("/Groups", displayName))?.[scim], displayName);
    const { status, json: other } = await world.post("/Groups", { [scim]: `only ${scim}` });
    assertEquals([status, other.displayName, other.id], [201, `only ${scim}`, `only ${scim}`]);
  });
}

Deno.test("Group: members[].display is member, and a value names a member too", async () => {
  await world.post("/Users", { userName: "Anna" });
  const created = await world.post("/Groups", {
    displayName: "members",
    members: [{ display: "anna" }, { value: "Bert" }, { display: "", value: "Carla" }, { display: "ANNA" }],
  });
  assertEquals(created.status, 201, created.text);
  const { json } = await world.get("/Groups/members");
  assertEquals(textsAt(json, "members[].display").map((name) => String(name).toLowerCase()), [
    "anna",
    "bert",
    "carla",
  ]);
  assertEquals(textsAt(json, "members[].value"), textsAt(json, "members[].display"));
  assertEquals(textsAt((await world.get("/Users/anna")).json, "groups[].display"), ["members"]);
  const emptied = await world.put("/Groups/members", { displayName: "members" });
  assertEquals([emptied.status, emptied.json.members], [200, []]);
  assertEquals((await world.get("/Users/anna")).json.groups, undefined);
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
  const created = await world.post("/Users", { userName: "identical", ...given });
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
  await world.post("/Users", { userName: "ordered", emails, addresses });
  const { json } = await world.get("/Users/ordered");
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
    const { json } = await world.post("/Users", { userName: `spelled${at}`, ...given });
    assertEquals(textsAt(json, scim), ["8001"]);
  });
}

Deno.test("a user without any name gets a UUID, and so does a group", async () => {
  for (const [collection, field] of [["/Users", "userName"], ["/Groups", "displayName"]] as const) {
    const { status, json } = await world.post(collection, {});
    assertMatch(String(json[field]), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assertEquals([status, json.id], [201, json[field]]);
    assertEquals((await world.get(`${collection}/${json.id}`)).status, 200);
  }
});

Deno.test("a target's own mapping: externalId with its own front-end attribute is separate from the name", async () => {
  const own = (path: string, method = "GET", body?: unknown) =>
    world.call(path, { target: "own", method, ...body === undefined ? {} : { body } });
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
    const created = await world.post(collection, { schemas: [], [field]: "bare" });
    assertEquals(created.status, 201);
    assertEquals((await world.put(`${collection}/bare`, {})).status, 200);
    const { json } = await world.get(`${collection}/bare`);
    assertEquals([json.id, json[field]], ["bare", "bare"]);
  }
});

// SCIMMY as a client: it builds the messages, checks each answer against its own schemas, and computes for itself what a
// PATCH and a filter should give. The program must agree.

import { assertEquals } from "@std/assert";
import SCIMMY from "../../../packages/scimmy.ts";
import type { SuiteServer } from "./suite_run.ts";
import { ENTERPRISE, GROUP, PATCH_OP, SEARCH_REQUEST, USER } from "./suite_steps.ts";
import { startSuiteWorld } from "./suite_world.ts";

type ListBody = ConstructorParameters<typeof SCIMMY.Messages.ListResponse>[0];
type PatchBody = ConstructorParameters<typeof SCIMMY.Messages.PatchOp>[0];
type Json = Record<string, unknown> & { id: string };

function createClient({ baseUrl, authorization }: SuiteServer) {
  return async (method: string, path: string, body?: unknown): Promise<{ status: number; json: Json }> => {
    const response = await fetch(baseUrl + path, {
      method,
      headers: { authorization, "content-type": "application/scim+json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, json: text === "" ? {} as Json : JSON.parse(text) };
  };
}

/** A resource as SCIMMY reads it. It throws for what its schemas do not allow. */
const userOf = (json: Json): Json => JSON.parse(JSON.stringify(new SCIMMY.Schemas.User(json, "out")));
const groupOf = (json: Json): Json => JSON.parse(JSON.stringify(new SCIMMY.Schemas.Group(json, "out")));

/** Everybody has a name and an address: its filter fails for complex attributes without a value. */
const PEOPLE = [
  {
    ...{ userName: "ada@example.com", displayName: "Ada", title: "Dr.", active: true },
    name: { givenName: "Ada", familyName: "Byron" },
    emails: [{ value: "ada@example.com", type: "work", primary: true }, {
      value: "a@home.example",
      type: "home",
    }],
  },
  {
    userName: "bob@example.com",
    displayName: "Bob",
    active: false,
    name: { familyName: "Bell" },
    emails: [{ value: "b@example.org", type: "work" }],
  },
  {
    ...{ userName: "cid@example.com", nickName: "Cid", active: true, name: { familyName: "Cole" } },
    emails: [{ value: "c@example.net", type: "other" }],
  },
];

const FILTERS = [
  'userName eq "ada@example.com"',
  'userName sw "b" or nickName pr',
  'emails[type eq "work" and value ew "example.org"]',
  'emails.type eq "home"',
  "not (title pr) and active eq true",
  'name.familyName co "yro"',
  'displayName ne "Ada" and active eq false',
  'meta.resourceType eq "User"',
];

const PATCHES: readonly (readonly Record<string, unknown>[])[] = [
  [{ op: "replace", path: "title", value: "Prof." }],
  [{ op: "add", path: "nickName", value: "Addie" }, { op: "remove", path: "title" }],
  [{ op: "replace", path: 'emails[type eq "home"].value', value: "new@home.example" }],
  [{ op: "remove", path: 'emails[type eq "home"]' }],
  [{ op: "add", value: { displayName: "A. Byron", name: { middleName: "K." } } }],
  [{ op: "add", path: "emails", value: [{ value: "o@example.net", type: "other" }] }],
  // SCIMMY would remove the other parts of a name here, against RFC 7644 §3.5.2.3.
  [{ op: "replace", path: "name", value: { givenName: "Augusta", familyName: "Byron", middleName: "L." } }],
  [{ op: "remove", path: "emails" }],
];

/** What a PATCH can change; SCIMMY also compares nothing else. */
function comparable({ meta: _meta, id: _id, schemas: _schemas, ...rest }: Json): unknown {
  return JSON.parse(JSON.stringify(rest, Object.keys(rest).sort().concat(SUB_ATTRIBUTES)));
}
const SUB_ATTRIBUTES = [
  ...["value", "type", "primary", "display"],
  ...["givenName", "familyName", "middleName", "formatted"],
];

Deno.test("SCIMMY provisions users and groups, and agrees about each PATCH and filter", async () => {
  await using world = await startSuiteWorld();
  const call = createClient(await world.server("scimmy"));

  const users: Json[] = [];
  for (const person of PEOPLE) {
    const body = new SCIMMY.Schemas.User({ schemas: [USER], ...person }, "in");
    const { status, json } = await call("POST", "/Users", body);
    assertEquals(status, 201, JSON.stringify(json));
    users.push(userOf(json));
  }

  for (const filter of FILTERS) {
    const expected = new SCIMMY.Types.Filter(filter).match(users).map(({ id }: Json) => id);
    const body = new SCIMMY.Messages.SearchRequest({ schemas: [SEARCH_REQUEST], filter, sortBy: "userName" });
    const { status, json } = await call("POST", "/Users/.search", body);
    assertEquals(status, 200, JSON.stringify(json));
    const list = new SCIMMY.Messages.ListResponse(json as unknown as ListBody);
    assertEquals(list.Resources.map(({ id }) => id), expected, filter);
    assertEquals(list.totalResults, expected.length);
  }

  const [ada] = users;
  if (ada === undefined) throw new Error("no user");
  let current = (await call("GET", `/Users/${ada.id}`)).json;
  for (const Operations of PATCHES) {
    const message = new SCIMMY.Messages.PatchOp({ schemas: [PATCH_OP], Operations } as unknown as PatchBody);
    const expected = await message.apply(new SCIMMY.Schemas.User(current, "both"));
    const { status, json } = await call("PATCH", `/Users/${ada.id}`, { schemas: [PATCH_OP], Operations });
    assertEquals([200, 204].includes(status), true, JSON.stringify(json));
    current = (await call("GET", `/Users/${ada.id}`)).json;
    // SCIMMY returns nothing if nothing changed.
    const wanted = expected === undefined ? userOf(current) : JSON.parse(JSON.stringify(expected));
    assertEquals(comparable(userOf(current)), comparable(wanted), JSON.stringify(Operations));
  }

  const enterprise = { schemas: [USER, ENTERPRISE], ...PEOPLE[2], [ENTERPRISE]: { department: "Sales" } };
  const replaced = await call("PUT", `/Users/${users[2]?.id}`, enterprise);
  assertEquals(replaced.status, 200);
  assertEquals(replaced.json[ENTERPRISE], { department: "Sales" });

  const made = await call("POST", "/Groups", {
    schemas: [GROUP],
    displayName: "Staff",
    members: [{ value: ada.id }],
  });
  assertEquals(made.status, 201);
  assertEquals((groupOf(made.json).members as Json[]).map(({ value }) => value), [ada.id]);

  const config = new SCIMMY.Schemas.ServiceProviderConfig(
    (await call("GET", "/ServiceProviderConfig")).json,
    "out",
  );
  assertEquals(config.patch.supported, true);
  for (const { id } of users) assertEquals((await call("DELETE", `/Users/${id}`)).status, 204);
  assertEquals((await call("DELETE", `/Groups/${made.json.id}`)).status, 204);
});

// What the specified interface stored stays, whatever the full interface changes elsewhere in the resource.

import { assertEquals } from "@std/assert";
import { startV2World } from "./v2_world.ts";

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

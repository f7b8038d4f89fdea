// Conversion between the stored content and the JSON of RFC 7643, in both directions.

import { assertEquals } from "@std/assert";
import fc from "../../../packages/fast_check.ts";
import { isJsonArray } from "../../../../scim/schema/json_limits.ts";
import type { Content, JsonObject, JsonValue, UserContent } from "../../../../scim/schema/resource.ts";
import { memberIdsOf, renderContent, toStoredContent } from "../../../../scim/v2/schema/stored_content.ts";
import { bodyOf, contentOf, refused, taken } from "../../schema/bodies.ts";
import { ENTERPRISE_USER } from "../../schema/rfc7643_examples.ts";
import { resources, storedUsers } from "./random_resources.ts";
import { accepted, BADGE_URN, ENTERPRISE_URN, outcomeOf, typeOf, USER_URN } from "./read_bodies.ts";

const USER = typeOf("user");
const GROUP = typeOf("group");

/** What a GET shows of a stored user. */
const shown = (attributes: JsonObject) => {
  const content: UserContent = { kind: "user", name: "ada", active: true, attributes };
  const { schemas: _, userName: _name, active: _active, ...rest } = renderContent(content, USER);
  return rest;
};

/** The stored attributes after a PUT of `resource`. */
const storedAfter = (resource: JsonObject, attributes: JsonObject) => {
  const previous: UserContent = { kind: "user", name: "ada", active: true, attributes };
  return taken(toStoredContent({ userName: "ada", ...resource }, USER, { previous })).content.attributes;
};

const NO_NAME = { name: { familyName: "", givenName: "" } };

Deno.test("toStoredContent() and renderContent() keep the example of RFC 7643 §8.2 and §8.3", () => {
  const { resource } = taken(outcomeOf("user", bodyOf(ENTERPRISE_USER)));
  const { content, externalId, password } = taken(toStoredContent(resource, USER));
  assertEquals([externalId, password], ["701984", "t1meMa$heen"]);
  const { password: _, ...expected } = resource;
  assertEquals(renderContent(content, USER, { externalId: "701984" }), expected);
});

/** Stored attributes of the other interface, and what this one shows. */
const STORED: readonly [string, JsonObject, JsonObject][] = [
  ["an empty name", NO_NAME, {}],
  ["a name with empty parts", { name: { familyName: "", givenName: "A" } }, { name: { givenName: "A" } }],
  ["imgs", { imgs: [{ value: "a" }] }, { ims: [{ value: "a" }] }],
  ["postralCode", { addresses: [{ postralCode: "1", x: 2 }] }, { addresses: [{ postalCode: "1" }] }],
  ["a core manager", { manager: { value: "m", displayName: "M" } }, {
    [ENTERPRISE_URN]: { manager: { value: "m", displayName: "M" } },
  }],
  ["an attribute without a schema", { shoeSize: 43, externalId: "x" }, {}],
  ["an attribute of a custom extension in another case", {
    [BADGE_URN.toUpperCase().replace("URN", "urn")]: { NUMBER: 5 },
  }, {
    [BADGE_URN]: { number: 5 },
  }],
  ["a value of another type", { [BADGE_URN]: { number: "x", doors: "a", issued: "x" } }, {
    [BADGE_URN]: { doors: ["a"] },
  }],
  ["numbers and booleans that a backend has as texts", {
    [BADGE_URN]: { number: "-5", weight: "1.50", isLost: "TRUE", floors: [{ value: "3", primary: "false" }] },
  }, { [BADGE_URN]: { number: -5, weight: 1.5, isLost: true, floors: [{ value: 3, primary: false }] } }],
  ...["5.5", "0x10", " 5", "", "Infinity", "1e3", "9".repeat(16)].map((
    number,
  ): [string, JsonObject, JsonObject] => [`no number in ${JSON.stringify(number)}`, {
    [BADGE_URN]: { number },
  }, {}]),
  ["an extension without a schema", { "urn:x:y:z": { a: 1 } }, {}],
];

for (const [name, stored, expected] of STORED) {
  Deno.test(`renderContent() shows ${name} as RFC 7643 spells it, and a PUT of that changes nothing`, () => {
    assertEquals(shown(stored), expected);
    assertEquals(storedAfter(accepted("user", { userName: "ada", ...expected }), stored), {
      ...NO_NAME,
      ...stored,
    });
  });
}

/** Stored attributes, the resource of a PUT, and the attributes that are stored then. */
const CHANGED: readonly [string, JsonObject, JsonObject, JsonObject][] = [
  ["a new list", {}, { ims: [{ value: "a" }] }, { imgs: [{ value: "a" }] }],
  ["one changed address", { addresses: [{ postralCode: "1", x: 2 }, { postralCode: "3", y: 4 }] }, {
    addresses: [{ postalCode: "9" }, { postalCode: "3" }],
  }, { addresses: [{ postralCode: "9" }, { postralCode: "3", y: 4 }] }],
  ["another core manager, without the name of the previous one", {
    manager: { value: "m", displayName: "M" },
  }, {
    [ENTERPRISE_URN]: { manager: { value: "n" }, division: "D" },
  }, { manager: { value: "n" }, [ENTERPRISE_URN]: { division: "D" } }],
  ["no manager", { manager: { value: "m" } }, {}, {}],
  ["a first manager", {}, { [ENTERPRISE_URN]: { manager: { value: "n" } } }, {
    [ENTERPRISE_URN]: { manager: { value: "n" } },
  }],
  ["no title beside an attribute without a schema", { title: "T", shoeSize: 43 }, {}, { shoeSize: 43 }],
  ["a value that was of another type", { [BADGE_URN]: { number: "5" } }, { [BADGE_URN]: { number: 6 } }, {
    [BADGE_URN]: { number: 6 },
  }],
  [
    "an extension without values beside a readOnly one",
    { [BADGE_URN]: { number: 5, lastSeen: "2026-01-31T12:00:00Z" } },
    {},
    {
      [BADGE_URN]: { lastSeen: "2026-01-31T12:00:00Z" },
    },
  ],
];

for (const [name, before, resource, expected] of CHANGED) {
  Deno.test(`toStoredContent() stores ${name}`, () => {
    assertEquals(storedAfter(resource, before), { ...NO_NAME, ...expected });
  });
}

Deno.test("toStoredContent() reads activity, the members that the caller gives, and no members of a user", () => {
  assertEquals(taken(toStoredContent({ userName: "ada", active: false }, USER)).content, {
    kind: "user",
    name: "ada",
    active: false,
    attributes: NO_NAME,
  });
  assertEquals(
    taken(toStoredContent({ displayName: "G" }, GROUP, { members: ["Ada", "ada", "eve"] })).content,
    {
      kind: "group",
      name: "G",
      attributes: {},
      members: ["Ada", "eve"],
    },
  );
});

Deno.test("toStoredContent() refuses names and passwords that cannot be stored", () => {
  const previous: UserContent = { kind: "user", name: " ada", active: true, attributes: {} };
  for (const userName of ["a/..", "", "a\u0000b", ".search", " ada", "a\u200bb", "x".repeat(257)]) {
    assertEquals(refused(toStoredContent({ userName }, USER)).scimType, "invalidValue", userName);
  }
  for (const password of ["", "x".repeat(1025)]) {
    assertEquals(refused(toStoredContent({ userName: "ada", password }, USER)).scimType, "invalidValue");
  }
  // A name that exists may stay.
  assertEquals(taken(toStoredContent({ userName: " Ada" }, USER, { previous })).content.name, " Ada");
  assertEquals(refused(toStoredContent({ userName: "ada " }, USER, { previous })).scimType, "invalidValue");
});

Deno.test("memberIdsOf() lists each id once, and refuses a member without one", () => {
  const read = (members: readonly JsonObject[], sent: JsonValue = members) => memberIdsOf({ members }, sent);
  assertEquals(read([{ value: "a" }, { value: "b", type: "User" }, { value: "a" }]), {
    ok: true,
    ids: ["a", "b"],
  });
  assertEquals(memberIdsOf({}, undefined), { ok: true, ids: [] });
  for (const none of [null, [], {}]) assertEquals(read([], none), { ok: true, ids: [] });
  const references = ["https://x.test/scim/v2/t/Users/a", "../Users/a/", "Users/%61", "/scim/v2/t/users/a"];
  for (const $ref of references) assertEquals(read([{ $ref }]), { ok: true, ids: ["a"] }, $ref);
  for (const $ref of ["x", "../Groups/a", "../Users/", "../Users/%zz"]) {
    assertEquals(read([{ $ref }]).ok, false);
  }
  // What the body lost on the way would be a member that is dropped.
  const lost: readonly JsonValue[] = [[{}], [null], [{ value: "a" }, { display: "np" }], { display: "np" }];
  for (const sent of lost) {
    assertEquals(read(isJsonArray(sent) && sent.length > 1 ? [{ value: "a" }] : [], sent).ok, false);
  }
});

Deno.test("renderContent() renders the parts that the caller gives, and no password", () => {
  const content = contentOf("group", { displayName: "G", members: [{ value: "ada" }], password: "x" });
  assertEquals(renderContent(content, GROUP), { schemas: [GROUP.schema.id], displayName: "G" });
  const parts = { id: "1", externalId: "e", members: [{ value: "2" }], meta: { resourceType: "Group" } };
  assertEquals(Object.keys(renderContent(content, GROUP, parts)), [
    "schemas",
    "id",
    "externalId",
    "displayName",
    "members",
    "meta",
  ]);
  const secret = { kind: "user", name: "a", active: true, attributes: { password: "x" } } as const;
  assertEquals(renderContent(secret, USER), { schemas: [USER_URN], userName: "a", active: true });
});

/** The JSON of a resource after a GET, without what the server adds. */
const afterGet = (content: Content, externalId: string | undefined) =>
  renderContent(content, USER, externalId === undefined ? {} : { externalId });

Deno.test("law: a resource that was stored is read again as it was sent", () => {
  fc.assert(fc.property(resources, (body) => {
    const { resource } = taken(outcomeOf("user", { userName: "ada", active: true, ...body }));
    const { content, externalId } = taken(toStoredContent(resource, USER));
    assertEquals(afterGet(content, externalId), resource);
  }));
});

Deno.test("law: a PUT of what a GET showed changes nothing that is stored", () => {
  fc.assert(fc.property(storedUsers, (attributes) => {
    const previous = contentOf("user", { userName: "ada", ...attributes });
    const shown = renderContent(previous, USER);
    const { resource } = taken(outcomeOf("user", shown, { previous: shown }));
    assertEquals(taken(toStoredContent(resource, USER, { previous })).content, previous);
  }));
});

Deno.test("law: after a PUT, a GET shows what was sent, whatever was stored", () => {
  fc.assert(fc.property(resources, storedUsers, (body, attributes) => {
    const previous = contentOf("user", { userName: "ada", ...attributes });
    const { resource } = taken(outcomeOf("user", { userName: "ada", active: true, ...body }));
    const { content, externalId } = taken(toStoredContent(resource, USER, { previous }));
    const { manager: _sent, ...sent } = enterpriseOf(resource);
    const { manager: _read, ...read } = enterpriseOf(afterGet(content, externalId));
    assertEquals({ ...afterGet(content, externalId), [ENTERPRISE_URN]: read, schemas: [] }, {
      ...resource,
      [ENTERPRISE_URN]: sent,
      schemas: [],
    });
  }));
});

const enterpriseOf = (resource: JsonObject) => (resource[ENTERPRISE_URN] ?? {}) as JsonObject;

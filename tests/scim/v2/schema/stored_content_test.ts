// What is stored of a body, and which attributes an answer has.

import { assert, assertEquals } from "@std/assert";
import fc from "../../../packages/fast_check.ts";
import {
  isJsonArray,
  MAX_GROUP_JSON_VALUES,
  MAX_GROUP_OCTETS,
  parseJsonObject,
} from "../../../../scim/schema/attributes.ts";
import { MAX_MEMBERS } from "../../../../scim/schema/attributes.ts";
import type {
  Content,
  JsonObject,
  JsonValue,
  Stored,
  UserContent,
} from "../../../../scim/schema/resource.ts";
import {
  type ProjectionParameters,
  readGroupsOnce,
  readProjection,
  renderResponse,
  renderStored,
} from "../../../../scim/v2/schema/render_stored.ts";
import { memberIdsOf, renderContent, toStoredContent } from "../../../../scim/v2/schema/stored_content.ts";
import { bodyOf, contentOf, refused, taken } from "../../schema/bodies.ts";
import { ENTERPRISE_USER } from "../../schema/rfc7643_examples.ts";
import { resources, storedUsers } from "./random_resources.ts";
import { accepted, BADGE_URN, ENTERPRISE_URN, outcomeOf, typeOf, USER_URN } from "./read_bodies.ts";
import type { ResourceTypeDefinition } from "../../../../scim/schema/attribute_table.ts";
import { createTargetSchemas } from "../../../../scim/v2/schema/target_schemas.ts";

// Conversion between the stored content and the JSON of RFC 7643, in both directions.

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

Deno.test("toStoredContent() is fast for many entries with one value", () => {
  const startedMs = performance.now();
  const stored = storedAfter({ roles: [{ value: "b" }] }, { roles: Array<string>(50_000).fill("a") });
  assertEquals(stored["roles"], [{ value: "b" }]);
  assert(performance.now() - startedMs < 3000);
});

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

Deno.test("memberIdsOf() lists the ids in their order, and refuses a member without one", () => {
  const read = (members: readonly JsonObject[], sent: JsonValue = members) => memberIdsOf({ members }, sent);
  assertEquals(read([{ value: "a" }, { value: "b", type: "User" }, { value: "a" }]), {
    ok: true,
    ids: ["a", "b", "a"],
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

// The attributes of responses (RFC 7644 §3.9, RFC 7643 §7 `returned`).

const ANSWERED_USER: JsonObject = {
  schemas: [USER_URN, ENTERPRISE_URN, BADGE_URN],
  id: "1",
  userName: "ada",
  name: { givenName: "Ada", familyName: "L" },
  emails: [{ value: "a@x", type: "work" }, { value: "b@x" }],
  password: "secret",
  undefinedHere: 1,
  [ENTERPRISE_URN]: { division: "D", manager: { value: "2", displayName: "M" } },
  [BADGE_URN]: { number: 5, notes: "n", colour: "red", chip: { vendor: "v", key: "k" } },
  meta: { resourceType: "User", location: "https://x/Users/1" },
};

const always = { id: "1" };
const colour = { [BADGE_URN]: { colour: "red" } };

/** Parameters, and the response without `schemas`. */
const ROWS: readonly [string, ProjectionParameters, JsonObject][] = [
  ["userName,unknown, ,", { attributes: "userName,unknown, ," }, { ...always, userName: "ada", ...colour }],
  ["USERNAME", { attributes: "USERNAME" }, { ...always, userName: "ada", ...colour }],
  ["a core URN", { attributes: `${USER_URN}:userName` }, { ...always, userName: "ada", ...colour }],
  ["a list", { attributes: ["userName"] }, { ...always, userName: "ada", ...colour }],
  ["a sub-attribute", { attributes: "name.givenName" }, { ...always, name: { givenName: "Ada" }, ...colour }],
  ["a sub-attribute of a list", { attributes: `${USER_URN}:emails.type` }, {
    ...always,
    emails: [{ type: "work" }],
    ...colour,
  }],
  ["a filter after a name", { attributes: 'emails[type eq "work"]' }, {
    ...always,
    emails: ANSWERED_USER["emails"] ?? null,
    ...colour,
  }],
  ["a filter before a sub-attribute", { attributes: 'emails[type eq "work"].type' }, {
    ...always,
    emails: [{ type: "work" }],
    ...colour,
  }],
  ["a sub-attribute and the whole", { attributes: "name.givenName,name" }, {
    ...always,
    name: ANSWERED_USER["name"] ?? null,
    ...colour,
  }],
  ["a URN of an extension", { attributes: ENTERPRISE_URN }, {
    ...always,
    [ENTERPRISE_URN]: ANSWERED_USER[ENTERPRISE_URN] ?? null,
    ...colour,
  }],
  ["a sub-attribute of an extension", { attributes: `${ENTERPRISE_URN}:manager.value` }, {
    ...always,
    [ENTERPRISE_URN]: { manager: { value: "2" } },
    ...colour,
  }],
  ["returned on request", { attributes: `${BADGE_URN}:notes,${BADGE_URN}:chip.key` }, {
    ...always,
    [BADGE_URN]: { notes: "n", colour: "red", chip: { key: "k" } },
  }],
  ["returned never", { attributes: "password" }, { ...always, ...colour }],
  ["only unknown names", { attributes: "nothing,password.x,__proto__" }, { ...always, ...colour }],
  ["meta.location", { attributes: "meta.location" }, {
    ...always,
    ...colour,
    meta: { location: "https://x/Users/1" },
  }],
  ["excluded attributes", {
    excludedAttributes: `emails,meta,id,${ENTERPRISE_URN},${BADGE_URN}`,
  }, { ...always, userName: "ada", name: ANSWERED_USER["name"] ?? null, ...colour }],
  ["excluded sub-attributes", {
    excludedAttributes:
      `emails.type,emails.value,name.givenName,meta,${ENTERPRISE_URN}:manager.displayName,${BADGE_URN}`,
  }, {
    ...always,
    userName: "ada",
    name: { familyName: "L" },
    [ENTERPRISE_URN]: { division: "D", manager: { value: "2" } },
    ...colour,
  }],
];

const read = (parameters: ProjectionParameters) =>
  taken(readProjection(parameters, typeOf("user"))).projection;

for (const [name, parameters, expected] of ROWS) {
  Deno.test(`readProjection() reads ${name}`, () => {
    const { schemas: _, ...response } = read(parameters).apply(ANSWERED_USER);
    assertEquals(response, expected);
  });
}

Deno.test("readProjection() without parameters leaves out what is returned never or on request", () => {
  const { password: _, undefinedHere: _undefined, ...rest } = ANSWERED_USER;
  for (const parameters of [{}, { attributes: "" }, { attributes: " , ", excludedAttributes: [] }]) {
    assertEquals(read(parameters).apply(ANSWERED_USER), {
      ...rest,
      [BADGE_URN]: { number: 5, colour: "red", chip: { vendor: "v" } },
    });
  }
});

Deno.test("Projection.apply() lists the schemas that are present (RFC 7643 §3)", () => {
  assertEquals(read({ attributes: "userName" }).apply(ANSWERED_USER)["schemas"], [USER_URN, BADGE_URN]);
  assertEquals(read({}).apply({ schemas: [USER_URN], id: "1" })["schemas"], [USER_URN]);
});

Deno.test("Projection.includes() says what the caller need not read", () => {
  const includes = (parameters: ProjectionParameters, attribute: string) =>
    taken(readProjection(parameters, typeOf("group"))).projection.includes(attribute);
  assertEquals(includes({}, "members"), true);
  assertEquals(includes({ excludedAttributes: "MEMBERS" }, "members"), false);
  assertEquals(includes({ excludedAttributes: "members.display" }, "members"), true);
  assertEquals(includes({ attributes: "displayName" }, "members"), false);
  assertEquals(includes({ attributes: "members.value" }, "members"), true);
  assertEquals(includes({ attributes: "displayName" }, "id"), true);
  assertEquals(includes({}, "nothing"), false);
  assertEquals(read({ attributes: "userName" }).includes(ENTERPRISE_URN), false);
  assertEquals(read({ attributes: `${ENTERPRISE_URN}:manager.value` }).includes(ENTERPRISE_URN), true);
  // An attribute of the extension is returned always.
  assertEquals(read({ attributes: "userName" }).includes(BADGE_URN), true);
});

Deno.test("law: renderResponse() has of each member what a projection of the whole group has", async () => {
  const parameters: readonly ProjectionParameters[] = [
    {},
    ...["members", "displayName", "members.value", "members.display"].map((attributes) => ({ attributes })),
    ...["members", "meta", "members.type"].map((excludedAttributes) => ({ excludedAttributes })),
  ];
  const directory = { readIds: () => Promise.resolve([]) };
  const context = { type: GROUP, baseUrl: 'https://a.example/"$&/v2/one', directory };
  await fc.assert(fc.asyncProperty(
    fc.array(fc.option(fc.uuid())),
    fc.constantFrom(...parameters),
    async (memberIds, parameters) => {
      const content = { kind: "group", name: 'g"', attributes: {}, members: memberIds.map(String) } as const;
      const times = { createdMs: 0, modifiedMs: 1, version: "v" };
      const stored: Stored = { id: "1", content, memberIds, groups: [], backends: {}, ...times };
      const { projection } = taken(readProjection(parameters, GROUP));
      const whole = projection.apply(await renderStored(stored, context));
      assertEquals(await renderResponse(stored, context, projection), JSON.stringify(whole));
    },
  ));
});

Deno.test("readGroupsOnce() reads a group once for users that are rendered at the same time", async () => {
  const asked: (readonly string[])[] = [];
  const readIds = (_kind: string, names: readonly string[]) => {
    asked.push(names);
    return Promise.resolve(names.map((name) => name === "gone" ? null : `id of ${name}`));
  };
  const once = readGroupsOnce({ type: USER, baseUrl: "https://a.example", directory: { readIds } });
  const content: UserContent = { kind: "user", name: "ada", active: true, attributes: {} };
  const stored = { id: "1", content, backends: {}, createdMs: 0, modifiedMs: 1, version: "v" };
  const groupsOf = async (groups: readonly string[]) => {
    const { groups: shown = [] } = await renderStored({ ...stored, groups }, once);
    return (shown as readonly JsonObject[]).map(({ value }) => value);
  };
  const all = await Promise.all([["a"], ["a", "b", "gone"], ["gone"], ["b"]].map(groupsOf));
  assertEquals(all, [["id of a"], ["id of a", "id of b"], [], ["id of b"]]);
  assertEquals(asked, [["a"], ["b", "gone"]]);
});

Deno.test("renderResponse() of as many members as a request may have is a body that can be sent back", async () => {
  const memberIds = Array.from({ length: MAX_MEMBERS }, () => crypto.randomUUID());
  const content = { kind: "group", name: "all", attributes: {}, members: memberIds } as const;
  const times = { createdMs: 0, modifiedMs: 1, version: "v" };
  const stored: Stored = { id: "1", content, memberIds, groups: [], backends: {}, ...times };
  const directory = { readIds: () => Promise.resolve([]) };
  const context = { type: GROUP, baseUrl: `https://${"a".repeat(100)}.example/scim/v2/one`, directory };
  const { projection } = taken(readProjection({}, GROUP));
  const octets = new TextEncoder().encode(await renderResponse(stored, context, projection));
  assert(octets.length <= MAX_GROUP_OCTETS, `${octets.length} octets`);
  const parsed = parseJsonObject(octets, { maxValues: MAX_GROUP_JSON_VALUES });
  if (!parsed.ok) throw new Error(parsed.problem);
  const { resource } = taken(outcomeOf("group", parsed.value));
  const { ids } = taken(memberIdsOf(resource, parsed.value["members"]));
  assert(ids.join() === memberIds.join());
});

Deno.test("law: a resource that was rendered only where the projection includes it has the same projection", () => {
  const { resource } = taken(
    outcomeOf("user", { ...ANSWERED_USER, password: "secret", ims: [{ value: "i" }], title: "T" }),
  );
  const { content } = taken(toStoredContent(resource, typeOf("user")));
  const names = [
    ...ROWS.flatMap(([, { attributes }]) => attributes ?? []),
    "ims",
    "title",
    "name",
    ENTERPRISE_URN,
    BADGE_URN,
  ];
  fc.assert(fc.property(fc.subarray(names), fc.boolean(), (some, isExcluded) => {
    const projection = read(isExcluded ? { excludedAttributes: some } : { attributes: some });
    const partly = renderContent(content, typeOf("user"), {
      id: "1",
      includes: (name) => projection.includes(name),
    });
    const whole = renderContent(content, typeOf("user"), { id: "1" });
    assertEquals(projection.apply(partly), projection.apply(whole));
    assertEquals(Object.keys(partly).includes("ims"), projection.includes("ims"));
  }));
});

Deno.test("readProjection() refuses both parameters together, and too many names", () => {
  const outcomes = [
    { attributes: "userName", excludedAttributes: "emails" },
    { attributes: new Array(201).fill("userName") },
    { attributes: "a,".repeat(250) },
    { excludedAttributes: "x".repeat(10_001) },
  ].map((parameters) => refused(readProjection(parameters, typeOf("user"))).scimType);
  assertEquals(outcomes, new Array(4).fill("invalidValue"));
});

Deno.test("law: a plain projection changes no resource that was rendered with it", () => {
  const type = createTargetSchemas().types.user;
  const { isPlain, includes, apply } = taken(readProjection({}, type)).projection;
  assertEquals(isPlain, true);
  fc.assert(fc.property(storedUsers, (attributes) => {
    const content = { kind: "user", name: "ada", active: true, attributes } as const;
    const parts = { id: "1", externalId: "e", meta: { resourceType: "User" }, groups: [{ value: "g" }] };
    const response = JSON.stringify(renderContent(content, type, { ...parts, includes }));
    assertEquals(response, JSON.stringify(apply(renderContent(content, type, parts))));
  }));
});

Deno.test("Projection.isPlain is false if the response lacks a part of what the schemas define", () => {
  const isPlain = (parameters: ProjectionParameters, type: ResourceTypeDefinition) =>
    taken(readProjection(parameters, type)).projection.isPlain;
  const { user, group } = createTargetSchemas().types;
  // Names of members, and attributes of the extension, are returned on request.
  assertEquals([isPlain({}, group), isPlain({}, typeOf("user"))], [false, false]);
  assertEquals(isPlain({ attributes: "userName" }, user), false);
  assertEquals(isPlain({ excludedAttributes: "name.givenName" }, user), false);
});

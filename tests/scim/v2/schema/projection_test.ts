// The attributes of responses (RFC 7644 §3.9, RFC 7643 §7 `returned`).

import { assertEquals } from "@std/assert";
import fc from "../../../packages/fast_check.ts";
import type { JsonObject } from "../../../../scim/schema/resource.ts";
import type { ResourceTypeDefinition } from "../../../../scim/v2/schema/attribute_definition.ts";
import { type ProjectionParameters, readProjection } from "../../../../scim/v2/schema/projection.ts";
import { renderContent, toStoredContent } from "../../../../scim/v2/schema/stored_content.ts";
import { refused, taken } from "../../schema/bodies.ts";
import { createTargetSchemas } from "../../../../scim/v2/schema/target_schemas.ts";
import { storedUsers } from "./random_resources.ts";
import { BADGE_URN, ENTERPRISE_URN, outcomeOf, typeOf, USER_URN } from "./read_bodies.ts";

const USER: JsonObject = {
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
    emails: USER["emails"] ?? null,
    ...colour,
  }],
  ["a filter before a sub-attribute", { attributes: 'emails[type eq "work"].type' }, {
    ...always,
    emails: [{ type: "work" }],
    ...colour,
  }],
  ["a sub-attribute and the whole", { attributes: "name.givenName,name" }, {
    ...always,
    name: USER["name"] ?? null,
    ...colour,
  }],
  ["a URN of an extension", { attributes: ENTERPRISE_URN }, {
    ...always,
    [ENTERPRISE_URN]: USER[ENTERPRISE_URN] ?? null,
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
  }, { ...always, userName: "ada", name: USER["name"] ?? null, ...colour }],
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
    const { schemas: _, ...response } = read(parameters).apply(USER);
    assertEquals(response, expected);
  });
}

Deno.test("readProjection() without parameters leaves out what is returned never or on request", () => {
  const { password: _, undefinedHere: _undefined, ...rest } = USER;
  for (const parameters of [{}, { attributes: "" }, { attributes: " , ", excludedAttributes: [] }]) {
    assertEquals(read(parameters).apply(USER), {
      ...rest,
      [BADGE_URN]: { number: 5, colour: "red", chip: { vendor: "v" } },
    });
  }
});

Deno.test("Projection.apply() lists the schemas that are present (RFC 7643 §3)", () => {
  assertEquals(read({ attributes: "userName" }).apply(USER)["schemas"], [USER_URN, BADGE_URN]);
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

Deno.test("law: a resource that was rendered only where the projection includes it has the same projection", () => {
  const { resource } = taken(
    outcomeOf("user", { ...USER, password: "secret", ims: [{ value: "i" }], title: "T" }),
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

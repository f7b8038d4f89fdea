// The discovery endpoints, and custom extensions as settings.

import fc from "../../../packages/fast_check.ts";
import { assert, assertEquals, assertNotStrictEquals, assertStrictEquals } from "@std/assert";
import type { JsonObject, JsonValue } from "../../../../scim/schema/resource.ts";
import { isJsonArray, isJsonObject } from "../../../../scim/schema/attributes.ts";
import {
  type AttributeDefinition,
  COMMON_DEFINITIONS,
  findDefinition,
  subDefinitions,
} from "../../../../scim/schema/attribute_table.ts";
import {
  renderResourceType,
  renderSchema,
  serviceProviderConfig,
} from "../../../../scim/v2/http/read_operations.ts";
import { renderListResponse } from "../../../../scim/schema/render_resource.ts";
import { isOfType } from "../../../../scim/schema/read_value.ts";
import { createTargetSchemas } from "../../../../scim/v2/schema/target_schemas.ts";
import {
  BADGE_EXTENSION,
  BADGE_SCHEMAS,
  BADGE_URN,
  ENTERPRISE_URN,
  GROUP_URN,
  USER_URN,
} from "./read_bodies.ts";
import { bodyOf, refused, taken } from "../../schema/bodies.ts";
import {
  extensionsProblem,
  followExtensions,
  parseExtensions,
} from "../../../../scim/v2/schema/custom_extension.ts";

// /Schemas, /ResourceTypes, /ServiceProviderConfig and ListResponse: exactly the keys that the RFCs name.

const BASE = "https://gateway.example/scim/v2/default";

/** The breaches of a schema: keys without a definition, values of another type, missing required keys. */
function breaches(value: JsonValue, definitions: readonly AttributeDefinition[], at = ""): string[] {
  if (!isJsonObject(value)) return [`${at} is not an object`];
  const missing = definitions.filter(({ name, required }) => required && !Object.hasOwn(value, name));
  const wrong = Object.entries(value).flatMap(([name, inner]) => {
    const definition = findDefinition(definitions, name);
    if (definition?.name !== name) return [`${at}${name} is not defined`];
    if (isJsonArray(inner) !== definition.multiValued) {
      return [`${at}${name} must${definition.multiValued ? "" : " not"} be a list`];
    }
    return (isJsonArray(inner) ? inner : [inner]).flatMap((one) => {
      // The schema of schemas has sub-attributes of sub-attributes, which it does not describe again.
      const subs = name === "subAttributes" ? definitions : subDefinitions(definition);
      if (definition.type === "complex") return breaches(one, subs, `${at}${name}.`);
      return isOfType(definition.type, one) ? [] : [`${at}${name} is not of type ${definition.type}`];
    });
  });
  return [...missing.map(({ name }) => `${at}${name} is missing`), ...wrong];
}

/** The definitions of a schema of the target, with the common ones. */
function definitionsOf(urn: JsonValue | undefined): AttributeDefinition[] {
  const schema = BADGE_SCHEMAS.schemas.find(({ id }) => id === urn);
  if (schema === undefined) throw new Error(`${urn} is not listed`);
  const common = COMMON_DEFINITIONS.filter(({ name }) =>
    findDefinition(schema.attributes, name) === undefined
  );
  // RFC 7643 §5: the configuration of the server has no id.
  return [
    ...common.map((one) => one.name === "id" ? { ...one, required: false } : one),
    ...schema.attributes,
  ];
}

const RENDERED: readonly [string, JsonObject][] = [
  ["/ServiceProviderConfig", bodyOf(serviceProviderConfig({ baseUrl: BASE }).text ?? "")],
  ...Object.values(BADGE_SCHEMAS.types).map((type): [string, JsonObject] => [
    `/ResourceTypes/${type.name}`,
    renderResourceType(type, BASE),
  ]),
  ...BADGE_SCHEMAS.schemas.map((schema): [string, JsonObject] => [
    `/Schemas/${schema.id}`,
    renderSchema(schema, BASE),
  ]),
];

for (const [path, resource] of RENDERED) {
  Deno.test(`${path} has exactly what its own schema defines, and its URL`, () => {
    const [urn] = resource["schemas"] as readonly JsonValue[];
    assertEquals(breaches(resource, definitionsOf(urn)), []);
    assertEquals((resource["meta"] as JsonObject)["location"], `${BASE}${path}`);
  });
}

Deno.test("breaches() finds what a schema does not allow", () => {
  const [, config = {}] = RENDERED[0] ?? [];
  const definitions = definitionsOf((config["schemas"] as JsonValue[])[0]);
  const { patch: _, ...rest } = config;
  assertEquals(breaches({ ...rest, x: 1, sort: { supported: "yes" } }, definitions), [
    "patch is missing",
    "sort.supported is not of type boolean",
    "x is not defined",
  ]);
});

Deno.test("createTargetSchemas() lists each schema once, and the extensions of each type", () => {
  const ids = BADGE_SCHEMAS.schemas.map(({ id }) => id);
  assertEquals(new Set(ids).size, ids.length);
  assertEquals(ids.slice(0, 4), [USER_URN, GROUP_URN, ENTERPRISE_URN, BADGE_URN]);
  assertEquals(renderResourceType(BADGE_SCHEMAS.types.user, BASE)["schemaExtensions"], [
    { schema: ENTERPRISE_URN, required: false },
    { schema: BADGE_URN, required: false },
  ]);
  assertEquals(renderResourceType(createTargetSchemas().types.group, BASE)["schemaExtensions"], []);
});

Deno.test("every definition names its source and describes itself in a sentence", () => {
  const all = (definitions: readonly AttributeDefinition[]): AttributeDefinition[] =>
    definitions.flatMap((one) => [one, ...all(subDefinitions(one))]);
  for (const { attributes } of createTargetSchemas().schemas) {
    for (
      const { name, ref, description, type, referenceTypes, subAttributes, returned, mutability } of all(
        attributes,
      )
    ) {
      assert(/^RFC (7643|9865) §\d/.test(ref), `${name}: ${ref}`);
      assert(/^[A-Z].*\.$/.test(description), `${name}: ${description}`);
      assertEquals(referenceTypes !== undefined, type === "reference", name);
      assertEquals(subAttributes !== undefined, type === "complex", name);
      // RFC 7643 §7: a writeOnly attribute is never returned.
      assertEquals(returned === "never", mutability === "writeOnly", name);
    }
  }
});

Deno.test("renderListResponse() has the keys of the pagination that the request used", () => {
  const head = { schemas: ["urn:ietf:params:scim:api:messages:2.0:ListResponse"] };
  const read = (text: string) => JSON.parse(text);
  assertEquals(read(renderListResponse({ total: 0, texts: [], startIndex: 1 })), {
    ...head,
    totalResults: 0,
    itemsPerPage: 0,
    startIndex: 1,
    Resources: [],
  });
  assertEquals(read(renderListResponse({ total: 5, texts: ['{"id":"a"}', '{"id":"b"}'], startIndex: 4 })), {
    ...head,
    totalResults: 5,
    itemsPerPage: 2,
    startIndex: 4,
    Resources: [{ id: "a" }, { id: "b" }],
  });
  assertEquals(read(renderListResponse({ total: 5, texts: [], nextCursor: 'n"', previousCursor: "p" })), {
    ...head,
    totalResults: 5,
    itemsPerPage: 0,
    nextCursor: 'n"',
    previousCursor: "p",
    Resources: [],
  });
});

// Definitions of custom extensions: what is accepted, and the sentence for each problem.

const VALID: JsonObject = { id: "urn:example:a:2.0:User", name: "A", attributes: [{ name: "x" }] };
const withAttribute = (attribute: JsonValue): JsonValue => [{ ...VALID, attributes: [attribute] }];

/** What is wrong, and a part of the sentence. */
const PROBLEMS: readonly [JsonValue, string][] = [
  [{}, "must be a list"],
  [null, "must be a list"],
  [new Array(21).fill(VALID), "at most 20 extensions"],
  [[5], "must be an object"],
  [[{ ...VALID, id: "x" }], "must be a URN"],
  [[{ ...VALID, id: "urn:example:a:" }], "must be a URN"],
  [[{ ...VALID, id: `urn:example:${"a".repeat(200)}` }], "at most 200 characters"],
  [[{ ...VALID, id: "URN:ietf:params:scim:schemas:core:2.0:User" }], "must not begin with"],
  [[{ ...VALID, id: "URN:ietf:params" }], "must not be the beginning of"],
  [[{ ...VALID, name: "" }], "needs the text name"],
  [[{ ...VALID, description: "x".repeat(501) }], "at most 500"],
  [[{ ...VALID, resourceType: "Device" }], "must be User or Group"],
  [[{ ...VALID, extensionRequired: "yes" }], "must be true or false"],
  [[{ ...VALID, attributes: [] }], "list of 1 to 100"],
  [[VALID, VALID], "begins with the URN of another"],
  [[VALID, { ...VALID, id: "urn:example:a:2.0:USER:more" }], "begins with the URN of another"],
  [[{ ...VALID, attributes: [{ name: "x" }, { name: "X" }] }], "two attributes of the same name"],
  [withAttribute("x"), "must be an object"],
  [withAttribute({}), "needs the text name"],
  [withAttribute({ name: "__proto__" }), "name that is not allowed"],
  [withAttribute({ name: "constructor" }), "name that is not allowed"],
  [withAttribute({ name: "Password" }), "name that is not allowed"],
  [withAttribute({ name: "a.b" }), "name that is not allowed"],
  [withAttribute({ name: "$ref" }), "name that is not allowed"],
  [withAttribute({ name: "x".repeat(65) }), "at most 64"],
  [withAttribute({ name: "x", type: "date" }), "type of"],
  [withAttribute({ name: "x", type: ["string"] }), "type of"],
  [withAttribute({ name: "x", mutability: "writeOnly" }), "would show it"],
  [withAttribute({ name: "x", returned: "never" }), "would show it"],
  [withAttribute({ name: "x", uniqueness: "server" }), "only names are unique"],
  [withAttribute({ name: "x", multiValued: 1 }), "must be true or false"],
  [withAttribute({ name: "x", canonicalValues: [1] }), "list of at most 100 short texts"],
  [withAttribute({ name: "x", canonicalValues: new Array(101).fill("a") }), "list of at most 100"],
  [withAttribute({ name: "x", type: "complex" }), "list of 1 to 100 subAttributes"],
  [
    withAttribute({ name: "x", type: "complex", subAttributes: [{ name: "y", type: "complex" }] }),
    "must not be complex",
  ],
  [[{
    ...VALID,
    attributes: [{
      name: "x",
      type: "complex",
      subAttributes: Array.from({ length: 100 }, (_, at) => ({ name: `y${at}` })),
    }],
  }], "over 100 attributes"],
];

for (const [value, part] of PROBLEMS) {
  Deno.test(`parseExtensions() refuses ${JSON.stringify(value).slice(0, 90)}: ${part}`, () => {
    const { problem } = refused(parseExtensions(value));
    assert(problem.includes(part), problem);
  });
}

Deno.test("parseExtensions() reads what /Schemas shows of an extension", () => {
  const [extension] = taken(parseExtensions([BADGE_EXTENSION])).extensions;
  if (extension === undefined) throw new Error("There is no extension.");
  const again = taken(parseExtensions([renderSchema(extension.schema, "https://x")])).extensions[0];
  assertEquals(again, extension);
});

Deno.test("parseExtensions() reads the resource type, and whether the extension is required", () => {
  const value = { ...VALID, resourceType: "Group", extensionRequired: true };
  const [extension] = taken(parseExtensions([value])).extensions;
  assertEquals([extension?.kind, extension?.required], ["group", true]);
});

const json = fc.jsonValue().map((value): JsonValue => JSON.parse(JSON.stringify(value)));

Deno.test("law: parseExtensions() never throws", () => {
  fc.assert(fc.property(json, json, (inner, outer) => {
    const values = [
      outer,
      [outer],
      [{ ...VALID, attributes: inner }],
      withAttribute({ name: "x", subAttributes: inner }),
    ];
    for (const value of values) assertEquals(typeof parseExtensions(value).ok, "boolean");
  }));
});

// The schema extensions in the settings of a target: problems of their JSON, and schemas that follow the settings.

const BADGE = JSON.stringify([BADGE_EXTENSION]);

const ROWS: readonly (readonly [json: string, problem: string | null])[] = [
  [BADGE, null],
  ["[]", null],
  [`\uFEFF${BADGE}\r\n`, null],
  ["", "the extensions must be JSON: a list of schemas"],
  ["x", "the extensions must be JSON: a list of schemas"],
  ["[1,]", "the extensions must be JSON: a list of schemas"],
  ["{}", "the extensions must be a list"],
  ['"[]"', "the extensions must be a list"],
  ["[".repeat(1000) + "]".repeat(1000), "the JSON of extensions must have at most 16 levels"],
  [`[${"1,".repeat(60_000)}1]`, "the JSON of extensions must have at most 50000 values"],
  [`[${" ".repeat(600_000)}]`, "the JSON of extensions must have at most 524288 characters"],
  ['[{"__proto__":{"id":"urn:a:b"}}]', "an extension or one of its attributes needs the text id"],
  [
    '[{"id":"urn:example:a","name":"a","attributes":[{"name":"x"},{"name":"X"}]}]',
    "urn:example:a has two attributes of the same name. Case does not count",
  ],
];

for (const [json, problem] of ROWS) {
  Deno.test(`extensionsProblem() of ${JSON.stringify(json.slice(0, 40))}: ${problem}`, () => {
    assertEquals(extensionsProblem(json), problem);
  });
}

Deno.test("extensionsProblem() accepts the most extensions with the most attributes", () => {
  const attributes = Array.from({ length: 100 }, (_, at) => ({
    name: `attribute${at}`,
    type: "string",
    description: "x".repeat(100),
  }));
  const schemas = Array.from(
    { length: 20 },
    (_, at) => ({ id: `urn:example:e${at}`, name: "E", attributes }),
  );
  assertEquals(extensionsProblem(JSON.stringify(schemas)), null);
});

Deno.test("followExtensions() makes the schemas once for each change, and for each target", () => {
  const targets: { name: string; extensions?: string }[] = [{ name: "a", extensions: BADGE }, { name: "b" }];
  const config = { targets };
  const schemasOf = followExtensions(config);
  const urnsOf = (target: string) => schemasOf(target).types.user.extensions.map(({ schema }) => schema.id);
  assert(urnsOf("a").includes(BADGE_URN));
  assert(!urnsOf("b").includes(BADGE_URN));
  assert(!urnsOf("gone").includes(BADGE_URN));
  const first = schemasOf("a");
  // A change of another setting replaces the object of the target.
  targets.splice(0, 1, { name: "a", extensions: `${BADGE}` });
  assertStrictEquals(schemasOf("a"), first);
  targets.splice(0, 1, { name: "a", extensions: BADGE.replace(BADGE_URN, "urn:example:other") });
  assertEquals(urnsOf("a").at(-1), "urn:example:other");
  assertStrictEquals(schemasOf("a"), schemasOf("a"));
  targets.splice(0, 1, { name: "a" });
  assertStrictEquals(schemasOf("a"), schemasOf("b"));
  targets.splice(0, 1, { name: "a", extensions: BADGE });
  assertNotStrictEquals(schemasOf("a"), first);
  assert(urnsOf("a").includes(BADGE_URN));
});

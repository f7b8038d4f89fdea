// /Schemas, /ResourceTypes, /ServiceProviderConfig and ListResponse: exactly the keys that the RFCs name.

import { assert, assertEquals } from "@std/assert";
import type { JsonObject, JsonValue } from "../../../../scim/schema/resource.ts";
import { isJsonArray, isJsonObject } from "../../../../scim/schema/json_limits.ts";
import {
  type AttributeDefinition,
  findDefinition,
  subDefinitions,
} from "../../../../scim/v2/schema/attribute_definition.ts";
import {
  renderResourceType,
  renderSchema,
  renderServiceProviderConfig,
  type ServerFeatures,
} from "../../../../scim/v2/schema/discovery.ts";
import { renderListResponse } from "../../../../scim/v2/schema/list_response.ts";
import { isOfType } from "../../../../scim/v2/schema/read_value.ts";
import { COMMON_DEFINITIONS } from "../../../../scim/v2/schema/common_attributes.ts";
import { createTargetSchemas } from "../../../../scim/v2/schema/target_schemas.ts";
import { BADGE_SCHEMAS, BADGE_URN, ENTERPRISE_URN, GROUP_URN, USER_URN } from "./read_bodies.ts";

const BASE = "https://gateway.example/scim/v2/default";

const FEATURES: ServerFeatures = {
  documentationUri: "https://gateway.example/docs",
  bulk: { supported: true, maxOperations: 1000, maxPayloadSize: 1_048_576 },
  filter: { maxResults: 1000 },
  pagination: { cursor: true, defaultPageSize: 100, maxPageSize: 1000, cursorTimeout: 3600 },
  isPatchSupported: true,
  isSortSupported: true,
  isPasswordChangeSupported: true,
  authenticationSchemes: [{
    type: "oauthbearertoken",
    name: "Bearer token",
    description: "A token of the console.",
    specUri: "https://www.rfc-editor.org/info/rfc6750",
    primary: true,
  }],
};

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
  ["/ServiceProviderConfig", renderServiceProviderConfig(FEATURES, BASE)],
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

// The schemas of the OpenAPI description (JSON Schema 2020-12), generated from the attribute table.

import { SCIM_REFUSALS } from "./refusals.ts";
import type { JsonObject, JsonValue } from "../schema/resource.ts";
import { MAX_MEMBERS } from "../schema/parse_resource.ts";
import {
  ENTERPRISE_SCHEMA,
  ERROR_SCHEMA,
  GROUP_ATTRIBUTES,
  GROUP_SCHEMA,
  LIST_SCHEMA,
  type ScimAttributeRow,
  USER_ATTRIBUTES,
  USER_SCHEMA,
} from "../schema/attribute_table.ts";

const KINDS = {
  User: { schema: USER_SCHEMA, rows: USER_ATTRIBUTES, extensions: [ENTERPRISE_SCHEMA] },
  Group: { schema: GROUP_SCHEMA, rows: GROUP_ATTRIBUTES, extensions: [] },
} as const;

/** A reference to one of {@link componentSchemas}. */
export function schemaRef(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

/** The schemas, by the names in references. */
export function componentSchemas(): Record<string, JsonValue> {
  return {
    User: resourceSchema("User"),
    Group: resourceSchema("Group"),
    UserList: listSchema("User"),
    GroupList: listSchema("Group"),
    Error: ERROR,
  };
}

const ERROR: JsonObject = {
  type: "object",
  description: "RFC 7644 §3.12",
  required: ["schemas", "status", "detail"],
  properties: {
    schemas: { type: "array", items: { const: ERROR_SCHEMA } },
    status: { type: "string", description: "The HTTP status, as a text." },
    scimType: { type: "string", enum: scimTypes() },
    detail: { type: "string" },
  },
};

function scimTypes(): string[] {
  const types = Object.values(SCIM_REFUSALS).flatMap((row) => "scimType" in row ? [row.scimType] : []);
  return [...new Set(types)];
}

function resourceSchema(kind: keyof typeof KINDS): JsonObject {
  const { schema, rows, extensions } = KINDS[kind];
  const properties: Record<string, JsonValue> = {};
  for (const [name, row] of Object.entries<ScimAttributeRow>(rows)) {
    properties[name] = name === "schemas"
      ? { type: "array", items: { type: "string", examples: [schema, ...extensions] } }
      : { ...attributeSchema(row), ...LIMITS[kind][name] };
  }
  return {
    type: "object",
    description: `${schema}. No attribute is required; attributes that are not named here are kept as given.`,
    properties,
    additionalProperties: true,
  };
}

/** No control character or bidirectional override; not `.search`; not `.` or `..`, also beside a slash. */
const NAME_PATTERN =
  "^(?!(.*/)?\\.{1,2}(/|$)|\\.[sS][eE][aA][rR][cC][hH]$)[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]+$";

/** The schema of a name in a path or a body. */
export const NAME_SCHEMA = { type: "string", minLength: 1, maxLength: 256, pattern: NAME_PATTERN } as const;

const { type: _string, ...NAME_LIMITS } = NAME_SCHEMA;

/** An entry of `members`: the member's name as a text, in `display` or, if that is empty, in `value`. */
const MEMBER: JsonObject = {
  anyOf: [NAME_SCHEMA, {
    type: "object",
    properties: Object.fromEntries(
      ["display", "value", "type", "$ref"].map((name) => [name, { type: "string" }]),
    ),
    anyOf: [
      { required: ["display"], properties: { display: NAME_LIMITS } },
      { required: ["value"], properties: { value: NAME_LIMITS, display: { maxLength: 0 } } },
    ],
    additionalProperties: true,
  }],
};

/** Limits beyond the type, by kind and attribute. */
const LIMITS: Readonly<Record<keyof typeof KINDS, Readonly<Record<string, JsonObject>>>> = {
  User: { userName: NAME_LIMITS, password: { minLength: 1, maxLength: 1024 } },
  Group: { displayName: NAME_LIMITS, members: listOrEntry(MEMBER, MAX_MEMBERS) },
};

/** Entries of a list (scim/schema/validate_attributes.ts). Each is an object, or the text of its value. */
const MAX_ENTRIES = 10_000;

function attributeSchema(row: ScimAttributeRow): JsonObject {
  const one = row.type === "complex" ? complexSchema(row) : SIMPLE[row.type];
  const many: JsonObject = row.plain === undefined ? one : { anyOf: [one, { type: "string" }] };
  const schema: JsonObject = row.multi === true ? listOrEntry(many, MAX_ENTRIES) : one;
  return {
    ...schema,
    description: row.ref,
    ...row.mutability === undefined ? {} : { [row.mutability]: true },
  };
}

/** A response always has the list. A request may have its only entry. */
function listOrEntry(items: JsonObject, maxItems: number): JsonObject {
  const variants: readonly JsonValue[] = Array.isArray(items["anyOf"]) ? items["anyOf"] : [items];
  return { anyOf: [{ type: "array", maxItems, items }, ...variants] };
}

const SIMPLE = {
  string: { type: "string" },
  boolean: { type: "boolean" },
  dateTime: { type: "string", format: "date-time" },
} as const;

function complexSchema({ sub = {} }: ScimAttributeRow): JsonObject {
  const properties = Object.entries(sub).map(([name, row]) => [name, attributeSchema(row)] as const);
  return { type: "object", properties: Object.fromEntries(properties), additionalProperties: true };
}

function listSchema(kind: keyof typeof KINDS): JsonObject {
  return {
    type: "object",
    required: ["schemas", "totalResults", "startIndex", "itemsPerPage", "Resources"],
    properties: {
      schemas: { type: "array", items: { const: LIST_SCHEMA } },
      totalResults: { type: "integer", description: "All matches." },
      startIndex: {
        type: "integer",
        description: "The place of the first resource of the page, from 1.",
      },
      itemsPerPage: { type: "integer", description: "How many resources the page has." },
      Resources: { type: "array", items: schemaRef(kind) },
    },
  };
}

// Shapes of bodies that RFC 7643 does not allow and that clients send. One row for each: who sends it, an example, and
// what it becomes.

import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import { isJsonArray, isJsonObject, property } from "../../schema/attributes.ts";
import { parseBoundedJson } from "../../../platform/safe_json.ts";
import { type AttributeDefinition, findSub } from "../../schema/attribute_table.ts";

/** A tolerated value of an attribute. */
interface ValueShape {
  readonly client: string;
  /** What the client sends. */
  readonly example: string;
  /** What it means. */
  readonly becomes: string;
  readonly link: string;
  /** The value that it becomes, or `undefined` if the value does not have this shape. `isEntry`: the value is one of a list. */
  readonly convert: (
    value: JsonValue,
    at: { readonly definition: AttributeDefinition; readonly isEntry: boolean },
  ) => JsonValue | undefined;
}

/** The longest text that is read as JSON. */
const MAX_JSON_TEXT = 4096;

/** Rows in the order in which they are tried. */
export const VALUE_SHAPES = {
  boolean_text: {
    client: "Entra ID",
    example: `{"active":"False"}`,
    becomes: `{"active":false}`,
    link:
      "https://learn.microsoft.com/en-us/entra/identity/app-provisioning/application-provisioning-config-problem-scim-compatibility",
    convert: (value, { definition }) => {
      if (definition.type !== "boolean" || typeof value !== "string" || value.length > 5) return undefined;
      const text = value.toLowerCase();
      return text === "true" ? true : text === "false" ? false : undefined;
    },
  },
  list_of_one: {
    client: "Entra ID",
    example: `{"manager":[{"value":"26118915"}]}`,
    becomes: `{"manager":{"value":"26118915"}}`,
    link: "https://github.com/Captain-P-Goldfish/SCIM-SDK/issues/541",
    convert: (value, { definition, isEntry }) =>
      definition.type === "complex" && !definition.multiValued && !isEntry && isJsonArray(value) &&
        value.length === 1 && !isJsonArray(value[0])
        ? value[0]
        : undefined,
  },
  complex_text: {
    client: "Entra ID",
    example: `{"manager":"26118915"}`,
    becomes: `{"manager":{"value":"26118915"}}`,
    link: "https://github.com/Captain-P-Goldfish/SCIM-SDK/issues/541",
    convert: (value, { definition, isEntry }): JsonObject | undefined => {
      const isComplex = definition.type === "complex" && (isEntry || !definition.multiValued);
      if (!isComplex || typeof value !== "string") return undefined;
      if (findSub(definition, "value") === undefined) return undefined;
      // As in a PATCH, an empty text removes.
      return value === "" ? {} : { value };
    },
  },
  json_text: {
    client: "Entra ID",
    example: `{"roles":[{"value":"{\\"value\\":\\"Admin\\",\\"displayName\\":\\"Administrator\\"}"}]}`,
    becomes: `{"roles":[{"value":"Admin","display":"Administrator"}]}`,
    link: "https://github.com/Captain-P-Goldfish/SCIM-SDK/issues/516",
    convert: (value, { definition, isEntry }) =>
      isEntry && definition.name === "roles" && isJsonObject(value) ? roleOf(value) : undefined,
  },
  single_entry: {
    client: "laravel-scim-server's users",
    example: `{"emails":{"value":"ada@example.com"}}`,
    becomes: `{"emails":[{"value":"ada@example.com"}]}`,
    link: "https://github.com/limosa-io/laravel-scim-server/issues/23",
    convert: (value, { definition, isEntry }) =>
      definition.multiValued && !isEntry && !isJsonArray(value) ? [value] : undefined,
  },
} as const satisfies Record<string, ValueShape>;

/** The entry whose value is JSON inside a text. */
function roleOf(entry: { readonly [name: string]: JsonValue }): JsonValue | undefined {
  const text = property(entry, "value");
  if (typeof text !== "string" || text.length > MAX_JSON_TEXT || !text.trimStart().startsWith("{")) {
    return undefined;
  }
  const parsed = parseBoundedJson(text, { maxDepth: 2, maxValues: 20 });
  const inner = parsed.ok ? parsed.value as JsonValue : undefined;
  if (!isJsonObject(inner)) return undefined;
  const value = property(inner, "value");
  const display = property(inner, "displayName");
  // Nested JSON is not the shape of the row.
  if (typeof value !== "string" || value === "" || value.trimStart().startsWith("{")) return undefined;
  return { ...entry, value, ...(typeof display === "string" ? { display } : {}) };
}

/** The name of a row, for options that turn rows off. */
type ValueShapeName = keyof typeof VALUE_SHAPES;

const SHAPES = Object.entries(VALUE_SHAPES) as [ValueShapeName, ValueShape][];

/** The value after all rows that apply, each once. `undefined`: none does. */
export function tolerateShape(
  value: JsonValue,
  at: { readonly definition: AttributeDefinition; readonly isEntry: boolean },
  except: ReadonlySet<string> = new Set(),
): JsonValue | undefined {
  let tolerated: JsonValue | undefined;
  for (const [name, { convert }] of SHAPES) {
    const converted = except.has(name) ? undefined : convert(tolerated ?? value, at);
    if (converted !== undefined) tolerated = converted;
  }
  return tolerated;
}

/** A tolerated value of `schemas`. */
export interface SchemasShape {
  readonly client: string;
  readonly example: string;
  readonly link: string;
  /** Whether the list has this shape. */
  readonly matches: (
    urns: readonly string[],
    of: { readonly core: string; readonly known: ReadonlySet<string> },
  ) => boolean;
}

/** Rows for lists of URNs that lack the core schema, or that name schemas the target does not have. URNs are in lower case. */
export const SCHEMAS_SHAPES = {
  no_schemas: {
    client: "authentik",
    example: `{"userName":"ada"}`,
    link: "https://github.com/Infisical/infisical/pull/6940",
    matches: (urns) => urns.length === 0,
  },
  version_1: {
    client: "OneLogin",
    example: `{"schemas":["urn:scim:schemas:core:1.0"],"userName":"ada"}`,
    link: "https://scim.dev/guide/applications/onelogin",
    matches: (urns) => urns.some((urn) => urn.startsWith("urn:scim:schemas:")),
  },
  foreign_urn: {
    client: "Entra ID",
    example:
      `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:Group","http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"],"displayName":"Sales"}`,
    link:
      "https://learn.microsoft.com/en-us/entra/identity/app-provisioning/use-scim-to-provision-users-and-groups",
    matches: (urns, { core, known }) => urns.includes(core) && urns.some((urn) => !known.has(urn)),
  },
} as const satisfies Record<string, SchemasShape>;

/** Rows for `schemas` of the messages PatchOp, BulkRequest and SearchRequest that lack the URN of the message. URNs are in lower case. */
export const MESSAGE_SHAPES = {
  no_message_urn: {
    client: "WSO2's users",
    example: `{"schemas":[],"Operations":[{"op":"add","path":"title","value":"Guide"}]}`,
    link: "https://github.com/wso2/product-is/issues/16933",
    matches: (urns: readonly string[]) => urns.length === 0,
  },
  misspelt_message_urn: {
    client: "scim-patch's users",
    example:
      `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:PatchOp"],"Operations":[{"op":"add","path":"title","value":"Guide"}]}`,
    link: "https://github.com/thomaspoignant/scim-patch/issues/152",
    matches: (urns: readonly string[], message: string) =>
      urns.some((urn) => urn.startsWith("urn:") && urn.endsWith(message.slice(message.lastIndexOf(":")))),
  },
} as const;

const MAX_MESSAGE_URNS = 100;

/** Whether `schemas` of a body has the URN of a message, compared without case, or one of the {@link MESSAGE_SHAPES}. */
export function isMessage(schemas: JsonValue | undefined, urn: string): boolean {
  const list = schemas ?? [];
  if (!isJsonArray(list) || list.length > MAX_MESSAGE_URNS) return false;
  const urns = list.map((one) => typeof one === "string" ? one.toLowerCase() : "");
  const message = urn.toLowerCase();
  return urns.includes(message) ||
    Object.values(MESSAGE_SHAPES).some(({ matches }) => matches(urns, message));
}

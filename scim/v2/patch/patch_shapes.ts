// Requests that do not follow RFC 7644 §3.5.2 and are accepted, as rows: the client, its request, and what the request becomes.

import { isJsonArray, isJsonObject, property } from "../../schema/attributes.ts";
import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import { memberIdOf } from "../schema/stored_content.ts";
import type { SentOperation, ShapeContext, ShapeRule } from "./patch_request.ts";
import {
  type AttributeDefinition,
  findDefinition,
  findSub,
  subDefinitions,
} from "../../schema/attribute_table.ts";
import { findExtension } from "./patch_path.ts";

/** One tolerated shape. */
export interface PatchShape extends ShapeRule {
  readonly client: string;
  readonly kind: "user" | "group";
  /** The operations as the client sends them. */
  readonly sample: readonly JsonObject[];
  /** Operations of the RFC with the same effect. */
  readonly becomes: readonly JsonObject[];
  readonly link: string;
}

const COMPATIBILITY =
  "https://learn.microsoft.com/entra/identity/app-provisioning/application-provisioning-config-problem-scim-compatibility";
const USE_SCIM =
  "https://learn.microsoft.com/entra/identity/app-provisioning/use-scim-to-provision-users-and-groups";
const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

/** In the order in which they are applied. A later row sees the result of the earlier ones. */
export const TOLERATED_SHAPES = {
  "no operations": {
    client: "Microsoft's SCIM validator",
    kind: "user",
    sample: [],
    becomes: [{ op: "add", value: {} }],
    link: "https://github.com/scimmyjs/scimmy/issues/90",
    body: (operations) => operations.length === 0 ? [{ op: "add", value: {} }] : operations,
  },
  "op with a capital letter": {
    client: "Entra ID",
    kind: "user",
    sample: [{ op: "Replace", path: "title", value: "Guide" }],
    becomes: [{ op: "replace", path: "title", value: "Guide" }],
    link: COMPATIBILITY,
    operation: (one) => [typeof one.op === "string" ? { ...one, op: one.op.toLowerCase() } : one],
  },
  "an attribute of an extension without the URN": {
    client: "Entra ID",
    kind: "user",
    sample: [{ op: "replace", path: "manager.value", value: "b4" }],
    becomes: [{ op: "replace", path: `${ENTERPRISE}:manager.value`, value: "b4" }],
    link: "https://github.com/Captain-P-Goldfish/SCIM-SDK/issues/652",
    operation: addExtension,
  },
  "an object without a path, with paths as its keys": {
    client: "Entra ID with aadOptscim062020",
    kind: "user",
    sample: [{
      op: "replace",
      value: { "name.givenName": "Ann", [`${ENTERPRISE}:employeeNumber`]: "7", title: "Guide" },
    }],
    becomes: [
      { op: "replace", path: "name.givenName", value: "Ann" },
      { op: "replace", path: `${ENTERPRISE}:employeeNumber`, value: "7" },
      { op: "replace", path: "title", value: "Guide" },
    ],
    link: COMPATIBILITY,
    operation: splitPathKeys,
  },
  "an attribute that is readOnly in an object without a path": {
    client: "Okta, Entra ID",
    kind: "user",
    sample: [{ op: "replace", value: { schemas: ["urn:x"], groups: [], meta: {}, title: "Guide" } }],
    becomes: [{ op: "replace", value: { title: "Guide" } }],
    link: "https://developer.okta.com/docs/api/openapi/okta-scim/guides/scim-20/",
    // `id` stays: another id than that of the resource is a mistake to report.
    operation: (one, context) =>
      withoutKeys(
        one,
        context,
        (node, name) =>
          (node?.mutability === "readOnly" && node.name !== "id") || name.toLowerCase() === "schemas",
      ),
  },
  "an unknown attribute in an object without a path": {
    client: "Entra ID with a mapping of its own",
    kind: "group",
    sample: [{ op: "add", value: { displayName: "Guides", mailNickname: "guides" } }],
    becomes: [{ op: "add", value: { displayName: "Guides" } }],
    link: USE_SCIM,
    operation: (one, context) => withoutKeys(one, context, (node) => node === undefined),
  },
  "remove with a list of values": {
    client: "Entra ID",
    kind: "group",
    sample: [{ op: "remove", path: "members", value: [{ $ref: null, value: "m1" }] }],
    becomes: [{ op: "remove", path: 'members[value eq "m1"]' }],
    link: USE_SCIM,
    operation: removeByValues,
  },
  "an entry that the filter of the path describes and that does not exist": {
    client: "Entra ID",
    kind: "user",
    sample: [{ op: "add", path: 'phoneNumbers[type eq "pager"].value', value: "5" }],
    becomes: [{ op: "add", path: "phoneNumbers", value: [{ type: "pager", value: "5" }] }],
    link: "https://github.com/Captain-P-Goldfish/SCIM-SDK/issues/680",
    operation: (one) => [one.op === "remove" ? one : { ...one, creates: true }],
  },
  "a list with one entry in place of a value": {
    client: "Entra ID",
    kind: "user",
    sample: [{ op: "add", path: `${ENTERPRISE}:manager`, value: [{ $ref: null, value: "b1" }] }],
    becomes: [{ op: "add", path: `${ENTERPRISE}:manager`, value: { value: "b1" } }],
    link: USE_SCIM,
    value: (value, _, isList) =>
      !isList && isJsonArray(value) && value.length === 1 ? value[0] ?? null : value,
  },
  "one entry in place of a list": {
    client: "Microsoft's test collection",
    kind: "group",
    sample: [{ op: "add", path: "members", value: "m1" }],
    becomes: [{ op: "add", path: "members", value: [{ value: "m1" }] }],
    link: "https://github.com/AzureAD/SCIMReferenceCode/issues/24",
    value: (value, _, isList) => isList && !isJsonArray(value) && value !== null ? [value] : value,
  },
  "an empty string in place of an object": {
    client: "Entra ID",
    kind: "user",
    sample: [{ op: "replace", path: `${ENTERPRISE}:manager`, value: "" }],
    becomes: [{ op: "remove", path: `${ENTERPRISE}:manager` }],
    link: "https://github.com/Captain-P-Goldfish/SCIM-SDK/issues/652",
    value: (value, node, isList) => !isList && node.type === "complex" && value === "" ? null : value,
  },
  "an entry as JSON inside of a string": {
    client: "Entra ID",
    kind: "user",
    sample: [{ op: "add", path: "roles", value: [{ value: '{"value":"25","displayName":"Role"}' }] }],
    becomes: [{ op: "add", path: "roles", value: [{ value: "25", display: "Role" }] }],
    link: "https://github.com/Captain-P-Goldfish/SCIM-SDK/issues/516",
    value: (value, node, isList) =>
      !isList && node.multiValued && node.type === "complex" ? unpackJson(value) : value,
  },
  "a string in place of an object": {
    client: "Entra ID",
    kind: "user",
    sample: [{ op: "replace", path: `${ENTERPRISE}:manager`, value: "b2" }],
    becomes: [{ op: "replace", path: `${ENTERPRISE}:manager`, value: { value: "b2" } }],
    link: "https://github.com/Captain-P-Goldfish/SCIM-SDK/issues/686",
    value: (value, node, isList) =>
      !isList && node.type === "complex" && typeof value === "string" &&
        findSub(node, "value") !== undefined
        ? { value }
        : value,
  },
  "an object in place of a string": {
    client: "Microsoft's package for SCIM",
    kind: "user",
    sample: [{ op: "Add", path: "displayName", value: [{ $ref: null, value: "Ann" }] }],
    becomes: [{ op: "add", path: "displayName", value: "Ann" }],
    link: "https://github.com/MicrosoftDocs/azure-docs/issues/42220",
    value: (value, node, isList) =>
      !isList && node.type !== "complex" && isJsonObject(value) ? property(value, "value") ?? value : value,
  },
  "a sub-attribute that is unknown or readOnly inside of a value": {
    client: "Entra ID",
    kind: "user",
    sample: [{ op: "add", path: "roles", value: [{ id: "r1", value: "25" }] }],
    becomes: [{ op: "add", path: "roles", value: [{ value: "25" }] }],
    link: "https://github.com/MicrosoftDocs/azure-docs/issues/50772",
    value: (value, node, isList) =>
      isList || node.type !== "complex" ? value : withoutForeignParts(value, subDefinitions(node)),
  },
  "a boolean as a string": {
    client: "Entra ID",
    kind: "user",
    sample: [{ op: "replace", path: "active", value: "False" }],
    becomes: [{ op: "replace", path: "active", value: false }],
    link: COMPATIBILITY,
    value: (value, node, isList) => !isList && node.type === "boolean" ? toBoolean(value) : value,
  },
} as const satisfies Record<string, PatchShape>;

const TRUTHS = new Map<JsonValue, boolean>([["true", true], ["false", false]]);

function toBoolean(value: JsonValue): JsonValue {
  return typeof value === "string" ? TRUTHS.get(value.toLowerCase()) ?? value : value;
}

/** The first extension that has the attribute. An attribute of the core schema has priority. */
function addExtension(one: SentOperation, { schema, find }: ShapeContext): SentOperation[] {
  const { path } = one;
  if (path === null || path.toLowerCase().startsWith("urn:") || find(path) !== null) return [one];
  const urn = schema.sections.map(({ id }) => `${id}:${path}`).find((text) => find(text) !== null);
  return [{ ...one, path: urn ?? path }];
}

/** Keys such as "name.givenName" become operations with a path, at the place where the key is. */
function splitPathKeys(one: SentOperation, { schema, find }: ShapeContext): SentOperation[] {
  const { value } = one;
  if (one.path !== null || !isJsonObject(value)) return [one];
  const keys = Object.keys(value);
  const isPath = (key: string) => /[.:[]/.test(key) && findExtension(schema, key) === undefined;
  if (!keys.some((key) => isPath(key) && find(key) !== null)) return [one];
  return Object.entries(value).map(([key, part]) =>
    isPath(key) && find(key) !== null
      ? { ...one, path: key, value: part }
      : { ...one, value: Object.fromEntries([[key, part]]) }
  );
}

/** Removes attributes from an object without a path, and from the extensions in it. */
function withoutKeys(
  one: SentOperation,
  { schema }: ShapeContext,
  isUnwanted: (node: AttributeDefinition | undefined, name: string) => boolean,
): SentOperation[] {
  const { value } = one;
  const target = one.path === null ? schema.core : findExtension(schema, one.path);
  if (target === undefined || !isJsonObject(value)) return [one];
  const wanted = (object: JsonObject, nodes: readonly AttributeDefinition[]): [string, JsonValue][] =>
    Object.entries(object).flatMap(([name, part]): [string, JsonValue][] => {
      const inner = target.isCore ? findExtension(schema, name) : undefined;
      if (inner !== undefined) {
        return [[name, isJsonObject(part) ? Object.fromEntries(wanted(part, inner.attributes)) : part]];
      }
      return isUnwanted(findDefinition(nodes, name), name) ? [] : [[name, part]];
    });
  return [{ ...one, value: Object.fromEntries(wanted(value, target.attributes)) }];
}

/** Without this, a list of values would mean nothing, and `remove` would remove every member. */
function removeByValues(one: SentOperation, { find }: ShapeContext): SentOperation[] {
  const path = one.op === "remove" && one.path !== null ? find(one.path) : null;
  if (path?.attribute?.multiValued !== true || path.sub !== null || path.filter !== null) return [one];
  const entries = isJsonArray(one.value) ? one.value : one.value === undefined ? [] : [one.value];
  const values = entries.map((entry) =>
    isJsonObject(entry) ? property(entry, "value") ?? memberIdOf(entry) : entry
  );
  const only = values.filter((value) => typeof value === "string");
  if (one.value === undefined || one.value === null || only.length < values.length) return [one];
  return [{ ...one, value: undefined, only }];
}

function unpackJson(entry: JsonValue): JsonValue {
  const text = isJsonObject(entry) ? property(entry, "value") : entry;
  if (typeof text !== "string" || !text.startsWith("{")) return entry;
  const inner = parseQuietlyAsObject(text);
  if (inner === null) return entry;
  const { displayName, ...parts } = inner;
  const display: JsonObject = displayName === undefined ? {} : { display: displayName };
  return { ...(isJsonObject(entry) ? entry : {}), ...display, ...parts };
}

function parseQuietlyAsObject(text: string): JsonObject | null {
  try {
    const value = JSON.parse(text) as JsonValue;
    return isJsonObject(value) ? value : null;
  } catch (fault) {
    if (fault instanceof SyntaxError) return null;
    throw fault;
  }
}

function withoutForeignParts(value: JsonValue, sub: readonly AttributeDefinition[]): JsonValue {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => {
      const node = findDefinition(sub, name);
      return node !== undefined && node.mutability !== "readOnly";
    }),
  );
}

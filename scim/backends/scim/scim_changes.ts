// What a write sends to another SCIM server for a resource that it has: the operations of a PATCH, or the merged body of a PUT (RFC 7644 §3.5). Pure.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { ContentChanges } from "../../backend_port.ts";
import { contentChanges } from "../../schema/content_changes.ts";
import type { Content, JsonObject, JsonValue } from "../../schema/resource.ts";
import { property } from "../../schema/attributes.ts";
import { ENTERPRISE_SCHEMA } from "../../schema/attribute_table.ts";
import { isJsonArray, isSameJson } from "../../schema/json_limits.ts";
import type { ReadOnlyAttributes } from "../../schema/read_only_attributes.ts";
import {
  nameAttribute,
  type ReceivedResource,
  RFC7643_COVERS,
  SPECIFICATION_ONLY,
  toJsonObject,
} from "./scim_resources.ts";

/** One attribute that the server gets. `value: undefined` removes it. */
export interface AttributeChange {
  /** `title`, `name.givenName`, `urn:…:User:department`. */
  readonly path: string;
  readonly value: JsonValue | undefined;
  /** What the server shows now. */
  readonly held: JsonValue | undefined;
}

interface ResourceChangeInput {
  readonly found: ReceivedResource;
  readonly content: Content;
  /** The resource in the format of the server, as a POST sends it. */
  readonly body: JsonObject;
  /** Absent: the server has exactly the resource afterwards. */
  readonly changes: ContentChanges | undefined;
  readonly readOnly: ReadOnlyAttributes;
  /** The earlier name of a rename. */
  readonly from: string | undefined;
}

/** The attributes to change, without members and without those that have the value already. */
export function attributeChanges(input: ResourceChangeInput): AttributeChange[] {
  const { found: { raw }, body, content, from } = input;
  const paths = new Set(changedPaths(input));
  if (isNameSent(input)) paths.add(nameAttribute(content.kind));
  // The server got the name as externalId, too.
  const external = property(raw, "externalId");
  const isOwn = from !== undefined && typeof external === "string" &&
    canonicalName(external) === canonicalName(from);
  if (isOwn) paths.add("externalId");
  return [...paths].flatMap((path) => {
    const [value, held] = [valueAt(body, path), valueAt(raw, path)];
    return value !== undefined && isSameJson(value, held) ? [] : [{ path, value, held }];
  });
}

/**
 * Another client may have renamed the resource at the server, which is found by its id. The next refresh follows. So the name is sent only if this
 * write changes it.
 */
function isNameSent({ found, content, from }: ResourceChangeInput): boolean {
  if (from !== undefined) return true;
  const held = found.content.name;
  return held !== content.name && canonicalName(held) === canonicalName(content.name);
}

function changedPaths({ changes, found, content, readOnly }: ResourceChangeInput): string[] {
  const { attributes } = changes ?? exactChanges(found, content);
  return attributes.flatMap(asRfcPath).filter((path) => !readOnly.has(path));
}

/** Without what only the server knows, such as the extension of another vendor. */
function exactChanges({ content: held }: ReceivedResource, content: Content): ContentChanges {
  const { attributes } = contentChanges(held, content);
  return {
    left: [],
    attributes: attributes.filter((path) =>
      path === "active" || RFC7643_COVERS.has(topOf(path)) ||
      property(content.attributes, topOf(path)) !== undefined
    ),
  };
}

/** The interface specification has `manager` as a core attribute, and has attributes that RFC 7643 lacks. */
function asRfcPath(path: string): string[] {
  const top = topOf(path);
  if (top === "manager") return [MANAGER_PATH];
  return SPECIFICATION_ONLY.includes(top) ? [] : [path];
}

const MANAGER_PATH = `${ENTERPRISE_SCHEMA}:manager`;

/** The attribute of a path, or the URN of an extension. */
function topOf(path: string): string {
  return splitPath(path)[0];
}

function splitPath(path: string): readonly [string, string | null] {
  const at = path.startsWith("urn:") ? path.lastIndexOf(":") : path.indexOf(".");
  return at < 0 ? [path, null] : [path.slice(0, at), path.slice(at + 1)];
}

function valueAt(object: JsonObject, path: string): JsonValue | undefined {
  const whole = keyOf(object, path);
  if (whole !== null) return property(object, whole);
  const [top, sub] = splitPath(path);
  if (sub === null) return undefined;
  const holder = toJsonObject(property(object, keyOf(object, top) ?? top));
  return property(holder, keyOf(holder, sub) ?? sub);
}

/** The spelling of a name in an object. Names are compared without case (RFC 7643 §2.1). */
function keyOf(object: JsonObject, name: string): string | null {
  if (Object.hasOwn(object, name)) return name;
  const lower = name.toLowerCase();
  return Object.keys(object).find((key) => key.toLowerCase() === lower) ?? null;
}

/** The operations of one PATCH. */
export function patchOperations(changes: readonly AttributeChange[]): JsonObject[] {
  return changes.map(({ path, value, held }): JsonObject => {
    if (value === undefined) return { op: "remove", path };
    return { op: held === undefined ? "add" : "replace", path, value };
  });
}

/** What the server sets by itself. It ignores these values (RFC 7643 §7 `readOnly`), or refuses them. */
const SERVER_ONLY = new Set(["meta", "groups"]);

/** The server's resource with the changes. What only the server has stays (RFC 7644 §3.5.1: a PUT replaces everything). */
export function mergedBody(
  raw: JsonObject,
  { changes, body, members }: {
    readonly changes: readonly AttributeChange[];
    readonly body: JsonObject;
    /** Of a group. */
    readonly members: readonly JsonValue[] | undefined;
  },
): JsonObject {
  const merged = new Map(Object.entries(raw).filter(([name]) => !SERVER_ONLY.has(name)));
  for (const { path, value } of changes) setAt(merged, path, value);
  const schemas = [raw.schemas, body.schemas].flatMap((list) => isJsonArray(list) ? list : []);
  return {
    ...Object.fromEntries(merged),
    schemas: [...new Set(schemas)],
    ...members === undefined ? {} : { members },
  };
}

function setAt(object: Map<string, JsonValue>, path: string, value: JsonValue | undefined): void {
  const [top, sub] = object.has(path) ? [path, null] : splitPath(path);
  const key = [...object.keys()].find((one) => one.toLowerCase() === top.toLowerCase()) ?? top;
  if (sub === null) {
    if (value === undefined) object.delete(key);
    else object.set(key, value);
    return;
  }
  const holder = toJsonObject(object.get(key));
  const inner = new Map(Object.entries(holder));
  const part = keyOf(holder, sub) ?? sub;
  if (value === undefined) inner.delete(part);
  else inner.set(part, value);
  if (inner.size === 0) object.delete(key);
  else object.set(key, Object.fromEntries(inner));
}

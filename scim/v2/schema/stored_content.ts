// Converts resources between the stored content and the JSON of RFC 7643. The stored form has the names of the interface specification, such as
// postralCode, and may have parts that no schema defines.

import { canonicalName, isDeceptiveName } from "../../../platform/canonical_name.ts";
import type { Content, JsonObject, JsonValue } from "../../schema/resource.ts";
import {
  canonicalJson,
  isJsonArray,
  isJsonObject,
  isSameJson,
  isUnassigned,
  property,
  spellingOf,
} from "../../schema/attributes.ts";
import { withCoreManager, withEnterpriseManager, withPersonName } from "../../schema/merge.ts";
import { distinctNames, parseName } from "../../schema/resource_name.ts";
import {
  type AttributeDefinition,
  type DefinedType,
  findDefinition,
  findSub,
  type ResourceTypeDefinition,
  type SchemaDefinition,
  subDefinitions,
} from "../../schema/attribute_table.ts";
import { type BodyProblem, isOfType } from "../../schema/read_value.ts";

/** What the record has besides the content. Absent parts are not rendered, so that the caller need not read them. */
interface ResourceParts {
  readonly id?: string;
  readonly externalId?: string;
  /** A user without `active`. */
  readonly activeUnassigned?: boolean;
  readonly meta?: JsonObject;
  /** Groups of a user. */
  readonly groups?: readonly JsonObject[];
  /** Members of a group. */
  readonly members?: readonly JsonObject[];
  /** Whether the response has the attribute or the extension (`Projection.includes`). Others are not rendered. Default: all. */
  readonly includes?: (name: string) => boolean;
}

/** Attributes that are not stored with the others. */
const APART_FROM_ATTRIBUTES = {
  user: new Set(["userName", "active", "password", "groups"]),
  group: new Set(["displayName", "members"]),
} as const;

export const MAX_USER_PASSWORD_CHARACTERS = 1024;
const MAX_EXTERNAL_ID_CHARACTERS = 1024;

/**
 * A stored resource as RFC 7643 spells it, in the order of the schemas. Stored attributes that no schema of the type defines are left out.
 */
export function renderContent(
  content: Content,
  type: ResourceTypeDefinition,
  parts: ResourceParts = {},
): JsonObject {
  const { includes = () => true, id, externalId, meta, groups = [], members = [] } = parts;
  const moved = withEnterpriseManager(content.attributes);
  const extensions = renderExtensions(moved, type, includes);
  const rendered: RenderedObject = { schemas: [type.schema.id, ...extensions.keys()] };
  if (id !== undefined) rendered["id"] = id;
  if (externalId !== undefined) rendered["externalId"] = externalId;
  if (content.kind === "group") rendered["displayName"] = content.name;
  else {
    rendered["userName"] = content.name;
    if (parts.activeUnassigned !== true) rendered["active"] = content.active;
  }
  const wanted = coreAttributes(type).filter(({ name }) => includes(name));
  renderInto(rendered, withoutEmptyName(moved), { attributes: wanted });
  if (groups.length > 0) rendered["groups"] = groups;
  if (members.length > 0) rendered["members"] = members;
  for (const [urn, extension] of extensions) rendered[urn] = extension;
  if (meta !== undefined) rendered["meta"] = meta;
  return rendered;
}

/** The extensions of which the resource has attributes, by URN. */
function renderExtensions(
  attributes: JsonObject,
  type: ResourceTypeDefinition,
  includes: (name: string) => boolean,
): ReadonlyMap<string, JsonObject> {
  const extensions = new Map<string, JsonObject>();
  for (const { schema } of type.extensions) {
    const stored = includes(schema.id)
      ? property(attributes, extensionKey(attributes, schema) ?? schema.id)
      : undefined;
    if (!isJsonObject(stored)) continue;
    const rendered: RenderedObject = {};
    renderInto(rendered, stored, { attributes: schema.attributes });
    if (Object.keys(rendered).length > 0) extensions.set(schema.id, rendered);
  }
  return extensions;
}

interface ToStoredContentOptions {
  /** The stored content. Absent: the resource is new. */
  readonly previous?: Content;
  /** The names of the members of a group, for the ids in the JSON. */
  readonly members?: readonly string[];
}

type ToStoredContentOutcome =
  | {
    readonly ok: true;
    readonly content: Content;
    readonly externalId: string | undefined;
    /** In clear. */
    readonly password: string | undefined;
  }
  | ({ readonly ok: false } & BodyProblem);

/**
 * The content that a resource has after a write. What the client did not change keeps its stored form, and stored attributes that no
 * schema of the type defines stay.
 *
 * @param resource from `readBody`, or a rendered resource after a PATCH.
 */
export function toStoredContent(
  resource: JsonObject,
  type: ResourceTypeDefinition,
  { previous, members = [] }: ToStoredContentOptions = {},
): ToStoredContentOutcome {
  const named = readNewName(resource, type, previous);
  if (!named.ok) return named;
  const password = property(resource, "password");
  if (password !== undefined && !isPassword(password)) {
    return invalidValue(`password must have 1 to ${MAX_USER_PASSWORD_CHARACTERS} characters.`);
  }
  const externalId = property(resource, "externalId");
  if (typeof externalId === "string" && externalId.length > MAX_EXTERNAL_ID_CHARACTERS) {
    return invalidValue(`externalId must have at most ${MAX_EXTERNAL_ID_CHARACTERS} characters.`);
  }
  const attributes = storeAttributes(resource, type, previous?.attributes ?? {});
  const { name } = named;
  const known = previous?.kind === "group" ? previous.members : [];
  return {
    ok: true,
    content: type.kind === "group"
      ? { kind: "group", name, attributes, members: distinctNames(members, known) }
      : {
        kind: "user",
        name,
        active: property(resource, "active") !== false,
        attributes: withPersonName(attributes),
      },
    externalId: typeof externalId === "string" ? externalId : undefined,
    password: typeof password === "string" ? password : undefined,
  };
}

function isPassword(value: JsonValue): boolean {
  return typeof value === "string" && value !== "" && value.length <= MAX_USER_PASSWORD_CHARACTERS;
}

/** An existing name that looks like another name may stay. */
function readNewName(
  resource: JsonObject,
  type: ResourceTypeDefinition,
  previous: Content | undefined,
): { ok: true; name: string } | ({ ok: false } & BodyProblem) {
  const attribute = type.kind === "user" ? "userName" : "displayName";
  const text = property(resource, attribute);
  if (typeof text !== "string") return invalidValue(`${attribute} is required.`);
  const read = parseName(text);
  if (!read.ok) return invalidValue(`${attribute} cannot be a name: ${read.problem}.`);
  const isNew = previous === undefined || canonicalName(previous.name) !== canonicalName(read.name);
  return isNew && isDeceptiveName(read.name)
    ? invalidValue(`${attribute} must not begin or end with a blank, or contain format characters.`)
    : read;
}

function invalidValue(detail: string): { ok: false } & BodyProblem {
  return { ok: false, scimType: "invalidValue", detail };
}

function storeAttributes(
  resource: JsonObject,
  type: ResourceTypeDefinition,
  previous: JsonObject,
): JsonObject {
  const before = withEnterpriseManager(previous);
  const core = storeObject(resource, coreAttributes(type), {
    previous: withoutEmptyName(before),
    readOnly: "keep",
  });
  const stored = new Map<string, JsonValue>(Object.entries(core));
  for (const { schema } of type.extensions) {
    const key = extensionKey(before, schema) ?? schema.id;
    const given = property(resource, schema.id);
    const held = property(before, key);
    const next = storeObject(isJsonObject(given) ? given : {}, schema.attributes, {
      previous: isJsonObject(held) ? held : {},
      readOnly: "keep",
    });
    if (Object.keys(next).length > 0) stored.set(key, next);
    else if (isJsonObject(held)) stored.delete(key);
  }
  const next = Object.fromEntries(stored);
  return property(previous, "manager") === undefined ? next : withCoreManager(next);
}

/** Core attributes that are stored with the others. */
function coreAttributes({ kind, schema }: ResourceTypeDefinition): readonly AttributeDefinition[] {
  let found = coreOf.get(schema);
  if (found === undefined) {
    const apart: ReadonlySet<string> = APART_FROM_ATTRIBUTES[kind];
    found = schema.attributes.filter(({ name }) => !apart.has(name));
    coreOf.set(schema, found);
  }
  return found;
}
const coreOf = new WeakMap<SchemaDefinition, readonly AttributeDefinition[]>();

/** The key of an extension in stored attributes, compared without case. */
function extensionKey(attributes: JsonObject, { id }: SchemaDefinition): string | undefined {
  if (Object.hasOwn(attributes, id)) return id;
  const lower = id.toLowerCase();
  return Object.keys(attributes).find((key) => key.startsWith("urn:") && key.toLowerCase() === lower);
}

/** The stored name always has a family name and a given name. Empty ones mean that it has none. */
function withoutEmptyName(attributes: JsonObject): JsonObject {
  const { name } = attributes;
  if (!isJsonObject(name)) return attributes;
  const all = Object.entries(name);
  const parts = all.filter(([part, text]) => text !== "" || !EMPTY_NAME_PARTS.has(part));
  if (parts.length > 0 && parts.length === all.length) return attributes;
  const { name: _, ...rest } = attributes;
  return parts.length === 0 ? rest : { name: Object.fromEntries(parts), ...rest };
}
const EMPTY_NAME_PARTS = new Set(["familyName", "givenName"]);

/**
 * The ids in `members`, in their order.
 *
 * @param sent the members in the body. An entry that is not in the resource has no value, so that it would be lost.
 */
export function memberIdsOf(
  resource: JsonObject,
  sent: JsonValue | undefined,
): { ok: true; ids: readonly string[] } | ({ ok: false } & BodyProblem) {
  const members = property(resource, "members") ?? [];
  const entries = isJsonArray(members) ? members : [];
  const count = isJsonArray(sent) ? sent.length : isUnassigned(sent) ? 0 : 1;
  const ids = entries.map(memberIdOf);
  return ids.length >= count && ids.every((id) => id !== null)
    ? { ok: true, ids }
    : invalidValue(NO_MEMBER_ID);
}

/** `writable`: without read-only parts, as a body has it. */
type RenderParts = "all" | "writable";

/** The key of an attribute in a stored object. `null`: it has none. */
function storedKey(
  object: JsonObject,
  { name, storedName = name, isStoredAsSent }: AttributeDefinition,
): string | null {
  if (Object.hasOwn(object, storedName)) return storedName;
  return isStoredAsSent === true ? spellingOf(object, name) : null;
}

/** An object that is being rendered. Its names are those of schemas, so none of them is `__proto__`. */
export interface RenderedObject {
  [name: string]: JsonValue;
}

/** Adds the attributes of a stored object that have a value, in the order of the list. */
function renderInto(
  rendered: RenderedObject,
  object: JsonObject,
  { attributes, parts = "all" }: { attributes: readonly AttributeDefinition[]; parts?: RenderParts },
): void {
  for (const definition of attributes) {
    const key = storedKey(object, definition);
    const value = key === null ? undefined : renderStoredValue(object[key], definition, parts);
    if (value !== undefined) rendered[definition.name] = value;
  }
}

/** A stored value as RFC 7643 spells it. Parts that no schema defines, and values of another type, are left out. */
function renderStoredValue(
  value: JsonValue | undefined,
  definition: AttributeDefinition,
  parts: RenderParts,
): JsonValue | undefined {
  if (value === undefined || isUnassigned(value) || definition.returned === "never") return undefined;
  if (parts === "writable" && definition.mutability === "readOnly") return undefined;
  if (!definition.multiValued) return renderOne(value, definition, parts);
  const entries: JsonValue[] = [];
  for (const one of isJsonArray(value) ? value : [value]) {
    const entry = renderOne(one, definition, parts);
    if (entry !== undefined) entries.push(entry);
  }
  return entries.length === 0 ? undefined : entries;
}

function renderOne(
  value: JsonValue,
  definition: AttributeDefinition,
  parts: RenderParts,
): JsonValue | undefined {
  const { type } = definition;
  if (type === "complex") return renderObject(value, definition, parts);
  // The other interface does not check base64.
  const isValid = type === "binary" ? typeof value === "string" : isOfType(type, value);
  return isValid ? value : typeof value === "string" ? fromText(type, value) : undefined;
}

/** Backends such as LDAP servers hold every value as a text. */
const TEXT_FORMS: Readonly<Partial<Record<DefinedType, RegExp>>> = {
  integer: /^-?\d{1,15}$/,
  decimal: /^-?\d{1,15}(\.\d{1,15})?$/,
  boolean: /^(true|false)$/i,
};

/** Whether a text is a value of a type that is not a text. */
export function isTextForm(type: DefinedType, text: string): boolean {
  return TEXT_FORMS[type]?.test(text) === true;
}

function fromText(type: DefinedType, text: string): number | boolean | undefined {
  if (!isTextForm(type, text)) return undefined;
  return type === "boolean" ? text.toLowerCase() === "true" : Number(text);
}

function renderObject(
  value: JsonValue,
  definition: AttributeDefinition,
  parts: RenderParts,
): JsonObject | undefined {
  if (!isJsonObject(value)) {
    const plain = findSub(definition, "value");
    return plain !== undefined && typeof value === "string" ? { value } : undefined;
  }
  const rendered: RenderedObject = {};
  renderInto(rendered, value, { attributes: subDefinitions(definition), parts });
  return Object.keys(rendered).length === 0 ? undefined : rendered;
}

/**
 * The stored form of a value of RFC 7643. What the client did not change keeps its stored form, also the parts that it cannot see.
 *
 * @param sent `undefined`: unassigned.
 * @param previous the stored value.
 */
function toStoredValue(
  sent: JsonValue | undefined,
  definition: AttributeDefinition,
  previous: JsonValue | undefined,
): JsonValue | undefined {
  // After a PATCH, the value has the read-only parts that the response shows.
  const value = sent === undefined ? undefined : withoutReadOnly(sent, definition);
  if (previous !== undefined && isSameJson(renderStoredValue(previous, definition, "writable"), value)) {
    return previous;
  }
  if (value === undefined) return undefined;
  if (definition.type !== "complex") return value;
  if (isJsonArray(value)) return storeEntries(value, definition, previous);
  if (!isJsonObject(value)) return undefined;
  const before = isJsonObject(previous) ? previous : {};
  return storeObject(value, subDefinitions(definition), { previous: before, readOnly: "drop" });
}

/** A value of RFC 7643 without the sub-attributes that a client cannot change. */
function withoutReadOnly(value: JsonValue, definition: AttributeDefinition): JsonValue {
  if (isJsonArray(value)) return value.map((one) => withoutReadOnly(one, definition));
  if (!isJsonObject(value)) return value;
  const subs = subDefinitions(definition);
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => findDefinition(subs, name)?.mutability !== "readOnly"),
  );
}

function storeEntries(
  entries: readonly JsonValue[],
  definition: AttributeDefinition,
  previous: JsonValue | undefined,
): JsonValue[] {
  const before = new Map<string, JsonValue[]>();
  for (const one of isJsonArray(previous) ? previous : previous === undefined ? [] : [previous]) {
    const rendered = renderOne(one, definition, "writable");
    if (rendered === undefined) continue;
    const key = canonicalJson(rendered);
    const same = before.get(key);
    if (same === undefined) before.set(key, [one]);
    else same.push(one);
  }
  const subs = subDefinitions(definition);
  return entries.flatMap((entry): JsonValue[] => {
    const same = before.get(canonicalJson(entry))?.shift();
    if (same !== undefined) return [same];
    return isJsonObject(entry) ? [storeObject(entry, subs, { previous: {}, readOnly: "drop" })] : [];
  });
}

/**
 * The stored form of an object: attributes of the schema from `value`, others from `previous`, in the order of `previous`.
 *
 * @param options `drop`: read-only parts describe the rest of the value, which changed.
 */
function storeObject(
  value: JsonObject,
  attributes: readonly AttributeDefinition[],
  { previous, readOnly }: { readonly previous: JsonObject; readonly readOnly: "keep" | "drop" },
): JsonObject {
  const stored = new Map<string, JsonValue>(Object.entries(previous));
  for (const definition of attributes) {
    const { name, storedName = name } = definition;
    const key = storedKey(previous, definition) ?? storedName;
    if (definition.mutability === "readOnly") {
      if (readOnly === "drop") stored.delete(key);
      continue;
    }
    const inner = toStoredValue(property(value, name), definition, stored.get(key));
    if (inner === undefined) stored.delete(key);
    else stored.set(key, inner);
  }
  return Object.fromEntries(stored);
}

const MAX_ID_CHARACTERS = 256;
const MAX_REFERENCE_CHARACTERS = 2048;
/** An absolute or a relative URL of a user. */
const USER_REFERENCE = /(?:^|\/)Users\/([^/?#]+)\/?$/i;

export const NO_MEMBER_ID = 'Send each member as an object with the id of a user in "value".';

export function isMemberId(value: JsonValue | undefined): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_ID_CHARACTERS &&
    value.isWellFormed();
}

/** `null`: the entry names no member. A name alone (`display`) is not an id: names change. */
export function memberIdOf(entry: JsonValue): string | null {
  if (!isJsonObject(entry)) return null;
  const value = property(entry, "value") ?? referencedId(property(entry, "$ref"));
  return isMemberId(value) ? value : null;
}

function referencedId(reference: JsonValue | undefined): string | undefined {
  if (typeof reference !== "string" || reference.length > MAX_REFERENCE_CHARACTERS) return undefined;
  const segment = USER_REFERENCE.exec(reference)?.[1];
  if (segment === undefined) return undefined;
  try {
    return decodeURIComponent(segment);
  } catch (fault) {
    if (fault instanceof URIError) return undefined;
    throw fault;
  }
}

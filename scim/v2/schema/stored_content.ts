// Converts resources between the stored content and the JSON of RFC 7643.

import { canonicalName, isDeceptiveName } from "../../../platform/canonical_name.ts";
import type { Content, JsonObject, JsonValue } from "../../schema/resource.ts";
import { findAttribute, property, SCIM_ATTRIBUTES } from "../../schema/attributes.ts";
import { isJsonArray, isJsonObject } from "../../schema/json_limits.ts";
import { withCoreManager, withEnterpriseManager, withPersonName } from "../../schema/merge.ts";
import { distinctNames, parseName } from "../../schema/resource_name.ts";
import type { ResourceTypeDefinition, SchemaDefinition } from "../../schema/attribute_definition.ts";
import { memberIdOf, NO_MEMBER_ID } from "./member_id.ts";
import { isUnassigned } from "../../schema/value_rules.ts";
import type { BodyProblem } from "./read_body.ts";
import {
  type RenderedObject,
  renderInto,
  type StoredAttribute,
  storedAttributes,
  storeObject,
} from "./stored_value.ts";

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
  const wanted = coreAttributes(type).filter(({ definition }) => includes(definition.name));
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
    renderInto(rendered, stored, { attributes: extensionAttributes(type, schema) });
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
    const next = storeObject(isJsonObject(given) ? given : {}, extensionAttributes(type, schema), {
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
function coreAttributes(type: ResourceTypeDefinition): readonly StoredAttribute[] {
  let found = coreOf.get(type.schema);
  if (found === undefined) {
    const apart: ReadonlySet<string> = APART_FROM_ATTRIBUTES[type.kind];
    const definitions = type.schema.attributes.filter(({ name }) => !apart.has(name));
    found = storedAttributes(definitions, SCIM_ATTRIBUTES[type.kind]);
    coreOf.set(type.schema, found);
  }
  return found;
}
const coreOf = new WeakMap<SchemaDefinition, readonly StoredAttribute[]>();

function extensionAttributes(
  { kind }: ResourceTypeDefinition,
  { id, attributes }: SchemaDefinition,
): readonly StoredAttribute[] {
  return storedAttributes(attributes, findAttribute(SCIM_ATTRIBUTES[kind], id)?.sub);
}

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
  const ids: string[] = [];
  for (const member of entries) {
    const id = memberIdOf(member);
    if (id === null) return invalidValue(NO_MEMBER_ID);
    ids.push(id);
  }
  return entries.length < count ? invalidValue(NO_MEMBER_ID) : { ok: true, ids };
}

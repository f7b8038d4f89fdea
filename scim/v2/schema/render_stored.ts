// Renders stored resources as responses: ids of members and groups, meta, and the projection.

import type { FilterPath } from "../../filter/filter.ts";
import type { TargetDirectory, UserRenderer } from "../../ports.ts";
import { isJsonArray, isJsonObject } from "../../schema/attributes.ts";
import { etagOf, isoTime } from "../../schema/render_resource.ts";
import type { JsonObject, JsonValue, Stored } from "../../schema/resource.ts";
import {
  type AttributeDefinition,
  findDefinition,
  findSub,
  type ResourceTypeDefinition,
  type SchemaDefinition,
  subDefinitions,
} from "../../schema/attribute_table.ts";
import { renderContent, type RenderedObject } from "./stored_content.ts";
import { resolveAttribute, topLevelDefinitions } from "./target_schemas.ts";

export interface RenderContext {
  readonly type: ResourceTypeDefinition;
  /** The absolute URL of the target, without a slash at the end. */
  readonly baseUrl: string;
  readonly directory: Pick<TargetDirectory, "readIds">;
}

/** Reads the id of each group once, for a response with several users, which are rendered at the same time. */
export function readGroupsOnce({ directory, ...context }: RenderContext): RenderContext {
  const known = new Map<string, Promise<string | null>>();
  return {
    ...context,
    directory: {
      async readIds(kind, names) {
        const unknown = names.filter((name) => !known.has(name));
        if (unknown.length > 0) {
          const reading = directory.readIds(kind, unknown);
          for (const [at, name] of unknown.entries()) known.set(name, reading.then((ids) => ids[at] ?? null));
        }
        return await Promise.all(names.map((name) => known.get(name) ?? null));
      },
    },
  };
}

/** The absolute URL of a resource. */
export function locationOf({ type, baseUrl }: Pick<RenderContext, "type" | "baseUrl">, id: string): string {
  return `${baseUrl}${type.endpoint}/${id}`;
}

/**
 * A stored resource in the spelling of RFC 7643, before the projection.
 *
 * @param options.isHead the resource was read without members, so it has neither `members` nor a version.
 * @param options.includes the attributes that the response can contain. Others are not read.
 */
export async function renderStored(
  stored: Stored,
  context: RenderContext,
  { includes = () => true, isHead = false }: { includes?: (name: string) => boolean; isHead?: boolean } = {},
): Promise<JsonObject> {
  const { content, id, externalId } = stored;
  const parts = {
    id,
    ...(externalId === undefined ? {} : { externalId }),
    ...(stored.activeUnassigned === undefined ? {} : { activeUnassigned: true }),
    includes,
    ...(includes("meta") ? { meta: metaOf(stored, context, isHead) } : {}),
  };
  if (content.kind === "user") {
    const groups = includes("groups") ? await groupsOf(stored, context) : [];
    return renderContent(content, context.type, { ...parts, groups });
  }
  const members = includes("members") && !isHead ? membersOf(stored, context) : [];
  return renderContent(content, context.type, { ...parts, members });
}

/** Renders only what a filter or an order compares: the attributes of `paths`. */
export function comparedViews(
  context: RenderContext,
  paths: readonly FilterPath[],
): (stored: Stored) => Promise<JsonObject> {
  const names = new Set(paths.map(({ schema, attribute }) => schema ?? attribute));
  // The values of an extension decide whether `schemas` lists it.
  const includes = (name: string) => names.has(name) || (names.has("schemas") && name.startsWith("urn:"));
  const once = readGroupsOnce(context);
  // Without `active` in responses, a user is compared by it all the same.
  return ({ activeUnassigned: _, ...stored }) => renderStored(stored, once, { includes });
}

/** The JSON text of a response. */
export async function renderResponse(
  stored: Stored,
  context: RenderContext,
  projection: Projection,
  options: { isHead?: boolean } = {},
): Promise<string> {
  const project = async (one: Stored) => {
    const rendered = await renderStored(one, context, { ...options, includes: projection.includes });
    return projection.isPlain ? rendered : projection.apply(rendered);
  };
  const { content, memberIds = [] } = stored;
  const first = memberIds.findIndex((id) => id !== null);
  if (content.kind === "user" || first < 0) return JSON.stringify(await project(stored));
  // What the response has of one member, it has of each.
  const projected = await project({
    ...stored,
    content: { ...content, members: content.members.slice(first, first + 1) },
    memberIds: memberIds.slice(first, first + 1),
  });
  const { members } = projected;
  if (!isJsonArray(members)) return JSON.stringify(projected);
  if (Object.keys(members[0] ?? {}).join() !== "value,$ref,type") {
    return JSON.stringify(await project(stored));
  }
  let text = "";
  for (const [name, value] of Object.entries(projected)) {
    text += `${text === "" ? "{" : ","}${JSON.stringify(name)}:`;
    text += name === "members" ? membersText(memberIds, context) : JSON.stringify(value);
  }
  return `${text}}`;
}

/** The members in most responses. Objects of 10,000 members take longer than the write. */
function membersText(ids: readonly (string | null)[], { baseUrl }: Pick<RenderContext, "baseUrl">): string {
  const middle = `","$ref":${JSON.stringify(`${baseUrl}/Users/`).slice(0, -1)}`;
  let text = "";
  for (const id of ids) if (id !== null) text += `,{"value":"${id}${middle}${id}","type":"User"}`;
  return `[${text.slice(1)}]`;
}

/** Renders users with all attributes. @param projection a plain one */
export function userRenderer(context: RenderContext, projection: Projection): UserRenderer {
  return {
    interfaceName: "v2",
    on: [context.type, context.baseUrl],
    render: (stored) => renderResponse(stored, context, projection),
  };
}

function metaOf(stored: Stored, context: RenderContext, isHead: boolean): JsonObject {
  return {
    resourceType: context.type.name,
    created: isoTime(stored.createdMs),
    lastModified: isoTime(stored.modifiedMs),
    location: locationOf(context, stored.id),
    ...(isHead ? {} : { version: etagOf(stored.version) }),
  };
}

async function groupsOf(
  { groups }: Stored,
  { directory, baseUrl }: RenderContext,
): Promise<JsonObject[]> {
  if (groups.length === 0) return [];
  const ids = await directory.readIds("group", groups);
  return groups.flatMap((display, at): JsonObject[] => {
    const value = ids[at] ?? null;
    return value === null ? [] : [{ value, $ref: `${baseUrl}/Groups/${value}`, display, type: "direct" }];
  });
}

/** A member without a user has no id, so the response does not contain it. */
export function membersOf(
  { content, memberIds = [] }: Stored,
  { baseUrl }: Pick<RenderContext, "baseUrl">,
): JsonObject[] {
  if (content.kind === "user") return [];
  return content.members.flatMap((display, at): JsonObject[] => {
    const value = memberIds[at] ?? null;
    return value === null ? [] : [{ value, $ref: `${baseUrl}/Users/${value}`, display, type: "User" }];
  });
}

// The projection decides which attributes a response contains: `attributes`, `excludedAttributes` and `returned` (RFC 7644 §3.9,
// RFC 7643 §7).

/** The attributes of responses. */
export interface Projection {
  /** Whether a response may contain this common or core attribute, or the extension of this URN. Otherwise the caller need not read it. */
  readonly includes: (name: string) => boolean;
  /** A resource that was rendered with `includes` is the response: `apply` would not change it. */
  readonly isPlain: boolean;
  /** @param resource a rendered resource. */
  readonly apply: (resource: JsonObject) => JsonObject;
}

type ReadProjectionOutcome =
  | { readonly ok: true; readonly projection: Projection }
  | { readonly ok: false; readonly scimType: "invalidValue"; readonly detail: string };

export interface ProjectionParameters {
  /** Names from the query, separated by commas, or from a SearchRequest, as a list. */
  readonly attributes?: string | readonly string[];
  readonly excludedAttributes?: string | readonly string[];
}

/** Names in `attributes` that RFC 7644 §3.9 does not allow and that clients send. In `excludedAttributes` they are unknown names. */
export const NAME_SHAPES = {
  filter_in_name: {
    client: "Entra ID",
    example: 'attributes=emails[type eq "work"]',
    becomes: "attributes=emails",
    link: "https://github.com/AzureAD/SCIMReferenceCode/wiki/Test-Your-SCIM-Endpoint",
    convert: (name: string): string => {
      // Linear in the length of a hostile name, unlike a pattern.
      const [open, close] = [name.indexOf("["), name.lastIndexOf("]")];
      return open < 0 || close < open ? name : name.slice(0, open) + name.slice(close + 1);
    },
  },
} as const;

export const MAX_PROJECTION_NAMES = 200;
const MAX_PROJECTION_CHARACTERS = 10_000;

/** `whole`, or the sub-attributes that are named. */
type Selected = "whole" | Set<AttributeDefinition>;

interface Selection {
  readonly mode: "default" | "only" | "except";
  readonly named: ReadonlyMap<AttributeDefinition, Selected>;
}

/**
 * Reads the parameters. Names that no schema of the type defines are ignored.
 *
 * @param parameters absent or empty ones do not restrict the response.
 */
export function readProjection(
  parameters: ProjectionParameters,
  type: ResourceTypeDefinition,
): ReadProjectionOutcome {
  const only = namesOf(parameters.attributes)?.map(NAME_SHAPES.filter_in_name.convert) ?? null;
  const except = namesOf(parameters.excludedAttributes);
  if (only === null || except === null) {
    return invalidParameter(
      `attributes and excludedAttributes can name at most ${MAX_PROJECTION_NAMES} attributes.`,
    );
  }
  // RFC 7644 §3.9: "mutually exclusive URL query parameters".
  if (only.length > 0 && except.length > 0) {
    return invalidParameter("Send either attributes or excludedAttributes, not both.");
  }
  const mode = only.length > 0 ? "only" : except.length > 0 ? "except" : "default";
  const projection = mode === "default"
    ? defaultProjection(type)
    : createProjection(type, { mode, named: select(type, [...only, ...except]) });
  return { ok: true, projection };
}

/** Nearly every request has this one. */
function defaultProjection(type: ResourceTypeDefinition): Projection {
  let projection = defaults.get(type);
  if (projection === undefined) {
    projection = createProjection(type, { mode: "default", named: new Map() });
    defaults.set(type, projection);
  }
  return projection;
}
const defaults = new WeakMap<ResourceTypeDefinition, Projection>();

function invalidParameter(detail: string): ReadProjectionOutcome {
  return { ok: false, scimType: "invalidValue", detail };
}

/** `null`: too many. */
function namesOf(parameter: string | readonly string[] | undefined): string[] | null {
  if (parameter === undefined) return [];
  if (typeof parameter === "string" && parameter.length > MAX_PROJECTION_CHARACTERS) return null;
  const list = typeof parameter === "string" ? parameter.split(",") : parameter;
  if (list.length > MAX_PROJECTION_NAMES) return null;
  return list.map((name) => name.trim()).filter((name) => name !== "");
}

function select(
  type: ResourceTypeDefinition,
  names: readonly string[],
): ReadonlyMap<AttributeDefinition, Selected> {
  const named = new Map<AttributeDefinition, Selected>();
  const add = (attribute: AttributeDefinition, sub: AttributeDefinition | null) => {
    const before = named.get(attribute);
    if (sub === null) named.set(attribute, "whole");
    else if (before === undefined) named.set(attribute, new Set([sub]));
    else if (before !== "whole") before.add(sub);
  };
  for (const name of names) {
    const whole = resolveAttribute(type, name);
    if (whole !== undefined) {
      const { attribute, extension } = whole;
      for (const one of attribute === null ? extension.attributes : [attribute]) add(one, null);
      continue;
    }
    // A URN has dots, too, so only the last one can begin a sub-attribute.
    const dot = name.lastIndexOf(".");
    const attribute = dot < 0
      ? undefined
      : resolveAttribute(type, name.slice(0, dot))?.attribute ?? undefined;
    if (attribute === undefined) continue;
    const sub = findSub(attribute, name.slice(dot + 1));
    if (sub !== undefined) add(attribute, sub);
  }
  return named;
}

/** What a response contains of an attribute: the names of its sub-attributes, or the whole value. */
type Shown = "whole" | ReadonlySet<string>;

/** By the definition. Absent: the response does not contain the attribute. */
type ShownAttributes = ReadonlyMap<AttributeDefinition, Shown>;

function createProjection(type: ResourceTypeDefinition, selection: Selection): Projection {
  const top = topLevelDefinitions(type);
  const schemas = type.extensions.map(({ schema }) => schema);
  const inExtensions = schemas.flatMap(({ attributes }) => attributes);
  const shown = shownAttributes([...top, ...inExtensions], selection);
  const included = new Set([
    ...top.filter((definition) => shown.has(definition)).map(({ name }) => name),
    ...schemas.filter(({ attributes }) => attributes.some((one) => shown.has(one))).map(({ id }) => id),
  ]);
  return {
    includes: (name) => included.has(name),
    isPlain: selection.mode === "default" && inExtensions.every((definition) => shown.has(definition)) &&
      [...shown.values()].every((one) => one === "whole"),
    apply(resource) {
      const projected: RenderedObject = {};
      for (const [name, value] of Object.entries(resource)) {
        const extension = schemas.find(({ id }) => id === name);
        const kept = extension !== undefined && isJsonObject(value)
          ? nonEmpty(projectAll(value, extension.attributes, shown))
          : projectOne(value, findDefinition(extension?.attributes ?? top, name), shown);
        if (kept !== undefined) projected[name] = kept;
      }
      return withPresentSchemas(projected, type);
    },
  };
}

function shownAttributes(definitions: readonly AttributeDefinition[], selection: Selection): ShownAttributes {
  const shown = new Map<AttributeDefinition, Shown>();
  for (const definition of definitions) {
    if (!isShown(definition, selection)) continue;
    const all = definition.type === "complex" ? subDefinitions(definition) : [];
    const subs = all.filter((sub) => isSubShown(sub, selection, definition));
    shown.set(definition, subs.length === all.length ? "whole" : new Set(subs.map(({ name }) => name)));
  }
  return shown;
}

/** RFC 7643 §3: `schemas` names the schemas that are present in this structure. */
function withPresentSchemas(resource: JsonObject, { extensions }: ResourceTypeDefinition): JsonObject {
  const { schemas, ...rest } = resource;
  if (!isJsonArray(schemas)) return resource;
  const absent = new Set<JsonValue>(
    extensions.map(({ schema }: { schema: SchemaDefinition }) => schema.id).filter((id) =>
      !Object.hasOwn(resource, id)
    ),
  );
  return { schemas: schemas.filter((urn) => !absent.has(urn)), ...rest };
}

function isShown(definition: AttributeDefinition, { mode, named }: Selection): boolean {
  const selected = named.get(definition);
  // RFC 7643 §7: "always" ignores excludedAttributes, and "never" ignores attributes.
  if (definition.returned === "never") return false;
  if (definition.returned === "always") return true;
  if (mode === "only") return selected !== undefined;
  return definition.returned === "default" && !(mode === "except" && selected === "whole");
}

function projectAll(
  object: JsonObject,
  definitions: readonly AttributeDefinition[],
  shown: ShownAttributes,
): JsonObject {
  const projected: RenderedObject = {};
  for (const [name, value] of Object.entries(object)) {
    const kept = projectOne(value, findDefinition(definitions, name), shown);
    if (kept !== undefined) projected[name] = kept;
  }
  return projected;
}

/** `undefined`: the response does not contain the attribute. A value without a definition is never shown. */
function projectOne(
  value: JsonValue,
  definition: AttributeDefinition | undefined,
  shown: ShownAttributes,
): JsonValue | undefined {
  const subs = definition === undefined ? undefined : shown.get(definition);
  if (subs === undefined || subs === "whole") return subs === undefined ? undefined : value;
  if (!isJsonArray(value)) return cut(value, subs);
  const entries: JsonValue[] = [];
  for (const one of value) {
    const entry = cut(one, subs);
    if (entry !== undefined) entries.push(entry);
  }
  return entries.length === 0 ? undefined : entries;
}

function cut(value: JsonValue, names: ReadonlySet<string>): JsonObject | undefined {
  if (!isJsonObject(value)) return undefined;
  const kept: RenderedObject = {};
  for (const [name, inner] of Object.entries(value)) {
    if (names.has(name)) kept[name] = inner;
  }
  return nonEmpty(kept);
}

function isSubShown(
  sub: AttributeDefinition,
  { mode, named }: Selection,
  parent: AttributeDefinition,
): boolean {
  if (sub.returned === "never") return false;
  if (sub.returned === "always") return true;
  const selected = named.get(parent);
  const isNamed = selected !== undefined && selected !== "whole" && selected.has(sub);
  if (mode === "only" && isNamed) return true;
  if (sub.returned === "request") return false;
  if (mode === "only") return selected === "whole" || selected === undefined;
  return !(mode === "except" && isNamed);
}

function nonEmpty(object: JsonObject): JsonObject | undefined {
  return Object.keys(object).length === 0 ? undefined : object;
}

// Decides which attributes a response contains: `attributes`, `excludedAttributes` and `returned` (RFC 7644 §3.9,
// RFC 7643 §7).

import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import { isJsonArray, isJsonObject } from "../../schema/json_limits.ts";
import {
  type AttributeDefinition,
  findDefinition,
  type ResourceTypeDefinition,
  type SchemaDefinition,
  subDefinitions,
} from "./attribute_definition.ts";
import { resolveAttribute, topLevelDefinitions } from "./target_schemas.ts";

/** The attributes of responses. */
export interface Projection {
  /** Whether a response may contain this common or core attribute, or the extension of this URN. Otherwise the caller need not read it. */
  includes(name: string): boolean;
  /** @param resource a rendered resource. */
  apply(resource: JsonObject): JsonObject;
}

export type ReadProjectionOutcome =
  | { readonly ok: true; readonly projection: Projection }
  | { readonly ok: false; readonly scimType: "invalidValue"; readonly detail: string };

export interface ProjectionParameters {
  /** Names from the query, separated by commas, or from a SearchRequest, as a list. */
  readonly attributes?: string | readonly string[];
  readonly excludedAttributes?: string | readonly string[];
}

const MAX_NAMES = 200;
const MAX_PARAMETER = 10_000;

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
  const only = namesOf(parameters.attributes);
  const except = namesOf(parameters.excludedAttributes);
  if (only === null || except === null) {
    return invalidParameter(`attributes and excludedAttributes can name at most ${MAX_NAMES} attributes.`);
  }
  // RFC 7644 §3.9: "mutually exclusive URL query parameters".
  if (only.length > 0 && except.length > 0) {
    return invalidParameter("Send either attributes or excludedAttributes, not both.");
  }
  const mode = only.length > 0 ? "only" : except.length > 0 ? "except" : "default";
  return {
    ok: true,
    projection: createProjection(type, { mode, named: select(type, [...only, ...except]) }),
  };
}

function invalidParameter(detail: string): ReadProjectionOutcome {
  return { ok: false, scimType: "invalidValue", detail };
}

/** `null`: too many. */
function namesOf(parameter: string | readonly string[] | undefined): string[] | null {
  if (parameter === undefined) return [];
  if (typeof parameter === "string" && parameter.length > MAX_PARAMETER) return null;
  const list = typeof parameter === "string" ? parameter.split(",") : parameter;
  if (list.length > MAX_NAMES) return null;
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
    const sub = findDefinition(subDefinitions(attribute), name.slice(dot + 1));
    if (sub !== undefined) add(attribute, sub);
  }
  return named;
}

function createProjection(type: ResourceTypeDefinition, selection: Selection): Projection {
  const top = topLevelDefinitions(type);
  return {
    includes(name) {
      const extension = type.extensions.find(({ schema }) => schema.id === name)?.schema;
      if (extension !== undefined) return extension.attributes.some((one) => isShown(one, selection));
      const definition = findDefinition(top, name);
      return definition !== undefined && isShown(definition, selection);
    },
    apply(resource) {
      const shown: [string, JsonValue][] = [];
      for (const [name, value] of Object.entries(resource)) {
        const extension = type.extensions.find(({ schema }) => schema.id === name)?.schema;
        const definitions = extension?.attributes ?? top;
        const projected = extension !== undefined && isJsonObject(value)
          ? nonEmpty(projectAll(value, definitions, selection))
          : projectOne(value, findDefinition(definitions, name), selection);
        if (projected !== undefined) shown.push([name, projected]);
      }
      return withPresentSchemas(Object.fromEntries(shown), type);
    },
  };
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
  selection: Selection,
): JsonObject {
  const shown = Object.entries(object).flatMap(([name, value]): [string, JsonValue][] => {
    const projected = projectOne(value, findDefinition(definitions, name), selection);
    return projected === undefined ? [] : [[name, projected]];
  });
  return Object.fromEntries(shown);
}

/** `undefined`: the response does not contain the attribute. A value without a definition is never shown. */
function projectOne(
  value: JsonValue,
  definition: AttributeDefinition | undefined,
  selection: Selection,
): JsonValue | undefined {
  if (definition === undefined || !isShown(definition, selection)) return undefined;
  if (definition.type !== "complex") return value;
  const subs = subDefinitions(definition).filter((sub) => isSubShown(sub, selection, definition));
  if (subs.length === subDefinitions(definition).length) return value;
  const names = new Set(subs.map(({ name }) => name));
  const cut = (one: JsonValue): JsonValue | undefined =>
    isJsonObject(one)
      ? nonEmpty(Object.fromEntries(Object.entries(one).filter(([name]) => names.has(name))))
      : undefined;
  if (!isJsonArray(value)) return cut(value);
  const entries = value.flatMap((one) => cut(one) ?? []);
  return entries.length === 0 ? undefined : entries;
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

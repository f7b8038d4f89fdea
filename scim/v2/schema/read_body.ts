// Reads the body of a POST or a PUT by the schemas of a resource type (RFC 7644 §3.3, §3.5.1).

import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import { property } from "../../schema/attributes.ts";
import { isJsonArray, isJsonObject } from "../../schema/json_limits.ts";
import {
  type AttributeDefinition,
  findDefinition,
  type ResourceTypeDefinition,
  type SchemaDefinition,
  subDefinitions,
} from "../../schema/attribute_definition.ts";
import { SCHEMAS_SHAPES, type SchemasShape } from "./body_shapes.ts";
import {
  type BodyProblem,
  isUnassigned,
  type ReadAttributeOptions,
  readAttributeValue,
  refuseUnknown,
  UnreadableBody,
  unreadableSyntax,
  unreadableValue,
} from "./read_value.ts";
import { resolveAttribute, topLevelDefinitions } from "./target_schemas.ts";

type ReadBodyOutcome =
  | {
    readonly ok: true;
    /** In the spelling of RFC 7643, in the order of the schemas, without common attributes of the server. */
    readonly resource: JsonObject;
  }
  | ({ readonly ok: false } & BodyProblem);

export interface ReadBodyOptions extends ReadAttributeOptions {
  /** A PUT: the resource as it is now, for immutable attributes. */
  readonly previous?: JsonObject;
}

/** `null`: the attribute is not in an extension. */
type Given = Map<SchemaDefinition | null, Map<AttributeDefinition, JsonValue>>;

/**
 * Reads a resource. Names are compared without case and may have the URN of their schema in front. Values of readOnly attributes
 * are ignored. Null and empty lists mean that an attribute has no value.
 *
 * @param options `strict` turns off rows of VALUE_SHAPES and SCHEMAS_SHAPES by name.
 */
export function readBody(
  body: JsonObject,
  type: ResourceTypeDefinition,
  options: ReadBodyOptions,
): ReadBodyOutcome {
  try {
    checkSchemas(body, type, options);
    const given = collect(body, type, options);
    const previous = options.previous ?? {};
    const core = readAll(given.get(null), topLevelDefinitions(type), { at: "", previous, options });
    const extensions = readExtensions(given, type, options);
    const schemas = [type.schema.id, ...extensions.map(([urn]) => urn)];
    return { ok: true, resource: Object.fromEntries([["schemas", schemas], ...core, ...extensions]) };
  } catch (fault) {
    if (fault instanceof UnreadableBody) return { ok: false, ...fault.problem };
    throw fault;
  }
}

/** RFC 7643 §3: `schemas` names the core schema. Other lists are rows of SCHEMAS_SHAPES. */
function checkSchemas(body: JsonObject, type: ResourceTypeDefinition, { strict }: ReadBodyOptions): void {
  const names = Object.keys(body).filter((name) => name.toLowerCase() === "schemas");
  if (names.length > 1) throw unreadableSyntax("The body has schemas twice. Case does not count.");
  const value = property(body, names[0] ?? "schemas") ?? [];
  if (!isJsonArray(value) || value.length > MAX_SCHEMAS || !value.every((one) => typeof one === "string")) {
    throw unreadableSyntax(`schemas must be a list of at most ${MAX_SCHEMAS} URNs.`);
  }
  const urns = value.map((urn) => String(urn).toLowerCase());
  const core = type.schema.id.toLowerCase();
  const known = new Set([core, ...type.extensions.map(({ schema }) => schema.id.toLowerCase())]);
  if (urns.includes(core) && urns.every((urn) => known.has(urn))) return;
  const rows: [string, SchemasShape][] = Object.entries(SCHEMAS_SHAPES);
  const isTolerated = rows.some(([name, { matches }]) =>
    strict?.has(name) !== true && matches(urns, { core, known })
  );
  if (!isTolerated) {
    throw unreadableValue(`schemas must contain ${type.schema.id}, and only schemas of this target.`);
  }
}

const MAX_SCHEMAS = 100;

/** The attributes of a body by their definitions, without those that the server writes. */
function collect(body: JsonObject, type: ResourceTypeDefinition, options: ReadBodyOptions): Given {
  const given: Given = new Map();
  for (const [name, value] of Object.entries(body)) {
    const found = resolveAttribute(type, name);
    if (found === undefined) refuseUnknown(options, "an attribute");
    else if (found.attribute !== null) put(given, found, value);
    else collectExtension(given, found.extension, { value, options });
  }
  return given;
}

function collectExtension(
  given: Given,
  extension: SchemaDefinition,
  { value, options }: { value: JsonValue; options: ReadBodyOptions },
): void {
  if (isUnassigned(value)) return;
  if (!isJsonObject(value)) throw unreadableValue(`${extension.id} must be an object.`);
  for (const [name, inner] of Object.entries(value)) {
    const attribute = findDefinition(extension.attributes, name);
    if (attribute === undefined) refuseUnknown(options, `an attribute of ${extension.id}`);
    else put(given, { extension, attribute }, inner);
  }
}

function put(
  given: Given,
  { extension, attribute }: { extension: SchemaDefinition | null; attribute: AttributeDefinition },
  value: JsonValue,
): void {
  // RFC 7644 §3.3: "attributes whose mutability is "readOnly" SHALL be ignored".
  if (attribute.mutability === "readOnly" || attribute.name === "schemas") return;
  const values = given.get(extension) ?? new Map<AttributeDefinition, JsonValue>();
  if (values.has(attribute)) {
    throw unreadableSyntax(`The body has ${attribute.name} twice. Case does not count.`);
  }
  given.set(extension, values.set(attribute, value));
}

function readExtensions(
  given: Given,
  type: ResourceTypeDefinition,
  options: ReadBodyOptions,
): [string, JsonObject][] {
  return type.extensions.flatMap(({ schema, required }): [string, JsonObject][] => {
    const before = property(options.previous ?? {}, schema.id);
    const previous = isJsonObject(before) ? before : {};
    const values = given.get(schema);
    if (values === undefined && !required && Object.keys(previous).length === 0) return [];
    const isAbsent = [...values?.values() ?? []].every(isUnassigned);
    const definitions = isAbsent && !required
      ? schema.attributes.filter(({ name, mutability }) =>
        mutability === "immutable" && property(previous, name) !== undefined
      )
      : schema.attributes;
    const read = readAll(values, definitions, { at: `${schema.id}:`, previous, options });
    return read.length === 0 ? [] : [[schema.id, Object.fromEntries(read)]];
  });
}

/** Values in the order of their definitions. */
function readAll(
  values: ReadonlyMap<AttributeDefinition, JsonValue> | undefined,
  definitions: readonly AttributeDefinition[],
  { at, previous, options }: { at: string; previous: JsonObject; options: ReadBodyOptions },
): [string, JsonValue][] {
  return definitions.flatMap((definition): [string, JsonValue][] => {
    if (definition.mutability === "readOnly" || definition.name === "schemas") return [];
    const name = `${at}${definition.name}`;
    const given = values?.get(definition);
    const before = property(previous, definition.name);
    const read = given === undefined
      ? undefined
      : readAttributeValue(given, { definition, at: name, options, before });
    const value = keepImmutable(read, { definition, at: name, before });
    // A resource of a backend, or of the time before an extension, can lack it. Other changes must be possible.
    const wasMissing = options.previous !== undefined && (before === undefined || before === "");
    if (definition.required && !wasMissing && (value === undefined || value === "")) {
      throw unreadableValue(`${name} is required.`);
    }
    return value === undefined ? [] : [[definition.name, value]];
  });
}

/**
 * RFC 7644 §3.5.1: "If one or more values are already set for the attribute, the input value(s) MUST match". An absent value keeps the
 * one that is set. Sub-attributes of lists are not compared: an immutable entry can be replaced by another entry.
 */
function keepImmutable(
  value: JsonValue | undefined,
  { definition, at, before }: {
    readonly definition: AttributeDefinition;
    readonly at: string;
    readonly before: JsonValue | undefined;
  },
): JsonValue | undefined {
  if (before === undefined) return value;
  if (definition.mutability === "immutable") {
    if (value !== undefined && !isSameValue(value, before, definition.caseExact)) {
      throw new UnreadableBody({
        scimType: "mutability",
        detail: `${at} has a value and cannot be changed. Send the present value, or omit it.`,
      });
    }
    return before;
  }
  const subs = subDefinitions(definition).filter(({ mutability }) => mutability === "immutable");
  // The whole value can be removed: only its parts are immutable.
  if (definition.multiValued || !isJsonObject(before) || !isJsonObject(value)) return value;
  const kept = subs.flatMap((sub): [string, JsonValue][] => {
    const one = keepImmutable(property(value, sub.name), {
      definition: sub,
      at: `${at}.${sub.name}`,
      before: property(before, sub.name),
    });
    return one === undefined ? [] : [[sub.name, one]];
  });
  return kept.length === 0 ? value : { ...value, ...Object.fromEntries(kept) };
}

function isSameValue(a: JsonValue, b: JsonValue, isCaseExact: boolean): boolean {
  const [left, right] = [JSON.stringify(a), JSON.stringify(b)];
  return left === right || (!isCaseExact && left.toLowerCase() === right.toLowerCase());
}

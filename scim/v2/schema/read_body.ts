// Reads the body of a POST or a PUT by the schemas of a resource type (RFC 7644 §3.3, §3.5.1), and single values by their definitions: checks the
// type, spells names as RFC 7643 does, and converts tolerated shapes (RFC 7643 §2.3 to §2.5).

import {
  type AttributeDefinition,
  type DefinedType,
  findDefinition,
  GROUP_DEFINITION,
  type ResourceTypeDefinition,
  type SchemaDefinition,
  subDefinitions,
} from "../../schema/attribute_table.ts";
import {
  hasForbiddenControls,
  isBase64,
  isDateTime,
  isJsonArray,
  isJsonObject,
  isPrimary,
  isSameJson,
  isUnassigned,
  joinRepeated,
  MAX_LIST_ENTRIES,
  property,
} from "../../schema/attributes.ts";
import { MAX_MEMBERS } from "../../schema/parse_resource.ts";
import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import { SCHEMAS_SHAPES, type SchemasShape, tolerateShape } from "./body_shapes.ts";
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

// Single values.

/** Why a body is refused (RFC 7644 §3.12). */
export interface BodyProblem {
  readonly scimType: "invalidSyntax" | "invalidValue" | "mutability";
  /** A sentence without values of the body. */
  readonly detail: string;
}

/** `readBody` turns it into an outcome. */
export class UnreadableBody extends Error {
  override readonly name = "UnreadableBody";
  constructor(readonly problem: BodyProblem) {
    super(problem.detail);
  }
}

interface ReadAttributeOptions {
  /** `refuse`: an attribute that no schema defines is an error. */
  readonly unknown: "ignore" | "refuse";
  /** Rows of VALUE_SHAPES that are off. */
  readonly strict?: ReadonlySet<string>;
}

type SimpleType = Exclude<DefinedType, "complex">;

const isText = (value: JsonValue): value is string => typeof value === "string" && value.isWellFormed();

/** The check of each simple type, and what a value must be (RFC 7643 §2.3). */
const TYPE_CHECKS = {
  string: { isValid: isText, must: "a string" },
  reference: { isValid: isText, must: "a string with a URI" },
  boolean: { isValid: (value: JsonValue) => typeof value === "boolean", must: "true or false" },
  integer: { isValid: (value: JsonValue) => Number.isSafeInteger(value), must: "a whole number" },
  decimal: {
    isValid: (value: JsonValue) => typeof value === "number" && Number.isFinite(value),
    must: "a number",
  },
  dateTime: {
    isValid: (value: JsonValue) => isText(value) && isDateTime(value),
    must: "a date and time such as 2026-01-31T12:00:00Z",
  },
  binary: { isValid: (value: JsonValue) => isText(value) && isBase64(value), must: "base64" },
} as const satisfies Record<
  SimpleType,
  { isValid: (value: JsonValue) => boolean; must: string }
>;

/** Whether a simple value has the type of the definition. */
export function isOfType(type: SimpleType, value: JsonValue): boolean {
  return TYPE_CHECKS[type].isValid(value);
}

/** What a simple value that is written must be, if it is not: the end of a sentence. A password may have any character. */
export function simpleValueProblem(
  { type, mutability }: { readonly type: SimpleType; readonly mutability: AttributeDefinition["mutability"] },
  value: JsonValue,
): string | null {
  const { isValid, must } = TYPE_CHECKS[type];
  if (!isValid(value)) return `must be ${must}`;
  const isControlled = mutability !== "writeOnly" && type !== "binary" && typeof value === "string";
  return isControlled && hasForbiddenControls(value) ? "must not contain control characters" : null;
}

/**
 * Reads the value of an attribute.
 *
 * @param at the name of the attribute in messages.
 * @returns the value in the spelling of RFC 7643. `undefined`: unassigned.
 * @throws UnreadableBody
 */
export function readAttributeValue(
  value: JsonValue,
  place: Place,
): JsonValue | undefined {
  if (isUnassigned(value)) return undefined;
  return place.definition.multiValued ? readList(value, place) : readOrKeep(value, place, false);
}

interface Place {
  readonly definition: AttributeDefinition;
  readonly at: string;
  readonly options: ReadAttributeOptions;
  /** The value that the resource has. It may stay, even if a new resource cannot get it: a backend has other rules. */
  readonly before?: JsonValue | undefined;
}

function readOrKeep(value: JsonValue, place: Place, isEntry: boolean): JsonValue | undefined {
  try {
    return readOne(value, { ...place, isEntry });
  } catch (fault) {
    const { before } = place;
    const held = isJsonArray(before) ? before : [before];
    if (fault instanceof UnreadableBody && held.some((one) => isSameJson(one, value))) return value;
    throw fault;
  }
}

function readList(value: JsonValue, place: Place): readonly JsonValue[] | undefined {
  const { definition, at, options, before } = place;
  if (isJsonArray(before) && isSameJson(value, before)) return before;
  const list = isJsonArray(value)
    ? value
    : tolerateShape(value, { definition, isEntry: false }, options.strict);
  if (!isJsonArray(list)) throw unreadableValue(`${at} must be a list.`);
  const max = definition === MEMBERS ? MAX_MEMBERS : MAX_LIST_ENTRIES;
  if (list.length > max) throw unreadableValue(`${at} must have at most ${max} values.`);
  // Members are ids, and a group can have tens of thousands. Most need neither a copy nor a comparison.
  if (definition === MEMBERS && list.length > 0 && list.every((one) => plainMember(one) === one)) return list;
  const entries: JsonValue[] = [];
  for (const one of list) {
    // A list in a list is not an entry, even if it is empty.
    const plain = definition === MEMBERS ? plainMember(one) : null;
    const entry = plain ?? (one === null ? undefined : readOrKeep(one, place, true));
    if (entry !== undefined) entries.push(entry);
  }
  if (entries.length === 0) return undefined;
  if (definition === MEMBERS) return entries;
  const joined = joinRepeated(entries);
  // RFC 7643 §2.4: "The primary attribute value "true" MUST appear no more than once."
  if (joined.filter(isPrimary).length > 1) {
    throw unreadableValue(`${at} must have at most one primary value.`);
  }
  return joined;
}

const MEMBERS = findDefinition(GROUP_DEFINITION.attributes, "members");
const PLAIN_TEXT = /^[!-~]+$/;

/** Fast path: an entry as responses have it. Most members are like this. The server sets `display`. `null`: another entry. */
function plainMember(entry: JsonValue): JsonObject | null {
  if (!isJsonObject(entry)) return null;
  let parts = 0;
  for (const part in entry) {
    parts++;
    if (part !== "value" && part !== "display" && part !== "$ref" && part !== "type") return null;
  }
  const { value, display, $ref = "-", type = "User" } = entry;
  if (!isPlain(value) || !isPlain($ref) || (type !== "User" && !isPlain(type))) return null;
  if (display === undefined) return entry;
  if (parts === 2) return { value };
  const { display: _, ...rest } = entry;
  return rest;
}

function isPlain(value: JsonValue | undefined): value is string {
  return typeof value === "string" && PLAIN_TEXT.test(value);
}

function readOne(value: JsonValue, place: Place & { readonly isEntry: boolean }): JsonValue | undefined {
  const { definition, at, options, isEntry } = place;
  const tolerated = tolerateShape(value, { definition, isEntry }, options.strict) ?? value;
  if (definition.type === "complex") return readComplex(tolerated, place);
  const { type, mutability } = definition;
  const problem = simpleValueProblem({ type, mutability }, tolerated);
  if (problem !== null) throw unreadableValue(`${isEntry ? `A value of ${at}` : at} ${problem}.`);
  return tolerated;
}

function readComplex(value: JsonValue, { definition, at, options }: Place): JsonObject | undefined {
  if (!isJsonObject(value)) throw unreadableValue(`${at} must be an object.`);
  const subs = subDefinitions(definition);
  const given = new Map<AttributeDefinition, JsonValue>();
  for (const [name, inner] of Object.entries(value)) {
    const sub = findDefinition(subs, name);
    if (sub === undefined) refuseUnknown(options, `a sub-attribute of ${at}`);
    else if (given.has(sub)) throw unreadableSyntax(`${at} has ${sub.name} twice. Case does not count.`);
    // RFC 7644 §3.5.1: "Any values provided [for readOnly attributes] SHALL be ignored."
    else if (sub.mutability !== "readOnly") given.set(sub, inner);
  }
  if ([...given.values()].every(isUnassigned)) return undefined;
  const read: [string, JsonValue][] = [];
  for (const sub of subs) {
    const inner = given.get(sub);
    const result = inner === undefined
      ? undefined
      : readAttributeValue(inner, { definition: sub, at: `${at}.${sub.name}`, options });
    if (result !== undefined) read.push([sub.name, result]);
    else if (sub.required && sub.mutability !== "readOnly") {
      throw unreadableValue(`${at}.${sub.name} is required.`);
    }
  }
  return read.length === 0 ? undefined : Object.fromEntries(read);
}

/** @throws UnreadableBody if the options refuse unknown attributes. */
function refuseUnknown({ unknown }: ReadAttributeOptions, what: string): void {
  if (unknown === "refuse") throw unreadableSyntax(`The body has ${what} that no schema defines.`);
}

/** RFC 7644 §3.12 `invalidValue`. */
function unreadableValue(detail: string): UnreadableBody {
  return new UnreadableBody({ scimType: "invalidValue", detail });
}

/** RFC 7644 §3.12 `invalidSyntax`. */
function unreadableSyntax(detail: string): UnreadableBody {
  return new UnreadableBody({ scimType: "invalidSyntax", detail });
}

// Attributes as JSON: bodies within limits, names, the rules for values, the paths of a mapping, and attributes built from front-end values
// (RFC 7643 §2.1 to §2.4, RFC 8259).

import type { JsonObject, JsonValue, ResourceKind } from "./resource.ts";
import {
  type AttributeDefinition,
  COMMON_DEFINITIONS,
  defineAttribute,
  ENTERPRISE_DEFINITION,
  ENTERPRISE_SCHEMA,
  findDefinition,
  findSub,
  GROUP_DEFINITION,
  GROUP_SCHEMA,
  PRIMARY,
  subDefinitions,
  USER_DEFINITION,
  USER_SCHEMA,
} from "./attribute_table.ts";
import {
  type JsonBounds,
  type JsonFlaw,
  MAX_JSON_NAMES,
  parseBoundedJson,
} from "../../platform/safe_json.ts";

export const CORE_SCHEMAS: Readonly<Record<ResourceKind, string>> = {
  user: USER_SCHEMA,
  group: GROUP_SCHEMA,
};

/** Stored with entries of lists, although RFC 7643 has no such sub-attributes for all of them. */
const PARTS_OF_ENTRIES = [
  PRIMARY,
  defineAttribute("$ref", "The URL of the value.", {
    type: "reference",
    caseExact: true,
    ref: "RFC 7643 §2.4",
  }),
];

/** The attributes as /idm/scim and the store have them, with their stored names. */
export const SCIM_ATTRIBUTES: Readonly<Record<ResourceKind, readonly AttributeDefinition[]>> = {
  user: [
    ...COMMON_DEFINITIONS,
    ...USER_DEFINITION.attributes,
    // A core attribute in the interface specification. It is stored where the client put it.
    ...ENTERPRISE_DEFINITION.attributes.filter(({ name }) => name === "manager"),
    defineAttribute(ENTERPRISE_SCHEMA, ENTERPRISE_DEFINITION.description, {
      type: "complex",
      subAttributes: ENTERPRISE_DEFINITION.attributes,
      ref: "RFC 7643 §4.3",
    }),
  ].map(toStored),
  group: [
    ...COMMON_DEFINITIONS,
    ...GROUP_DEFINITION.attributes,
    // Not an attribute of a group. A value in a body is not stored.
    ...USER_DEFINITION.attributes.filter(({ name }) => name === "password"),
  ].map(toStored),
};

/** The name without the core schema's URN in front of it (RFC 7644 §3.10). */
export function withoutCoreSchema(kind: ResourceKind, name: string): string {
  const schema = CORE_SCHEMAS[kind];
  const head = name.slice(0, schema.length + 1).toLowerCase();
  return head === `${schema.toLowerCase()}:` ? name.slice(schema.length + 1) : name;
}

/** The row as /idm/scim and the store have it. */
function toStored(definition: AttributeDefinition): AttributeDefinition {
  const { name, multiValued, mutability, storedName = name } = definition;
  const subs = subDefinitions(definition);
  const hasValue = findDefinition(subs, "value") !== undefined;
  const more = PARTS_OF_ENTRIES.filter((part) =>
    multiValued && hasValue && findDefinition(subs, part.name) === undefined
  );
  return {
    ...(hasValue ? { plain: "value" } : {}),
    ...definition,
    name: storedName,
    rfcName: name,
    caseExact: definition.caseExact && definition.isFoldedInSpecification !== true,
    // `schemas` is what the server makes of the attributes.
    mutability: name === "schemas" ? "readOnly" : mutability,
    subAttributes: [...subs, ...more].map(toStored),
  };
}

/** The path of a value in a resource. */
export interface AttributePath {
  /** The URN of an extension, or `null`. */
  readonly schema: string | null;
  readonly attribute: string;
  readonly multi: boolean;
  readonly sub: string | null;
  /** The row of the table for the value. `null` if the table lacks it. */
  readonly known: AttributeDefinition | null;
}

/** Reads a path. Known names get the spelling of the interface specification. A multi-valued attribute alone means its plain sub-attribute. */
export function readPath(kind: ResourceKind, text: string): AttributePath {
  const { schema, rest } = splitSchema(kind, text);
  const dot = rest.indexOf(".");
  const head = dot < 0 ? rest : rest.slice(0, dot);
  const tail = dot < 0 ? null : rest.slice(dot + 1);
  const bare = head.endsWith("[]") ? head.slice(0, -2) : head;
  const set = schema === null
    ? SCIM_ATTRIBUTES[kind]
    : findDefinition(SCIM_ATTRIBUTES[kind], schema)?.subAttributes ?? [];
  const attribute = findDefinition(set, bare);
  if (attribute === undefined) {
    return { schema, attribute: bare, multi: head !== bare, sub: tail, known: null };
  }
  const subName = tail ?? attribute.plain ?? null;
  const sub = subName === null ? undefined : findSub(attribute, subName);
  return {
    schema,
    attribute: attribute.name,
    multi: attribute.multiValued,
    sub: sub?.name ?? subName,
    known: subName === null ? attribute : sub ?? null,
  };
}

/** The path as a mapping spells it; equal for all spellings of one path. */
export function writePath({ schema, attribute, multi, sub }: AttributePath): string {
  return `${schema === null ? "" : `${schema}:`}${attribute}${multi ? "[]" : ""}${
    sub === null ? "" : `.${sub}`
  }`;
}

/** The values at a path as texts, in order. Empty texts count as unset. */
export function textsAt(attributes: JsonObject, path: AttributePath): string[] {
  const value = valueAt(attributes, path);
  if (path.sub === null) return textsOf(value);
  const { sub } = path;
  const entries = isJsonArray(value) ? value : [value];
  return entries.flatMap((entry) => isJsonObject(entry) ? textsOf(property(entry, sub)) : []);
}

/** A value as front-end texts: one for a scalar, several for a list of scalars, none for other values. */
export function textsOf(value: JsonValue | undefined): string[] {
  if (isJsonArray(value)) return value.flatMap((one) => isJsonArray(one) ? [] : textsOf(one));
  if (typeof value === "boolean" || typeof value === "number") return [String(value)];
  return typeof value === "string" && value !== "" ? [value] : [];
}

/** Reads an own property, so that a name from a client never reaches a prototype. */
export function property(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** The spelling of a name in an object: as given, otherwise another one without case (RFC 7643 §2.1). */
export function spellingOf(object: JsonObject, name: string): string | null {
  return Object.hasOwn(object, name) ? name : spellingsOf(object, name)[0] ?? null;
}

/** The value of a name, in that spelling or in another one. */
export function propertyNamed(object: JsonObject, name: string): JsonValue | undefined {
  const key = spellingOf(object, name);
  return key === null ? undefined : object[key];
}

/** The names of an object that equal a name without case (RFC 7643 §2.1). */
export function spellingsOf(object: JsonObject, name: string): string[] {
  const small = name.toLowerCase();
  return Object.keys(object).filter((one) => one.toLowerCase() === small);
}

/** The value of a name, compared without case. @param twice the error for two spellings of it */
export function propertyWithoutCase(
  object: JsonObject,
  name: string,
  twice: (name: string) => Error,
): JsonValue | undefined {
  const [key, another] = spellingsOf(object, name);
  if (another !== undefined) throw twice(name);
  return key === undefined ? undefined : object[key];
}

function valueAt(attributes: JsonObject, { schema, attribute }: AttributePath): JsonValue | undefined {
  const extension = property(attributes, schema ?? ENTERPRISE_SCHEMA);
  const inExtension = isJsonObject(extension) ? property(extension, attribute) : undefined;
  // A core path finds the enterprise attribute, too: the manager can be in either place.
  return schema === null ? property(attributes, attribute) ?? inExtension : inExtension;
}

function splitSchema(kind: ResourceKind, text: string): { schema: string | null; rest: string } {
  const plain = withoutCoreSchema(kind, text);
  if (!plain.toLowerCase().startsWith("urn:")) return { schema: null, rest: plain };
  const colon = plain.lastIndexOf(":");
  const urn = plain.slice(0, colon);
  return { schema: findDefinition(SCIM_ATTRIBUTES[kind], urn)?.name ?? urn, rest: plain.slice(colon + 1) };
}

interface Draft {
  /** @param texts at least one text. No text is empty. */
  set(path: AttributePath, texts: readonly string[]): void;
  finish(): JsonObject;
}

/** A value under construction. It is a Map, because a client chooses the names, and one may be `__proto__`. */
export type Growing = Map<string, JsonValue | Growing | Entries>;

class Entries {
  readonly list: Growing[] = [];
}

export function createDraft(): Draft {
  const top: Growing = new Map();
  return {
    set(path, texts) {
      const holder = path.schema === null ? top : growingObject(top, path.schema);
      const { attribute, sub } = path;
      if (sub === null) holder.set(attribute, valueOf(path, texts));
      else if (path.multi) fillEntries(growingList(holder, attribute), path, texts);
      else growingObject(holder, attribute).set(sub, valueOf(path, texts));
    },
    finish: () => finishGrowing(top),
  };
}

/** A text or a boolean. For an unknown attribute, one text or all texts. */
function valueOf({ known, multi }: AttributePath, texts: readonly string[]): JsonValue {
  const first = texts[0] ?? "";
  if (known?.type === "boolean") return first.toLowerCase() === "true";
  if (known !== null) return first;
  return multi || texts.length > 1 ? texts : first;
}

function fillEntries(entries: Growing[], path: AttributePath, texts: readonly string[]): void {
  for (const [at, text] of texts.entries()) {
    const entry = entries[at] ?? new Map();
    entries[at] = entry;
    if (path.sub !== null) {
      entry.set(path.sub, path.known?.type === "boolean" ? text.toLowerCase() === "true" : text);
    }
  }
}

export function growingObject(holder: Growing, name: string): Growing {
  const found = holder.get(name);
  if (found instanceof Map) return found;
  const made: Growing = new Map();
  holder.set(name, made);
  return made;
}

export function growingList(holder: Growing, name: string): Growing[] {
  const found = holder.get(name);
  if (found instanceof Entries) return found.list;
  const made = new Entries();
  holder.set(name, made);
  return made.list;
}

export function finishGrowing(growing: Growing): JsonObject {
  return Object.fromEntries(
    [...growing].map(([name, value]): [string, JsonValue] => {
      if (value instanceof Map) return [name, finishGrowing(value)];
      return [name, value instanceof Entries ? value.list.map(finishGrowing) : value];
    }),
  );
}

// Parses bodies as JSON objects (RFC 8259) within limits.

type BodyOutcome =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly problem: string };

export const MAX_JSON_DEPTH = 32;
export const MAX_JSON_VALUES = 200_000;
/** A client can send back a group of 50,000 members as a response has it: 200 to 300 octets and five values each. */
export const MAX_GROUP_OCTETS = 16 * 1024 * 1024;
export const MAX_GROUP_JSON_VALUES = 300_000;

const PROBLEMS: Readonly<Record<Exclude<JsonFlaw, "too_many_values">, string>> = {
  not_utf8: "The body is not UTF-8.",
  not_json: "The body is not JSON.",
  too_deep: `The body is nested over ${MAX_JSON_DEPTH} levels deep.`,
  too_many_names: `An object of the body has over ${MAX_JSON_NAMES} names.`,
  repeated_name: "The body has an object with the same name twice",
};

const PLAIN_NAME = /^[\w$:.-]{1,100}$/;

/** The name of an attribute that is not in the table, for a message. Another text than a name would be a value of the body. */
export function shownName(name: string): string {
  return PLAIN_NAME.test(name) ? name : "…";
}

/**
 * Reads a request's body: UTF-8 (a byte order mark is ignored), at most 32 levels, an object at the top.
 *
 * @param options.maxValues default: 200,000
 * @param options.uniqueNames how the names of an object are compared. Two equal ones are refused: another reader of the body, such as a
 * proxy, may take the other value. `null`: the last one counts.
 * @returns the object, or the problem as a sentence without values of the body.
 */
export function parseJsonObject(
  octets: Uint8Array,
  { uniqueNames = "exact", maxValues = MAX_JSON_VALUES }: {
    uniqueNames?: NonNullable<JsonBounds["uniqueNames"]> | null;
    maxValues?: number;
  } = {},
): BodyOutcome {
  const bounds = { maxDepth: MAX_JSON_DEPTH, maxValues };
  const parsed = parseBoundedJson(octets, uniqueNames === null ? bounds : { ...bounds, uniqueNames });
  if (!parsed.ok) {
    const { flaw, name } = parsed;
    const problem = flaw === "too_many_values" ? `The body has over ${maxValues} values.` : PROBLEMS[flaw];
    const rule = uniqueNames === "anyCase" ? " Case does not count." : "";
    return {
      ok: false,
      problem: name === undefined ? problem : `${problem}: ${shownName(name)}.${rule}`,
    };
  }
  const value = parsed.value as JsonValue;
  return isJsonObject(value)
    ? { ok: true, value }
    : { ok: false, problem: "The body is JSON, but not an object." };
}

/** Whether a value is a JSON object. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value is a JSON array. (`Array.isArray` does not narrow a readonly array.) */
export function isJsonArray(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** Deep equality. Ignores the order of object members, but not of array entries. Recursion ends: JSON here is at most 32 deep. */
export function isSameJson(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (isJsonArray(a) || isJsonArray(b)) {
    return isJsonArray(a) && isJsonArray(b) && a.length === b.length &&
      a.every((value, at) => isSameJson(value, b[at]));
  }
  const names = Object.keys(a);
  return names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isSameJson(a[name], b[name]));
}

// The rules for values that every write of every interface applies: characters of texts, base64, dates, and the entries of lists.

/** RFC 7643 §2.3.6: base64 or base64url (RFC 4648 §4, §5), also with line breaks and blanks, as in files. */
const BASE64_TEXT = /^[A-Za-z0-9+/_ \t\r\n-]*(?:={1,2}[ \t\r\n]*)?$/;
/** A tab and line breaks are text, such as in addresses. Directories and other servers refuse the other control characters, or end a text at U+0000. */
const CONTROL = /[^\P{Cc}\t\n\r]/u;
/** RFC 7643 §2.3.5: `xsd:dateTime`. */
const DATE_TIME = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}:\d{2}:\d{2})(?:\.\d{1,9})?(?:Z|[+-](\d{2}):(\d{2}))?$/;
const MAX_OFFSET_HOURS = 14;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Entries of a multi-valued attribute, except members. */
export const MAX_LIST_ENTRIES = 10_000;
/** Members of one group. */
export const MAX_MEMBERS = 50_000;

/** RFC 7643 §2.5: null and an empty list mean that the attribute has no value. An object without values has none either. */
export function isUnassigned(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null) return true;
  if (isJsonArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}

/** Whether a text has the form of a UUID (RFC 9562 §4). */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

export function isBase64(text: string): boolean {
  return BASE64_TEXT.test(text);
}

export function hasForbiddenControls(text: string): boolean {
  return CONTROL.test(text);
}

/** Whether a text is a date and time that exists: not February 30. */
export function isDateTime(text: string): boolean {
  const [, year = "", month = "", day = "", , offsetHours = "0", offsetMinutes = "0"] =
    DATE_TIME.exec(text) ??
      [];
  if (year === "" || Number.isNaN(Date.parse(text))) return false;
  const daysOfMonth = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  const isInOffset = Number(offsetHours) * 60 + Number(offsetMinutes) <= MAX_OFFSET_HOURS * 60;
  return Number(day) <= daysOfMonth && isInOffset && Number(offsetMinutes) < 60;
}

/** Whether an entry is the primary one of its attribute. */
export function isPrimary(entry: JsonValue): boolean {
  return isJsonObject(entry) && property(entry, "primary") === true;
}

/**
 * The entries with each value and type once (RFC 7643 §2.4). A repeated entry adds its sub-attributes to the first one.
 *
 * @param join how the first entry and a repeated one become one.
 */
export function joinRepeated(
  entries: readonly JsonValue[],
  join: (first: JsonObject, repeated: JsonObject) => JsonObject = joinEntries,
): readonly JsonValue[] {
  if (entries.length < 2) return entries;
  const joined = new Map<string, JsonValue>();
  for (const entry of entries) {
    const key = entryKey(entry);
    const first = joined.get(key);
    joined.set(key, isJsonObject(first) && isJsonObject(entry) ? join(first, entry) : entry);
  }
  return joined.size === entries.length ? entries : [...joined.values()];
}

function joinEntries(first: JsonObject, repeated: JsonObject): JsonObject {
  return { ...first, ...repeated, ...isPrimary(first) ? { primary: true } : {} };
}

/** A text that two entries have if they are the same value: with the same value and type, or, without a value, equal. */
export function entryKey(entry: JsonValue): string {
  const value = isJsonObject(entry) ? property(entry, "value") : undefined;
  if (!isJsonObject(entry) || value === undefined) return canonicalJson(entry);
  return canonicalJson([value, property(entry, "type") ?? null]);
}

/** A JSON text that is equal for equal values: the order of the names does not matter. */
export function canonicalJson(value: JsonValue | undefined): string {
  return JSON.stringify(value, (_, one: JsonValue) => {
    if (!isJsonObject(one)) return one;
    return Object.fromEntries(Object.entries(one).sort(([a], [b]) => a < b ? -1 : 1));
  }) ?? "";
}

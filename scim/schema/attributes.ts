// Attributes: their names, the paths of a mapping, and attributes built from front-end values (RFC 7643 §2.1).

import type { JsonObject, JsonValue, ResourceKind } from "./resource.ts";
import {
  type AttributeDefinition,
  defineAttribute,
  findDefinition,
  subDefinitions,
} from "./attribute_definition.ts";
import {
  COMMON_DEFINITIONS,
  ENTERPRISE_DEFINITION,
  ENTERPRISE_SCHEMA,
  GROUP_DEFINITION,
  GROUP_SCHEMA,
  PRIMARY,
  USER_DEFINITION,
  USER_SCHEMA,
} from "./attribute_table.ts";
import { isJsonArray, isJsonObject } from "./json_limits.ts";

/** Binary and reference values are texts (RFC 7643 §2.3). */
type AttributeType = "string" | "boolean" | "dateTime" | "complex";

/** One attribute of the table, as /idm/scim and the store have it. */
export interface KnownAttribute {
  /** The stored spelling. */
  readonly name: string;
  readonly type: AttributeType;
  readonly multi: boolean;
  readonly caseExact: boolean;
  readonly isBase64: boolean;
  readonly plain: string | null;
  readonly mutability: "readWrite" | "readOnly" | "writeOnly";
  /** Empty unless the type is complex. */
  readonly sub: AttributeSet;
}

/** By the name in lower case, in either spelling. */
export type AttributeSet = ReadonlyMap<string, KnownAttribute>;

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

export const SCIM_ATTRIBUTES: Readonly<Record<ResourceKind, AttributeSet>> = {
  user: compile([
    ...COMMON_DEFINITIONS,
    ...USER_DEFINITION.attributes,
    // A core attribute in the interface specification. It is stored where the client put it.
    ...ENTERPRISE_DEFINITION.attributes.filter(({ name }) => name === "manager"),
    defineAttribute(ENTERPRISE_SCHEMA, ENTERPRISE_DEFINITION.description, {
      type: "complex",
      subAttributes: ENTERPRISE_DEFINITION.attributes,
      ref: "RFC 7643 §4.3",
    }),
  ]),
  group: compile([
    ...COMMON_DEFINITIONS,
    ...GROUP_DEFINITION.attributes,
    // Not an attribute of a group. A value in a body is not stored.
    ...USER_DEFINITION.attributes.filter(({ name }) => name === "password"),
  ]),
};

/** The attribute of that name in either spelling, without case. */
export function findAttribute(set: AttributeSet, name: string): KnownAttribute | undefined {
  // No known attribute has a long name.
  return name.length > 100 ? undefined : set.get(name.toLowerCase());
}

/** The name without the core schema's URN in front of it (RFC 7644 §3.10). */
export function withoutCoreSchema(kind: ResourceKind, name: string): string {
  const schema = CORE_SCHEMAS[kind];
  const head = name.slice(0, schema.length + 1).toLowerCase();
  return head === `${schema.toLowerCase()}:` ? name.slice(schema.length + 1) : name;
}

function compile(definitions: readonly AttributeDefinition[], { isSub = false } = {}): AttributeSet {
  const set = new Map<string, KnownAttribute>();
  for (const definition of definitions) {
    const { name, type, multiValued, mutability, storedName = name, isFoldedInSpecification } = definition;
    const subs = subDefinitions(definition);
    const hasValue = findDefinition(subs, "value") !== undefined;
    const more = multiValued && hasValue
      ? PARTS_OF_ENTRIES.filter((part) => findDefinition(subs, part.name) === undefined)
      : [];
    const known: KnownAttribute = {
      name: storedName,
      type: type === "complex" || type === "boolean" || type === "dateTime" ? type : "string",
      multi: multiValued,
      caseExact: definition.caseExact && isFoldedInSpecification !== true,
      isBase64: type === "binary",
      plain: definition.plain ?? (hasValue ? "value" : null),
      // `schemas` is what the server makes of the attributes. The whole value decides for its parts.
      mutability: isSub || mutability === "immutable"
        ? "readWrite"
        : name === "schemas"
        ? "readOnly"
        : mutability,
      sub: compile([...subs, ...more], { isSub: true }),
    };
    set.set(storedName.toLowerCase(), known);
    set.set(name.toLowerCase(), known);
  }
  return set;
}

/** The path of a value in a resource. */
export interface AttributePath {
  /** The URN of an extension, or `null`. */
  readonly schema: string | null;
  readonly attribute: string;
  readonly multi: boolean;
  readonly sub: string | null;
  /** The row of the table for the value. `null` if the table lacks it. */
  readonly known: KnownAttribute | null;
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
    : findAttribute(SCIM_ATTRIBUTES[kind], schema)?.sub ?? new Map<string, KnownAttribute>();
  const attribute = findAttribute(set, bare);
  if (attribute === undefined) {
    return { schema, attribute: bare, multi: head !== bare, sub: tail, known: null };
  }
  const subName = tail ?? attribute.plain;
  const sub = subName === null ? undefined : findAttribute(attribute.sub, subName);
  return {
    schema,
    attribute: attribute.name,
    multi: attribute.multi,
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
  return { schema: findAttribute(SCIM_ATTRIBUTES[kind], urn)?.name ?? urn, rest: plain.slice(colon + 1) };
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

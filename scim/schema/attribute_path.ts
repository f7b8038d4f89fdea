// SCIM attributes as a mapping names them: `title`, `name.familyName`, `emails[].value`, and with the URN of an extension in front.

import type { JsonObject, JsonValue, ResourceKind } from "./resource.ts";
import { ENTERPRISE_SCHEMA } from "./attribute_table.ts";
import { ATTRIBUTES, findAttribute, type KnownAttribute, withoutCoreSchema } from "./attributes.ts";
import { isArray, isObject } from "./json_limits.ts";

/** Where a value stands in a resource. */
export interface AttributePath {
  /** The URN of an extension, or `null`. */
  readonly schema: string | null;
  readonly attribute: string;
  readonly multi: boolean;
  readonly sub: string | null;
  /** What the table says of the value; `null` when the table lacks it. */
  readonly known: KnownAttribute | null;
}

/** Reads a path; names of the table come out in the document's spelling, a bare multi-valued one as its plain sub-attribute. */
export function readPath(kind: ResourceKind, text: string): AttributePath {
  const { schema, rest } = splitSchema(kind, text);
  const dot = rest.indexOf(".");
  const head = dot < 0 ? rest : rest.slice(0, dot);
  const tail = dot < 0 ? null : rest.slice(dot + 1);
  const bare = head.endsWith("[]") ? head.slice(0, -2) : head;
  const set = schema === null
    ? ATTRIBUTES[kind]
    : findAttribute(ATTRIBUTES[kind], schema)?.sub ?? new Map<string, KnownAttribute>();
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
  const entries = isArray(value) ? value : [value];
  return entries.flatMap((entry) => isObject(entry) ? textsOf(property(entry, sub)) : []);
}

/** A value as front-end texts: a scalar is one, a list of scalars several, anything else none. */
export function textsOf(value: JsonValue | undefined): string[] {
  if (isArray(value)) return value.flatMap((one) => isArray(one) ? [] : textsOf(one));
  if (typeof value === "boolean" || typeof value === "number") return [String(value)];
  return typeof value === "string" && value !== "" ? [value] : [];
}

/** An own property, so that a foreign name never reaches a prototype. */
export function property(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function valueAt(attributes: JsonObject, { schema, attribute }: AttributePath): JsonValue | undefined {
  const extension = property(attributes, schema ?? ENTERPRISE_SCHEMA);
  const inExtension = isObject(extension) ? property(extension, attribute) : undefined;
  // A core path finds the enterprise attribute too: the manager stands in either place.
  return schema === null ? property(attributes, attribute) ?? inExtension : inExtension;
}

function splitSchema(kind: ResourceKind, text: string): { schema: string | null; rest: string } {
  const plain = withoutCoreSchema(kind, text);
  if (!plain.toLowerCase().startsWith("urn:")) return { schema: null, rest: plain };
  const colon = plain.lastIndexOf(":");
  const urn = plain.slice(0, colon);
  return { schema: findAttribute(ATTRIBUTES[kind], urn)?.name ?? urn, rest: plain.slice(colon + 1) };
}

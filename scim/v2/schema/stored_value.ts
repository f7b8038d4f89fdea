// Converts single values between the stored form and the form of RFC 7643. The stored form has the names of the interface
// specification, such as postralCode, and may have parts that no schema defines.

import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import { type AttributeSet, findAttribute, type KnownAttribute, property } from "../../schema/attributes.ts";
import { isJsonArray, isJsonObject, isSameJson } from "../../schema/json_limits.ts";
import {
  type AttributeDefinition,
  type DefinedType,
  findDefinition,
  findSub,
  subDefinitions,
} from "../../schema/attribute_definition.ts";
import { canonicalJson, isUnassigned } from "../../schema/value_rules.ts";
import { isOfType } from "./read_body.ts";

/** An attribute as both interfaces know it. `known: null`: only the schema has it, such as an attribute of a custom extension. */
export interface StoredAttribute {
  readonly definition: AttributeDefinition;
  readonly known: KnownAttribute | null;
}

/** `writable`: without read-only parts, as a body has it. */
type RenderParts = "all" | "writable";

const NO_SET: AttributeSet = new Map();

/** A list of definitions belongs to one set, so it is the key. */
const resolved = new WeakMap<readonly AttributeDefinition[], readonly StoredAttribute[]>();

/** The attributes of a list of definitions, with their stored names. */
export function storedAttributes(
  definitions: readonly AttributeDefinition[],
  set: AttributeSet = NO_SET,
): readonly StoredAttribute[] {
  let found = resolved.get(definitions);
  if (found === undefined) {
    found = definitions.map((definition) => ({
      definition,
      known: findAttribute(set, definition.name) ?? null,
    }));
    resolved.set(definitions, found);
  }
  return found;
}

function subAttributes({ definition, known }: StoredAttribute): readonly StoredAttribute[] {
  return storedAttributes(subDefinitions(definition), known?.sub);
}

/** The key of an attribute in a stored object. `null`: it has none. Attributes without a row are stored as sent, so case does not count. */
function storedKey(object: JsonObject, { definition, known }: StoredAttribute): string | null {
  const name = known?.name ?? definition.name;
  if (Object.hasOwn(object, name)) return name;
  if (known !== null) return null;
  const lower = name.toLowerCase();
  return Object.keys(object).find((key) => key.toLowerCase() === lower) ?? null;
}

/** An object that is being rendered. Its names are those of schemas, so none of them is `__proto__`. */
export interface RenderedObject {
  [name: string]: JsonValue;
}

/** Adds the attributes of a stored object that have a value, in the order of the list. */
export function renderInto(
  rendered: RenderedObject,
  object: JsonObject,
  { attributes, parts = "all" }: { attributes: readonly StoredAttribute[]; parts?: RenderParts },
): void {
  for (const attribute of attributes) {
    const key = storedKey(object, attribute);
    const value = key === null ? undefined : renderStoredValue(object[key], attribute, parts);
    if (value !== undefined) rendered[attribute.definition.name] = value;
  }
}

/** A stored value as RFC 7643 spells it. Parts that no schema defines, and values of another type, are left out. */
function renderStoredValue(
  value: JsonValue | undefined,
  attribute: StoredAttribute,
  parts: RenderParts,
): JsonValue | undefined {
  const { definition } = attribute;
  if (value === undefined || isUnassigned(value) || definition.returned === "never") return undefined;
  if (parts === "writable" && definition.mutability === "readOnly") return undefined;
  if (!definition.multiValued) return renderOne(value, attribute, parts);
  const entries: JsonValue[] = [];
  for (const one of isJsonArray(value) ? value : [value]) {
    const entry = renderOne(one, attribute, parts);
    if (entry !== undefined) entries.push(entry);
  }
  return entries.length === 0 ? undefined : entries;
}

function renderOne(
  value: JsonValue,
  attribute: StoredAttribute,
  parts: RenderParts,
): JsonValue | undefined {
  const { type } = attribute.definition;
  if (type === "complex") return renderObject(value, attribute, parts);
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
  attribute: StoredAttribute,
  parts: RenderParts,
): JsonObject | undefined {
  if (!isJsonObject(value)) {
    const plain = findSub(attribute.definition, "value");
    return plain !== undefined && typeof value === "string" ? { value } : undefined;
  }
  const rendered: RenderedObject = {};
  renderInto(rendered, value, { attributes: subAttributes(attribute), parts });
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
  attribute: StoredAttribute,
  previous: JsonValue | undefined,
): JsonValue | undefined {
  // After a PATCH, the value has the read-only parts that the response shows.
  const value = sent === undefined ? undefined : withoutReadOnly(sent, attribute);
  if (previous !== undefined && isSameJson(renderStoredValue(previous, attribute, "writable"), value)) {
    return previous;
  }
  if (value === undefined) return undefined;
  if (attribute.definition.type !== "complex") return value;
  if (isJsonArray(value)) return storeEntries(value, attribute, previous);
  if (!isJsonObject(value)) return undefined;
  const before = isJsonObject(previous) ? previous : {};
  return storeObject(value, subAttributes(attribute), { previous: before, readOnly: "drop" });
}

/** A value of RFC 7643 without the sub-attributes that a client cannot change. */
function withoutReadOnly(value: JsonValue, { definition }: StoredAttribute): JsonValue {
  if (isJsonArray(value)) return value.map((one) => withoutReadOnly(one, { definition, known: null }));
  if (!isJsonObject(value)) return value;
  const subs = subDefinitions(definition);
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => findDefinition(subs, name)?.mutability !== "readOnly"),
  );
}

function storeEntries(
  entries: readonly JsonValue[],
  attribute: StoredAttribute,
  previous: JsonValue | undefined,
): JsonValue[] {
  const before = new Map<string, JsonValue[]>();
  for (const one of isJsonArray(previous) ? previous : previous === undefined ? [] : [previous]) {
    const rendered = renderOne(one, attribute, "writable");
    if (rendered === undefined) continue;
    const key = canonicalJson(rendered);
    before.set(key, [...before.get(key) ?? [], one]);
  }
  const subs = subAttributes(attribute);
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
export function storeObject(
  value: JsonObject,
  attributes: readonly StoredAttribute[],
  { previous, readOnly }: { readonly previous: JsonObject; readonly readOnly: "keep" | "drop" },
): JsonObject {
  const stored = new Map<string, JsonValue>(Object.entries(previous));
  for (const attribute of attributes) {
    const { definition, known } = attribute;
    const key = storedKey(previous, attribute) ?? known?.name ?? definition.name;
    if (definition.mutability === "readOnly") {
      if (readOnly === "drop") stored.delete(key);
      continue;
    }
    const inner = toStoredValue(property(value, definition.name), attribute, stored.get(key));
    if (inner === undefined) stored.delete(key);
    else stored.set(key, inner);
  }
  return Object.fromEntries(stored);
}

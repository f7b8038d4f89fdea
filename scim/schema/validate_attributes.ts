// Validates the attributes of a body against the table, and normalises their names (RFC 7643 §2). Attributes that are
// not in the table are stored unchanged.

import type { JsonObject, JsonValue } from "./resource.ts";
import { type AttributeSet, findAttribute, type KnownAttribute } from "./attributes.ts";
import { isJsonArray, isJsonObject, isSameJson, shownName } from "./json_limits.ts";
import { hasForbiddenControls, isBase64, isPrimary, joinRepeated } from "./value_rules.ts";

/** The problem of a body: a sentence with the name of the attribute and without its value. */
export class InvalidValue extends Error {
  override readonly name = "InvalidValue";
}

const MAX_NAME_CHARACTERS = 256;
const MAX_ENTRIES = 10_000;

/** An attribute of a body: its row of the table (`null`: none), and its value. */
interface Given {
  readonly known: KnownAttribute | null;
  readonly name: string;
  readonly value: JsonValue;
  /** Spelled exactly as it is stored. */
  readonly exact: boolean;
  /** As it was sent, in lower case. */
  readonly folded: string;
}

/**
 * The members of an object by their stored names. If two spellings name one attribute, the stored spelling counts, otherwise the later one.
 *
 * @param rename changes a name before the look-up, for example to remove the URN of a schema.
 * @param isStored a backend has the object, so names that differ only in case may have two values.
 * @throws InvalidValue for a name that is too long, and for two values of one name.
 */
export function readAttributes(
  object: JsonObject,
  set: AttributeSet,
  { rename = (name) => name, isStored = false }: {
    rename?: (name: string) => string;
    isStored?: boolean;
  } = {},
): Map<string, Given> {
  const found = new Map<string, Given>();
  for (const [name, value] of Object.entries(object)) {
    if (name.length > MAX_NAME_CHARACTERS) {
      throw new InvalidValue(`The name of an attribute has over ${MAX_NAME_CHARACTERS} characters.`);
    }
    if (hasForbiddenControls(name) || !name.isWellFormed()) {
      throw new InvalidValue("The name of an attribute must not contain control characters.");
    }
    // `__proto__` must not become a key.
    if (name === "__proto__") continue;
    const plain = rename(name);
    const known = findAttribute(set, plain) ?? null;
    const own = known?.name ?? plain;
    const given = { known, name: own, value, exact: plain === own, folded: plain.toLowerCase() };
    const before = found.get(given.name);
    if (before?.folded === given.folded && !isStored && !isSameJson(before.value, value)) {
      throw new InvalidValue(`The body has two values of ${given.name}. Case does not count.`);
    }
    if (before === undefined || given.exact || !before.exact) found.set(given.name, given);
  }
  return found;
}

/** Where a value is. `isStored`: a backend has it, so only its type matters. */
interface ValuePlace {
  /** The name of the attribute in messages. */
  readonly at: string;
  readonly isStored: boolean;
}

/**
 * The value to store. `undefined` if it is unset: null, an empty list, an empty object (RFC 7643 §2.5).
 *
 * @throws InvalidValue for a value that the attribute cannot have.
 */
export function validateValue(
  value: JsonValue,
  known: KnownAttribute | null,
  place: ValuePlace,
): JsonValue | undefined {
  if (isUnset(value)) return undefined;
  if (known === null) return harmless(value, place);
  if (known.multi) return readEntries(value, known, place);
  if (known.type !== "complex") return readSimple(value, known, place);
  // Some clients send a manager as a list of one.
  return readComplex(isJsonArray(value) && value.length === 1 ? value[0] ?? null : value, known, place);
}

function isUnset(value: JsonValue): boolean {
  if (isJsonArray(value)) return value.length === 0;
  return value === null || (isJsonObject(value) && Object.keys(value).length === 0);
}

function readSimple(value: JsonValue, known: KnownAttribute, place: ValuePlace): JsonValue {
  const { at, isStored } = place;
  if (known.type === "boolean") return readBoolean(value, at);
  if (typeof value !== "string") throw new InvalidValue(`${at} must be a string.`);
  if (known.isBase64 && !isStored && !isBase64(value)) throw new InvalidValue(`${at} must be base64.`);
  // The characters of a password do not matter: it is stored as a hash.
  return known.mutability === "writeOnly" ? value : readText(value, place);
}

function readText(text: string, { at, isStored }: ValuePlace): string {
  if (!isStored && hasForbiddenControls(text)) {
    throw new InvalidValue(`${at} must not contain control characters.`);
  }
  // The store and the backends write UTF-8, which has no half characters.
  if (!isStored && !text.isWellFormed()) throw new InvalidValue(`${at} must not contain half a character.`);
  return text;
}

/** Clients send booleans as text. */
function readBoolean(value: JsonValue, at: string): boolean {
  if (typeof value === "boolean") return value;
  const text = typeof value === "string" ? value.toLowerCase() : "";
  if (text !== "true" && text !== "false") throw new InvalidValue(`${at} must be true or false.`);
  return text === "true";
}

function readComplex(value: JsonValue, known: KnownAttribute, place: ValuePlace): JsonObject | undefined {
  const { at } = place;
  if (value === null) return undefined;
  if (typeof value === "string" && known.plain !== null) {
    if (value === "") return undefined;
    const plain = known.sub.get(known.plain.toLowerCase());
    return { [known.plain]: plain === undefined ? readText(value, place) : readSimple(value, plain, place) };
  }
  if (!isJsonObject(value)) throw new InvalidValue(`${at} must be an object.`);
  const read: [string, JsonValue][] = [];
  for (const given of readAttributes(value, known.sub, place).values()) {
    if (isSecret(given.name)) continue;
    const sub = validateValue(given.value, given.known, {
      ...place,
      at: `${at}.${given.known === null ? shownName(given.name) : given.name}`,
    });
    if (sub !== undefined) read.push([given.name, sub]);
  }
  return read.length === 0 ? undefined : Object.fromEntries(read);
}

function readEntries(
  value: JsonValue,
  known: KnownAttribute,
  { at, isStored }: ValuePlace,
): readonly JsonValue[] | undefined {
  const list = isJsonArray(value) ? value : [value];
  if (list.length > MAX_ENTRIES) throw new InvalidValue(`${at} has over ${MAX_ENTRIES} entries.`);
  const single = { ...known, multi: false };
  const entries: JsonValue[] = [];
  for (const one of list) {
    if (isJsonArray(one)) throw new InvalidValue(`An entry of ${at} must be an object.`);
    const entry = validateValue(one, single, { at: `An entry of ${at}`, isStored });
    if (entry !== undefined) entries.push(entry);
  }
  if (entries.length === 0) return undefined;
  if (isStored) return entries;
  const joined = joinRepeated(entries);
  if (joined.filter(isPrimary).length > 1) {
    throw new InvalidValue(`${at} must have at most one primary value.`);
  }
  return joined;
}

/** The value of an unknown attribute, without secrets and dangerous names. The recursion ends, because a body has at most 32 levels. */
function harmless(value: JsonValue, place: ValuePlace): JsonValue {
  if (isJsonArray(value)) {
    if (value.length > MAX_ENTRIES) throw new InvalidValue(`An attribute has over ${MAX_ENTRIES} entries.`);
    return value.map((one) => harmless(one, place));
  }
  if (typeof value === "string") return readText(value, place);
  if (typeof value === "number" && !Number.isFinite(value)) throw new InvalidValue("A number is too large.");
  if (!isJsonObject(value)) return value;
  const safe: [string, JsonValue][] = [];
  for (const { name, value: inner } of readAttributes(value, NOTHING_KNOWN, place).values()) {
    if (!isSecret(name)) {
      safe.push([name, harmless(inner, { ...place, at: `${place.at}.${shownName(name)}` })]);
    }
  }
  return Object.fromEntries(safe);
}

const NOTHING_KNOWN: AttributeSet = new Map();

/** Whether the value is a password. It must not be stored as an attribute, because attributes are visible. */
function isSecret(name: string): boolean {
  return name.toLowerCase() === "password";
}

// Validates the attributes of a body against the table, and normalises their names (RFC 7643 §2). Attributes that are
// not in the table are stored unchanged.

import type { JsonObject, JsonValue } from "./resource.ts";
import { type AttributeSet, findAttribute, type KnownAttribute } from "./attributes.ts";
import { isJsonArray, isJsonObject } from "./json_limits.ts";

/** What is wrong with a body: a sentence that names the attribute and quotes no value. */
export class InvalidValue extends Error {
  override readonly name = "BadValue";
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
}

/**
 * The members of an object by their stored names. Where two spellings name one attribute, the stored spelling counts, else the later one.
 *
 * @param rename turns a name into the one that the set has (a schema's URN in front taken off).
 * @throws BadValue for a name that is too long.
 */
export function readAttributes(
  object: JsonObject,
  set: AttributeSet,
  { rename = (name) => name }: { rename?: (name: string) => string } = {},
): Map<string, Given> {
  const found = new Map<string, Given>();
  for (const [name, value] of Object.entries(object)) {
    if (name.length > MAX_NAME_CHARACTERS) {
      throw new InvalidValue(`The name of an attribute has over ${MAX_NAME_CHARACTERS} characters.`);
    }
    // Never the name of an attribute; as a key it changes an object's prototype in careless hands.
    if (name === "__proto__") continue;
    const plain = rename(name);
    const known = findAttribute(set, plain) ?? null;
    const given = { known, name: known?.name ?? plain, value, exact: plain === (known?.name ?? plain) };
    const before = found.get(given.name);
    if (before === undefined || given.exact || !before.exact) found.set(given.name, given);
  }
  return found;
}

/**
 * One value as it is stored; `undefined` when it is unset: null, an empty list, an empty object (RFC 7643 §2.5).
 *
 * @param at what the attribute is called in messages.
 * @throws BadValue for a value of another type.
 */
export function validateValue(
  value: JsonValue,
  known: KnownAttribute | null,
  at: string,
): JsonValue | undefined {
  if (isUnset(value)) return undefined;
  if (known === null) return harmless(value);
  if (known.multi) return readEntries(value, known, at);
  if (known.type !== "complex") return readSimple(value, known, at);
  // Some clients send a manager as a list of one.
  return readComplex(isJsonArray(value) && value.length === 1 ? value[0] ?? null : value, known, at);
}

function isUnset(value: JsonValue): boolean {
  if (isJsonArray(value)) return value.length === 0;
  return value === null || (isJsonObject(value) && Object.keys(value).length === 0);
}

function readSimple(value: JsonValue, known: KnownAttribute, at: string): JsonValue {
  if (known.type === "boolean") return readBoolean(value, at);
  if (typeof value !== "string") throw new InvalidValue(`${at} must be a text.`);
  return value;
}

/** Real clients send truths as texts, and would take an answer that left them so for success. */
function readBoolean(value: JsonValue, at: string): boolean {
  if (typeof value === "boolean") return value;
  const text = typeof value === "string" ? value.toLowerCase() : "";
  if (text !== "true" && text !== "false") throw new InvalidValue(`${at} must be true or false.`);
  return text === "true";
}

function readComplex(value: JsonValue, known: KnownAttribute, at: string): JsonObject | undefined {
  if (value === null) return undefined;
  if (typeof value === "string" && known.plain !== null) return { [known.plain]: value };
  if (!isJsonObject(value)) throw new InvalidValue(`${at} must be an object.`);
  const read: [string, JsonValue][] = [];
  for (const given of readAttributes(value, known.sub).values()) {
    if (isSecret(given.name)) continue;
    const sub = validateValue(given.value, given.known, `${at}.${given.known === null ? "…" : given.name}`);
    if (sub !== undefined) read.push([given.name, sub]);
  }
  return read.length === 0 ? undefined : Object.fromEntries(read);
}

function readEntries(value: JsonValue, known: KnownAttribute, at: string): JsonValue[] | undefined {
  const list = isJsonArray(value) ? value : [value];
  if (list.length > MAX_ENTRIES) throw new InvalidValue(`${at} has over ${MAX_ENTRIES} entries.`);
  const single = { ...known, multi: false };
  const entries: JsonValue[] = [];
  for (const one of list) {
    if (isJsonArray(one)) throw new InvalidValue(`An entry of ${at} must be an object.`);
    const entry = validateValue(one, single, `An entry of ${at}`);
    if (entry !== undefined) entries.push(entry);
  }
  return entries.length === 0 ? undefined : entries;
}

/** An attribute that the table lacks, without secrets and dangerous names. Recursion ends: a body is at most 32 levels deep. */
function harmless(value: JsonValue): JsonValue {
  if (isJsonArray(value)) {
    if (value.length > MAX_ENTRIES) throw new InvalidValue(`An attribute has over ${MAX_ENTRIES} entries.`);
    return value.map(harmless);
  }
  if (typeof value === "number" && !Number.isFinite(value)) throw new InvalidValue("A number is too large.");
  if (!isJsonObject(value)) return value;
  const kept: [string, JsonValue][] = [];
  for (const { name, value: inner } of readAttributes(value, NOTHING_KNOWN).values()) {
    if (!isSecret(name)) kept.push([name, harmless(inner)]);
  }
  return Object.fromEntries(kept);
}

const NOTHING_KNOWN: AttributeSet = new Map();

/** A password in another place is not stored, because attributes are visible. */
function isSecret(name: string): boolean {
  return name.toLowerCase() === "password";
}

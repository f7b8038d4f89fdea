// Parses the body of a user or a group: its name, its attributes, and its password. Attributes are validated against the table, and their names are
// normalised (RFC 7643 §2); attributes that are not in the table are stored unchanged.

import { canonicalName, isDeceptiveName } from "../../platform/canonical_name.ts";
import type { Content, JsonObject, JsonValue, Mapping, ResourceKind } from "./resource.ts";
import {
  type AttributeDefinition,
  ENTERPRISE_SCHEMA,
  findDefinition,
  findSub,
  subDefinitions,
} from "./attribute_table.ts";
import {
  hasForbiddenControls,
  isBase64,
  isJsonArray,
  isJsonObject,
  isPrimary,
  isSameJson,
  isUnassigned,
  joinRepeated,
  MAX_LIST_ENTRIES,
  property,
  SCIM_ATTRIBUTES,
  shownName,
  withoutCoreSchema,
} from "./attributes.ts";
import { hasOwnExternalId } from "./mapping.ts";
import { distinctNames, parseName } from "./resource_name.ts";
import { withPersonName } from "./merge.ts";

export type ParseResourceOutcome =
  | { readonly ok: true; readonly content: Content; readonly password: string | undefined }
  | { readonly ok: false; readonly code: "invalid_value" | "renamed"; readonly detail: string };

interface ParseResourceOptions {
  readonly mapping: Mapping;
  /** The name in the path of a PUT. Absent for a POST. */
  readonly pathName?: string;
  /** A PUT: the attributes of the resource as they are. They may stay, even if a new resource cannot get them: a backend has other rules. */
  readonly previous?: JsonObject;
  /** A PUT: the members of the group as it is. */
  readonly members?: readonly string[];
  /** Creates a name (a UUID) for a resource without one. */
  readonly newName: () => string;
  /** The body is a stored resource of a backend: its name is read even if no new resource could get it. */
  readonly isStored?: true;
}

export const MAX_MEMBERS = 50_000;
const MAX_PASSWORD_CHARACTERS = 1024;
const DECEPTIVE = "a new name must not begin or end with a blank, or contain format characters";

/** The sources of a new resource's name. The first one that is present wins. */
const NAMING: Readonly<Record<ResourceKind, readonly [string, ...string[]]>> = {
  user: ["userName", "externalId", "id"],
  group: ["displayName", "externalId", "id"],
};

/** Not stored with the attributes: the server sets them, or stores them elsewhere. */
const APART: Readonly<Record<ResourceKind, ReadonlySet<string>>> = {
  user: new Set(["schemas", "id", "externalId", "meta", "userName", "active", "groups", "password"]),
  group: new Set(["schemas", "id", "externalId", "meta", "displayName", "members", "password"]),
};

/** Whether a body has the name of its resource. */
export function isNamed(kind: ResourceKind, body: JsonObject): boolean {
  const [own] = NAMING[kind];
  return Object.entries(body).some(([name, value]) =>
    value !== null && withoutCoreSchema(kind, name).toLowerCase() === own.toLowerCase()
  );
}

/** Attributes by their stored names. */
type Body = ReturnType<typeof readAttributes>;

/**
 * Reads the body of a POST or a PUT. Nothing is required; types and sizes are checked.
 *
 * @returns the content and, for a user, the password in clear. Or the problem, as a sentence without values of the body.
 */
export function parseResource(
  kind: ResourceKind,
  body: JsonObject,
  options: ParseResourceOptions,
): ParseResourceOutcome {
  try {
    return readChecked(kind, body, options);
  } catch (fault) {
    if (fault instanceof InvalidValue) return { ok: false, code: "invalid_value", detail: fault.message };
    throw fault;
  }
}

function readChecked(
  kind: ResourceKind,
  object: JsonObject,
  options: ParseResourceOptions,
): ParseResourceOutcome {
  const body = readAttributes(withoutLongNames(kind, object), SCIM_ATTRIBUTES[kind], {
    rename: (name) => withoutCoreSchema(kind, name),
    isStored: options.isStored ?? false,
  });
  checkSchemas(body.get("schemas")?.value);
  const name = nameOf(kind, body, options);
  if (options.pathName !== undefined && canonicalName(name) !== canonicalName(options.pathName)) {
    return { ok: false, code: "renamed", detail: `${NAMING[kind][0]} differs from the name in the path.` };
  }
  const attributes = attributesOf(kind, body, options);
  if (kind === "group") {
    return {
      ok: true,
      content: { kind, name, attributes, members: membersOf(body, options) },
      password: undefined,
    };
  }
  const active = readGiven(body, "active");
  return {
    ok: true,
    content: { kind, name, active: active !== false, attributes: withPersonName(attributes) },
    password: passwordOf(body),
  };
}

/** RFC 7644 §3.10: an attribute of the enterprise extension with the URN in front of its name belongs into the extension. */
function withoutLongNames(kind: ResourceKind, object: JsonObject): JsonObject {
  const head = `${ENTERPRISE_SCHEMA.toLowerCase()}:`;
  const isLong = (name: string) => kind === "user" && name.toLowerCase().startsWith(head);
  if (!Object.keys(object).some(isLong)) return object;
  const entries = Object.entries(object);
  const plain = entries.filter(([name]) => !isLong(name));
  const extension = plain.findLast(([name]) => name.toLowerCase() === ENTERPRISE_SCHEMA.toLowerCase())?.[1];
  if (extension !== undefined && extension !== null && !isJsonObject(extension)) return object;
  const moved = Object.fromEntries(
    entries.filter(([name]) => isLong(name)).map(([name, value]) => [name.slice(head.length), value]),
  );
  const repeated = Object.keys(moved).find((name) => Object.hasOwn(extension ?? {}, name));
  if (repeated !== undefined) throw new InvalidValue(`The body has ${shownName(repeated)} twice.`);
  return {
    ...Object.fromEntries(plain.filter(([name]) => name.toLowerCase() !== ENTERPRISE_SCHEMA.toLowerCase())),
    [ENTERPRISE_SCHEMA]: { ...extension, ...moved },
  };
}

/** The schemas themselves are not checked, because clients send outdated ones and their own extensions. */
function checkSchemas(value: JsonValue | undefined): void {
  if (value === undefined || value === null || typeof value === "string") return;
  if (!isJsonArray(value) || value.some((one) => typeof one !== "string")) {
    throw new InvalidValue("schemas must be a list of strings.");
  }
}

function nameOf(
  kind: ResourceKind,
  body: Body,
  { pathName, newName, isStored }: ParseResourceOptions,
): string {
  const [own, ...others] = NAMING[kind];
  // The path of a PUT names the resource. Other identifiers are ignored.
  const candidates = pathName === undefined ? [own, ...others] : [own];
  for (const attribute of candidates) {
    const text = readGiven(body, attribute);
    if (typeof text !== "string") continue;
    // Without this, an empty text would create a user with a name that no one chose.
    if (text === "" && attribute === own && isStored !== true) {
      throw new InvalidValue(`${own} cannot be a name: a name must not be empty.`);
    }
    if (text === "") continue;
    const read = parseName(text);
    if (!read.ok) throw new InvalidValue(`${attribute} cannot be a name: ${read.problem}.`);
    // Existing users and groups with such a name can be read, changed and deleted. Such users cannot sign in.
    const isNew = pathName === undefined && isStored !== true;
    if (isNew && isDeceptiveName(read.name)) {
      throw new InvalidValue(`${attribute} cannot be a name: ${DECEPTIVE}.`);
    }
    return read.name;
  }
  return pathName ?? newName();
}

function attributesOf(
  kind: ResourceKind,
  body: Body,
  options: ParseResourceOptions,
): JsonObject {
  const { mapping, previous = {}, isStored = false } = options;
  const read: [string, JsonValue][] = [];
  for (const { known, name, value } of body.values()) {
    const isKept = name === "externalId" ? hasOwnExternalId(kind, mapping) : !APART[kind].has(name);
    if (!isKept) continue;
    const at = known === null ? shownName(name) : name;
    const held = property(previous, name);
    const mayStay = held !== undefined &&
      isSameJson(validateValue(value, known, { at, isStored: true }), held);
    const kept = mayStay ? held : validateValue(value, known, { at, isStored });
    if (kept !== undefined) read.push([name, kept]);
  }
  return Object.fromEntries(read);
}

function readGiven(body: Body, attribute: string): JsonValue | undefined {
  const given = body.get(attribute);
  return given === undefined
    ? undefined
    : validateValue(given.value, given.known, { at: attribute, isStored: true });
}

/** Checks the length of the password, because hashing takes time. Its characters are not checked. */
function passwordOf(body: Body): string | undefined {
  const password = readGiven(body, "password");
  if (password === undefined) return undefined;
  const isValid = typeof password === "string" && password !== "" && password.isWellFormed() &&
    password.length <= MAX_PASSWORD_CHARACTERS;
  if (!isValid) {
    throw new InvalidValue(`password must have 1 to ${MAX_PASSWORD_CHARACTERS} characters.`);
  }
  return password;
}

function membersOf(body: Body, { isStored, members }: ParseResourceOptions): readonly string[] {
  const value = body.get("members")?.value ?? [];
  const entries = isJsonArray(value)
    ? value
    : isJsonObject(value) && Object.keys(value).length === 0
    ? []
    : [value];
  if (entries.length > MAX_MEMBERS) throw new InvalidValue(`members has over ${MAX_MEMBERS} entries.`);
  const names: string[] = [];
  for (const [at, entry] of entries.entries()) {
    if (entry !== null || isStored !== true) {
      names.push(plainMember(entry) ?? memberOf(entry, `members[${at}]`));
    }
  }
  return distinctNames(names, members);
}

/** Fast path: the name in an entry with the stored spelling of its attributes. Most of the tens of thousands of entries are like this. */
function plainMember(entry: JsonValue): string | null {
  if (!isJsonObject(entry)) return null;
  for (const name in entry) if (name !== "display" && name !== "value") return null;
  const text = entry.display ?? entry.value;
  const read = typeof text === "string" ? parseName(text) : null;
  return read?.ok === true ? read.name : null;
}

/** The interface specification uses `display`. Other clients send `value`. */
function memberOf(entry: JsonValue, at: string): string {
  const text = typeof entry === "string" ? entry : nameInEntry(entry, at);
  const read = parseName(text);
  if (!read.ok) throw new InvalidValue(`${at} cannot be a name: ${read.problem}.`);
  return read.name;
}

const MEMBER_PARTS = findDefinition(SCIM_ATTRIBUTES.group, "members")?.subAttributes ?? [];

function nameInEntry(entry: JsonValue, at: string): string {
  if (!isJsonObject(entry)) throw new InvalidValue(`${at} must be an object or a string.`);
  const named = readAttributes(entry, MEMBER_PARTS);
  for (const sub of ["display", "value"]) {
    const text = named.get(sub)?.value ?? "";
    if (typeof text !== "string") throw new InvalidValue(`${at}.${sub} must be a string.`);
    if (text !== "") return text;
  }
  throw new InvalidValue(`${at} has neither display nor value.`);
}

// Values by the table of attributes.

/** The problem of a body: a sentence with the name of the attribute and without its value. */
class InvalidValue extends Error {
  override readonly name = "InvalidValue";
}

const MAX_NAME_CHARACTERS = 256;

/** An attribute of a body: its row of the table (`null`: none), and its value. */
interface Given {
  readonly known: AttributeDefinition | null;
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
function readAttributes(
  object: JsonObject,
  definitions: readonly AttributeDefinition[],
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
    const known = findDefinition(definitions, plain) ?? null;
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
function validateValue(
  value: JsonValue,
  known: AttributeDefinition | null,
  place: ValuePlace,
): JsonValue | undefined {
  if (isUnassigned(value)) return undefined;
  if (known === null) return harmless(value, place);
  if (known.multiValued) return readEntries(value, known, place);
  if (known.type !== "complex") return readSimple(value, known, place);
  // Some clients send a manager as a list of one.
  return readComplex(isJsonArray(value) && value.length === 1 ? value[0] ?? null : value, known, place);
}

function readSimple(value: JsonValue, known: AttributeDefinition, place: ValuePlace): JsonValue {
  const { at, isStored } = place;
  if (known.type === "boolean") return readBoolean(value, at);
  if (typeof value !== "string") throw new InvalidValue(`${at} must be a string.`);
  if (known.type === "binary" && !isStored && !isBase64(value)) {
    throw new InvalidValue(`${at} must be base64.`);
  }
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

function readComplex(
  value: JsonValue,
  known: AttributeDefinition,
  place: ValuePlace,
): JsonObject | undefined {
  const { at } = place;
  if (value === null) return undefined;
  if (typeof value === "string" && known.plain !== undefined) {
    if (value === "") return undefined;
    const plain = findSub(known, known.plain);
    return { [known.plain]: plain === undefined ? readText(value, place) : readSimple(value, plain, place) };
  }
  if (!isJsonObject(value)) throw new InvalidValue(`${at} must be an object.`);
  const read: [string, JsonValue][] = [];
  for (const given of readAttributes(value, subDefinitions(known), place).values()) {
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
  known: AttributeDefinition,
  { at, isStored }: ValuePlace,
): readonly JsonValue[] | undefined {
  const list = isJsonArray(value) ? value : [value];
  if (list.length > MAX_LIST_ENTRIES) throw new InvalidValue(`${at} has over ${MAX_LIST_ENTRIES} entries.`);
  const single = { ...known, multiValued: false };
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
    if (value.length > MAX_LIST_ENTRIES) {
      throw new InvalidValue(`An attribute has over ${MAX_LIST_ENTRIES} entries.`);
    }
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

const NOTHING_KNOWN: readonly AttributeDefinition[] = [];

/** Whether the value is a password. It must not be stored as an attribute, because attributes are visible. */
function isSecret(name: string): boolean {
  return name.toLowerCase() === "password";
}

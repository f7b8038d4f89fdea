// Reads values of bodies by their definitions, for both interfaces: spells names as the definitions do, converts tolerated shapes, and checks types,
// texts and sizes (RFC 7643 §2.1 to §2.5). How the interfaces differ is in BODY_POLICIES.

import type { JsonObject, JsonValue } from "./resource.ts";
import {
  type AttributeDefinition,
  defineAttribute,
  type DefinedType,
  findDefinition,
  findSub,
  GROUP_DEFINITION,
  subDefinitions,
} from "./attribute_table.ts";
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
  MAX_MEMBERS,
  property,
  shownName,
} from "./attributes.ts";
import { parseBoundedJson } from "../../platform/safe_json.ts";

// Shapes of values that RFC 7643 does not allow and that clients send. One row for each: who sends it, an example, and what it becomes.

/** A tolerated value of an attribute. */
interface ValueShape {
  readonly client: string;
  /** What the client sends. */
  readonly example: string;
  /** What it means. */
  readonly becomes: string;
  readonly link: string;
  /** The value that it becomes, or `undefined` if the value does not have this shape. `isEntry`: the value is one of a list. */
  readonly convert: (
    value: JsonValue,
    at: { readonly definition: AttributeDefinition; readonly isEntry?: boolean },
  ) => JsonValue | undefined;
}

/** The longest text that is read as JSON. */
const MAX_JSON_TEXT = 4096;

/** Rows in the order in which they are tried. */
export const VALUE_SHAPES = {
  boolean_text: {
    client: "Entra ID",
    example: `{"active":"False"}`,
    becomes: `{"active":false}`,
    link:
      "https://learn.microsoft.com/en-us/entra/identity/app-provisioning/application-provisioning-config-problem-scim-compatibility",
    convert: (value, { definition }) => {
      if (definition.type !== "boolean" || typeof value !== "string" || value.length > 5) return undefined;
      const text = value.toLowerCase();
      return text === "true" ? true : text === "false" ? false : undefined;
    },
  },
  list_of_one: {
    client: "Entra ID",
    example: `{"manager":[{"value":"26118915"}]}`,
    becomes: `{"manager":{"value":"26118915"}}`,
    link: "https://github.com/Captain-P-Goldfish/SCIM-SDK/issues/541",
    convert: (value, { definition, isEntry }) =>
      definition.type === "complex" && !definition.multiValued && isEntry !== true && isJsonArray(value) &&
        value.length === 1 && !isJsonArray(value[0])
        ? value[0]
        : undefined,
  },
  complex_text: {
    client: "Entra ID",
    example: `{"manager":"26118915"}`,
    becomes: `{"manager":{"value":"26118915"}}`,
    link: "https://github.com/Captain-P-Goldfish/SCIM-SDK/issues/541",
    convert: (value, { definition, isEntry }): JsonObject | undefined => {
      const isComplex = definition.type === "complex" && (isEntry === true || !definition.multiValued);
      if (!isComplex || typeof value !== "string") return undefined;
      if (findSub(definition, "value") === undefined) return undefined;
      // As in a PATCH, an empty text removes.
      return value === "" ? {} : { value };
    },
  },
  json_text: {
    client: "Entra ID",
    example: `{"roles":[{"value":"{\\"value\\":\\"Admin\\",\\"displayName\\":\\"Administrator\\"}"}]}`,
    becomes: `{"roles":[{"value":"Admin","display":"Administrator"}]}`,
    link: "https://github.com/Captain-P-Goldfish/SCIM-SDK/issues/516",
    convert: (value, { definition, isEntry }) =>
      isEntry === true && definition.name === "roles" && isJsonObject(value) ? roleOf(value) : undefined,
  },
  single_entry: {
    client: "laravel-scim-server's users",
    example: `{"emails":{"value":"ada@example.com"}}`,
    becomes: `{"emails":[{"value":"ada@example.com"}]}`,
    link: "https://github.com/limosa-io/laravel-scim-server/issues/23",
    convert: (value, { definition, isEntry }) =>
      definition.multiValued && isEntry !== true && !isJsonArray(value) ? [value] : undefined,
  },
} as const satisfies Record<string, ValueShape>;

/** The entry whose value is JSON inside a text. */
function roleOf(entry: { readonly [name: string]: JsonValue }): JsonValue | undefined {
  const text = property(entry, "value");
  if (typeof text !== "string" || text.length > MAX_JSON_TEXT || !text.trimStart().startsWith("{")) {
    return undefined;
  }
  const parsed = parseBoundedJson(text, { maxDepth: 2, maxValues: 20 });
  const inner = parsed.ok ? parsed.value as JsonValue : undefined;
  if (!isJsonObject(inner)) return undefined;
  const value = property(inner, "value");
  const display = property(inner, "displayName");
  // Nested JSON is not the shape of the row.
  if (typeof value !== "string" || value === "" || value.trimStart().startsWith("{")) return undefined;
  return { ...entry, value, ...(typeof display === "string" ? { display } : {}) };
}

/** How an interface reads the members and the values of a body. */
export interface BodyPolicy {
  /** `all`: also what no schema defines, in the order of the body. `writable`: what a client can set, in the order of the schema. */
  readonly members: "all" | "writable";
  /** When an object may have two spellings of one name. */
  readonly repeated: "never" | "with_one_value" | "always";
  /** The message for a repeated name. */
  readonly twice: (at: string, name: string) => string;
  /** Rows in the order in which they are tried. */
  readonly shapes: readonly ValueShape[];
  /** A text is the plain part of a complex value, and has its name in messages. A list of null is unassigned. */
  readonly hasPlainValues: boolean;
  /** The checks of a simple value in their order. */
  readonly checks: readonly ((value: JsonValue, definition: SimpleDefinition) => string | null)[];
  /** Entries with the same value and type become one, and at most one is primary. */
  readonly joinsEntries: boolean;
  /** The name of an entry of a list in messages. */
  readonly entryOf: (at: string, definition: AttributeDefinition) => string;
  /** The message for a list that is too long. */
  readonly tooMany: (at: string, max: number) => string;
}

const isText = (value: JsonValue): value is string => typeof value === "string" && value.isWellFormed();

/** The check of each type, and what a value must be (RFC 7643 §2.3). */
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
  complex: { isValid: isJsonObject, must: "an object" },
} as const satisfies Record<
  DefinedType,
  { isValid: (value: JsonValue) => boolean; must: string }
>;

/** Whether a value has the type of the definition. */
export function isOfType(type: DefinedType, value: JsonValue): boolean {
  return TYPE_CHECKS[type].isValid(value);
}

type SimpleDefinition = Pick<AttributeDefinition, "type" | "mutability">;

function typeProblem(value: JsonValue, { type }: Pick<AttributeDefinition, "type">): string | null {
  return isOfType(type, value) ? null : `must be ${TYPE_CHECKS[type].must}`;
}

/** What a simple value must be, if it is not: the end of a sentence. A password may have any character. */
const CHECKS = {
  type: typeProblem,
  /** Values other than booleans are texts. */
  text: (value: JsonValue, { type }: SimpleDefinition) =>
    type !== "boolean" && typeof value === "string"
      ? null
      : typeProblem(value, { type: type === "boolean" ? type : "string" }),
  base64: (value: JsonValue, { type }: SimpleDefinition) =>
    type === "binary" ? typeProblem(value, { type }) : null,
  controls: (value: JsonValue, { mutability }: SimpleDefinition) =>
    mutability !== "writeOnly" && typeof value === "string" && hasForbiddenControls(value)
      ? "must not contain control characters"
      : null,
  /** The store and the backends write UTF-8, which has no half characters. */
  halves: (value: JsonValue, { mutability }: SimpleDefinition) =>
    mutability !== "writeOnly" && typeof value === "string" && !value.isWellFormed()
      ? "must not contain half a character"
      : null,
};

const SPECIFIED: BodyPolicy = {
  members: "all",
  repeated: "with_one_value",
  twice: (_, name) => `The body has two values of ${name}. Case does not count.`,
  shapes: [VALUE_SHAPES.boolean_text, VALUE_SHAPES.list_of_one, VALUE_SHAPES.single_entry],
  hasPlainValues: true,
  checks: [CHECKS.text, CHECKS.base64, CHECKS.controls, CHECKS.halves],
  joinsEntries: true,
  entryOf: (at) => `An entry of ${at}`,
  tooMany: (at, max) => `${at} has over ${max} entries.`,
};

/** All differences between the interfaces in reading values. */
export const BODY_POLICIES = {
  /** /idm/scim. */
  specified: SPECIFIED,
  /** What a backend or the resource has: only its types matter. */
  held: { ...SPECIFIED, repeated: "always", checks: [CHECKS.text], joinsEntries: false },
  /** /scim/v2. */
  full: {
    members: "writable",
    repeated: "never",
    twice: (at, name) => `${at} has ${name} twice. Case does not count.`,
    shapes: Object.values(VALUE_SHAPES),
    hasPlainValues: false,
    checks: [CHECKS.type, CHECKS.controls],
    joinsEntries: true,
    entryOf: (at, { type }) => type === "complex" ? at : `A value of ${at}`,
    tooMany: (at, max) => `${at} must have at most ${max} values.`,
  },
} as const satisfies Record<string, BodyPolicy>;

/** Why a body is refused (RFC 7644 §3.12). */
export interface BodyProblem {
  readonly scimType: "invalidSyntax" | "invalidValue" | "mutability";
  /** A sentence without values of the body. */
  readonly detail: string;
}

/** The message is a sentence with the name of the attribute and without its value. */
export class UnreadableBody extends Error {
  override readonly name = "UnreadableBody";
  constructor(detail: string, readonly scimType: BodyProblem["scimType"] = "invalidValue") {
    super(detail);
  }
}

/** The first problem of a simple value: the end of a sentence. */
export function simpleValueProblem(
  definition: SimpleDefinition,
  value: JsonValue,
  { checks }: Pick<BodyPolicy, "checks"> = BODY_POLICIES.full,
): string | null {
  for (const check of checks) {
    const problem = check(value, definition);
    if (problem !== null) return problem;
  }
  return null;
}

/** A member of an object. */
interface Given {
  /** {@link UNKNOWN} if the table has no row. */
  readonly definition: AttributeDefinition;
  readonly name: string;
  readonly value: JsonValue;
  /** The name as sent, without the URN of the core schema. */
  readonly sent: string;
}

const UNKNOWN = defineAttribute("", "An attribute that no schema defines.", { ref: "RFC 7643 §2.1" });
const MAX_NAME_CHARACTERS = 256;

/**
 * The members of an object by the names of their definitions. If two spellings name one attribute, that of the definition counts, otherwise the later
 * one.
 *
 * @param options.rename changes a name before the look-up, for example to remove the URN of a schema.
 * @throws UnreadableBody for a name that is too long, and for two values of one name.
 */
export function readMembers(
  object: JsonObject,
  definitions: readonly AttributeDefinition[],
  { policy, at = "", rename }: {
    policy: BodyPolicy;
    at?: string;
    rename?: (name: string) => string;
  },
): ReadonlyMap<string, Given> {
  const { members, repeated } = policy;
  const found = new Map<string, Given>();
  for (const [key, value] of Object.entries(object)) {
    if (members === "all") checkName(key);
    // It must not become a key.
    if (key === "__proto__") continue;
    const sent = rename?.(key) ?? key;
    const definition = findDefinition(definitions, sent) ?? UNKNOWN;
    // RFC 7644 §3.5.1: "Any values provided [for readOnly attributes] SHALL be ignored."
    if (members === "writable" && (definition === UNKNOWN || definition.mutability === "readOnly")) continue;
    const name = definition === UNKNOWN ? sent : definition.name;
    const before = found.get(name);
    const isTwice = before !== undefined && repeated !== "always" &&
      (repeated === "never" ||
        (before.sent.toLowerCase() === sent.toLowerCase() && !isSameJson(before.value, value)));
    if (isTwice) throw new UnreadableBody(policy.twice(at, name), "invalidSyntax");
    if (before === undefined || sent === name || before.sent !== name) {
      found.set(name, { definition, name, value, sent });
    }
  }
  return found;
}

function checkName(name: string): void {
  if (name.length > MAX_NAME_CHARACTERS) {
    throw new UnreadableBody(`The name of an attribute has over ${MAX_NAME_CHARACTERS} characters.`);
  }
  if (hasForbiddenControls(name) || !name.isWellFormed()) {
    throw new UnreadableBody("The name of an attribute must not contain control characters.");
  }
}

interface ValuePlace {
  readonly definition: AttributeDefinition;
  /** The name of the attribute in messages. */
  readonly at: string;
  readonly policy: BodyPolicy;
  readonly isEntry?: boolean;
  /** The value that the resource has. It may stay, even if a new resource cannot get it: a backend has other rules. */
  readonly before?: JsonValue | undefined;
}

/**
 * Reads the value of an attribute.
 *
 * @returns the value in the spelling of the definitions. `undefined`: unassigned (RFC 7643 §2.5).
 * @throws UnreadableBody for a value that the attribute cannot have.
 */
export function readAttributeValue(value: JsonValue, place: ValuePlace): JsonValue | undefined {
  if (isUnassigned(value)) return undefined;
  if (place.definition === UNKNOWN) return readUnknown(value, place);
  return place.definition.multiValued ? readList(value, place) : readOrKeep(value, place);
}

function readOrKeep(value: JsonValue, place: ValuePlace): JsonValue | undefined {
  try {
    const { definition, policy } = place;
    if (definition.type === "complex") return readComplex(tolerateShape(value, place), place);
    // Most values need no conversion.
    if (simpleValueProblem(definition, value, policy) === null) return value;
    return readSimple(tolerateShape(value, place), place);
  } catch (fault) {
    const { before } = place;
    const held = isJsonArray(before) ? before : [before];
    if (fault instanceof UnreadableBody && held.some((one) => isSameJson(one, value))) return value;
    throw fault;
  }
}

/** The value after all rows of the policy that apply, each once. */
function tolerateShape(value: JsonValue, place: ValuePlace): JsonValue {
  let tolerated = value;
  for (const { convert } of place.policy.shapes) {
    const converted = convert(tolerated, place);
    if (converted !== undefined) tolerated = converted;
  }
  return tolerated;
}

function readList(value: JsonValue, place: ValuePlace): readonly JsonValue[] | undefined {
  const { definition, at, policy, before } = place;
  if (isJsonArray(before) && isSameJson(value, before)) return before;
  const list = isJsonArray(value) ? value : tolerateShape(value, place);
  if (!isJsonArray(list)) throw new UnreadableBody(`${at} must be a list.`);
  const max = definition === MEMBERS ? MAX_MEMBERS : MAX_LIST_ENTRIES;
  if (list.length > max) throw new UnreadableBody(policy.tooMany(at, max));
  // Members are ids, and a group can have tens of thousands. Most need neither a copy nor a comparison.
  if (definition === MEMBERS && list.length > 0 && list.every((one) => plainMember(one) === one)) return list;
  const inside = { ...place, at: policy.entryOf(at, definition), isEntry: true };
  const entries: JsonValue[] = [];
  for (const one of list) {
    // A list in a list is not an entry, even if it is empty.
    const plain = definition === MEMBERS ? plainMember(one) : null;
    const entry = plain ?? (one === null ? undefined : readOrKeep(one, inside));
    if (entry !== undefined) entries.push(entry);
  }
  if (entries.length === 0) return undefined;
  if (definition === MEMBERS || !policy.joinsEntries) return entries;
  const joined = joinRepeated(entries);
  // RFC 7643 §2.4: "The primary attribute value "true" MUST appear no more than once."
  if (joined.filter(isPrimary).length > 1) {
    throw new UnreadableBody(`${at} must have at most one primary value.`);
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

function readSimple(value: JsonValue, { definition, at, policy }: ValuePlace): JsonValue {
  const problem = simpleValueProblem(definition, value, policy);
  if (problem !== null) throw new UnreadableBody(`${at} ${problem}.`);
  return value;
}

function readComplex(value: JsonValue, place: ValuePlace): JsonObject | undefined {
  const { definition, at, policy } = place;
  if (policy.hasPlainValues && value === null) return undefined;
  const plain = policy.hasPlainValues && typeof value === "string"
    ? findSub(definition, definition.plain ?? "")
    : undefined;
  if (plain !== undefined) {
    return value === "" ? undefined : { [plain.name]: readSimple(value, { ...place, definition: plain }) };
  }
  if (!isJsonObject(value)) throw new UnreadableBody(`${at} must be an object.`);
  const subs = subDefinitions(definition);
  const given = readMembers(value, subs, place);
  const members = policy.members === "all"
    ? given.values()
    : subs.filter((sub) => sub.required || given.has(sub.name))
      .map((sub) => given.get(sub.name) ?? { definition: sub, name: sub.name, value: null });
  const read: [string, JsonValue][] = [];
  for (const { definition, name, value } of members) {
    if (isSecret(name)) continue;
    const place = { definition, at: `${at}.${definition === UNKNOWN ? shownName(name) : name}`, policy };
    const result = readAttributeValue(value, place);
    if (result !== undefined) read.push([name, result]);
    else if (definition.required && definition.mutability !== "readOnly" && isAssigned(given)) {
      throw new UnreadableBody(`${place.at} is required.`);
    }
  }
  return read.length === 0 ? undefined : Object.fromEntries(read);
}

function isAssigned(given: ReadonlyMap<string, Given>): boolean {
  return [...given.values()].some(({ value }) => !isUnassigned(value));
}

/** The value of an unknown attribute, without secrets and dangerous names. The recursion ends, because a body has at most 32 levels. */
function readUnknown(value: JsonValue, place: ValuePlace): JsonValue {
  if (isJsonArray(value)) {
    if (value.length > MAX_LIST_ENTRIES) {
      throw new UnreadableBody(`An attribute has over ${MAX_LIST_ENTRIES} entries.`);
    }
    return value.map((one) => readUnknown(one, place));
  }
  if (typeof value === "string") return readSimple(value, place);
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new UnreadableBody("A number is too large.");
  }
  if (!isJsonObject(value)) return value;
  const safe: [string, JsonValue][] = [];
  for (const { name, value: inner } of readMembers(value, [], place).values()) {
    if (!isSecret(name)) {
      safe.push([name, readUnknown(inner, { ...place, at: `${place.at}.${shownName(name)}` })]);
    }
  }
  return Object.fromEntries(safe);
}

/** Whether the value is a password. It must not be stored as an attribute, because attributes are visible. */
function isSecret(name: string): boolean {
  return name.toLowerCase() === "password";
}

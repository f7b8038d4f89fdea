// Reads one value by its definition: checks the type, spells names as RFC 7643 does, and converts tolerated shapes
// (RFC 7643 §2.3 to §2.5).

import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import { isJsonArray, isJsonObject, isSameJson } from "../../schema/json_limits.ts";
import { MAX_MEMBERS } from "../../schema/parse_resource.ts";
import {
  hasForbiddenControls,
  isBase64,
  isDateTime,
  isPrimary,
  joinRepeated,
} from "../../schema/value_rules.ts";
import {
  type AttributeDefinition,
  type DefinedType,
  findDefinition,
  subDefinitions,
} from "../../schema/attribute_definition.ts";
import { tolerateShape } from "./body_shapes.ts";

/** Why a body is refused (RFC 7644 §3.12). */
export interface BodyProblem {
  readonly scimType: "invalidSyntax" | "invalidValue" | "mutability";
  /** A sentence without values of the body. */
  readonly detail: string;
}

/** Thrown inside this folder and turned into an outcome by `readBody`. */
export class UnreadableBody extends Error {
  override readonly name = "UnreadableBody";
  constructor(readonly problem: BodyProblem) {
    super(problem.detail);
  }
}

export interface ReadAttributeOptions {
  /** `refuse`: an attribute that no schema defines is an error. */
  readonly unknown: "ignore" | "refuse";
  /** Rows of VALUE_SHAPES that are off. */
  readonly strict?: ReadonlySet<string>;
}

/** Of a multi-valued attribute, except members. */
export const MAX_LIST_ENTRIES = 10_000;

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

/** RFC 7643 §2.5: null and an empty list mean that the attribute has no value. An object without values has none either. */
export function isUnassigned(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null) return true;
  if (isJsonArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
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
  const max = definition.name === "members" ? MAX_MEMBERS : MAX_LIST_ENTRIES;
  if (list.length > max) throw unreadableValue(`${at} must have at most ${max} values.`);
  const entries: JsonValue[] = [];
  for (const one of list) {
    // A list in a list is not an entry, even if it is empty.
    const entry = one === null ? undefined : readOrKeep(one, place, true);
    if (entry !== undefined) entries.push(entry);
  }
  if (entries.length === 0) return undefined;
  // Members are ids, and a group can have tens of thousands.
  if (definition.name === "members") return entries;
  const joined = joinRepeated(entries);
  // RFC 7643 §2.4: "The primary attribute value "true" MUST appear no more than once."
  if (joined.filter(isPrimary).length > 1) {
    throw unreadableValue(`${at} must have at most one primary value.`);
  }
  return joined;
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
export function refuseUnknown({ unknown }: ReadAttributeOptions, what: string): void {
  if (unknown === "refuse") throw unreadableSyntax(`The body has ${what} that no schema defines.`);
}

/** RFC 7644 §3.12 `invalidValue`. */
export function unreadableValue(detail: string): UnreadableBody {
  return new UnreadableBody({ scimType: "invalidValue", detail });
}

/** RFC 7644 §3.12 `invalidSyntax`. */
export function unreadableSyntax(detail: string): UnreadableBody {
  return new UnreadableBody({ scimType: "invalidSyntax", detail });
}

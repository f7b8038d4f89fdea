// Reads one value by its definition: checks the type, spells names as RFC 7643 does, and converts tolerated shapes
// (RFC 7643 §2.3 to §2.5).

import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import { isJsonArray, isJsonObject } from "../../schema/json_limits.ts";
import { MAX_MEMBERS } from "../../schema/parse_resource.ts";
import {
  type AttributeDefinition,
  type DefinedType,
  findDefinition,
  subDefinitions,
} from "./attribute_definition.ts";
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
/** RFC 7643 §2.3.5: `xsd:dateTime`. */
const DATE_TIME = /^-?\d{4,6}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})?$/;
/** RFC 7643 §2.3.6: base64 or base64url (RFC 4648 §4, §5), also with line breaks. */
export const BASE64_TEXT = /^[A-Za-z0-9+/_\r\n-]*={0,2}[\r\n]*$/;

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
    isValid: (value: JsonValue) => isText(value) && DATE_TIME.test(value) && !Number.isNaN(Date.parse(value)),
    must: "a date and time such as 2026-01-31T12:00:00Z",
  },
  binary: { isValid: (value: JsonValue) => isText(value) && BASE64_TEXT.test(value), must: "base64" },
} as const satisfies Record<
  Exclude<DefinedType, "complex">,
  { isValid: (value: JsonValue) => boolean; must: string }
>;

/** Whether a simple value has the type of the definition. */
export function isOfType(type: Exclude<DefinedType, "complex">, value: JsonValue): boolean {
  return TYPE_CHECKS[type].isValid(value);
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
  { definition, at, options }: {
    readonly definition: AttributeDefinition;
    readonly at: string;
    readonly options: ReadAttributeOptions;
  },
): JsonValue | undefined {
  if (isUnassigned(value)) return undefined;
  const where = { definition, at, options };
  return definition.multiValued ? readList(value, where) : readOne(value, { ...where, isEntry: false });
}

interface Place {
  readonly definition: AttributeDefinition;
  readonly at: string;
  readonly options: ReadAttributeOptions;
}

function readList(value: JsonValue, place: Place): JsonValue[] | undefined {
  const { definition, at, options } = place;
  const list = isJsonArray(value)
    ? value
    : tolerateShape(value, { definition, isEntry: false }, options.strict);
  if (!isJsonArray(list)) throw unreadableValue(`${at} must be a list.`);
  const max = definition.name === "members" ? MAX_MEMBERS : MAX_LIST_ENTRIES;
  if (list.length > max) throw unreadableValue(`${at} must have at most ${max} values.`);
  const entries: JsonValue[] = [];
  for (const one of list) {
    const entry = isUnassigned(one) ? undefined : readOne(one, { ...place, isEntry: true });
    if (entry !== undefined) entries.push(entry);
  }
  // RFC 7643 §2.4: "The primary attribute value "true" MUST appear no more than once."
  if (entries.filter((entry) => isJsonObject(entry) && entry["primary"] === true).length > 1) {
    throw unreadableValue(`${at} must have at most one primary value.`);
  }
  return entries.length === 0 ? undefined : entries;
}

function readOne(value: JsonValue, place: Place & { readonly isEntry: boolean }): JsonValue | undefined {
  const { definition, at, options, isEntry } = place;
  const tolerated = tolerateShape(value, { definition, isEntry }, options.strict) ?? value;
  if (definition.type === "complex") return readComplex(tolerated, place);
  const { isValid, must } = TYPE_CHECKS[definition.type];
  if (!isValid(tolerated)) throw unreadableValue(`${isEntry ? `A value of ${at}` : at} must be ${must}.`);
  return tolerated;
}

function readComplex(value: JsonValue, { definition, at, options }: Place): JsonObject | undefined {
  if (isUnassigned(value)) return undefined;
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

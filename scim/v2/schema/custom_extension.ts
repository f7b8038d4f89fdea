// Reads the definitions of custom extensions (RFC 7643 §3.3) in the settings of a target, in the form of /Schemas (RFC 7643 §7). The schemas of a
// target follow its settings.

import type { TargetSettings } from "../../../platform/config/config.ts";
import { type JsonFlaw, MAX_JSON_NAMES, parseBoundedJson } from "../../../platform/safe_json.ts";
import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import { isJsonArray, isJsonObject, isSameJson, property, propertyNamed } from "../../schema/attributes.ts";
import {
  type AttributeDefinition,
  DEFINED_TYPES,
  type DefinedType,
  ENTERPRISE_SCHEMA,
  findDefinition,
  MAX_ATTRIBUTE_NAME,
  type ResourceTypeDefinition,
  type SchemaDefinition,
} from "../../schema/attribute_table.ts";
import { BODY_POLICIES, readAttributeValue, UnreadableBody } from "../../schema/read_value.ts";
import { isTextForm } from "./stored_content.ts";
import { createTargetSchemas, type CustomExtension, type TargetSchemas } from "./target_schemas.ts";

type ParseExtensionsOutcome =
  | { readonly ok: true; readonly extensions: readonly CustomExtension[] }
  | { readonly ok: false; readonly problem: string };

const MAX_EXTENSIONS = 20;
/** Attributes and sub-attributes of one extension. */
const MAX_EXTENSION_ATTRIBUTES = 100;
const MAX_URN = 200;
const MAX_DESCRIPTION = 500;
const MAX_LISTED_VALUES = 100;
const MAX_LISTED_TEXT = 200;

/** RFC 8141 §2, without the components after it, and without a colon at the end. */
const URN =
  /^urn:[a-z0-9][a-z0-9-]{0,30}[a-z0-9]:[a-z0-9._~!$&'()*+,;=@/-]+(?::[a-z0-9._~!$&'()*+,;=@/-]+)*$/i;
/** RFC 7643 §2.1, without `$`, which only `$ref` has. */
const ATTRIBUTE_NAME = /^[a-z][a-z0-9_-]*$/i;
const RESERVED_URN = "urn:ietf:params:scim:";

/** Characteristics that a custom attribute cannot have, with the reason. */
const UNSUPPORTED = [
  {
    key: "mutability",
    value: "writeOnly",
    why: "the other interface of the target would show it",
  },
  { key: "returned", value: "never", why: "the other interface of the target would show it" },
  { key: "uniqueness", value: "server", why: "only names are unique" },
  { key: "uniqueness", value: "global", why: "only names are unique" },
] as const;

/** Names that would become passwords or dangerous keys. */
const RESERVED_NAMES = new Set(["password", "schemas", "constructor", "prototype"]);

class DefinitionProblem extends Error {}

/**
 * Reads the custom extensions of a target: a list of schemas as /Schemas shows them, each with `resourceType` (`User` or
 * `Group`) and, if every resource must have it, `"extensionRequired": true`.
 *
 * @returns the extensions, or the first problem as a sentence.
 */
export function parseExtensions(value: JsonValue): ParseExtensionsOutcome {
  try {
    if (!isJsonArray(value)) throw new DefinitionProblem("The extensions must be a list.");
    if (value.length > MAX_EXTENSIONS) {
      throw new DefinitionProblem(`A target has at most ${MAX_EXTENSIONS} extensions.`);
    }
    const extensions = value.map(readExtension);
    checkUrns(extensions.map(({ schema }) => schema.id.toLowerCase()));
    return { ok: true, extensions };
  } catch (fault) {
    if (fault instanceof DefinitionProblem) return { ok: false, problem: fault.message };
    throw fault;
  }
}

/** A URN that continues another one would make the names of attributes ambiguous. */
function checkUrns(urns: readonly string[]): void {
  for (const [at, urn] of urns.entries()) {
    const other = urns.find((one, place) => place !== at && (one === urn || one.startsWith(`${urn}:`)));
    if (other !== undefined) {
      throw new DefinitionProblem(`${other} begins with the URN of another extension. Choose another URN.`);
    }
  }
}

function readExtension(value: JsonValue): CustomExtension {
  if (!isJsonObject(value)) throw new DefinitionProblem("Each extension must be an object.");
  const id = textOf(value, "id", MAX_URN);
  if (!URN.test(id)) {
    throw new DefinitionProblem("The id of an extension must be a URN such as urn:example:2.0:User.");
  }
  if (id.toLowerCase().startsWith(RESERVED_URN)) {
    throw new DefinitionProblem(`The id of an extension must not begin with ${RESERVED_URN}.`);
  }
  // The names of the core attributes would be ambiguous.
  if (RESERVED_URN.startsWith(`${id.toLowerCase()}:`)) {
    throw new DefinitionProblem(`The id of an extension must not be the beginning of ${RESERVED_URN}.`);
  }
  const resourceType = property(value, "resourceType") ?? "User";
  if (resourceType !== "User" && resourceType !== "Group") {
    throw new DefinitionProblem(`resourceType of ${id} must be User or Group.`);
  }
  const schema: SchemaDefinition = {
    id,
    name: textOf(value, "name", MAX_ATTRIBUTE_NAME),
    description: textOf(value, "description", MAX_DESCRIPTION, ""),
    attributes: readDefinitions(property(value, "attributes"), { at: id, isSub: false }),
  };
  const count = schema.attributes.reduce((sum, { subAttributes = [] }) => sum + 1 + subAttributes.length, 0);
  if (count > MAX_EXTENSION_ATTRIBUTES) {
    throw new DefinitionProblem(`${id} has over ${MAX_EXTENSION_ATTRIBUTES} attributes.`);
  }
  const kind = resourceType === "User" ? "user" : "group";
  return { kind, schema, required: flagOf(value, "extensionRequired", id) };
}

function readDefinitions(
  value: JsonValue | undefined,
  { at, isSub }: { at: string; isSub: boolean },
): AttributeDefinition[] {
  if (!isJsonArray(value) || value.length === 0 || value.length > MAX_EXTENSION_ATTRIBUTES) {
    throw new DefinitionProblem(
      `${at} must have a list of 1 to ${MAX_EXTENSION_ATTRIBUTES} ${isSub ? "subAttributes" : "attributes"}.`,
    );
  }
  const definitions = value.map((one) => readDefinition(one, { at, isSub }));
  const names = new Set(definitions.map(({ name }) => name.toLowerCase()));
  if (names.size < definitions.length) {
    throw new DefinitionProblem(`${at} has two attributes of the same name. Case does not count.`);
  }
  return definitions;
}

function readDefinition(
  value: JsonValue,
  { at, isSub }: { at: string; isSub: boolean },
): AttributeDefinition {
  if (!isJsonObject(value)) throw new DefinitionProblem(`Each attribute of ${at} must be an object.`);
  const name = textOf(value, "name", MAX_ATTRIBUTE_NAME);
  const isRef = isSub && name === "$ref";
  if ((!ATTRIBUTE_NAME.test(name) && !isRef) || RESERVED_NAMES.has(name.toLowerCase())) {
    throw new DefinitionProblem(`An attribute of ${at} has a name that is not allowed.`);
  }
  const place = `${at}:${name}`;
  const type = choiceOf(value, "type", { among: DEFINED_TYPES, at: place }) ?? "string";
  if (type === "complex" && isSub) {
    throw new DefinitionProblem(`${place} must not be complex: it is a sub-attribute (RFC 7643 §2.3.8).`);
  }
  for (const { key, value: unsupported, why } of UNSUPPORTED) {
    if (property(value, key) === unsupported) {
      throw new DefinitionProblem(`${place} cannot have ${key} ${unsupported}: ${why}.`);
    }
  }
  return {
    name,
    type,
    multiValued: flagOf(value, "multiValued", place),
    description: textOf(value, "description", MAX_DESCRIPTION, ""),
    required: flagOf(value, "required", place),
    // RFC 7643 §2.3.6, §2.3.7.
    caseExact: type === "binary" || type === "reference" || flagOf(value, "caseExact", place),
    mutability: choiceOf(value, "mutability", {
      among: ["readWrite", "readOnly", "immutable"] as const,
      at: place,
    }) ?? "readWrite",
    returned: choiceOf(value, "returned", { among: ["default", "always", "request"] as const, at: place }) ??
      "default",
    uniqueness: "none",
    ...listsOf(value, type, place),
    isStoredAsSent: true,
    ref: "settings",
  };
}

function listsOf(value: JsonObject, type: DefinedType, at: string) {
  const canonicalValues = listOf(value, "canonicalValues", at);
  const referenceTypes = type === "reference" ? listOf(value, "referenceTypes", at) ?? ["uri"] : undefined;
  return {
    ...(canonicalValues === undefined ? {} : { canonicalValues }),
    ...(referenceTypes === undefined ? {} : { referenceTypes }),
    ...(type === "complex"
      ? { subAttributes: readDefinitions(property(value, "subAttributes"), { at, isSub: true }) }
      : {}),
  };
}

function textOf(value: JsonObject, key: string, max: number, otherwise?: string): string {
  const text = property(value, key) ?? otherwise;
  if (typeof text !== "string" || (text === "" && otherwise === undefined)) {
    throw new DefinitionProblem(`An extension or one of its attributes needs the text ${key}.`);
  }
  if (text.length > max || !text.isWellFormed()) {
    throw new DefinitionProblem(`The text ${key} of an extension must have at most ${max} characters.`);
  }
  return text;
}

function flagOf(value: JsonObject, key: string, at: string): boolean {
  const flag = property(value, key) ?? false;
  if (typeof flag !== "boolean") throw new DefinitionProblem(`${key} of ${at} must be true or false.`);
  return flag;
}

function choiceOf<T extends string>(
  value: JsonObject,
  key: string,
  { among, at }: { among: readonly T[]; at: string },
): T | undefined {
  const text = property(value, key) ?? undefined;
  if (text === undefined) return undefined;
  const found = among.find((one) => one === text);
  if (found === undefined) throw new DefinitionProblem(`${key} of ${at} must be one of ${among.join(", ")}.`);
  return found;
}

function listOf(value: JsonObject, key: string, at: string): string[] | undefined {
  const list = property(value, key) ?? undefined;
  if (list === undefined) return undefined;
  const isValid = isJsonArray(list) && list.length <= MAX_LISTED_VALUES;
  const texts = isValid ? list.filter((one) => typeof one === "string") : [];
  if (!isValid || texts.length < list.length || texts.some((text) => text.length > MAX_LISTED_TEXT)) {
    throw new DefinitionProblem(
      `${key} of ${at} must be a list of at most ${MAX_LISTED_VALUES} short texts.`,
    );
  }
  return texts;
}

/** The most extensions with the most attributes fit. */
const MAX_CHARACTERS = 512 * 1024;
/** A list of extensions → attributes → sub-attributes → canonical values has 8 levels. */
const BOUNDS = { maxDepth: 16, maxValues: 50_000 } as const;

const FLAWS: Readonly<Record<JsonFlaw, string>> = {
  not_utf8: "The extensions must be in UTF-8.",
  not_json: "The extensions must be JSON: a list of schemas.",
  too_deep: `The JSON of extensions must have at most ${BOUNDS.maxDepth} levels.`,
  repeated_name: "The extensions must not have the same name twice in one object.",
  too_many_values: `The JSON of extensions must have at most ${BOUNDS.maxValues} values.`,
  too_many_names: `An object of the JSON of extensions must have at most ${MAX_JSON_NAMES} names.`,
};

function readExtensionSetting(json: string): ParseExtensionsOutcome {
  if (json.length > MAX_CHARACTERS) {
    return {
      ok: false,
      problem: `The JSON of extensions must have at most ${MAX_CHARACTERS} characters.`,
    };
  }
  // An editor may write a byte order mark.
  const parsed = parseBoundedJson(json.replace(/^\uFEFF/, ""), BOUNDS);
  return parsed.ok ? parseExtensions(parsed.value as JsonValue) : { ok: false, problem: FLAWS[parsed.flaw] };
}

/**
 * The problem of the extensions of a target, or `null`.
 *
 * @returns a sentence without its capital letter and its full stop, like other problems of settings.
 */
export function extensionsProblem(json: string): string | null {
  const read = readExtensionSetting(json);
  if (read.ok) return null;
  return read.problem.replace(/^[A-Z](?=[a-z ])/, (first) => first.toLowerCase()).replace(/\.$/, "");
}

/** The schemas of each target. They are made once for each change of its extensions. */
export function followExtensions(
  config: { readonly targets: readonly Pick<TargetSettings, "name" | "extensions">[] },
): (target: string) => TargetSchemas {
  const core = createTargetSchemas();
  const known = new Map<string, { readonly json: string; readonly schemas: TargetSchemas }>();
  return (target) => {
    const json = config.targets.find(({ name }) => name === target)?.extensions ?? "";
    if (json === "") {
      known.delete(target);
      return core;
    }
    let found = known.get(target);
    if (found?.json !== json) known.set(target, found = { json, schemas: schemasOf(target, json) });
    return found.schemas;
  };
}

function schemasOf(target: string, json: string): TargetSchemas {
  const read = readExtensionSetting(json);
  // The settings are checked with extensionsProblem() before they are used.
  if (!read.ok) throw new Error(`Cannot use the extensions of the target ${target}: ${read.problem}`);
  return createTargetSchemas(read.extensions);
}

// The values of custom extensions that the specified interface stores: they must be values that the full interface can show and take back.

/**
 * The problem of the first value that an extension of the type cannot have, as a sentence. `null`: none.
 *
 * @param previous the attributes of the resource. A value that it has may stay.
 */
export function extensionProblem(
  attributes: JsonObject,
  { extensions }: ResourceTypeDefinition,
  previous: JsonObject = {},
): string | null {
  for (const { schema } of extensions) {
    // The attribute table has the enterprise extension.
    if (schema.id === ENTERPRISE_SCHEMA) continue;
    const values = propertyNamed(attributes, schema.id) ?? {};
    const held = propertyNamed(previous, schema.id) ?? {};
    if (!isJsonObject(values)) {
      if (isSameJson(values, held)) continue;
      return `${schema.id} must be an object.`;
    }
    for (const [name, value] of Object.entries(values)) {
      const definition = findDefinition(schema.attributes, name);
      if (
        definition === undefined || isSameJson(value, isJsonObject(held) ? property(held, name) : undefined)
      ) continue;
      const problem = problemOf(value, definition, `${schema.id}:${definition.name}`);
      if (problem !== null) return problem;
    }
  }
  return null;
}

function problemOf(value: JsonValue, definition: AttributeDefinition, at: string): string | null {
  // Programs of this interface, and backends, write numbers and booleans as texts.
  const entries = isJsonArray(value) ? value : [value];
  if (entries.every((one) => typeof one === "string" && isTextForm(definition.type, one))) return null;
  try {
    readAttributeValue(value, { definition, at, policy: BODY_POLICIES.full });
    return null;
  } catch (fault) {
    if (fault instanceof UnreadableBody) return fault.message;
    throw fault;
  }
}

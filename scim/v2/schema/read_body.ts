// Reads the body of a POST or a PUT by the schemas of a resource type (RFC 7644 §3.3, §3.5.1), and `schemas` of messages.

import {
  type AttributeDefinition,
  findDefinition,
  type ResourceTypeDefinition,
  subDefinitions,
} from "../../schema/attribute_table.ts";
import { isJsonArray, isJsonObject, isUnassigned, property } from "../../schema/attributes.ts";
import {
  BODY_POLICIES,
  type BodyPolicy,
  type BodyProblem,
  readAttributeValue,
  UnreadableBody,
  VALUE_SHAPES,
} from "../../schema/read_value.ts";
import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import { resolveAttribute, topLevelDefinitions } from "./target_schemas.ts";

type ReadBodyOutcome =
  | {
    readonly ok: true;
    /** In the spelling of RFC 7643, in the order of the schemas, without common attributes of the server. */
    readonly resource: JsonObject;
  }
  | ({ readonly ok: false } & BodyProblem);

export interface ReadBodyOptions {
  /** A PUT: the resource as it is now, for immutable attributes. */
  readonly previous?: JsonObject;
  /** Rows of VALUE_SHAPES and SCHEMAS_SHAPES that are off. */
  readonly strict?: ReadonlySet<string>;
}

/**
 * Reads a resource. Names are compared without case and may have the URN of their schema in front. Unknown attributes and values of readOnly attributes
 * are ignored. Null and empty lists mean that an attribute has no value.
 */
export function readBody(
  body: JsonObject,
  type: ResourceTypeDefinition,
  options: ReadBodyOptions = {},
): ReadBodyOutcome {
  try {
    checkSchemas(body, type, options);
    const given = collect(body, type);
    const core = readAll(given, topLevelDefinitions(type), { ...options, at: "" });
    const extensions = readExtensions(given, type, options);
    const schemas = [type.schema.id, ...extensions.map(([urn]) => urn)];
    return { ok: true, resource: Object.fromEntries([["schemas", schemas], ...core, ...extensions]) };
  } catch (fault) {
    if (fault instanceof UnreadableBody) {
      return { ok: false, scimType: fault.scimType, detail: fault.message };
    }
    throw fault;
  }
}

/** RFC 7643 §3: `schemas` names the core schema. Other lists are rows of SCHEMAS_SHAPES. */
function checkSchemas(body: JsonObject, type: ResourceTypeDefinition, { strict }: ReadBodyOptions): void {
  const names = Object.keys(body).filter((name) => name.toLowerCase() === "schemas");
  if (names.length > 1) {
    throw new UnreadableBody("The body has schemas twice. Case does not count.", "invalidSyntax");
  }
  const value = property(body, names[0] ?? "schemas") ?? [];
  if (!isJsonArray(value) || value.length > MAX_SCHEMAS || !value.every((one) => typeof one === "string")) {
    throw new UnreadableBody(`schemas must be a list of at most ${MAX_SCHEMAS} URNs.`, "invalidSyntax");
  }
  const urns = value.map((urn) => String(urn).toLowerCase());
  const core = type.schema.id.toLowerCase();
  const known = new Set([core, ...type.extensions.map(({ schema }) => schema.id.toLowerCase())]);
  if (urns.includes(core) && urns.every((urn) => known.has(urn))) return;
  const rows: [string, SchemasShape][] = Object.entries(SCHEMAS_SHAPES);
  const isTolerated = rows.some(([name, { matches }]) =>
    strict?.has(name) !== true && matches(urns, { core, known })
  );
  if (!isTolerated) {
    throw new UnreadableBody(`schemas must contain ${type.schema.id}, and only schemas of this target.`);
  }
}

const MAX_SCHEMAS = 100;

type Given = Map<AttributeDefinition, JsonValue>;

/** The attributes of a body by their definitions, without those that the server writes. */
function collect(body: JsonObject, type: ResourceTypeDefinition): Given {
  const given: Given = new Map();
  for (const [name, value] of Object.entries(body)) {
    const found = resolveAttribute(type, name);
    if (found === undefined) continue;
    const { extension, attribute } = found;
    if (attribute !== null) put(given, attribute, value);
    else if (isJsonObject(value)) {
      for (const [part, inner] of Object.entries(value)) {
        put(given, findDefinition(extension.attributes, part), inner);
      }
    } else if (!isUnassigned(value)) throw new UnreadableBody(`${extension.id} must be an object.`);
  }
  return given;
}

function put(given: Given, attribute: AttributeDefinition | undefined, value: JsonValue): void {
  // RFC 7644 §3.3: "attributes whose mutability is "readOnly" SHALL be ignored".
  if (attribute === undefined || attribute.mutability === "readOnly" || attribute.name === "schemas") return;
  if (given.has(attribute)) {
    throw new UnreadableBody(`The body has ${attribute.name} twice. Case does not count.`, "invalidSyntax");
  }
  given.set(attribute, value);
}

function readExtensions(
  given: Given,
  type: ResourceTypeDefinition,
  options: ReadBodyOptions,
): [string, JsonObject][] {
  return type.extensions.flatMap(({ schema, required }): [string, JsonObject][] => {
    const before = property(options.previous ?? {}, schema.id);
    const previous = isJsonObject(before) ? before : {};
    const isAbsent = schema.attributes.every((one) => isUnassigned(given.get(one)));
    const definitions = isAbsent && !required
      ? schema.attributes.filter(({ name, mutability }) =>
        mutability === "immutable" && property(previous, name) !== undefined
      )
      : schema.attributes;
    const ofSchema = options.previous === undefined ? {} : { previous };
    const read = readAll(given, definitions, { ...options, ...ofSchema, at: `${schema.id}:` });
    return read.length === 0 ? [] : [[schema.id, Object.fromEntries(read)]];
  });
}

/** Values in the order of their definitions. */
function readAll(
  given: Given,
  definitions: readonly AttributeDefinition[],
  { at, previous, strict }: ReadBodyOptions & { at: string },
): [string, JsonValue][] {
  const policy = strict === undefined ? BODY_POLICIES.full : withoutShapes(strict);
  return definitions.flatMap((definition): [string, JsonValue][] => {
    if (definition.mutability === "readOnly" || definition.name === "schemas") return [];
    const name = `${at}${definition.name}`;
    const before = property(previous ?? {}, definition.name);
    const read = readAttributeValue(given.get(definition) ?? null, { definition, at: name, policy, before });
    const value = keepImmutable(read, { definition, at: name, before });
    // A resource of a backend, or of the time before an extension, can lack it. Other changes must be possible.
    const wasMissing = previous !== undefined && (before === undefined || before === "");
    if (definition.required && !wasMissing && (value === undefined || value === "")) {
      throw new UnreadableBody(`${name} is required.`);
    }
    return value === undefined ? [] : [[definition.name, value]];
  });
}

function withoutShapes(strict: ReadonlySet<string>): BodyPolicy {
  const shapes = Object.entries(VALUE_SHAPES).filter(([name]) => !strict.has(name)).map(([, shape]) => shape);
  return { ...BODY_POLICIES.full, shapes };
}

/**
 * RFC 7644 §3.5.1: "If one or more values are already set for the attribute, the input value(s) MUST match". An absent value keeps the
 * one that is set. Sub-attributes of lists are not compared: an immutable entry can be replaced by another entry.
 */
function keepImmutable(
  value: JsonValue | undefined,
  { definition, at, before }: {
    readonly definition: AttributeDefinition;
    readonly at: string;
    readonly before: JsonValue | undefined;
  },
): JsonValue | undefined {
  if (before === undefined) return value;
  if (definition.mutability === "immutable") {
    if (value !== undefined && !isSameValue(value, before, definition.caseExact)) {
      throw new UnreadableBody(
        `${at} has a value and cannot be changed. Send the present value, or omit it.`,
        "mutability",
      );
    }
    return before;
  }
  const subs = subDefinitions(definition).filter(({ mutability }) => mutability === "immutable");
  // The whole value can be removed: only its parts are immutable.
  if (definition.multiValued || !isJsonObject(before) || !isJsonObject(value)) return value;
  const kept = subs.flatMap((sub): [string, JsonValue][] => {
    const one = keepImmutable(property(value, sub.name), {
      definition: sub,
      at: `${at}.${sub.name}`,
      before: property(before, sub.name),
    });
    return one === undefined ? [] : [[sub.name, one]];
  });
  return kept.length === 0 ? value : { ...value, ...Object.fromEntries(kept) };
}

function isSameValue(a: JsonValue, b: JsonValue, isCaseExact: boolean): boolean {
  const [left, right] = [JSON.stringify(a), JSON.stringify(b)];
  return left === right || (!isCaseExact && left.toLowerCase() === right.toLowerCase());
}

/** A tolerated value of `schemas`. */
interface SchemasShape {
  readonly client: string;
  readonly example: string;
  readonly link: string;
  /** Whether the list has this shape. */
  readonly matches: (
    urns: readonly string[],
    of: { readonly core: string; readonly known: ReadonlySet<string> },
  ) => boolean;
}

/** Rows for lists of URNs that lack the core schema, or that name schemas the target does not have. URNs are in lower case. */
export const SCHEMAS_SHAPES = {
  no_schemas: {
    client: "authentik",
    example: `{"userName":"ada"}`,
    link: "https://github.com/Infisical/infisical/pull/6940",
    matches: (urns) => urns.length === 0,
  },
  version_1: {
    client: "OneLogin",
    example: `{"schemas":["urn:scim:schemas:core:1.0"],"userName":"ada"}`,
    link: "https://scim.dev/guide/applications/onelogin",
    matches: (urns) => urns.some((urn) => urn.startsWith("urn:scim:schemas:")),
  },
  foreign_urn: {
    client: "Entra ID",
    example:
      `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:Group","http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"],"displayName":"Sales"}`,
    link:
      "https://learn.microsoft.com/en-us/entra/identity/app-provisioning/use-scim-to-provision-users-and-groups",
    matches: (urns, { core, known }) => urns.includes(core) && urns.some((urn) => !known.has(urn)),
  },
} as const satisfies Record<string, SchemasShape>;

/** Rows for `schemas` of the messages PatchOp, BulkRequest and SearchRequest that lack the URN of the message. URNs are in lower case. */
export const MESSAGE_SHAPES = {
  no_message_urn: {
    client: "WSO2's users",
    example: `{"schemas":[],"Operations":[{"op":"add","path":"title","value":"Guide"}]}`,
    link: "https://github.com/wso2/product-is/issues/16933",
    matches: (urns: readonly string[]) => urns.length === 0,
  },
  misspelt_message_urn: {
    client: "scim-patch's users",
    example:
      `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:PatchOp"],"Operations":[{"op":"add","path":"title","value":"Guide"}]}`,
    link: "https://github.com/thomaspoignant/scim-patch/issues/152",
    matches: (urns: readonly string[], message: string) =>
      urns.some((urn) => urn.startsWith("urn:") && urn.endsWith(message.slice(message.lastIndexOf(":")))),
  },
} as const;

const MAX_MESSAGE_URNS = 100;

/** Whether `schemas` of a body has the URN of a message, compared without case, or one of the {@link MESSAGE_SHAPES}. */
export function isMessage(schemas: JsonValue | undefined, urn: string): boolean {
  const list = schemas ?? [];
  if (!isJsonArray(list) || list.length > MAX_MESSAGE_URNS) return false;
  const urns = list.map((one) => typeof one === "string" ? one.toLowerCase() : "");
  const message = urn.toLowerCase();
  return urns.includes(message) ||
    Object.values(MESSAGE_SHAPES).some(({ matches }) => matches(urns, message));
}

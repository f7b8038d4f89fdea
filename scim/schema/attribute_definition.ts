// Definitions of attributes, schemas and resource types, as RFC 7643 §6 and §7 describe them, with what /idm/scim and the store have otherwise.

import type { ResourceKind } from "./resource.ts";

/** RFC 7643 §2.3. */
export const DEFINED_TYPES = [
  "string",
  "boolean",
  "decimal",
  "integer",
  "dateTime",
  "reference",
  "binary",
  "complex",
] as const;
export type DefinedType = (typeof DEFINED_TYPES)[number];

/** RFC 7643 §7. */
export const MUTABILITIES = ["readOnly", "readWrite", "immutable", "writeOnly"] as const;
/** RFC 7643 §7. */
export const RETURN_RULES = ["always", "never", "default", "request"] as const;
/** RFC 7643 §7. */
export const UNIQUENESS_RULES = ["none", "server", "global"] as const;

/** One attribute with its characteristics (RFC 7643 §2.2, §7). */
export interface AttributeDefinition {
  readonly name: string;
  readonly type: DefinedType;
  readonly multiValued: boolean;
  readonly description: string;
  readonly required: boolean;
  readonly caseExact: boolean;
  readonly mutability: (typeof MUTABILITIES)[number];
  readonly returned: (typeof RETURN_RULES)[number];
  readonly uniqueness: (typeof UNIQUENESS_RULES)[number];
  /** Suggested values. Other values are allowed (RFC 7643 §7). */
  readonly canonicalValues?: readonly string[];
  /** Only for the type `reference`: names of resource types, `external` or `uri`. */
  readonly referenceTypes?: readonly string[];
  /** Only for the type `complex`. */
  readonly subAttributes?: readonly AttributeDefinition[];
  /** The name in the interface specification of /idm/scim and in the store. Absent: the same. */
  readonly storedName?: string;
  /** /idm/scim compares values without case, although `caseExact` is set: there, ids are names. */
  readonly isFoldedInSpecification?: true;
  /** The sub-attribute that a plain text sets in /idm/scim, and that a filter on the whole attribute compares. Absent: `value`, if there is one. */
  readonly plain?: string;
  /** The source of the definition. */
  readonly ref: string;
}

/** A schema (RFC 7643 §7). */
export interface SchemaDefinition {
  /** The URN. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly attributes: readonly AttributeDefinition[];
}

/** An extension of a resource type (RFC 7643 §6). */
export interface SchemaExtension {
  readonly schema: SchemaDefinition;
  /** Every resource of the type must have it. */
  readonly required: boolean;
}

/** A resource type (RFC 7643 §6). */
export interface ResourceTypeDefinition {
  readonly kind: ResourceKind;
  readonly name: string;
  readonly description: string;
  /** Relative to the base URL: `/Users`. */
  readonly endpoint: string;
  readonly schema: SchemaDefinition;
  readonly extensions: readonly SchemaExtension[];
}

/** The characteristics that differ from the defaults, and the source. */
export type Characteristics =
  & Pick<AttributeDefinition, "ref">
  & Partial<Omit<AttributeDefinition, "name" | "description">>;

/** An attribute with the default characteristics (RFC 7643 §2.2): an optional text that clients read and write. */
export function defineAttribute(
  name: string,
  description: string,
  characteristics: Characteristics,
): AttributeDefinition {
  return {
    name,
    type: "string",
    multiValued: false,
    description,
    required: false,
    caseExact: false,
    mutability: "readWrite",
    returned: "default",
    uniqueness: "none",
    ...characteristics,
  };
}

/** By the name in lower case: names of attributes are compared without case (RFC 7643 §2.1). */
const byName = new WeakMap<readonly AttributeDefinition[], ReadonlyMap<string, AttributeDefinition>>();

/** The longest name that any definition may have. */
export const MAX_ATTRIBUTE_NAME = 64;

/** The definition of that name, compared without case. */
export function findDefinition(
  definitions: readonly AttributeDefinition[],
  name: string,
): AttributeDefinition | undefined {
  // A long text from outside is not converted to lower case.
  if (name.length > MAX_ATTRIBUTE_NAME) return undefined;
  let known = byName.get(definitions);
  if (known === undefined) {
    known = new Map(definitions.map((definition) => [definition.name.toLowerCase(), definition]));
    byName.set(definitions, known);
  }
  return known.get(name.toLowerCase());
}

const NO_DEFINITIONS: readonly AttributeDefinition[] = [];

/** The sub-attributes of a definition. Empty unless its type is complex. */
export function subDefinitions({ subAttributes }: AttributeDefinition): readonly AttributeDefinition[] {
  return subAttributes ?? NO_DEFINITIONS;
}

/** The sub-attribute of that name, compared without case. */
export function findSub(definition: AttributeDefinition, name: string): AttributeDefinition | undefined {
  return findDefinition(subDefinitions(definition), name);
}

// The attributes of users and groups (RFC 7643 §3.1, §4, §8.7.1): one table for both interfaces and for the store, in the form of
// RFC 7643 §6 and §7. Attributes without a row are stored unchanged.

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
  /** Only in `SCIM_ATTRIBUTES`, whose names are the stored ones: the name of RFC 7643, which finds the attribute as well. */
  readonly rfcName?: string;
  /** Of a custom extension: the store has the spelling that a client of /idm/scim sent, so its name is compared without case. */
  readonly isStoredAsSent?: true;
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
    known = new Map(definitions.flatMap((definition) => {
      const { name, rfcName = name } = definition;
      return [name, rfcName, name.toLowerCase(), rfcName.toLowerCase()].map((one) => [one, definition]);
    }));
    byName.set(definitions, known);
  }
  return known.get(name) ?? known.get(name.toLowerCase());
}

const NO_DEFINITIONS: readonly AttributeDefinition[] = [];

/** The sub-attributes of a definition. Empty unless its type is complex. */
export function subDefinitions({ subAttributes }: AttributeDefinition): readonly AttributeDefinition[] {
  return subAttributes ?? NO_DEFINITIONS;
}

/** The sub-attribute of that name, compared without case. An attribute without a row has none. */
export function findSub(
  definition: AttributeDefinition | undefined,
  name: string,
): AttributeDefinition | undefined {
  return findDefinition(definition?.subAttributes ?? NO_DEFINITIONS, name);
}

export const USER_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:User";
export const GROUP_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:Group";
export const ENTERPRISE_SCHEMA = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
export const LIST_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:ListResponse";
export const ERROR_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:Error";
export const SEARCH_REQUEST_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:SearchRequest";

// The attributes that every resource has (RFC 7643 §3, §3.1). /Schemas does not list them.

const COMMON = "RFC 7643 §3.1";
const READ_ONLY = { mutability: "readOnly", ref: COMMON } as const;

/** RFC 7643 §3 and §3.1. */
export const COMMON_DEFINITIONS: readonly AttributeDefinition[] = [
  defineAttribute("schemas", "The URNs of the schemas of the resource.", {
    type: "reference",
    referenceTypes: ["uri"],
    multiValued: true,
    required: true,
    caseExact: true,
    isFoldedInSpecification: true,
    returned: "always",
    ref: "RFC 7643 §3",
  }),
  defineAttribute("id", "The identifier that the server gave to the resource. It never changes.", {
    ...READ_ONLY,
    caseExact: true,
    isFoldedInSpecification: true,
    returned: "always",
    uniqueness: "server",
  }),
  defineAttribute("externalId", "The identifier that the client gave to the resource.", {
    caseExact: true,
    isFoldedInSpecification: true,
    ref: COMMON,
  }),
  defineAttribute("meta", "Data about the resource itself.", {
    ...READ_ONLY,
    type: "complex",
    subAttributes: [
      defineAttribute("resourceType", "The name of the resource type.", { ...READ_ONLY, caseExact: true }),
      defineAttribute("created", "When the resource was created.", { ...READ_ONLY, type: "dateTime" }),
      defineAttribute("lastModified", "When the resource last changed.", { ...READ_ONLY, type: "dateTime" }),
      defineAttribute("location", "The URL of the resource.", {
        ...READ_ONLY,
        type: "reference",
        referenceTypes: ["uri"],
        caseExact: true,
      }),
      defineAttribute("version", "The entity tag of the resource.", { ...READ_ONLY, caseExact: true }),
    ],
  }),
];

const SINGLE = "RFC 7643 §4.1.1";
const MULTI = "RFC 7643 §4.1.2";
const ENTRY = "RFC 7643 §2.4";

/** A multi-valued attribute with the sub-attributes of RFC 7643 §2.4. */
interface EntryList {
  /** What one value is. */
  readonly value: string;
  /** Characteristics of the sub-attribute `value`. */
  readonly of?: Partial<Characteristics>;
  readonly types?: readonly string[];
  readonly storedName?: string;
}

function defineEntries(
  name: string,
  description: string,
  { value, of = {}, types, storedName }: EntryList,
): AttributeDefinition {
  return defineAttribute(name, description, {
    type: "complex",
    multiValued: true,
    ref: MULTI,
    ...(storedName === undefined ? {} : { storedName }),
    subAttributes: [
      defineAttribute("value", value, { ...of, ref: MULTI }),
      defineAttribute("display", "A name for display.", { ref: ENTRY }),
      defineAttribute("type", "A label such as work or home.", {
        ref: ENTRY,
        ...(types === undefined ? {} : { canonicalValues: types }),
      }),
      PRIMARY,
    ],
  });
}

export const PRIMARY = defineAttribute("primary", "The preferred value. At most one value is primary.", {
  type: "boolean",
  ref: ENTRY,
});

const NAME_PARTS = [
  defineAttribute("formatted", "The full name, formatted for display.", { ref: SINGLE }),
  defineAttribute("familyName", "The family name, or last name.", { ref: SINGLE }),
  defineAttribute("givenName", "The given name, or first name.", { ref: SINGLE }),
  defineAttribute("middleName", "The middle names.", { ref: SINGLE }),
  defineAttribute("honorificPrefix", "Titles before the name, such as Ms.", { ref: SINGLE }),
  defineAttribute("honorificSuffix", "Suffixes after the name, such as III.", { ref: SINGLE }),
];

const ADDRESS_PARTS = [
  defineAttribute("formatted", "The full address, formatted for display. It may have line breaks.", {
    ref: MULTI,
  }),
  defineAttribute("streetAddress", "The street, the house number and what belongs to them.", { ref: MULTI }),
  defineAttribute("locality", "The city or locality.", { ref: MULTI }),
  defineAttribute("region", "The state or region.", { ref: MULTI }),
  defineAttribute("postalCode", "The postal code.", { storedName: "postralCode", ref: MULTI }),
  defineAttribute("country", "The country, as a code of ISO 3166-1 alpha-2.", { ref: MULTI }),
  defineAttribute("type", "A label such as work or home.", {
    canonicalValues: ["work", "home", "other"],
    ref: MULTI,
  }),
  defineAttribute("display", "A name for display.", { ref: ENTRY }),
  PRIMARY,
];

/** The server derives the groups of a user from the members of the groups. */
const GROUP_PARTS = [
  defineAttribute("value", "The id of the group.", {
    mutability: "readOnly",
    caseExact: true,
    isFoldedInSpecification: true,
    ref: MULTI,
  }),
  defineAttribute("$ref", "The URL of the group.", {
    type: "reference",
    referenceTypes: ["Group"],
    mutability: "readOnly",
    caseExact: true,
    ref: MULTI,
  }),
  defineAttribute("display", "The name of the group.", { mutability: "readOnly", ref: MULTI }),
  defineAttribute("type", "How the user became a member.", {
    canonicalValues: ["direct", "indirect"],
    mutability: "readOnly",
    ref: MULTI,
  }),
];

const URL_VALUE = { type: "reference", referenceTypes: ["external"], caseExact: true } as const;

const SINGLE_ATTRIBUTES: readonly AttributeDefinition[] = [
  defineAttribute("userName", "The name with which the user signs in.", {
    required: true,
    uniqueness: "server",
    ref: SINGLE,
  }),
  defineAttribute("name", "The parts of the real name.", {
    type: "complex",
    subAttributes: NAME_PARTS,
    ref: SINGLE,
  }),
  defineAttribute("displayName", "The name for display.", { ref: SINGLE }),
  defineAttribute("nickName", "The casual name, such as Bob for Robert.", { ref: SINGLE }),
  defineAttribute("profileUrl", "The URL of a page about the user.", { ...URL_VALUE, ref: SINGLE }),
  defineAttribute("title", "The job title.", { ref: SINGLE }),
  defineAttribute("userType", "The relationship to the organisation, such as Employee.", { ref: SINGLE }),
  defineAttribute("preferredLanguage", "The preferred languages (RFC 9110 §12.5.4).", { ref: SINGLE }),
  defineAttribute("locale", "The language tag for formats (RFC 5646).", { ref: SINGLE }),
  defineAttribute("timezone", "The time zone, such as Europe/Berlin (RFC 6557).", { ref: SINGLE }),
  defineAttribute("active", "Whether the user may sign in.", { type: "boolean", ref: SINGLE }),
  defineAttribute("password", "The password in clear. It is stored as a hash and never returned.", {
    caseExact: true,
    mutability: "writeOnly",
    returned: "never",
    ref: SINGLE,
  }),
];

const MULTI_ATTRIBUTES: readonly AttributeDefinition[] = [
  defineEntries("emails", "The e-mail addresses.", {
    value: "An e-mail address.",
    types: ["work", "home", "other"],
  }),
  defineEntries("phoneNumbers", "The phone numbers.", {
    value: "A phone number.",
    types: ["work", "home", "mobile", "fax", "pager", "other"],
  }),
  defineEntries("ims", "The addresses for instant messages.", {
    value: "An address for instant messages.",
    storedName: "imgs",
    types: ["aim", "gtalk", "icq", "xmpp", "msn", "skype", "qq", "yahoo"],
  }),
  defineEntries("photos", "The URLs of photos.", {
    value: "The URL of a photo.",
    of: { ...URL_VALUE, isFoldedInSpecification: true },
    types: ["photo", "thumbnail"],
  }),
  defineAttribute("addresses", "The postal addresses.", {
    type: "complex",
    multiValued: true,
    subAttributes: ADDRESS_PARTS,
    plain: "formatted",
    ref: MULTI,
  }),
  defineAttribute("groups", "The groups of the user. To change them, change the members of the groups.", {
    type: "complex",
    multiValued: true,
    mutability: "readOnly",
    subAttributes: GROUP_PARTS,
    ref: MULTI,
  }),
  defineEntries("entitlements", "What the user is entitled to.", { value: "An entitlement." }),
  defineEntries("roles", "The roles of the user.", { value: "A role." }),
  defineEntries("x509Certificates", "The certificates of the user.", {
    value: "A certificate in DER, encoded with base64.",
    of: { type: "binary", caseExact: true },
  }),
];

/** RFC 7643 §4.1. */
export const USER_DEFINITION: SchemaDefinition = {
  id: USER_SCHEMA,
  name: "User",
  description: "A user account.",
  attributes: [...SINGLE_ATTRIBUTES, ...MULTI_ATTRIBUTES],
};

const GROUP = "RFC 7643 §4.2";
const ENTERPRISE = "RFC 7643 §4.3";

/** RFC 7643 §4.2. */
export const GROUP_DEFINITION: SchemaDefinition = {
  id: GROUP_SCHEMA,
  name: "Group",
  description: "A group of users.",
  attributes: [
    // RFC 7643 §8.7.1 says uniqueness none. Here a group is addressed by its name, so the name is unique.
    defineAttribute("displayName", "The name of the group.", {
      required: true,
      uniqueness: "server",
      ref: GROUP,
    }),
    defineAttribute("members", "The members of the group.", {
      type: "complex",
      multiValued: true,
      ref: GROUP,
      subAttributes: [
        defineAttribute("value", "The id of the member.", {
          caseExact: true,
          isFoldedInSpecification: true,
          mutability: "immutable",
          ref: GROUP,
        }),
        defineAttribute("$ref", "The URL of the member.", {
          type: "reference",
          referenceTypes: ["User", "Group"],
          caseExact: true,
          mutability: "immutable",
          ref: GROUP,
        }),
        defineAttribute("type", "The resource type of the member.", {
          canonicalValues: ["User", "Group"],
          mutability: "immutable",
          ref: GROUP,
        }),
        // RFC 7643 §8.7.1 does not list it. A client that sends members compares them with the answer, so it has to ask for it.
        defineAttribute("display", "The name of the member.", {
          mutability: "readOnly",
          returned: "request",
          ref: "RFC 7643 §2.4",
        }),
      ],
    }),
  ],
};

/** RFC 7643 §4.3. */
export const ENTERPRISE_DEFINITION: SchemaDefinition = {
  id: ENTERPRISE_SCHEMA,
  name: "EnterpriseUser",
  description: "What organisations record about their users.",
  attributes: [
    defineAttribute("employeeNumber", "The number of the employee.", { ref: ENTERPRISE }),
    defineAttribute("costCenter", "The name of the cost center.", { ref: ENTERPRISE }),
    defineAttribute("organization", "The name of the organisation.", { ref: ENTERPRISE }),
    defineAttribute("division", "The name of the division.", { ref: ENTERPRISE }),
    defineAttribute("department", "The name of the department.", { ref: ENTERPRISE }),
    defineAttribute("manager", "The manager of the user.", {
      type: "complex",
      ref: ENTERPRISE,
      subAttributes: [
        // RFC 7643 §4.3 recommends value and $ref. §8.7.1 requires them, but clients send only one of them.
        defineAttribute("value", "The id of the manager.", {
          caseExact: true,
          isFoldedInSpecification: true,
          ref: ENTERPRISE,
        }),
        defineAttribute("$ref", "The URL of the manager.", {
          type: "reference",
          referenceTypes: ["User"],
          caseExact: true,
          ref: ENTERPRISE,
        }),
        defineAttribute("displayName", "The name of the manager.", {
          mutability: "readOnly",
          ref: ENTERPRISE,
        }),
      ],
    }),
  ],
};

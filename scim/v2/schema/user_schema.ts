// The core schema of users (RFC 7643 §4.1, §8.7.1).

import { USER_SCHEMA } from "../../schema/attribute_table.ts";
import {
  type AttributeDefinition,
  type Characteristics,
  defineAttribute,
  type SchemaDefinition,
} from "./attribute_definition.ts";

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
}

function defineEntries(
  name: string,
  description: string,
  { value, of = {}, types }: EntryList,
): AttributeDefinition {
  return defineAttribute(name, description, {
    type: "complex",
    multiValued: true,
    ref: MULTI,
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

const PRIMARY = defineAttribute("primary", "The preferred value. At most one value is primary.", {
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
  defineAttribute("postalCode", "The postal code.", { ref: MULTI }),
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
  defineAttribute("value", "The id of the group.", { mutability: "readOnly", caseExact: true, ref: MULTI }),
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
    types: ["aim", "gtalk", "icq", "xmpp", "msn", "skype", "qq", "yahoo"],
  }),
  defineEntries("photos", "The URLs of photos.", {
    value: "The URL of a photo.",
    of: URL_VALUE,
    types: ["photo", "thumbnail"],
  }),
  defineAttribute("addresses", "The postal addresses.", {
    type: "complex",
    multiValued: true,
    subAttributes: ADDRESS_PARTS,
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

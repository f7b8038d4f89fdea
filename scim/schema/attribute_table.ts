// The typed attributes of users and groups (RFC 7643 §3.1, §4), spelled as in the mapping table. Other attributes are
// stored unchanged.

export const USER_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:User";
export const GROUP_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:Group";
export const ENTERPRISE_SCHEMA = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
export const LIST_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:ListResponse";
export const ERROR_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:Error";
export const SEARCH_REQUEST_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:SearchRequest";

/** RFC 7643 §2.3. Binary and reference values are texts. */
export type AttributeType = "string" | "boolean" | "dateTime" | "complex";

/** One attribute. */
export interface ScimAttributeRow {
  readonly type: AttributeType;
  readonly multi?: true;
  /** RFC 7643 §2.3.6. */
  readonly base64?: true;
  /** Compared with case in a filter. */
  readonly caseExact?: true;
  /** The name in RFC 7643, if the interface specification spells it otherwise. */
  readonly rfcName?: string;
  readonly sub?: Readonly<Record<string, ScimAttributeRow>>;
  /** The sub-attribute that a plain text sets, and that a filter on the whole attribute compares. */
  readonly plain?: string;
  /** `readOnly`: a value in a body is ignored. `writeOnly`: never shown and never compared. */
  readonly mutability?: "readOnly" | "writeOnly";
  /** The source of the definition. */
  readonly ref: string;
}

const text = (ref: string) => ({ type: "string", ref } as const satisfies ScimAttributeRow);
const exactText = (
  ref: string,
) => ({ type: "string", caseExact: true, ref } as const satisfies ScimAttributeRow);

/** The sub-attributes that entries of multi-valued attributes have (RFC 7643 §2.4). */
const ENTRY = {
  value: text("RFC 7643 §2.4"),
  display: text("RFC 7643 §2.4"),
  type: text("RFC 7643 §2.4"),
  primary: { type: "boolean", ref: "RFC 7643 §2.4" },
  $ref: exactText("RFC 7643 §2.4"),
} as const satisfies Record<string, ScimAttributeRow>;

const entries = (
  ref: string,
) => ({ type: "complex", multi: true, plain: "value", sub: ENTRY, ref } as const satisfies ScimAttributeRow);

/** A core attribute in the interface specification, an attribute of the enterprise extension in RFC 7643. It is stored where the client put it. */
const MANAGER = {
  type: "complex",
  plain: "value",
  sub: {
    value: text("RFC 7643 §4.3"),
    $ref: exactText("RFC 7643 §4.3"),
    displayName: text("RFC 7643 §4.3"),
  },
  ref: "RFC 7643 §4.3",
} as const satisfies ScimAttributeRow;

/** RFC 7643 §3.1. `id` and `externalId` compare without case, like names, because by default they are the name. */
const COMMON_ATTRIBUTES = {
  schemas: { type: "string", multi: true, mutability: "readOnly", ref: "RFC 7643 §3" },
  id: { type: "string", mutability: "readOnly", ref: "RFC 7643 §3.1" },
  externalId: text("RFC 7643 §3.1"),
  meta: {
    type: "complex",
    mutability: "readOnly",
    sub: {
      resourceType: exactText("RFC 7643 §3.1"),
      created: { type: "dateTime", ref: "RFC 7643 §3.1" },
      lastModified: { type: "dateTime", ref: "RFC 7643 §3.1" },
      location: exactText("RFC 7643 §3.1"),
      version: exactText("RFC 7643 §3.1"),
    },
    ref: "RFC 7643 §3.1",
  },
} as const satisfies Record<string, ScimAttributeRow>;

export const USER_ATTRIBUTES = {
  ...COMMON_ATTRIBUTES,
  userName: text("RFC 7643 §4.1.1"),
  name: {
    type: "complex",
    sub: {
      formatted: text("RFC 7643 §4.1.1"),
      familyName: text("RFC 7643 §4.1.1"),
      givenName: text("RFC 7643 §4.1.1"),
      middleName: text("RFC 7643 §4.1.1"),
      honorificPrefix: text("RFC 7643 §4.1.1"),
      honorificSuffix: text("RFC 7643 §4.1.1"),
    },
    ref: "RFC 7643 §4.1.1",
  },
  displayName: text("RFC 7643 §4.1.1"),
  nickName: text("RFC 7643 §4.1.1"),
  profileUrl: exactText("RFC 7643 §4.1.1"),
  title: text("RFC 7643 §4.1.1"),
  userType: text("RFC 7643 §4.1.1"),
  preferredLanguage: text("RFC 7643 §4.1.1"),
  locale: text("RFC 7643 §4.1.1"),
  timezone: text("RFC 7643 §4.1.1"),
  active: { type: "boolean", ref: "RFC 7643 §4.1.1" },
  password: { type: "string", mutability: "writeOnly", ref: "RFC 7643 §4.1.1" },
  emails: entries("RFC 7643 §4.1.2"),
  phoneNumbers: entries("RFC 7643 §4.1.2"),
  imgs: { ...entries("RFC 7643 §4.1.2"), rfcName: "ims" },
  photos: entries("RFC 7643 §4.1.2"),
  addresses: {
    type: "complex",
    multi: true,
    plain: "formatted",
    sub: {
      formatted: text("RFC 7643 §4.1.2"),
      streetAddress: text("RFC 7643 §4.1.2"),
      locality: text("RFC 7643 §4.1.2"),
      region: text("RFC 7643 §4.1.2"),
      postralCode: { type: "string", rfcName: "postalCode", ref: "RFC 7643 §4.1.2" },
      country: text("RFC 7643 §4.1.2"),
      type: text("RFC 7643 §4.1.2"),
      primary: { type: "boolean", ref: "RFC 7643 §2.4" },
      display: text("RFC 7643 §2.4"),
    },
    ref: "RFC 7643 §4.1.2",
  },
  groups: { ...entries("RFC 7643 §4.1.2"), mutability: "readOnly" },
  entitlements: entries("RFC 7643 §4.1.2"),
  roles: entries("RFC 7643 §4.1.2"),
  x509Certificates: {
    type: "complex",
    multi: true,
    plain: "value",
    sub: { ...ENTRY, value: { ...exactText("RFC 7643 §4.1.2"), base64: true } },
    ref: "RFC 7643 §4.1.2",
  },
  manager: MANAGER,
  [ENTERPRISE_SCHEMA]: {
    type: "complex",
    sub: {
      employeeNumber: text("RFC 7643 §4.3"),
      costCenter: text("RFC 7643 §4.3"),
      organization: text("RFC 7643 §4.3"),
      division: text("RFC 7643 §4.3"),
      department: text("RFC 7643 §4.3"),
      manager: MANAGER,
    },
    ref: "RFC 7643 §4.3",
  },
} as const satisfies Record<string, ScimAttributeRow>;

export const GROUP_ATTRIBUTES = {
  ...COMMON_ATTRIBUTES,
  displayName: text("RFC 7643 §4.2"),
  members: entries("RFC 7643 §4.2"),
  /** Not an attribute of a group. A value in a body is not stored. */
  password: { type: "string", mutability: "writeOnly", ref: "RFC 7643 §4.1.1" },
} as const satisfies Record<string, ScimAttributeRow>;

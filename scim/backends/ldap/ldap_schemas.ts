// The LDAP schemas of OpenLDAP and Active Directory: attributes of users and groups, and their differences.

import type { LdapBackendSettings } from "../../../platform/config/config.ts";

/** One front-end attribute in the directory. */
export interface LdapRow {
  readonly frontEnd: string;
  readonly ldap: string;
  /** The directory stores only one value. The first one is written. */
  readonly single?: true;
  /** `ldap` stores only one value. This attribute stores the others. */
  readonly more?: string;
}

interface KindRow {
  /** Object classes of a new entry. */
  readonly classes: readonly string[];
  /** The object class in searches. */
  readonly find: string;
  /** An entry with this class is not managed, even if it has the other class. */
  readonly not?: string;
  /** The attribute in the RDN of a new entry. `null`: the attribute with the name. */
  readonly rdn: string | null;
  /** The first row is the name. */
  readonly rows: readonly LdapRow[];
  /** Attributes that the classes require. Without a value, the name of the entry is written, and is not read back as a value. */
  readonly required: readonly string[];
}

interface LdapSchema {
  readonly user: KindRow;
  readonly group: KindRow & { readonly member: string };
  /** `bit`: the second bit of userAccountControl disables an account. */
  readonly active: "bit" | "none";
  readonly password: "password_modify" | "unicode_pwd";
  /** The placeholder member of an empty group, if the class requires a member. It is never shown. */
  readonly emptyMember: string | null;
  /** Whether a member may be a DN without an entry. */
  readonly danglingMembers: boolean;
  /** The attribute with an entry's own DN, to find several entries with one search. */
  readonly dnAttribute: string;
  /** The attribute with the permanent ID of an entry (RFC 4530, [MS-ADA3]). Without a value, the DN is the ID. */
  readonly id: { readonly attribute: string; readonly form: "text" | "octets" };
}

/** RFC 2798, RFC 4519. inetOrgPerson has no attribute for a country, a nickname and others. */
const OPENLDAP = {
  user: {
    classes: ["inetOrgPerson"],
    find: "inetOrgPerson",
    rdn: null,
    rows: [
      { frontEnd: "userName", ldap: "uid" },
      { frontEnd: "familyName", ldap: "sn", single: true },
      { frontEnd: "formatted", ldap: "cn", single: true },
      { frontEnd: "givenName", ldap: "givenName", single: true },
      { frontEnd: "displayName", ldap: "displayName", single: true },
      { frontEnd: "mail", ldap: "mail" },
      { frontEnd: "phoneNumber", ldap: "telephoneNumber" },
      { frontEnd: "title", ldap: "title", single: true },
      { frontEnd: "streetAddress", ldap: "street", single: true },
      { frontEnd: "locality", ldap: "l", single: true },
      { frontEnd: "region", ldap: "st", single: true },
      { frontEnd: "postralCode", ldap: "postalCode", single: true },
      { frontEnd: "preferredLanguage", ldap: "preferredLanguage", single: true },
      { frontEnd: "userType", ldap: "employeeType", single: true },
      { frontEnd: "profileUrl", ldap: "labeledURI", single: true },
      { frontEnd: "employeeNumber", ldap: "employeeNumber", single: true },
      { frontEnd: "department", ldap: "departmentNumber", single: true },
      { frontEnd: "organization", ldap: "o", single: true },
    ],
    required: ["sn", "cn"],
  },
  group: {
    classes: ["groupOfNames"],
    find: "groupOfNames",
    rdn: null,
    rows: [{ frontEnd: "groupName", ldap: "cn" }],
    required: [],
    member: "member",
  },
  active: "none",
  password: "password_modify",
  emptyMember: "cn=countersign-empty",
  danglingMembers: true,
  dnAttribute: "entryDN",
  id: { attribute: "entryUUID", form: "text" },
} as const satisfies LdapSchema;

/** [MS-ADA1] to [MS-ADA3]. Most of its attributes store a single value. */
const ACTIVE_DIRECTORY = {
  user: {
    classes: ["top", "person", "organizationalPerson", "user"],
    find: "user",
    not: "computer",
    rdn: "cn",
    rows: [
      { frontEnd: "userName", ldap: "sAMAccountName" },
      { frontEnd: "familyName", ldap: "sn", single: true },
      { frontEnd: "givenName", ldap: "givenName", single: true },
      { frontEnd: "middleName", ldap: "middleName", single: true },
      { frontEnd: "honorificPrefix", ldap: "personalTitle", single: true },
      { frontEnd: "honirificSuffix", ldap: "generationQualifier", single: true },
      { frontEnd: "displayName", ldap: "displayName", single: true },
      { frontEnd: "mail", ldap: "mail", more: "otherMailbox" },
      { frontEnd: "phoneNumber", ldap: "telephoneNumber", more: "otherTelephone" },
      { frontEnd: "title", ldap: "title", single: true },
      { frontEnd: "streetAddress", ldap: "streetAddress", single: true },
      { frontEnd: "locality", ldap: "l", single: true },
      { frontEnd: "region", ldap: "st", single: true },
      { frontEnd: "postralCode", ldap: "postalCode", single: true },
      { frontEnd: "country", ldap: "co", single: true },
      { frontEnd: "preferredLanguage", ldap: "preferredLanguage", single: true },
      { frontEnd: "userType", ldap: "employeeType", single: true },
      { frontEnd: "profileUrl", ldap: "wWWHomePage", single: true },
      { frontEnd: "employeeNumber", ldap: "employeeNumber", single: true },
      { frontEnd: "department", ldap: "department", single: true },
      { frontEnd: "division", ldap: "division", single: true },
      { frontEnd: "organization", ldap: "company", single: true },
    ],
    required: [],
  },
  group: {
    classes: ["top", "group"],
    find: "group",
    rdn: "cn",
    rows: [{ frontEnd: "groupName", ldap: "sAMAccountName" }],
    required: [],
    member: "member",
  },
  active: "bit",
  password: "unicode_pwd",
  emptyMember: null,
  danglingMembers: false,
  dnAttribute: "distinguishedName",
  id: { attribute: "objectGUID", form: "octets" },
} as const satisfies LdapSchema;

const LDAP_SCHEMAS = {
  openldap: OPENLDAP,
  active_directory: ACTIVE_DIRECTORY,
} as const satisfies Record<LdapBackendSettings["schema"], LdapSchema>;

/** The attributes of users in each schema, by their front-end names. */
export function ldapAttributeNames(): Record<LdapBackendSettings["schema"], Record<string, string>> {
  const namesOf = (rows: readonly LdapRow[]) =>
    Object.fromEntries(rows.map(({ frontEnd, ldap }) => [frontEnd, ldap]));
  return {
    openldap: namesOf(OPENLDAP.user.rows),
    active_directory: namesOf(ACTIVE_DIRECTORY.user.rows),
  };
}

/** A kind of resource in one directory, with the attributes that the settings name. */
export interface LdapKind {
  readonly baseDn: string;
  readonly classes: readonly string[];
  readonly find: string;
  readonly not: string | null;
  readonly rdn: string;
  /** The attribute with the name. */
  readonly naming: string;
  /** All attributes except the name. */
  readonly rows: readonly LdapRow[];
  /** In lower case. */
  readonly required: readonly string[];
  /** Read-only LDAP attributes in lower case. Absent: none. */
  readonly readOnly?: ReadonlySet<string>;
}

export interface LdapLayout {
  readonly schema: LdapSchema;
  readonly user: LdapKind;
  readonly group: LdapKind & { readonly member: string };
  /** The attribute that states whether a user is active, as TRUE or FALSE. `null` without one. */
  readonly activeText: string | null;
}

/** The tables of the schema with the changes of the settings. An attribute set to "" is not stored. */
export function createLdapLayout(
  settings: Pick<LdapBackendSettings, "schema" | "attributes" | "usersDn" | "groupsDn">,
): LdapLayout {
  const schema: LdapSchema = LDAP_SCHEMAS[settings.schema];
  const given = new Map(Object.entries(settings.attributes));
  const groupNames = new Set([...schema.group.rows.map((row) => row.frontEnd), "member"]);
  const user = new Map([...given].filter(([name]) => !groupNames.has(name) && name !== "active"));
  const group = new Map([...given].filter(([name]) => groupNames.has(name) && name !== "member"));
  return {
    schema,
    user: kindOf(schema.user, { baseDn: settings.usersDn, given: user }),
    group: {
      ...kindOf(schema.group, { baseDn: settings.groupsDn, given: group }),
      member: given.get("member") ?? schema.group.member,
    },
    activeText: given.get("active") || null,
  };
}

function kindOf(row: KindRow, { baseDn, given }: { baseDn: string; given: Map<string, string> }): LdapKind {
  const rows: LdapRow[] = row.rows.map((one) => {
    const ldap = given.get(one.frontEnd);
    return ldap === undefined || ldap === one.ldap ? one : { frontEnd: one.frontEnd, ldap };
  });
  const known = new Set(rows.map((one) => one.frontEnd));
  for (const [frontEnd, ldap] of given) if (!known.has(frontEnd)) rows.push({ frontEnd, ldap });
  const [naming, ...others] = rows;
  // With an empty attribute, no user could be found. So the attribute of the schema is used.
  const name = naming?.ldap || row.rows[0]?.ldap || "cn";
  return {
    baseDn,
    classes: row.classes,
    find: row.find,
    not: row.not ?? null,
    rdn: row.rdn ?? name,
    naming: name,
    rows: others.filter((one) => one.ldap !== ""),
    required: row.required.map((one) => one.toLowerCase()),
  };
}

// What the entries of a directory look like: for each kind of server two tables of attributes, and how it differs from the others.

import type { LdapBackendSettings } from "../../../platform/config/config.ts";

/** One front-end attribute in the directory. */
export interface LdapRow {
  readonly frontEnd: string;
  readonly ldap: string;
  /** The directory keeps one value only; the first is written. */
  readonly single?: true;
  /** `ldap` keeps one value only; the others go here. */
  readonly more?: string;
}

interface KindRow {
  /** Object classes of a new entry. */
  readonly classes: readonly string[];
  /** The class that entries are looked for by. */
  readonly find: string;
  /** What has this class is none of ours, though it has the other. */
  readonly not?: string;
  /** The attribute that a new entry is named by; `null`: the one that holds the name. */
  readonly rdn: string | null;
  /** The first row holds the name. */
  readonly rows: readonly LdapRow[];
  /** Attributes that the classes demand: without a value the entry's own name stands there, and is not read back as a value. */
  readonly demands: readonly string[];
}

export interface LdapSchema {
  readonly user: KindRow;
  readonly group: KindRow & { readonly member: string };
  /** `bit`: the second bit of userAccountControl says that an account is disabled. */
  readonly active: "bit" | "none";
  readonly password: "password_modify" | "unicode_pwd";
  /** A member for groups without one, where the class demands one; never shown. */
  readonly emptyMember: string | null;
  /** Whether a member may be a DN without an entry. */
  readonly danglingMembers: boolean;
  /** The attribute that holds an entry's own DN, to find several by name at once. */
  readonly dnAttribute: string;
  /** What names an entry for good; `null`: its DN. */
  readonly idAttribute: string | null;
}

/** RFC 2798, RFC 4519. A country, a nick name and much else have no place in inetOrgPerson. */
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
    demands: ["sn", "cn"],
  },
  group: {
    classes: ["groupOfNames"],
    find: "groupOfNames",
    rdn: null,
    rows: [{ frontEnd: "groupName", ldap: "cn" }],
    demands: [],
    member: "member",
  },
  active: "none",
  password: "password_modify",
  emptyMember: "cn=countersign-empty",
  danglingMembers: true,
  dnAttribute: "entryDN",
  idAttribute: null,
} as const satisfies LdapSchema;

/** [MS-ADA1] to [MS-ADA3]; most of its attributes keep a single value. */
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
    demands: [],
  },
  group: {
    classes: ["top", "group"],
    find: "group",
    rdn: "cn",
    rows: [{ frontEnd: "groupName", ldap: "sAMAccountName" }],
    demands: [],
    member: "member",
  },
  active: "bit",
  password: "unicode_pwd",
  emptyMember: null,
  danglingMembers: false,
  dnAttribute: "distinguishedName",
  idAttribute: "objectGUID",
} as const satisfies LdapSchema;

export const LDAP_SCHEMAS = {
  openldap: OPENLDAP,
  active_directory: ACTIVE_DIRECTORY,
} as const satisfies Record<LdapBackendSettings["schema"], LdapSchema>;

/** A kind of resource in one directory, with the settings' own attributes in place. */
export interface LdapKind {
  readonly baseDn: string;
  readonly classes: readonly string[];
  readonly find: string;
  readonly not: string | null;
  readonly rdn: string;
  /** The attribute that holds the name. */
  readonly naming: string;
  /** Everything but the name. */
  readonly rows: readonly LdapRow[];
  /** In lower case. */
  readonly demands: readonly string[];
  /** LDAP attributes that the directory keeps for itself, in lower case; absent: none. */
  readonly kept?: ReadonlySet<string>;
}

export interface LdapLayout {
  readonly schema: LdapSchema;
  readonly user: LdapKind;
  readonly group: LdapKind & { readonly member: string };
  /** The attribute that says whether a user is active, as TRUE or FALSE; `null` without one. */
  readonly activeText: string | null;
}

/** The schema's tables with what the settings put in their place. An attribute set to "" is not kept. */
export function layoutOf(
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
  // "" for the name would leave nothing to find anybody by: the schema's own stays.
  const name = naming?.ldap || row.rows[0]?.ldap || "cn";
  return {
    baseDn,
    classes: row.classes,
    find: row.find,
    not: row.not ?? null,
    rdn: row.rdn ?? name,
    naming: name,
    rows: others.filter((one) => one.ldap !== ""),
    demands: row.demands.map((one) => one.toLowerCase()),
  };
}

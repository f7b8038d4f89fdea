// The part of Active Directory's schema that makes a slapd resemble it, with the identifiers of [MS-ADA1] to [MS-ADSC].

const TEXT = "1.3.6.1.4.1.1466.115.121.1.15";
const OCTETS = "1.3.6.1.4.1.1466.115.121.1.40";
const INTEGER = "1.3.6.1.4.1.1466.115.121.1.27";
const MATCH: Readonly<Record<string, string>> = {
  [TEXT]: "EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch",
  [OCTETS]: "EQUALITY octetStringMatch",
  [INTEGER]: "EQUALITY integerMatch",
};

/**
 * Name, object identifier (another attribute in OpenLDAP has middleName's real one), syntax, and whether it is
 * single-valued.
 */
const ATTRIBUTES: readonly (readonly [string, string, string, boolean])[] = [
  ["sAMAccountName", "1.2.840.113556.1.4.221", TEXT, true],
  ["userPrincipalName", "1.2.840.113556.1.4.656", TEXT, true],
  ["userAccountControl", "1.2.840.113556.1.4.8", INTEGER, true],
  ["unicodePwd", "1.2.840.113556.1.4.90", OCTETS, true],
  ["objectGUID", "1.2.840.113556.1.4.2", OCTETS, true],
  ["middleName", "1.2.840.113556.1.4.99934", TEXT, true],
  ["otherTelephone", "1.2.840.113556.1.2.18", TEXT, false],
  ["department", "1.2.840.113556.1.2.141", TEXT, true],
  ["division", "1.2.840.113556.1.4.261", TEXT, true],
  ["company", "1.2.840.113556.1.2.146", TEXT, true],
  ["wWWHomePage", "1.2.840.113556.1.2.464", TEXT, true],
];

const USER_MAY = [
  ...ATTRIBUTES.map(([name]) => name),
  ...["sn", "givenName", "displayName", "mail", "employeeNumber", "employeeType", "preferredLanguage", "co"],
  ...["personalTitle", "generationQualifier", "otherMailbox", "street", "l", "st", "postalCode", "title"],
];

/** Lines of slapd.conf(5). */
export const ACTIVE_DIRECTORY_SCHEMA: string = [
  ...ATTRIBUTES.map(([name, oid, syntax, single]) =>
    `attributetype ( ${oid} NAME '${name}' ${MATCH[syntax]} SYNTAX ${syntax}${
      single ? " SINGLE-VALUE" : ""
    } )`
  ),
  `objectclass ( 1.2.840.113556.1.5.9 NAME 'user' SUP top AUXILIARY MAY ( ${USER_MAY.join(" $ ")} ) )`,
  "objectclass ( 1.2.840.113556.1.3.30 NAME 'computer' SUP top AUXILIARY )",
  "objectclass ( 1.2.840.113556.1.5.8 NAME 'group' SUP top STRUCTURAL MUST ( cn ) MAY ( sAMAccountName $ member $ objectGUID ) )",
].join("\n");

// The value types of settings of directories and their connectors: names, SCIM attributes, LDAP servers and names.

import { parseSocketAddress, socketAddressText } from "../addresses.ts";
import { meaning } from "../setting_problems.ts";
import { isLine, textType, uniqueList, type ValueType } from "./value_types.ts";

const MAX_CERTIFICATE_CHARACTERS = 64 * 1024;
/** Of a setting of its own: its record in the store has at most 64 KiB. */
const MAX_OWN_CERTIFICATE_CHARACTERS = 48 * 1024;

/** Whether a text is the content of a PEM file, not its path. */
export const isCertificatePem = (text: string) => text.startsWith("-----BEGIN CERTIFICATE-----");

const certificatesOf = (max: number): ValueType<string> => ({
  ...textType(meaning("means_certificates"), (text) => {
    const isPem = isCertificatePem(text) && text.length <= max;
    return isPem || isLine(text, 0, 1024) ? text : null;
  }),
  control: { kind: "block", max },
});

/** Certificates: the path of a PEM file, or its content. Empty: not set. */
export const certificates = certificatesOf(MAX_CERTIFICATE_CHARACTERS);
export const ownCertificates = certificatesOf(MAX_OWN_CERTIFICATE_CHARACTERS);

/** The store accepts values of 64 KiB, and a text of other alphabets takes two octets per character. */
const MAX_EXTENSIONS_CHARACTERS = 24_000;

/** Whether a text is the JSON of extensions, not the path of its file. */
export const isExtensionsJson = (text: string) => /^\s*[[{]/.test(text);

/** Schema extensions: the path of a JSON file, or its content. Empty: none. */
export const extensions = textType(
  meaning("means_extensions", { max: MAX_EXTENSIONS_CHARACTERS }),
  (text) => {
    const isJson = isExtensionsJson(text) && text.length <= MAX_EXTENSIONS_CHARACTERS;
    return isJson || (isLine(text, 0, 1024) && !isExtensionsJson(text)) ? text : null;
  },
);

const LDAP_PORTS: Readonly<Record<string, number>> = { ldap: 389, ldaps: 636 };

/** An LDAP server; the default port is that of the scheme. Empty: not set. */
export const ldapUrl = textType(meaning("means_ldap_url"), (text) => {
  if (text === "") return text;
  const [, scheme = "", rest = ""] = /^(ldaps?):\/\/([^/]*)\/?$/i.exec(text) ?? [];
  const address = parseSocketAddress(rest) ??
    parseSocketAddress(`${rest}:${LDAP_PORTS[scheme.toLowerCase()] ?? ""}`);
  return address === null || address.port === 0
    ? null
    : `${scheme.toLowerCase()}://${socketAddressText(address)}`;
});

/** A distinguished name (RFC 4514), unchecked beyond its form. Empty: not set. */
export const dn = textType(
  meaning("means_dn"),
  (text) => text === "" || (isLine(text, 3, 1024) && /^[^=,]+=/.test(text)) ? text : null,
);

/** Names of targets and backends, which are used in paths and in lists with commas. */
export const NAME_MEANS = meaning("means_name");

export function isPlainName(name: string): boolean {
  return /^[A-Za-z0-9._-]{1,64}$/.test(name) && !/^\.+$/.test(name);
}

export const plainNames: ValueType<readonly string[]> = uniqueList(
  meaning("means_names"),
  isPlainName,
  { min: 1 },
);

/** `a`, `a[]`, `a.b` or `a[].b`, optionally after the URN of a schema and a colon. */
export function isScimPath(path: string): boolean {
  const cut = path.toLowerCase().startsWith("urn:") ? path.lastIndexOf(":") : -1;
  if (cut >= 0 && !/^urn:[A-Za-z0-9._:-]{1,200}$/i.test(path.slice(0, cut))) return false;
  return /^[A-Za-z][A-Za-z0-9_-]{0,63}(\[\])?(\.\$?[A-Za-z][A-Za-z0-9_-]{0,63})?$/.test(path.slice(cut + 1));
}

/** Attributes that every write contains, or that the server creates. */
const NEVER_READ_ONLY = /^(userName|id|externalId|active|password|groups|meta|schemas)(\W|$)/i;

function canBeReadOnly(path: string): boolean {
  return isScimPath(path) && !NEVER_READ_ONLY.test(path.slice(path.lastIndexOf(":") + 1));
}

/** SCIM attributes of users that only the backend writes. */
export const readOnlyAttributes: ValueType<readonly string[]> = uniqueList(
  meaning("means_attribute_lists"),
  canBeReadOnly,
);

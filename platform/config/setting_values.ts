// The values of settings: reads a TOML value by its row, and says what the row allows. Values that are more than a text or a number have a
// format, such as `listen`.

import {
  canonicalIp,
  canonicalRange,
  canonicalUrl,
  isHostPattern,
  parseSocketAddress,
  type SocketAddress,
  socketAddressText,
} from "../addresses.ts";
import { canonicalFingerprint, canonicalSan } from "../certificate_names.ts";
import { isWithinBounds } from "../fields.ts";
import {
  type FormatName,
  type FormatValue,
  type ListFormatName,
  MAX_CERTIFICATE_CHARACTERS,
  MAX_OWN_CERTIFICATE_CHARACTERS,
  type SettingRow,
  type TextFormatName,
} from "./setting_rows.ts";
import { type Mailbox, parseMailbox } from "../mail/mail_address.ts";
import { parseUserFilter } from "../user_filter.ts";
import { type Meaning, meaning, type ProblemValues } from "../setting_problems.ts";
import { isAppendSeparator, isDomainOrRealm, isListedUserName } from "../../radius/protocol/login_input.ts";
import { isReplySource } from "../../radius/protocol/relayed_attributes.ts";

/** The store accepts values of 64 KiB, and a text of other alphabets takes two octets per character. */
const MAX_EXTENSIONS_CHARACTERS = 24_000;
const MAX_DAY = 365;

/** Whether a text is the content of a PEM file, not its path. */
export const isCertificatePem = (text: string) => text.startsWith("-----BEGIN CERTIFICATE-----");

/** Whether a text is the JSON of extensions, not the path of its file. */
export const isExtensionsJson = (text: string) => /^\s*[[{]/.test(text);

export const NAME_MEANS = meaning("means_name");

/** Whether a text can be the name of a target or a backend, which is used in paths and in lists with commas. */
export function isPlainName(name: string): boolean {
  return /^[A-Za-z0-9._-]{1,64}$/.test(name) && !/^\.+$/.test(name);
}

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

const isLine = (raw: unknown, min: number, max: number): raw is string =>
  typeof raw === "string" && raw.length >= min && isWithinBounds({ type: "text", max, default: "" }, raw);

const isHost = (text: string): boolean =>
  /^[A-Za-z0-9.:-]{1,253}$/.test(text) &&
  (URL.parse(`smtp://${text.includes(":") ? `[${text}]` : text}/`)?.hostname ?? "") !== "";

const isCertificates = (text: string, max: number): boolean =>
  (isCertificatePem(text) && text.length <= max) || isLine(text, 0, 1024);

function isExtensions(text: string): boolean {
  return isExtensionsJson(text) ? text.length <= MAX_EXTENSIONS_CHARACTERS : isLine(text, 0, 1024);
}

/** Where an operator of another service can reach this one. */
function isContact(text: string): boolean {
  const isMail = /^mailto:[^\s@<>"]{1,64}@[A-Za-z0-9.-]{1,253}$/.test(text);
  return isMail || (/^https:\/\/[\x21-\x7e]{1,1000}$/.test(text) && URL.canParse(text));
}

const LDAP_PORTS: Readonly<Record<string, number>> = { ldap: 389, ldaps: 636 };

/** The default port is that of the scheme. */
function parseLdapUrl(text: string): string | null {
  const [, scheme = "", rest = ""] = /^(ldaps?):\/\/([^/]*)\/?$/i.exec(text) ?? [];
  const address = parseSocketAddress(rest) ??
    parseSocketAddress(`${rest}:${LDAP_PORTS[scheme.toLowerCase()] ?? ""}`);
  return address === null || address.port === 0
    ? null
    : `${scheme.toLowerCase()}://${socketAddressText(address)}`;
}

/** An IP address and a port. */
function parsePeer(text: string): SocketAddress | null {
  const parsed = parseSocketAddress(text);
  return parsed === null || parsed.port === 0 || canonicalIp(parsed.hostname) === null ? null : parsed;
}

function parseOrigin(text: string): string | null {
  const canonical = canonicalUrl(text);
  return canonical === null || URL.parse(canonical)?.origin !== canonical ? null : canonical;
}

interface TextFormat<T> {
  readonly means: Meaning;
  /** `null`: it is not allowed. */
  parse(text: string): T | null;
}

const accepts = (fits: (text: string) => boolean) => (text: string) => fits(text) ? text : null;
/** "": not set. */
const orEmpty = <T>(parse: (text: string) => T | null) => (text: string): T | "" | null =>
  text === "" ? "" : parse(text);
const textFormat = <T>(
  code: Meaning["code"],
  parse: (text: string) => T | null,
  values: ProblemValues = {},
): TextFormat<T> => ({ means: meaning(code, values), parse });

const certificatesOf = (max: number) =>
  textFormat("means_certificates", accepts((text) => isCertificates(text, max)));

const TEXT_FORMATS: { readonly [N in TextFormatName]: TextFormat<FormatValue<N>> } = {
  /** A PEM file: its path, or its content. "": not set. */
  certificates: certificatesOf(MAX_CERTIFICATE_CHARACTERS),
  own_certificates: certificatesOf(MAX_OWN_CERTIFICATE_CHARACTERS),
  contact: textFormat("means_contact", orEmpty(accepts(isContact))),
  /** A distinguished name (RFC 4514), unchecked beyond its form. */
  dn: textFormat("means_dn", orEmpty(accepts((text) => isLine(text, 3, 1024) && /^[^=,]+=/.test(text)))),
  /** Schema extensions: the path of a JSON file, or its content. "": none. */
  extensions: textFormat("means_extensions", accepts(isExtensions), {
    max: MAX_EXTENSIONS_CHARACTERS,
  }),
  fingerprint: textFormat("means_fingerprint", orEmpty(canonicalFingerprint)),
  host: textFormat("means_host", orEmpty((text) => isHost(text) ? text.toLowerCase() : null)),
  ip: textFormat("means_ip", orEmpty(canonicalIp)),
  /** To listen on; port 0 lets the host choose. */
  listen: textFormat("means_listen", parseSocketAddress),
  mailbox: textFormat<Mailbox | "">("means_mailbox", orEmpty(parseMailbox)),
  origin: textFormat("means_origin", parseOrigin),
  san: textFormat("means_san", orEmpty(canonicalSan)),
  separator: textFormat("means_separator", accepts(isAppendSeparator)),
  /** A slash at the end is removed. */
  url: textFormat("means_url", orEmpty(canonicalUrl)),
  user_filter: textFormat("means_user_filter", orEmpty(accepts((text) => parseUserFilter(text) !== null))),
  /** A user name for HTTP Basic (RFC 7617 §2: no colon). */
  user_id: textFormat("means_user_id", accepts((text) => isLine(text, 1, 128) && !text.includes(":"))),
};

interface ListFormat<T> {
  readonly means: Meaning;
  readonly minItems?: number;
  readonly isUnique?: true;
  /** One entry; `null`: it is not allowed. */
  parse(entry: string, at: number, all: readonly unknown[]): T | null;
}

const listFormat = <T>(
  code: Meaning["code"],
  parse: ListFormat<T>["parse"],
  more: Partial<Pick<ListFormat<T>, "minItems" | "isUnique">> = {},
): ListFormat<T> => ({ means: meaning(code), parse, ...more });

const LIST_FORMATS: { readonly [N in ListFormatName]: ListFormat<FormatValue<N>[number]> } = {
  attribute_lists: listFormat("means_attribute_lists", accepts(canBeReadOnly), { isUnique: true }),
  country_codes: listFormat("means_country_codes", accepts((entry) => /^[0-9]{1,3}$/.test(entry))),
  /** Days after an event, ascending. */
  day_numbers: listFormat(
    "means_day_numbers",
    (entry, at, all) =>
      /^[0-9]{1,3}$/.test(entry) && Number(entry) > Number(all[at - 1] ?? 0) && Number(entry) <= MAX_DAY
        ? String(Number(entry))
        : null,
  ),
  domains: listFormat("means_domains", accepts(isDomainOrRealm)),
  /** Patterns of host names, in lower case. */
  host_patterns: listFormat(
    "means_host_patterns",
    (entry) => isHostPattern(entry.toLowerCase()) ? entry.toLowerCase() : null,
  ),
  /** Servers in order of preference. */
  ldap_urls: listFormat("means_ldap_urls", parseLdapUrl, { isUnique: true }),
  listens: listFormat("means_listens", parseSocketAddress, { minItems: 1 }),
  optional_listens: listFormat("means_optional_listens", parseSocketAddress),
  names: listFormat("means_names", accepts(isPlainName), { minItems: 1, isUnique: true }),
  /** Servers in order of preference, each once. */
  peers: listFormat("means_peers", (entry, at, all) => all.indexOf(entry) < at ? null : parsePeer(entry)),
  /** Addresses of clients: host bits are cleared, a range of one address becomes that address. */
  ranges: listFormat("means_ranges", canonicalRange),
  realms: listFormat("means_realms", accepts(isDomainOrRealm)),
  reply_names: listFormat("means_reply_names", (entry, _at, all) => isReplySource(entry, all) ? entry : null),
  /** Texts that another system defines, such as names of groups. */
  texts: listFormat("means_texts", accepts((entry) => isLine(entry, 1, 256))),
  users: listFormat("means_users", accepts(isListedUserName)),
};

const MS_OF = { ms: 1, s: 1000, min: 60_000, h: 3_600_000, days: 1 } as const;

/** The value of a setting; `undefined`: `raw` is not allowed. */
export function readSetting(row: SettingRow, raw: unknown): unknown {
  if (row.format !== undefined) return readFormat({ ...row, format: row.format }, raw) ?? undefined;
  if (!isWithinBounds(row, raw)) return undefined;
  if (row.type === "number") return Number(raw) * (row.unit === undefined ? 1 : MS_OF[row.unit]);
  return row.type === "choices" ? row.of.filter((one) => (raw as readonly unknown[]).includes(one)) : raw;
}

function readFormat(row: SettingRow & { readonly format: FormatName }, raw: unknown): unknown {
  const { format: name } = row;
  if (isTextFormat(name)) return typeof raw === "string" ? TEXT_FORMATS[name].parse(raw) : null;
  const format: ListFormat<unknown> = LIST_FORMATS[name];
  const entries = toEntries(name, raw);
  if (entries === null || entries.length < (format.minItems ?? 0)) return null;
  if (row.type === "list" && entries.length > row.maxItems) return null;
  const values: unknown[] = [];
  for (const [at, entry] of entries.entries()) {
    const value = typeof entry === "string" ? format.parse(entry, at, entries) : null;
    if (value === null) return null;
    values.push(value);
  }
  return format.isUnique && new Set(values).size < values.length ? null : values;
}

function isTextFormat(name: FormatName): name is TextFormatName {
  return name in TEXT_FORMATS;
}

/** The file can have one address or one name without a list, and numbers of days. A form has only texts. */
function toEntries(name: ListFormatName, raw: unknown): readonly unknown[] | null {
  const isSingle = name.endsWith("listens") || name === "ldap_urls" || name === "reply_names";
  if (isSingle && typeof raw === "string") return [raw];
  if (name === "peers" && typeof raw === "string") return raw === "" ? [] : [raw];
  if (!Array.isArray(raw)) return null;
  return name === "day_numbers" ? raw.map((one) => typeof one === "number" ? String(one) : one) : raw;
}

/** The default as in the file. A secret has none. */
export function defaultOf(row: SettingRow): string | number | boolean | readonly string[] {
  return row.type === "secret" ? "" : row.default;
}

const NUMBER_MEANS = {
  ms: "means_milliseconds",
  s: "means_seconds",
  min: "means_minutes",
  h: "means_hours",
  days: "means_integer",
} as const;

/** What a setting allows. */
export function meansOf(row: SettingRow): Meaning {
  if (row.format !== undefined) {
    return isTextFormat(row.format) ? TEXT_FORMATS[row.format].means : LIST_FORMATS[row.format].means;
  }
  switch (row.type) {
    case "text":
    case "secret": {
      const { type, max, min = 0 } = row;
      return min > 0 ? meaning(`means_${type}_from`, { min, max }) : meaning(`means_${type}`, { max });
    }
    case "number":
      return meaning(row.unit === undefined ? "means_integer" : NUMBER_MEANS[row.unit], {
        min: row.min,
        max: row.max,
      });
    case "flag":
      return meaning("means_boolean");
    case "choice":
    case "choices":
      return meaning(`means_${row.type}`, { choices: row.of });
    case "list":
      return meaning("means_texts");
  }
}

/** How a form shows and reads a value. */
export interface SettingControl {
  /** `block`: a text of several lines. */
  readonly kind:
    | "text"
    | "block"
    | "secret"
    | "switch"
    | "number"
    | "choice"
    | "choices"
    | "list"
    | "attributes";
  /** Bounds of a number, or of the characters of a text. */
  readonly min?: number;
  readonly max?: number;
  /** The unit of a number, as in the settings file. */
  readonly unit?: "ms" | "s" | "min" | "h" | "days";
  readonly choices?: readonly string[];
  readonly names?: SettingRow["names"];
}

export function controlOf(row: SettingRow): SettingControl {
  const names = row.names === undefined ? {} : { names: row.names };
  switch (row.type) {
    case "text":
      if (row.format === undefined) return { kind: "text", min: row.min ?? 0, max: row.max, ...names };
      return row.format.endsWith("certificates") ? { kind: "block", max: row.max } : { kind: "text" };
    case "secret":
      return { kind: "secret", min: row.min ?? 0, max: row.max };
    case "flag":
      return { kind: "switch" };
    case "number":
      return {
        ...{ kind: "number", min: row.min, max: row.max },
        ...(row.unit === undefined ? {} : { unit: row.unit }),
      };
    case "choice":
    case "choices":
      return { kind: row.type, choices: row.of };
    case "list":
      return { kind: "list", max: row.maxItems };
  }
}

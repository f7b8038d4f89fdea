// The kinds of value that a setting can have: each parses what TOML gave into what the program uses, and says in
// words what it accepts.

import { type SocketAddress, socketAddressText } from "../socket_address.ts";
import { isAppendSeparator } from "../../radius/protocol/password.ts";
import { isDomainOrRealm } from "../../radius/protocol/user_name.ts";
import { canonicalIp, canonicalRange, canonicalUrl, parseSocketAddress } from "./addresses.ts";

/** A parsed value, or what it should have been. */
export type Parsed<T> = { ok: true; value: T } | { ok: false; should: string };

/** One kind of value. `means` continues the words "must be". */
export interface Kind<T> {
  readonly means: string;
  /** The value must never be shown. */
  readonly secret: boolean;
  parse(raw: unknown): Parsed<T>;
}

function kind<T>(means: string, parse: (raw: unknown) => T | null, more?: Partial<Kind<T>>): Kind<T> {
  return {
    means,
    secret: false,
    parse(raw) {
      const value = parse(raw);
      return value === null ? { ok: false, should: means } : { ok: true, value };
    },
    ...more,
  };
}

// deno-lint-ignore no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

const isLine = (raw: unknown, min: number, max: number): raw is string =>
  typeof raw === "string" && raw.length >= min && raw.length <= max && !CONTROL.test(raw);

/** One line of text; `min` and `max` in characters. */
export function text({ min = 0, max = 256 } = {}): Kind<string> {
  const means = `a text of ${min > 0 ? `${min} to` : "at most"} ${max} characters on one line`;
  return kind(means, (raw) => isLine(raw, min, max) ? raw : null);
}

/** A secret, taken as it is; empty means that it is not set. */
export function secret({ min = 0 } = {}): Kind<string> {
  const means = min > 0 ? `a text of ${min} to 1024 characters` : "a text of at most 1024 characters";
  return kind(
    means,
    (raw) => typeof raw === "string" && raw.length <= 1024 && (raw === "" || raw.length >= min) ? raw : null,
    { secret: true },
  );
}

/** A name that HTTP Basic can carry (RFC 7617 §2: no colon). */
export const userId: Kind<string> = kind(
  "a text of 1 to 128 characters on one line, without a colon",
  (raw) => isLine(raw, 1, 128) && !raw.includes(":") ? raw : null,
);

export const boolean: Kind<boolean> = kind("true or false", (raw) => typeof raw === "boolean" ? raw : null);

interface Bounds {
  readonly min: number;
  readonly max: number;
}

export function integer({ min, max }: Bounds): Kind<number> {
  return scaled({ min, max, unit: "", factor: 1 });
}

function scaled({ min, max, unit, factor }: Bounds & { unit: string; factor: number }): Kind<number> {
  const means = `a whole number ${unit}from ${min} to ${max}`;
  return kind(
    means,
    (raw) =>
      typeof raw === "number" && Number.isInteger(raw) && raw >= min && raw <= max ? raw * factor : null,
  );
}

/** These four give milliseconds. */
export const milliseconds = (bounds: Bounds) => scaled({ ...bounds, unit: "of milliseconds ", factor: 1 });
export const seconds = (bounds: Bounds) => scaled({ ...bounds, unit: "of seconds ", factor: 1000 });
export const minutes = (bounds: Bounds) => scaled({ ...bounds, unit: "of minutes ", factor: 60_000 });
export const hours = (bounds: Bounds) => scaled({ ...bounds, unit: "of hours ", factor: 3_600_000 });

const quotedList = (words: readonly string[]): string => {
  const quoted = words.map((word) => `"${word}"`);
  return quoted.length < 2 ? quoted.join("") : `${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1)}`;
};

/** One of some words. */
export function choice<const T extends string>(of: readonly T[]): Kind<T> {
  return kind(quotedList(of), (raw) => of.find((word) => word === raw) ?? null);
}

/** Some of some words, each at most once, in the order of the contract. */
export function choices<const T extends string>(of: readonly T[]): Kind<readonly T[]> {
  return kind(`a list with any of ${quotedList(of)}, each at most once`, (raw) => {
    if (!Array.isArray(raw) || new Set(raw).size !== raw.length) return null;
    return raw.every((one) => of.some((word) => word === one))
      ? of.filter((word) => raw.includes(word))
      : null;
  });
}

/** A list whose every entry `parse` takes. */
function list<T>(means: string, parse: (entry: string) => T | null, maxEntries = 1000): Kind<readonly T[]> {
  return kind(means, (raw) => {
    if (!Array.isArray(raw) || raw.length > maxEntries) return null;
    const values: T[] = [];
    for (const entry of raw) {
      const value = typeof entry === "string" ? parse(entry) : null;
      if (value === null) return null;
      values.push(value);
    }
    return values;
  });
}

/** Texts that must match those of another system, such as names of groups. */
export const texts: Kind<readonly string[]> = list(
  'a list of texts of 1 to 256 characters, as in ["admins"]',
  (entry) => isLine(entry, 1, 256) ? entry : null,
  100,
);

export const domains: Kind<readonly string[]> = list(
  'a list of domains without backslash, @ and blanks, as in ["CORP"]',
  (entry) => isDomainOrRealm(entry) ? entry : null,
  100,
);

export const realms: Kind<readonly string[]> = list(
  'a list of realms without @, backslash and blanks, as in ["corp.example"]',
  (entry) => isDomainOrRealm(entry) ? entry : null,
  100,
);

export const separator: Kind<string> = kind(
  "one of the characters ! \" # $ % & ' ( ) * + , . / : ; < = > ? @ [ \\ ] ^ _ ` { | } ~",
  (raw) => typeof raw === "string" && isAppendSeparator(raw) ? raw : null,
);

export const countryCodes: Kind<readonly string[]> = list(
  'a list of country codes of 1 to 3 digits without +, as in ["1", "49"]',
  (entry) => /^[0-9]{1,3}$/.test(entry) ? entry : null,
);

const SOCKET = '"host:port" or "[IPv6]:port"';

/** To listen on; port 0 lets the host choose. */
export const listen: Kind<SocketAddress> = kind(
  `${SOCKET}, as in "127.0.0.1:8080"`,
  (raw) => typeof raw === "string" ? parseSocketAddress(raw) : null,
);

export const listens: Kind<readonly SocketAddress[]> = kind(
  `one ${SOCKET}, or a list of one or more, as in ["[::]:1812"]`,
  (raw) => {
    const parsed = list(SOCKET, parseSocketAddress, 64).parse(typeof raw === "string" ? [raw] : raw);
    return parsed.ok && parsed.value.length > 0 ? parsed.value : null;
  },
);

/** To send to: an IP address, because the sender of an answer is compared with it. Empty: not set. */
export const peer: Kind<SocketAddress | ""> = kind(
  '"IP:port" or "[IPv6]:port" with an IP address, as in "192.0.2.20:1812"',
  (raw) => {
    if (raw === "") return raw;
    const parsed = typeof raw === "string" ? parseSocketAddress(raw) : null;
    return parsed === null || parsed.port === 0 || canonicalIp(parsed.hostname) === null ? null : parsed;
  },
);

/** Whose requests are taken: host bits are cleared, a range of one address becomes that address. */
export const ranges: Kind<readonly string[]> = list(
  'a list of IP addresses and CIDR ranges, as in ["10.1.0.0/16", "192.0.2.7"]',
  canonicalRange,
);

/** Empty: not set. */
export const ip: Kind<string> = kind(
  "an IP address, or empty",
  (raw) => raw === "" ? raw : typeof raw === "string" ? canonicalIp(raw) : null,
);

/** Empty: not set. A slash at the end is dropped. */
export const url: Kind<string> = kind(
  "an http:// or https:// address without user, query and fragment, or empty",
  (raw) => raw === "" ? raw : typeof raw === "string" ? canonicalUrl(raw) : null,
);

/** The root of a site: scheme, host and port. */
export const origin: Kind<string> = kind(
  'an http:// or https:// address without a path, as in "https://login.example.com"',
  (raw) => {
    const canonical = typeof raw === "string" ? canonicalUrl(raw) : null;
    return canonical === null || URL.parse(canonical)?.origin !== canonical ? null : canonical;
  },
);

const LDAP_PORTS: Readonly<Record<string, number>> = { ldap: 389, ldaps: 636 };

/** An LDAP server; the port of the scheme where none is given. Empty: not set. */
export const ldapUrl: Kind<string> = kind(
  '"ldap://host:port" or "ldaps://host:port"',
  (raw) => {
    if (raw === "") return raw;
    const [, scheme = "", rest = ""] = typeof raw === "string"
      ? /^(ldaps?):\/\/([^/]*)\/?$/i.exec(raw) ?? []
      : [];
    const address = parseSocketAddress(rest) ??
      parseSocketAddress(`${rest}:${LDAP_PORTS[scheme.toLowerCase()] ?? ""}`);
    return address === null || address.port === 0
      ? null
      : `${scheme.toLowerCase()}://${socketAddressText(address)}`;
  },
);

/** A distinguished name (RFC 4514); what it names is the directory's to judge. Empty: not set. */
export const dn: Kind<string> = kind(
  'a distinguished name of at most 1024 characters, as in "ou=people,dc=example,dc=org"',
  (raw) => raw === "" || (isLine(raw, 3, 1024) && /^[^=,]+=/.test(raw)) ? raw : null,
);

/** Names of targets and backends: they stand in paths and in lists with commas. */
export const NAME_MEANS = "1 to 64 of the letters A to Z and a to z, digits, dot, _ and -, not dots alone";

export function isPlainName(name: string): boolean {
  return /^[A-Za-z0-9._-]{1,64}$/.test(name) && !/^\.+$/.test(name);
}

export const plainNames: Kind<readonly string[]> = kind(
  'a list of one or more names, each once, as in ["default"]',
  (raw) => {
    const parsed = list("", (entry) => isPlainName(entry) ? entry : null, 100).parse(raw);
    return parsed.ok && parsed.value.length > 0 && new Set(parsed.value).size === parsed.value.length
      ? parsed.value
      : null;
  },
);

/** `a`, `a[]`, `a.b` or `a[].b`, each perhaps behind a schema's URN and a colon. */
export function isScimPath(path: string): boolean {
  const cut = path.toLowerCase().startsWith("urn:") ? path.lastIndexOf(":") : -1;
  if (cut >= 0 && !/^urn:[A-Za-z0-9._:-]{1,200}$/i.test(path.slice(0, cut))) return false;
  return /^[A-Za-z][A-Za-z0-9_-]{0,63}(\[\])?(\.\$?[A-Za-z][A-Za-z0-9_-]{0,63})?$/.test(path.slice(cut + 1));
}

/** What every write brings: the name, what identifies, whether the user is active, and what the server makes. */
const NOBODYS = /^(userName|id|externalId|active|password|groups|meta|schemas)(\W|$)/i;

function canBeKept(path: string): boolean {
  return isScimPath(path) && !NOBODYS.test(path.slice(path.lastIndexOf(":") + 1));
}

/** SCIM attributes of users that a backend may keep for itself. */
export const keptAttributes: Kind<readonly string[]> = kind(
  'a list of SCIM attributes of users, each once, as in ["title", "emails[].value"]; not the name, active or password',
  (raw) => {
    const parsed = list("", (entry) => canBeKept(entry) ? entry : null, 100).parse(
      raw,
    );
    return parsed.ok && new Set(parsed.value).size === parsed.value.length ? parsed.value : null;
  },
);

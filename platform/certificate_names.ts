// The names in X.509 certificates of TLS clients (RFC 5280 §4.2.1.6), and the settings that select a certificate. Names are read from the DER
// octets: a text with all names in one line could be ambiguous, because a name may contain a comma.

import { canonicalIp } from "./addresses.ts";

export interface CertificateIdentity {
  /** `DNS:nas.example.org` in lower case, `IP:192.0.2.7`, `URI:…` and `email:…`. */
  readonly names: readonly string[];
  /** SHA-256, 64 hexadecimal digits in lower case. */
  readonly fingerprint: string;
}

const MAX_NAME_CHARACTERS = 253;

/** `*.` before a host name stands for one label. */
const DNS_NAME = /^(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*$/;

/**
 * The canonical form of a subjectAltName to expect: a host name, an IP address, or a text with one of the prefixes `URI:` and `email:`.
 *
 * @returns `null`: it is none of these
 */
export function canonicalSan(text: string): string | null {
  if (text.length > MAX_NAME_CHARACTERS) return null;
  const [, kind = "", value = ""] = /^(DNS|IP|URI|email):(.*)$/i.exec(text) ?? [];
  switch (kind.toLowerCase()) {
    case "uri":
      return /^[\x21-\x7e]+$/.test(value) ? `URI:${value}` : null;
    case "email":
      return /^[\x21-\x7e]+@[\x21-\x7e]+$/.test(value) ? `email:${value}` : null;
    case "ip":
      return canonicalIp(value);
    case "dns":
      return dnsName(value);
    default:
      return canonicalIp(text) ?? dnsName(text);
  }
}

function dnsName(text: string): string | null {
  const name = text.toLowerCase();
  // Digits and points alone are a wrong IP address.
  return DNS_NAME.test(name) && !/^[0-9.]+$/.test(name) ? name : null;
}

/** 64 hexadecimal digits in lower case, also of the line that openssl prints; `null` for anything else. */
export function canonicalFingerprint(text: string): string | null {
  const digits = text.slice(text.lastIndexOf("=") + 1).trim().replaceAll(":", "").toLowerCase();
  return /^[0-9a-f]{64}$/.test(digits) ? digits : null;
}

/** Whether one of the names is the expected one, which is canonical. */
export function hasSubjectAltName(names: readonly string[], expected: string): boolean {
  if (expected.startsWith("URI:") || expected.startsWith("email:")) return names.includes(expected);
  if (canonicalIp(expected) !== null) return names.includes(`IP:${expected}`);
  if (!expected.startsWith("*.")) return names.includes(`DNS:${expected}`);
  const rest = expected.slice(1);
  return names.some((name) =>
    name === `DNS:${expected}` || (name.endsWith(rest) && /^DNS:[^.*]+$/.test(name.slice(0, -rest.length)))
  );
}

/** The first name of a certificate that selects it alone, as {@link canonicalSan}; "": there is none. A name with `*` would also select others. */
export function ownSan(names: readonly string[]): string {
  for (const name of names) {
    const san = name.includes("*") ? null : canonicalSan(name);
    if (san !== null) return san;
  }
  return "";
}

const SEQUENCE = 0x30;
const OCTET_STRING = 0x04;
const EXTENSIONS = 0xa3;
/** 2.5.29.17 with its type and length. */
const SUBJECT_ALT_NAME = [0x06, 0x03, 0x55, 0x1d, 0x11];
/** The kinds of GeneralName that are read, by their context-specific tag. */
const KINDS: ReadonlyMap<number, string> = new Map([[0x81, "email"], [0x82, "DNS"], [0x86, "URI"], [
  0x87,
  "IP",
]]);
const MAX_NAMES = 100;

/**
 * The subject alternative names of a certificate in DER. Kinds that no setting can select are left out.
 *
 * @returns empty also for octets that are no certificate. The TLS library has verified it before.
 */
export function subjectAltNames(der: Uint8Array): string[] {
  const certificate = elements(der)[0];
  const signed = elements(certificate?.value)[0];
  const extensions = elements(signed?.value).find(({ tag }) => tag === EXTENSIONS);
  const [list] = elements(extensions?.value);
  for (const { tag, value } of elements(list?.value)) {
    if (tag !== SEQUENCE || !SUBJECT_ALT_NAME.every((octet, at) => value[at] === octet)) continue;
    const content = elements(value).find((part) => part.tag === OCTET_STRING);
    const [names] = elements(content?.value);
    return elements(names?.value).slice(0, MAX_NAMES).flatMap(nameOf);
  }
  return [];
}

function nameOf({ tag, value }: Element): string[] {
  const kind = KINDS.get(tag);
  if (kind === undefined) return [];
  if (kind === "IP") {
    const text = ipText(value);
    return text === null ? [] : [`IP:${text}`];
  }
  // IA5String.
  if (value.some((octet) => octet < 0x21 || octet > 0x7e)) return [];
  const text = String.fromCharCode(...value);
  return [`${kind}:${kind === "DNS" ? text.toLowerCase() : text}`];
}

function ipText(value: Uint8Array): string | null {
  if (value.length === 4) return value.join(".");
  if (value.length !== 16) return null;
  const groups = Array.from({ length: 8 }, (_, i) => value.subarray(2 * i, 2 * i + 2).toHex());
  return canonicalIp(groups.join(":"));
}

interface Element {
  readonly tag: number;
  readonly value: Uint8Array;
}

/** The elements of DER octets, up to the first one that is not complete. Tags of one octet, and lengths below 2^24. */
function elements(octets: Uint8Array = new Uint8Array(0)): Element[] {
  const found: Element[] = [];
  for (let at = 0; at + 2 <= octets.length;) {
    const tag = octets[at] as number;
    const first = octets[at + 1] as number;
    const count = first < 0x80 ? 0 : first & 0x7f;
    let length = first < 0x80 ? first : 0;
    if (count > 3 || first === 0x80 || at + 2 + count > octets.length) break;
    for (let i = 0; i < count; i++) length = length * 256 + (octets[at + 2 + i] as number);
    const from = at + 2 + count;
    if (from + length > octets.length) break;
    found.push({ tag, value: octets.subarray(from, from + length) });
    at = from + length;
  }
  return found;
}

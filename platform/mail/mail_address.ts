// Mail addresses (RFC 5321 §4.1.2), strictly: what a mail server could read as something else is refused, such as quoted local parts, comments,
// lists, address literals and control characters. Also the address and the language of a user (RFC 7643 §4.1).

import type { MailLanguage } from "./mail_templates.ts";

/** RFC 5321 §4.5.3.1.3: a path has at most 256 octets, with its angle brackets. */
const MAX_ADDRESS_CHARACTERS = 254;
/** RFC 5321 §4.5.3.1.1. */
const MAX_LOCAL_CHARACTERS = 64;
/** RFC 1035 §2.3.4. */
const MAX_DOMAIN_CHARACTERS = 253;
const MAX_NAME_CHARACTERS = 64;

/** A Dot-string of RFC 5321 §4.1.2. */
const LOCAL_PART = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
const DOMAIN_LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** The letters of international domain names. The URL parser of the platform maps them to ASCII (UTS 46). */
const DOMAIN_TEXT = /^[\p{L}\p{M}\p{N}.-]{1,253}$/u;
/** What a name before the address must not contain: it could end the name, or begin another address. */
// deno-lint-ignore no-control-regex
const UNSAFE_IN_NAME = /[\u0000-\u001f\u007f-\u009f\u2028\u2029"\\<>@,;:()[\]]/;

/** The sender of a mail, with a name that mail programs show. */
export interface Mailbox {
  readonly name: string;
  readonly address: string;
}

/** The address with its domain in ASCII and lower case, or `null` if it is not valid. */
export function parseMailAddress(text: string): string | null {
  if (text.length > MAX_ADDRESS_CHARACTERS) return null;
  const at = text.lastIndexOf("@");
  const local = text.slice(0, Math.max(0, at));
  if (local.length > MAX_LOCAL_CHARACTERS || !LOCAL_PART.test(local)) return null;
  const domain = asciiDomain(text.slice(at + 1));
  if (domain === null) return null;
  const address = `${local}@${domain}`;
  return address.length <= MAX_ADDRESS_CHARACTERS ? address : null;
}

/** An address with an optional name, as in `Countersign <no-reply@example.com>`. `null` if it is not valid. */
export function parseMailbox(text: string): Mailbox | null {
  const [, name = "", address = ""] = /^([^<]{0,200})<([^<>]{1,254})>$/.exec(text) ?? ["", "", text];
  const parsed = parseMailAddress(address);
  const trimmed = name.trim();
  if (parsed === null || trimmed.length > MAX_NAME_CHARACTERS || UNSAFE_IN_NAME.test(trimmed)) return null;
  return { name: trimmed, address: parsed };
}

/** The domain of a parsed address. */
export function mailDomain(address: string): string {
  return address.slice(address.lastIndexOf("@") + 1);
}

function asciiDomain(text: string): string | null {
  if (!DOMAIN_TEXT.test(text)) return null;
  const ascii = URL.parse(`http://${text}/`)?.hostname ?? "";
  const labels = ascii.split(".");
  const isDomain = ascii.length <= MAX_DOMAIN_CHARACTERS && labels.every((label) => DOMAIN_LABEL.test(label));
  // A last label of digits is an IP address.
  return isDomain && !/^[0-9]+$/.test(labels.at(-1) ?? "") ? ascii : null;
}

/** The part of a user's content that is read. */
interface UserContent {
  readonly attributes: {
    readonly emails?: unknown;
    readonly preferredLanguage?: unknown;
    readonly locale?: unknown;
  };
}

export interface UserMailAddress {
  readonly address: string;
  /** The first of `preferredLanguage` and `locale` that is English or German; `null`: use the language of the settings. */
  readonly language: MailLanguage | null;
}

const MAX_LANGUAGE_CHARACTERS = 200;

/** Where mails to a user go: the primary address, else the first. `null` if the user has no valid address. */
export function userMailAddress({ attributes }: UserContent): UserMailAddress | null {
  const entries = Array.isArray(attributes.emails) ? attributes.emails : [];
  const chosen = entries.find((entry) => memberOf(entry, "primary") === true) ?? entries[0];
  const value = typeof chosen === "string" ? chosen : memberOf(chosen, "value");
  const address = typeof value === "string" ? parseMailAddress(value.trim()) : null;
  if (address === null) return null;
  return { address, language: languageOf(attributes.preferredLanguage) ?? languageOf(attributes.locale) };
}

/** `preferredLanguage` may be a list with weights (RFC 9110 §12.5.4): the first supported language counts. */
function languageOf(value: unknown): MailLanguage | null {
  if (typeof value !== "string") return null;
  for (const range of value.slice(0, MAX_LANGUAGE_CHARACTERS).split(",")) {
    const language = range.trim().slice(0, 2).toLowerCase();
    const isWhole = !/^[A-Za-z]/.test(range.trim().slice(2));
    if (isWhole && (language === "en" || language === "de")) return language;
  }
  return null;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}

// The mail address and the language of a user of the directory (RFC 7643 §4.1).

import type { MailLanguage } from "./mail_templates.ts";
import { parseMailAddress } from "./mail_address.ts";

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

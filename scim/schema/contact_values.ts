// Checks e-mail addresses and phone numbers in the forms of the console and in imports. The SCIM interface accepts any
// text.

import { plainTyped } from "../../platform/typed_text.ts";
import type { JsonObject, JsonValue } from "./resource.ts";

type ContactField = "emails" | "phoneNumbers";

/** A value that is not valid. */
interface ContactProblem {
  readonly field: ContactField;
  readonly value: string;
}

const MAX_EMAIL_CHARACTERS = 254;
/** The rule of HTML's `type=email`. */
const EMAIL =
  /^[\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]{1,64}@[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?(?:\.[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?)*$/u;
/** Digits with the usual separators, and an extension. National numbers are allowed. */
const PHONE =
  /^(?:tel:)?[([]?\+?[\d\s()[\].\-/\u2010-\u2015\u2212]{3,40}(?:\s*(?:x|ext\.?|;ext=)\s*\d{1,10})?$/i;
const MIN_PHONE_DIGITS = 3;
const MAX_PHONE_DIGITS = 25;

export function isEmail(text: string): boolean {
  return text.length <= MAX_EMAIL_CHARACTERS && EMAIL.test(text.trim());
}

export function isTelephoneNumber(text: string): boolean {
  const plain = plainTyped(text).trim();
  const digits = plain.replace(/\D/g, "").length;
  return PHONE.test(plain) && digits >= MIN_PHONE_DIGITS && digits <= MAX_PHONE_DIGITS;
}

export function isContactValue(field: ContactField, text: string): boolean {
  return field === "emails" ? isEmail(text) : isTelephoneNumber(text);
}

/**
 * The values of a user that are not e-mail addresses or phone numbers.
 *
 * @param before the stored attributes of the user. A value that is already stored is allowed.
 */
export function contactProblems(attributes: JsonObject, before: JsonObject = {}): ContactProblem[] {
  return (["emails", "phoneNumbers"] as const).flatMap((field) => {
    const known = new Set(valuesOf(before[field]));
    return valuesOf(attributes[field])
      .filter((value) => value.trim() !== "" && !known.has(value) && !isContactValue(field, value))
      .map((value) => ({ field, value }));
  });
}

/** One sentence for each problem. */
export function contactProblemText({ field, value }: ContactProblem): string {
  const shown = JSON.stringify(value.slice(0, 100));
  return field === "emails"
    ? `${shown} is not an e-mail address. Enter an address such as ada@example.com.`
    : `${shown} is not a phone number. Enter a number such as +49 151 12345678.`;
}

function valuesOf(list: JsonValue | undefined): string[] {
  const entries: readonly JsonValue[] = Array.isArray(list) ? list : list === undefined ? [] : [list];
  return entries.flatMap((entry) => {
    if (typeof entry === "string") return [entry];
    const value = typeof entry === "object" && entry !== null && "value" in entry ? entry.value : undefined;
    return typeof value === "string" ? [value] : [];
  });
}

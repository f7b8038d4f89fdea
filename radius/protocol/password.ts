// Reads what was typed: the password of a login, what append mode appends to it, an answer, and a code.

import { decodeText } from "./utf8.ts";

/** What append mode appends to a password. `auto`: the factor that is picked when nothing is appended. */
export type Appended = { kind: "code"; code: string } | { kind: "push" | "sms" | "call" | "auto" };

export interface Typed {
  /** The password itself, as octets: it may be in any encoding. */
  readonly password: Uint8Array;
  readonly appended: Appended | null;
}

/** The longest appended text: eight digits, each with a blank or a dash after it, and blanks around them. */
const MAX_APPENDED_OCTETS = 24;
const strict = new TextDecoder("utf-8", { fatal: true });

/** Whether a text can separate a password from an appended code: codes may contain dashes, and words and codes consist of letters and digits. */
export function isAppendSeparator(text: string): boolean {
  return /^[!-,./:-@[-`{-~]$/.test(text);
}

/**
 * Splits `password,123456` and `password,push|sms|call|phone|auto` at the last separator. If no first factor is checked, a code alone is
 * appended to an empty password. Anything else is all password.
 */
export function readAppended(
  typed: Uint8Array,
  { appendSeparator, firstFactor }: { readonly appendSeparator: string; readonly firstFactor: string },
): Typed {
  const at = typed.lastIndexOf(appendSeparator.charCodeAt(0));
  const appended = at < 0 ? null : appendedOf(typed.subarray(at + 1));
  if (appended !== null) return { password: typed.subarray(0, at), appended };
  const alone = firstFactor === "none" ? appendedOf(typed) : null;
  return alone?.kind === "code"
    ? { password: typed.subarray(0, 0), appended: alone }
    : { password: typed, appended: null };
}

const WORDS: ReadonlyMap<string, Exclude<Appended["kind"], "code">> = new Map([
  ["push", "push"],
  ["sms", "sms"],
  ["call", "call"],
  ["phone", "call"],
  ["auto", "auto"],
]);

function appendedOf(typed: Uint8Array): Appended | null {
  if (typed.length > MAX_APPENDED_OCTETS) return null;
  const text = decodeText(typed).trim().toLowerCase();
  const kind = WORDS.get(text);
  if (kind !== undefined) return { kind };
  const code = readCode(text);
  return /^[0-9]{6,8}$/.test(code) ? { kind: "code", code } : null;
}

/** A typed code without the blanks and dashes that phones show inside it; anything but a code stays as it is. */
export function readCode(text: string): string {
  const digits = text.replace(/[\s\u2010-\u2015\u2212-]/g, "");
  return /^[0-9]+$/.test(digits) ? digits : text;
}

/** An answer as text, trimmed. Octets that are no UTF-8 become U+FFFD and match nothing. */
export function readAnswer(typed: Uint8Array): string {
  return decodeText(typed).trim();
}

/**
 * Whether a revealed password is garbled: then the sender does not know the shared secret, or the gateway has another one. 16 random octets
 * are taken for text about once in 200,000 times: text is UTF-8 without control characters other than tab and line ends.
 */
export function looksGarbled(typed: Uint8Array): boolean {
  for (const octet of typed) {
    if ((octet < 0x20 && octet !== 0x09 && octet !== 0x0a && octet !== 0x0d) || octet === 0x7f) return true;
  }
  try {
    strict.decode(typed);
  } catch (_notUtf8) {
    return true;
  }
  return false;
}

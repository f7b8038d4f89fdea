// Reads what was typed: the password of a login, what append mode puts behind its last comma, and an answer.

import type { Appended } from "../facts/facts.ts";
import { decodeText } from "./text.ts";

export interface Typed {
  /** The password itself, as octets: it may be in any encoding. */
  readonly password: Uint8Array;
  readonly appended: Appended | null;
}

const COMMA = 0x2c;
const strict = new TextDecoder("utf-8", { fatal: true });

/** Splits `password,123456` and `password,push|sms|call` at the last comma; anything else is all password. */
export function readAppended(typed: Uint8Array): Typed {
  const comma = typed.lastIndexOf(COMMA);
  if (comma < 0 || typed.length - comma > 12) return { password: typed, appended: null };
  const word = decodeText(typed.subarray(comma + 1)).trim().toLowerCase();
  const appended = appendedOf(word);
  return appended === null
    ? { password: typed, appended: null }
    : { password: typed.subarray(0, comma), appended };
}

function appendedOf(word: string): Appended | null {
  if (word === "push" || word === "sms" || word === "call") return { kind: word };
  return /^[0-9]{6,8}$/.test(word) ? { kind: "code", code: word } : null;
}

/** An answer as text, trimmed. Octets that are no UTF-8 become U+FFFD and match nothing. */
export function readAnswer(typed: Uint8Array): string {
  return decodeText(typed).trim();
}

/** Whether a revealed password looks like noise: then the shared secret is probably another one. */
export function looksGarbled(typed: Uint8Array): boolean {
  try {
    strict.decode(typed);
  } catch (_notUtf8) {
    return true;
  }
  return false;
}

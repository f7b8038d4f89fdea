// Pairing phrases: what a phone shows and a person types at a login. Three words and five digits are 40.6 bits, more
// than the 40 that a binding code needs for ten minutes.

import { type Random, randomDigits } from "../../runtime.ts";
import { PHRASE_WORDS } from "./phrase_words.ts";

const WORDS = 3;
const DIGITS = 5;
const MAX_TYPED_CHARACTERS = 128;

/** A new phrase, e.g. `maple river stone 40718`. */
export function createPhrase(random: Random): string {
  const words = Array.from(random.bytes(WORDS), (octet) => PHRASE_WORDS[octet] ?? "");
  return [...words, randomDigits(random, DIGITS)].join(" ");
}

/** A phrase as it is compared: case, and whatever stands between the words, do not count. */
export function normalizePhrase(typed: string): string {
  const parts = typed.slice(0, MAX_TYPED_CHARACTERS).toLowerCase().match(/[a-z]+|[0-9]+/g);
  return (parts ?? []).join(" ");
}

// What a person may call a phone: a short text that a page, a log and a terminal can show as it is.

/** Most characters (code points) of a phone's name. */
export const MAX_PHONE_NAME_CHARACTERS = 60;

/** Control characters, line ends, and what turns the direction of the text around it (Unicode Standard Annex 9). */
const FORBIDDEN = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
/** Something to see: a name of blanks and joiners alone names nothing. */
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;

/**
 * Reads a phone's name as it was entered.
 *
 * @returns the name in NFC without blanks around it; `null` when it is no name: nothing to see, too long, or with characters that no name has.
 */
export function readPhoneName(text: string): string | null {
  // Before it is normalised: a megabyte is no name, and a lone surrogate is no text.
  if (text.length > 4 * MAX_PHONE_NAME_CHARACTERS || !text.isWellFormed()) return null;
  const name = text.normalize("NFC").trim();
  if (!VISIBLE.test(name) || FORBIDDEN.test(name)) return null;
  return [...name].length <= MAX_PHONE_NAME_CHARACTERS ? name : null;
}

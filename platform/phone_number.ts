// Telephone numbers: + and 8 to 15 digits (ITU-T E.164 §6.1), the country codes that may be called, and the masked form.

import { plainTyped } from "./typed_text.ts";

/**
 * A number as people write it, as + and digits: without `tel:`, format characters, spaces, dots, dashes, slashes and brackets. `00` at the start is
 * +. The national prefix in `(0)` after a country code is never dialled (ITU-T E.123 §2.4). `null` if the result is not a phone number.
 */
export function reducePhoneNumber(typed: string): string | null {
  if (typed.length > 64) return null;
  const plain = plainTyped(typed).trim().replace(/^tel:/i, "").replace(/^([([]?\s*)00/, "$1+");
  const reduced = plain.replace(/[([]\s*0\s*[)\]]/g, "").replace(/[\s.()[\]\-\u2010-\u2015\u2212/]/g, "");
  return isPhoneNumber(reduced) ? reduced : null;
}

/** Whether the text is `+` and 8 to 15 digits, of which the first is not 0. */
export function isPhoneNumber(text: string): boolean {
  return /^\+[1-9][0-9]{7,14}$/.test(text);
}

/**
 * Codes of no country that are expensive to call. Fraudsters earn money from such calls. Source: ITU-T, "List of
 * Recommendation ITU-T E.164 assigned country codes", Annex to ITU Operational Bulletin 1114 (15.XII.2016).
 */
const SPECIAL_RATE_CODES: Readonly<Record<string, string>> = {
  "808": "international shared-cost service",
  "870": "Inmarsat satellites",
  "871": "Inmarsat satellites, former code",
  "872": "Inmarsat satellites, former code",
  "873": "Inmarsat satellites, former code",
  "874": "Inmarsat satellites, former code",
  "878": "universal personal telecommunication",
  "881": "global mobile satellite systems",
  "882": "international networks, among them satellite networks",
  "883": "international networks, among them satellite networks",
  "979": "international premium-rate service",
};

/**
 * Whether a number's country code is in the list.
 *
 * @param countryCodes digits without +; an empty list allows all but {@link SPECIAL_RATE_CODES}.
 */
export function isCountryAllowed(number: string, countryCodes: readonly string[]): boolean {
  if (countryCodes.length === 0) return !(number.slice(1, 4) in SPECIAL_RATE_CODES);
  return countryCodes.some((code) => number.startsWith(`+${code}`));
}

/** The masked form for logs, lists and the audit log: the first two characters (+ and a digit) and the last three. */
export function maskPhoneNumber(number: string): string {
  return `${number.slice(0, 2)}${"*".repeat(Math.max(0, number.length - 5))}${number.slice(-3)}`;
}

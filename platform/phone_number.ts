// Telephone numbers as they may be dialled: +, country code, digits; 8 to 15 digits in all (ITU-T E.164 §6.1). And which country codes may be.

/**
 * A typed or stored number reduced to `+` and digits: `tel:` and spaces, dots, dashes, brackets are removed.
 *
 * @returns `null` when what is left is no number that can be dialled.
 */
export function reducePhoneNumber(typed: string): string | null {
  if (typed.length > 64) return null;
  const scheme = typed.trim().replace(/^tel:/i, "");
  const reduced = scheme.replace(/[\s.()\-/]/g, "");
  return isPhoneNumber(reduced) ? reduced : null;
}

/** Whether the text is `+` and 8 to 15 digits, the first of them not 0; nothing else. */
export function isPhoneNumber(text: string): boolean {
  return /^\+[1-9][0-9]{7,14}$/.test(text);
}

/**
 * Codes of no country, whose numbers are expensive to call: who dials them is paid by the caller. Source: ITU-T, "List of Recommendation ITU-T
 * E.164 assigned country codes", Annex to ITU Operational Bulletin 1114 (15.XII.2016).
 */
export const SPECIAL_RATE_CODES: Readonly<Record<string, string>> = {
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

export { maskPhoneNumber } from "./mask_phone_number.ts";

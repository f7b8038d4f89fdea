// Telephone numbers as they may be dialled: +, country code, digits; 8 to 15 digits in all (ITU-T E.164 §6.1).

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
 * Whether a number's country code is in the list.
 *
 * @param countryCodes digits without +; an empty list allows all.
 */
export function isCountryAllowed(number: string, countryCodes: readonly string[]): boolean {
  return countryCodes.length === 0 || countryCodes.some((code) => number.startsWith(`+${code}`));
}

export { maskPhoneNumber } from "../../platform/mask_phone_number.ts";

// Typed digits and letters in the form that is compared: keyboards of some languages type full-width or Arabic digits.

/** NFKC, without format characters (U+200E, U+202A, U+FEFF and others), and with the digits of every script as 0 to 9. */
export function plainTyped(text: string): string {
  // Nearly every input is ASCII.
  if (/^[\0-\x7f]*$/.test(text)) return text;
  return text.normalize("NFKC").replace(/\p{Cf}/gu, "").replace(/\p{Nd}/gu, digitOf);
}

/** The value of a decimal digit. Ten code points in a row are the digits of a script. */
function digitOf(digit: string): string {
  const codePoint = digit.codePointAt(0) as number;
  let value = 0;
  while (value < 9 && /^\p{Nd}$/u.test(String.fromCodePoint(codePoint - value - 1))) value++;
  return String(value);
}

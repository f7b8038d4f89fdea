// How keys are ordered in the store: strings by code point (UTF-8), which is not how JavaScript compares them.

/** Above every word and name: both are free of U+10FFFF. */
export const LAST_CHARACTER = "\u{10ffff}";

/** Negative, zero or positive, as the store orders two strings. Both are well formed. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const one = a.charCodeAt(i);
    const other = b.charCodeAt(i);
    if (one !== other) return rank(one) - rank(other);
  }
  return a.length - b.length;
}

/** A surrogate stands for a character beyond U+FFFF, so it comes after every other code unit. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

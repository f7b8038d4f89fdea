// A recovery code as it is shown and as it is typed: ten characters of base 32 (RFC 4648 §6), 50 bits, in two groups of five.

const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";
const CHARACTERS = 10;

/** A code from random octets, one a character; 256 is a multiple of 32, so no character is likelier than another. */
export function recoveryCodeOf(octets: Uint8Array): string {
  if (octets.length < CHARACTERS) throw new RangeError(`A recovery code needs ${CHARACTERS} octets`);
  let text = "";
  for (const octet of octets.subarray(0, CHARACTERS)) text += ALPHABET[octet & 31];
  return `${text.slice(0, 5)}-${text.slice(5)}`;
}

/** What was typed, without case, blanks and the dash; `null` when it is no recovery code by its form. */
export function readRecoveryCode(typed: string): string | null {
  if (typed.length > 2 * CHARACTERS) return null;
  const plain = typed.toLowerCase().replace(/[\s-]/g, "");
  return /^[a-z2-7]{10}$/.test(plain) ? plain : null;
}

// The form of a phone number in logs, lists and the audit log.

/** A number of which only the first two characters (+ and a digit) and the last three are shown. */
export function maskPhoneNumber(number: string): string {
  return `${number.slice(0, 2)}${"*".repeat(Math.max(0, number.length - 5))}${number.slice(-3)}`;
}

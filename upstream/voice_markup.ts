// The voice markup that reads a passcode out: one Response with a Say for the introduction, then a Say per digit with a
// Pause between consecutive digits.

/** The longest markup that the telephony service takes in its `Twiml` field. */
export const MAX_MARKUP_CHARACTERS = 4000;

const PAUSE = '<Pause length="1"/>';

const XML_ESCAPES: ReadonlyMap<string, string> = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&apos;"],
]);

/** Everything outside the characters that XML 1.0 §2.2 allows. Lone surrogates are replaced before. */
// deno-lint-ignore no-control-regex
const NOT_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

/**
 * The markup for one call, at most {@link MAX_MARKUP_CHARACTERS}: a long introduction is cut, the digits never are.
 *
 * @param intro any text; names in it may be hostile.
 * @param digits decimal digits, at most 20; anything else is a programming error.
 * @throws {RangeError} on other digits.
 */
export function voiceMarkup(intro: string, digits: string): string {
  if (!/^\d{1,20}$/.test(digits)) throw new RangeError("Cannot speak a passcode: it is not 1 to 20 digits");
  const spoken = [...digits].map((digit) => `<Say>${digit}</Say>`).join(PAUSE);
  const frame = `<Response><Say></Say>${spoken}</Response>`;
  return `<Response><Say>${
    escapeWithin(intro, MAX_MARKUP_CHARACTERS - frame.length)
  }</Say>${spoken}</Response>`;
}

/** `text` escaped for XML, cut between characters so that the result has at most `room` characters. */
function escapeWithin(text: string, room: number): string {
  let escaped = "";
  for (const character of text.slice(0, room).toWellFormed().replace(NOT_XML, "")) {
    const next = XML_ESCAPES.get(character) ?? character;
    if (escaped.length + next.length > room) break;
    escaped += next;
  }
  return escaped;
}

// Reads voice markup back: the digits that a call would speak after its introduction.

const SAY = "<Say>";
const END_OF_SAY = "</Say>";
const MAX_SAYS = 50;

/** The digits of the Say elements after the first, e.g. `4071`; "" when the markup has none. */
export function spokenDigits(markup: string): string {
  let digits = "";
  let at = markup.indexOf(SAY);
  for (let count = 0; at >= 0 && count < MAX_SAYS; count++) {
    const end = markup.indexOf(END_OF_SAY, at);
    if (end < 0) break;
    const said = markup.slice(at + SAY.length, end);
    if (count > 0 && /^\d$/.test(said)) digits += said;
    at = markup.indexOf(SAY, end);
  }
  return digits;
}

/** The markup of a call's form: its Twiml field, or the Twiml parameter of the address in its Url field. */
export function markupOf({ url, twiml }: { url: string | null; twiml: string | null }): string | null {
  if (url === null) return twiml;
  return URL.parse(url)?.searchParams.get("Twiml") ?? null;
}

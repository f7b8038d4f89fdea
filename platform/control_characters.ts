// Control characters in foreign text. A terminal, a log viewer or a browser would execute them instead of showing them.

/** Controls, format characters (bidi controls, U+FEFF, tags), unpaired surrogates, line and paragraph separators. */
const CONTROL = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const EACH_CONTROL = new RegExp(CONTROL.source, "gu");
const EACH_CONTROL_BUT_LINE_FEED = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Whether `text` contains a control character. */
export function hasControlCharacters(text: string): boolean {
  return CONTROL.test(text);
}

/** Writes each control character as an escape such as `\u200e`; above U+FFFF as two escapes, like JSON. */
export function escapeControlCharacters(text: string): string {
  return CONTROL.test(text) ? text.replace(EACH_CONTROL, escaped) : text;
}

/** Like {@link escapeControlCharacters}, but keeps line feeds. */
export function escapeLines(text: string): string {
  return text.replace(EACH_CONTROL_BUT_LINE_FEED, escaped);
}

/**
 * Cleans a text of another system for a log or a fault: one line, without control characters and without `secrets`.
 *
 * @param options.masksDigits replace each run of four or more digits, such as passcodes and phone numbers.
 */
export function sanitizeDetail(
  text: string,
  { secrets, maxCharacters, masksDigits = false }: {
    secrets: readonly string[];
    maxCharacters: number;
    masksDigits?: boolean;
  },
): string {
  let clean = text;
  for (const secret of secrets) if (secret !== "") clean = clean.replaceAll(secret, "…");
  if (masksDigits) clean = clean.replace(/\d{4,}/g, "…");
  return clean.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, " ").slice(0, maxCharacters);
}

/** Replaces each control character with a blank. */
export function blankControlCharacters(text: string): string {
  return text.replace(EACH_CONTROL, " ");
}

function escaped(character: string): string {
  let text = "";
  for (let at = 0; at < character.length; at += 1) {
    text += `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`;
  }
  return text;
}

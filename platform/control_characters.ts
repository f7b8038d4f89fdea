// Control characters of foreign text: what a terminal, a log viewer or a browser would obey instead of show.

/** Controls, format characters (bidi controls, U+FEFF, tags), unpaired surrogates, line and paragraph separators. */
const CONTROL = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const EACH_CONTROL = new RegExp(CONTROL.source, "gu");
const EACH_CONTROL_BUT_LINE_FEED = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Whether `text` contains a control character. */
export function hasControlCharacters(text: string): boolean {
  return CONTROL.test(text);
}

/** Shows each control character as `\u200e`; one beyond U+FFFF as the two escapes that JSON has for it. */
export function escapeControlCharacters(text: string): string {
  return CONTROL.test(text) ? text.replace(EACH_CONTROL, escaped) : text;
}

/** The same for a text of several lines: line feeds stay. */
export function escapeLines(text: string): string {
  return text.replace(EACH_CONTROL_BUT_LINE_FEED, escaped);
}

/** Each control character becomes a blank. */
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

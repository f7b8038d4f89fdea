// What a cell of a table holds: one text or several, safe to open in a spreadsheet.

/** What a spreadsheet takes for the beginning of a formula, behind any number of apostrophes. */
const FORMULA = /^'*[=+\-@\t\r]/;
const GUARDED = /^''*[=+\-@\t\r]/;
const NEEDS_QUOTES = /[",;\t\r\n]/;

/** A text as it stands in a cell: with an apostrophe in front where a spreadsheet would calculate it. {@link unguard} undoes it. */
export function guard(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

export function unguard(cell: string): string {
  return GUARDED.test(cell) ? cell.slice(1) : cell;
}

/** Several texts in one: `|` between them, `\|` and `\\` for those characters themselves. */
export function joinTexts(texts: readonly string[]): string {
  return texts.map((text) => text.replaceAll("\\", "\\\\").replaceAll("|", "\\|")).join("|");
}

/** Undoes {@link joinTexts}. A backslash before anything else is a backslash. Empty texts keep their place. */
export function splitTexts(joined: string): string[] {
  if (!joined.includes("\\")) return joined.split("|");
  const texts: string[] = [];
  let text = "";
  for (let at = 0; at < joined.length; at++) {
    const one = joined[at] ?? "";
    const next = joined[at + 1];
    if (one === "\\" && (next === "\\" || next === "|")) {
      text += next;
      at++;
    } else if (one === "|") {
      texts.push(text);
      text = "";
    } else text += one;
  }
  return [...texts, text];
}

/** A line of a table (RFC 4180), with its end. */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map((cell) => quoted(guard(cell))).join(",")}\r\n`;
}

function quoted(cell: string): string {
  const isBare = !NEEDS_QUOTES.test(cell) && cell === cell.trim();
  return isBare ? cell : `"${cell.replaceAll('"', '""')}"`;
}

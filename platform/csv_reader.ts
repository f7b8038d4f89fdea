// Parses CSV (RFC 4180) in pieces: quoted cells, all line ends, and commas, semicolons or tabs as separators.

export type CsvRecord =
  | { readonly ok: true; readonly line: number; readonly cells: readonly string[] }
  | { readonly ok: false; readonly line: number; readonly problem: string };

/** The limit of a request body. */
const MAX_RECORD_CHARACTERS = 1_048_576;
const MAX_CELLS = 1000;

const TOO_LONG = "it is over 1 MiB, or it has a quote that is never closed";

type Place = "start" | "plain" | "quoted" | "closing" | "broken";

/** Reads records. Blank lines are skipped. A quote in a cell that does not begin with one is an ordinary character. */
export class CsvReader {
  readonly #separator: string;
  #place: Place = "start";
  #cells: string[] = [];
  #cell = "";
  #characters = 0;
  /** The line where the record begins, and the current line, from 1. */
  #line = 1;
  #currentLine = 1;
  #problem = "";
  #wasReturn = false;
  #skip: number;
  /** After a record that is too long, nothing more can be read. */
  #isOver = false;
  #records: CsvRecord[] = [];

  /** @param options.skip characters of the file before its first record: whole lines. */
  constructor(separator: string, { skip = 0 }: { skip?: number } = {}) {
    this.#separator = separator;
    this.#skip = skip;
    if (skip > 0) this.#line = this.#currentLine = 2;
  }

  /** The records that end in the text so far. */
  push(given: string): CsvRecord[] {
    this.#records = [];
    const text = given.slice(this.#skip);
    this.#skip -= given.length - text.length;
    for (let from = 0; from < text.length && !this.#isOver;) {
      const to = this.#plainEnd(text, from);
      if (to > from) {
        if (this.#place !== "broken") this.#cell += text.slice(from, to);
        this.#wasReturn = false;
      } else this.#take(text[from] ?? "");
      const next = Math.max(to, from + 1);
      this.#characters += next - from;
      from = next;
      if (this.#characters > MAX_RECORD_CHARACTERS) {
        this.#records.push({ ok: false, line: this.#line, problem: TOO_LONG });
        this.#isOver = true;
      }
    }
    return this.#records;
  }

  /** The last record, if no line end follows it. */
  end(): CsvRecord[] {
    this.#records = [];
    if (this.#isOver) return this.#records;
    if (this.#place === "quoted") this.#problem = "it has a quote that is never closed";
    if (this.#place !== "start" || this.#cells.length > 0) this.#endRecord();
    return this.#records;
  }

  #endRecord(): void {
    this.#cells.push(this.#cell);
    const isBlank = this.#cells.length === 1 && this.#cell === "" && this.#place === "start";
    if (this.#problem !== "") this.#records.push({ ok: false, line: this.#line, problem: this.#problem });
    else if (!isBlank) this.#records.push({ ok: true, line: this.#line, cells: this.#cells });
    this.#cells = [];
    this.#cell = "";
    this.#characters = 0;
    this.#problem = "";
    this.#place = "start";
    this.#line = this.#currentLine;
  }

  #endCell(): void {
    if (this.#cells.length >= MAX_CELLS) this.#problem = `it has over ${MAX_CELLS} cells`;
    else this.#cells.push(this.#cell);
    this.#cell = "";
    this.#place = "start";
  }

  /** The end of a run of characters without a special meaning. */
  #plainEnd(text: string, from: number): number {
    let to = from;
    if (this.#place === "quoted") {
      while (to < text.length && text[to] !== '"' && text[to] !== "\n" && text[to] !== "\r") to++;
    } else if (this.#place === "plain" || this.#place === "broken") {
      while (to < text.length && text[to] !== this.#separator && text[to] !== "\n" && text[to] !== "\r") to++;
    }
    return to;
  }

  #take(one: string): void {
    const isLineFeed = one === "\n" && this.#wasReturn;
    this.#wasReturn = one === "\r";
    if (this.#place === "quoted") {
      if (one === '"') this.#place = "closing";
      else this.#cell += one;
      if (one === "\r" || (one === "\n" && !isLineFeed)) this.#currentLine++;
      return;
    }
    if (isLineFeed) return;
    if (one === "\n" || one === "\r") {
      this.#currentLine++;
      this.#endRecord();
    } else if (one === this.#separator) this.#endCell();
    else if (one === '"' && (this.#place === "start" || this.#place === "closing")) {
      if (this.#place === "closing") this.#cell += one;
      this.#place = "quoted";
    } else if (this.#place === "closing") {
      this.#problem = "text after the closing quote of a cell";
      this.#place = "broken";
    } else {
      this.#cell += one;
      if (this.#place === "start") this.#place = "plain";
    }
  }
}

const SEPARATORS = [",", ";", "\t"];
/** Spreadsheets write and read such a first line. */
const SEPARATOR_LINE = /^\ufeff?"?sep=([,;\t])"?(?:\r\n|\r|\n|$)/i;

/** How a file begins: its separator, and the length of a first line that only names it. */
export function readCsvStart(text: string): { readonly separator: string; readonly skip: number } {
  const line = SEPARATOR_LINE.exec(text);
  if (line !== null) return { separator: line[1] ?? ",", skip: line[0].length };
  return { separator: detectSeparator(text.split(/\r|\n/, 1)[0] ?? ""), skip: 0 };
}

/** The separator of a file: the one that is most frequent in the first line outside of quotes; by default a comma. */
export function detectSeparator(firstLine: string): string {
  const counts = SEPARATORS.map((one) => countOutsideQuotes(firstLine, one));
  const most = Math.max(...counts);
  return SEPARATORS[counts.indexOf(most)] ?? ",";
}

function countOutsideQuotes(line: string, wanted: string): number {
  let count = 0;
  let isQuoted = false;
  for (const one of line) {
    if (one === '"') isQuoted = !isQuoted;
    else if (one === wanted && !isQuoted) count++;
  }
  return count;
}

// The beginning of a cell that a spreadsheet calculates, for all writers of CSV.

/**
 * Source of a pattern for flag `v`: a sign of a formula, in ASCII, full width or small form, or a tab or line break, also behind spaces and characters
 * that are not visible (OWASP, CSV Injection).
 */
export const FORMULA_START = "[[\\p{Cc}\\p{Cf}\\p{Z}\\p{DI}]--[\\t\\r\\n]]*[=+\\-@＝＋－＠﹦﹢﹣﹫\\t\\r\\n]";

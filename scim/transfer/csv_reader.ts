// Comma-separated values (RFC 4180), read piece by piece: quoted cells, line ends of every kind, and commas, semicolons or tabs between cells.

export type CsvRecord =
  | { readonly ok: true; readonly line: number; readonly cells: readonly string[] }
  | { readonly ok: false; readonly line: number; readonly problem: string };

export interface CsvReader {
  /** The records that end within the text so far. */
  push(text: string): CsvRecord[];
  /** The last record, when no line end follows it. */
  end(): CsvRecord[];
}

/** A record with its cells, as one body of the interface would be. */
const MAX_RECORD_CHARACTERS = 1_048_576;
const MAX_CELLS = 1000;

const TOO_LONG = "it is over 1 MiB long, or a quote in it is never closed";

type Place = "start" | "plain" | "quoted" | "closing" | "broken";

/**
 * Reads records. Blank lines are passed over. A quote within a cell that begins without one is a character like any other.
 *
 * @param separator one of `,`, `;` and tab.
 */
export function createCsvReader(separator: string): CsvReader {
  let place: Place = "start";
  let cells: string[] = [];
  let cell = "";
  let characters = 0;
  /** Where the record begins, and where the reader is; from 1. */
  let line = 1;
  let at = 1;
  let problem = "";
  let wasReturn = false;
  /** After a record that is too long nothing can be told apart any more. */
  let isOver = false;

  const finish = (records: CsvRecord[]): void => {
    cells.push(cell);
    const isBlank = cells.length === 1 && cell === "" && place === "start";
    if (problem !== "") records.push({ ok: false, line, problem });
    else if (!isBlank) records.push({ ok: true, line, cells });
    cells = [];
    cell = "";
    characters = 0;
    problem = "";
    place = "start";
    line = at;
  };
  const endCell = (): void => {
    if (cells.length >= MAX_CELLS) problem = `it has over ${MAX_CELLS} cells`;
    else cells.push(cell);
    cell = "";
    place = "start";
  };

  /** Characters that mean nothing by themselves are taken in one piece. */
  const plainEnd = (text: string, from: number): number => {
    let to = from;
    if (place === "quoted") {
      while (to < text.length && text[to] !== '"' && text[to] !== "\n" && text[to] !== "\r") to++;
    } else if (place === "plain" || place === "broken") {
      while (to < text.length && text[to] !== separator && text[to] !== "\n" && text[to] !== "\r") to++;
    }
    return to;
  };

  const take = (one: string, records: CsvRecord[]): void => {
    const isLineFeed = one === "\n" && wasReturn;
    wasReturn = one === "\r";
    if (place === "quoted") {
      if (one === '"') place = "closing";
      else cell += one;
      if (one === "\r" || (one === "\n" && !isLineFeed)) at++;
      return;
    }
    if (isLineFeed) return;
    if (one === "\n" || one === "\r") {
      at++;
      finish(records);
    } else if (one === separator) endCell();
    else if (one === '"' && (place === "start" || place === "closing")) {
      if (place === "closing") cell += one;
      place = "quoted";
    } else if (place === "closing") {
      problem = "something stands after the quote that closes a cell";
      place = "broken";
    } else {
      cell += one;
      if (place === "start") place = "plain";
    }
  };

  return {
    push(text) {
      const records: CsvRecord[] = [];
      for (let from = 0; from < text.length && !isOver;) {
        const to = plainEnd(text, from);
        if (to > from) {
          if (place !== "broken") cell += text.slice(from, to);
          wasReturn = false;
        } else take(text[from] ?? "", records);
        const next = Math.max(to, from + 1);
        characters += next - from;
        from = next;
        if (characters > MAX_RECORD_CHARACTERS) {
          records.push({ ok: false, line, problem: TOO_LONG });
          isOver = true;
        }
      }
      return records;
    },
    end() {
      const records: CsvRecord[] = [];
      if (isOver) return records;
      if (place === "quoted") problem = "a quote in it is never closed";
      if (place !== "start" || cells.length > 0) finish(records);
      return records;
    },
  };
}

const SEPARATORS = [",", ";", "\t"];

/** The separator of a file, by what stands most often in its first line outside of quotes; a comma when there is none. */
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

// The person at the terminal: shows lines, asks with and without echo.

import { escapeLines } from "../../platform/control_characters.ts";

/** The person at the terminal. */
export interface Terminal {
  show(line: string): void;
  /** One line without its end; `null` when there is no more input. `hidden`: nothing is echoed. */
  ask(question: string, options?: { hidden?: boolean }): Promise<string | null>;
}

/** The streams of a terminal, or of a test. */
export interface TerminalStreams {
  read(into: Uint8Array): Promise<number | null>;
  write(octets: Uint8Array): void;
  /** Switches echo and line editing of the host off or on; does nothing where there is no terminal. */
  setRaw(raw: boolean): void;
  readonly isTerminal: boolean;
}

/** The process's own streams. */
export function hostStreams(): TerminalStreams {
  return {
    read: (into) => Deno.stdin.read(into),
    write: (octets) => void Deno.stdout.writeSync(octets),
    setRaw: (raw) => Deno.stdin.setRaw(raw),
    isTerminal: Deno.stdin.isTerminal(),
  };
}

const ENTER = [0x0a, 0x0d];
const BACKSPACE = [0x08, 0x7f];
const INTERRUPT = 0x03;
const END_OF_INPUT = 0x04;
const MAX_LINE_OCTETS = 4096;

/** A terminal on these streams. Reads octet by octet from a buffer, so that nothing typed ahead is lost. */
export function createTerminal(streams: TerminalStreams): Terminal {
  const text = new TextEncoder();
  const buffer = new Uint8Array(1024);
  let [at, end] = [0, 0];

  const next = async (): Promise<number | null> => {
    if (at === end) {
      const count = await streams.read(buffer);
      if (count === null) return null;
      [at, end] = [0, count];
    }
    return buffer[at++] ?? null;
  };
  const readLine = async (): Promise<string | null> => {
    const line: number[] = [];
    while (line.length < MAX_LINE_OCTETS) {
      const octet = await next();
      if (octet === null || octet === END_OF_INPUT || octet === INTERRUPT) {
        return line.length === 0 || octet === INTERRUPT ? null : decode(line);
      }
      if (ENTER.includes(octet)) return decode(line);
      if (BACKSPACE.includes(octet)) line.pop();
      else line.push(octet);
    }
    return decode(line);
  };

  return {
    show: (line) => streams.write(text.encode(`${line}\n`)),
    async ask(question, { hidden = false } = {}) {
      streams.write(text.encode(question));
      const silently = hidden && streams.isTerminal;
      if (!silently) return await readLine();
      streams.setRaw(true);
      try {
        return await readLine();
      } finally {
        streams.setRaw(false);
        streams.write(text.encode("\n"));
      }
    },
  };
}

function decode(octets: readonly number[]): string {
  return new TextDecoder().decode(Uint8Array.from(octets));
}

/** Foreign text for a terminal: line breaks stay, whatever else a terminal would obey becomes visible. */
export function printable(foreign: string): string {
  return escapeLines(foreign);
}

// The command line: arguments, lines, secrets without echo, and the progress of long commands.

import { parseArgs, type ParseArgsConfig } from "node:util";

type ArgOptions = NonNullable<ParseArgsConfig["options"]>;

/** Returns the options and the other words, or the problem. The problem never quotes a value, which may be a secret. */
export function parseCommandArgs<const T extends ArgOptions>(args: readonly string[], options: T) {
  try {
    const { values, positionals: words, tokens } = parseArgs({
      args: [...args],
      options,
      allowPositionals: true,
      tokens: true,
    });
    const given = tokens.flatMap((token) =>
      token.kind === "option" && options[token.name]?.multiple !== true ? [token.rawName] : []
    );
    const twice = given.find((name, at) => given.indexOf(name) < at);
    if (twice !== undefined) return { ok: false, problem: `option '${twice}' is repeated` } as const;
    return { ok: true, values, words } as const;
  } catch (fault) {
    if (!(fault instanceof TypeError)) throw fault;
    // The first sentence is the problem. The others are hints.
    const [problem = ""] = fault.message.split(/\.\s/);
    return { ok: false, problem: `${problem.charAt(0).toLowerCase()}${problem.slice(1)}` } as const;
  }
}

export function isHelpRequested(args: readonly string[]): boolean {
  return args.includes("--help") || args.includes("-h");
}

const MAX_LINE_OCTETS = 4096;

const KEYS = {
  interrupt: 0x03,
  end: 0x04,
  backspace: 0x08,
  lineFeed: 0x0a,
  return: 0x0d,
  delete: 0x7f,
} as const;

/** A line without its end, and what ended it. */
interface TypedLine {
  readonly text: string;
  readonly endedBy: "enter" | "end" | "interrupt" | "length";
}

/** Reads lines of at most 4 KiB. A buffer contains what was typed ahead. */
class LineReader {
  readonly #read: (into: Uint8Array) => Promise<number | null>;
  readonly #buffer = new Uint8Array(1024);
  #at = 0;
  #end = 0;

  constructor(read: (into: Uint8Array) => Promise<number | null>) {
    this.#read = read;
  }

  async next(): Promise<TypedLine> {
    const octets: number[] = [];
    const line = (endedBy: TypedLine["endedBy"]): TypedLine => ({
      text: new TextDecoder().decode(Uint8Array.from(octets)),
      endedBy,
    });
    while (octets.length <= MAX_LINE_OCTETS) {
      const octet = await this.#nextOctet();
      if (octet === KEYS.interrupt) return line("interrupt");
      if (octet === null || octet === KEYS.end) return line("end");
      if (octet === KEYS.lineFeed || octet === KEYS.return) return line("enter");
      if (octet === KEYS.backspace || octet === KEYS.delete) octets.pop();
      else octets.push(octet);
    }
    return line("length");
  }

  async #nextOctet(): Promise<number | null> {
    if (this.#at === this.#end) {
      const count = await this.#read(this.#buffer);
      if (count === null) return null;
      [this.#at, this.#end] = [0, count];
    }
    return this.#buffer[this.#at++] ?? null;
  }
}

/** Standard input. A terminal can switch off its echo. */
export interface SecretInput {
  read(buffer: Uint8Array): Promise<number | null>;
  isTerminal(): boolean;
  setRaw(mode: boolean): void;
}

/** Writes to standard error, which is not part of the result. */
export function writeNotice(text: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(text));
}

/**
 * Reads one line of at most 4 KiB and trims it. A terminal does not echo it.
 *
 * @param prompt writes the prompt, on a terminal only.
 * @returns `null` after Ctrl-C, or if the line is longer.
 */
export async function readSecretLine(
  input: SecretInput,
  prompt: (text: string) => void,
  { label = "TOTP secret" }: { label?: string } = {},
): Promise<string | null> {
  const lines = new LineReader((into) => input.read(into));
  if (!input.isTerminal()) return secretOf(await lines.next());
  // Before the prompt, because a person may type, and a program paste, as soon as it is visible.
  input.setRaw(true);
  try {
    prompt(`${label} (hidden): `);
    return secretOf(await lines.next());
  } finally {
    input.setRaw(false);
    prompt("\n");
  }
}

function secretOf({ text, endedBy }: TypedLine): string | null {
  return endedBy === "interrupt" || endedBy === "length" ? null : text.trim();
}

/** A terminal that prompts for several lines. */
export interface Terminal {
  show(line: string): void;
  /** Reads one line without its end. `null` at the end of the input. `hidden`: without echo. */
  ask(prompt: string, options?: { hidden?: boolean }): Promise<string | null>;
}

interface TerminalStreams extends SecretInput {
  write(octets: Uint8Array): void;
}

/** The terminal of the process. */
export function processStreams(): TerminalStreams {
  return {
    read: (into) => Deno.stdin.read(into),
    write: (octets) => void Deno.stdout.writeSync(octets),
    setRaw: (raw) => Deno.stdin.setRaw(raw),
    isTerminal: () => Deno.stdin.isTerminal(),
  };
}

export function createTerminal(streams: TerminalStreams): Terminal {
  const encoder = new TextEncoder();
  const lines = new LineReader((into) => streams.read(into));
  const readLine = async (): Promise<string | null> => {
    const { text, endedBy } = await lines.next();
    return endedBy === "interrupt" || (endedBy === "end" && text === "") ? null : text;
  };
  return {
    show: (line) => streams.write(encoder.encode(`${line}\n`)),
    async ask(prompt, { hidden = false } = {}) {
      const isSilent = hidden && streams.isTerminal();
      if (isSilent) streams.setRaw(true);
      try {
        streams.write(encoder.encode(prompt));
        return await readLine();
      } finally {
        if (isSilent) {
          streams.setRaw(false);
          streams.write(encoder.encode("\n"));
        }
      }
    },
  };
}

/** The user interrupted the command. The message is a sentence. */
export class CommandInterrupted extends Error {}

/** Is aborted by Ctrl-C and SIGTERM, so that the command can restore a clear state before it ends. */
export function interruptSignal(): AbortSignal {
  const interrupt = new AbortController();
  let firstMs: number | null = null;
  const abort = () => {
    const nowMs = Date.now();
    // Ctrl-C through `deno task` arrives twice. A later one ends the process at once.
    if (firstMs !== null && nowMs - firstMs > 2000) Deno.exit(130);
    firstMs ??= nowMs;
    interrupt.abort(new CommandInterrupted("Interrupted."));
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, abort);
  return interrupt.signal;
}

/** The progress of a long command, on one line of the terminal that is written again and again. */
export interface Progress {
  /** @param total `null` if it is not known yet. */
  update(what: string, counts: { readonly done: number; readonly total: number | null }): void;
  showText(text: string): void;
  clear(): void;
}

const MIN_INTERVAL_MS = 200;
const CLEAR_LINE = "\r\x1b[2K";

/** Shows progress on standard error. Shows nothing if that is not a terminal. */
export function terminalProgress(): Progress {
  if (!Deno.stderr.isTerminal()) {
    return { update: () => undefined, showText: () => undefined, clear: () => undefined };
  }
  let what = "";
  let startedMs = 0;
  let shownMs = 0;
  const showText = (text: string): void => {
    const now = performance.now();
    if (now - shownMs < MIN_INTERVAL_MS) return;
    shownMs = now;
    writeNotice(`${CLEAR_LINE}${text}`);
  };
  return {
    update(now, { done, total }) {
      if (now !== what) [what, startedMs] = [now, performance.now()];
      const seconds = Math.max(0.001, (performance.now() - startedMs) / 1000);
      const rate = Math.round(done / seconds).toLocaleString("en-US");
      const of = total === null ? "" : ` of ${total.toLocaleString("en-US")}`;
      showText(`${what}: ${done.toLocaleString("en-US")}${of}, ${rate} per second`);
    },
    showText,
    clear: () => writeNotice(CLEAR_LINE),
  };
}

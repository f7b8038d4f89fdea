// How far a long command is: one line of a terminal that is written over, or nothing at all.

export interface Progress {
  /** @param total `null` when it is not known yet. */
  tell(what: string, counts: { readonly done: number; readonly total: number | null }): void;
  /** A line in words. */
  say(text: string): void;
  /** Takes the line away. */
  clear(): void;
}

const EVERY_MS = 200;
const CLEAR = "\r\x1b[2K";

/** @param write `null` if the output is not a terminal, such as a pipe. */
export function createProgress(
  { write, nowMs }: { write: ((text: string) => void) | null; nowMs: () => number },
): Progress {
  if (write === null) return { tell: () => undefined, say: () => undefined, clear: () => undefined };
  let what = "";
  let startedMs = 0;
  let toldMs = 0;
  const mayTell = (): boolean => {
    const now = nowMs();
    if (now - toldMs < EVERY_MS) return false;
    toldMs = now;
    return true;
  };
  return {
    tell(now, { done, total }) {
      if (now !== what) {
        what = now;
        startedMs = nowMs();
      }
      if (!mayTell()) return;
      const seconds = Math.max(0.001, (nowMs() - startedMs) / 1000);
      const rate = Math.round(done / seconds).toLocaleString("en-US");
      const of = total === null ? "" : ` of ${total.toLocaleString("en-US")}`;
      write(`${CLEAR}${what}: ${done.toLocaleString("en-US")}${of}, ${rate} a second`);
    },
    say(text) {
      if (mayTell()) write(`${CLEAR}${text}`);
    },
    clear: () => write(CLEAR),
  };
}

/** On standard error, where that is a terminal. */
export function terminalProgress(): Progress {
  const encoder = new TextEncoder();
  const write = Deno.stderr.isTerminal()
    ? (text: string) => void Deno.stderr.writeSync(encoder.encode(text))
    : null;
  return createProgress({ write, nowMs: () => performance.now() });
}

// The output of a terminal program: collects it, and waits for a text in it.

import type { Login, Verdict } from "./login.ts";

const WAIT_MS = 20_000;

export interface Screen {
  /** All output since the last {@link clear}. */
  text(): string;
  /** Clears the output, so that it does not satisfy the next wait. */
  clear(): void;
  /** Waits at most 20 s. @param what for the error message. */
  until(isThere: (unread: string) => boolean, what: string): Promise<void>;
}

/** Collects both output streams of a child process. */
export function watchScreen(child: Deno.ChildProcess, program: string): Screen {
  let unread = "";
  let wake: () => void = () => {};
  const gather = async (stream: ReadableStream<Uint8Array>) => {
    for await (const octets of stream) {
      unread += new TextDecoder().decode(octets);
      wake();
    }
  };
  void gather(child.stdout);
  void gather(child.stderr);
  return {
    text: () => unread,
    clear() {
      unread = "";
    },
    async until(isThere, what) {
      for (const end = performance.now() + WAIT_MS; !isThere(unread);) {
        const leftMs = end - performance.now();
        if (leftMs <= 0) throw new Error(`${program} did not show ${what} but: ${unread}`);
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, leftMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    },
  };
}

/** A login with a program that prompts on the terminal: prompts are read from the screen, answers are lines. */
export function openTerminalLogin(
  child: Deno.ChildProcess,
  { program, endings }: { program: string; endings: readonly (readonly [text: string, verdict: Verdict])[] },
): Login {
  const screen = watchScreen(child, program);
  const writer = child.stdin.getWriter();
  return {
    screen: screen.text,
    async shows(text) {
      await screen.until((unread) => unread.includes(text), `"${text}"`);
    },
    async answer(text) {
      screen.clear();
      await writer.write(new TextEncoder().encode(`${text}\n`));
    },
    async end() {
      await screen.until((unread) => endings.some(([text]) => unread.includes(text)), "an end");
      const [, verdict = "reject"] = endings.find(([text]) => screen.text().includes(text)) ?? [];
      return { verdict, message: null };
    },
  };
}

// Waits for SIGTERM or SIGINT, the signals that end the server.

import type { Clock } from "./runtime.ts";

/** Ctrl-C through `deno task` arrives twice: a second signal within this time is the same one. */
const SAME_SIGNAL_MS = 2000;

/** Resolves at the first signal. One within two seconds after it is ignored; a later one ends the process at once. */
export function stopSignal(clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    let firstMs: number | null = null;
    const note = (): void => {
      if (firstMs === null) {
        firstMs = clock.nowMs();
        return resolve();
      }
      if (clock.nowMs() - firstMs > SAME_SIGNAL_MS) Deno.exit(130);
    };
    Deno.addSignalListener("SIGTERM", note);
    Deno.addSignalListener("SIGINT", note);
  });
}

// Holds the port of the runtime's inspector. The signal SIGUSR1 would open it there, without a flag and without a password, for anybody on this host.

import type { Log } from "./log.ts";
import type { Clock } from "./runtime.ts";

const INSPECTOR = { hostname: "127.0.0.1", port: 9229 } as const;
const TRY_AGAIN_MS = 60_000;

/**
 * Takes the port, or warns and tries again each minute; takes the signal too, which would end a process in its first second. Returns what lets
 * both go.
 */
export function holdInspectorPort({ clock, log }: { clock: Clock; log: Log }): () => void {
  let listener: Deno.Listener | null = null;
  let cancel = (): void => {};
  let warned = false;
  const take = (): void => {
    try {
      listener = Deno.listen(INSPECTOR);
      void refuseAll(listener);
    } catch (fault) {
      if (!warned) {
        log.warn(
          "port 9229 is taken by another program: SIGUSR1 to this process could open the runtime's inspector",
          {
            fault: fault instanceof Error ? fault.message : String(fault),
          },
        );
      }
      warned = true;
      cancel = clock.after(TRY_AGAIN_MS, take);
    }
  };
  take();
  const noteSignal = () => log.warn("SIGUSR1 was received; it has no meaning here, SIGTERM stops");
  Deno.addSignalListener("SIGUSR1", noteSignal);
  return () => {
    Deno.removeSignalListener("SIGUSR1", noteSignal);
    cancel();
    listener?.close();
  };
}

async function refuseAll(listener: Deno.Listener): Promise<void> {
  for await (const connection of listener) connection.close();
}

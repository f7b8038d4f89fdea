// The store heartbeat: reads a key every two seconds, so that a store that stopped answering is noticed without a login.

import type { Log } from "./log.ts";
import type { Clock } from "./runtime.ts";
import type { Store } from "./store.ts";

const HEARTBEAT_MS = 2000;

/** Starts the heartbeat. Returns what stops it. */
export function startHeartbeat(
  { store, clock, log }: { store: Pick<Store, "get">; clock: Clock; log: Log },
): () => void {
  let cancel = (): void => {};
  const ask = (): void => {
    store.get(["vault", "check"]).catch((fault: unknown) =>
      log.error("the store does not answer", { fault: String(fault) })
    );
    cancel = clock.after(HEARTBEAT_MS, ask);
  };
  ask();
  return () => cancel();
}

// Records each minute how many RADIUS packets this node dropped, by reason, for the destinations that want it. Otherwise nothing is recorded.

import { auditEntry } from "../audit.ts";
import type { Log } from "../log.ts";
import type { Clock } from "../runtime.ts";
import type { Store } from "../store.ts";

export interface DropCounterDeps {
  readonly store: Pick<Store, "commit">;
  readonly clock: Clock;
  readonly log: Log;
  /** Counts since the start; those that begin with `dropped_` are of dropped packets. */
  readonly counters: () => Readonly<Record<string, number>>;
  readonly isWanted: () => boolean;
}

const COUNT_MS = 60_000;
const PREFIX = "dropped_";

/** Returns a function that stops it. */
export function startDropCounter({ store, clock, log, counters, isWanted }: DropCounterDeps): () => void {
  let before = counters();
  let cancel = () => {};
  const count = (): void => {
    cancel = clock.after(COUNT_MS, count);
    const now = counters();
    const dropped = Object.entries(now).flatMap(([name, total]) => {
      const more = total - (before[name] ?? 0);
      return name.startsWith(PREFIX) && more > 0 ? [[name.slice(PREFIX.length), more] as const] : [];
    });
    before = now;
    if (dropped.length === 0 || !isWanted()) return;
    const record = auditEntry({
      action: "packets.dropped",
      actor: "radius",
      count: dropped.reduce((sum, [, more]) => sum + more, 0),
      faults: dropped.map(([reason, more]) => `${reason} ${more}`),
    });
    store.commit({ mutations: [record] }).catch((fault: unknown) =>
      log.error("the count of dropped packets could not be recorded", { fault: String(fault) })
    );
  };
  cancel = clock.after(COUNT_MS, count);
  return () => cancel();
}

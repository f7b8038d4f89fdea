// Whether the gateway can answer logins, for /readyz.

import type { Cluster } from "../../../platform/cluster/cluster.ts";
import type { Clock } from "../../../platform/runtime.ts";
import { type Store, STORE_SILENT_MS } from "../../../platform/store.ts";
import type { Readiness } from "./metrics.ts";

/** A store that does not answer, or changes of other nodes that cannot be read: no login can be answered. */
export function readinessOf(
  { isHttpServing }: { readonly isHttpServing: () => boolean },
  { store, clock, cluster }: {
    readonly store: Pick<Store, "lastAnswerMs">;
    readonly clock: Clock;
    readonly cluster: Pick<Cluster, "isShared" | "figures">;
  },
): Readiness {
  const silentMs = clock.nowMs() - store.lastAnswerMs();
  const { lagMs } = cluster.figures();
  const [isSilent, isBehind] = [silentMs > STORE_SILENT_MS, lagMs > STORE_SILENT_MS];
  const isServing = isHttpServing();
  const changes = isBehind ? `not read for ${secondsOf(lagMs)}` : "read";
  return {
    ok: !isSilent && !isBehind && isServing,
    parts: {
      radius: "listening",
      store: isSilent ? `does not answer for ${secondsOf(silentMs)}` : "answers",
      ...(cluster.isShared ? { changes } : {}),
      http: isServing ? "listening" : "does not accept connections",
    },
  };
}

function secondsOf(spanMs: number): string {
  return `${Math.round(spanMs / 1000)} s`;
}

// Whether the gateway can answer logins: for /readyz, and for the supervisor of the process. Apart from the metrics, whose libraries are
// loaded after the first answer.

import type { Cluster } from "../../../platform/cluster/cluster.ts";
import { type Store, STORE_SILENT_MS } from "../../../platform/store.ts";
import type { Clock } from "../../../platform/runtime.ts";

/** Whether the gateway can answer logins, with the state of each part.  */
export interface Readiness {
  readonly ok: boolean;
  readonly parts: Readonly<Record<string, string>>;
}

/** A store that does not answer, or changes of other nodes that cannot be read: no login can be answered. */
export function readinessOf(
  { isHttpServing, isRadiusReceiving }: {
    readonly isHttpServing: () => boolean;
    readonly isRadiusReceiving: () => boolean;
  },
  { store, clock, cluster }: {
    readonly store: Pick<Store, "lastAnswerMs">;
    readonly clock: Clock;
    readonly cluster: Pick<Cluster, "isShared" | "figures">;
  },
): Readiness {
  const silentMs = clock.nowMs() - store.lastAnswerMs();
  const { lagMs } = cluster.figures();
  const [isSilent, isBehind] = [silentMs > STORE_SILENT_MS, lagMs > STORE_SILENT_MS];
  const [isServing, isReceiving] = [isHttpServing(), isRadiusReceiving()];
  const changes = isBehind ? `not read for ${secondsOf(lagMs)}` : "read";
  return {
    ok: !isSilent && !isBehind && isServing && isReceiving,
    parts: {
      radius: isReceiving ? HEALTHY.radius : "does not receive packets",
      store: isSilent ? `does not answer for ${secondsOf(silentMs)}` : HEALTHY.store,
      ...(cluster.isShared ? { changes } : {}),
      http: isServing ? HEALTHY.http : "does not accept connections",
    },
  };
}

/** The parts of this process. */
const HEALTHY = { radius: "listening", store: "answers", http: "listening" } as const;

/** What another start of the process may cure; `null`: nothing. A KV Connect server that does not answer would stop that start. */
export function restartReason({ parts }: Readiness): string | null {
  const isShared = "changes" in parts;
  const wrong = Object.entries(HEALTHY).filter(([part, state]) =>
    parts[part] !== state && !(part === "store" && isShared)
  );
  return wrong.length === 0 ? null : wrong.map(([part]) => `${part} ${parts[part]}`).join(", ");
}

function secondsOf(spanMs: number): string {
  return `${Math.round(spanMs / 1000)} s`;
}

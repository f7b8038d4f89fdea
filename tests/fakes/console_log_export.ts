// The log export of the in-process consoles: destinations in the store, and no network.

import { NO_LEASE } from "../../platform/cluster/lease.ts";
import type { Log } from "../../platform/log.ts";
import { LogExport } from "../../platform/log_export/log_export.ts";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import type { Store } from "../../platform/store.ts";
import type { Vault } from "../../platform/vault.ts";

/** No receiver answers. */
export async function openFakeLogExport(deps: { store: Store; vault: Vault; log: Log }): Promise<LogExport> {
  const refused = () => Promise.reject(new Error("Connection refused (os error 111)"));
  const logExport = new LogExport({
    ...deps,
    ...{ clock: systemClock, random: createSystemRandom() },
    cluster: {
      isShared: false,
      list: () => [],
      openLease: () => ({ ...NO_LEASE, claim: () => Promise.resolve(true) }),
    },
    observer: { hostName: "gate", version: "0.0.0" },
    mayDeliver: () => false,
    retentionMs: () => 90 * 24 * 3_600_000,
    login: { keyOf: (conversation) => ["history", conversation], read: () => null },
    connectTls: refused,
    openUdp: () => ({ send: () => refused(), close: () => undefined }),
    openHttp: () => ({ fetch: () => refused(), close: () => undefined }),
  });
  await logExport.start();
  return logExport;
}

/** The destination that every console with data has. */
export const FULL_DESTINATION = "siem";

/** Creates two destinations. @param call as an owner */
export async function fillLogExport(
  call: (path: string, options: { method: "POST"; json: object }) => Promise<unknown>,
): Promise<void> {
  const siem = { name: FULL_DESTINATION, kind: "syslog_tls", host: "logs.example.com" };
  const hook = { name: "hook", kind: "webhook", url: "https://hooks.example.com/countersign" };
  for (const json of [siem, hook]) await call("/console/api/log-export", { method: "POST", json });
}

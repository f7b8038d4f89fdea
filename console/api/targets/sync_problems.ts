// Whether a connector has a problem that an administrator must solve: it fails, or it has failed writes.

import type { BackendHealth } from "../../../scim/backends/guarded_backend.ts";
import type { BackendRow } from "./target_types.ts";

/** Whether the latest call failed. A refusal of one resource is not a failure of the connector. */
export function isBackendFailing({ lastGoodMs, lastFault }: BackendHealth): boolean {
  return lastFault !== null && lastFault.kind !== "refused" && lastFault.atMs >= (lastGoodMs ?? 0);
}

/** Pending writes are no problem: an asynchronous connector usually has some. */
export function hasSyncProblem(row: Pick<BackendRow, "dead" | "lastGoodMs" | "lastFault">): boolean {
  return row.dead > 0 || isBackendFailing(row);
}

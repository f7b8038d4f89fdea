// An administrator acknowledges an open alert. It leaves the open list until another event, on every node.

import { auditEntry } from "../audit.ts";
import type { Clock } from "../runtime.ts";
import type { RowActor } from "../sealed_rows.ts";
import type { Store } from "../store.ts";
import {
  type Acknowledgement,
  acknowledgementKey,
  ALERT_RETENTION_MS,
  alertEndMs,
  alertKey,
  readAlert,
  validAcknowledgement,
} from "./alert_record.ts";

/** `unknown`: there is no such open alert. `changed`: it has another count than the administrator saw. */
export type AcknowledgeOutcome = "done" | "unknown" | "changed";

/** Acknowledges the alert as the administrator saw it. A second administrator changes nothing. @param seen the count on the page */
export async function acknowledgeAlert(
  { store, clock }: { readonly store: Store; readonly clock: Pick<Clock, "nowMs"> },
  { id, seen, by }: { readonly id: string; readonly seen: number; readonly by: RowActor & { name: string } },
): Promise<AcknowledgeOutcome> {
  const nowMs = clock.nowMs();
  const alert = readAlert(id, (await store.get<unknown>(alertKey(id))).value);
  if (alert === null || alertEndMs(alert, nowMs) !== null) return "unknown";
  const { kind, about, count, severity, values: { users } } = alert;
  if (count !== seen) return "changed";
  const key = acknowledgementKey(id);
  const { value: known, versionstamp } = await store.get<unknown>(key);
  if (validAcknowledgement(alert, known) !== null) return "done";
  const value: Acknowledgement = { by: by.name, atMs: nowMs, count, severity };
  const { actor, source } = by;
  const subject = users === undefined ? about : users.join(", ");
  const { ok } = await store.commit({
    checks: [{ key, versionstamp }],
    mutations: [
      { type: "set", key, value, expireInMs: ALERT_RETENTION_MS },
      auditEntry({
        action: "alert.acknowledge",
        actor,
        source,
        object: `alert:${kind}`,
        alert: id,
        subject,
        count,
      }),
    ],
  });
  return ok ? "done" : "changed";
}

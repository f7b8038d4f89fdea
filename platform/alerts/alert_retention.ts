// Bounds the stored alerts. An entry expires by itself; beyond a number, the oldest ones are removed, warnings first.

import type { Check, Store } from "../store.ts";
import {
  acknowledgementKey,
  alertDeliveryKey,
  alertKey,
  ALERTS,
  OPEN_ALERTS,
  readAlert,
} from "./alert_record.ts";

export const MAX_ALERTS = 5000;
/** Alerts that one commit removes, with their deliveries. */
const BATCH = 25;

/** Removes what is beyond the bound, except alerts that are open. */
export async function trimAlerts(store: Store, check: Check | null, max = MAX_ALERTS): Promise<number> {
  const open = new Set<string>();
  for await (const { key } of store.list<unknown>(OPEN_ALERTS)) open.add(String(key[1]));
  const found: { readonly id: string; readonly isCritical: boolean }[] = [];
  for await (const { key, value } of store.list<unknown>(ALERTS)) {
    const id = String(key[1]);
    found.push({ id, isCritical: readAlert(id, value)?.severity === "critical" });
  }
  const removed = found.filter(({ id }) => !open.has(id))
    .toSorted((a, b) => Number(a.isCritical) - Number(b.isCritical))
    .slice(0, Math.max(0, found.length - max));
  for (let at = 0; at < removed.length; at += BATCH) {
    const keys: Deno.KvKey[] = [];
    for (const { id } of removed.slice(at, at + BATCH)) {
      keys.push(alertKey(id), acknowledgementKey(id));
      for await (const { key } of store.list<unknown>(alertDeliveryKey(id))) keys.push(key);
    }
    const { ok } = await store.commit({
      checks: check === null ? [] : [check],
      mutations: keys.map((key) => ({ type: "delete", key })),
    });
    if (!ok) break;
  }
  return removed.length;
}

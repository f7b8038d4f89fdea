// Reads the stored alerts with their deliveries.

import type { Store } from "../store.ts";
import {
  type Acknowledgement,
  acknowledgementKey,
  alertDeliveryKey,
  alertEndMs,
  alertKey,
  type DeliveryRecord,
  type KnownAlert,
  OPEN_ALERTS,
  readAlert,
  readDelivery,
  validAcknowledgement,
} from "./alert_record.ts";

export interface ListedAlert
  extends
    Pick<KnownAlert, "id" | "kind" | "severity" | "about" | "values" | "count" | "openedMs" | "lastMs"> {
  readonly endedMs: number | null;
  /** Who took note of it as it is now; `null`: no administrator. */
  readonly acknowledged: { readonly by: string; readonly atMs: number } | null;
  readonly deliveries: readonly (DeliveryRecord & { readonly receiver: string })[];
}

export interface AlertPage {
  readonly items: readonly ListedAlert[];
  /** The id after which the next page begins. */
  readonly next: string | null;
}

type ReadStore = Pick<Store, "get" | "list" | "range">;

const PAGE_ALERTS = 50;
/** Open alerts of the list. More do not help. */
const MAX_OPEN = 200;
/** One read for each batch of alerts at a time. */
const BATCH = 25;
const END = "\u{10ffff}";

/** A page of alerts, newest first. @param after an id, or "" for the first page */
export async function listAlertPage(
  store: ReadStore,
  { after, nowMs }: { readonly after: string; readonly nowMs: number },
): Promise<AlertPage> {
  const range = { start: alertKey(""), end: alertKey(after === "" ? END : after) };
  const entries = await Array.fromAsync(store.range<unknown>(range, { limit: PAGE_ALERTS, reverse: true }));
  const found = entries.flatMap(({ key, value }) => readAlert(String(key[1]), value) ?? []);
  const next = entries.length < PAGE_ALERTS ? null : String(entries.at(-1)?.key[1]);
  return { items: await toListed(store, found, nowMs), next };
}

/** The open alerts that no administrator acknowledged: critical ones first, then the newest. */
export async function listOpenAlerts(store: ReadStore, nowMs: number): Promise<ListedAlert[]> {
  const open = (await readActiveAlerts(store)).filter((alert) => alertEndMs(alert, nowMs) === null);
  const sorted = open.toSorted((a, b) =>
    a.severity === b.severity ? (a.id < b.id ? 1 : -1) : a.severity === "critical" ? -1 : 1
  );
  const waiting = await inBatches(
    sorted,
    async (alert) => await readAcknowledgement(store, alert) === null ? alert : null,
  );
  return await toListed(store, waiting.slice(0, MAX_OPEN), nowMs);
}

/** The alerts that are open or ended lately. Those that cannot be read are left out. */
export async function readActiveAlerts(store: ReadStore): Promise<KnownAlert[]> {
  const ids: string[] = [];
  for await (const { key } of store.list<unknown>(OPEN_ALERTS)) ids.push(String(key[1]));
  return await inBatches(ids, async (id) => readAlert(id, (await store.get<unknown>(alertKey(id))).value));
}

async function readAcknowledgement(
  store: Pick<Store, "get">,
  alert: KnownAlert,
): Promise<Acknowledgement | null> {
  return validAcknowledgement(alert, (await store.get<unknown>(acknowledgementKey(alert.id))).value);
}

async function toListed(
  store: ReadStore,
  alerts: readonly KnownAlert[],
  nowMs: number,
): Promise<ListedAlert[]> {
  return await inBatches(alerts, async (alert) => {
    const { id, kind, severity, about, values, count, openedMs, lastMs } = alert;
    const deliveries: ListedAlert["deliveries"][number][] = [];
    for await (const { key, value } of store.list<unknown>(alertDeliveryKey(id))) {
      const record = readDelivery(value);
      if (record !== null) deliveries.push({ ...record, receiver: String(key[2]) });
    }
    const endedMs = alertEndMs(alert, nowMs);
    const known = await readAcknowledgement(store, alert);
    const acknowledged = known === null ? null : { by: known.by, atMs: known.atMs };
    return { id, kind, severity, about, values, count, openedMs, lastMs, endedMs, acknowledged, deliveries };
  });
}

async function inBatches<From, To extends object>(
  all: readonly From[],
  convert: (one: From) => Promise<To | null>,
): Promise<To[]> {
  const done: To[] = [];
  for (let at = 0; at < all.length; at += BATCH) {
    const batch = await Promise.all(all.slice(at, at + BATCH).map(convert));
    done.push(...batch.filter((one) => one !== null));
  }
  return done;
}

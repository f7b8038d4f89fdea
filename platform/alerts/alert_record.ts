// Alerts and their deliveries in the store: how they are written, read and listed. Entries expire by themselves; beyond a number, the oldest ones are
// removed, warnings first.

import type { CallProblem } from "../call_fault.ts";
import type { KvMutation } from "../commit_queue.ts";
import { DAY_MS, HOUR_MS } from "../durations.ts";
import type { Random } from "../runtime.ts";
import type { Check, Store } from "../store.ts";
import {
  type AlertKind,
  alertKindRow,
  type AlertSeverity,
  type AlertValues,
  DELIVERY_STATES,
  type DeliveryState,
  isAlertKind,
} from "./alert_kinds.ts";

/** The value under ["alert", id]. The id grows with time. */
interface AlertRecord {
  readonly kind: AlertKind;
  readonly severity: AlertSeverity;
  /** `user:ada`; "" for an alert about several objects. */
  readonly about: string;
  readonly values: AlertValues;
  readonly count: number;
  readonly openedMs: number;
  readonly lastMs: number;
  /** When a state ended. An event has no end: see {@link alertEndMs}. */
  readonly endedMs: number | null;
  /** When the last message was made, and the count in it. */
  readonly notifiedMs: number;
  readonly notifiedCount: number;
}

export interface KnownAlert extends AlertRecord {
  readonly id: string;
}

/** The value under ["alert_delivery", alert, receiver]: the last message. */
export interface DeliveryRecord {
  readonly state: DeliveryState;
  readonly atMs: number;
  readonly problem: { readonly code: CallProblem; readonly detail: string } | null;
}

const ALERTS: Deno.KvKey = ["alert"];
export const ALERT_RETENTION_MS = 90 * DAY_MS;
/** So long an event of an alert is shown as open. */
const OPEN_MS: Readonly<Record<AlertSeverity, number>> = { warning: HOUR_MS, critical: DAY_MS };

/** A state that begins again within this time continues its alert. */
export const REOPEN_MS = HOUR_MS;
/** The value of an entry that has everything in its key. */
const NO_OCTETS = new Uint8Array(0);

export function alertKey(id: string): Deno.KvKey {
  return [...ALERTS, id];
}

/** An id that sorts by time. @param count of the alerts of this process */
export function newAlertId(nowMs: number, count: number, random: Random): string {
  const time = Math.max(0, Math.floor(nowMs)).toString(36).padStart(9, "0");
  return `${time}-${(count % 1296).toString(36).padStart(2, "0")}${random.bytes(4).toHex()}`;
}

/** The key of a delivery, or the prefix of all deliveries of an alert. */
function alertDeliveryKey(id: string, ...receiver: readonly string[]): Deno.KvKey {
  return ["alert_delivery", id, ...receiver];
}

/** Keys ["alert_open", id] of the alerts that are open or ended lately. */
const OPEN_ALERTS: Deno.KvKey = ["alert_open"];

/** The mutations that store an alert. */
export function alertMutations({ id, ...record }: KnownAlert): KvMutation[] {
  const key = [...OPEN_ALERTS, id];
  const isOver = record.endedMs !== null;
  const isEvent = alertKindRow(record.kind).source === "event";
  // A state may last longer than its record would; each reminder stores it again.
  const expireInMs = isOver ? REOPEN_MS : isEvent ? OPEN_MS[record.severity] : ALERT_RETENTION_MS;
  return [
    { type: "set", key: alertKey(id), value: record, expireInMs: ALERT_RETENTION_MS },
    { type: "set", key, value: NO_OCTETS, expireInMs },
  ];
}

export function deliveryMutation(id: string, receiver: string, record: DeliveryRecord): KvMutation {
  const key = alertDeliveryKey(id, receiver);
  return { type: "set", key, value: record, expireInMs: ALERT_RETENTION_MS };
}

/** The value under ["alert_ack", id]: an administrator took note of the alert as it was then. */
export interface Acknowledgement {
  /** The name of the administrator. */
  readonly by: string;
  readonly atMs: number;
  /** Of the alert at that time. With another event, or a higher severity, the alert is open again. */
  readonly count: number;
  readonly severity: AlertSeverity;
}

export function acknowledgementKey(id: string): Deno.KvKey {
  return ["alert_ack", id];
}

/** The acknowledgement of an alert as it is now; `null`: none, or something happened since. */
export function validAcknowledgement(
  { count, severity }: Pick<AlertRecord, "count" | "severity">,
  value: unknown,
): Acknowledgement | null {
  const given = (value ?? {}) as Partial<Acknowledgement>;
  const isValid = typeof given.by === "string" && Number.isFinite(given.atMs) &&
    given.count === count && given.severity === severity;
  return isValid ? given as Acknowledgement : null;
}

/** When an alert ended; `null`: it is open. */
export function alertEndMs(alert: AlertRecord, nowMs: number): number | null {
  if (alertKindRow(alert.kind).source !== "event") return alert.endedMs;
  const untilMs = alert.lastMs + OPEN_MS[alert.severity];
  return nowMs >= untilMs ? untilMs : null;
}

/** An alert as stored; `null` if it cannot be read. */
export function readAlert(id: string, value: unknown): KnownAlert | null {
  if (typeof value !== "object" || value === null) return null;
  const record = value as AlertRecord;
  const { kind, severity, about, values, count, openedMs, lastMs, endedMs, notifiedMs, notifiedCount } =
    record;
  const numbers = [count, openedMs, lastMs, notifiedMs, notifiedCount];
  const isKnown = isAlertKind(kind) && (severity === "warning" || severity === "critical") &&
    typeof about === "string" && typeof values === "object" && values !== null;
  if (!isKnown || !numbers.every(Number.isFinite)) return null;
  return endedMs === null || Number.isFinite(endedMs) ? { ...record, id } : null;
}

/** A delivery as stored; `null` if it cannot be read. */
function readDelivery(value: unknown): DeliveryRecord | null {
  if (typeof value !== "object" || value === null) return null;
  const record = value as DeliveryRecord;
  const isKnown = DELIVERY_STATES.includes(record.state) && Number.isFinite(record.atMs);
  return isKnown ? { ...record, problem: record.problem ?? null } : null;
}

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
/** Alerts that are read at a time, or removed by one commit. */
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

const MAX_ALERTS = 5000;

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

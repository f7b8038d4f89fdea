// An alert and its deliveries in the store.

import type { KvMutation } from "../commit_batch.ts";
import type { Random } from "../runtime.ts";
import {
  ALERT_DAY_MS,
  ALERT_HOUR_MS,
  type AlertKind,
  alertKindRow,
  type AlertProblem,
  type AlertSeverity,
  type AlertValues,
  DELIVERY_STATES,
  type DeliveryState,
  isAlertKind,
} from "./alert_kinds.ts";

/** The value under ["alert", id]. The id grows with time. */
export interface AlertRecord {
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
  readonly problem: { readonly code: AlertProblem; readonly detail: string } | null;
}

export const ALERTS: Deno.KvKey = ["alert"];
export const ALERT_RETENTION_MS = 90 * ALERT_DAY_MS;
/** So long an event of an alert is shown as open. */
const OPEN_MS: Readonly<Record<AlertSeverity, number>> = { warning: ALERT_HOUR_MS, critical: ALERT_DAY_MS };

/** A state that begins again within this time continues its alert. */
export const REOPEN_MS = ALERT_HOUR_MS;
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
export function alertDeliveryKey(id: string, ...receiver: readonly string[]): Deno.KvKey {
  return ["alert_delivery", id, ...receiver];
}

/** Keys ["alert_open", id] of the alerts that are open or ended lately. */
export const OPEN_ALERTS: Deno.KvKey = ["alert_open"];

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
export function readDelivery(value: unknown): DeliveryRecord | null {
  if (typeof value !== "object" || value === null) return null;
  const record = value as DeliveryRecord;
  const isKnown = DELIVERY_STATES.includes(record.state) && Number.isFinite(record.atMs);
  return isKnown ? { ...record, problem: record.problem ?? null } : null;
}

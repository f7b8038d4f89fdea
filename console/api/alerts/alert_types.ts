// The answers of the alert API. No answer has a secret, except that of a new webhook and of a renewed secret.

import type { DeliveryState, ReceiverSettings } from "../../../platform/alerts/alert_kinds.ts";
import type { KnownAlert } from "../../../platform/alerts/alert_record.ts";
import type { CallProblem } from "../../../platform/call_fault.ts";

/** The last message of an alert to one receiver. */
export interface AlertDeliveryRow {
  readonly receiver: string;
  readonly state: DeliveryState;
  /** When the state began. */
  readonly atMs: number;
  /** `null`: none. A pending message that failed has one too. */
  readonly problem: { readonly code: CallProblem; readonly detail: string } | null;
}

/** An event ends by itself: a warning an hour after the last event, a critical one a day after it. */
export interface AlertRow extends Omit<KnownAlert, "notifiedMs" | "notifiedCount"> {
  /** Who took note of it as it is now. Another event opens it again. */
  readonly acknowledged: { readonly by: string; readonly atMs: number } | null;
  readonly deliveries: readonly AlertDeliveryRow[];
}

export interface AlertList {
  readonly nowMs: number;
  /** Whether `alerts.enabled` is set. */
  readonly isEnabled: boolean;
  /** The open alerts that are not acknowledged, critical ones first. */
  readonly open: readonly AlertRow[];
  /** A page of all alerts, newest first. */
  readonly items: readonly AlertRow[];
  /** `?after=` of the next page; `null`: this is the last one. */
  readonly next: string | null;
}

export interface ReceiverRow {
  readonly name: string;
  readonly settings: ReceiverSettings;
  /** Where it sends: the mail addresses, or the origin of the webhook (`https://hooks.example.com/…`). */
  readonly address: string;
  readonly createdMs: number;
  readonly version: number;
  readonly lastSentMs: number | null;
  /** Messages that wait for the next try. */
  readonly waiting: number;
  /** Set while the last delivery failed. */
  readonly problem:
    | { readonly code: CallProblem; readonly detail: string; readonly sinceMs: number }
    | null;
}

export interface ReceiverList {
  readonly nowMs: number;
  /** Whether a mail server is configured. */
  readonly isMailConfigured: boolean;
  readonly items: readonly ReceiverRow[];
}

export interface ChangedReceiver {
  readonly nowMs: number;
  readonly item: ReceiverRow;
  /** The key of the signatures, if this call created one: it is not shown again. Otherwise "". */
  readonly webhookSecret: string;
}

/** The result of a test message. Mail: the message is in the mail queue, whose page shows whether the server accepts it. */
export interface ReceiverTested {
  readonly nowMs: number;
  readonly result:
    | { readonly ok: true; readonly tookMs: number }
    | { readonly ok: false; readonly code: CallProblem; readonly detail: string };
}

// Counters of the gateway, for /metrics and the console. Names are fixed, never text from outside.

import { NOT_SENT_REASONS, type NotSentReason } from "../factors/limits.ts";
import { DROP_REASONS, type DropReason } from "../protocol/drop_reasons.ts";
import { REQUEST_REFUSALS, type RequestRefusal } from "./request.ts";

const COUNTED = [
  "requests",
  "challenges",
  "accepts",
  "rejects",
  "duplicates",
  "logins_joined",
  "status_answers",
  "health_checks",
  "shadow_requests",
  "shadow_unanswered",
  "accounting_requests",
  "accounting_responses",
  "accounting_sessions_evicted",
  "sends",
  "send_failures",
  "tls_refused",
  "failures",
  "locks",
  "expired",
  "users_left",
  "ended_by_leaving",
  "disconnect_requests",
  "disconnect_acked",
  "disconnect_refused",
  "disconnect_no_answer",
] as const;

type CounterName =
  | typeof COUNTED[number]
  | `refused_${RequestRefusal}`
  | `sends_refused_${NotSentReason}`;

/** All of them are 0 before the first count, so that the first one is an increase for a monitoring system. */
const NAMES: readonly CounterName[] = [
  ...COUNTED,
  ...(Object.keys(REQUEST_REFUSALS) as RequestRefusal[]).map((reason) => `refused_${reason}` as const),
  ...(Object.keys(NOT_SENT_REASONS) as NotSentReason[]).map((reason) => `sends_refused_${reason}` as const),
];

interface Count {
  count: number;
}

export class Counters {
  readonly #drops = new Map<string, Count>(Object.keys(DROP_REASONS).map((reason) => [reason, { count: 0 }]));
  readonly #counts = new Map<string, Count>(NAMES.map((name) => [name, { count: 0 }]));

  count(name: CounterName): void {
    const known = this.#counts.get(name);
    if (known !== undefined) known.count++;
  }

  drop(reason: DropReason): void {
    const known = this.#drops.get(reason);
    if (known !== undefined) known.count++;
  }

  all(): Readonly<Record<string, number>> {
    return Object.fromEntries([
      ...[...this.#counts].map(([name, { count }]) => [name, count] as const),
      ...[...this.#drops].map(([reason, { count }]) => [`dropped_${reason}`, count] as const),
    ]);
  }
}

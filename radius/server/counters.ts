// Counters of the gateway, for /metrics and the console. Names are fixed, never text from outside.

import { DROP_REASONS, type DropReason } from "../protocol/drop_reasons.ts";

/** They are 0 before the first count, so that the first one is an increase for a monitoring system. */
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
];

interface Count {
  count: number;
}

export class Counters {
  readonly #drops = new Map<string, Count>(Object.keys(DROP_REASONS).map((reason) => [reason, { count: 0 }]));
  readonly #counts = new Map<string, Count>(COUNTED.map((name) => [name, { count: 0 }]));

  count(name: string): void {
    const known = this.#counts.get(name);
    if (known !== undefined) known.count++;
    else this.#counts.set(name, { count: 1 });
  }

  drop(reason: DropReason): void {
    const known = this.#drops.get(reason);
    if (known !== undefined) known.count++;
    else this.#drops.set(reason, { count: 1 });
  }

  all(): Readonly<Record<string, number>> {
    return Object.fromEntries([
      ...[...this.#counts].map(([name, { count }]) => [name, count] as const),
      ...[...this.#drops].map(([reason, { count }]) => [`dropped_${reason}`, count] as const),
    ]);
  }
}

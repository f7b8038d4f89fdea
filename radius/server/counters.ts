// Counters of the gateway, for /metrics and the console. Names are fixed, never text from outside.

import { DROP_REASONS, type DropReason } from "../protocol/drop_reasons.ts";

const COUNTED = [
  "requests",
  "challenges",
  "accepts",
  "rejects",
  "duplicates",
  "logins_joined",
  "status_answers",
  "accounting_requests",
  "accounting_responses",
  "accounting_sessions_evicted",
  "send_failures",
];

export class Counters {
  readonly #drops = new Map<string, number>(Object.keys(DROP_REASONS).map((reason) => [reason, 0]));
  readonly #counts = new Map<string, number>(COUNTED.map((name) => [name, 0]));

  count(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  drop(reason: DropReason): void {
    this.#drops.set(reason, (this.#drops.get(reason) ?? 0) + 1);
  }

  all(): Readonly<Record<string, number>> {
    return {
      ...Object.fromEntries(this.#counts),
      ...Object.fromEntries([...this.#drops].map(([reason, count]) => [`dropped_${reason}`, count])),
    };
  }
}

// Requests per minute of each connection, on this node: a token bucket that holds the requests of one minute.

import { MINUTE_MS } from "../../../platform/durations.ts";
import type { Clock } from "../../../platform/runtime.ts";

interface Bucket {
  tokens: number;
  atMs: number;
}

const MAX_BUCKETS = 10_000;

export class RequestRates {
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #buckets = new Map<string, Bucket>();

  constructor({ clock }: { clock: Pick<Clock, "nowMs"> }) {
    this.#clock = clock;
  }

  /** Counts a request. Returns the milliseconds until the next one is allowed; 0: this one is. */
  take(name: string, perMinute: number): number {
    const tokens = this.#tokens(name, perMinute);
    const isAllowed = tokens >= 1;
    this.#set(name, isAllowed ? tokens - 1 : tokens);
    return isAllowed ? 0 : Math.ceil((1 - tokens) * MINUTE_MS / perMinute);
  }

  /**
   * Counts the other operations of a request that was admitted: later requests wait for them. If earlier operations already make requests wait, it counts
   * nothing and returns the milliseconds until then.
   */
  charge(name: string, perMinute: number, operations: number): number {
    const tokens = this.#tokens(name, perMinute);
    if (tokens < 0) return Math.ceil((1 - tokens) * MINUTE_MS / perMinute);
    this.#set(name, tokens - operations);
    return 0;
  }

  #tokens(name: string, perMinute: number): number {
    const nowMs = this.#clock.nowMs();
    const known = this.#buckets.get(name) ?? { tokens: perMinute, atMs: nowMs };
    const refill = Math.max(0, nowMs - known.atMs) * perMinute / MINUTE_MS;
    return Math.min(perMinute, known.tokens + refill);
  }

  #set(name: string, tokens: number): void {
    this.#buckets.delete(name);
    this.#buckets.set(name, { tokens, atMs: this.#clock.nowMs() });
    for (const oldest of this.#buckets.keys()) {
      if (this.#buckets.size <= MAX_BUCKETS) break;
      this.#buckets.delete(oldest);
    }
  }
}

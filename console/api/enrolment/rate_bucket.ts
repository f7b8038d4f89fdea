// A limit of operations per minute: a token bucket that holds the tokens of one second.

import { MINUTE_MS } from "../../../platform/durations.ts";
import type { Clock } from "../../../platform/runtime.ts";

export class RateBucket {
  readonly #clock: Pick<Clock, "nowMs">;
  #perMinute: number;
  #tokens = 1;
  #filledMs: number;

  constructor({ clock, perMinute }: { clock: Pick<Clock, "nowMs">; perMinute: number }) {
    this.#clock = clock;
    this.#perMinute = perMinute;
    this.#filledMs = clock.nowMs();
  }

  /** Changes the limit from now on. */
  adjust(perMinute: number): void {
    this.#fill();
    this.#perMinute = perMinute;
  }

  hasToken(): boolean {
    this.#fill();
    return this.#tokens >= 1;
  }

  take(): void {
    this.#tokens -= 1;
  }

  /** How long it takes until there is a token. */
  waitMs(): number {
    this.#fill();
    return this.#tokens >= 1 ? 0 : Math.ceil((1 - this.#tokens) * MINUTE_MS / this.#perMinute);
  }

  #fill(): void {
    const nowMs = this.#clock.nowMs();
    const passedMs = Math.max(0, nowMs - this.#filledMs);
    this.#filledMs = nowMs;
    const most = Math.max(1, this.#perMinute / 60);
    this.#tokens = Math.min(most, this.#tokens + passedMs * this.#perMinute / MINUTE_MS);
  }
}

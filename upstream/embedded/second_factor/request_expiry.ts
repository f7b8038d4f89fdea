// The timer for requests that expire.

import type { Clock } from "../../../platform/runtime.ts";

const RETRY_AFTER_MS = 1000;

interface DueRequests {
  /** The deadline of the request that expires next, or `null`. */
  nextMs(): number | null;
  /** Records which requests expired. */
  expire(): Promise<void>;
}

/** One timer for the request that expires next. All requests live equally long, so they expire in the order of creation. */
export class RequestExpiry {
  readonly #clock: Clock;
  readonly #due: DueRequests;
  #cancelTimer: (() => void) | null = null;
  #running: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(clock: Clock, due: DueRequests) {
    this.#clock = clock;
    this.#due = due;
  }

  /** Starts the timer, unless it runs or no request is pending. */
  arm(minDelayMs = 0): void {
    if (this.#stopped || this.#cancelTimer !== null) return;
    const nextMs = this.#due.nextMs();
    if (nextMs === null) return;
    this.#cancelTimer = this.#clock.after(Math.max(minDelayMs, nextMs - this.#clock.nowMs(), 1), () => {
      this.#running = this.#fire();
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#running;
  }

  async #fire(): Promise<void> {
    let minDelayMs = 0;
    try {
      await this.#due.expire();
    } catch (_storeFailed) {
      // The requests count as expired, see requestAt(). Recording them waits for the store.
      minDelayMs = RETRY_AFTER_MS;
    }
    this.#cancelTimer = null;
    this.arm(minDelayMs);
  }
}

// A circuit breaker for one peer: after several failures in a row it refuses calls for a pause, then lets one call try.

import type { Clock, Random } from "./runtime.ts";

/** When a circuit breaker opens, and for how long. */
export interface BreakerLimits {
  /** Failures in a row that open it. */
  readonly failures: number;
  /** Failures count as one row if they begin within this time. */
  readonly windowMs: number;
  readonly firstPauseMs: number;
  /** Each call that tries and fails doubles the pause, up to this. */
  readonly longestPauseMs: number;
  /** The share of a pause, from 0 to 1, by which it is shortened at random. */
  readonly jitter: number;
}

export class CircuitBreaker {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #limits: BreakerLimits;
  #failures = 0;
  #firstFailureMs = 0;
  /** How often it opened in a row; 0 while it is closed. */
  #openings = 0;
  #retryAtMs = 0;
  #isProbing = false;

  constructor({ clock, random, limits }: { clock: Clock; random: Random; limits: BreakerLimits }) {
    this.#clock = clock;
    this.#random = random;
    this.#limits = limits;
  }

  get isOpen(): boolean {
    return this.#openings > 0;
  }

  /** Milliseconds until a call may go out; 0: now. */
  waitMs(): number {
    return this.isOpen ? Math.max(0, this.#retryAtMs - this.#clock.nowMs()) : 0;
  }

  /**
   * Asks for a call, just before it goes out. After a pause the first call is admitted as the probe; the others wait for
   * its result, or for another pause, because a probe may take long.
   *
   * @returns 0, or the milliseconds until a call may go out.
   */
  admit(): number {
    const waitMs = this.waitMs();
    if (waitMs > 0 || !this.isOpen) return waitMs;
    this.#isProbing = true;
    this.#retryAtMs = this.#clock.nowMs() + this.#pauseMs();
    return 0;
  }

  /** The peer answered, whatever it said. */
  succeed(): void {
    this.#failures = 0;
    this.#openings = 0;
    this.#isProbing = false;
  }

  /** The peer could not be reached or did not answer. Returns whether this opened the closed breaker. */
  fail(): boolean {
    const nowMs = this.#clock.nowMs();
    if (this.isOpen) {
      // Calls that were in progress when it opened say nothing new.
      if (this.#isProbing) this.#open(nowMs);
      return false;
    }
    if (this.#failures === 0 || nowMs - this.#firstFailureMs > this.#limits.windowMs) {
      this.#failures = 0;
      this.#firstFailureMs = nowMs;
    }
    if (++this.#failures < this.#limits.failures) return false;
    this.#open(nowMs);
    return true;
  }

  #open(nowMs: number): void {
    this.#openings++;
    this.#retryAtMs = nowMs + this.#pauseMs();
    this.#isProbing = false;
  }

  #pauseMs(): number {
    const { firstPauseMs, longestPauseMs, jitter } = this.#limits;
    const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** (this.#openings - 1));
    if (jitter === 0) return pauseMs;
    return pauseMs * (1 - jitter * (this.#random.bytes(1)[0] ?? 0) / 255);
  }
}

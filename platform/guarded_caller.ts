// Calls to one peer (a directory, a SCIM server, another service) with a limit on concurrent calls, a circuit breaker, a final
// deadline, and a report of each outcome. docs/adr/0008 compares the peers.

import { backoffMs } from "./backoff.ts";
import { type Clock, type Random, withTimeout } from "./runtime.ts";
import { Semaphore, type SemaphoreLimits, type SemaphoreRefusal } from "./semaphore.ts";

/** The result of a call. `F` is the caller's type of faults. */
export type CallOutcome<T, F> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fault: F };

/** Why the guard itself ends a call. */
export type CallRefusal =
  /** The breaker is open; the call was not sent. */
  | { readonly reason: "circuit_open"; readonly retryAfterMs: number }
  /** The call was not sent. */
  | { readonly reason: SemaphoreRefusal }
  /** The call was sent, and may have been processed. */
  | { readonly reason: "call_timeout" }
  | { readonly reason: "call_threw"; readonly error: unknown };

interface GuardedCallerOptions<F> {
  readonly clock: Clock;
  readonly random: Random;
  readonly limit: SemaphoreLimits;
  readonly breaker: BreakerLimits;
  toFault(refusal: CallRefusal): F;
  /** Whether a fault counts against the peer. Any other outcome shows that the peer answers. */
  isDown(fault: F): boolean;
  /** Whether a fault occurred before the peer was called, so that it says nothing about the peer. Default: never. */
  isLocal?(fault: F): boolean;
  /** The breaker opened because of `fault`. */
  onOpen?(fault: F): void;
  /** Receives each outcome for health, except of calls that got no free place: they say nothing about the peer. */
  onHealth?(outcome: CallOutcome<unknown, F>): void;
}

export interface CallOptions {
  /** `false`: the call does not count towards the limit and does not wait for a place. Default: `true`. */
  readonly limited?: boolean;
  /** When the wait for a place ends. Default: never. */
  readonly waitUntilMs?: number;
  /** The end of a running call, for tasks whose own deadlines may fail. Default: never. */
  readonly timeoutMs?: number;
  /** `false`: the outcome is not part of the health of the peer. Default: `true`. */
  readonly reported?: boolean;
}

export interface GuardedCaller<F> {
  /** Never rejects. */
  call<T>(task: () => Promise<CallOutcome<T, F>>, options?: CallOptions): Promise<CallOutcome<T, F>>;
  load(): { readonly running: number; readonly waiting: number; readonly isOpen: boolean };
  /** Refuses the waiting calls and all new ones. Resolves when the running calls have ended. */
  close(): Promise<void>;
}

export function createGuardedCaller<F>(options: GuardedCallerOptions<F>): GuardedCaller<F> {
  const { clock, random, toFault, isDown } = options;
  const semaphore = new Semaphore({ clock, limits: options.limit });
  const breaker = new CircuitBreaker({ clock, random, limits: options.breaker });

  const refuse = (refusal: CallRefusal): CallOutcome<never, F> => ({ ok: false, fault: toFault(refusal) });

  const isLocal = (outcome: CallOutcome<unknown, F>): boolean =>
    !outcome.ok && (options.isLocal?.(outcome.fault) ?? false);

  const report = <O extends CallOutcome<unknown, F>>(outcome: O, { reported = true }: CallOptions): O => {
    if (reported && !isLocal(outcome)) options.onHealth?.(outcome);
    return outcome;
  };

  /** Updates the breaker when the task ends, even if the caller has stopped waiting. */
  const learn = async <T>(task: () => Promise<CallOutcome<T, F>>): Promise<CallOutcome<T, F>> => {
    let outcome: CallOutcome<T, F>;
    try {
      outcome = await task();
    } catch (error) {
      outcome = refuse({ reason: "call_threw", error });
    }
    if (isLocal(outcome)) return outcome;
    if (outcome.ok || !isDown(outcome.fault)) breaker.succeed();
    else if (breaker.fail()) options.onOpen?.(outcome.fault);
    return outcome;
  };

  const admit = async <T>(
    task: () => Promise<CallOutcome<T, F>>,
    callOptions: CallOptions,
  ): Promise<CallOutcome<T, F>> => {
    const retryAfterMs = breaker.admit();
    if (retryAfterMs > 0) return report(refuse({ reason: "circuit_open", retryAfterMs }), callOptions);
    const running = learn(task).then((outcome) => report(outcome, callOptions));
    const { timeoutMs } = callOptions;
    if (timeoutMs === undefined) return await running;
    const timed = await withTimeout(running, { clock, timeoutMs });
    return timed.inTime ? timed.value : refuse({ reason: "call_timeout" });
  };

  return {
    async call(task, callOptions = {}) {
      const retryAfterMs = breaker.waitMs();
      // Checked again after the wait: the breaker may open while calls wait for a place.
      if (retryAfterMs > 0) return report(refuse({ reason: "circuit_open", retryAfterMs }), callOptions);
      if (callOptions.limited === false) return await admit(task, callOptions);
      const result = await semaphore.run(() => admit(task, callOptions), callOptions.waitUntilMs);
      return result.ran ? result.value : refuse({ reason: result.reason });
    },
    load: () => ({ running: semaphore.running, waiting: semaphore.waiting, isOpen: breaker.isOpen }),
    close: () => semaphore.close(),
  };
}

/** When a circuit breaker opens, and for how long. */
export interface BreakerLimits {
  readonly failures: number;
  /** Failures count as one row if they begin within this time. */
  readonly windowMs: number;
  readonly firstPauseMs: number;
  /** Each failed probe doubles the pause, up to this. */
  readonly longestPauseMs: number;
  /** The maximum share, from 0 to 1, by which a pause is shortened at random. */
  readonly jitter: number;
}

class CircuitBreaker {
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

  /** Milliseconds until a call is allowed; 0: now. */
  waitMs(): number {
    const leftMs = this.isOpen ? this.#retryAtMs - this.#clock.nowMs() : 0;
    // No pause is longer: the clock was set back.
    return leftMs > this.#limits.longestPauseMs ? 0 : Math.max(0, leftMs);
  }

  /**
   * Requests permission for a call, just before it is made. After a pause, the first call is admitted as the probe. The others wait
   * for its result, or for another pause, because a probe may take long.
   *
   * @returns 0, or the milliseconds until a call is allowed.
   */
  admit(): number {
    const waitMs = this.waitMs();
    if (waitMs > 0 || !this.isOpen) return waitMs;
    this.#isProbing = true;
    this.#retryAtMs = this.#clock.nowMs() + this.#pauseMs();
    return 0;
  }

  /** The peer answered, with success or an error. */
  succeed(): void {
    this.#failures = 0;
    this.#openings = 0;
    this.#isProbing = false;
  }

  /** The peer could not be reached or did not answer. Returns whether this opened the closed breaker. */
  fail(): boolean {
    const nowMs = this.#clock.nowMs();
    if (this.isOpen) {
      // Calls that were in progress when it opened do not count.
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
    const { firstPauseMs: firstMs, longestPauseMs: longestMs, jitter } = this.#limits;
    return backoffMs({ firstMs, longestMs, factors: [1, 1 - jitter] }, this.#openings, this.#random);
  }
}

// Calls to one peer (a directory, a SCIM server, another service) through one guard: a limit on concurrent calls, a
// circuit breaker, a last deadline, and a report of each outcome. docs/adr/0008 compares the peers.

import type { Clock, Random } from "./runtime.ts";
import { type BreakerLimits, CircuitBreaker } from "./circuit_breaker.ts";
import { Semaphore, type SemaphoreLimits, type SemaphoreRefusal } from "./semaphore.ts";
import { withTimeout } from "./timeout.ts";

/** What a call gives. `F` is the fault of the caller's own vocabulary. */
export type CallOutcome<T, F> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly fault: F };

/** Why the guard itself ends a call. */
export type CallRefusal =
  /** The breaker is open; the call did not go out. */
  | { readonly reason: "circuit_open"; readonly retryAfterMs: number }
  /** The call did not go out. */
  | { readonly reason: SemaphoreRefusal }
  /** The call went out, and may have been processed. */
  | { readonly reason: "call_timeout" }
  | { readonly reason: "call_threw"; readonly error: unknown };

export interface GuardedCallerOptions<F> {
  readonly clock: Clock;
  readonly random: Random;
  readonly limit: SemaphoreLimits;
  readonly breaker: BreakerLimits;
  toFault(refusal: CallRefusal): F;
  /** Whether a fault counts against the peer. Any other outcome shows that the peer answers. */
  isDown(fault: F): boolean;
  /** The breaker opened because of `fault`. */
  onOpen?(fault: F): void;
  /** Receives each outcome for health, but not calls that found no place: they say nothing about the peer. */
  onHealth?(outcome: CallOutcome<unknown, F>): void;
}

export interface CallOptions {
  /** `false`: neither counts towards the limit nor waits for a place. Default: `true`. */
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

  const report = <O extends CallOutcome<unknown, F>>(outcome: O, { reported = true }: CallOptions): O => {
    if (reported) options.onHealth?.(outcome);
    return outcome;
  };

  /** Learns from the task's own end, which may come after the caller gave up. */
  const learn = async <T>(task: () => Promise<CallOutcome<T, F>>): Promise<CallOutcome<T, F>> => {
    let outcome: CallOutcome<T, F>;
    try {
      outcome = await task();
    } catch (error) {
      outcome = refuse({ reason: "call_threw", error });
    }
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
      const turn = await semaphore.run(() => admit(task, callOptions), callOptions.waitUntilMs);
      return turn.ran ? turn.value : refuse({ reason: turn.reason });
    },
    load: () => ({ running: semaphore.running, waiting: semaphore.waiting, isOpen: breaker.isOpen }),
    close: () => semaphore.close(),
  };
}

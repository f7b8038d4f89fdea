// Sends push messages: one guarded caller per push host, retries inside the deadline of the message, and the order of messages
// about the same subject. The status page shows the last result of each host.

import { type Backoff, backoffMs } from "../../../platform/backoff.ts";
import {
  type BreakerLimits,
  type CallRefusal,
  createGuardedCaller,
  type GuardedCaller,
} from "../../../platform/guarded_caller.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import { RunningTasks } from "../../../platform/semaphore.ts";
import {
  type PushExchangeResult,
  type PushProblem,
  pushProblem,
  type PushProblemCode,
} from "./push_exchange.ts";

/** A message for one phone. */
interface PushJob {
  readonly host: string;
  /** Phone and subject: a later job with this key replaces an earlier one, and never overtakes it. */
  readonly key: string;
  readonly deadlineMs: number;
  /** Whether this job has a meaning only if the replaced one may have reached the phone. */
  readonly onlyAfter?: boolean;
  /** Whether the message still has a meaning. Asked before each attempt, because another node can end what it is about. */
  readonly isNeeded?: () => boolean;
  /** Sends the message once. */
  attempt(bounds: AttemptBounds): Promise<PushExchangeResult>;
}

/** When an attempt ends at the latest. */
export interface AttemptBounds {
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

/** What became of a message. `replaced`: a later one about the same subject made it needless. */
export type PushResult = PushExchangeResult | { readonly ok: false; readonly fault: "replaced" };

/** The last results of one host. */
export interface PushHostStatus {
  readonly host: string;
  readonly lastGoodMs: number | null;
  /** The last problem, if nothing succeeded since. */
  readonly problem: (PushProblem & { readonly atMs: number }) | null;
}

interface PushSenderDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** A host has another problem than before; `null`: none. */
  readonly onHostChange?: (host: string, problem: PushProblem | null) => void;
}

const LIMITS = { concurrent: 16, waiting: 2000 } as const;
const BREAKER: BreakerLimits = {
  failures: 5,
  windowMs: 30_000,
  firstPauseMs: 2000,
  longestPauseMs: 60_000,
  jitter: 0.5,
};
const EXCHANGE_MS = 10_000;
/** How long messages in progress have when the process ends. */
const CLOSE_MS = 2000;
const MAX_ATTEMPTS = 5;
const PAUSES: Backoff = { firstMs: 1000, longestMs: 16_000, factors: [0.5, 1] };
const MAX_HOSTS = 64;
/** Messages in progress, with those that wait for a retry. */
const MAX_JOBS = 20_000;

const RETRIED: ReadonlySet<PushProblemCode> = new Set<PushProblemCode>([
  "rate_limited",
  "service_failed",
  "unreachable",
  "timed_out",
  "paused",
]);
/** The push service does not work. Other answers show that it does. */
const DOWN: ReadonlySet<PushProblemCode> = new Set<PushProblemCode>([
  "service_failed",
  "unreachable",
  "timed_out",
]);
/** The message may have reached the push service. */
const UNCERTAIN: ReadonlySet<PushProblemCode> = new Set<PushProblemCode>(["timed_out", "unreachable"]);

interface RunningJob {
  readonly replaced: PromiseWithResolvers<void>;
  isReplaced: boolean;
  /** Whether the message may have reached the phone. */
  readonly mayHaveArrived: Promise<boolean>;
}

interface PushHost {
  readonly caller: GuardedCaller<PushProblem>;
  lastGoodMs: number | null;
  problem: PushHostStatus["problem"];
}

export class PushSender {
  readonly #deps: PushSenderDeps;
  readonly #hosts = new Map<string, PushHost>();
  readonly #jobs = new Map<string, RunningJob>();
  readonly #running = new RunningTasks();
  #jobCount = 0;
  readonly #closing = Promise.withResolvers<void>();
  readonly #aborted = new AbortController();
  #isClosed = false;

  constructor(deps: PushSenderDeps) {
    this.#deps = deps;
  }

  /** Never rejects. Ends at the deadline of the job and the end of an attempt that runs then. */
  send(job: PushJob): Promise<PushResult> {
    return this.#running.run(() => this.#send(job));
  }

  /** The hosts that were called, in the order of their names. */
  status(): PushHostStatus[] {
    return [...this.#hosts].map(([host, { lastGoodMs, problem }]) => ({ host, lastGoodMs, problem }))
      .sort((a, b) => a.host < b.host ? -1 : 1);
  }

  /** Messages in progress, with those that wait for another attempt. */
  get jobCount(): number {
    return this.#jobCount;
  }

  /** Calls a host outside of a message, such as for a test. */
  async call(
    host: string,
    attempt: PushJob["attempt"],
  ): Promise<PushExchangeResult> {
    const { clock } = this.#deps;
    return await this.#attempt(host, { attempt, deadlineMs: clock.nowMs() + EXCHANGE_MS });
  }

  /** Ends the waits at once, and the exchanges in progress after a moment. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#closing.resolve();
    const cancel = this.#deps.clock.after(CLOSE_MS, () => this.#aborted.abort());
    await Promise.all([...this.#hosts.values()].map(({ caller }) => caller.close()));
    await this.#running.settled();
    cancel();
  }

  async #send(job: PushJob): Promise<PushResult> {
    if (this.#isClosed || this.#jobCount >= MAX_JOBS) return failure(pushProblem("overloaded"));
    const before = this.#jobs.get(job.key);
    const arrived = Promise.withResolvers<boolean>();
    const own: RunningJob = {
      replaced: Promise.withResolvers(),
      isReplaced: false,
      mayHaveArrived: arrived.promise,
    };
    this.#jobs.set(job.key, own);
    this.#jobCount++;
    let mayHaveArrived = false;
    try {
      const isNeedless = await this.#afterEarlier(before, job);
      if (isNeedless) return { ok: false, fault: "replaced" };
      const { result, isUncertain } = await this.#sendWithRetries(job, own);
      mayHaveArrived = result.ok || isUncertain;
      return result;
    } finally {
      this.#jobCount--;
      arrived.resolve(mayHaveArrived);
      if (this.#jobs.get(job.key) === own) this.#jobs.delete(job.key);
    }
  }

  /** Ends the retries of an earlier job, and waits for its attempt. Returns whether this job is needless. */
  async #afterEarlier(before: RunningJob | undefined, { onlyAfter = false }: PushJob): Promise<boolean> {
    if (before === undefined) return false;
    before.isReplaced = true;
    before.replaced.resolve();
    return !await before.mayHaveArrived && onlyAfter;
  }

  async #sendWithRetries(
    job: PushJob,
    own: RunningJob,
  ): Promise<{ result: PushResult; isUncertain: boolean }> {
    const { clock } = this.#deps;
    let isUncertain = false;
    for (let attempt = 1;; attempt++) {
      if (own.isReplaced || job.isNeeded?.() === false) {
        return { result: { ok: false, fault: "replaced" }, isUncertain };
      }
      if (clock.nowMs() >= job.deadlineMs) return { result: failure(pushProblem("timed_out")), isUncertain };
      const result = await this.#attempt(job.host, job);
      if (result.ok) return { result, isUncertain: true };
      isUncertain ||= UNCERTAIN.has(result.fault.code);
      const pauseMs = Math.max(
        result.fault.retryAfterMs ?? 0,
        backoffMs(PAUSES, attempt, this.#deps.random),
      );
      const isOver = attempt >= MAX_ATTEMPTS || !RETRIED.has(result.fault.code) ||
        clock.nowMs() + pauseMs >= job.deadlineMs;
      if (isOver || this.#isClosed) return { result, isUncertain };
      await this.#pause(pauseMs, own);
      if (this.#isClosed) return { result, isUncertain };
    }
  }

  async #attempt(
    host: string,
    { attempt, deadlineMs }: Pick<PushJob, "attempt" | "deadlineMs">,
  ): Promise<PushExchangeResult> {
    const { clock } = this.#deps;
    const known = this.#host(host);
    const outcome = await known.caller.call(async () => {
      const result = await attempt({
        deadlineMs: Math.min(deadlineMs, clock.nowMs() + EXCHANGE_MS),
        signal: this.#aborted.signal,
      });
      return result.ok ? { ok: true, value: null } : result;
    }, { waitUntilMs: deadlineMs, timeoutMs: EXCHANGE_MS + 1000 });
    this.#note(host, { known, fault: outcome.ok ? null : outcome.fault });
    return outcome.ok ? { ok: true } : { ok: false, fault: outcome.fault };
  }

  #note(host: string, { known, fault }: { known: PushHost; fault: PushProblem | null }): void {
    // A pause of the breaker is no news about the host.
    if (fault?.code === "paused") return;
    const atMs = this.#deps.clock.nowMs();
    // An ended subscription shows that the push service works.
    const problem = fault === null || fault.code === "gone" ? null : fault;
    if (problem === null) known.lastGoodMs = atMs;
    if (problem?.code !== known.problem?.code) this.#deps.onHostChange?.(host, problem);
    known.problem = problem === null ? null : { ...problem, atMs };
  }

  async #pause(pauseMs: number, own: RunningJob): Promise<void> {
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const cancel = this.#deps.clock.after(pauseMs, resolve);
    await Promise.race([over, own.replaced.promise, this.#closing.promise]);
    cancel();
  }

  #host(host: string): PushHost {
    const known = this.#hosts.get(host) ??
      { caller: createCaller(this.#deps), lastGoodMs: null, problem: null };
    // The host in use becomes the last one, so that foreign names in subscriptions do not displace it.
    this.#hosts.delete(host);
    this.#hosts.set(host, known);
    const [idlest] = this.#hosts.keys();
    if (this.#hosts.size > MAX_HOSTS && idlest !== undefined) this.#hosts.delete(idlest);
    return known;
  }
}

function failure(fault: PushProblem): PushResult {
  return { ok: false, fault };
}

function createCaller(deps: { clock: Clock; random: Random }): GuardedCaller<PushProblem> {
  return createGuardedCaller<PushProblem>({
    ...deps,
    limit: LIMITS,
    breaker: BREAKER,
    toFault: refusalProblem,
    isDown: ({ code }) => DOWN.has(code),
    isLocal: ({ code }) => code === "host_not_allowed" || code === "failed",
  });
}

function refusalProblem(refusal: CallRefusal): PushProblem {
  switch (refusal.reason) {
    case "circuit_open":
      return pushProblem("paused", { retryAfterMs: refusal.retryAfterMs });
    case "queue_full":
    case "wait_timeout":
    case "closed":
      return pushProblem("overloaded");
    case "call_timeout":
      return pushProblem("timed_out");
    case "call_threw":
      return pushProblem("failed");
  }
}

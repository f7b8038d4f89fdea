// Deadlines for a KV Connect endpoint (store.kv). The client of the runtime repeats a call for ever if the server is down, waits for
// ever if the connection is dead, and cannot cancel a call (measured with Deno 2.9.6 and denokv 0.14.0). Here a call ends in time, and a
// connection that missed a deadline is replaced.

import type { Clock } from "./runtime.ts";
import { StoreUnavailable } from "./store_fault.ts";
import { type WatchingKv, watchingKv } from "./watching_kv.ts";

/** Limits of one call, in milliseconds. */
export interface KvDeadlines {
  /** A get, a getMany, or one batch of a list. */
  readonly readMs: number;
  readonly commitMs: number;
  /**
   * If a call is pending for this time, further calls wait here and are not sent. So few calls are lost with a connection, and the client
   * of the runtime, which writes a line to stderr for each of its repetitions, writes few.
   */
  readonly holdMs: number;
  /** The pause between two attempts to open a new connection. */
  readonly reopenMs: number;
}

/**
 * A restart of the server takes less than 3 s, and calls that wait for it succeed. After that, the client of a RADIUS server that is
 * silent has not failed over yet: usual timeouts are 3 to 5 s.
 */
export const KV_DEADLINES: KvDeadlines = { readMs: 3000, commitMs: 3000, holdMs: 500, reopenMs: 500 };

export interface KvConnectionDeps {
  readonly clock: Clock;
  /** Opens a new connection to the same store. It must reject after a time of its own. */
  readonly open: () => Promise<Deno.Kv>;
  readonly deadlines?: Partial<KvDeadlines>;
  /** Called when the connection missed a deadline. Calls fail from now on. */
  readonly onLost?: () => void;
  /** Called when a new connection is open. Commits of the old one may still be applied. */
  readonly onReopened?: () => void;
}

/** While the store answers other calls, a call may take this many times its deadline: it waits behind them. */
const MAX_DEADLINES = 4;
/** Deadlines are counted in ticks, not by the clock. A process that was suspended still has time to read the answers that wait for it. */
const TICK_MS = 125;

interface PendingCall {
  readonly sinceTick: number;
  readonly deadlineTicks: number;
  readonly reject: (fault: StoreUnavailable) => void;
  /** Sends the call; `null` after that. */
  send: (() => void) | null;
}

/**
 * A `Deno.Kv` whose calls end in time.
 *
 * A call that misses its deadline rejects with {@link StoreUnavailable}, and with it all calls in progress. While no connection is open,
 * calls reject at once. A commit that rejects with `wasSent` has an UNKNOWN outcome: it may have been applied, and it may still be applied
 * later, also after the store answered other calls. The caller must prevent that with a check (platform/cluster/change_log.ts).
 */
export class KvConnection implements Deno.Kv, WatchingKv {
  readonly #deps: KvConnectionDeps;
  readonly #deadlines: KvDeadlines;
  readonly #pending = new Set<PendingCall>();
  #kv: Deno.Kv;
  #state: "open" | "lost" | "closed" = "open";
  #tick = 0;
  #answerTick = 0;
  #isTicking = false;

  /** @param kv an open connection; closing this object closes it */
  constructor(kv: Deno.Kv, deps: KvConnectionDeps) {
    this.#kv = kv;
    this.#deps = deps;
    this.#deadlines = { ...KV_DEADLINES, ...deps.deadlines };
  }

  /** Whether calls are sent to the store. */
  get isOpen(): boolean {
    return this.#state === "open";
  }

  get<T = unknown>(
    key: Deno.KvKey,
    options?: { consistency?: Deno.KvConsistencyLevel },
  ): Promise<Deno.KvEntryMaybe<T>> {
    return this.#call(this.#deadlines.readMs, (kv) => kv.get<T>(key, options));
  }

  getMany<T extends readonly unknown[]>(
    keys: readonly [...{ [K in keyof T]: Deno.KvKey }],
    options?: { consistency?: Deno.KvConsistencyLevel },
  ): Promise<{ [K in keyof T]: Deno.KvEntryMaybe<T[K]> }> {
    return this.#call(this.#deadlines.readMs, (kv) => kv.getMany<T>(keys, options));
  }

  list<T = unknown>(selector: Deno.KvListSelector, options?: Deno.KvListOptions): Deno.KvListIterator<T> {
    const kv = this.#kv;
    const batches = kv.list<T>(selector, options);
    const next = batches.next.bind(batches);
    batches.next = () => this.#call(this.#deadlines.readMs, next, kv);
    return batches;
  }

  set(key: Deno.KvKey, value: unknown, options?: { expireIn?: number }): Promise<Deno.KvCommitResult> {
    return this.#call(this.#deadlines.commitMs, (kv) => kv.set(key, value, options));
  }

  delete(key: Deno.KvKey): Promise<void> {
    return this.#call(this.#deadlines.commitMs, (kv) => kv.delete(key));
  }

  atomic(): Deno.AtomicOperation {
    const kv = this.#kv;
    const operation = kv.atomic();
    const commit = operation.commit.bind(operation);
    operation.commit = () => this.#call(this.#deadlines.commitMs, commit, kv);
    return operation;
  }

  /** Not limited: a watch that is silent may be one of keys that do not change. It ends when the connection is replaced. */
  watch<T extends readonly unknown[]>(
    keys: readonly [...{ [K in keyof T]: Deno.KvKey }],
    options?: { raw?: boolean },
  ): ReadableStream<{ [K in keyof T]: Deno.KvEntryMaybe<T[K]> }> {
    return this.#kv.watch<T>(keys, options);
  }

  /** Has a deadline of its own. */
  waitForChange(...[keys, options]: Parameters<WatchingKv["waitForChange"]>): Promise<void> {
    const watching = this.#state === "open" ? watchingKv(this.#kv) : null;
    return watching?.waitForChange(keys, options) ??
      Promise.reject(new StoreUnavailable("The store cannot be watched"));
  }

  commitVersionstamp(): symbol {
    return this.#kv.commitVersionstamp();
  }

  /** @throws Error always: KV Connect has no queues */
  enqueue(): Promise<Deno.KvCommitResult> {
    throw new Error("Cannot use the queue: KV Connect has none");
  }

  /** @throws Error always: KV Connect has no queues */
  listenQueue(): Promise<void> {
    throw new Error("Cannot use the queue: KV Connect has none");
  }

  /** Ends all calls in progress. A commit among them may still be applied. The process must end itself: the client of the runtime may not. */
  close(): void {
    if (this.#state === "closed") return;
    const wasOpen = this.#state === "open";
    this.#state = "closed";
    if (wasOpen) this.#kv.close();
    this.#rejectAll("The store is closed");
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** @param belongsTo the connection of an iterator or of an operation, which no other connection continues */
  #call<T>(deadlineMs: number, work: (kv: Deno.Kv) => Promise<T>, belongsTo?: Deno.Kv): Promise<T> {
    if (this.#state !== "open") {
      const state = this.#state === "lost" ? "does not answer" : "is closed";
      return Promise.reject(new StoreUnavailable(`The store ${state}`));
    }
    if (belongsTo !== undefined && belongsTo !== this.#kv) {
      return Promise.reject(new StoreUnavailable("The connection to the store was replaced"));
    }
    return new Promise((resolve, reject) => {
      const call: PendingCall = {
        sinceTick: this.#tick,
        deadlineTicks: ticksOf(deadlineMs),
        reject,
        send: () => {
          call.send = null;
          // Started in a microtask of its own, so that an error thrown by `work` is a rejection.
          Promise.resolve(this.#kv).then(work).then((value) => {
            if (!this.#pending.delete(call)) return;
            resolve(value);
            this.#answered();
          }, (fault: unknown) => {
            if (!this.#pending.delete(call)) return;
            reject(fault);
            this.#answered();
          });
        },
      };
      const isHeld = this.#isSilent();
      this.#pending.add(call);
      if (!isHeld) call.send?.();
      if (!this.#isTicking) this.#tickLater();
    });
  }

  /** Whether calls wait and none was answered for so long that no more calls are sent. The oldest call is the first of the set. */
  #isSilent(): boolean {
    for (const { sinceTick } of this.#pending) {
      return this.#tick - Math.max(sinceTick, this.#answerTick) > ticksOf(this.#deadlines.holdMs);
    }
    return false;
  }

  #answered(): void {
    this.#answerTick = this.#tick;
    for (const { send } of this.#pending) send?.();
  }

  /** The tick in progress when a call began is not complete, so it is not counted. */
  #isOverdue({ sinceTick, deadlineTicks }: PendingCall): boolean {
    const passed = this.#tick - sinceTick;
    return passed > deadlineTicks && (this.#isSilent() || passed > deadlineTicks * MAX_DEADLINES);
  }

  #tickLater(): void {
    this.#isTicking = true;
    this.#deps.clock.after(TICK_MS, () => {
      this.#tick++;
      this.#isTicking = false;
      if (this.#pending.size === 0 || this.#state !== "open") return;
      for (const call of this.#pending) {
        if (this.#isOverdue(call)) return this.#lose();
      }
      this.#tickLater();
    });
  }

  #lose(): void {
    this.#state = "lost";
    // Its calls cannot be cancelled: they end when the store answers again, and their results are ignored.
    this.#kv.close();
    this.#rejectAll("The store did not answer in time");
    this.#deps.onLost?.();
    void this.#reopen();
  }

  #rejectAll(message: string): void {
    const calls = [...this.#pending];
    this.#pending.clear();
    for (const { send, reject } of calls) {
      reject(new StoreUnavailable(message, { wasSent: send === null }));
    }
  }

  async #reopen(): Promise<void> {
    try {
      const kv = await this.#deps.open();
      if (this.#state === "closed") return kv.close();
      this.#kv = kv;
      this.#state = "open";
      this.#deps.onReopened?.();
    } catch (_stillDown) {
      if (this.#state === "closed") return;
      this.#deps.clock.after(this.#deadlines.reopenMs, () => void this.#reopen());
    }
  }
}

function ticksOf(durationMs: number): number {
  return Math.ceil(durationMs / TICK_MS);
}

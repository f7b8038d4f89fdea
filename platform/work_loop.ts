// A loop of background work: passes one after another, a wait between them that a wake-up ends, and tasks that a pass
// starts and that run beside it.

import type { CancelTimer, Clock } from "./runtime.ts";

export interface WorkLoopDeps {
  readonly clock: Clock;
  /** One pass. It may set the time of the next one with {@link WorkLoop.dueAt}. */
  readonly pass: () => Promise<void>;
  readonly onFault: (fault: unknown) => void;
  /** The longest wait between two passes. */
  readonly intervalMs: number;
  /** The wait after a pass that failed. Default: five seconds. */
  readonly retryMs?: number;
  /** The first wake-up waits for others for so long, so that they make one pass. Default: 0. */
  readonly wakeDelayMs?: number;
  /** Without a wake-up, no pass begins before it. */
  readonly pausedUntilMs?: () => number;
}

const RETRY_MS = 5000;

export class WorkLoop {
  readonly #deps: WorkLoopDeps;
  readonly #active = new Map<string, Promise<void>>();
  #running: Promise<void> = Promise.resolve();
  #nextMs = Number.POSITIVE_INFINITY;
  #isWaiting = true;
  #isWoken = false;
  #isClosed = false;
  #cancel: CancelTimer = () => undefined;

  constructor(deps: WorkLoopDeps) {
    this.#deps = deps;
  }

  /** Begins a pass, or another one after the pass in progress. The first call starts the loop. */
  wake(): void {
    const { wakeDelayMs = 0 } = this.#deps;
    const isFirst = !this.#isWoken;
    this.#isWoken = true;
    if (!this.#isWaiting) return;
    if (wakeDelayMs === 0) this.#begin();
    // Later ones do not postpone the pass, or frequent ones would prevent it.
    else if (isFirst) this.#wait(wakeDelayMs);
  }

  /** The next pass begins at this time at the latest. Call it during a pass, or before a wake-up. */
  dueAt(atMs: number): void {
    this.#nextMs = Math.min(this.#nextMs, atMs);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The tasks in progress, by key. */
  get active(): ReadonlyMap<string, Promise<void>> {
    return this.#active;
  }

  /** Adds a task, which must not reject. @param onEnd the default wakes the loop */
  track(key: string, task: Promise<void>, onEnd: () => void = () => this.wake()): void {
    const ended = task.finally(() => {
      this.#active.delete(key);
      onEnd();
    });
    this.#active.set(key, ended);
  }

  /** Resolves when the pass in progress ends. */
  idle(): Promise<void> {
    return this.#running;
  }

  /** Begins no further pass. Resolves when the pass and the tasks in progress end. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel();
    await Promise.all([this.#running, ...this.#active.values()]);
  }

  #wait(durationMs: number): void {
    this.#cancel();
    if (this.#isClosed) return;
    this.#isWaiting = true;
    this.#cancel = this.#deps.clock.after(durationMs, () => this.#begin());
  }

  #begin(): void {
    this.#cancel();
    if (this.#isClosed) return;
    this.#isWaiting = false;
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    const { clock, pass, onFault, intervalMs, retryMs, wakeDelayMs = 0, pausedUntilMs } = this.#deps;
    // Several wake-ups at once make one pass.
    await Promise.resolve();
    this.#isWoken = false;
    this.#nextMs = Number.POSITIVE_INFINITY;
    try {
      await pass();
    } catch (fault) {
      onFault(fault);
      this.dueAt(clock.nowMs() + (retryMs ?? RETRY_MS));
    }
    const untilMs = Math.max(this.#nextMs, pausedUntilMs?.() ?? 0);
    if (this.#isWoken && wakeDelayMs === 0) this.#begin();
    else this.#wait(this.#isWoken ? wakeDelayMs : Math.min(intervalMs, Math.max(0, untilMs - clock.nowMs())));
  }
}

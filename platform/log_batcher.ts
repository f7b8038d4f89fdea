// Gathers the lines of the event log and writes them, one write at a time. What is lost on the way is counted.

import type { Clock } from "./runtime.ts";
import { withTimeout } from "./timeout.ts";

/** What was lost on the way, since the start. */
export interface LogLosses {
  /** Lines that found the buffer full. */
  readonly dropped: number;
  /** Lines whose write failed. */
  readonly unwritten: number;
  /** Writes that failed, and the name of the last failure. */
  readonly failedWrites: number;
  readonly lastFailure: string | null;
}

/** What the batcher needs: `write` takes a batch of whole lines in UTF-8. */
export interface LogBatcherDeps {
  readonly clock: Clock;
  readonly write: (lines: Uint8Array) => Promise<void> | void;
  /** The line that says what was lost. */
  readonly noticeOf: (losses: LogLosses) => string;
}

/** How long a line waits for company. */
const BATCH_WAIT_MS = 5;
const BATCH_CHARACTERS = 64 * 1024;
/** Beyond this, lines are dropped: a blocked terminal must not take the memory. */
const MAX_WAITING_OCTETS = 8 * 1024 * 1024;
const FLUSH_DEADLINE_MS = 2000;

interface Batch {
  readonly octets: Uint8Array;
  readonly lines: number;
}

/** The lines that wait, and the batches under way. */
export class LogBatcher {
  readonly #deps: LogBatcherDeps;
  readonly #encoder = new TextEncoder();
  #pending = "";
  #pendingLines = 0;
  #timerRuns = false;
  #queue: Batch[] = [];
  #queuedOctets = 0;
  #draining: Promise<void> | null = null;
  #dropped = 0;
  #unwritten = 0;
  #failedWrites = 0;
  #lastFailure: string | null = null;
  #noticed = 0;

  constructor(deps: LogBatcherDeps) {
    this.#deps = deps;
  }

  /** What was lost since the start. */
  losses(): LogLosses {
    return {
      dropped: this.#dropped,
      unwritten: this.#unwritten,
      failedWrites: this.#failedWrites,
      lastFailure: this.#lastFailure,
    };
  }

  /** Takes a line and returns at once. A line that finds the buffer full is dropped. */
  add(line: string): void {
    if (this.#queuedOctets + this.#pending.length + line.length > MAX_WAITING_OCTETS) {
      this.#dropped += 1;
      return;
    }
    this.#pending += line;
    this.#pendingLines += 1;
    if (this.#pending.length >= BATCH_CHARACTERS) this.#start();
    else if (!this.#timerRuns) {
      this.#timerRuns = true;
      this.#deps.clock.after(BATCH_WAIT_MS, () => {
        this.#timerRuns = false;
        this.#start();
      });
    }
  }

  /** Resolves when all lines so far are written, or after 2 s. Never rejects. */
  async flush(): Promise<void> {
    this.#start();
    if (this.#draining === null) return;
    // The second round is for the notice of what was lost.
    const written = this.#draining.then(() => {
      this.#start();
      return this.#draining;
    });
    await withTimeout(written, { clock: this.#deps.clock, timeoutMs: FLUSH_DEADLINE_MS });
  }

  #takePending(): void {
    if (this.#pending === "") return;
    const octets = this.#encoder.encode(this.#pending);
    this.#queue.push({ octets, lines: this.#pendingLines });
    this.#queuedOctets += octets.length;
    this.#pending = "";
    this.#pendingLines = 0;
  }

  async #writeBatch(batch: Batch): Promise<void> {
    try {
      await this.#deps.write(batch.octets);
      // Only now can the log be read; a notice that is lost as well is made again.
      if (this.#dropped + this.#unwritten > this.#noticed) {
        this.#noticed = this.#dropped + this.#unwritten;
        this.#pending += this.#deps.noticeOf(this.losses());
        this.#pendingLines += 1;
      }
    } catch (failure) {
      this.#failedWrites += 1;
      this.#unwritten += batch.lines;
      this.#lastFailure = failure instanceof Error ? failure.name : typeof failure;
    }
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const batches = this.#queue;
      this.#queue = [];
      for (const batch of batches) {
        await this.#writeBatch(batch);
        this.#queuedOctets -= batch.octets.length;
      }
      // A notice must not wait for the next event.
      if (this.#queue.length === 0 && !this.#timerRuns) this.#takePending();
    }
    this.#draining = null;
  }

  #start(): void {
    this.#takePending();
    // `drain` runs on its own and keeps what fails in the losses.
    if (this.#queue.length > 0) this.#draining ??= this.#drain();
  }
}

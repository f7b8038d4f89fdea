// Log lines that a flood would repeat. Up to a rate, each event has its own line. Beyond it, one line per second contains the number of events.

import type { Log } from "../../platform/log.ts";
import type { LogFields, LogLevel } from "../../platform/log_line.ts";
import type { Clock } from "../../platform/runtime.ts";

interface Line {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

interface Kind {
  tokens: number;
  atMs: number;
  folded: number;
  last: Line | null;
  cancel: () => void;
}

const BURST = 1000;
const PER_SECOND = 100;
const SUMMARY_MS = 1000;

interface FoldedLogDeps {
  readonly log: Log;
  readonly clock: Clock;
  readonly burst?: number;
  readonly perSecond?: number;
}

export class FoldedLog {
  readonly #deps: Required<FoldedLogDeps>;
  readonly #kinds = new Map<string, Kind>();

  constructor(deps: FoldedLogDeps) {
    this.#deps = { burst: BURST, perSecond: PER_SECOND, ...deps };
  }

  /** Writes an event, or counts it. `kind` is one of a few fixed words. Returns whether the event has its own line. */
  write(kind: string, line: Line): boolean {
    const { log, clock, burst, perSecond } = this.#deps;
    const nowMs = clock.nowMs();
    let state = this.#kinds.get(kind);
    if (state === undefined) {
      state = { tokens: burst, atMs: nowMs, folded: 0, last: null, cancel: () => undefined };
      this.#kinds.set(kind, state);
    }
    const passedMs = Math.max(0, nowMs - state.atMs);
    state.tokens = Math.min(burst, state.tokens + passedMs * perSecond / 1000);
    state.atMs = nowMs;
    if (state.tokens >= 1) {
      state.tokens--;
      log[line.level](line.message, line.fields);
      return true;
    }
    state.last = line;
    if (state.folded++ > 0) return false;
    const waiting = state;
    state.cancel = clock.after(SUMMARY_MS, () => this.#summarize(waiting));
    return false;
  }

  /** Writes the pending counts now. */
  flush(): void {
    for (const kind of this.#kinds.values()) this.#summarize(kind);
  }

  #summarize(kind: Kind): void {
    kind.cancel();
    const { folded, last } = kind;
    if (folded === 0 || last === null) return;
    kind.folded = 0;
    kind.last = null;
    this.#deps.log[last.level](last.message, { ...last.fields, folded });
  }
}

const INTERVAL_MS = 60_000;
const MAX_REMEMBERED = 2000;

/** Allows one line a minute for each reason and source. */
export class LogLimit {
  readonly #clock: Pick<Clock, "nowMs">;
  /** By source, and then by reason: a text of both would cost an allocation for each drop. */
  readonly #loggedMs = new Map<string, Map<string, number>>();
  #count = 0;

  constructor(clock: Pick<Clock, "nowMs">) {
    this.#clock = clock;
  }

  /** Whether a line of this reason and source may be logged now. If so, remembers that it is logged. */
  mayLog(reason: string, source: string): boolean {
    const nowMs = this.#clock.nowMs();
    const last = this.#loggedMs.get(source)?.get(reason);
    if (last !== undefined && nowMs - last < INTERVAL_MS) return false;
    if (last === undefined && this.#count++ >= MAX_REMEMBERED) {
      this.#loggedMs.clear();
      this.#count = 1;
    }
    const ofSource = this.#loggedMs.get(source) ?? new Map<string, number>();
    this.#loggedMs.set(source, ofSource.set(reason, nowMs));
    return true;
  }
}

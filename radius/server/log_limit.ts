// Limits how often the same thing is logged: a drop of one reason from one source at most once a minute.

import type { Clock } from "../../platform/runtime.ts";

const INTERVAL_MS = 60_000;
const MAX_REMEMBERED = 2000;

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

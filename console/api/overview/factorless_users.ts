// Counts the active users without a second factor. No index has this number, because directory phone numbers are factors, too. So
// the users are read in the background, at most for a twentieth of the time, and only after something changed.

import type { Log } from "../../../platform/log.ts";
import { type Clock, withTimeout } from "../../../platform/runtime.ts";
import type { Target } from "../../../scim/ports.ts";
import type { Stored } from "../../../scim/schema/resource.ts";
import { type People, targetOf } from "../deps.ts";
import { hasFactor } from "../users/user_list.ts";
import type { FactorlessAnswer } from "./overview_types.ts";

export interface FactorlessUsersDeps {
  readonly people: People;
  readonly clock: Clock;
  readonly log: Log;
}

/** A reader waits this long for a count that just began. */
const WAIT_MS = 400;
/** After 1 s of counting, the next count begins 20 s after the start at the earliest. Counting 1,000,000 users takes about a minute. */
const SHARE_OF_TIME = 20;
/** After this time the users are counted again, even if nothing is known to have changed. */
const MAX_AGE_MS = 10 * 60_000;
/** After so many users the count pauses for as long as it ran, so that sign-ins go first. */
const PAUSE_EVERY = 500;

interface FactorlessResult {
  readonly count: number;
  readonly startedMs: number;
  /** Without the pauses. */
  readonly tookMs: number;
  /** What the count depends on, at its start. */
  readonly basis: string;
}

export class FactorlessUsers {
  readonly #deps: FactorlessUsersDeps;
  #result: FactorlessResult | null = null;
  #running: Promise<void> | null = null;
  #read = 0;
  #observed: Target["directory"] | null = null;
  #stopObserving = () => {};
  #changes = 0;

  constructor(deps: FactorlessUsersDeps) {
    this.#deps = deps;
  }

  /** The latest count. Begins a new one if users or factors changed since. */
  async read(): Promise<FactorlessAnswer> {
    const { people, clock } = this.#deps;
    const target = targetOf(people, undefined);
    this.#observe(target);
    if (this.#running === null && this.#isOutdated()) {
      this.#running = this.#count(target).finally(() => this.#running = null);
    }
    if (this.#running !== null) await withTimeout(this.#running, { clock, timeoutMs: WAIT_MS });
    return {
      nowMs: clock.nowMs(),
      count: this.#result?.count ?? null,
      countedMs: this.#result?.startedMs ?? null,
      progress: this.#running === null
        ? null
        : { read: this.#read, total: Math.max(this.#read, target.directory.count("user")) },
    };
  }

  /** The directory may be replaced when the settings change. */
  #observe({ directory }: Target): void {
    if (this.#observed === directory) return;
    this.#stopObserving();
    this.#observed = directory;
    this.#changes += 1;
    this.#stopObserving = directory.observe(({ kind }) => {
      if (kind === "user") this.#changes += 1;
    });
  }

  #basis(): string {
    const { pairings, factors: { enabled, countryCodes } } = this.#deps.people;
    return JSON.stringify([this.#changes, pairings.userCount, enabled, countryCodes]);
  }

  #isOutdated(): boolean {
    if (this.#result === null) return true;
    const { startedMs, tookMs, basis } = this.#result;
    const ageMs = this.#deps.clock.nowMs() - startedMs;
    if (ageMs < tookMs * SHARE_OF_TIME) return false;
    return ageMs > MAX_AGE_MS || basis !== this.#basis();
  }

  async #count(target: Target): Promise<void> {
    const { people, clock, log } = this.#deps;
    const [basis, startedMs] = [this.#basis(), clock.nowMs()];
    let count = 0;
    let runningMs = startedMs;
    let tookMs = 0;
    this.#read = 0;
    try {
      for await (const stored of target.directory.all("user")) {
        if (isFactorless(people, stored)) count += 1;
        this.#read += 1;
        if (this.#read % PAUSE_EVERY > 0) continue;
        const ranMs = clock.nowMs() - runningMs;
        tookMs += ranMs;
        await pause(clock, ranMs);
        runningMs = clock.nowMs();
      }
      this.#result = { count, startedMs, tookMs: tookMs + clock.nowMs() - runningMs, basis };
    } catch (fault) {
      log.warn("the users without a second factor could not be counted", { fault: String(fault) });
    }
  }
}

function isFactorless(people: People, stored: Stored): boolean {
  return stored.content.kind === "user" && stored.content.active && !hasFactor(people, stored);
}

function pause(clock: Clock, durationMs: number): Promise<void> {
  return new Promise((resolve) => void clock.after(Math.max(0, durationMs), resolve));
}

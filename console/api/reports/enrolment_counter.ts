// Counts the factors of all users in the background, for the reports and the overview. The newest result is stored for all nodes. A node
// counts again when it saw a change after the result began, at most for a twentieth of the time.

import type { Log } from "../../../platform/log.ts";
import { type Clock, withTimeout } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import type { Target } from "../../../scim/ports.ts";
import { type People, targetOf } from "../deps.ts";
import {
  countedUsers,
  createEnrolmentSums,
  type EnrolmentAnswer,
  type EnrolmentReport,
} from "./enrolment.ts";

interface EnrolmentCounterDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly people: People;
}

const MAX_COUNT_MS = 15 * 60_000;
/** After 1 s of counting, the next count begins 20 s after the start at the earliest. Counting 1,000,000 users takes about a minute. */
const SHARE_OF_TIME = 20;
/** After this time the users are counted again, because sign-ins are not observed. */
const MAX_AGE_MS = 5 * 60_000;
/** The clocks of two nodes may differ by this much. */
const MAX_CLOCK_OFFSET_MS = 5000;
/** A request waits this long for a count, which is enough for a few thousand users. */
const WAIT_MS = 1500;
const EXPIRES_MS = 7 * 24 * 3600_000;

export class EnrolmentCounter {
  readonly #deps: EnrolmentCounterDeps;
  #running: Promise<void> | null = null;
  #progress = { counted: 0, total: 0 };
  #observed: Target["directory"] | null = null;
  #stopObserving = () => {};
  #changes = 0;
  #changedMs = 0;
  /** The last count of this process, with the changes before it. */
  #own = { startedMs: 0, changes: 0 };

  constructor(deps: EnrolmentCounterDeps) {
    this.#deps = deps;
  }

  /** The newest result. If it is outdated, a new count starts; a request waits for it only briefly. */
  async read({ waitMs = WAIT_MS }: { waitMs?: number } = {}): Promise<EnrolmentAnswer> {
    const { clock, people } = this.#deps;
    this.#observe(targetOf(people, undefined));
    const stored = await this.#stored();
    if (this.#running === null && !this.#isOutdated(stored)) return { report: stored, progress: null };
    this.#running ??= this.#countLogged().finally(() => this.#running = null);
    const { inTime } = await withTimeout(this.#running, { clock, timeoutMs: waitMs });
    return inTime
      ? { report: await this.#stored(), progress: null }
      : { report: stored, progress: this.#progress };
  }

  /** The directory may be replaced when the settings change. Earlier changes are not known, so they count as one of now. */
  #observe({ directory }: Target): void {
    if (this.#observed === directory) return;
    this.#stopObserving();
    this.#observed = directory;
    this.#noteChange();
    this.#stopObserving = directory.observe(({ kind }) => {
      if (kind === "user") this.#noteChange();
    });
  }

  #noteChange(): void {
    this.#changes += 1;
    this.#changedMs = this.#deps.clock.nowMs();
  }

  /** What a count depends on, besides the users. It is the same on every node. */
  #basis(): string {
    const { pairings, hardwareTokens, factors: { enabled, countryCodes } } = this.#deps.people;
    return JSON.stringify([pairings.userCount, hardwareTokens.userCount, enabled, countryCodes]);
  }

  #isOutdated(report: EnrolmentReport | null): boolean {
    if (report === null) return true;
    const ageMs = this.#deps.clock.nowMs() - report.startedMs;
    if (ageMs < -MAX_CLOCK_OFFSET_MS) return true;
    if (ageMs < report.tookMs * SHARE_OF_TIME) return false;
    return ageMs > MAX_AGE_MS || report.basis !== this.#basis() || this.#changedSince(report);
  }

  #changedSince({ node, startedMs }: EnrolmentReport): boolean {
    const isOwn = node === this.#deps.store.node && startedMs === this.#own.startedMs;
    return isOwn ? this.#changes !== this.#own.changes : this.#changedMs + MAX_CLOCK_OFFSET_MS >= startedMs;
  }

  async #stored(): Promise<EnrolmentReport | null> {
    return (await this.#deps.store.get<EnrolmentReport>(this.#key())).value;
  }

  #key(): Deno.KvKey {
    return ["report_enrolment", this.#deps.people.loginTarget()];
  }

  async #countLogged(): Promise<void> {
    try {
      await this.#write(await this.#count());
    } catch (fault) {
      this.#deps.log.warn("the users could not be counted for the reports", { fault: String(fault) });
    }
  }

  async #count(): Promise<EnrolmentReport> {
    const { people, clock, store } = this.#deps;
    const startedMs = clock.nowMs();
    const basis = this.#basis();
    this.#own = { startedMs, changes: this.#changes };
    const sums = createEnrolmentSums(people, startedMs);
    let tookMs = 0;
    this.#progress = { counted: 0, total: 0 };
    for await (const { users, total, readMs } of countedUsers(people, { clock })) {
      for (const user of users) sums.add(user);
      this.#progress = { counted: this.#progress.counted + users.length, total };
      tookMs += readMs;
      if (clock.nowMs() - startedMs > MAX_COUNT_MS) break;
    }
    const { node } = store;
    const target = people.loginTarget();
    return {
      ...{ target, node, basis, startedMs, tookMs, atMs: clock.nowMs() },
      ...this.#progress,
      ...sums.figures(),
    };
  }

  /** Stores the result, unless another node stored one that began later. */
  async #write(value: EnrolmentReport): Promise<void> {
    const { store } = this.#deps;
    const key = this.#key();
    const { value: stored, versionstamp } = await store.get<EnrolmentReport>(key);
    const isLater = stored !== null && stored.startedMs > value.startedMs;
    if (isLater && stored.startedMs <= value.atMs + MAX_CLOCK_OFFSET_MS) return;
    await store.commit({
      checks: [{ key, versionstamp }],
      mutations: [{ type: "set", key, value, expireInMs: EXPIRES_MS }],
    });
  }
}

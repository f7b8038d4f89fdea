// Enrolment: how many active users have which second factors, which factors are not used, and who has not signed in for some time. All users
// are counted in the background, and the newest result is stored for all nodes.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Log } from "../../../platform/log.ts";
import { type Clock, withTimeout } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import type { LastSignIn } from "../../../radius/factors/last_sign_ins.ts";
import type { Pairing } from "../../../radius/factors/pairing.ts";
import type { Stored } from "../../../scim/schema/resource.ts";
import type { People } from "../deps.ts";
import { targetOf } from "../deps.ts";
import { directoryNumbers } from "../users/user_views.ts";

export const ENROLLED_FACTORS = ["device", "sms", "voice", "totp"] as const;
export type EnrolledFactor = typeof ENROLLED_FACTORS[number];
/** "No sign-in for 30 days", and so on. */
export const INACTIVE_DAYS = [30, 60, 90] as const;
export type InactiveDays = typeof INACTIVE_DAYS[number];

export interface FactorFigures {
  /** Active users who enrolled it. */
  readonly users: number;
  /** Enrolled more than 90 days ago, and not used since then or for 90 days. */
  readonly unused: number;
  /** No use is recorded since it was enrolled. */
  readonly neverUsed: number;
}

/** The figures of the active users of the directory whose users sign in. */
export interface EnrolmentReport {
  readonly target: string;
  /** When the count ended. */
  readonly atMs: number;
  readonly tookMs: number;
  /** Users in the directory, and those that were counted. */
  readonly total: number;
  readonly counted: number;
  readonly active: number;
  readonly factors: Readonly<Record<EnrolledFactor, FactorFigures>>;
  /** Active users with an enrolled factor, with a phone number of the directory only, and with neither. */
  readonly enrolled: number;
  readonly numberOnly: number;
  readonly without: number;
  /** Active users who are older than the days and did not sign in during them. */
  readonly inactive: Readonly<Record<InactiveDays, number>>;
  /** Active users without a recorded sign-in. */
  readonly neverSignedIn: number;
}

export interface EnrolmentAnswer {
  /** `null` before the first count. */
  readonly report: EnrolmentReport | null;
  /** The users that the running count has read; `null` if none is running. */
  readonly progress: { readonly counted: number; readonly total: number } | null;
}

export interface EnrolmentDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly people: People;
}

const DAY_MS = 24 * 3600_000;
const UNUSED_DAYS = 90;
const PAGE_USERS = 500;
/** Users of one count. */
const MAX_USERS = 2_000_000;
const MAX_COUNT_MS = 15 * 60_000;
/** Between two pages, so that a count never slows down sign-ins. */
const PAUSE_MS = 2;
/** An older result is counted again when it is read. A count that took long stays longer. */
const FRESH_MS = 5 * 60_000;
const FRESH_TIMES_TAKEN = 20;
/** A request waits this long for a count, which is enough for a few thousand users. */
const WAIT_MS = 1500;
const EXPIRES_MS = 7 * DAY_MS;

/** One user with what the reports need. */
export interface CountedUser {
  readonly stored: Stored;
  readonly canonical: string;
  readonly pairings: readonly Pairing[];
  /** `null` if no sign-in since the creation of the user is recorded. */
  readonly last: LastSignIn | null;
}

/** All users of the login directory in order of name, by pages. `total` is the number of users in the directory. */
export async function* countedUsers(
  people: People,
  { clock }: { clock: Clock },
): AsyncGenerator<{ users: readonly CountedUser[]; total: number }> {
  const { directory } = targetOf(people, undefined);
  for (let page = 1; (page - 1) * PAGE_USERS < MAX_USERS; page++) {
    const { resources, total } = await directory.page("user", { page, size: PAGE_USERS });
    if (resources.length === 0) return;
    const names = resources.map(({ content }) => canonicalName(content.name));
    const last = await people.lastSignIns.of(names);
    yield {
      total,
      users: resources.map((stored, at) => {
        const canonical = names[at] ?? "";
        return {
          ...{ stored, canonical },
          pairings: people.pairings.of(canonical),
          last: lastSince(last.get(canonical), stored.createdMs),
        };
      }),
    };
    if (page * PAGE_USERS >= total) return;
    await new Promise<void>((resolve) => clock.after(PAUSE_MS, resolve));
  }
}

/** A sign-in before the creation is one of an earlier user with the same name. */
export function lastSince(last: LastSignIn | undefined, createdMs: number): LastSignIn | null {
  return last === undefined || last.atMs < createdMs ? null : last;
}

/** Whether an active user is older than the days and did not sign in during them. */
export function isInactive(
  { stored, last }: Pick<CountedUser, "stored" | "last">,
  beforeMs: number,
): boolean {
  const { content, createdMs } = stored;
  return content.kind === "user" && content.active && createdMs <= beforeMs && (last?.atMs ?? 0) < beforeMs;
}

/** The last use of a factor of the user; `null` if none is recorded since it was enrolled. */
export function lastUseOf({ kind, createdMs }: Pairing, last: LastSignIn | null): number | null {
  const usedMs = last?.factors[kind] ?? 0;
  return usedMs >= createdMs ? usedMs : null;
}

/** Whether a factor was enrolled and last used more than 90 days ago. */
export function isUnused(pairing: Pairing, last: LastSignIn | null, nowMs: number): boolean {
  const beforeMs = nowMs - UNUSED_DAYS * DAY_MS;
  return pairing.createdMs < beforeMs && (lastUseOf(pairing, last) ?? 0) < beforeMs;
}

/** Whether an active user has neither a factor nor a phone number in the directory. */
export function hasNoFactor(people: People, { stored: { content }, pairings }: CountedUser): boolean {
  return content.kind === "user" && content.active && pairings.length === 0 &&
    directoryNumbers(people, { content, pairings }).length === 0;
}

export class Enrolment {
  readonly #deps: EnrolmentDeps;
  #running: Promise<void> | null = null;
  #progress = { counted: 0, total: 0 };

  constructor(deps: EnrolmentDeps) {
    this.#deps = deps;
  }

  /** The newest result. If it is older than five minutes, a new count starts; a request waits for it only briefly. */
  async read(): Promise<EnrolmentAnswer> {
    const { clock } = this.#deps;
    const stored = await this.#stored();
    const freshMs = Math.max(FRESH_MS, FRESH_TIMES_TAKEN * (stored?.tookMs ?? 0));
    if (stored !== null && stored.atMs > clock.nowMs() - freshMs) return { report: stored, progress: null };
    this.#running ??= this.#countLogged();
    const { inTime } = await withTimeout(this.#running, { clock, timeoutMs: WAIT_MS });
    return inTime
      ? { report: await this.#stored(), progress: null }
      : { report: stored, progress: this.#progress };
  }

  async #stored(): Promise<EnrolmentReport | null> {
    const { value } = await this.#deps.store.get<EnrolmentReport>(this.#key());
    return value;
  }

  #key(): Deno.KvKey {
    return ["report_enrolment", this.#deps.people.loginTarget()];
  }

  async #countLogged(): Promise<void> {
    const { store, log } = this.#deps;
    try {
      const value = await this.#count();
      await store.commit({ mutations: [{ type: "set", key: this.#key(), value, expireInMs: EXPIRES_MS }] });
    } catch (fault) {
      log.error("the users could not be counted for the reports", { fault: String(fault) });
    }
    this.#running = null;
  }

  async #count(): Promise<EnrolmentReport> {
    const { people, clock } = this.#deps;
    const startMs = clock.nowMs();
    const sums = createSums(people, startMs);
    this.#progress = { counted: 0, total: 0 };
    for await (const { users, total } of countedUsers(people, { clock })) {
      for (const user of users) sums.add(user);
      this.#progress = { counted: this.#progress.counted + users.length, total };
      if (clock.nowMs() - startMs > MAX_COUNT_MS) break;
    }
    const atMs = clock.nowMs();
    return {
      target: people.loginTarget(),
      atMs,
      tookMs: atMs - startMs,
      ...this.#progress,
      ...sums.figures(),
    };
  }
}

function createSums(people: People, nowMs: number) {
  const figures = () => ({ users: 0, unused: 0, neverUsed: 0 });
  const factors = { device: figures(), sms: figures(), voice: figures(), totp: figures() };
  const inactive: Record<InactiveDays, number> = { 30: 0, 60: 0, 90: 0 };
  let [active, enrolled, numberOnly, without, neverSignedIn] = [0, 0, 0, 0, 0];
  return {
    add(user: CountedUser): void {
      const { stored: { content }, pairings, last } = user;
      if (content.kind !== "user" || !content.active) return;
      active++;
      if (pairings.length > 0) enrolled++;
      else if (directoryNumbers(people, { content, pairings }).length > 0) numberOnly++;
      else without++;
      for (const kind of ENROLLED_FACTORS) {
        const own = pairings.filter((pairing) => pairing.kind === kind);
        if (own.length === 0) continue;
        factors[kind].users++;
        factors[kind].unused += own.filter((pairing) => isUnused(pairing, last, nowMs)).length;
        factors[kind].neverUsed += own.filter((pairing) => lastUseOf(pairing, last) === null).length;
      }
      if (last === null) neverSignedIn++;
      for (const days of INACTIVE_DAYS) if (isInactive(user, nowMs - days * DAY_MS)) inactive[days]++;
    },
    figures: () => ({ active, factors, enrolled, numberOnly, without, inactive, neverSignedIn }),
  };
}

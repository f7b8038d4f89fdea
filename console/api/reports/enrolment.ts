// Enrolment: how many active users have which second factors, which factors are not used, and who has not signed in for some time. All users
// are counted in the background (enrolment_counter.ts).

import { canonicalName } from "../../../platform/canonical_name.ts";
import { DAY_MS } from "../../../platform/durations.ts";
import { type Clock, pauseFor } from "../../../platform/runtime.ts";
import type { LastSignIn } from "../../../radius/factors/last_sign_ins.ts";
import type { Pairing } from "../../../radius/factors/pairing.ts";
import type { HardwareToken } from "../../../radius/tokens/token.ts";
import type { Stored } from "../../../scim/schema/resource.ts";
import type { People } from "../deps.ts";
import { targetOf } from "../deps.ts";
import { directoryNumbers } from "../users/user_views.ts";

export const ENROLLED_FACTORS = ["device", "sms", "voice", "totp"] as const;
export type EnrolledFactor = typeof ENROLLED_FACTORS[number];
/** "No sign-in for 30 days", and so on. */
const INACTIVE_DAYS = [30, 60, 90] as const;
export type InactiveDays = typeof INACTIVE_DAYS[number];

interface FactorFigures {
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
  /** The process that counted, and what the count depends on besides the users. */
  readonly node: string;
  readonly basis: string;
  readonly startedMs: number;
  /** When the count ended. */
  readonly atMs: number;
  /** Without the pauses. */
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

const UNUSED_DAYS = 90;
const PAGE_USERS = 500;
/** Users of one count. */
const MAX_USERS = 2_000_000;
const MIN_PAUSE_MS = 2;

/** One user with what the reports need. */
export interface CountedUser {
  readonly stored: Stored;
  readonly canonical: string;
  readonly pairings: readonly Pairing[];
  /** They count as authenticator apps. */
  readonly tokens: readonly HardwareToken[];
  /** `null` if no sign-in since the creation of the user is recorded. */
  readonly last: LastSignIn | null;
}

interface UserBatch {
  readonly users: readonly CountedUser[];
  /** Users in the directory. */
  readonly total: number;
  readonly readMs: number;
}

/** All users of the login directory in order of name, by pages. It pauses for as long as it read, so that sign-ins go first. */
export async function* countedUsers(people: People, { clock }: { clock: Clock }): AsyncGenerator<UserBatch> {
  const { directory } = targetOf(people, undefined);
  for (let page = 1; (page - 1) * PAGE_USERS < MAX_USERS; page++) {
    const startMs = clock.nowMs();
    const { resources, total } = await directory.page("user", { page, size: PAGE_USERS });
    if (resources.length === 0) return;
    const names = resources.map(({ content }) => canonicalName(content.name));
    const last = await people.lastSignIns.of(names);
    const users = resources.map((stored, at): CountedUser => {
      const canonical = names[at] ?? "";
      return {
        ...{ stored, canonical },
        pairings: people.pairings.of(canonical),
        tokens: people.hardwareTokens.of(canonical),
        last: lastSince(last.get(canonical), stored.createdMs),
      };
    });
    const readMs = clock.nowMs() - startMs;
    yield { users, total, readMs };
    if (page * PAGE_USERS >= total) return;
    await pauseFor(clock, Math.max(MIN_PAUSE_MS, readMs));
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

/** Whether a token was assigned and last used more than 90 days ago. */
export function isUnusedToken(
  { record: { assignedMs }, use: { usedMs } }: HardwareToken,
  nowMs: number,
): boolean {
  const beforeMs = nowMs - UNUSED_DAYS * DAY_MS;
  return (assignedMs ?? nowMs) < beforeMs && (usedMs ?? 0) < beforeMs;
}

/** Whether an active user has neither a factor nor a phone number in the directory. */
export function hasNoFactor(people: People, { stored: { content }, pairings, tokens }: CountedUser): boolean {
  return content.kind === "user" && content.active && pairings.length + tokens.length === 0 &&
    directoryNumbers(people, { content, pairings }).length === 0;
}

/** Adds up the users of a count. */
export function createEnrolmentSums(people: People, nowMs: number) {
  const figures = () => ({ users: 0, unused: 0, neverUsed: 0 });
  const factors = { device: figures(), sms: figures(), voice: figures(), totp: figures() };
  const inactive: Record<InactiveDays, number> = { 30: 0, 60: 0, 90: 0 };
  let [active, enrolled, numberOnly, without, neverSignedIn] = [0, 0, 0, 0, 0];
  return {
    add(user: CountedUser): void {
      const { stored: { content }, pairings, tokens, last } = user;
      if (content.kind !== "user" || !content.active) return;
      active++;
      if (pairings.length + tokens.length > 0) enrolled++;
      else if (directoryNumbers(people, { content, pairings }).length > 0) numberOnly++;
      else without++;
      for (const kind of ENROLLED_FACTORS) {
        const own = pairings.filter((pairing) => pairing.kind === kind);
        const held = kind === "totp" ? tokens : [];
        if (own.length + held.length === 0) continue;
        factors[kind].users++;
        factors[kind].unused += own.filter((pairing) => isUnused(pairing, last, nowMs)).length +
          held.filter((token) => isUnusedToken(token, nowMs)).length;
        factors[kind].neverUsed += own.filter((pairing) => lastUseOf(pairing, last) === null).length +
          held.filter(({ use }) => use.usedMs === null).length;
      }
      if (last === null) neverSignedIn++;
      for (const days of INACTIVE_DAYS) if (isInactive(user, nowMs - days * DAY_MS)) inactive[days]++;
    },
    figures: () => ({ active, factors, enrolled, numberOnly, without, inactive, neverSignedIn }),
  };
}

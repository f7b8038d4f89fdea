// Limits per user and per number: failures and the locks that follow, pushes, messages. Kept in the store, so that a restart forgives nothing.

import type { FactorSettings } from "../../config.ts";
import type { Clock } from "../../runtime.ts";
import type { Mutation, Store } from "../../store.ts";

/** Failures of one user since the last success. */
export interface Failures {
  /** In a row, since the last lock or success. */
  readonly inRow: number;
  /** Since the last success; at the hard limit only an administrator unlocks. */
  readonly total: number;
  readonly locks: number;
  readonly lockedUntilMs: number;
  readonly hardLocked: boolean;
}

const NO_FAILURES: Failures = { inRow: 0, total: 0, locks: 0, lockedUntilMs: 0, hardLocked: false };
/** A lock doubles up to this. */
const LONGEST_LOCK_MS = 24 * 3600_000;
/** Failures without a success are forgotten after this long, unless the user is locked hard. */
const FAILURES_KEPT_MS = 30 * 24 * 3600_000;
/** Subjects in memory; above it the ones touched longest ago leave memory, not the store. */
const MOST_SUBJECTS = 200_000;
/** Locked users that are passed over to find one that may leave memory. */
const MOST_PASSED_OVER = 1000;
/** Times in one record: a value of the store takes 64 KiB. */
const MOST_RECORDED = 5000;

export interface Limits {
  failures(user: string): Failures;
  isLocked(user: string): boolean;
  /** Who is locked now, by canonical name, in no order. */
  locked(): string[];
  /** Counts a failure; `locked` says whether this one locked the user. */
  fail(user: string): { mutation: Mutation; locked: boolean; failures: Failures };
  /** Forgets the failures of a user; `null` when there is nothing to forget. */
  clear(user: string): Mutation | null;
  /** Locks a user for at least so long, whatever their failures; in force at once. `undo` takes it back when it could not be recorded. */
  lockFor(user: string, lastsMs: number): { mutation: Mutation; lockedUntilMs: number; undo: () => void };
  /** Takes back a {@link clear} that could not be recorded; what failed since then counts on top. */
  putBack(user: string, before: Failures): void;
  pushesLeft(user: string): boolean;
  countPush(user: string): Mutation;
  sendsLeft(user: string, number: string | null): boolean;
  /** Counts a message, or the refusal of one, for the user and for the number where one was read. */
  countSend(user: string, number: string | null): Mutation[];
  load(): Promise<void>;
}

type Kind = "push" | "user_send" | "number_send";

export function createLimits(
  { store, clock, settings }: { store: Store; clock: Clock; settings: FactorSettings },
): Limits {
  const failures = new Map<string, Failures>();
  const times: Record<Kind, Map<string, number[]>> = {
    push: new Map(),
    user_send: new Map(),
    number_send: new Map(),
  };
  const window = (kind: Kind) => kind === "push" ? settings.pushes.windowMs : settings.sends.windowMs;
  const most = (kind: Kind): number =>
    kind === "push"
      ? settings.pushes.perUser
      : kind === "user_send"
      ? settings.sends.perUser
      : settings.sends.perNumber;
  const isLocked = ({ hardLocked, lockedUntilMs }: Failures): boolean =>
    hardLocked || lockedUntilMs > clock.nowMs();
  /** Room for one more; who is locked stays, or whoever makes up names enough would unlock them. */
  const makeRoom = (): void => {
    let tries = MOST_PASSED_OVER;
    for (const [user, known] of failures) {
      if (failures.size < MOST_SUBJECTS) return;
      failures.delete(user);
      if (isLocked(known) && tries-- > 0) failures.set(user, known);
    }
  };
  const setFailures = (user: string, after: Failures): void => {
    failures.delete(user);
    makeRoom();
    failures.set(user, after);
  };
  const failureKey = (user: string): Deno.KvKey => ["limit", "failures", user];

  const recent = (kind: Kind, subject: string): number[] => {
    const since = clock.nowMs() - window(kind);
    return (times[kind].get(subject) ?? []).filter((atMs) => atMs > since);
  };
  const count = (kind: Kind, subject: string): Mutation => {
    // The limit is reached by its number of times; older ones would only make the record grow with every try.
    const now = [...recent(kind, subject), clock.nowMs()].slice(-most(kind));
    bounded(times[kind], subject, now);
    const value = now.slice(-MOST_RECORDED);
    return { type: "set", key: ["limit", kind, subject], value, expireInMs: window(kind) };
  };

  return {
    failures: (user) => failures.get(user) ?? NO_FAILURES,
    isLocked(user) {
      const known = failures.get(user);
      return known !== undefined && isLocked(known);
    },
    locked: () => [...failures].flatMap(([user, known]) => isLocked(known) ? [user] : []),
    fail(user) {
      const before = failures.get(user) ?? NO_FAILURES;
      const { failures: perLock, lockMs, hardLimit } = settings.lockout;
      const total = before.total + 1;
      const locked = before.inRow + 1 >= perLock;
      const lasts = Math.min(lockMs * 2 ** Math.min(before.locks, 30), LONGEST_LOCK_MS);
      const after: Failures = {
        inRow: locked ? 0 : before.inRow + 1,
        total,
        locks: before.locks + (locked ? 1 : 0),
        lockedUntilMs: locked ? clock.nowMs() + lasts : before.lockedUntilMs,
        hardLocked: before.hardLocked || total >= hardLimit,
      };
      setFailures(user, after);
      const expires = after.hardLocked ? {} : { expireInMs: FAILURES_KEPT_MS };
      return {
        mutation: { type: "set", key: failureKey(user), value: after, ...expires },
        locked: locked || (after.hardLocked && !before.hardLocked),
        failures: after,
      };
    },
    clear(user) {
      return failures.delete(user) ? { type: "delete", key: failureKey(user) } : null;
    },
    lockFor(user, lastsMs) {
      const before = failures.get(user) ?? NO_FAILURES;
      const lockedUntilMs = Math.max(before.lockedUntilMs, clock.nowMs() + lastsMs);
      const after = { ...before, lockedUntilMs };
      setFailures(user, after);
      const expires = after.hardLocked ? {} : { expireInMs: FAILURES_KEPT_MS };
      return {
        mutation: { type: "set", key: failureKey(user), value: after, ...expires },
        lockedUntilMs,
        undo() {
          const now = failures.get(user);
          if (now?.lockedUntilMs !== lockedUntilMs) return;
          setFailures(user, { ...now, lockedUntilMs: before.lockedUntilMs });
        },
      };
    },
    putBack(user, before) {
      const since = failures.get(user) ?? NO_FAILURES;
      setFailures(user, {
        inRow: before.inRow + since.inRow,
        total: before.total + since.total,
        locks: before.locks + since.locks,
        lockedUntilMs: Math.max(before.lockedUntilMs, since.lockedUntilMs),
        hardLocked: before.hardLocked || since.hardLocked,
      });
    },
    pushesLeft: (user) => recent("push", user).length < settings.pushes.perUser,
    countPush: (user) => count("push", user),
    sendsLeft: (user, number) =>
      recent("user_send", user).length < settings.sends.perUser &&
      (number === null || recent("number_send", number).length < settings.sends.perNumber),
    countSend: (user, number) => [
      count("user_send", user),
      ...(number === null ? [] : [count("number_send", number)]),
    ],
    async load() {
      for await (const { key, value } of store.list<unknown>(["limit"])) {
        const [, kind, subject] = key;
        if (typeof subject !== "string" || value === null) continue;
        if (kind === "failures") failures.set(subject, value as Failures);
        else if (kind === "push" || kind === "user_send" || kind === "number_send") {
          times[kind].set(subject, value as number[]);
        }
      }
    },
  };
}

/** Sets an entry and keeps the map within its bound: the one set longest ago goes. */
function bounded<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > MOST_SUBJECTS) { for (const oldest of map.keys()) return void map.delete(oldest); }
}

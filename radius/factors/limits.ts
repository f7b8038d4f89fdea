// Limits: failures and the locks that follow, per user; pushes per user; messages per user, per number, per client and in total. Everything
// about users who exist is in the store, so that a restart forgives nothing, and no number of other names evicts it.

import type { FactorSettings } from "../../platform/config/config.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import {
  createHourlyLimits,
  type HourlySendLimit,
  type LimitAlarm,
  type LimitFigures,
} from "./hourly_limits.ts";

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

/** Failures as they are stored. Deno KV may return a record after it expired, so the record has its own date. */
interface StoredFailures extends Failures {
  readonly lastMs: number;
}

const NO_FAILURES: StoredFailures = {
  inRow: 0,
  total: 0,
  locks: 0,
  lockedUntilMs: 0,
  hardLocked: false,
  lastMs: 0,
};
/** A lock doubles up to this. */
const LONGEST_LOCK_MS = 24 * 3600_000;
/** Failures without a success are forgotten after this long, unless the user is locked hard. */
const FAILURES_KEPT_MS = 30 * 24 * 3600_000;
/** The same for a name that is not in the directory and has no factor. */
const STRANGER_KEPT_MS = LONGEST_LOCK_MS;
/** Names that are not in the directory and have no factor, in memory alone. A new one replaces the oldest that is not locked. */
const MAX_STRANGERS = 10_000;
/** Locked strangers that are passed over to find one to replace. */
const MAX_PASSED_OVER = 1000;
/** Times in one record: a value of the store takes 64 KiB. */
const MOST_RECORDED = 5000;
/** Maps below this size are not searched for expired entries. */
const MIN_SWEEP_SIZE = 1024;

/** A message that is to be sent. */
export interface Send {
  readonly user: string;
  readonly number: string;
  readonly client: string;
}

/** Which limit a message would exceed. */
export type SendLimit = "user_limit" | "number_limit" | HourlySendLimit;

export interface Limits {
  failures(user: string): Failures;
  isLocked(user: string): boolean;
  /** Users who are locked now, by canonical name, in no order. */
  locked(): string[];
  /** Counts a failure of a user who is in the directory or has a factor; `locked` says whether this one locked the user. */
  fail(user: string): { mutation: Mutation; locked: boolean; failures: Failures };
  /** Counts a failure of any other name: in memory, with a bound. */
  failStranger(user: string): { locked: boolean; failures: Failures };
  /** Forgets the failures of a user; `null` when there is nothing to forget. */
  clear(user: string): Mutation | null;
  /** Locks a user for at least so long, whatever their failures; in force at once. `undo` takes it back when it could not be recorded. */
  lockFor(user: string, lastsMs: number): { mutation: Mutation; lockedUntilMs: number; undo: () => void };
  /** Takes back a {@link clear} that could not be recorded; what failed since then counts on top. */
  putBack(user: string, before: Failures): void;
  pushesLeft(user: string): boolean;
  countPush(user: string): Mutation;
  /** Whether the limits of the user and of the number allow another message. */
  sendsLeft(user: string, number: string | null): boolean;
  /** The limit that the message would exceed, or `null`. */
  limitOf(send: Send): SendLimit | null;
  /** Counts a message for its user, its number, its client and in total. */
  countSend(send: Send): Mutation[];
  /** Counts a message that was refused: for the user who asked, never for the number. */
  countRefusedSend(user: string): Mutation;
  /** When the user can get another push, or `null` if that is now. */
  pushesBlockedUntilMs(user: string): number | null;
  /** When the user can get another message, to any of `numbers`, or `null` if that is now. */
  sendsBlockedUntilMs(user: string, numbers?: readonly string[]): number | null;
  /** Forgets the pushes and messages of a user, and the messages to `numbers`, which are the user's own. `null`: there are none. */
  reset(
    user: string,
    numbers: readonly string[],
  ): { mutations: readonly Mutation[]; pushes: number; sends: number; undo: () => void } | null;
  figures(): LimitFigures;
  /** What is too high now. */
  alarms(): LimitAlarm[];
  load(): Promise<void>;
}

type Kind = "push" | "user_send" | "number_send";

/** @param options.onAlarm called when a count of the last hour becomes too high, once until it is lower again. */
export function createLimits(
  { store, clock, settings, onAlarm = () => undefined, maxStrangers = MAX_STRANGERS }: {
    store: Store;
    clock: Clock;
    settings: FactorSettings;
    onAlarm?: (alarm: LimitAlarm) => void;
    maxStrangers?: number;
  },
): Limits {
  const failures = new Map<string, StoredFailures>();
  const strangers = new Map<string, StoredFailures>();
  const times: Record<Kind, Map<string, number[]>> = {
    push: new Map(),
    user_send: new Map(),
    number_send: new Map(),
  };
  /** The size at which each map is searched for expired entries next. */
  const sweepSizes = new Map<ReadonlyMap<string, unknown>, number>();
  const hourly = createHourlyLimits({ clock, settings, onAlarm });
  const window = (kind: Kind) => kind === "push" ? settings.pushes.windowMs : settings.sends.windowMs;
  const most = (kind: Kind): number =>
    kind === "push"
      ? settings.pushes.perUser
      : kind === "user_send"
      ? settings.sends.perUser
      : settings.sends.perNumber;
  const isLocked = ({ hardLocked, lockedUntilMs }: Failures): boolean =>
    hardLocked || lockedUntilMs > clock.nowMs();
  const isExpired = (known: StoredFailures, keptMs: number): boolean =>
    !isLocked(known) && known.lastMs <= clock.nowMs() - keptMs;
  const failuresOf = (user: string): StoredFailures => {
    const known = failures.get(user);
    if (known !== undefined) return isExpired(known, FAILURES_KEPT_MS) ? NO_FAILURES : known;
    const stranger = strangers.size === 0 ? undefined : strangers.get(user);
    return stranger === undefined || isExpired(stranger, STRANGER_KEPT_MS) ? NO_FAILURES : stranger;
  };
  const setFailures = (user: string, after: StoredFailures): void => {
    strangers.delete(user);
    sweep(failures, (known) => isExpired(known, FAILURES_KEPT_MS));
    failures.set(user, after);
  };
  const setStranger = (user: string, after: StoredFailures): void => {
    strangers.delete(user);
    let tries = MAX_PASSED_OVER;
    for (const [name, known] of strangers) {
      if (strangers.size < maxStrangers) break;
      strangers.delete(name);
      if (isLocked(known) && tries-- > 0) strangers.set(name, known);
    }
    strangers.set(user, after);
  };
  /** Removes expired entries each time the map has doubled, so that it holds no more than twice what counts. */
  function sweep<T>(map: Map<string, T>, isOver: (value: T) => boolean): void {
    if (map.size < (sweepSizes.get(map) ?? MIN_SWEEP_SIZE)) return;
    for (const [key, value] of map) if (isOver(value)) map.delete(key);
    sweepSizes.set(map, Math.max(MIN_SWEEP_SIZE, map.size * 2));
  }
  const failureKey = (user: string): Deno.KvKey => ["limit", "failures", user];
  const failureMutation = (user: string, value: StoredFailures): Mutation => ({
    type: "set",
    key: failureKey(user),
    value,
    ...(value.hardLocked ? {} : { expireInMs: FAILURES_KEPT_MS }),
  });
  const failed = (before: Failures): { after: StoredFailures; locked: boolean } => {
    const { failures: perLock, lockMs, hardLimit } = settings.lockout;
    const nowMs = clock.nowMs();
    const total = before.total + 1;
    const locks = before.inRow + 1 >= perLock;
    const lasts = Math.min(lockMs * 2 ** Math.min(before.locks, 30), LONGEST_LOCK_MS);
    const hardLocked = before.hardLocked || total >= hardLimit;
    const locked = locks || (hardLocked && !before.hardLocked);
    hourly.countFailure({ locked });
    return {
      after: {
        inRow: locks ? 0 : before.inRow + 1,
        total,
        locks: before.locks + (locks ? 1 : 0),
        lockedUntilMs: locks ? nowMs + lasts : before.lockedUntilMs,
        hardLocked,
        lastMs: nowMs,
      },
      locked,
    };
  };

  const recent = (kind: Kind, subject: string): number[] => {
    const known = times[kind].get(subject);
    if (known === undefined) return NO_TIMES;
    const since = clock.nowMs() - window(kind);
    return known.filter((atMs) => atMs > since);
  };
  const count = (kind: Kind, subject: string): Mutation => {
    // The limit is reached by its number of times; older ones would only make the record grow with every try.
    const now = [...recent(kind, subject), clock.nowMs()].slice(-most(kind));
    sweep(times[kind], (list) => (list.at(-1) ?? 0) <= clock.nowMs() - window(kind));
    times[kind].set(subject, now);
    return timesMutation(kind, subject, now);
  };
  const timesMutation = (kind: Kind, subject: string, now: readonly number[]): Mutation => ({
    type: "set",
    key: ["limit", kind, subject],
    value: now.slice(-MOST_RECORDED),
    expireInMs: window(kind),
  });
  const blockedUntilMs = (kind: Kind, subject: string): number | null => {
    const now = recent(kind, subject);
    const oldest = now.length < most(kind) ? undefined : now[now.length - most(kind)];
    return oldest === undefined ? null : oldest + window(kind);
  };

  return {
    failures: failuresOf,
    isLocked(user) {
      const known = failures.get(user) ?? (strangers.size === 0 ? undefined : strangers.get(user));
      return known !== undefined && isLocked(known);
    },
    locked: () => [...failures, ...strangers].flatMap(([user, known]) => isLocked(known) ? [user] : []),
    fail(user) {
      const { after, locked } = failed(failuresOf(user));
      setFailures(user, after);
      return { mutation: failureMutation(user, after), locked, failures: after };
    },
    failStranger(user) {
      const { after, locked } = failed(failuresOf(user));
      setStranger(user, after);
      return { locked, failures: after };
    },
    clear(user) {
      strangers.delete(user);
      return failures.delete(user) ? { type: "delete", key: failureKey(user) } : null;
    },
    lockFor(user, lastsMs) {
      const before = failuresOf(user);
      const nowMs = clock.nowMs();
      const lockedUntilMs = Math.max(before.lockedUntilMs, nowMs + lastsMs);
      const after = { ...before, lockedUntilMs, lastMs: nowMs };
      setFailures(user, after);
      return {
        mutation: failureMutation(user, after),
        lockedUntilMs,
        undo() {
          const now = failures.get(user);
          if (now?.lockedUntilMs !== lockedUntilMs) return;
          setFailures(user, { ...now, lockedUntilMs: before.lockedUntilMs });
        },
      };
    },
    putBack(user, before) {
      const since = failuresOf(user);
      setFailures(user, {
        inRow: before.inRow + since.inRow,
        total: before.total + since.total,
        locks: before.locks + since.locks,
        lockedUntilMs: Math.max(before.lockedUntilMs, since.lockedUntilMs),
        hardLocked: before.hardLocked || since.hardLocked,
        lastMs: clock.nowMs(),
      });
    },
    pushesLeft: (user) => recent("push", user).length < settings.pushes.perUser,
    countPush: (user) => count("push", user),
    sendsLeft: (user, number) =>
      recent("user_send", user).length < settings.sends.perUser &&
      (number === null || recent("number_send", number).length < settings.sends.perNumber),
    limitOf({ user, number, client }) {
      if (recent("user_send", user).length >= settings.sends.perUser) return "user_limit";
      if (recent("number_send", number).length >= settings.sends.perNumber) return "number_limit";
      return hourly.limitOf(client);
    },
    countSend({ user, number, client }) {
      return [count("user_send", user), count("number_send", number), ...hourly.countSend(client)];
    },
    countRefusedSend: (user) => count("user_send", user),
    pushesBlockedUntilMs: (user) => blockedUntilMs("push", user),
    sendsBlockedUntilMs(user, numbers = []) {
      const ofUser = blockedUntilMs("user_send", user);
      const ofNumbers = numbers.map((number) => blockedUntilMs("number_send", number));
      const soonest = ofNumbers.includes(null) || ofNumbers.length === 0
        ? null
        : Math.min(...ofNumbers.map((untilMs) => untilMs ?? 0));
      return ofUser === null ? soonest : Math.max(ofUser, soonest ?? 0);
    },
    reset(user, numbers) {
      const subjects: (readonly [Kind, string])[] = [
        ["push", user],
        ["user_send", user],
        ...numbers.map((number) => ["number_send", number] as const),
      ];
      const before = subjects.flatMap(([kind, subject]) => {
        const known = times[kind].get(subject);
        return known === undefined ? [] : [{ kind, subject, known, recent: recent(kind, subject).length }];
      });
      if (before.length === 0) return null;
      for (const { kind, subject } of before) times[kind].delete(subject);
      const recentOf = (wanted: Kind) => before.find(({ kind }) => kind === wanted)?.recent ?? 0;
      return {
        mutations: before.map(({ kind, subject }) => ({ type: "delete", key: ["limit", kind, subject] })),
        pushes: recentOf("push"),
        sends: recentOf("user_send"),
        undo() {
          for (const { kind, subject, known } of before) {
            times[kind].set(subject, [...known, ...recent(kind, subject)].slice(-most(kind)));
          }
        },
      };
    },
    figures: hourly.figures,
    alarms: hourly.alarms,
    async load() {
      for await (const { key, value } of store.list<unknown>(["limit"])) {
        const [, kind, subject] = key;
        if (value === null || hourly.load(key, value) || typeof subject !== "string") continue;
        if (kind === "failures") {
          // A record of version 0.1.0 has no date.
          const known = { lastMs: clock.nowMs(), ...value as Failures };
          if (!isExpired(known, FAILURES_KEPT_MS)) failures.set(subject, known);
        } else if (kind === "push" || kind === "user_send" || kind === "number_send") {
          times[kind].set(subject, value as number[]);
        }
      }
    },
  };
}

const NO_TIMES: number[] = [];

// The counts behind the limits: failures of users with the locks that they cause, and the last hour over all users. Failures of existing users are
// stored, so that they survive a restart and other names cannot evict them.

import type { FactorSettings } from "../../platform/config/config.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { RecordVersions } from "../../platform/cluster/change_log.ts";
import type { KvMutation } from "../../platform/commit_queue.ts";
import type { Mutation } from "../../platform/store.ts";
import type { PreparedRename } from "../../platform/write_batch.ts";
import { MINUTE_MS } from "../../platform/durations.ts";

export interface Failures {
  /** In a row, since the last lock or success. */
  readonly inRow: number;
  /** From the hard limit on, only an administrator can unlock the user. */
  readonly total: number;
  readonly locks: number;
  readonly lockedUntilMs: number;
  readonly hardLocked: boolean;
  /** The end of a lock that a report caused ("This was not me"); absent without a report. */
  readonly reportedUntilMs?: number;
}

/** Failures as stored. Deno KV may return an expired record, so the record has its own date. */
export interface StoredFailures extends Failures {
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
/** Stands for a record that this version cannot read. */
const UNREADABLE: StoredFailures = { ...NO_FAILURES, hardLocked: true };
/** Each lock is twice as long as the one before, up to this. */
const MAX_LOCK_MS = 24 * 3600_000;
/** Failures expire after this time, unless the user reached the hard limit. */
const FAILURE_RETENTION_MS = 30 * 24 * 3600_000;
/** Like {@link FAILURE_RETENTION_MS}, for a stranger: a name that is not in the directory and has no factor. */
const STRANGER_RETENTION_MS = MAX_LOCK_MS;
/** Strangers, in memory only. A new one replaces the oldest that is not locked. */
const MAX_STRANGERS = 10_000;
/** Locked strangers that are skipped in the search for a stranger to replace. */
const MAX_SKIPPED = 1000;
/** A smaller map is not searched for expired entries. */
const MIN_SWEEP_SIZE = 1024;

interface LockoutDeps {
  readonly clock: Clock;
  readonly settings: Pick<FactorSettings, "lockout">;
  /** Versions of the stored records. A failure that another node counts meanwhile makes the commit fail. */
  readonly versions: RecordVersions;
  readonly maxStrangers?: number | undefined;
}

export class Lockout {
  readonly #deps: LockoutDeps;
  readonly #users = new SweptMap<StoredFailures>();
  readonly #strangers = new Map<string, StoredFailures>();

  constructor(deps: LockoutDeps) {
    this.#deps = deps;
  }

  failures(user: string): StoredFailures {
    const known = this.#knownOf(user);
    if (known !== undefined) return this.#isExpired(known, FAILURE_RETENTION_MS) ? NO_FAILURES : known;
    const stranger = this.#strangers.size === 0 ? undefined : this.#strangers.get(user);
    return stranger === undefined || this.#isExpired(stranger, STRANGER_RETENTION_MS)
      ? NO_FAILURES
      : stranger;
  }

  isLocked(user: string): boolean {
    const known = this.#knownOf(user) ??
      (this.#strangers.size === 0 ? undefined : this.#strangers.get(user));
    return known !== undefined && this.#isLockedNow(known);
  }

  locked(): string[] {
    return [...this.#users.keys(), ...this.#strangers.keys()].filter((user) => this.isLocked(user));
  }

  countFailure(
    user: string,
  ): { mutation: Mutation; locked: boolean; failures: Failures; undo: () => void } {
    const before = this.failures(user);
    const { after, locked } = this.#afterFailure(before);
    this.#set(user, after);
    return {
      mutation: this.#basedMutation(user, after),
      locked,
      failures: after,
      undo: () => {
        if (this.#users.get(user) === after) this.#users.set(user, before);
      },
    };
  }

  countStrangerFailure(user: string): { locked: boolean; failures: Failures } {
    const { after, locked } = this.#afterFailure(this.failures(user));
    this.#setStranger(user, after);
    return { locked, failures: after };
  }

  /** @param options.always whatever another node counts meanwhile */
  clear(user: string, { always = false }: { always?: boolean } = {}): Mutation | null {
    this.#strangers.delete(user);
    const key = failureKey(user);
    if (!this.#users.delete(user)) return null;
    if (!always) return { type: "delete", key, basis: this.#deps.versions.basisOf(key) };
    return { type: "delete", key, basis: this.#deps.versions.overwriteOf(key) };
  }

  lockFor(user: string, lastsMs: number): { mutation: KvMutation; lockedUntilMs: number; undo: () => void } {
    const before = this.failures(user);
    const nowMs = this.#deps.clock.nowMs();
    const lockedUntilMs = Math.max(before.lockedUntilMs, nowMs + lastsMs);
    const after = { ...before, lockedUntilMs, reportedUntilMs: nowMs + lastsMs, lastMs: nowMs };
    this.#set(user, after);
    return {
      mutation: this.#basedMutation(user, after),
      lockedUntilMs,
      undo: () => {
        const now = this.#users.get(user);
        if (now?.lockedUntilMs !== lockedUntilMs) return;
        const { reportedUntilMs: _reported, ...rest } = now;
        this.#set(user, { ...rest, ...reportOf(before), lockedUntilMs: before.lockedUntilMs });
      },
    };
  }

  restore(user: string, before: Failures): void {
    const since = this.failures(user);
    this.#set(user, {
      inRow: before.inRow + since.inRow,
      total: before.total + since.total,
      locks: before.locks + since.locks,
      lockedUntilMs: Math.max(before.lockedUntilMs, since.lockedUntilMs),
      hardLocked: before.hardLocked || since.hardLocked,
      ...reportOf(before),
      ...reportOf(since),
      lastMs: this.#deps.clock.nowMs(),
    });
  }

  /** Prepares the move of the failures to another name. Those of the new name belong to another person. */
  prepareRename(from: string, to: string): PreparedRename {
    const oldFailures = [from, to].map((user) => [user, this.#users.get(user)] as const);
    const known = this.#users.get(from);
    const { versions } = this.#deps;
    const deletion = (user: string): KvMutation => {
      const key = failureKey(user);
      return { type: "delete", key, basis: versions.overwriteOf(key) };
    };
    const move = () => {
      for (const user of [from, to]) this.#users.delete(user);
      if (known !== undefined) this.#set(to, known);
    };
    move();
    const kept = known === undefined
      ? deletion(to)
      : { ...failureMutation(to, known), basis: versions.overwriteOf(failureKey(to)) };
    return {
      mutations: [deletion(from), kept],
      done: () => undefined,
      undo: () => {
        for (const [user, failures] of oldFailures) {
          if (failures === undefined) this.#users.delete(user);
          else this.#users.set(user, failures);
        }
      },
    };
  }

  /** Takes over a stored record; `null`: it was deleted. */
  load(user: string, stored: StoredFailures | null): void {
    if (stored === null) return void this.#users.delete(user);
    if (!isFailures(stored)) {
      // The user may be locked. A count from zero would give an attacker new tries, and overwrite the record.
      this.#users.set(user, UNREADABLE);
      throw new TypeError("it is no count of failures, so the user is locked on this node");
    }
    if (!this.#isExpired(stored, FAILURE_RETENTION_MS)) this.#users.set(user, stored);
  }

  /** The failures of a user. After the clock was set back, a lock lasts as long as with the right clock. */
  #knownOf(user: string): StoredFailures | undefined {
    const known = this.#users.get(user);
    const nowMs = this.#deps.clock.nowMs();
    // By the clock of another node, which differs a little: if two nodes moved a lock in turn, it would end too early.
    if (known === undefined || known.lastMs <= nowMs + MINUTE_MS) return known;
    const earlier = (atMs: number) => Math.max(0, atMs - (known.lastMs - nowMs));
    const { lockedUntilMs, reportedUntilMs } = known;
    const reported = reportedUntilMs === undefined ? {} : { reportedUntilMs: earlier(reportedUntilMs) };
    const shifted = { ...known, ...reported, lockedUntilMs: earlier(lockedUntilMs), lastMs: nowMs };
    this.#users.set(user, shifted);
    return shifted;
  }

  #basedMutation(user: string, value: StoredFailures): KvMutation {
    return { ...failureMutation(user, value), basis: this.#deps.versions.basisOf(failureKey(user)) };
  }

  #isLockedNow({ hardLocked, lockedUntilMs }: Failures): boolean {
    return hardLocked || lockedUntilMs > this.#deps.clock.nowMs();
  }

  #isExpired(known: StoredFailures, retentionMs: number): boolean {
    return !this.#isLockedNow(known) && known.lastMs <= this.#deps.clock.nowMs() - retentionMs;
  }

  #set(user: string, after: StoredFailures): void {
    this.#strangers.delete(user);
    this.#users.sweep((known) => this.#isExpired(known, FAILURE_RETENTION_MS));
    this.#users.set(user, after);
  }

  #setStranger(user: string, after: StoredFailures): void {
    const { maxStrangers = MAX_STRANGERS } = this.#deps;
    this.#strangers.delete(user);
    let tries = MAX_SKIPPED;
    for (const [name, known] of this.#strangers) {
      if (this.#strangers.size < maxStrangers) break;
      this.#strangers.delete(name);
      if (this.#isLockedNow(known) && tries-- > 0) this.#strangers.set(name, known);
    }
    this.#strangers.set(user, after);
  }

  #afterFailure(before: Failures): { after: StoredFailures; locked: boolean } {
    const { failures: perLock, lockMs, hardLimit } = this.#deps.settings.lockout;
    const nowMs = this.#deps.clock.nowMs();
    const total = before.total + 1;
    const locks = before.inRow + 1 >= perLock;
    const lastsMs = Math.min(lockMs * 2 ** Math.min(before.locks, 30), MAX_LOCK_MS);
    const hardLocked = before.hardLocked || total >= hardLimit;
    const locked = locks || (hardLocked && !before.hardLocked);
    return {
      after: {
        inRow: locks ? 0 : before.inRow + 1,
        total,
        locks: before.locks + (locks ? 1 : 0),
        lockedUntilMs: locks ? nowMs + lastsMs : before.lockedUntilMs,
        hardLocked,
        ...reportOf(before),
        lastMs: nowMs,
      },
      locked,
    };
  }
}

function reportOf({ reportedUntilMs }: Failures): Pick<Failures, "reportedUntilMs"> {
  return reportedUntilMs === undefined ? {} : { reportedUntilMs };
}

function isFailures({ inRow, total, locks, lockedUntilMs, lastMs, hardLocked }: StoredFailures): boolean {
  return [inRow, total, locks, lockedUntilMs, lastMs].every((one) => typeof one === "number") &&
    typeof hardLocked === "boolean";
}

function failureKey(user: string): Deno.KvKey {
  return ["limit", "failures", user];
}

function failureMutation(user: string, value: StoredFailures): KvMutation {
  const expiry = value.hardLocked ? {} : { expireInMs: FAILURE_RETENTION_MS };
  return { type: "set", key: failureKey(user), value, ...expiry };
}

/** A map that removes its expired entries whenever its size has doubled, so that it is at most twice as large as necessary. */
export class SweptMap<T> extends Map<string, T> {
  #sweepSize = MIN_SWEEP_SIZE;

  sweep(isExpired: (value: T) => boolean): void {
    if (this.size < this.#sweepSize) return;
    for (const [key, value] of this) if (isExpired(value)) this.delete(key);
    this.#sweepSize = Math.max(MIN_SWEEP_SIZE, this.size * 2);
  }
}

// Counts of the last hour over all users: messages in total and per client, with their limits; failures and locks, with the counts that cause
// a warning.

/** Counts of the last hour, for metrics and the health page. */
export interface LimitFigures {
  readonly sends: number;
  readonly failures: number;
  readonly locks: number;
}

/** A count of the last hour that is too high. */
export interface LimitAlarm {
  readonly kind: "sends" | "client_sends" | "failures" | "locks";
  /** The client, for `client_sends`. */
  readonly client?: string;
  readonly count: number;
  readonly limit: number;
}

/** The limit of the last hour that a message would exceed. */
export type HourlySendLimit = "client_limit" | "total_limit";

interface HourlyLimitsDeps {
  readonly clock: Clock;
  readonly settings: Pick<FactorSettings, "sends" | "lockout">;
  /** Called when a count becomes too high, once until it is lower again. */
  readonly onAlarm: (alarm: LimitAlarm) => void;
  /** Versions of the stored records. */
  readonly versions: RecordVersions;
}

export class HourlyLimits {
  readonly #deps: HourlyLimitsDeps;
  #sends = new HourlyCount();
  readonly #failures = new HourlyCount();
  readonly #locks = new HourlyCount();
  readonly #sendsOfClients = new Map<string, HourlyCount>();
  readonly #alarmed = new Set<string>();

  constructor(deps: HourlyLimitsDeps) {
    this.#deps = deps;
  }

  /** The limit that a message from a login at this client would exceed, or `null`. */
  limitOf(client: string): HourlySendLimit | null {
    const { perClientPerHour, totalPerHour } = this.#deps.settings.sends;
    if (this.#sendsOf(client) >= perClientPerHour) return "client_limit";
    return this.figures().sends >= totalPerHour ? "total_limit" : null;
  }

  countSend(client: string): Mutation[] {
    const nowMs = this.#deps.clock.nowMs();
    const ofClient = this.#sendsOfClients.get(client) ?? new HourlyCount();
    this.#sendsOfClients.set(client, ofClient);
    ofClient.add(nowMs);
    this.#sends.add(nowMs);
    for (const alarm of [this.#sendAlarm(), this.#clientAlarm(client)]) {
      this.#raise(alarm, alarm.count >= alarm.limit);
    }
    return [
      this.#countMutation(["client_sends", client], ofClient),
      this.#countMutation(["sends"], this.#sends),
    ];
  }

  /** Undoes a {@link countSend} whose commit failed. */
  uncountSend(client: string): void {
    const { versions } = this.#deps;
    if (versions.isPending(["limit", "client_sends", client])) this.#sendsOfClients.get(client)?.undoAdd();
    if (versions.isPending(["limit", "sends"])) this.#sends.undoAdd();
  }

  countFailure({ locked }: { locked: boolean }): void {
    const nowMs = this.#deps.clock.nowMs();
    this.#failures.add(nowMs);
    if (locked) this.#locks.add(nowMs);
    for (const alarm of this.#failureAlarms()) this.#raise(alarm, alarm.count > alarm.limit);
  }

  figures(): LimitFigures {
    const nowMs = this.#deps.clock.nowMs();
    return {
      sends: this.#sends.total(nowMs),
      failures: this.#failures.total(nowMs),
      locks: this.#locks.total(nowMs),
    };
  }

  /** The counts that are too high now. */
  alarms(): LimitAlarm[] {
    const sends = [
      this.#sendAlarm(),
      ...[...this.#sendsOfClients.keys()].map((name) => this.#clientAlarm(name)),
    ];
    return [
      ...sends.filter(({ count, limit }) => count >= limit),
      ...this.#failureAlarms().filter(({ count, limit }) => count > limit),
    ];
  }

  /** Takes over a stored record; `false` if it is not an hourly count. */
  load([, kind, client]: Deno.KvKey, value: unknown): boolean {
    if (kind !== "sends" && kind !== "client_sends") return false;
    if (value !== null && !Array.isArray(value)) throw new TypeError("it is no hourly count");
    if (kind === "sends") this.#sends = new HourlyCount(value);
    else if (kind === "client_sends" && typeof client === "string") {
      this.#sendsOfClients.set(client, new HourlyCount(value));
    } else return false;
    return true;
  }

  #countMutation(parts: Deno.KvKey, hourly: HourlyCount): Mutation {
    const key = ["limit", ...parts];
    const basis = this.#deps.versions.basisOf(key);
    return { type: "set", key, value: hourly.record(), expireInMs: HOURLY_COUNT_MS, basis };
  }

  #sendsOf(client: string): number {
    return this.#sendsOfClients.get(client)?.total(this.#deps.clock.nowMs()) ?? 0;
  }

  #sendAlarm(): LimitAlarm {
    return { kind: "sends", count: this.figures().sends, limit: this.#deps.settings.sends.totalPerHour };
  }

  #clientAlarm(client: string): LimitAlarm {
    const limit = this.#deps.settings.sends.perClientPerHour;
    return { kind: "client_sends", client, count: this.#sendsOf(client), limit };
  }

  #failureAlarms(): LimitAlarm[] {
    const { warnFailuresPerHour, warnLocksPerHour } = this.#deps.settings.lockout;
    const { failures, locks } = this.figures();
    return [
      { kind: "failures", count: failures, limit: warnFailuresPerHour },
      { kind: "locks", count: locks, limit: warnLocksPerHour },
    ];
  }

  #raise(alarm: LimitAlarm, isHigh: boolean): void {
    const id = alarm.client === undefined ? alarm.kind : `${alarm.kind} ${alarm.client}`;
    if (!isHigh) return void this.#alarmed.delete(id);
    if (this.#alarmed.has(id)) return;
    this.#alarmed.add(id);
    this.#deps.onAlarm(alarm);
  }
}

/** One stored bucket: the minute since the epoch, and its number of events. */
type Bucket = readonly [minute: number, count: number];

/** The current minute and the 60 before it: never less than an hour. */
const MAX_BUCKETS = 61;

/** How long a stored record of buckets is valid. */
const HOURLY_COUNT_MS = MAX_BUCKETS * MINUTE_MS;

class HourlyCount {
  #buckets: Bucket[] = [];

  /** @param stored a value of {@link HourlyCount.record}; anything else starts at zero */
  constructor(stored: unknown = []) {
    if (Array.isArray(stored)) this.#buckets = stored.filter(isBucket).slice(-MAX_BUCKETS);
  }

  add(nowMs: number): void {
    const minute = Math.floor(nowMs / MINUTE_MS);
    this.#endFuture(minute);
    const last = this.#buckets.at(-1);
    if (last?.[0] === minute) return void this.#buckets.splice(-1, 1, [minute, last[1] + 1]);
    this.#buckets.push([minute, 1]);
    if (this.#buckets.length > MAX_BUCKETS) this.#buckets.shift();
  }

  /** Removes the event that was added last. */
  undoAdd(): void {
    const [minute, count] = this.#buckets.pop() ?? [0, 0];
    if (count > 1) this.#buckets.push([minute, count - 1]);
  }

  total(nowMs: number): number {
    const now = Math.floor(nowMs / MINUTE_MS);
    this.#endFuture(now);
    let sum = 0;
    for (const [minute, count] of this.#buckets) if (minute > now - MAX_BUCKETS) sum += count;
    return sum;
  }

  record(): readonly Bucket[] {
    return this.#buckets.slice();
  }

  /** After the clock was set back, later events count as of now. Otherwise they and all that follow would count until then. */
  #endFuture(minute: number): void {
    if ((this.#buckets.at(-1)?.[0] ?? minute) <= minute) return;
    // One bucket for each minute: with more, the oldest would be lost before they are an hour old.
    const count = this.#buckets.filter(([at]) => at >= minute).reduce((sum, [, one]) => sum + one, 0);
    this.#buckets = [...this.#buckets.filter(([at]) => at < minute), [minute, count]];
  }
}

function isBucket(value: unknown): value is Bucket {
  return Array.isArray(value) && value.length === 2 && value.every((part) => Number.isSafeInteger(part));
}

/** Log messages of the alarms. */
export const LIMIT_ALARMS = {
  sends:
    "factors.sends.total_per_hour is reached: no text and no call is sent until the oldest is an hour old",
  client_sends:
    "factors.sends.per_client_per_hour is reached: no text and no call is sent for the logins of this client",
  failures: "more failures than factors.lockout.warn_failures_per_hour: passwords or codes may be guessed",
  locks: "more locks than factors.lockout.warn_locks_per_hour: users may be locked out on purpose",
} as const satisfies Record<LimitAlarm["kind"], string>;

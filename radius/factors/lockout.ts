// Failures of users, and the locks that they cause. Failures of existing users are stored, so that they survive a restart and other names cannot
// evict them.

import type { FactorSettings } from "../../platform/config/config.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { RecordVersions } from "../../platform/cluster/record_versions.ts";
import type { KvMutation } from "../../platform/commit_batch.ts";
import type { Mutation } from "../../platform/store.ts";
import type { PreparedRename } from "../../platform/write_batch.ts";

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
    const known = this.#users.get(user);
    if (known !== undefined) return this.#isExpired(known, FAILURE_RETENTION_MS) ? NO_FAILURES : known;
    const stranger = this.#strangers.size === 0 ? undefined : this.#strangers.get(user);
    return stranger === undefined || this.#isExpired(stranger, STRANGER_RETENTION_MS)
      ? NO_FAILURES
      : stranger;
  }

  isLocked(user: string): boolean {
    const known = this.#users.get(user) ??
      (this.#strangers.size === 0 ? undefined : this.#strangers.get(user));
    return known !== undefined && this.#isLockedNow(known);
  }

  locked(): string[] {
    return [...this.#users, ...this.#strangers].flatMap(([user, known]) =>
      this.#isLockedNow(known) ? [user] : []
    );
  }

  countFailure(user: string): { mutation: Mutation; locked: boolean; failures: Failures } {
    const { after, locked } = this.#afterFailure(this.failures(user));
    this.#set(user, after);
    return { mutation: this.#basedMutation(user, after), locked, failures: after };
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

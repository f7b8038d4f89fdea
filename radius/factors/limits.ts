// Limits of logins: failures and locks per user, pushes per user, and messages per user, per number, per client and in total.
// Decides whether a text message or a call may be sent to a number.

import type { FactorSettings } from "../../platform/config/config.ts";
import { RecordVersions } from "../../platform/cluster/change_log.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Mutation, Store, StoreEntry } from "../../platform/store.ts";
import {
  type Failures,
  HourlyLimits,
  type HourlySendLimit,
  type LimitAlarm,
  type LimitFigures,
  Lockout,
  type StoredFailures,
  SweptMap,
} from "./lockout.ts";
import { joinRenames, type PreparedRename } from "../../platform/write_batch.ts";
import { isCountryAllowed } from "../../platform/phone_number.ts";

/** Times in one record: a value of the store has at most 64 KiB. */
const MAX_RECORDED = 5000;

/** A message to be sent. */
interface Send {
  readonly user: string;
  readonly number: string;
  readonly client: string;
}

/** The limit that a message would exceed. */
type SendLimit = "user_limit" | "number_limit" | HourlySendLimit;

interface LimitsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly settings: FactorSettings;
  /** Called when a count of the last hour becomes too high, once until it is lower again. */
  readonly onAlarm?: (alarm: LimitAlarm) => void;
  readonly maxStrangers?: number;
}

type Kind = "push" | "user_send" | "number_send";

export class Limits {
  readonly #deps: LimitsDeps;
  readonly #versions: RecordVersions;
  readonly #hourly: HourlyLimits;
  readonly #lockout: Lockout;
  readonly #times = {
    push: new SweptMap<number[]>(),
    user_send: new SweptMap<number[]>(),
    number_send: new SweptMap<number[]>(),
  } satisfies Record<Kind, SweptMap<number[]>>;

  constructor(deps: LimitsDeps) {
    const { clock, settings, maxStrangers, onAlarm = () => undefined } = deps;
    this.#deps = deps;
    const versions = this.#versions = new RecordVersions(deps.store);
    this.#hourly = new HourlyLimits({ clock, settings, onAlarm, versions });
    this.#lockout = new Lockout({ clock, settings, maxStrangers, versions });
    deps.store.follow(["limit"], (entry) => this.#apply(entry));
  }

  failures(user: string): Failures {
    return this.#lockout.failures(user);
  }

  isLocked(user: string): boolean {
    return this.#lockout.isLocked(user);
  }

  /** Users who are locked now, by canonical name, in no order. */
  locked(): string[] {
    return this.#lockout.locked();
  }

  /**
   * Counts a failure of a user who is in the directory or has a factor. `locked`: this failure locked the user. Call {@link noteFailure} when it
   * is durable, or `undo` if it could not be recorded: that changes nothing if there were others since.
   */
  countFailure(user: string): ReturnType<Lockout["countFailure"]> {
    return this.#lockout.countFailure(user);
  }

  /** Counts a failure of any other name: in memory, with a bound. */
  countStrangerFailure(user: string): { locked: boolean; failures: Failures } {
    return this.#lockout.countStrangerFailure(user);
  }

  /** Counts a recorded failure for the figures and alarms of the last hour. */
  noteFailure(failure: { readonly locked: boolean }): void {
    this.#hourly.countFailure(failure);
  }

  /** Clears the failures of a user; `null` if there are none. */
  clear(user: string): Mutation | null {
    return this.#lockout.clear(user);
  }

  /** Clears the failures of a user for an administrator, whatever another node counts meanwhile. `null` if there are none. */
  unlock(user: string): Mutation | null {
    return this.#lockout.clear(user, { always: true });
  }

  /** Locks a user for at least `lastsMs`. The lock applies at once. `undo` removes it if it could not be recorded, or if its commit raced. */
  lockFor(user: string, lastsMs: number): ReturnType<Lockout["lockFor"]> {
    return this.#lockout.lockFor(user, lastsMs);
  }

  /** Undoes a {@link clear} that could not be recorded. Failures since then are added. */
  restore(user: string, before: Failures): void {
    this.#lockout.restore(user, before);
  }

  pushesLeft(user: string): boolean {
    return this.#recent("push", user).length < this.#max("push");
  }

  countPush(user: string): Mutation {
    return this.#count("push", user);
  }

  /** Undoes a {@link countPush} whose commit failed, so that nothing was sent. */
  uncountPush(user: string): void {
    this.#uncount("push", user);
  }

  /** Whether the limits of the user and of the number allow another message. */
  sendsLeft(user: string, number: string | null): boolean {
    return this.#recent("user_send", user).length < this.#max("user_send") &&
      (number === null || this.#recent("number_send", number).length < this.#max("number_send"));
  }

  /** The limit that the message would exceed, or `null`. */
  limitOf({ user, number, client }: Send): SendLimit | null {
    if (!this.sendsLeft(user, null)) return "user_limit";
    if (!this.sendsLeft(user, number)) return "number_limit";
    return this.#hourly.limitOf(client);
  }

  /** Counts a message for its user, its number, its client and in total. */
  countSend({ user, number, client }: Send): Mutation[] {
    return [
      this.#count("user_send", user),
      this.#count("number_send", number),
      ...this.#hourly.countSend(client),
    ];
  }

  /** Undoes a {@link countSend} whose commit failed, so that nothing was sent. */
  uncountSend({ user, number, client }: Send): void {
    this.#uncount("user_send", user);
    this.#uncount("number_send", number);
    this.#hourly.uncountSend(client);
  }

  /** Counts a refused message: for the user who asked, never for the number. */
  countRefusedSend(user: string): Mutation {
    return this.#count("user_send", user);
  }

  uncountRefusedSend(user: string): void {
    this.#uncount("user_send", user);
  }

  /** When the user can get another push, or `null` if that is now. */
  pushesBlockedUntilMs(user: string): number | null {
    return this.#blockedUntilMs("push", user);
  }

  /** When the user can get another message to any of `numbers`, or `null` if that is now. */
  sendsBlockedUntilMs(user: string, numbers: readonly string[] = []): number | null {
    const ofUser = this.#blockedUntilMs("user_send", user);
    const ofNumbers = numbers.map((number) => this.#blockedUntilMs("number_send", number));
    const soonest = ofNumbers.includes(null) || ofNumbers.length === 0
      ? null
      : Math.min(...ofNumbers.map((untilMs) => untilMs ?? 0));
    return ofUser === null ? soonest : Math.max(ofUser, soonest ?? 0);
  }

  /** Clears the pushes and messages of a user, and the messages to the user's own `numbers`. `null` if there are none. */
  reset(
    user: string,
    numbers: readonly string[],
  ): { mutations: readonly Mutation[]; pushes: number; sends: number; undo: () => void } | null {
    const subjects: (readonly [Kind, string])[] = [
      ["push", user],
      ["user_send", user],
      ...numbers.map((number) => ["number_send", number] as const),
    ];
    const counted = subjects.flatMap(([kind, subject]) => {
      const known = this.#times[kind].get(subject);
      return known === undefined
        ? []
        : [{ kind, subject, known, recent: this.#recent(kind, subject).length }];
    });
    if (counted.length === 0) return null;
    for (const { kind, subject } of counted) this.#times[kind].delete(subject);
    const recentOf = (wanted: Kind) => counted.find(({ kind }) => kind === wanted)?.recent ?? 0;
    return {
      mutations: counted.map(({ kind, subject }) => {
        const key = ["limit", kind, subject];
        return { type: "delete", key, basis: this.#versions.overwriteOf(key) };
      }),
      pushes: recentOf("push"),
      sends: recentOf("user_send"),
      undo: () => {
        for (const { kind, subject, known } of counted) {
          const times = [...known, ...this.#recent(kind, subject)].slice(-this.#max(kind));
          this.#times[kind].set(subject, times);
        }
      },
    };
  }

  /** Prepares the move of what is counted for a user to another name. The counts of the new name belong to another person. */
  prepareRename(from: string, to: string): PreparedRename {
    const parts = (["push", "user_send"] as const).map((kind): PreparedRename => {
      const times = this.#times[kind];
      const [own, others] = [times.get(from), times.get(to)];
      const put = (user: string, value: number[] | undefined) =>
        void (value === undefined ? times.delete(user) : times.set(user, value));
      put(from, undefined);
      put(to, own);
      return {
        mutations: [
          this.#timesMutation(kind, from, undefined),
          this.#timesMutation(kind, to, own),
        ],
        done: () => undefined,
        undo: () => {
          put(from, own);
          put(to, others);
        },
      };
    });
    return joinRenames([this.#lockout.prepareRename(from, to), ...parts]);
  }

  #timesMutation(kind: Kind, subject: string, times: readonly number[] | undefined): Mutation {
    const key = ["limit", kind, subject];
    const basis = this.#versions.overwriteOf(key);
    if (times === undefined) return { type: "delete", key, basis };
    const value = times.slice(-MAX_RECORDED);
    return { type: "set", key, value, expireInMs: this.#windowMs(kind), basis };
  }

  figures(): LimitFigures {
    return this.#hourly.figures();
  }

  /** The counts of the last hour that are too high now. */
  alarms(): LimitAlarm[] {
    return this.#hourly.alarms();
  }

  async load(): Promise<void> {
    await this.#deps.store.load(["limit"], (entry) => this.#apply(entry));
  }

  /** Takes over a stored record: at the start, after a change of another node, or after a commit that raced. */
  #apply({ key, value, versionstamp }: StoreEntry<unknown>): void {
    const [, kind, subject] = key;
    this.#versions.apply(key, versionstamp);
    if (this.#hourly.load(key, value) || typeof subject !== "string") return;
    if (kind === "failures") this.#lockout.load(subject, value as StoredFailures | null);
    else if (kind === "push" || kind === "user_send" || kind === "number_send") {
      if (value === null) this.#times[kind].delete(subject);
      else if (isTimes(value)) this.#times[kind].set(subject, value);
      else throw new TypeError("it is no list of times");
    } else throw new TypeError("its kind is unknown");
  }

  #windowMs(kind: Kind): number {
    const { pushes, sends } = this.#deps.settings;
    return kind === "push" ? pushes.windowMs : sends.windowMs;
  }

  #max(kind: Kind): number {
    const { pushes, sends } = this.#deps.settings;
    return kind === "push" ? pushes.perUser : kind === "user_send" ? sends.perUser : sends.perNumber;
  }

  #recent(kind: Kind, subject: string): number[] {
    let known = this.#times[kind].get(subject);
    if (known === undefined) return NO_TIMES;
    const nowMs = this.#deps.clock.nowMs();
    // After the clock was set back, later times count as of now. Otherwise they would count until then.
    if (known.some((atMs) => atMs > nowMs)) {
      known = known.map((atMs) => Math.min(atMs, nowMs));
      this.#times[kind].set(subject, known);
    }
    const sinceMs = nowMs - this.#windowMs(kind);
    return known.filter((atMs) => atMs > sinceMs);
  }

  #count(kind: Kind, subject: string): Mutation {
    const nowMs = this.#deps.clock.nowMs();
    const windowMs = this.#windowMs(kind);
    // The limit needs no older times, which would only make the record larger.
    const times = [...this.#recent(kind, subject), nowMs].slice(-this.#max(kind));
    this.#times[kind].sweep((list) => (list.at(-1) ?? 0) <= nowMs - windowMs);
    this.#times[kind].set(subject, times);
    const key = ["limit", kind, subject];
    return {
      type: "set",
      key,
      value: times.slice(-MAX_RECORDED),
      expireInMs: windowMs,
      basis: this.#versions.basisOf(key),
    };
  }

  #uncount(kind: Kind, subject: string): void {
    if (!this.#versions.isPending(["limit", kind, subject])) return;
    const times = this.#times[kind].get(subject) ?? NO_TIMES;
    if (times.length > 1) this.#times[kind].set(subject, times.slice(0, -1));
    else this.#times[kind].delete(subject);
  }

  #blockedUntilMs(kind: Kind, subject: string): number | null {
    const times = this.#recent(kind, subject);
    const max = this.#max(kind);
    const oldest = times.length < max ? undefined : times[times.length - max];
    return oldest === undefined ? null : oldest + this.#windowMs(kind);
  }
}

const NO_TIMES: number[] = [];

function isTimes(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((one) => typeof one === "number");
}

// Decides whether a text message or a call may be sent to a number.

/** The reasons why no message is sent, with the sentence for the log. The user sees the same text in every case. */
export const NOT_SENT_REASONS = {
  not_a_number: "the answer is not a phone number",
  number_not_allowed: "factors.phone_numbers does not allow this number for this user",
  country_not_allowed:
    "factors.country_codes does not allow the number; without a list, satellite and premium-rate numbers are not allowed",
  user_limit: "the limit of factors.sends.per_user is reached",
  number_limit: "the limit of factors.sends.per_number is reached",
  client_limit: "the limit of factors.sends.per_client_per_hour is reached",
  total_limit: "the limit of factors.sends.total_per_hour is reached",
} as const;

export type NotSentReason = keyof typeof NOT_SENT_REASONS;

/** @param send.allowed whether the number is one of the user's, or any number is allowed. */
export function whyNotSent(
  { settings, limits }: { settings: Pick<FactorSettings, "countryCodes">; limits: Limits },
  send: Send & { readonly allowed: boolean },
): NotSentReason | null {
  if (!send.allowed) return "number_not_allowed";
  if (!isCountryAllowed(send.number, settings.countryCodes)) return "country_not_allowed";
  return limits.limitOf(send);
}

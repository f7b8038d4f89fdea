// Counts of the last hour over all users: messages in total and per client, with their limits; failures and locks, with the counts that cause
// a warning.

import type { FactorSettings } from "../../platform/config/config.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { RecordVersions } from "../../platform/cluster/record_versions.ts";
import type { Mutation } from "../../platform/store.ts";

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
    const last = this.#buckets.at(-1);
    if (last !== undefined && last[0] >= minute) {
      this.#buckets[this.#buckets.length - 1] = [last[0], last[1] + 1];
      return;
    }
    this.#buckets.push([minute, 1]);
    if (this.#buckets.length > MAX_BUCKETS) this.#buckets.shift();
  }

  total(nowMs: number): number {
    const oldest = Math.floor(nowMs / MINUTE_MS) - MAX_BUCKETS;
    let sum = 0;
    for (const [minute, count] of this.#buckets) if (minute > oldest) sum += count;
    return sum;
  }

  record(): readonly Bucket[] {
    return this.#buckets.slice();
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

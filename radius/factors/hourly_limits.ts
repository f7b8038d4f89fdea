// Counts of the last hour over all users: messages in total and per client, with their limits, and failures and locks, with the counts above
// which the operator is warned.

import type { FactorSettings } from "../../platform/config/config.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Mutation } from "../../platform/store.ts";

/** Counts of the last hour, for metrics and the health page. */
export interface LimitFigures {
  readonly sends: number;
  readonly failures: number;
  readonly locks: number;
}

/** A count of the last hour that is higher than it should be. */
export interface LimitAlarm {
  readonly kind: "sends" | "client_sends" | "failures" | "locks";
  /** The client, for `client_sends`. */
  readonly client?: string;
  readonly count: number;
  readonly limit: number;
}

/** Which limit of the last hour a message would exceed. */
export type HourlySendLimit = "client_limit" | "total_limit";

export interface HourlyLimits {
  /** The limit that a message from a login at this client would exceed, or `null`. */
  limitOf(client: string): HourlySendLimit | null;
  /** Counts a message that is sent. */
  countSend(client: string): Mutation[];
  countFailure(failure: { locked: boolean }): void;
  figures(): LimitFigures;
  /** What is too high now. */
  alarms(): LimitAlarm[];
  /** Takes a stored record; `false` for a record of something else. */
  load(key: Deno.KvKey, value: unknown): boolean;
}

/** @param options.onAlarm called when a count becomes too high, once until it is lower again. */
export function createHourlyLimits(
  { clock, settings, onAlarm }: {
    clock: Clock;
    settings: Pick<FactorSettings, "sends" | "lockout">;
    onAlarm: (alarm: LimitAlarm) => void;
  },
): HourlyLimits {
  const { totalPerHour, perClientPerHour } = settings.sends;
  const { warnFailuresPerHour, warnLocksPerHour } = settings.lockout;
  let sends = new HourlyCount();
  const failures = new HourlyCount();
  const locks = new HourlyCount();
  /** By the client's name, so there are as many as clients. */
  const sendsOfClients = new Map<string, HourlyCount>();
  const alarmed = new Set<string>();

  const figures = (): LimitFigures => {
    const nowMs = clock.nowMs();
    return { sends: sends.total(nowMs), failures: failures.total(nowMs), locks: locks.total(nowMs) };
  };
  const sendsOf = (client: string): number => sendsOfClients.get(client)?.total(clock.nowMs()) ?? 0;
  const raise = (alarm: LimitAlarm, isHigh: boolean): void => {
    const id = alarm.client === undefined ? alarm.kind : `${alarm.kind} ${alarm.client}`;
    if (!isHigh) return void alarmed.delete(id);
    if (alarmed.has(id)) return;
    alarmed.add(id);
    onAlarm(alarm);
  };
  const sendAlarm = (): LimitAlarm => ({ kind: "sends", count: figures().sends, limit: totalPerHour });
  const clientAlarm = (client: string): LimitAlarm => ({
    kind: "client_sends",
    client,
    count: sendsOf(client),
    limit: perClientPerHour,
  });
  const failureAlarms = (): LimitAlarm[] => [
    { kind: "failures", count: figures().failures, limit: warnFailuresPerHour },
    { kind: "locks", count: figures().locks, limit: warnLocksPerHour },
  ];
  const mutation = (key: Deno.KvKey, hourly: HourlyCount): Mutation => ({
    type: "set",
    key: ["limit", ...key],
    value: hourly.record(),
    expireInMs: HOURLY_COUNT_MS,
  });

  return {
    limitOf(client) {
      if (sendsOf(client) >= perClientPerHour) return "client_limit";
      return figures().sends >= totalPerHour ? "total_limit" : null;
    },
    countSend(client) {
      const nowMs = clock.nowMs();
      const ofClient = sendsOfClients.get(client) ?? new HourlyCount();
      sendsOfClients.set(client, ofClient);
      ofClient.add(nowMs);
      sends.add(nowMs);
      raise(sendAlarm(), figures().sends >= totalPerHour);
      raise(clientAlarm(client), sendsOf(client) >= perClientPerHour);
      return [mutation(["client_sends", client], ofClient), mutation(["sends"], sends)];
    },
    countFailure({ locked }) {
      failures.add(clock.nowMs());
      if (locked) locks.add(clock.nowMs());
      for (const alarm of failureAlarms()) raise(alarm, alarm.count > alarm.limit);
    },
    figures,
    alarms: () => [
      ...[sendAlarm(), ...[...sendsOfClients.keys()].map(clientAlarm)]
        .filter(({ count, limit }) => count >= limit),
      ...failureAlarms().filter(({ count, limit }) => count > limit),
    ],
    load([, kind, client], value) {
      if (kind === "sends") sends = new HourlyCount(value);
      else if (kind === "client_sends" && typeof client === "string") {
        sendsOfClients.set(client, new HourlyCount(value));
      } else return false;
      return true;
    },
  };
}

/** One bucket as the store has it: the minute since the epoch, and how many events it had. */
type Bucket = readonly [minute: number, count: number];

const MINUTE_MS = 60_000;
/** The running minute and the 60 before it: never less than an hour. */
const MAX_BUCKETS = 61;

/** How long a stored record of buckets counts. */
const HOURLY_COUNT_MS = MAX_BUCKETS * MINUTE_MS;

class HourlyCount {
  #buckets: Bucket[] = [];

  /** @param stored a record that {@link HourlyCount.record} returned; anything else starts at zero. */
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

  /** What to store. */
  record(): readonly Bucket[] {
    return this.#buckets.slice();
  }
}

function isBucket(value: unknown): value is Bucket {
  return Array.isArray(value) && value.length === 2 && value.every((part) => Number.isSafeInteger(part));
}

/** What the log says when a count of the last hour becomes too high. */
export const LIMIT_ALARMS = {
  sends:
    "factors.sends.total_per_hour is reached: no text and no call is sent until the oldest is an hour old",
  client_sends:
    "factors.sends.per_client_per_hour is reached: no text and no call is sent for the logins of this client",
  failures: "more failures than factors.lockout.warn_failures_per_hour: passwords or codes may be guessed",
  locks: "more locks than factors.lockout.warn_locks_per_hour: users may be locked out on purpose",
} as const satisfies Record<LimitAlarm["kind"], string>;

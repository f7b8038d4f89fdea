// Decides what is an alert: which records of the audit log, how many rejected sign-ins, and which states; which alerts open, continue and end, and when
// a message is due. Pure: the watcher stores the result, and then uses it.

import { canonicalName } from "../canonical_name.ts";
import type { Config } from "../config/config.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../durations.ts";
import { type AlertKind, alertKindRow, type AlertSeverity, type AlertValues } from "./alert_kinds.ts";
import { alertEndMs, type KnownAlert, REOPEN_MS } from "./alert_record.ts";

/** Why a message is sent. `ended`: only of states. */
export const ALERT_MESSAGES = ["opened", "again", "reminder", "ended"] as const;
export type AlertMessage = typeof ALERT_MESSAGES[number];

/** An alert that changed, and the message about it; `null`: it is only counted. */
export interface AlertChange {
  readonly alert: KnownAlert;
  readonly message: AlertMessage | null;
}

/** When something is an alert, and how many messages are sent. */
export type AlertSettings = Config["alerts"];

/** Something that can be bad for a time, as seen now. */
export interface ObservedState {
  readonly kind: AlertKind;
  /** Identifies it: `backend:default/ldap`. */
  readonly about: string;
  /** `unknown` changes nothing. */
  readonly state: "ok" | "bad" | "unknown";
  readonly severity: AlertSeverity;
  readonly values: AlertValues;
}

/** How many alerts of a kind were opened one by one in an hour. */
interface OpenedAlerts {
  readonly sinceMs: number;
  readonly count: number;
}

/** How long a state was bad, and how long it was good since; `null`: it is bad. */
interface StateTimes {
  readonly badMs: number;
  readonly okMs: number | null;
}

/** What the decisions depend on. */
export interface AlertBook {
  /** The alerts that are open or ended lately, by {@link bookKey}. */
  readonly active: ReadonlyMap<string, KnownAlert>;
  readonly opened: ReadonlyMap<AlertKind, OpenedAlerts>;
  readonly times: ReadonlyMap<string, StateTimes>;
}

export const EMPTY_BOOK: AlertBook = { active: new Map(), opened: new Map(), times: new Map() };

/** Events about one object are sent at most so often. */
const COOLDOWN_MS = 15 * 60_000;
/** While a state lasts, it is sent again. */
const REMINDER_MS = DAY_MS;
/** A state ends after it was good for so long, times the number of its beginnings: one that flaps sends few messages. */
const CLEAR_MS = 5 * 60_000;
const MAX_CLEAR_MS = HOUR_MS;
/** What is not seen any more, such as a node, does not answer. */
const UNSEEN_MS = DAY_MS;
/** Names in one message. */
const MAX_NAMES = 20;
/** Open alerts of one kind. */
const MAX_ACTIVE = 100;
/** The object of an alert that stands for several. */
const SEVERAL = "*";

/** Whether at least `forMs` passed. A clock that was set back does not extend a wait. */
function hasPassed(sinceMs: number, forMs: number, nowMs: number): boolean {
  return nowMs - sinceMs >= forMs || nowMs < sinceMs - 60_000;
}

/** The key of an alert in the book. */
export function bookKey({ kind, about, values }: Pick<KnownAlert, "kind" | "about" | "values">): string {
  if (values.users !== undefined) return `${kind} ${SEVERAL}`;
  const { client = "", session } = values;
  const object = about.startsWith("user:") ? canonicalName(about) : about;
  // Each session is ended on its own.
  return session === undefined ? `${kind} ${object}` : `${kind} ${object} ${client} ${session}`;
}

interface AlertRulesDeps {
  readonly nowMs: number;
  readonly failingMs: number;
  /** The id of a new alert. */
  readonly nextId: () => string;
}

/** One run over events and states. The book that it begins with does not change. */
export class AlertRules {
  readonly #deps: AlertRulesDeps;
  readonly #before: ReadonlyMap<string, KnownAlert>;
  readonly #active: Map<string, KnownAlert>;
  readonly #opened: Map<AlertKind, OpenedAlerts>;
  readonly #times: Map<string, StateTimes>;
  readonly #changes = new Map<string, AlertChange>();

  constructor(book: AlertBook, deps: AlertRulesDeps) {
    this.#deps = deps;
    this.#before = book.active;
    this.#active = new Map(book.active);
    this.#opened = new Map(book.opened);
    this.#times = new Map(book.times);
  }

  /** The alerts that changed, each once, with the message that is due. */
  get changes(): readonly AlertChange[] {
    return [...this.#changes.values()];
  }

  /** The book after the changes. */
  get book(): AlertBook {
    return { active: this.#active, opened: this.#opened, times: this.#times };
  }

  /** An event of the audit log. */
  addEvent(event: AlertEvent): void {
    const { kind } = event;
    const severity = alertKindRow(kind).severity;
    const own = this.#continued(bookKey(event));
    if (own !== undefined) return this.#count(own, event.values);
    if (this.#takeSingle(kind)) return this.#open({ ...event, severity });
    const several = { kind, about: "", values: { users: namesOf([], event) } };
    const key = bookKey(several);
    const group = this.#continued(key);
    if (group === undefined) return this.#open({ ...several, severity });
    // After a message, the names begin again.
    const isNew = group.count === group.notifiedCount && !this.#changes.has(key);
    this.#count(group, { users: namesOf(isNew ? [] : group.values.users ?? [], event) });
  }

  /** The states as they are now. @param elapsedMs since the last call; the watcher limits it, so that a jump of the clock does not count */
  addStates(states: readonly ObservedState[], elapsedMs: number): void {
    const seen = new Set<string>();
    for (const state of states) {
      const key = bookKey(state);
      seen.add(key);
      if (state.state === "bad") this.#addBad(key, state, elapsedMs);
      else if (state.state === "ok") this.#addOk(key, elapsedMs, { isSeen: true });
    }
    for (const [key, alert] of [...this.#active]) {
      if (alertKindRow(alert.kind).source === "state" && !seen.has(key)) {
        this.#addOk(key, elapsedMs, { isSeen: false });
      }
    }
    for (const key of [...this.#times.keys()]) {
      if (!seen.has(key) && !this.#active.has(key)) this.#times.delete(key);
    }
  }

  /** A state that is not among those of {@link addStates}. */
  addState(state: ObservedState, elapsedMs: number): void {
    if (state.state === "bad") this.#addBad(bookKey(state), state, elapsedMs);
    else if (state.state === "ok") this.#addOk(bookKey(state), elapsedMs, { isSeen: true });
  }

  /** Sends what a flood counted since its last message, and forgets what ended. */
  sweep(): void {
    const { nowMs } = this.#deps;
    for (const [key, alert] of [...this.#active]) {
      const isGroup = alert.values.users !== undefined;
      if (isGroup && alert.count > alert.notifiedCount && hasPassed(alert.notifiedMs, COOLDOWN_MS, nowMs)) {
        this.#put(key, alert, "again");
      }
      const endMs = alertEndMs(alert, nowMs);
      if (endMs !== null && hasPassed(endMs, REOPEN_MS, nowMs)) this.#active.delete(key);
    }
  }

  /** The alert that an event belongs to. After a pause, the next event opens another one. */
  #continued(key: string): KnownAlert | undefined {
    const alert = this.#active.get(key);
    return alert !== undefined && !hasPassed(alert.lastMs, REOPEN_MS, this.#deps.nowMs) ? alert : undefined;
  }

  #count(alert: KnownAlert, values: AlertValues): void {
    const { nowMs } = this.#deps;
    const message = hasPassed(alert.notifiedMs, COOLDOWN_MS, nowMs) ? "again" : null;
    this.#put(bookKey(alert), { ...alert, values, count: alert.count + 1, lastMs: nowMs }, message);
  }

  #takeSingle(kind: AlertKind): boolean {
    const { nowMs } = this.#deps;
    const before = this.#opened.get(kind);
    const isOver = before === undefined || hasPassed(before.sinceMs, HOUR_MS, nowMs);
    const opened = isOver ? { sinceMs: nowMs, count: 0 } : before;
    if (opened.count >= alertKindRow(kind).maxSingle) return false;
    this.#opened.set(kind, { ...opened, count: opened.count + 1 });
    return true;
  }

  #open(given: Pick<KnownAlert, "kind" | "about" | "severity" | "values">): void {
    const { nowMs, nextId } = this.#deps;
    const alert: KnownAlert = {
      ...{ ...given, id: nextId(), count: 1 },
      ...{ openedMs: nowMs, lastMs: nowMs, endedMs: null, notifiedMs: nowMs, notifiedCount: 0 },
    };
    this.#put(bookKey(alert), alert, "opened");
  }

  #addBad(key: string, { kind, about, severity, values }: ObservedState, elapsedMs: number): void {
    const { nowMs, failingMs } = this.#deps;
    const times = this.#times.get(key);
    const badMs = times === undefined ? 0 : Math.min(times.badMs + elapsedMs, DAY_MS);
    this.#times.set(key, { badMs, okMs: null });
    const alert = this.#active.get(key);
    if (alert !== undefined && alert.endedMs === null) {
      const isWorse = severity === "critical" && alert.severity === "warning";
      const isDue = hasPassed(alert.notifiedMs, REMINDER_MS, nowMs);
      if (!isWorse && !isDue) return;
      const message = isWorse ? "opened" : "reminder";
      return this.#put(key, { ...alert, severity, values, lastMs: nowMs }, message);
    }
    if (badMs < (alertKindRow(kind).delayMs ?? failingMs)) return;
    if (alert !== undefined) {
      const again = { ...alert, severity, values, count: alert.count + 1, lastMs: nowMs, endedMs: null };
      return this.#put(key, again, "again");
    }
    const ofKind = this.#active.values().filter((one) => one.kind === kind);
    if ([...ofKind].length < MAX_ACTIVE) this.#open({ kind, about, severity, values });
  }

  #addOk(key: string, elapsedMs: number, { isSeen }: { isSeen: boolean }): void {
    const { nowMs } = this.#deps;
    const times = this.#times.get(key);
    // A state that is bad most of the time is bad, even if it is good in between.
    const badMs = Math.max(0, (times?.badMs ?? 0) - elapsedMs);
    const before = times?.okMs ?? null;
    const okMs = before === null ? 0 : Math.min(before + elapsedMs, 2 * DAY_MS);
    const alert = this.#active.get(key);
    if (alert === undefined || alert.endedMs !== null) {
      if (badMs === 0) this.#times.delete(key);
      else this.#times.set(key, { badMs, okMs: null });
      return;
    }
    this.#times.set(key, { badMs, okMs });
    const isGone = !isSeen && alert.kind === "node_down";
    if (okMs < (isGone ? UNSEEN_MS : Math.min(MAX_CLEAR_MS, CLEAR_MS * alert.count))) return;
    this.#times.delete(key);
    // What expired and is removed, such as a token, is not resolved.
    const isExpired = !isSeen && (alert.values.untilMs ?? Infinity) <= nowMs;
    this.#put(key, { ...alert, lastMs: nowMs, endedMs: nowMs }, isExpired ? null : "ended");
  }

  /** A message that is made in this run contains everything that is counted in it. */
  #put(key: string, alert: KnownAlert, message: AlertMessage | null): void {
    const due = message ?? this.#changes.get(key)?.message ?? null;
    const done = due === null ? alert : this.#notified(key, alert);
    this.#active.set(key, done);
    this.#changes.set(key, { alert: done, message: due });
  }

  #notified(key: string, alert: KnownAlert): KnownAlert {
    const { id, kind, count, values } = alert;
    const before = this.#before.get(key);
    const since = count - (before?.id === id ? before.notifiedCount : 0);
    const isCounted = alertKindRow(kind).source === "event" && since > 1;
    return {
      ...alert,
      values: isCounted ? { ...values, since } : values,
      ...{ notifiedMs: this.#deps.nowMs, notifiedCount: count },
    };
  }
}

/** The first names of a flood. */
function namesOf(users: readonly string[], { about, values }: AlertEvent): readonly string[] {
  const name = values.user ?? about;
  return users.length >= MAX_NAMES || users.includes(name) ? users : [...users, name];
}

interface AlertEvent {
  readonly kind: AlertKind;
  /** `user:ada` */
  readonly about: string;
  readonly values: AlertValues;
}

type AuditRecord = Readonly<Record<string, unknown>>;

interface EventRow {
  readonly kind: AlertKind;
  readonly isWanted?: (record: AuditRecord) => boolean;
  readonly values: (record: AuditRecord) => AlertValues;
}

// Records are foreign input, because another version may have written them.

/** Names of users have at most 256 characters. */
const MAX_TEXT_CHARACTERS = 256;
const USER_PREFIX = "user:";
/** The action that is counted. */
const REJECTED = "login.rejected";

const EVENTS: ReadonlyMap<string, EventRow> = new Map<string, EventRow>([
  ["user.locked", {
    kind: "user_locked",
    values: (record) => ({
      ...texts({ client: record.client, address: record.caller }),
      ...record.hard === true ? { isHard: true } : {},
    }),
  }],
  ["user.not_me", {
    kind: "fraud_reported",
    // Not `source`: that is the address of the user who reports.
    values: ({ client, caller }) => texts({ client, address: caller }),
  }],
  ["vpn_session.disconnect_failed", {
    kind: "disconnect_manually",
    // An operator who disconnects a session sees the result.
    isWanted: ({ by }) => by !== "disconnect_operator",
    values: ({ client, nas, session, because, address }) => texts({ client, nas, session, because, address }),
  }],
]);

/** The alert of a record; `null`: it is none. */
export function alertEventOf(record: AuditRecord): AlertEvent | null {
  const row = typeof record.action === "string" ? EVENTS.get(record.action) : undefined;
  if (row === undefined || row.isWanted?.(record) === false) return null;
  const object = typeof record.object === "string" ? record.object : "";
  const user = object.startsWith(USER_PREFIX) ? shortened(object.slice(USER_PREFIX.length)) : "";
  const about = user === "" ? shortened(object) : `${USER_PREFIX}${user}`;
  return { kind: row.kind, about, values: { ...user === "" ? {} : { user }, ...row.values(record) } };
}

/** When a sign-in was rejected, if the record says so (milliseconds since the epoch). */
export function rejectionMs({ action, atMs }: AuditRecord): number | null {
  return action === REJECTED && typeof atMs === "number" && Number.isFinite(atMs) ? atMs : null;
}

type TextName = "client" | "address" | "nas" | "session" | "because";

function texts(given: Partial<Record<TextName, unknown>>): AlertValues {
  const found = Object.entries(given).flatMap(([name, text]) =>
    typeof text === "string" && text !== "" ? [[name, shortened(text)]] : []
  );
  return Object.fromEntries(found);
}

/** Cut without half of a surrogate pair. */
function shortened(text: string): string {
  return text.length <= MAX_TEXT_CHARACTERS
    ? text
    : text.slice(0, MAX_TEXT_CHARACTERS).toWellFormed().replace(/\ufffd$/, "");
}

/** The rejected sign-ins of the last ten minutes, and those of the last day. Stored with the position. Counts of times are in order; the last one is of `minute`. */
export interface RejectionCounts {
  /** The minute of the last count (minutes since the epoch). */
  readonly minute: number;
  /** The counts of the last ten minutes. */
  readonly minutes: readonly number[];
  /** The counts of the ten-minute periods of the last day, without the current one. */
  readonly periods: readonly number[];
  /** The count of the current period of ten minutes. */
  readonly current: number;
  /** Since when counts exist (minutes since the epoch). */
  readonly sinceMinute: number;
}

const WINDOW_MINUTES = 10;
const DAY_PERIODS = 144;
const DAY_MINUTES = DAY_PERIODS * WINDOW_MINUTES;
/** Clocks of nodes differ by less. */
const MAX_AHEAD_MINUTES = 5;

/** No sign-in was rejected. */
export function emptyCounts(nowMs: number): RejectionCounts {
  const minute = Math.floor(nowMs / MINUTE_MS);
  return {
    minute,
    minutes: zeros(WINDOW_MINUTES),
    periods: zeros(DAY_PERIODS),
    current: 0,
    sinceMinute: minute,
  };
}

/** The counts as of now. A clock that was set back by more than some minutes starts them again. */
export function countsAt(counts: RejectionCounts, nowMs: number): RejectionCounts {
  const minute = Math.floor(nowMs / MINUTE_MS);
  return minute < counts.minute - MAX_AHEAD_MINUTES ? emptyCounts(nowMs) : moveTo(counts, minute);
}

/** Moves the window forward. */
function moveTo(counts: RejectionCounts, minute: number): RejectionCounts {
  if (minute <= counts.minute) return counts;
  const passed = minute - counts.minute;
  const minutes = [...counts.minutes, ...zeros(Math.min(passed, WINDOW_MINUTES))].slice(-WINDOW_MINUTES);
  const ended = Math.floor(minute / WINDOW_MINUTES) - Math.floor(counts.minute / WINDOW_MINUTES);
  if (ended === 0) return { ...counts, minute, minutes };
  const added = [counts.current, ...zeros(Math.min(ended - 1, DAY_PERIODS))];
  return {
    ...counts,
    minute,
    minutes,
    periods: [...counts.periods, ...added].slice(-DAY_PERIODS),
    current: 0,
  };
}

/**
 * Counts a rejected sign-in at its time, so that those of an outage are counted as they were. One of the future counts as of now. One that is
 * older than the window counts only for the average.
 */
export function countRejection(counts: RejectionCounts, atMs: number, nowMs: number): RejectionCounts {
  const minute = Math.floor(Math.min(atMs, nowMs) / MINUTE_MS);
  const isSetBack = Math.floor(nowMs / MINUTE_MS) < counts.minute - MAX_AHEAD_MINUTES;
  const now = moveTo(isSetBack ? emptyCounts(nowMs) : counts, minute);
  const minutes = [...now.minutes];
  const at = minutes.length - 1 - (now.minute - minute);
  const before = minutes[at];
  if (before !== undefined) minutes[at] = before + 1;
  return { ...now, minutes, current: now.current + 1 };
}

/** The rejected sign-ins of the last ten minutes. */
export function inTenMinutes({ minutes }: RejectionCounts): number {
  return minutes.reduce((sum, count) => sum + count, 0);
}

/** The average of ten minutes over the day before; `null` before there are counts of a day. */
export function averageOf({ periods, minute, sinceMinute }: RejectionCounts): number | null {
  if (minute - sinceMinute < DAY_MINUTES) return null;
  return periods.reduce((sum, count) => sum + count, 0) / DAY_PERIODS;
}

interface SpikeLimits {
  readonly spikeCount: number;
  readonly spikeFactor: number;
}

/** The count from which on the last ten minutes are a spike. */
export function spikeThreshold(counts: RejectionCounts, { spikeCount, spikeFactor }: SpikeLimits): number {
  return Math.max(spikeCount, spikeFactor * (averageOf(counts) ?? 0));
}

/**
 * Limits what an attack adds to the average: a period that is a spike counts as the threshold. Otherwise an attack of a day would hide the next
 * one.
 */
export function limitPeriod(counts: RejectionCounts, limits: SpikeLimits): RejectionCounts {
  const most = Math.ceil(spikeThreshold(counts, limits));
  return counts.current <= most ? counts : { ...counts, current: most };
}

/** Counts as stored; `null` if they cannot be used. */
export function readCounts(value: unknown): RejectionCounts | null {
  const { minute, minutes, periods, current, sinceMinute } = (value ?? {}) as Partial<RejectionCounts>;
  const numbers = [minute, current, sinceMinute, ...minutes ?? [], ...periods ?? []];
  const isUsable = minutes?.length === WINDOW_MINUTES && periods?.length === DAY_PERIODS &&
    numbers.every((number) => Number.isInteger(number) && Number(number) >= 0);
  return isUsable ? value as RejectionCounts : null;
}

function zeros(count: number): number[] {
  return new Array<number>(count).fill(0);
}

// Decides which alerts open, continue and end, and when a message is due. Pure: the watcher stores the result, and then uses it.

import { canonicalName } from "../canonical_name.ts";
import type { AlertEvent } from "./alert_events.ts";
import {
  ALERT_DAY_MS,
  ALERT_HOUR_MS,
  type AlertKind,
  alertKindRow,
  type AlertSeverity,
  type AlertValues,
} from "./alert_kinds.ts";
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
export interface AlertSettings {
  readonly enabled: boolean;
  /** Rejected sign-ins in ten minutes. */
  readonly spikeCount: number;
  /** Times the average of the last day. */
  readonly spikeFactor: number;
  /** How long a state is bad before it is an alert. */
  readonly failingMs: number;
  /** Messages of one limit to one receiver in an hour. */
  readonly perHour: number;
}

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
export interface OpenedAlerts {
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

/** No alerts. */
export const EMPTY_BOOK: AlertBook = { active: new Map(), opened: new Map(), times: new Map() };

/** Events about one object are sent at most so often. */
export const COOLDOWN_MS = 15 * 60_000;
/** While a state lasts, it is sent again. */
const REMINDER_MS = ALERT_DAY_MS;
/** A state ends after it was good for so long, times the number of its beginnings: one that flaps sends few messages. */
const CLEAR_MS = 5 * 60_000;
const MAX_CLEAR_MS = ALERT_HOUR_MS;
/** What is not seen any more, such as a node, does not answer. */
const UNSEEN_MS = ALERT_DAY_MS;
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

export interface AlertRulesDeps {
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
    const isOver = before === undefined || hasPassed(before.sinceMs, ALERT_HOUR_MS, nowMs);
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
    const badMs = times === undefined ? 0 : Math.min(times.badMs + elapsedMs, ALERT_DAY_MS);
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
    const okMs = before === null ? 0 : Math.min(before + elapsedMs, 2 * ALERT_DAY_MS);
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

// Watches for alerts on the node that has the lease: reads the audit log from the stored position, and polls the states. A change of alerts, its
// messages and the position are one commit, so nothing is lost if the node is killed. Logins do nothing for it.

import { auditEntry } from "../audit.ts";
import type { WriteLease } from "../cluster/lease.ts";
import { HOUR_MS } from "../durations.ts";
import type { Log } from "../log.ts";
import {
  type ExportPosition,
  type NodeMark,
  positionAt,
  readLogPage,
  type RecordPage,
} from "../log_export/record_reader.ts";
import { type Clock, pauseFor, type Random, withTimeout } from "../runtime.ts";
import type { Mutation, Store } from "../store.ts";
import { type AlertDelivery, pendingMutation } from "./alert_delivery.ts";
import { alertKindRow } from "./alert_kinds.ts";
import {
  type Budgets,
  type MessagePlan,
  planLeftOut,
  planMessages,
  type PlannedMessage,
  readBudgets,
} from "./alert_messages.ts";
import { alertMutations, deliveryMutation, newAlertId, readActiveAlerts } from "./alert_record.ts";
import {
  type AlertBook,
  type AlertChange,
  alertEventOf,
  AlertRules,
  type AlertSettings,
  averageOf,
  bookKey,
  countRejection,
  countsAt,
  EMPTY_BOOK,
  emptyCounts,
  inTenMinutes,
  limitPeriod,
  type ObservedState,
  readCounts,
  type RejectionCounts,
  rejectionMs,
  spikeThreshold,
} from "./alert_rules.ts";
import type { AlertReceivers } from "./receiver.ts";

interface AlertWatcherDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly lease: Pick<WriteLease, "check">;
  readonly marks: () => readonly NodeMark[];
  readonly settings: () => AlertSettings;
  readonly receivers: Pick<AlertReceivers, "all">;
  readonly delivery: Pick<AlertDelivery, "pending">;
  /** The states as they are now; `null`: nothing observes them. Rejects if they cannot be read. */
  readonly readStates: () => Promise<readonly ObservedState[]> | null;
}

/** The states are polled so often. */
const STATE_POLL_MS = 10_000;
/** Events do not wait longer for the states. */
const READ_MS = 8000;
/** A pause between two polls counts as at most this. */
const MAX_ELAPSED_MS = 3 * STATE_POLL_MS;
/** The position after records that are no alerts is stored so often. */
const SAVE_IDLE_MS = 300_000;
/** Records after which it is stored earlier. */
const SAVE_RECORDS = 10_000;
/** Pages of one run. */
const MAX_PAGES = 25;
/** After a page of a backlog, the watcher rests for as long as the page took, up to this, so that logins are not slower. */
const MAX_REST_MS = 50;
/** Changed alerts of one commit, with the messages for all receivers. */
const MAX_CHANGES = 20;

export class AlertWatcher {
  readonly #deps: AlertWatcherDeps;
  #cursor: AlertCursor | null = null;
  #book: AlertBook = EMPTY_BOOK;
  #isLoaded = false;
  #isOff = false;
  #savedMs = 0;
  #unsaved = 0;
  #hasSpike = false;
  #polledMs: number | null = null;
  #ids = 0;

  constructor(deps: AlertWatcherDeps) {
    this.#deps = deps;
  }

  /** Forgets everything: another node may write. */
  reset(): void {
    this.#forgetStored();
    this.#isOff = false;
    this.#book = EMPTY_BOOK;
    this.#polledMs = null;
  }

  /** The next run reads the store again. How long states are bad stays, so that a store that fails now and then hides none. */
  #forgetStored(): void {
    this.#isLoaded = false;
    this.#cursor = null;
    this.#unsaved = 0;
  }

  /** Alerts are off: when they are on again, they begin with the records of that time. */
  async turnOff(): Promise<void> {
    if (this.#isOff) return;
    const { store, lease } = this.#deps;
    const checks = lease.check === null ? [] : [lease.check];
    const { ok } = await store.commit({ checks, mutations: [{ type: "delete", key: ALERT_CURSOR }] });
    this.reset();
    this.#isOff = ok;
  }

  /** One run, under the lease. Rejects if the store fails; then the next run begins at the stored position. */
  async run(isStopped: () => boolean): Promise<void> {
    try {
      if (!this.#isLoaded) await this.#load();
      await this.#sendLeftOut();
      for (let page = 0; page < MAX_PAGES && !isStopped(); page++) {
        if (await this.#readPage()) break;
      }
      if (!isStopped()) await this.#poll();
      await this.#saveIfDue();
    } catch (fault) {
      this.#forgetStored();
      throw fault;
    }
  }

  async #load(): Promise<void> {
    const { store, clock, marks, delivery } = this.#deps;
    const nowMs = clock.nowMs();
    const { value } = await store.get<unknown>(ALERT_CURSOR);
    this.#cursor = readCursor(value, nowMs, marks());
    const active = await readActiveAlerts(store);
    // Later alerts replace earlier ones about the same object.
    const byKey = active.toSorted((a, b) => a.id < b.id ? -1 : 1).map((alert) =>
      [bookKey(alert), alert] as const
    );
    this.#book = { ...this.#book, active: new Map(byKey) };
    await delivery.pending.load(store);
    this.#savedMs = nowMs;
    this.#isLoaded = true;
    if (value === null) await this.#commit([], EMPTY_PLAN);
  }

  get #state(): AlertCursor {
    if (this.#cursor === null) throw new Error("Cannot watch for alerts: nothing is loaded");
    return this.#cursor;
  }

  /** One page of the log. `true`: there is no more. */
  async #readPage(): Promise<boolean> {
    const { clock } = this.#deps;
    const startedMs = clock.nowMs();
    const page = await readLogPage(this.#deps, this.#state.position);
    const rules = this.#rules();
    this.#countRejections(page);
    for (const { value } of page.records) {
      const event = alertEventOf(value);
      if (event !== null) rules.addEvent(event);
    }
    const { position } = this.#state;
    this.#cursor = { ...this.#state, position: page.position };
    this.#unsaved += page.records.length;
    await this.#apply(rules, position);
    if (page.isEnd) return true;
    const restMs = Math.min(MAX_REST_MS, Math.max(0, clock.nowMs() - startedMs));
    if (restMs > 0) await pauseFor(clock, restMs);
    return false;
  }

  #rules(): AlertRules {
    const { clock, settings } = this.#deps;
    const nowMs = clock.nowMs();
    const nextId = (): string => newAlertId(nowMs, this.#ids++, this.#deps.random);
    return new AlertRules(this.#book, { nowMs, failingMs: settings().failingMs, nextId });
  }

  #countRejections({ records }: RecordPage): void {
    const { clock, settings } = this.#deps;
    const limits = settings();
    const nowMs = clock.nowMs();
    let { counts } = this.#state;
    for (const { value } of records) {
      const atMs = rejectionMs(value);
      if (atMs === null) continue;
      counts = limitPeriod(countRejection(counts, atMs, nowMs), limits);
      this.#hasSpike ||= inTenMinutes(counts) >= spikeThreshold(counts, limits);
    }
    this.#cursor = { ...this.#state, counts };
  }

  async #poll(): Promise<void> {
    const { clock } = this.#deps;
    const nowMs = clock.nowMs();
    const sinceMs = this.#polledMs === null ? STATE_POLL_MS : nowMs - this.#polledMs;
    const rules = this.#rules();
    this.#addSpike(rules, nowMs);
    if (sinceMs >= STATE_POLL_MS || sinceMs < 0) {
      const elapsedMs = this.#polledMs === null ? 0 : Math.min(Math.max(0, sinceMs), MAX_ELAPSED_MS);
      this.#polledMs = nowMs;
      const states = await this.#readStates();
      if (states !== null) rules.addStates(states, elapsedMs);
    }
    rules.sweep();
    await this.#apply(rules);
  }

  /** `null`: they are not known now. */
  async #readStates(): Promise<readonly ObservedState[] | null> {
    const { clock, readStates, log } = this.#deps;
    try {
      const read = await withTimeout(readStates() ?? Promise.resolve(null), { clock, timeoutMs: READ_MS });
      if (read.inTime) return read.value;
      log.warn("the states for alerts were not read in time", {});
    } catch (fault) {
      log.warn("the states for alerts could not be read", { fault: String(fault) });
    }
    return null;
  }

  /** A spike ends when the last ten minutes have less than half of its threshold. Their window is longer than what an alert needs to end. */
  #addSpike(rules: AlertRules, nowMs: number): void {
    const limits = this.#deps.settings();
    const counts = countsAt(this.#state.counts, nowMs);
    this.#cursor = { ...this.#state, counts };
    const count = inTenMinutes(counts);
    const threshold = spikeThreshold(counts, limits);
    const isBad = this.#hasSpike || count >= threshold;
    const state = isBad ? "bad" : count < threshold / 2 ? "ok" : "unknown";
    this.#hasSpike = false;
    const values = { inTenMinutes: count, average: averageOf(counts) };
    rules.addState({ kind: "rejection_spike", about: "", severity: "warning", state, values }, HOUR_MS);
  }

  async #sendLeftOut(): Promise<void> {
    const { clock, receivers } = this.#deps;
    const plan = planLeftOut(this.#state.budgets, { nowMs: clock.nowMs(), receivers: receivers.all });
    if (plan.messages.length > 0) await this.#commit([], plan);
    else this.#cursor = { ...this.#state, budgets: plan.budgets };
  }

  /** Stores the changes of a run, then uses them. @param before the position that is stored until the last commit */
  async #apply(rules: AlertRules, before = this.#state.position): Promise<void> {
    const { changes } = rules;
    for (let at = 0; at < changes.length; at += MAX_CHANGES) {
      const some = changes.slice(at, at + MAX_CHANGES);
      const isLast = at + MAX_CHANGES >= changes.length;
      const plan = planMessages(some, this.#state.budgets, this.#planDeps());
      await this.#commit(some, plan, isLast ? this.#state.position : before);
    }
    this.#book = rules.book;
  }

  #planDeps(): Parameters<typeof planMessages>[2] {
    const { clock, settings, receivers, delivery } = this.#deps;
    return {
      ...{ nowMs: clock.nowMs(), perHour: settings().perHour, receivers: receivers.all },
      waiting: (receiver, budget) => delivery.pending.waiting(receiver, budget),
    };
  }

  async #saveIfDue(): Promise<void> {
    const { clock } = this.#deps;
    const isDue = Math.abs(clock.nowMs() - this.#savedMs) >= SAVE_IDLE_MS || this.#unsaved >= SAVE_RECORDS;
    if (this.#unsaved > 0 && isDue) await this.#commit([], { ...EMPTY_PLAN, budgets: this.#state.budgets });
  }

  /** Changed alerts, their messages and the position, in one commit. */
  async #commit(
    changes: readonly AlertChange[],
    { messages, budgets }: MessagePlan,
    position = this.#state.position,
  ): Promise<void> {
    const { store, lease, delivery, clock } = this.#deps;
    const nowMs = clock.nowMs();
    const cursor: AlertCursor = { ...this.#state, budgets };
    const { ok } = await store.commit({
      checks: lease.check === null ? [] : [lease.check],
      mutations: [
        ...changes.flatMap(changeMutations),
        ...messages.flatMap((message) => messageMutations(message, nowMs)),
        cursorMutation({ ...cursor, position }),
      ],
    });
    if (!ok) throw new Error("Cannot store alerts: another node has the lease");
    this.#cursor = cursor;
    this.#savedMs = nowMs;
    this.#unsaved = 0;
    for (const { receiver, id, pending } of messages) {
      if (pending !== null) delivery.pending.set({ receiver, id }, pending);
    }
  }
}

const EMPTY_PLAN: MessagePlan = { messages: [], budgets: {} };

/** The value under ["alert_cursor"]. */
interface AlertCursor {
  readonly position: ExportPosition;
  readonly counts: RejectionCounts;
  readonly budgets: Budgets;
}

const ALERT_CURSOR: Deno.KvKey = ["alert_cursor"];
/** A cursor as stored. Without a position, alerts begin now: the past has no news. */
function readCursor(value: unknown, nowMs: number, marks: readonly NodeMark[]): AlertCursor {
  const { position, counts, budgets } = (value ?? {}) as Partial<AlertCursor>;
  return {
    position: readPosition(position) ?? positionAt(nowMs, marks),
    counts: readCounts(counts) ?? emptyCounts(nowMs),
    budgets: readBudgets(budgets),
  };
}

/** The mutation that stores a cursor. A new run begins a new pass over the log. */
export function cursorMutation({ position: { next: _pass, ...position }, ...cursor }: AlertCursor): Mutation {
  return { type: "set", key: ALERT_CURSOR, value: { ...cursor, position } };
}

function changeMutations({ alert, message }: AlertChange): Mutation[] {
  const { id, kind, about, count, values: { users } } = alert;
  const stored = alertMutations(alert);
  const isAgain = message === "again" && alertKindRow(kind).source !== "event";
  if (message !== "opened" && message !== "ended" && !isAgain) return stored;
  const action = message === "ended" ? "alert.ended" : "alert.opened";
  const subject = users === undefined ? about : users.join(", ");
  return [
    ...stored,
    auditEntry({ action, actor: "radius", object: `alert:${kind}`, alert: id, subject, count }),
  ];
}

function messageMutations(
  { receiver, id, pending, isAboutAlert }: PlannedMessage,
  atMs: number,
): Mutation[] {
  const state = pending === null ? "suppressed" : "pending";
  const problem = pending === null ? { code: "too_many", detail: "" } as const : null;
  return [
    ...pending === null ? [] : [pendingMutation({ receiver, id }, pending)],
    ...isAboutAlert ? [deliveryMutation(id, receiver, { state, atMs, problem })] : [],
  ];
}

/** A position as stored; `null` if it cannot be used. */
function readPosition(value: unknown): ExportPosition | null {
  const { upTo, nodes } = (value ?? {}) as Partial<ExportPosition>;
  const isUsable = typeof upTo === "string" && typeof nodes === "object" && nodes !== null &&
    Object.values(nodes).every((node) => typeof node?.upTo === "string");
  return isUsable ? { upTo, nodes } : null;
}

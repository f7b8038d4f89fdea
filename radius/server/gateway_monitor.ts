// What the gateway reports: events to its observers, finished logins for the charts, counters, and log lines that a flood would repeat.

import { MINUTE_MS } from "../../platform/durations.ts";
import type { Log, LogFields, LogLevel } from "../../platform/log.ts";
import type { Clock } from "../../platform/runtime.ts";
import { type Conversation, toConversationView } from "../conversation/conversation.ts";
import type { ConversationStore } from "../conversation/conversation_store.ts";
import {
  answeredAfterMs,
  bucketOf,
  MAX_COUNTED_CLIENTS,
  OTHER_CLIENTS,
  TIME_BUCKETS,
} from "../conversation/login_record.ts";
import type { PacketCapture } from "./packet_capture.ts";
import type {
  AcceptListener,
  ConversationOutcome,
  FinishedLoginCounts,
  GatewayEvent,
  GatewayMonitor,
  GatewayObserver,
  LoginTotals,
} from "../ports.ts";
import { NOT_SENT_REASONS, type NotSentReason } from "../factors/limits.ts";
import { DROP_REASONS, type DropReason } from "../protocol/drop_reasons.ts";
import { REQUEST_REFUSALS, type RequestRefusal } from "./request.ts";

interface EventBus extends GatewayMonitor {
  emit(event: GatewayEvent): void;
  /** Reports a change of a conversation. Its view is only built if there is an observer. */
  changed(conversation: Conversation): void;
  /** Reports a conversation that another node changed. Its end is counted there. */
  followed(conversation: Conversation): void;
}

/** @param options.target the directory whose users log in */
export function createEventBus(
  { conversations, counters, packets, clock, log, target }: {
    conversations: ConversationStore;
    counters: Counters;
    packets: PacketCapture;
    clock: Clock;
    log: Log;
    target: () => string;
  },
): EventBus {
  const observers = new Set<GatewayObserver>();
  const acceptListeners = new Set<AcceptListener>();
  const finished = new LoginStats();
  const totals = new EndedLogins();
  const countsSinceMs = clock.nowMs();
  /** Counted conversations that another login ended. They can be reported twice. */
  const replaced = new WeakSet<Conversation>();
  const tally = (conversation: Conversation): void => {
    const { client, outcome, factor, startedMs, updatedMs, moments } = conversation;
    if (outcome === null || replaced.has(conversation)) return;
    if (outcome === "superseded" || outcome === "cancelled") replaced.add(conversation);
    const tookMs = answeredAfterMs({ ...{ factor, outcome, startedMs, moments }, endedMs: updatedMs });
    finished.add({ client, outcome, tookMs, endedMs: updatedMs });
    totals.add({ outcome, row: moments.at(-1)?.row ?? "", tookMs });
  };
  const shown = (conversation: Conversation) => toConversationView(conversation, { target: target() });
  const emit = (event: GatewayEvent): void => {
    for (const observer of observers) {
      try {
        observer(event);
      } catch (fault) {
        log.error("an observer failed", { fault: String(fault) });
      }
    }
  };
  const show = (conversation: Conversation): void => {
    if (observers.size === 0) return;
    emit({ kind: "conversation", atMs: clock.nowMs(), conversation: shown(conversation) });
  };
  return {
    conversations: (limit) => conversations.newestFirst(limit).map(shown),
    liveSteps: (limit) => conversations.liveSteps(limit),
    alive: () => conversations.alive,
    aliveHere: () => conversations.aliveHere,
    counters: () => counters.all(),
    observe(observer) {
      observers.add(observer);
      return () => void observers.delete(observer);
    },
    onAccepted(listener) {
      acceptListeners.add(listener);
      return () => void acceptListeners.delete(listener);
    },
    conversation(id) {
      const found = conversations.byId(id);
      return found === null ? null : shown(found);
    },
    packets: (id) => packets.of(id),
    strays: (limit) => packets.strays(limit),
    dropTallies: () => packets.tallies(),
    takeFinishedCounts: () => finished.take(),
    loginTotals: () => totals,
    countsSinceMs,
    emit,
    changed(conversation) {
      tally(conversation);
      if (conversation.outcome === "accepted") {
        for (const listener of acceptListeners) listener(conversation);
      }
      show(conversation);
    },
    followed: show,
  };
}

/** The logins that ended since the start. The names of rows are fixed, so that their number is limited. */
class EndedLogins implements LoginTotals {
  readonly outcomes = { accepted: 0, rejected: 0, expired: 0, cancelled: 0, superseded: 0 };
  readonly rejectedBy = new Map<string, number>();
  readonly times = new Array<number>(TIME_BUCKETS).fill(0);
  answeredMs = 0;

  add({ outcome, row, tookMs }: { outcome: ConversationOutcome; row: string; tookMs: number | null }): void {
    this.outcomes[outcome]++;
    if (outcome === "rejected") this.rejectedBy.set(row, (this.rejectedBy.get(row) ?? 0) + 1);
    if (tookMs === null) return;
    this.answeredMs += Math.max(0, tookMs);
    const bucket = bucketOf(tookMs);
    this.times[bucket] = (this.times[bucket] ?? 0) + 1;
  }
}

/** Minutes that wait for the charts. Beyond this number, all further counts are added to the newest minute. */
const MAX_MINUTES = 60;

interface Counts {
  readonly outcomes: Record<string, number>;
  readonly times: number[];
  maxMs: number;
}

/** How logins ended and how long their users took to answer, by client and by the minute of their end. */
class LoginStats {
  #minutes = new Map<number, Map<string, Counts>>();
  #newest: { minuteMs: number; clients: Map<string, Counts> } | null = null;

  add(
    { client, outcome, tookMs, endedMs }: {
      client: string;
      outcome: ConversationOutcome;
      /** The time to answer; `null` without an answer. */
      tookMs: number | null;
      endedMs: number;
    },
  ): void {
    const clients = this.#clientsAt(endedMs);
    const name = clients.size >= MAX_COUNTED_CLIENTS && !clients.has(client) ? OTHER_CLIENTS : client;
    let counts = clients.get(name);
    if (counts === undefined) {
      counts = { outcomes: {}, times: new Array<number>(TIME_BUCKETS).fill(0), maxMs: 0 };
      clients.set(name, counts);
    }
    counts.outcomes[outcome] = (counts.outcomes[outcome] ?? 0) + 1;
    if (tookMs === null) return;
    counts.maxMs = Math.max(counts.maxMs, tookMs);
    const bucket = bucketOf(tookMs);
    counts.times[bucket] = (counts.times[bucket] ?? 0) + 1;
  }

  /** The counts since the last call. */
  take(): FinishedLoginCounts[] {
    const taken = [...this.#minutes].flatMap(([minuteMs, clients]) =>
      [...clients].map(([client, counts]) => ({ client, ...counts, minuteMs }))
    );
    this.#minutes = new Map();
    this.#newest = null;
    return taken;
  }

  #clientsAt(endedMs: number): Map<string, Counts> {
    const minuteMs = Math.floor(endedMs / MINUTE_MS) * MINUTE_MS;
    const newest = this.#newest;
    if (newest?.minuteMs === minuteMs) return newest.clients;
    if (newest !== null && this.#minutes.size >= MAX_MINUTES) return newest.clients;
    const clients = this.#minutes.get(minuteMs) ?? new Map<string, Counts>();
    this.#minutes.set(minuteMs, clients);
    this.#newest = { minuteMs, clients };
    return clients;
  }
}

// Counters of the gateway, for /metrics and the console. Names are fixed, never text from outside.

const COUNTED = [
  "requests",
  "challenges",
  "accepts",
  "rejects",
  "duplicates",
  "logins_joined",
  "status_answers",
  "health_checks",
  "shadow_requests",
  "shadow_unanswered",
  "accounting_requests",
  "accounting_responses",
  "accounting_sessions_evicted",
  "sends",
  "send_failures",
  "tls_refused",
  "failures",
  "locks",
  "expired",
  "users_left",
  "ended_by_leaving",
  "disconnect_requests",
  "disconnect_acked",
  "disconnect_refused",
  "disconnect_no_answer",
] as const;

type CounterName =
  | typeof COUNTED[number]
  | `refused_${RequestRefusal}`
  | `sends_refused_${NotSentReason}`;

/** All of them are 0 before the first count, so that the first one is an increase for a monitoring system. */
const NAMES: readonly CounterName[] = [
  ...COUNTED,
  ...(Object.keys(REQUEST_REFUSALS) as RequestRefusal[]).map((reason) => `refused_${reason}` as const),
  ...(Object.keys(NOT_SENT_REASONS) as NotSentReason[]).map((reason) => `sends_refused_${reason}` as const),
];

interface Count {
  count: number;
}

export class Counters {
  readonly #drops = new Map<string, Count>(Object.keys(DROP_REASONS).map((reason) => [reason, { count: 0 }]));
  readonly #counts = new Map<string, Count>(NAMES.map((name) => [name, { count: 0 }]));

  count(name: CounterName): void {
    const known = this.#counts.get(name);
    if (known !== undefined) known.count++;
  }

  drop(reason: DropReason): void {
    const known = this.#drops.get(reason);
    if (known !== undefined) known.count++;
  }

  all(): Readonly<Record<string, number>> {
    return Object.fromEntries([
      ...[...this.#counts].map(([name, { count }]) => [name, count] as const),
      ...[...this.#drops].map(([reason, { count }]) => [`dropped_${reason}`, count] as const),
    ]);
  }
}

// Log lines that a flood would repeat. Up to a rate, each event has its own line. Beyond it, one line per second contains the number of events.

interface Line {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

interface Kind {
  tokens: number;
  atMs: number;
  folded: number;
  last: Line | null;
  cancel: () => void;
}

const BURST = 1000;
const PER_SECOND = 100;
const SUMMARY_MS = 1000;

interface FoldedLogDeps {
  readonly log: Log;
  readonly clock: Clock;
  readonly burst?: number;
  readonly perSecond?: number;
}

export class FoldedLog {
  readonly #deps: Required<FoldedLogDeps>;
  readonly #kinds = new Map<string, Kind>();

  constructor(deps: FoldedLogDeps) {
    this.#deps = { burst: BURST, perSecond: PER_SECOND, ...deps };
  }

  /** Writes an event, or counts it. `kind` is one of a few fixed words. Returns whether the event has its own line. */
  write(kind: string, line: Line): boolean {
    const { log, clock, burst, perSecond } = this.#deps;
    const nowMs = clock.nowMs();
    let state = this.#kinds.get(kind);
    if (state === undefined) {
      state = { tokens: burst, atMs: nowMs, folded: 0, last: null, cancel: () => undefined };
      this.#kinds.set(kind, state);
    }
    const passedMs = Math.max(0, nowMs - state.atMs);
    state.tokens = Math.min(burst, state.tokens + passedMs * perSecond / 1000);
    state.atMs = nowMs;
    if (state.tokens >= 1) {
      state.tokens--;
      log[line.level](line.message, line.fields);
      return true;
    }
    state.last = line;
    if (state.folded++ > 0) return false;
    const waiting = state;
    state.cancel = clock.after(SUMMARY_MS, () => this.#summarize(waiting));
    return false;
  }

  /** Writes the pending counts now. */
  flush(): void {
    for (const kind of this.#kinds.values()) this.#summarize(kind);
  }

  #summarize(kind: Kind): void {
    kind.cancel();
    const { folded, last } = kind;
    if (folded === 0 || last === null) return;
    kind.folded = 0;
    kind.last = null;
    this.#deps.log[last.level](last.message, { ...last.fields, folded });
  }
}

const INTERVAL_MS = 60_000;
const MAX_REMEMBERED = 2000;

/** Allows one line a minute for each reason and source. */
export class LogLimit {
  readonly #clock: Pick<Clock, "nowMs">;
  /** By source, and then by reason: a text of both would cost an allocation for each drop. */
  readonly #loggedMs = new Map<string, Map<string, number>>();
  #count = 0;

  constructor(clock: Pick<Clock, "nowMs">) {
    this.#clock = clock;
  }

  /** Whether a line of this reason and source may be logged now. If so, remembers that it is logged. */
  mayLog(reason: string, source: string): boolean {
    const nowMs = this.#clock.nowMs();
    const last = this.#loggedMs.get(source)?.get(reason);
    if (last !== undefined && nowMs - last < INTERVAL_MS) return false;
    if (last === undefined && this.#count++ >= MAX_REMEMBERED) {
      this.#loggedMs.clear();
      this.#count = 1;
    }
    const ofSource = this.#loggedMs.get(source) ?? new Map<string, number>();
    this.#loggedMs.set(source, ofSource.set(reason, nowMs));
    return true;
  }
}

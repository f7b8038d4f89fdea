// The order to end a session, with its result: the stored record, and what the console shows of it.

import type { Clock } from "../../platform/runtime.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import { errorCause, errorCauseText } from "../protocol/error_causes.ts";

/** Why a session shall end. `not_me`: its user said that a login was not theirs. */
export type DisconnectReason = "not_me" | "operator";

/** `pending`: a request is under way, or will be repeated. `ended`: the session ended before a request was needed. */
type DisconnectState = "pending" | "acked" | "refused" | "no_answer" | "not_supported" | "ended";

/**
 * Why no request can be sent. `no_client`: the client entry was removed or is disabled. `no_port`: it has no disconnect port. `no_address`: it
 * owns neither the source address of the accounting nor NAS-IP-Address. `no_connection`: it uses TLS, and is not connected.
 */
export type DisconnectProblem = "no_client" | "no_port" | "no_address" | "no_connection";

/** The value under ["session_disconnect", session]. */
export interface DisconnectRecord {
  readonly reason: DisconnectReason;
  /** Who ordered it: an administrator, or `user:ada`. */
  readonly actor: string;
  readonly requestedMs: number;
  readonly state: DisconnectState;
  readonly problem: DisconnectProblem | null;
  /** Of the last answer (RFC 5176 §3.5). */
  readonly errorCause: number | null;
  /** Requests that ended without success, each with its copies. */
  readonly attempts: number;
  /** When the last attempt ended; 0: none has. */
  readonly lastMs: number;
  /** When the next attempt begins. */
  readonly nextMs: number;
  /** The node that sends the requests. */
  readonly node: string;
}

/** How long an order is stored: as long as its session. */
const DISCONNECT_RETENTION_MS = 30 * 24 * 3600_000;

export function disconnectKey(sessionId: string): readonly [string, string] {
  return ["session_disconnect", sessionId];
}

/** An order as the console shows it. */
export interface DisconnectView
  extends
    Pick<DisconnectRecord, "reason" | "actor" | "requestedMs" | "state" | "problem" | "attempts" | "lastMs"> {
  /** Number and name; "" if the NAS sent none. */
  readonly errorCause: string;
  /** Whether an administrator must end the session at the NAS: it is connected, and the gateway could not end it. */
  readonly isManual: boolean;
}

const FAILED: ReadonlySet<DisconnectState> = new Set(["refused", "no_answer", "not_supported"]);

/** @param isConnected whether the session is still connected */
export function viewDisconnect(record: DisconnectRecord, isConnected: boolean): DisconnectView {
  const { reason, actor, requestedMs, state, problem, attempts, lastMs } = record;
  const hasFailed = FAILED.has(state) || (state === "pending" && attempts > 0);
  return {
    ...{ reason, actor, requestedMs, state, problem, attempts, lastMs },
    errorCause: errorCauseText(record.errorCause),
    isManual: isConnected && hasFailed,
  };
}

/** Waits between the attempts. An operator sees the result at once and can order again. */
const RETRY_MS: Readonly<Record<DisconnectReason, readonly number[]>> = {
  not_me: [30_000, 60_000, 120_000, 300_000],
  operator: [],
};

/** The wait after so many attempts without success; `null`: there is no further attempt. */
function retryAfterMs(
  { reason, attempts }: Pick<DisconnectRecord, "reason" | "attempts">,
): number | null {
  return RETRY_MS[reason][attempts - 1] ?? null;
}

/** What an attempt changes in an order. */
export type DisconnectResult = Pick<DisconnectRecord, "state" | "problem" | "errorCause">;

export function resultOf(state: DisconnectState, cause: number | null = null): DisconnectResult {
  return { state, problem: null, errorCause: cause };
}

/** The order after an attempt: ended, or with the time of the next attempt. */
export function afterAttempt(
  order: DisconnectRecord,
  result: DisconnectResult,
  nowMs: number,
): DisconnectRecord {
  const mayHelp = result.state === "no_answer" ||
    (result.state === "refused" && errorCause(result.errorCause)?.isTemporary === true);
  const attempts = order.attempts + 1;
  const waitMs = mayHelp ? retryAfterMs({ reason: order.reason, attempts }) : null;
  const done = { ...order, ...result, attempts, lastMs: nowMs };
  return waitMs === null ? done : { ...done, state: "pending", nextMs: nowMs + waitMs };
}

// The orders to end sessions, in memory, as the store has them: by session, and the users who reported a login lately.

interface OrderMemoryDeps {
  readonly store: Pick<Store, "follow" | "load">;
  readonly clock: Pick<Clock, "nowMs">;
}

/** Orders in memory. The oldest ended one makes room. */
const MAX_RECORDS = 20_000;
/**
 * A login that was accepted just before a report can send its Accounting-Start after it. Such a session ends, too, while the user is locked. NASes
 * repeat a lost Start within this time.
 */
const LATE_MS = 2 * 60_000;
const REPORT_KEY = "session_report";
const ORDER_KEY = "session_disconnect";

/** The value under ["session_report", user]. */
interface SessionReport {
  readonly untilMs: number;
}

export class OrderMemory {
  readonly #deps: OrderMemoryDeps;
  readonly #records = new Map<string, DisconnectRecord>();
  readonly #pending = new Set<string>();
  /** Users (canonical names), with the end of {@link LATE_MS}. */
  readonly #reported = new Map<string, number>();

  constructor(deps: OrderMemoryDeps) {
    this.#deps = deps;
    deps.store.follow([ORDER_KEY], ({ key, value }) => this.put(String(key[1]), value));
    deps.store.follow([REPORT_KEY], ({ key, value }) => this.putReport(String(key[1]), value));
  }

  /** Reads the stored orders. Call it once. */
  async load(): Promise<void> {
    const { store } = this.#deps;
    await store.load([ORDER_KEY], ({ key, value }) => this.put(String(key[1]), value));
    await store.load([REPORT_KEY], ({ key, value }) => this.putReport(String(key[1]), value));
  }

  get(sessionId: string): DisconnectRecord | null {
    return this.#records.get(sessionId) ?? null;
  }

  all(): Iterable<readonly [string, DisconnectRecord]> {
    return this.#records;
  }

  /** Sessions whose order is not carried out. */
  get pending(): Iterable<string> {
    return this.#pending;
  }

  /** Takes over the stored order of a session; `null`: there is none. */
  put(sessionId: string, value: unknown): void {
    this.#records.delete(sessionId);
    this.#pending.delete(sessionId);
    if (value === null) return;
    const record = value as DisconnectRecord;
    if (typeof record.state !== "string" || typeof record.nextMs !== "number") {
      throw new TypeError("it is no order of this version");
    }
    this.#records.set(sessionId, record);
    if (record.state === "pending") this.#pending.add(sessionId);
    for (const oldest of this.#records.keys()) {
      if (this.#records.size <= MAX_RECORDS) break;
      if (!this.#pending.has(oldest)) this.#records.delete(oldest);
    }
  }

  /** Whether a user reported a login so lately that a new session can be of an earlier login. */
  isReported(user: string): boolean {
    return this.#deps.clock.nowMs() < (this.#reported.get(user) ?? 0);
  }

  /** Prepares the note that a user reported a login. */
  prepareReport(user: string): { readonly mutation: Mutation; done(): void } {
    const value: SessionReport = { untilMs: this.#deps.clock.nowMs() + LATE_MS };
    return {
      mutation: { type: "set", key: [REPORT_KEY, user], value, expireInMs: LATE_MS },
      done: () => this.putReport(user, value),
    };
  }

  putReport(user: string, value: unknown): void {
    const nowMs = this.#deps.clock.nowMs();
    this.#reported.delete(user);
    const untilMs = (value as SessionReport | null)?.untilMs ?? 0;
    if (untilMs > nowMs) this.#reported.set(user, untilMs);
    for (const [oldest, endMs] of this.#reported) {
      if (endMs > nowMs && this.#reported.size <= MAX_RECORDS) break;
      this.#reported.delete(oldest);
    }
  }
}

/** The mutation that stores an order. */
export function writeOrder(sessionId: string, value: DisconnectRecord): Mutation {
  return { type: "set", key: disconnectKey(sessionId), value, expireInMs: DISCONNECT_RETENTION_MS };
}

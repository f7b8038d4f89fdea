// The order to end a session, with its result: the stored record, and what the console shows of it.

import { errorCause, errorCauseText } from "../protocol/error_causes.ts";

/** Why a session shall end. `not_me`: its user said that a login was not theirs. */
export type DisconnectReason = "not_me" | "operator";

/** `pending`: a request is under way, or will be repeated. `ended`: the session ended before a request was needed. */
export type DisconnectState = "pending" | "acked" | "refused" | "no_answer" | "not_supported" | "ended";

/**
 * Why no request can be sent. `no_client`: the client entry was removed or is disabled. `no_port`: it has no disconnect port. `no_address`: it
 * owns neither the source address of the accounting nor NAS-IP-Address.
 */
export type DisconnectProblem = "no_client" | "no_port" | "no_address";

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
export const DISCONNECT_RETENTION_MS = 30 * 24 * 3600_000;

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

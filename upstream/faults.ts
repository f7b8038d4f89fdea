// The faults of a call, made in one place: what an HTTP status means, and texts that carry no secret and no control
// character.

import type { Fault, Outcome } from "../radius/ports.ts";

/** What an error body said of itself; `code` falls back to the HTTP status. */
export interface ErrorBody {
  readonly code: number;
  readonly detail: string;
}

const MAX_DETAIL_CHARACTERS = 200;
const MAX_RETRY_AFTER_MS = 3_600_000;

/** An outcome that failed. */
export function failed<T>(fault: Fault): Outcome<T> {
  return { ok: false, fault };
}

/** An answer that is not what the interface promises. */
export function nonsense<T>(detail: string): Outcome<T> {
  return failed({ kind: "nonsense", detail });
}

/** The fault for a status that is no success. `retryAfter` is the header's text. */
export function faultOfStatus(
  status: number,
  { error, retryAfter }: { error: ErrorBody; retryAfter: string | null },
): Fault {
  const { code, detail } = error;
  if (status >= 300 && status < 400) {
    return { kind: "unreachable", sent: true, detail: `redirected (HTTP ${status})` };
  }
  if (status === 404) return { kind: "unknown", code, detail };
  if (status === 429) return { kind: "busy", retryAfterMs: readRetryAfterMs(retryAfter), detail };
  if (status >= 400 && status < 500) return { kind: "refused", status, code, detail };
  if (status >= 500) return { kind: "failed", status, detail };
  return { kind: "nonsense", detail: `HTTP ${status} is no answer to this call` };
}

/** `Retry-After` in seconds (RFC 9110 §10.2.3), at most an hour; a date or anything else is 0. */
function readRetryAfterMs(text: string | null): number {
  if (text === null || !/^\d{1,9}$/.test(text.trim())) return 0;
  return Math.min(Number(text) * 1000, MAX_RETRY_AFTER_MS);
}

/**
 * A foreign text, fit for a log: no control characters, at most 200 characters, and without anything that a service
 * could throw back at us: the `secrets` of the call, and every run of four or more digits (passcodes, phone numbers).
 */
export function cleanDetail(text: string, secrets: readonly string[] = []): string {
  let clean = text.slice(0, 4 * MAX_DETAIL_CHARACTERS).toWellFormed();
  for (const secret of secrets) if (secret !== "") clean = clean.replaceAll(secret, "…");
  return clean.replace(/\d{4,}/g, "…").replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").slice(
    0,
    MAX_DETAIL_CHARACTERS,
  );
}

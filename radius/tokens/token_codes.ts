// Which code of a hardware token a typed code is: HOTP with a look-ahead window (RFC 4226 §7.2), TOTP with the drift of its clock
// (RFC 6238 §6), and resynchronization with two codes (RFC 4226 §7.4). Decides only; it stores nothing.

import { isCodeAt, readTypedCode } from "../factors/totp.ts";
import type { HardwareTokenRecord, TokenUse } from "./token.ts";

/** Codes of HOTP that the user may have skipped. */
export const HOTP_LOOK_AHEAD = 10;
/** RFC 6238 §5.2 recommends one time step. */
const TOTP_WINDOW = 1;
/** The drift that logins learn, counted from the last resynchronization. */
export const MAX_LEARNED_DRIFT = 10;
/** How far a resynchronization searches. */
export const RESYNC_WINDOW = 1000;

/** A token whose seed is open. */
export interface OpenToken {
  readonly record: Pick<HardwareTokenRecord, "kind" | "algorithm" | "digits" | "periodS">;
  readonly use: TokenUse;
  readonly seed: Uint8Array;
}

/** What a code tells about its token. */
export type CodeCheck =
  /** It is accepted. `ahead`: the codes that were skipped, or the difference of the clocks in time steps. */
  | { readonly kind: "valid"; readonly ahead: number }
  /** It was used, or it is older than the last one. */
  | { readonly kind: "used" }
  /** It fits `ahead` codes from the expected one, so the token must be resynchronized. */
  | { readonly kind: "out_of_sync"; readonly ahead: number }
  | { readonly kind: "wrong" };

/** Compares codes in constant time. */
class TypedCode {
  readonly #token: OpenToken;
  readonly #typed: number;

  constructor(token: OpenToken, code: string) {
    this.#token = token;
    this.#typed = readTypedCode(code, token.record.digits);
  }

  isAt(movingFactor: number): boolean {
    const { seed, record } = this.#token;
    if (movingFactor < 0 || this.#typed < 0) return false;
    return isCodeAt({ seed, typed: this.#typed }, movingFactor, record);
  }
}

function stepNow({ record: { periodS } }: OpenToken, nowMs: number): number {
  return Math.floor(nowMs / (periodS * 1000));
}

/** The position after a code is accepted; `null` if the code is not accepted. A code is accepted once. */
export function acceptOneTimeCode(
  token: OpenToken,
  { code, nowMs }: { code: string; nowMs: number },
): TokenUse | null {
  const found = findFactor(token, { code, nowMs });
  if (found === null) return null;
  const { use, record } = token;
  const next = found + 1;
  if (record.kind === "hotp") return { ...use, next, usedMs: nowMs };
  const learned = found - stepNow(token, nowMs);
  const drift = Math.max(
    use.baseDrift - MAX_LEARNED_DRIFT,
    Math.min(use.baseDrift + MAX_LEARNED_DRIFT, learned),
  );
  return { ...use, next, drift, usedMs: nowMs };
}

/** The moving factor of an acceptable code. The likeliest ones are tried first. */
function findFactor(token: OpenToken, { code, nowMs }: { code: string; nowMs: number }): number | null {
  const typed = new TypedCode(token, code);
  const { record, use } = token;
  if (record.kind === "hotp") {
    for (let at = use.next; at <= use.next + HOTP_LOOK_AHEAD; at++) if (typed.isAt(at)) return at;
    return null;
  }
  return nearest(stepNow(token, nowMs) + use.drift, TOTP_WINDOW, (at) => at >= use.next && typed.isAt(at));
}

/** The nearest number to `center`, at most `window` away, that fits. */
function nearest(center: number, window: number, fits: (at: number) => boolean): number | null {
  if (fits(center)) return center;
  for (let distance = 1; distance <= window; distance++) {
    if (fits(center - distance)) return center - distance;
    if (fits(center + distance)) return center + distance;
  }
  return null;
}

/** The position after a resynchronization with two consecutive codes, which are then used; `null` if they do not fit. It never moves back. */
export function resynchronizeToken(
  token: OpenToken,
  { codes: [first, second], nowMs }: { codes: readonly [string, string]; nowMs: number },
): TokenUse | null {
  const { record, use } = token;
  const one = new TypedCode(token, first);
  const other = new TypedCode(token, second);
  const fits = (at: number) => at >= use.next && one.isAt(at) && other.isAt(at + 1);
  if (record.kind === "hotp") {
    for (let at = use.next; at <= use.next + RESYNC_WINDOW; at++) {
      if (fits(at)) return { ...use, next: at + 2, usedMs: nowMs };
    }
    return null;
  }
  const now = stepNow(token, nowMs);
  const found = nearest(now + use.drift, RESYNC_WINDOW, fits);
  if (found === null) return null;
  // The second code is the one that the token shows now.
  const drift = found + 1 - now;
  return { next: found + 2, drift, baseDrift: drift, usedMs: nowMs };
}

/** Checks a code without using it. */
export function checkTokenCode(
  token: OpenToken,
  { code, nowMs }: { code: string; nowMs: number },
): CodeCheck {
  const { record, use } = token;
  const expected = record.kind === "hotp" ? use.next : stepNow(token, nowMs) + use.drift;
  const valid = findFactor(token, { code, nowMs });
  if (valid !== null) return { kind: "valid", ahead: valid - expected };
  const typed = new TypedCode(token, code);
  for (let at = use.next - 1; at >= Math.max(0, use.next - 1 - HOTP_LOOK_AHEAD); at--) {
    if (typed.isAt(at)) return { kind: "used" };
  }
  const found = nearest(expected, RESYNC_WINDOW, (at) => at >= use.next && typed.isAt(at));
  return found === null ? { kind: "wrong" } : { kind: "out_of_sync", ahead: found - expected };
}

/** How far from now the code of another time is searched, after it was refused. */
const OTHER_TIME_S = 3600;

/**
 * Why a code of the right factor is refused. `code_used`: it was used, or is older than the last used one. `last_step_ahead`: the last used step lies
 * in the future. `clock_240`: the code is right for a clock that is 240 s ahead; negative numbers are behind.
 */
export type CodeFault = "code_used" | "last_step_ahead" | `clock_${number}`;

/** @returns `null` if it is no code of the factor near this time. Only call it for a code that was refused. */
export function explainRefusedCode(
  token: OpenToken,
  { code, nowMs }: { code: string; nowMs: number },
): CodeFault | null {
  const { record: { kind, periodS }, use } = token;
  const typed = new TypedCode(token, code);
  if (kind === "hotp") {
    const at = nearest(use.next - 1, HOTP_LOOK_AHEAD, (counter) => counter < use.next && typed.isAt(counter));
    return at === null ? null : "code_used";
  }
  const now = stepNow(token, nowMs);
  const found = nearest(now, Math.floor(OTHER_TIME_S / periodS), (at) => typed.isAt(at));
  if (found === null) return null;
  if (found >= use.next) return `clock_${(found - now) * periodS}`;
  return use.next - 1 > now + Math.max(0, use.drift) + TOTP_WINDOW ? "last_step_ahead" : "code_used";
}

/** The seconds that a clock is ahead; `null` for any other fault. */
export function clockAheadS(fault: string | null): number | null {
  const [, seconds] = /^clock_(-?[0-9]{1,6})$/.exec(fault ?? "") ?? [];
  return seconds === undefined ? null : Number(seconds);
}

/** A fault in words, for the log; other texts are unchanged. */
export function codeFaultText(fault: string): string {
  const aheadS = clockAheadS(fault);
  if (aheadS === null) return fault;
  const size = Math.abs(aheadS);
  const time = size < 120 ? `${size} seconds` : `${Math.round(size / 60)} minutes`;
  return `the code is right for a clock that is ${time} ${aheadS < 0 ? "behind" : "ahead"}`;
}

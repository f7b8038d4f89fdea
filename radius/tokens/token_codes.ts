// Which code of a hardware token or of an authenticator app a typed code is: HOTP with a look-ahead window (RFC 4226 §7.2), TOTP with the drift of
// its clock (RFC 6238 §6), and resynchronization with two codes (RFC 4226 §7.4). Decides only; it stores nothing.

import { type CodeAlgorithm, decodeBase32, isCodeAt, readTypedCode } from "../factors/totp.ts";
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

// Codes of authenticator apps (RFC 6238): the parameters of an app, the drift of its clock, and its secret as an administrator enters it.

/** How an app makes its codes. */
interface AppParameters {
  readonly algorithm: CodeAlgorithm;
  readonly digits: number;
  readonly periodS: number;
}

/** What nearly every app uses. */
const USUAL: AppParameters = { algorithm: "SHA1", digits: 6, periodS: 30 };

/** The stored part of an app: parameters that are not the usual ones, its last accepted time step, and its drift in time steps. */
export interface StoredApp extends Partial<AppParameters> {
  readonly lastStep: number;
  /** Absent before the first login. */
  readonly drift?: number;
}

/** A time step whose code was accepted, and the drift of the app's clock that it shows. */
export interface AppUse {
  readonly step: number;
  readonly drift: number;
}

export function appParameters({ algorithm, digits, periodS }: Partial<AppParameters>): AppParameters {
  return {
    algorithm: algorithm ?? USUAL.algorithm,
    digits: digits ?? USUAL.digits,
    periodS: periodS ?? USUAL.periodS,
  };
}

/** The parameters that a record stores. */
export function unusualParameters(given: Partial<AppParameters>): Partial<AppParameters> {
  const { algorithm, digits, periodS } = appParameters(given);
  return {
    ...(algorithm === USUAL.algorithm ? {} : { algorithm }),
    ...(digits === USUAL.digits ? {} : { digits }),
    ...(periodS === USUAL.periodS ? {} : { periodS }),
  };
}

/** The app in the form of a hardware token, so that both have the same rules. */
export function openApp(app: StoredApp, seed: Uint8Array): OpenToken {
  const use = { next: app.lastStep + 1, drift: app.drift ?? 0, baseDrift: 0, usedMs: null };
  return { record: { kind: "totp", ...appParameters(app) }, use, seed };
}

/** The time step of a code that is accepted now; `null`: it is not accepted. A code is accepted once. */
export function acceptAppCode(
  app: StoredApp,
  { seed, ...typed }: { seed: Uint8Array; code: string; nowMs: number },
): AppUse | null {
  const open = openApp(app, seed);
  // The clock of a phone may be right again.
  const use = acceptOneTimeCode(open, typed) ??
    (open.use.drift === 0 ? null : acceptOneTimeCode({ ...open, use: { ...open.use, drift: 0 } }, typed));
  return use === null ? null : { step: use.next - 1, drift: use.drift };
}

/** The fields of a record after the use of a time step. */
export function usedApp<T extends StoredApp>(app: T, { step, drift }: AppUse): T {
  return { ...app, lastStep: step, drift };
}

const ALGORITHMS: ReadonlyMap<string, CodeAlgorithm> = new Map([
  ["SHA1", "SHA1"],
  ["SHA256", "SHA256"],
  ["SHA512", "SHA512"],
]);
const DIGITS: ReadonlySet<string> = new Set(["6", "7", "8"]);
const PERIODS_S: ReadonlySet<string> = new Set(["30", "60"]);

/** Reads base32, or the URI of a QR code (`otpauth://totp/…`, the Key Uri Format of Google Authenticator); `null`: neither. */
export function readAppSecret(text: string): (AppParameters & { readonly seed: Uint8Array }) | null {
  if (!/^\s*otpauth:/i.test(text)) {
    const seed = decodeBase32(text);
    return seed === null ? null : { ...USUAL, seed };
  }
  const url = URL.parse(text.trim());
  if (url?.host.toLowerCase() !== "totp") return null;
  const valueOf = (name: string, usual: string) => (url.searchParams.get(name) ?? usual).trim();
  const algorithm = ALGORITHMS.get(valueOf("algorithm", "SHA1").toUpperCase().replace(/^HMAC|-/g, ""));
  const digits = valueOf("digits", "6");
  const periodS = valueOf("period", "30");
  const seed = decodeBase32(valueOf("secret", ""));
  if (seed === null || algorithm === undefined || !DIGITS.has(digits) || !PERIODS_S.has(periodS)) return null;
  return { algorithm, digits: Number(digits), periodS: Number(periodS), seed };
}

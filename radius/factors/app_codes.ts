// Codes of authenticator apps (RFC 6238): the parameters of an app, the drift of its clock, and its secret as an administrator enters it.

import { acceptOneTimeCode, type OpenToken } from "../tokens/token_codes.ts";
import { type CodeAlgorithm, decodeBase32 } from "./totp.ts";

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

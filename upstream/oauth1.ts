// OAuth 1.0 with one leg and HMAC-SHA1 (RFC 5849 §3): signs the calls to the second-factor service, and checks them in
// the embedded one.

import { createHmac, timingSafeEqual } from "node:crypto";
import type { Clock, Random } from "../runtime.ts";
import { decodeForm, type Parameters, percentEncode } from "./percent_encoding.ts";

/** What the two sides share. There is no token: the client acts for itself. */
export interface OAuthKeys {
  readonly consumerKey: string;
  readonly consumerSecret: string;
}

/** What of a request is signed. `form` is empty unless the body is a form. */
export interface SignedRequest {
  readonly method: string;
  /** Absolute; its query is signed, its fragment is not. */
  readonly url: string;
  readonly form: Parameters;
}

/** The signature base string, RFC 5849 §3.4.1. `parameters` holds those of the header, query and form together. */
export function signatureBaseString(
  request: { method: string; url: string; parameters: Parameters },
): string {
  const { method, url, parameters } = request;
  return [method.toUpperCase(), baseStringUri(url), normalizeParameters(parameters)].map(percentEncode).join(
    "&",
  );
}

/** RFC 5849 §3.4.1.2: lower case, no default port (the URL parser drops it), neither query nor fragment. */
function baseStringUri(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

/** RFC 5849 §3.4.1.3.2: encoded first, then sorted by name and, for names that repeat, by value. */
function normalizeParameters(parameters: Parameters): string {
  const encoded = parameters.map(([name, value]) => [percentEncode(name), percentEncode(value)] as const);
  encoded.sort(([name, value], [otherName, otherValue]) =>
    compareText(name, otherName) || compareText(value, otherValue)
  );
  return encoded.map(([name, value]) => `${name}=${value}`).join("&");
}

function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** HMAC-SHA1 of a base string in Base64, RFC 5849 §3.4.2. The `&` between the secrets stays without a token. */
export function signHmacSha1(
  baseString: string,
  secrets: { consumerSecret: string; tokenSecret?: string },
): string {
  const key = `${percentEncode(secrets.consumerSecret)}&${percentEncode(secrets.tokenSecret ?? "")}`;
  return createHmac("sha1", key).update(baseString).digest("base64");
}

/** The parameters of the query of `url`, decoded. */
function queryOf(url: string): Parameters {
  return decodeForm(new URL(url).search.slice(1));
}

/**
 * The value of the Authorization header for `request`.
 *
 * @param options.timestampSeconds whole seconds since the epoch.
 * @param options.nonce integer text; see {@link createNonce}.
 */
export function authorizationHeader(
  request: SignedRequest,
  options: { keys: OAuthKeys; timestampSeconds: number; nonce: string },
): string {
  const { keys, timestampSeconds, nonce } = options;
  const oauth: [string, string][] = [
    ["oauth_consumer_key", keys.consumerKey],
    ["oauth_version", "1.0"],
    ["oauth_signature_method", "HMAC-SHA1"],
    ["oauth_timestamp", String(Math.floor(timestampSeconds))],
    ["oauth_nonce", nonce],
  ];
  oauth.push(["oauth_signature", signatureOf(request, { oauth, keys })]);
  return "OAuth " +
    oauth.map(([name, value]) => `${percentEncode(name)}="${percentEncode(value)}"`).join(", ");
}

function signatureOf(
  request: SignedRequest,
  { oauth, keys }: { oauth: Parameters; keys: OAuthKeys },
): string {
  const parameters = [...oauth, ...queryOf(request.url), ...request.form];
  return signHmacSha1(signatureBaseString({ method: request.method, url: request.url, parameters }), keys);
}

/** A nonce as integer text: 63 random bits in decimal. */
export function createNonce(random: Random): string {
  const octets = random.bytes(8);
  const number = new DataView(octets.buffer, octets.byteOffset, 8).getBigUint64(0);
  return String(number & 0x7fff_ffff_ffff_ffffn);
}

/** Why a signature is not accepted; every one of them is a 401 for the caller. */
export type OAuthRefusal =
  | "no_header"
  | "malformed"
  | "unknown_key"
  | "wrong_signature"
  | "wrong_time"
  | "nonce_used";

/** Checks signatures and remembers the nonces of the time that it accepts. */
export interface OAuthVerifier {
  verify(
    request: SignedRequest,
    authorization: string | null,
  ): { ok: true } | { ok: false; reason: OAuthRefusal };
}

const MAX_HEADER_CHARACTERS = 4096;
const DEFAULT_SKEW_MS = 300_000;
const DEFAULT_NONCES = 200_000;

/**
 * A verifier for one pair of keys (RFC 5849 §3.2 and §3.3): constant time, `skewMs` to either side (default 300,000),
 * each nonce once. At most `maxNonces` are remembered; beyond them the oldest second is closed for good, so that
 * forgetting a nonce never makes it usable again.
 */
export function createOAuthVerifier(
  deps: { clock: Clock; keys: OAuthKeys; skewMs?: number; maxNonces?: number },
): OAuthVerifier {
  const { clock, keys, skewMs = DEFAULT_SKEW_MS, maxNonces = DEFAULT_NONCES } = deps;
  const nonces = createNonceMemory(maxNonces);
  return {
    verify(request, authorization) {
      if (authorization === null) return { ok: false, reason: "no_header" };
      const oauth = parseAuthorization(authorization);
      if (oauth === null) return { ok: false, reason: "malformed" };
      const reason = checkSignature(request, { oauth, keys });
      if (reason !== null) return { ok: false, reason };
      const nowSeconds = Math.floor(clock.nowMs() / 1000);
      const second = Number(oauth.get("oauth_timestamp"));
      if (!(Math.abs(nowSeconds - second) * 1000 <= skewMs)) return { ok: false, reason: "wrong_time" };
      nonces.forgetBefore(nowSeconds - Math.ceil(skewMs / 1000));
      const nonce = oauth.get("oauth_nonce") ?? "";
      return nonces.remember(second, nonce) ? { ok: true } : { ok: false, reason: "nonce_used" };
    },
  };
}

function checkSignature(
  request: SignedRequest,
  { oauth, keys }: { oauth: ReadonlyMap<string, string>; keys: OAuthKeys },
): OAuthRefusal | null {
  if (
    oauth.get("oauth_signature_method") !== "HMAC-SHA1" || (oauth.get("oauth_version") ?? "1.0") !== "1.0"
  ) {
    return "malformed";
  }
  if (!/^\d{1,12}$/.test(oauth.get("oauth_timestamp") ?? "") || !oauth.get("oauth_nonce")) return "malformed";
  if (!isSameText(oauth.get("oauth_consumer_key") ?? "", keys.consumerKey)) return "unknown_key";
  const signed = [...oauth].filter(([name]) => name !== "oauth_signature" && name !== "realm");
  const expected = signatureOf(request, { oauth: signed, keys });
  return isSameText(oauth.get("oauth_signature") ?? "", expected) ? null : "wrong_signature";
}

/** Equal in constant time for texts of the same length. */
function isSameText(left: string, right: string): boolean {
  const [a, b] = [new TextEncoder().encode(left), new TextEncoder().encode(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Reads `OAuth name="value", …` (RFC 5849 §3.5.1); `null` when it is anything else or names something twice. */
export function parseAuthorization(header: string): ReadonlyMap<string, string> | null {
  if (header.length > MAX_HEADER_CHARACTERS || !/^OAuth /i.test(header)) return null;
  const parameters = new Map<string, string>();
  for (const part of header.slice("OAuth ".length).split(",")) {
    const [, name, value] = /^([^="]+)="([^"]*)"$/.exec(part.trim()) ?? [];
    if (name === undefined || value === undefined) return null;
    const [decodedName, decodedValue] = [percentDecode(name), percentDecode(value)];
    if (decodedName === null || decodedValue === null || parameters.has(decodedName)) return null;
    parameters.set(decodedName, decodedValue);
  }
  return parameters;
}

function percentDecode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch (_malformed) {
    return null;
  }
}

interface NonceMemory {
  /** Whether this nonce is new for that second; it is not any more afterwards. */
  remember(second: number, nonce: string): boolean;
  forgetBefore(second: number): void;
}

function createNonceMemory(maxNonces: number): NonceMemory {
  const seconds = new Map<number, Set<string>>();
  let count = 0;
  let closedUpTo = -Infinity;
  const drop = (second: number): void => {
    count -= seconds.get(second)?.size ?? 0;
    seconds.delete(second);
  };
  return {
    remember(second, nonce) {
      if (second <= closedUpTo) return false;
      const seen = seconds.get(second) ?? new Set();
      if (seen.has(nonce)) return false;
      seconds.set(second, seen.add(nonce));
      if (++count > maxNonces) {
        closedUpTo = Math.min(...seconds.keys());
        drop(closedUpTo);
      }
      return true;
    },
    forgetBefore(second) {
      for (const known of seconds.keys()) if (known < second) drop(known);
    },
  };
}

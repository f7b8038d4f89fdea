// Signs the calls to an external second-factor service: OAuth 1.0 with one leg and HMAC-SHA1 (RFC 5849 §3).

import { createHmac } from "node:crypto";
import type { Random } from "../../platform/runtime.ts";

/** The shared credentials. There is no token: the client acts for itself. */
interface OAuthKeys {
  readonly consumerKey: string;
  readonly consumerSecret: string;
}

/** The signed parts of a request. `form` is empty unless the body is a form. */
interface SignedRequest {
  readonly method: string;
  /** Absolute; its query is signed, its fragment is not. */
  readonly url: string;
  readonly form: FormParameters;
}

/** The signature base string, RFC 5849 §3.4.1. `parameters` holds those of the header, query and form together. */
export function signatureBaseString(
  request: { method: string; url: string; parameters: FormParameters },
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
function normalizeParameters(parameters: FormParameters): string {
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
function queryOf(url: string): FormParameters {
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
  { oauth, keys }: { oauth: FormParameters; keys: OAuthKeys },
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

/** A form or query as pairs, in order; names may repeat. */
export type FormParameters = readonly (readonly [name: string, value: string])[];

const LEFT_BY_THE_PLATFORM = /[!'()*]/g;

/** Encodes every octet that is not unreserved. A lone surrogate becomes U+FFFD: nothing here throws on input. */
export function percentEncode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    LEFT_BY_THE_PLATFORM,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * A body of `application/x-www-form-urlencoded`. A space is `%20`, which readers of `+` and readers of `%20` both take.
 */
export function encodeForm(parameters: FormParameters): string {
  return parameters.map(([name, value]) => `${percentEncode(name)}=${percentEncode(value)}`).join("&");
}

/** The pairs of a form body or of a query without its `?`, decoded, with duplicates. */
function decodeForm(text: string): [string, string][] {
  return [...new URLSearchParams(text)];
}

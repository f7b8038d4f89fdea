// Checks OAuth 1.0 signatures like a service (RFC 5849 §3.2). It is independent of the product's code, so that both
// cannot have the same error.

import { createHmac } from "node:crypto";

/** The reason why a service refuses a signed request. */
export type SignatureProblem = "malformed" | "unknown_key" | "wrong_signature" | "wrong_time" | "nonce_used";

/** A request as it arrived; `form` is empty unless the body is a form. */
export interface ArrivedRequest {
  readonly method: string;
  readonly url: string;
  readonly form: Iterable<readonly [string, string]>;
}

const MAX_SKEW_SECONDS = 300;

/**
 * A checker that accepts each pair of timestamp and nonce once.
 *
 * @param service.nowMs the service's clock; without one, any timestamp is accepted.
 */
export function createSignatureChecker(
  service: { consumerKey: string; consumerSecret: string; nowMs?: () => number },
): (request: ArrivedRequest, authorization: string | null) => SignatureProblem | null {
  const used = new Set<string>();
  return (request, authorization) => {
    const oauth = parseHeader(authorization ?? "");
    if (oauth === null) return "malformed";
    if (oauth.get("oauth_consumer_key") !== service.consumerKey) return "unknown_key";
    const signature = oauth.get("oauth_signature");
    oauth.delete("oauth_signature");
    if (signature !== signatureOf(request, { oauth, consumerSecret: service.consumerSecret })) {
      return "wrong_signature";
    }
    const timestamp = Number(oauth.get("oauth_timestamp"));
    const nowMs = service.nowMs?.() ?? timestamp * 1000;
    if (Math.abs(Math.floor(nowMs / 1000) - timestamp) > MAX_SKEW_SECONDS) return "wrong_time";
    const nonce = `${timestamp} ${oauth.get("oauth_nonce")}`;
    if (used.has(nonce)) return "nonce_used";
    used.add(nonce);
    return null;
  };
}

/** RFC 5849 §3.5.1; `null` unless all parameters are present once, with the only method and version of this service. */
function parseHeader(header: string): Map<string, string> | null {
  if (!/^OAuth (\w+="[^"]*"(, ?|$))+$/.test(header)) return null;
  const pairs = [...header.slice("OAuth ".length).matchAll(/(\w+)="([^"]*)"/g)];
  const oauth = new Map<string, string>();
  for (const [, name = "", value = ""] of pairs) {
    try {
      oauth.set(name, decodeURIComponent(value));
    } catch (_notPercentEncoded) {
      return null;
    }
  }
  const isComplete = oauth.size === pairs.length && oauth.get("oauth_signature_method") === "HMAC-SHA1" &&
    oauth.get("oauth_version") === "1.0" && /^\d+$/.test(oauth.get("oauth_timestamp") ?? "") &&
    oauth.get("oauth_nonce") !== undefined && oauth.get("oauth_signature") !== undefined;
  return isComplete ? oauth : null;
}

/** RFC 5849 §3.4. */
function signatureOf(
  request: ArrivedRequest,
  { oauth, consumerSecret }: { oauth: ReadonlyMap<string, string>; consumerSecret: string },
): string {
  const url = new URL(request.url);
  // No encoded text contains a character that sorts before the space, so this sorts by name, then by value.
  const pairs = [...oauth, ...url.searchParams, ...request.form].map(([name, value]) =>
    `${percentEncoded(name)} ${percentEncoded(value)}`
  ).sort().map((pair) => pair.replace(" ", "="));
  const base = [request.method, url.origin + url.pathname, pairs.join("&")].map(percentEncoded).join("&");
  return createHmac("sha1", `${percentEncoded(consumerSecret)}&`).update(base).digest("base64");
}

function percentEncoded(text: string): string {
  let encoded = "";
  for (const octet of new TextEncoder().encode(text)) {
    const character = String.fromCharCode(octet);
    encoded += /[A-Za-z0-9\-._~]/.test(character)
      ? character
      : `%${octet.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}

// The subscription that a phone sends (Push API §9): foreign input. Its endpoint must be an https address of an allowed host.

import { matchesHost } from "../../../platform/addresses.ts";
import { type BrowserPushKeys, isPushKey } from "./push_encryption.ts";

/** A checked subscription. */
export interface PushTarget extends BrowserPushKeys {
  readonly endpoint: string;
  /** The host of the endpoint, with its port unless it is 443. */
  readonly host: string;
}

export type PushTargetResult =
  | { readonly ok: true; readonly value: PushTarget }
  | { readonly ok: false; readonly reason: "bad_push_subscription" | "push_host_not_allowed" };

/** What a browser sends: the members of `PushSubscription.toJSON()` that count. */
export interface GivenSubscription {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
}

const MAX_ENDPOINT_CHARACTERS = 2048;
const POINT_OCTETS = 65;
/** RFC 8291 §3.2. */
const AUTH_OCTETS = 16;
const BAD = { ok: false, reason: "bad_push_subscription" } as const;

/** The URL of an endpoint; `null` unless it is https without a user, and one spelling of its address. */
function endpointUrl(text: string): URL | null {
  if (text.length > MAX_ENDPOINT_CHARACTERS || !/^https:\/\/[\x21-\x7e]+$/.test(text)) return null;
  const url = URL.parse(text);
  if (url === null || url.username !== "" || url.password !== "" || text.includes("#")) return null;
  return url;
}

/** Whether a message may be sent to the endpoint. */
export function isAllowedEndpoint(endpoint: string, hosts: readonly string[]): boolean {
  const url = endpointUrl(endpoint);
  return url !== null && matchesHost(url.host, hosts);
}

/** @param hosts the patterns of `push.hosts`. */
export async function parsePushTarget(
  { endpoint, keys }: GivenSubscription,
  hosts: readonly string[],
): Promise<PushTargetResult> {
  const url = endpointUrl(endpoint);
  const p256dh = octetsOf(keys.p256dh, POINT_OCTETS);
  const auth = octetsOf(keys.auth, AUTH_OCTETS);
  if (url === null || p256dh === null || auth === null) return BAD;
  if (!matchesHost(url.host, hosts)) return { ok: false, reason: "push_host_not_allowed" };
  if (!await isPushKey(p256dh)) return BAD;
  return { ok: true, value: { endpoint: url.href, host: url.host, p256dh, auth } };
}

/** Base64url, with or without padding, of this length. */
function octetsOf(text: string, octets: number): Uint8Array<ArrayBuffer> | null {
  if (text.length > 2 * octets || !/^[A-Za-z0-9_-]+={0,2}$/.test(text)) return null;
  try {
    const value = Uint8Array.fromBase64(text, { alphabet: "base64url" });
    return value.length === octets ? value : null;
  } catch (_notBase64) {
    return null;
  }
}

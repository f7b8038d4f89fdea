// Checks of a request that all interfaces make, before their applications are loaded: HTTP Basic authentication (RFC 7617), and whether
// memory contains the writes of other nodes.

import type { Log } from "../../platform/log.ts";
import { type Clock, withTimeout } from "../../platform/runtime.ts";
import { ScimRefusal } from "./refusals.ts";

/** Base64 of a name, a colon and a password. */
const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;
const MAX_HEADER_CHARACTERS = 8192;
const CONTROL = /\p{Cc}/u;

/** The challenge for a caller without a valid credential (RFC 7617 §2 and §2.1). */
export const BASIC_CHALLENGE = 'Basic realm="Countersign", charset="UTF-8"';

/**
 * The name and password of an Authorization header. `null` if it is absent, has another scheme, or is malformed: bad base64, not UTF-8,
 * no colon, a control character (RFC 7617 §2).
 */
export function readBasic(header: string | null): { name: string; password: string } | null {
  if (header === null || header.length > MAX_HEADER_CHARACTERS) return null;
  const encoded = BASIC.exec(header)?.[1];
  const text = encoded === undefined ? null : decodeText(encoded);
  if (text === null || CONTROL.test(text)) return null;
  const colon = text.indexOf(":");
  if (colon < 0) return null;
  return { name: text.slice(0, colon).normalize("NFC"), password: text.slice(colon + 1) };
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeText(base64: string): string | null {
  try {
    return decoder.decode(Uint8Array.fromBase64(base64));
  } catch (_notBase64OrUtf8) {
    return null;
  }
}

const STORE_TIMEOUT_MS = 5000;

/** Waits until memory contains the writes of other nodes. @throws ScimRefusal `busy` if the store does not answer */
export async function waitForStore(
  caughtUp: Promise<void>,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<void> {
  let cause: unknown = null;
  try {
    if ((await withTimeout(caughtUp, { clock, timeoutMs: STORE_TIMEOUT_MS })).inTime) return;
  } catch (fault) {
    cause = fault;
  }
  log.warn("a SCIM request was refused because the store does not answer", {
    fault: String(cause ?? "timeout"),
  });
  throw new ScimRefusal("busy", {
    detail: "The store does not answer. Try again in a moment.",
    headers: { "Retry-After": "5" },
    cause,
  });
}

// Reads the header of HTTP Basic authentication (RFC 7617). Strict: what is odd in it is no credential.

/** Base64 of a name, a colon and a password. */
const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;
const MAX_HEADER_CHARACTERS = 8192;
const CONTROL = /\p{Cc}/u;

/** What a caller must be told (RFC 7617 §2 and §2.1). */
export const BASIC_CHALLENGE = 'Basic realm="Countersign", charset="UTF-8"';

/**
 * The name and password of an Authorization header, or `null` when it is absent, of another scheme, or malformed: bad base64, no UTF-8,
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

// MS-CHAP in RADIUS packets (RFC 2548 §2): finds the response of a request, and writes the MS-CHAP-Error of an Access-Reject.

import { readInteger } from "./attributes.ts";
import { typeOf } from "./dictionary.ts";
import { forEachAttribute } from "./packet.ts";

export const MICROSOFT_VENDOR = 311;
const USER_PASSWORD = typeOf("User-Password");
const VENDOR_SPECIFIC = typeOf("Vendor-Specific");
const VENDOR_OCTETS = 4;

/** RFC 2548 §2.1 to §2.3: vendor types of requests. */
const RESPONSES: ReadonlyMap<number, MsChapVersion> = new Map([[1, 1], [25, 2]]);
/** MS-CHAP-CPW-1, MS-CHAP-CPW-2 and MS-CHAP2-CPW change the password. */
const CHANGES: ReadonlySet<number> = new Set([3, 4, 27]);
const ERROR = 2;
/** RFC 2548 §2.1.3 and §2.3.2. */
const RESPONSE_OCTETS = 50;

type MsChapVersion = 1 | 2;

interface MsChapRequest {
  /** How many responses it has; a valid one has exactly one. */
  readonly responses: number;
  readonly version: MsChapVersion;
  /** The Ident of the response, which an MS-CHAP-Error repeats. */
  readonly ident: number;
  /** Whether it asks for a new password. */
  readonly isChange: boolean;
  readonly isMalformed: boolean;
}

/** `null`: the packet has no MS-CHAP response and changes no password, or it has User-Password, which counts then. */
export function readMsChap(octets: Uint8Array, lengthOctets = octets.length): MsChapRequest | null {
  let responses = 0;
  let version: MsChapVersion = 2;
  let ident = 0;
  let isChange = false;
  let isMalformed = false;
  forEachMicrosoft(octets, lengthOctets, (type, at, valueOctets) => {
    if (CHANGES.has(type)) isChange = true;
    const found = RESPONSES.get(type);
    if (found === undefined) return;
    if (valueOctets !== RESPONSE_OCTETS) isMalformed = true;
    if (responses++ > 0) return;
    version = found;
    ident = octets[at] ?? 0;
  });
  const hasNone = responses === 0 && !isChange;
  return hasNone || hasPassword(octets, lengthOctets)
    ? null
    : { responses, version, ident, isChange, isMalformed };
}

function hasPassword(octets: Uint8Array, lengthOctets: number): boolean {
  let found = false;
  forEachAttribute(octets, lengthOctets, (type, _at, valueOctets) => {
    if (type === USER_PASSWORD && valueOctets > 0) found = true;
  });
  return found;
}

/**
 * Calls `visit` for each attribute of Microsoft. One Vendor-Specific can contain several (RFC 2865 §5.26).
 *
 * @param visit receives the vendor type, and the position and length of the value
 */
function forEachMicrosoft(
  octets: Uint8Array,
  lengthOctets: number,
  visit: (type: number, at: number, valueOctets: number) => void,
): void {
  forEachAttribute(octets, lengthOctets, (type, at, valueOctets) => {
    if (type !== VENDOR_SPECIFIC || valueOctets < VENDOR_OCTETS + 2) return;
    if (readInteger(octets, at) !== MICROSOFT_VENDOR) return;
    const end = at + valueOctets;
    for (let inner = at + VENDOR_OCTETS; inner + 2 <= end;) {
      const size = octets[inner + 1] as number;
      if (size < 2 || inner + size > end) return;
      visit(octets[inner] as number, inner + 2, size - 2);
      inner += size;
    }
  });
}

/** ERROR_AUTHENTICATION_FAILURE (RFC 2759 §6). */
export const MS_CHAP_AUTHENTICATION_FAILURE = 691;

const utf8 = new TextEncoder();
/** The longest text of an MS-CHAP-Error: a Vendor-Specific has 253 octets, and the other fields take fewer than 80. */
const MAX_MESSAGE_OCTETS = 160;

/**
 * The value of a Vendor-Specific with an MS-CHAP-Error (RFC 2548 §2.1.5) that allows no retry.
 *
 * @param challenge 16 random octets; version 1 uses 8 of them (RFC 2433 §6, RFC 2759 §6)
 * @param message ASCII, shown by some clients
 */
export function encodeMsChapError(
  { version, ident }: Pick<MsChapRequest, "version" | "ident">,
  { challenge, message }: { challenge: Uint8Array; message: string },
): Uint8Array<ArrayBuffer> {
  const next = challenge.subarray(0, version === 1 ? 8 : 16).toHex().toUpperCase();
  const plain = message.replace(/[^\x20-\x7e]/g, "?").slice(0, MAX_MESSAGE_OCTETS);
  const text = `E=${MS_CHAP_AUTHENTICATION_FAILURE} R=0 C=${next} V=${version + 1} M=${plain}`;
  const body = utf8.encode(text);
  return Uint8Array.of(
    0,
    0,
    MICROSOFT_VENDOR >>> 8,
    MICROSOFT_VENDOR & 0xff,
    ERROR,
    body.length + 3,
    ident,
    ...body,
  );
}

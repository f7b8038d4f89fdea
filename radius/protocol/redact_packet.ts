// Copies a packet for observers, with every octet zeroed from which a password, a token or a shared secret could be had or guessed.

import {
  AUTHENTICATOR_AT,
  AUTHENTICATOR_OCTETS,
  HEADER_OCTETS,
  MAX_PACKET_OCTETS,
  PACKET_CODES,
} from "./codes.ts";
import { ATTRIBUTES, typeOf } from "./dictionary.ts";
import { stepByName } from "./steps.ts";
import { decodeText } from "./utf8.ts";

/** How much of a value is masked, by attribute type. */
const WHOLE = 1;
const BEHIND_THE_STEP = 2;
const OF_MICROSOFT = 3;
const MASKS = new Uint8Array(256);
for (const row of Object.values(ATTRIBUTES)) if ("secret" in row) MASKS[row.type] = WHOLE;
MASKS[typeOf("State")] = BEHIND_THE_STEP;
MASKS[typeOf("Vendor-Specific")] = OF_MICROSOFT;
// It is made with the shared secret over octets that are shown: enough to try secrets at home.
MASKS[typeOf("Message-Authenticator")] = WHOLE;

/** Codes whose Authenticator is random; every other is made with the shared secret (RFC 2865 §3, RFC 2866 §3). */
const RANDOM_AUTHENTICATORS: ReadonlySet<number> = new Set([
  PACKET_CODES["Access-Request"].code,
  PACKET_CODES["Status-Server"].code,
]);
const DOT = 0x2e;

/**
 * Copies the packet at the front of `octets` to `target` at `at`, masked. What cannot be told apart into attributes is left out.
 *
 * @returns how many octets were written; at most 4096, and as many as `target` must have room for.
 */
export function copyMasked(octets: Uint8Array, target: Uint8Array, at: number): number {
  const length = soundLength(octets);
  for (let i = 0; i < length; i++) target[at + i] = octets[i] as number;
  if (length < HEADER_OCTETS) return length;
  if (!RANDOM_AUTHENTICATORS.has(octets[0] as number)) {
    target.fill(0, at + AUTHENTICATOR_AT, at + AUTHENTICATOR_AT + AUTHENTICATOR_OCTETS);
  }
  for (let from = HEADER_OCTETS; from + 2 <= length;) {
    const size = octets[from + 1] as number;
    const mask = MASKS[octets[from] as number] as number;
    if (mask !== 0) {
      const start = maskedFrom(octets, from, mask);
      if (start >= 0) target.fill(0, at + start, at + from + size);
    }
    from += size;
  }
  return length;
}

/** Where the masked part of the attribute at `from` begins, or -1 when nothing of it is masked. */
export function maskedFrom(octets: Uint8Array, from: number, mask = maskOf(octets[from] as number)): number {
  const size = octets[from + 1] as number;
  if (mask === WHOLE) return from + 2;
  if (mask === OF_MICROSOFT) return isOfMicrosoft(octets, from, size) ? from + 6 : -1;
  if (mask === BEHIND_THE_STEP) return stateMaskedFrom(octets, from, size);
  return -1;
}

function maskOf(type: number): number {
  return MASKS[type] as number;
}

/** Up to where header and attributes are sound: anything behind that could be a part of a password. */
function soundLength(octets: Uint8Array): number {
  if (octets.length < HEADER_OCTETS) return Math.min(octets.length, AUTHENTICATOR_AT);
  const said = ((octets[2] as number) << 8) | (octets[3] as number);
  const end = Math.min(said < HEADER_OCTETS ? HEADER_OCTETS : said, octets.length, MAX_PACKET_OCTETS);
  let from = HEADER_OCTETS;
  while (from + 2 <= end) {
    const size = octets[from + 1] as number;
    if (octets[from] === 0 || size < 2 || from + size > end) break;
    from += size;
  }
  return from;
}

/** RFC 2548 §2: vendor 311 carries MS-CHAP responses, from which a password can be guessed. */
function isOfMicrosoft(octets: Uint8Array, from: number, size: number): boolean {
  return size > 6 && octets[from + 2] === 0 && octets[from + 3] === 0 && octets[from + 4] === 1 &&
    octets[from + 5] === 0x37;
}

/** The step's name is no secret; the token behind it is, and so is a State that is not ours. */
function stateMaskedFrom(octets: Uint8Array, from: number, size: number): number {
  const value = octets.subarray(from + 2, from + size);
  const dot = value.indexOf(DOT);
  const name = decodeText(dot < 0 ? value : value.subarray(0, dot));
  if (stepByName(name) === null) return from + 2;
  return dot < 0 ? -1 : from + 2 + dot + 1;
}

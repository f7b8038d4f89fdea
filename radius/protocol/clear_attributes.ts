// Attributes in clear form, as RADIUS/1.1 sends them (RFC 9765 §5.1): values that a shared secret hides are revealed. A reply that is relayed is
// read with the secret and the Request Authenticator of one packet, and written with those of another.

import { readInteger } from "./attributes.ts";
import type { SharedSecret } from "./authenticity.ts";
import { attributeByName, typeOf, vendorAttributeByName } from "./dictionary.ts";
import { forEachAttribute, type PacketWriter } from "./packet.ts";

/**
 * An attribute in clear form. `value` of User-Password has no padding; that of Tunnel-Password is the tag and the password; a hidden vendor
 * attribute has no salt, length and padding. A Vendor-Specific attribute has one attribute of the vendor.
 */
export interface ClearAttribute {
  readonly type: number;
  readonly value: Uint8Array;
}

/** `at`: the position of the value in the packet. */
type ClearAttributes =
  | { readonly ok: true; readonly value: ClearAttribute[] }
  | { readonly ok: false; readonly reason: "malformed_hidden_value"; readonly at: number };

/** What hides the values of a packet. `secret` is `null` or {@link SharedSecret.isClear} for RADIUS/1.1, which hides none. */
interface HidingKey {
  readonly secret: SharedSecret | null;
  /** The Request Authenticator: of the packet, or of the request that it answers. */
  readonly authenticator: Uint8Array;
}

interface SaltSource {
  /** Uniform random octets. */
  bytes(lengthOctets: number): Uint8Array;
}

/** How a value is hidden: like User-Password (RFC 2865 §5.2), or with a salt (RFC 2868 §3.5), also behind a tag. */
type Hiding = "password" | "salted" | "tagged_salted";

const USER_PASSWORD = typeOf("User-Password");
const TUNNEL_PASSWORD = typeOf("Tunnel-Password");
const VENDOR_SPECIFIC = typeOf("Vendor-Specific");
/** The vendor's number, the type and the length of its attribute. */
const VENDOR_OCTETS = 4;
const VENDOR_HEAD_OCTETS = VENDOR_OCTETS + 2;
const FIRST_EXTENDED = 241;
const LAST_EXTENDED = 246;
const MICROSOFT = 311;
const CHAP_MPPE_KEYS = 12;
/** RFC 2548 §2.4.1: an LM key of 8 octets and an NT key of 16, without their padding. */
const CHAP_MPPE_KEYS_OCTETS = 24;

/** The hidden attributes of vendors, by `vendor.type` (RFC 2548 §2.4, and the dictionaries of FreeRADIUS for Aruba and LANCOM). */
const HIDDEN_VENDOR_ATTRIBUTES: ReadonlyMap<string, Hiding> = new Map([
  [`${MICROSOFT}.${CHAP_MPPE_KEYS}`, "password"],
  [`${MICROSOFT}.16`, "salted"],
  [`${MICROSOFT}.17`, "salted"],
  ["14823.44", "salted"],
  ["14823.72", "salted"],
  ["2356.19", "tagged_salted"],
  ["2356.20", "tagged_salted"],
  ["2356.33", "tagged_salted"],
]);

/** Vendors whose attributes do not begin with an octet of type and an octet of length (the dictionaries of FreeRADIUS). */
const OTHER_FORMATS: ReadonlySet<number> = new Set([429, 637, 4846, 5323, 8164, 16445, 24757]);

/**
 * The attributes of a valid packet, in order. The values are copies.
 *
 * @returns a refusal if a hidden value is malformed: it was hidden with another secret, or for another request
 */
export function readClearAttributes(packet: Uint8Array, key: HidingKey): ClearAttributes {
  const list: ClearAttribute[] = [];
  let malformedAt = -1;
  forEachAttribute(packet, packet.length, (type, at, valueOctets) => {
    for (const value of vendorParts(type, packet.subarray(at, at + valueOctets))) {
      const clear = reveal({ type, value }, key);
      if (clear !== null) list.push(clear);
      else if (malformedAt < 0) malformedAt = at;
    }
  });
  return malformedAt < 0
    ? { ok: true, value: list }
    : { ok: false, reason: "malformed_hidden_value", at: malformedAt };
}

/**
 * Writes attributes in order, and hides their values again with fresh salts.
 *
 * @throws RangeError if the packet is full, or if a value is too long to be hidden
 */
export function writeClearAttributes(
  writer: PacketWriter,
  attributes: readonly ClearAttribute[],
  key: HidingKey & { readonly random: SaltSource },
): void {
  let salts: Salts | null = null;
  for (const attribute of attributes) {
    const hiding = isHiding(key.secret) ? hidingOf(attribute) : null;
    if (hiding !== null) salts ??= new Salts(key.random);
    writer.attribute(
      attribute.type,
      hiding === null || salts === null ? attribute.value : hide(attribute, hiding, { ...key, salts }),
    );
  }
}

/** The octets that {@link writeClearAttributes} writes, or a little less where values are hidden. */
export function clearOctets(attributes: readonly ClearAttribute[]): number {
  return attributes.reduce((sum, { value }) => sum + value.length + 2, 0);
}

/** A key that is equal for attributes of one type: the type, `26.<vendor>.<type>`, or `241.<type>` for an extended attribute (RFC 6929). */
export function clearIdentity({ type, value }: ClearAttribute): string {
  if (type === VENDOR_SPECIFIC && value.length >= VENDOR_HEAD_OCTETS) {
    return `${type}.${readInteger(value)}.${value[VENDOR_OCTETS]}`;
  }
  return type >= FIRST_EXTENDED && type <= LAST_EXTENDED ? `${type}.${value[0]}` : String(type);
}

/** The {@link clearIdentity} of a name: that of a dictionary in any case, or numbers such as `26.9.1`; `null` if it is none. */
export function identityOfName(name: string): string | null {
  const vendor = vendorAttributeByName(name);
  if (vendor !== null) return `${VENDOR_SPECIFIC}.${vendor.vendor}.${vendor.type}`;
  const known = attributeByName(name);
  if (known !== null) return String(known.type);
  const type = /^(?:26\.[1-9]\d{0,7}\.|24[1-6]\.)?([1-9]\d{0,2})$/.exec(name)?.[1];
  return type !== undefined && Number(type) <= 0xff ? name : null;
}

/** One Vendor-Specific value for each attribute of the vendor (RFC 2865 §5.26). A value of another form stays whole. */
function vendorParts(type: number, value: Uint8Array): readonly Uint8Array[] {
  if (type !== VENDOR_SPECIFIC || value.length < VENDOR_HEAD_OCTETS) return [value];
  const vendor = value.subarray(0, VENDOR_OCTETS);
  if (OTHER_FORMATS.has(readInteger(vendor))) return [value];
  const parts: Uint8Array[] = [];
  for (let at = VENDOR_OCTETS; at < value.length;) {
    const size = value[at + 1] ?? 0;
    if (value[at] === 0 || size < 2 || at + size > value.length) return [value];
    parts.push(Uint8Array.of(...vendor, ...value.subarray(at, at + size)));
    at += size;
  }
  return parts;
}

function isHiding(secret: SharedSecret | null): boolean {
  return secret !== null && !secret.isClear;
}

function hidingOf({ type, value }: ClearAttribute): Hiding | null {
  if (type === USER_PASSWORD) return "password";
  if (type === TUNNEL_PASSWORD) return "tagged_salted";
  if (type !== VENDOR_SPECIFIC || value.length < VENDOR_HEAD_OCTETS) return null;
  const known = HIDDEN_VENDOR_ATTRIBUTES.get(`${readInteger(value)}.${value[VENDOR_OCTETS]}`);
  return known !== undefined && value[VENDOR_OCTETS + 1] === value.length - VENDOR_OCTETS ? known : null;
}

/** Whether a secret hides the value outside RADIUS/1.1. */
export function isHidden(attribute: ClearAttribute): boolean {
  return hidingOf(attribute) !== null;
}

/** The octets in front of what is hidden: the vendor's head and the tag. */
function headOctets(type: number, hiding: Hiding): number {
  return (type === VENDOR_SPECIFIC ? VENDOR_HEAD_OCTETS : 0) + (hiding === "tagged_salted" ? 1 : 0);
}

function reveal(attribute: ClearAttribute, { secret, authenticator }: HidingKey): ClearAttribute | null {
  const { type, value } = attribute;
  const hiding = isHiding(secret) ? hidingOf(attribute) : null;
  if (secret === null || hiding === null) return { type, value: value.slice() };
  const head = headOctets(type, hiding);
  if (value.length < head) return null;
  const hidden = value.subarray(head);
  const plain = hiding !== "password"
    ? secret.revealSalted(hidden, authenticator)
    : type === USER_PASSWORD
    ? secret.revealPassword(hidden, authenticator)
    : revealKeys(hidden, { secret, authenticator });
  return plain === null ? null : { type, value: joined(attribute, head, plain) };
}

/** MS-CHAP-MPPE-Keys may end with zero octets that are not padding. */
function revealKeys(
  hidden: Uint8Array,
  { secret, authenticator }: { secret: SharedSecret; authenticator: Uint8Array },
): Uint8Array | null {
  const revealed = hidden.length === 32 ? secret.revealPassword(hidden, authenticator) : null;
  if (revealed === null) return null;
  const keys = new Uint8Array(CHAP_MPPE_KEYS_OCTETS);
  keys.set(revealed.subarray(0, CHAP_MPPE_KEYS_OCTETS));
  return keys;
}

function hide(
  attribute: ClearAttribute,
  hiding: Hiding,
  { secret, authenticator, salts }: HidingKey & { readonly salts: Salts },
): Uint8Array {
  const head = headOctets(attribute.type, hiding);
  if (secret === null || attribute.value.length < head) return attribute.value;
  const plain = attribute.value.subarray(head);
  const hidden = hiding === "password"
    ? secret.hidePassword(plain, authenticator)
    : secret.hideSalted(plain, { authenticator, salt: salts.next() });
  return joined(attribute, head, hidden);
}

/** The head and other octets after it, with the length of a vendor's attribute. */
function joined({ type, value }: ClearAttribute, head: number, rest: Uint8Array): Uint8Array {
  const whole = new Uint8Array(head + rest.length);
  whole.set(value.subarray(0, head));
  whole.set(rest, head);
  if (type === VENDOR_SPECIFIC) whole[VENDOR_OCTETS + 1] = whole.length - VENDOR_OCTETS;
  return whole;
}

/** The salts of one packet: the highest bit is set, and no two are equal (RFC 2548 §2.4.2). */
class Salts {
  #next: number;

  constructor(random: SaltSource) {
    const [high = 0, low = 0] = random.bytes(2);
    this.#next = (high << 8) | low;
  }

  next(): Uint8Array {
    const salt = 0x8000 | (this.#next++ & 0x7fff);
    return Uint8Array.of(salt >>> 8, salt & 0xff);
  }
}

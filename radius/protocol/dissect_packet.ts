// Packets for display: copies a packet without passwords, tokens and octets that depend on a secret, and lists its fields and attributes as rows.

import {
  AUTHENTICATOR_AT,
  AUTHENTICATOR_OCTETS,
  HEADER_OCTETS,
  MAX_PACKET_OCTETS,
  PACKET_CODES,
  packetName,
} from "./packet.ts";
import { isHidden } from "./clear_attributes.ts";
import {
  attributeByType,
  RADIUS_ATTRIBUTES,
  type RadiusAttributeRow,
  typeOf,
  type ValueKind,
} from "./dictionary.ts";
import { decodeText, readInteger } from "./attributes.ts";
import { EAP_CODES, eapTypeName } from "./eap.ts";
import { stepByName } from "./steps.ts";
import { shownVendorAttribute, vendorName } from "./vendor_dictionary.ts";
import { integerValueName } from "./integer_values.ts";

/** Where an attribute of an Access-Accept comes from. */
export type ReplySource = "first_factor" | "default" | "group" | "directory" | "user" | "policy";

/** One field or attribute. `at` and `lengthOctets` include the attribute's type and length. */
export interface PacketRow {
  /** `null` for a field of the header. */
  readonly type: number | null;
  readonly name: string;
  readonly value: string;
  readonly kind: ValueKind;
  readonly at: number;
  readonly lengthOctets: number;
  /** Octets of the value are zeroed. */
  readonly masked: boolean;
  readonly from?: ReplySource;
}

const text = new TextDecoder();
const STATE = typeOf("State");
const EAP_MESSAGE = typeOf("EAP-Message");
const VENDOR_SPECIFIC = typeOf("Vendor-Specific");
const MAX_ROWS = 256;
/** The gateway adds them to a reply itself. */
const WITHOUT_SOURCE: ReadonlySet<number> = new Set([
  typeOf("EAP-Message"),
  typeOf("Message-Authenticator"),
  typeOf("Proxy-State"),
]);

/**
 * The rows of a packet that {@link copyRedacted} wrote. Never throws.
 *
 * @param sources of the attributes of an Access-Accept, in order
 */
export function dissectPacket(octets: Uint8Array, sources: readonly ReplySource[] = []): PacketRow[] {
  const rows = headerRows(octets);
  let next = 0;
  for (let at = HEADER_OCTETS; at + 2 <= octets.length && rows.length < MAX_ROWS;) {
    const lengthOctets = octets[at + 1] as number;
    if (lengthOctets < 2 || at + lengthOctets > octets.length) break;
    const from = WITHOUT_SOURCE.has(octets[at] as number) ? undefined : sources[next++];
    const shown = attributeRows(octets, at, lengthOctets);
    rows.push(...from === undefined ? shown : shown.map((row) => ({ ...row, from })));
    at += lengthOctets;
  }
  return rows;
}

function headerRows(octets: Uint8Array): PacketRow[] {
  const field = (name: string, at: number, lengthOctets: number, value: string, masked = false) =>
    at + lengthOctets <= octets.length
      ? [{ type: null, name, value, kind: "octets", at, lengthOctets, masked } as const]
      : [];
  const code = octets[0] ?? 0;
  const authenticator = octets.subarray(4, 4 + AUTHENTICATOR_OCTETS);
  const masked = authenticator.every((octet) => octet === 0);
  return [
    ...field("Code", 0, 1, `${code} (${packetName(code) ?? "unknown"})`),
    ...field("Identifier", 1, 1, String(octets[1] ?? 0)),
    ...field("Length", 2, 2, String(((octets[2] ?? 0) << 8) | (octets[3] ?? 0))),
    ...field("Authenticator", 4, AUTHENTICATOR_OCTETS, masked ? "" : `0x${authenticator.toHex()}`, masked),
  ];
}

/** One row; for vendor attributes one for each of them. */
function attributeRows(octets: Uint8Array, at: number, lengthOctets: number): readonly PacketRow[] {
  const type = octets[at] as number;
  const value = octets.subarray(at + 2, at + lengthOctets);
  const start = maskedFrom(octets, at);
  const place = { type, at, lengthOctets };
  if (start >= 0) {
    const shown = type === STATE
      ? text.decode(value.subarray(0, start - at - 2))
      : type === EAP_MESSAGE && start > at + 2
      ? eapText(value)
      : "";
    return [{ ...place, name: maskedNameOf(type, value), value: shown, kind: "octets", masked: true }];
  }
  // A State without a masked part is the name of a step.
  if (type === STATE) {
    return [{ ...place, name: "State", value: text.decode(value), kind: "octets", masked: false }];
  }
  const vendorRows = type === VENDOR_SPECIFIC ? vendorRowsOf(value, at) : [];
  if (vendorRows.length > 0) return vendorRows;
  const known = attributeByType(type);
  const shown = known === null
    ? plainValueText("octets", value)
    : attributeValueText(known.name, known.row, value);
  return [{ ...place, name: nameOf(type), value: shown, kind: known?.row.kind ?? "octets", masked: false }];
}

function nameOf(type: number): string {
  return attributeByType(type)?.name ?? `Attribute ${type}`;
}

/** The values of Microsoft's attributes are masked, but not who defined them. */
function maskedNameOf(type: number, value: Uint8Array): string {
  if (type !== VENDOR_SPECIFIC || value.length < VENDOR_HEADER_OCTETS) return nameOf(type);
  return `${nameOf(type)} (${vendorName(readInteger(value))})`;
}

/** RFC 2865 §5.26: the vendor's number, then attributes of the vendor, each with its type and length. */
const VENDOR_HEADER_OCTETS = 4;

/** The attributes inside, each with its octets; none if they do not have the form that the RFC recommends. */
function vendorRowsOf(value: Uint8Array, at: number): PacketRow[] {
  if (value.length < VENDOR_HEADER_OCTETS + 2) return [];
  const vendor = readInteger(value);
  const rows: PacketRow[] = [];
  for (let from = VENDOR_HEADER_OCTETS; from < value.length;) {
    const size = value[from + 1] ?? 0;
    if (size < 2 || from + size > value.length) return [];
    const begin = rows.length === 0 ? 0 : from + 2;
    const end = from + size + 2;
    rows.push({
      ...vendorValue(vendor, value[from] as number, value.subarray(from + 2, from + size)),
      ...{ type: VENDOR_SPECIFIC, at: at + begin, lengthOctets: end - begin, masked: false },
    });
    from += size;
  }
  return rows;
}

function vendorValue(
  vendor: number,
  type: number,
  value: Uint8Array,
): Pick<PacketRow, "name" | "value" | "kind"> {
  const known = shownVendorAttribute(vendor, type);
  const kind = known?.row.kind ?? "octets";
  const named = kind === "integer" && value.length === 4
    ? known?.row.values?.[readInteger(value)]
    : undefined;
  return {
    name: known?.name ?? `${vendorName(vendor)}, type ${type}`,
    value: withNote(plainValueText(kind, value), named ?? null),
    kind,
  };
}

/** The masked part of a value, by attribute type. */
const WHOLE = 1;
const AFTER_STEP_NAME = 2;
const IF_VENDOR_SECRET = 3;
const AFTER_EAP_TYPE = 4;
const MASKS = new Uint8Array(256);
for (const row of Object.values(RADIUS_ATTRIBUTES)) if ("secret" in row) MASKS[row.type] = WHOLE;
MASKS[typeOf("State")] = AFTER_STEP_NAME;
MASKS[EAP_MESSAGE] = AFTER_EAP_TYPE;
MASKS[typeOf("Vendor-Specific")] = IF_VENDOR_SECRET;
// Computed with the shared secret over visible octets: it would allow offline guesses of the secret.
MASKS[typeOf("Message-Authenticator")] = WHOLE;

/** Codes whose Authenticator is random; all others depend on the shared secret (RFC 2865 §3, RFC 2866 §3). */
const RANDOM_AUTHENTICATORS: ReadonlySet<number> = new Set([
  PACKET_CODES["Access-Request"].code,
  PACKET_CODES["Status-Server"].code,
]);
const DOT = 0x2e;

/**
 * Copies the packet at the front of `octets` to `target` at `at`, with secrets zeroed. Octets after the last valid attribute are left out.
 *
 * @returns the number of octets written, at most 4096. `target` needs room for them.
 */
export function copyRedacted(octets: Uint8Array, target: Uint8Array, at: number): number {
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

/** The start of the masked part of the attribute at `from`, or -1 if no part is masked. */
function maskedFrom(octets: Uint8Array, from: number, mask = maskOf(octets[from] as number)): number {
  const size = octets[from + 1] as number;
  if (mask === WHOLE) return from + 2;
  if (mask === IF_VENDOR_SECRET) {
    if (isOfMicrosoft(octets, from, size)) return from + 6;
    // A secret hides values of other vendors, too, but not in RADIUS/1.1.
    return isHidden({ type: VENDOR_SPECIFIC, value: octets.subarray(from + 2, from + size) }) ? from + 8 : -1;
  }
  if (mask === AFTER_STEP_NAME) return stateMaskedFrom(octets, from, size);
  if (mask === AFTER_EAP_TYPE) return from + 2 + (isEapHead(octets, from, size) ? EAP_HEAD_OCTETS : 0);
  return -1;
}

function maskOf(type: number): number {
  return MASKS[type] as number;
}

/** Code, Identifier, Length, and the Type of a Request or a Response (RFC 3748 §4). */
const EAP_HEAD_OCTETS = 5;

/** Whether the value begins an EAP packet: the following EAP-Message attributes have no head. */
function isEapHead(octets: Uint8Array, from: number, size: number): boolean {
  const code = octets[from + 2] as number;
  const length = ((octets[from + 4] as number) << 8) | (octets[from + 5] as number);
  return size - 2 >= EAP_HEAD_OCTETS && code >= EAP_CODES.request && code <= EAP_CODES.response &&
    length >= size - 2;
}

/** The head of a Request or a Response. */
function eapText([code = 0, identifier = 0, , , type = 0]: Uint8Array): string {
  return `${code === EAP_CODES.request ? "Request" : "Response"} ${identifier}, ${eapTypeName(type)}`;
}

/** The length up to which header and attributes are valid: octets after it could be part of a password. */
function soundLength(octets: Uint8Array): number {
  if (octets.length < HEADER_OCTETS) return Math.min(octets.length, AUTHENTICATOR_AT);
  const given = ((octets[2] as number) << 8) | (octets[3] as number);
  const end = Math.min(given < HEADER_OCTETS ? HEADER_OCTETS : given, octets.length, MAX_PACKET_OCTETS);
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

/** The name of the step is public. The token after it is secret, and so is a State of another server. */
function stateMaskedFrom(octets: Uint8Array, from: number, size: number): number {
  const value = octets.subarray(from + 2, from + size);
  const dot = value.indexOf(DOT);
  const name = decodeText(dot < 0 ? value : value.subarray(0, dot));
  if (stepByName(name) === null) return from + 2;
  return dot < 0 ? -1 : from + 2 + dot + 1;
}

export const CAPTURE_LIMITS = {
  ringOctets: 8 * 1024 * 1024,
  maxConversations: 2000,
  maxEach: 64,
  maxStrays: 500,
  maxPerSecond: 4000,
} as const;

// Attribute values as text for the packet view: numbers with their names, addresses, prefixes, times and durations.

const INTEGER_OCTETS = 4;
/** RFC 2868 §3: a higher first octet of a text is not a tag, but part of the text. */
const MAX_TAG = 0x1f;

/** The value of a standard attribute: `5 (Virtual)`, `10.0.0.7`, `3600 (1 h)`, `13 (VLAN), tag 1`. */
function attributeValueText(name: string, row: RadiusAttributeRow, value: Uint8Array): string {
  if (row.tagged === true) return taggedText(name, row, value);
  const shown = plainValueText(row.kind, value);
  if (row.kind === "integer" && value.length === INTEGER_OCTETS) {
    const integer = readInteger(value);
    return withNote(shown, row.isSeconds === true ? spanNote(integer) : integerValueName(name, integer));
  }
  return shown;
}

/** The value without its meaning; octets in the form `0x…` where the value does not have the form of its kind. */
function plainValueText(kind: ValueKind, value: Uint8Array): string {
  if (kind === "integer" && value.length === INTEGER_OCTETS) return String(readInteger(value));
  if (kind === "ipv4" && value.length === 4) return value.join(".");
  if (kind === "ipv6" && value.length === 16) return ipv6Text(value);
  if (kind === "text") return decodeText(value);
  if (kind === "time" && value.length === INTEGER_OCTETS) return timeText(readInteger(value));
  if (kind === "integer64" && value.length === 8) return BigInt(`0x${value.toHex()}`).toString();
  if (kind === "interface" && value.length === 8) return groupsOf(value).join(":");
  if (kind === "ipv6prefix" || kind === "ipv4prefix") {
    return prefixText(value, kind === "ipv6prefix" ? 16 : 4) ?? `0x${value.toHex()}`;
  }
  return `0x${value.toHex()}`;
}

/** `5 (Virtual)`; without a note, only the value. */
function withNote(value: string, note: string | null): string {
  return note === null ? value : `${value} (${note})`;
}

/** `1700000000 (2023-11-14 22:13:20 UTC)`. */
function timeText(seconds: number): string {
  return withNote(
    String(seconds),
    `${new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`,
  );
}

const UNITS = [["d", 86_400], ["h", 3600], ["min", 60]] as const;

/** `3600` seconds are "1 h"; `null` where no larger unit fits without a rest. */
function spanNote(seconds: number): string | null {
  const unit = UNITS.find(([, size]) => seconds > 0 && seconds % size === 0);
  return unit === undefined ? null : `${seconds / unit[1]} ${unit[0]}`;
}

/** RFC 2868 §3.1: an integer has a tag and three octets. §3.3: a tag of 0 means that the attribute has none. */
function taggedText(name: string, { kind }: RadiusAttributeRow, value: Uint8Array): string {
  const tag = value[0] ?? 0;
  if (kind === "integer" && value.length === INTEGER_OCTETS) {
    const number = readInteger(value) & 0xffffff;
    return withTag(withNote(String(number), integerValueName(name, number)), tag);
  }
  if (kind === "text" && value.length > 0 && tag <= MAX_TAG) {
    return withTag(decodeText(value.subarray(1)), tag);
  }
  return plainValueText(kind, value);
}

function withTag(value: string, tag: number): string {
  return tag === 0 ? value : `${value}, tag ${tag}`;
}

/**
 * RFC 3162 §2.3, RFC 8044 §3.11: a reserved octet, the length in bits, and up to `most` octets of the prefix. Zero octets at its end may be left out.
 * `null` for a value of another form.
 */
function prefixText(value: Uint8Array, most: 4 | 16): string | null {
  const bits = value[1] ?? 255;
  if (value.length < 2 || value.length > 2 + most || bits > 8 * most) return null;
  const whole = new Uint8Array(most);
  whole.set(value.subarray(2));
  return `${most === 16 ? ipv6Text(whole) : whole.join(".")}/${bits}`;
}

/** RFC 5952 §4: the longest run of two or more zero groups becomes `::`, the first one of several. */
function ipv6Text(value: Uint8Array): string {
  const text = groupsOf(value).join(":");
  const runs = text.match(/\b0(?::0)+\b/g) ?? [];
  const longest = runs.reduce((best, run) => run.length > best.length ? run : best, "");
  return longest === "" ? text : text.replace(new RegExp(`(^|:)${longest}(:|$)`), "::");
}

function groupsOf(value: Uint8Array): string[] {
  return Array.from(
    { length: value.length / 2 },
    (_, at) => value.subarray(2 * at, 2 * at + 2).toHex().replace(/^0{1,3}/, ""),
  );
}

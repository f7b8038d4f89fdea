// A masked packet as rows for people: the header's fields and each attribute, with where its octets stand.

import { AUTHENTICATOR_OCTETS, HEADER_OCTETS, packetName } from "./codes.ts";
import {
  attributeByType,
  INTEGER_NAMES,
  typeOf,
  type ValueKind,
  vendorAttributeByType,
} from "./dictionary.ts";
import { readInteger } from "./attributes.ts";
import { maskedFrom } from "./redact_packet.ts";

/** One field or attribute. `at` and `lengthOctets` are of the whole of it, its type and length included. */
export interface PacketRow {
  /** `null` for a field of the header. */
  readonly type: number | null;
  readonly name: string;
  readonly value: string;
  readonly kind: ValueKind;
  readonly at: number;
  readonly lengthOctets: number;
  /** Octets of it are zeroed, so their value is unknown. */
  readonly masked: boolean;
}

const text = new TextDecoder();
const STATE = typeOf("State");
const VENDOR_SPECIFIC = typeOf("Vendor-Specific");
/** More attributes than that are not listed. */
const MOST_ROWS = 256;

/** The rows of a packet that `copyMasked` wrote. Never throws, whatever the octets. */
export function packetRows(octets: Uint8Array): PacketRow[] {
  const rows = headerRows(octets);
  for (let at = HEADER_OCTETS; at + 2 <= octets.length && rows.length < MOST_ROWS;) {
    const lengthOctets = octets[at + 1] as number;
    if (lengthOctets < 2 || at + lengthOctets > octets.length) break;
    rows.push(attributeRow(octets, at, lengthOctets));
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
    ...field("Code", 0, 1, `${code} ${packetName(code) ?? "unknown"}`),
    ...field("Identifier", 1, 1, String(octets[1] ?? 0)),
    ...field("Length", 2, 2, String(((octets[2] ?? 0) << 8) | (octets[3] ?? 0))),
    ...field("Authenticator", 4, AUTHENTICATOR_OCTETS, masked ? "" : `0x${authenticator.toHex()}`, masked),
  ];
}

function attributeRow(octets: Uint8Array, at: number, lengthOctets: number): PacketRow {
  const type = octets[at] as number;
  const value = octets.subarray(at + 2, at + lengthOctets);
  const start = maskedFrom(octets, at);
  const place = { type, at, lengthOctets };
  if (start >= 0) {
    const shown = text.decode(value.subarray(0, start - at - 2));
    return { ...place, name: nameOf(type), value: shown, kind: "octets", masked: true };
  }
  // What is not masked of a State is the name of a step.
  if (type === STATE) {
    return { ...place, name: "State", value: text.decode(value), kind: "octets", masked: false };
  }
  if (type === VENDOR_SPECIFIC && value.length >= 6) {
    const vendor = vendorRow(value);
    if (vendor !== null) return { ...place, ...vendor, masked: false };
  }
  const known = attributeByType(type);
  const kind = known?.row.kind ?? "octets";
  const named = kind === "integer" && known !== null ? integerName(known.name, value) : "";
  return { ...place, name: nameOf(type), value: valueText(kind, value) + named, kind, masked: false };
}

function nameOf(type: number): string {
  return attributeByType(type)?.name ?? `Attribute ${type}`;
}

/** RFC 2865 §5.26: a single attribute inside; anything else is shown as octets. */
function vendorRow(value: Uint8Array): Pick<PacketRow, "name" | "value" | "kind"> | null {
  const vendor = readInteger(value);
  const type = value[4] as number;
  if ((value[5] as number) !== value.length - 4) return null;
  const known = vendorAttributeByType(vendor, type);
  const inner = value.subarray(6);
  const kind = known?.row.kind ?? "octets";
  return { name: known?.name ?? `Vendor ${vendor}, type ${type}`, value: valueText(kind, inner), kind };
}

function integerName(attribute: string, value: Uint8Array): string {
  if (value.length !== 4) return "";
  const number = readInteger(value);
  const found = Object.entries(INTEGER_NAMES[attribute] ?? {}).find(([, one]) => one === number);
  return found === undefined ? "" : ` ${found[0]}`;
}

function valueText(kind: ValueKind, value: Uint8Array): string {
  if (kind === "integer" && value.length === 4) return String(readInteger(value));
  if (kind === "ipv4" && value.length === 4) return value.join(".");
  if (kind === "ipv6" && value.length === 16) return ipv6Text(value);
  if (kind === "text") return text.decode(value);
  return `0x${value.toHex()}`;
}

function ipv6Text(value: Uint8Array): string {
  const groups = Array.from({ length: 8 }, (_, i) => value.subarray(2 * i, 2 * i + 2).toHex());
  return groups.map((group) => group.replace(/^0{1,3}/, "")).join(":");
}

// Attribute values as text for the packet view: numbers with their names, addresses, prefixes, times and durations.

import { decodeText, readInteger } from "./attributes.ts";
import type { RadiusAttributeRow, ValueKind } from "./dictionary.ts";
import { integerValueName } from "./integer_values.ts";

const INTEGER_OCTETS = 4;
/** RFC 2868 §3: a higher first octet of a text is not a tag, but part of the text. */
const MAX_TAG = 0x1f;

/** The value of a standard attribute: `5 (Virtual)`, `10.0.0.7`, `3600 (1 h)`, `13 (VLAN), tag 1`. */
export function attributeValueText(name: string, row: RadiusAttributeRow, value: Uint8Array): string {
  if (row.tagged === true) return taggedText(name, row, value);
  const shown = plainValueText(row.kind, value);
  if (row.kind === "integer" && value.length === INTEGER_OCTETS) {
    const integer = readInteger(value);
    return withNote(shown, row.isSeconds === true ? spanNote(integer) : integerValueName(name, integer));
  }
  return shown;
}

/** The value without its meaning; octets in the form `0x…` where the value does not have the form of its kind. */
export function plainValueText(kind: ValueKind, value: Uint8Array): string {
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
export function withNote(value: string, note: string | null): string {
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

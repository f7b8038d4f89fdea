// Attribute values as text for the packet view: numbers with their names, addresses, prefixes, times and durations.

import { decodeText, readInteger } from "./attributes.ts";
import type { RadiusAttributeRow, ValueKind, ValueMeaning } from "./dictionary.ts";
import { integerValueName } from "./integer_values.ts";

const INTEGER_OCTETS = 4;
/** RFC 2868 §3: a higher first octet of a text is not a tag, but part of the text. */
const MAX_TAG = 0x1f;

/** The value of a standard attribute: `5 (Virtual)`, `10.0.0.7`, `3600 (1 h)`, `13 (VLAN), tag 1`. */
export function attributeValueText(name: string, row: RadiusAttributeRow, value: Uint8Array): string {
  if (row.tagged === true) return taggedText(name, row, value);
  const shown = plainValueText(row.kind, value);
  if (row.kind === "integer" && value.length === INTEGER_OCTETS) {
    return withNote(shown, integerNote(name, row.meaning, readInteger(value)));
  }
  return (row.meaning === undefined ? null : octetsMeaning(row.meaning, value)) ?? shown;
}

/** The value without its meaning; octets in the form `0x…` where the value does not have the form of its kind. */
export function plainValueText(kind: ValueKind, value: Uint8Array): string {
  if (kind === "integer" && value.length === INTEGER_OCTETS) return String(readInteger(value));
  if (kind === "ipv4" && value.length === 4) return value.join(".");
  if (kind === "ipv6" && value.length === 16) return ipv6Text(value);
  if (kind === "text") return decodeText(value);
  return `0x${value.toHex()}`;
}

/** `5 (Virtual)`; without a note, only the value. */
export function withNote(value: string, note: string | null): string {
  return note === null ? value : `${value} (${note})`;
}

function integerNote(name: string, meaning: ValueMeaning | undefined, value: number): string | null {
  if (meaning === "seconds") return spanNote(value);
  if (meaning === "time") {
    return `${new Date(value * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;
  }
  return integerValueName(name, value);
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

/** `null` for a value that does not have the form of its attribute. */
function octetsMeaning(meaning: ValueMeaning, value: Uint8Array): string | null {
  if (meaning === "prefix") return prefixText(value);
  if (meaning !== "interface" || value.length !== 8) return null;
  return groupsOf(value).join(":");
}

/** RFC 3162 §2.3: a reserved octet, the length in bits, and up to 16 octets of the prefix. */
function prefixText(value: Uint8Array): string | null {
  const bits = value[1] ?? 255;
  if (value.length < 2 || value.length > 18 || bits > 128 || value.length - 2 < Math.ceil(bits / 8)) {
    return null;
  }
  const whole = new Uint8Array(16);
  whole.set(value.subarray(2));
  return `${ipv6Text(whole)}/${bits}`;
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

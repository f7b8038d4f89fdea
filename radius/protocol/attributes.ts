// Attribute values: encodes those of the settings, describes received ones for the log, and decodes text.

import { forEachAttribute, MAX_VALUE_OCTETS } from "./packet.ts";
import {
  attributeByName,
  attributeByType,
  typeOf,
  type ValueKind,
  vendorAttributeByName,
  vendorAttributeByType,
} from "./dictionary.ts";
import { integerValuesOf } from "./integer_values.ts";
import { stepByName } from "./steps.ts";

type Encoded = { ok: true; value: Uint8Array<ArrayBuffer> } | { ok: false; problem: string };

const utf8 = new TextEncoder();
const VENDOR_SPECIFIC = typeOf("Vendor-Specific");
const STATE = typeOf("State");

/** Four octets, network order. */
export function encodeInteger(value: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);
}

/** The four octets of a dotted address, or `null`. */
export function parseIpv4(address: string): Uint8Array<ArrayBuffer> | null {
  const parts = address.split(".");
  if (parts.length !== 4) return null;
  const octets = new Uint8Array(4);
  for (const [i, part] of parts.entries()) {
    const value = /^\d{1,3}$/.test(part) ? Number(part) : 256;
    if (value > 255) return null;
    octets[i] = value;
  }
  return octets;
}

/** The sixteen octets of an IPv6 address (RFC 4291 §2.2), or `null`. Zones are not accepted. */
export function parseIpv6(address: string): Uint8Array<ArrayBuffer> | null {
  let source = address;
  const lastColon = source.lastIndexOf(":");
  if (source.includes(".") && lastColon >= 0) {
    const tail = parseIpv4(source.slice(lastColon + 1));
    if (tail === null) return null;
    source = `${source.slice(0, lastColon + 1)}${tail.subarray(0, 2).toHex()}:${tail.subarray(2).toHex()}`;
  }
  const halves = source.split("::");
  if (halves.length > 2) return null;
  const words = (half: string) => half === "" ? [] : half.split(":");
  const head = words(halves[0] ?? "");
  const tail = words(halves[1] ?? "");
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
  const all = [...head, ...Array<string>(halves.length === 2 ? missing : 0).fill("0"), ...tail];
  const octets = new Uint8Array(16);
  for (const [i, word] of all.entries()) {
    if (!/^[0-9a-fA-F]{1,4}$/.test(word)) return null;
    const value = Number.parseInt(word, 16);
    octets[2 * i] = value >>> 8;
    octets[2 * i + 1] = value;
  }
  return octets;
}

/** A list of settings may have this many values. */
const MAX_REPLY_VALUES = 64;

/**
 * Encodes one setting of `[radius.reply.…]` as whole attributes, one for each value of a list.
 *
 * @param name an RFC name, `Name:tag` for a tagged one (RFC 2868), a vendor's name, `26.<vendor>.<type>`, or the numbers of an extended attribute
 *   (RFC 6929): `241.<type>` or `241.26.<vendor>.<type>`.
 * @param value text or a number, or a list of them; `0x…` is octets. A number of an attribute that is given by numbers is an integer of four octets.
 */
export function encodeReplyAttribute(
  name: string,
  value: string | number | readonly (string | number)[],
): Encoded {
  if (typeof value === "string" || typeof value === "number") return encodeOne(name, value);
  if (value.length === 0 || value.length > MAX_REPLY_VALUES) {
    return { ok: false, problem: `a list has 1 to ${MAX_REPLY_VALUES} values` };
  }
  if (value.length > 1 && !isRepeatable(name)) {
    return { ok: false, problem: "an Access-Accept has at most one of it, so it cannot have a list" };
  }
  const encoded = value.map((one) => encodeOne(name, one));
  const refused = encoded.find((one) => !one.ok);
  if (refused !== undefined) return refused;
  return { ok: true, value: Uint8Array.from(encoded.flatMap((one) => one.ok ? [...one.value] : [])) };
}

/** The problem of the first setting that cannot be encoded; `null`: none. */
export function attributeSetProblem(
  attributes: Readonly<Record<string, Parameters<typeof encodeReplyAttribute>[1]>>,
): string | null {
  for (const [name, value] of Object.entries(attributes)) {
    const encoded = encodeReplyAttribute(name, value);
    if (!encoded.ok) return `${name}: ${encoded.problem}`;
  }
  return null;
}

/** The octets of all settings. Those that cannot be encoded count as 0, because they have a problem of their own. */
export function attributeSetOctets(attributes: Parameters<typeof attributeSetProblem>[0]): number {
  return Object.entries(attributes).reduce((sum, [name, value]) => {
    const encoded = encodeReplyAttribute(name, value);
    return encoded.ok ? sum + encoded.value.length : sum;
  }, 0);
}

/** Whether an Access-Accept may have several attributes with this name; vendor and extended attributes may always be repeated. */
export function isRepeatable(name: string): boolean {
  return vendorOf(name) !== null || extendedOf(name) !== null ||
    attributeByName(splitTag(name)[0])?.isRepeatable === true;
}

function encodeOne(name: string, value: string | number): Encoded {
  const vendor = vendorOf(name);
  if (vendor !== null) {
    const body = encodeValue(kindOf(vendor.kind, value), value, vendor.name);
    if (!body.ok) return body;
    if (body.value.length > MAX_VALUE_OCTETS - 6) return tooLong(body.value.length, MAX_VALUE_OCTETS - 6);
    const inner = Uint8Array.of(
      ...encodeInteger(vendor.vendor),
      vendor.type,
      body.value.length + 2,
      ...body.value,
    );
    return { ok: true, value: Uint8Array.of(VENDOR_SPECIFIC, inner.length + 2, ...inner) };
  }
  const extended = extendedOf(name);
  if (extended !== null) {
    const body = encodeValue(kindOf(null, value), value, name);
    return body.ok ? encodeExtended(extended, body.value) : body;
  }
  const [typed = "", tagText] = splitTag(name);
  const row = attributeByName(typed);
  if (row === null) {
    return {
      ok: false,
      problem:
        `"${typed}" is not in the dictionary; write a vendor attribute as "26.<vendor>.<type>", with a type of 1 to 255, and an extended one as "241.<type>" to "246.<type>"`,
    };
  }
  const base = attributeByType(row.type)?.name ?? typed;
  if (row.inAccept !== true) {
    return { ok: false, problem: `${base} cannot be configured for an Access-Accept` };
  }
  const body = encodeValue(row.kind, value, base);
  if (!body.ok) return body;
  const tagged = withTag(body.value, { tagged: row.tagged === true, kind: row.kind, tagText, name: base });
  if (!tagged.ok) return tagged;
  if (tagged.value.length > MAX_VALUE_OCTETS) return tooLong(tagged.value.length, MAX_VALUE_OCTETS);
  return { ok: true, value: Uint8Array.of(row.type, tagged.value.length + 2, ...tagged.value) };
}

function tooLong(length: number, max: number): Encoded {
  return { ok: false, problem: `it has ${length} octets; the maximum is ${max}` };
}

function splitTag(name: string): [string, string | undefined] {
  const colon = name.indexOf(":");
  return colon < 0 ? [name, undefined] : [name.slice(0, colon), name.slice(colon + 1)];
}

interface NumberedVendor {
  readonly name: string;
  readonly vendor: number;
  readonly type: number;
  /** `null`: it is not in the dictionary. */
  readonly kind: ValueKind | null;
}

/** An attribute that is not in the dictionary has the form of its setting: a number is an integer, anything else a text or octets. */
function kindOf(kind: NumberedVendor["kind"], value: string | number): ValueKind {
  return kind ?? (typeof value === "number" ? "integer" : "text");
}

function vendorOf(name: string): NumberedVendor | null {
  const byName = vendorAttributeByName(name);
  if (byName !== null) {
    return { ...byName, name: vendorAttributeByType(byName.vendor, byName.type)?.name ?? name };
  }
  const byNumber = /^26\.(\d{1,8})\.(\d{1,3})$/.exec(name);
  if (byNumber === null) return null;
  const vendor = Number(byNumber[1]);
  const type = Number(byNumber[2]);
  return vendor > 0 && vendor <= 0xffffff && type > 0 && type <= 255
    ? { name, vendor, type, kind: null }
    : null;
}

/** The numbers after the type of an attribute of RFC 6929, as octets. */
interface ExtendedType {
  readonly type: number;
  readonly inner: readonly number[];
  /** RFC 6929 §2.2: 245 and 246 have an octet of flags, and may be split into several attributes. */
  readonly isLong: boolean;
}

function extendedOf(name: string): ExtendedType | null {
  const parts = /^(24[1-6])\.(\d{1,3})(?:\.(\d{1,8})\.(\d{1,3}))?$/.exec(name);
  if (parts === null) return null;
  const [type, first, vendor, vendorType] = parts.slice(1).map(Number) as [number, number, number, number];
  const isLong = type >= 245;
  if (parts[3] === undefined) {
    return first > 0 && first <= 255 && first !== 26 ? { type, inner: [first], isLong } : null;
  }
  // RFC 6929 §2.4: Extended-Vendor-Specific.
  const isVendor = first === 26 && vendor > 0 && vendor <= 0xffffff && vendorType > 0 && vendorType <= 255;
  return isVendor ? { type, inner: [26, ...encodeInteger(vendor), vendorType], isLong } : null;
}

const MORE_FLAG = 0x80;

function encodeExtended({ type, inner, isLong }: ExtendedType, value: Uint8Array): Encoded {
  const [extended = 0, ...vendor] = inner;
  const body = Uint8Array.of(...vendor, ...value);
  const room = MAX_VALUE_OCTETS - (isLong ? 2 : 1);
  if (!isLong && body.length > room) return tooLong(value.length, room - vendor.length);
  const parts: number[] = [];
  for (let at = 0; at < body.length; at += room) {
    const part = body.subarray(at, at + room);
    const flags = isLong ? [at + room < body.length ? MORE_FLAG : 0] : [];
    parts.push(type, part.length + 3 + flags.length, extended, ...flags, ...part);
  }
  return { ok: true, value: Uint8Array.from(parts) };
}

function withTag(
  value: Uint8Array<ArrayBuffer>,
  { tagged, kind, tagText, name }: {
    tagged: boolean;
    kind: ValueKind;
    tagText: string | undefined;
    name: string;
  },
): Encoded {
  if (tagText === undefined && !tagged) return { ok: true, value };
  if (!tagged) return { ok: false, problem: `${name} has no tag` };
  const tag = tagText === undefined ? 0 : Number(tagText);
  if (!Number.isInteger(tag) || tag < 0 || tag > 31) {
    return { ok: false, problem: `"${tagText}" is not a tag from 0 to 31` };
  }
  // RFC 2868 §3.1: the tag of an integer is the first of its four octets.
  if (kind === "integer") {
    if ((value[0] as number) !== 0) return { ok: false, problem: "a tagged integer has at most 24 bits" };
    return { ok: true, value: Uint8Array.of(tag, ...value.subarray(1)) };
  }
  return { ok: true, value: tagText === undefined ? value : Uint8Array.of(tag, ...value) };
}

function encodeValue(kind: ValueKind, value: string | number, name: string): Encoded {
  if (kind === "integer") return encodeNumber(value, name);
  if (kind !== "text" && kind !== "octets") {
    const { parse, form, octets: [least, most] } = STRUCTURES[kind];
    const hex = /^0x((?:[0-9a-fA-F]{2})+)$/.exec(String(value))?.[1] ?? "";
    const isHex = hex.length >= 2 * least && hex.length <= 2 * most;
    const octets = isHex ? Uint8Array.fromHex(hex) : parse(String(value));
    return octets === null
      ? { ok: false, problem: `"${value}" is not ${form}` }
      : { ok: true, value: octets };
  }
  if (typeof value === "number") return encodeValue(kind, String(value), name);
  if (/^0x(?:[0-9a-fA-F]{2})+$/.test(value)) return { ok: true, value: Uint8Array.fromHex(value.slice(2)) };
  const octets = utf8.encode(value);
  return octets.length === 0
    ? { ok: false, problem: "an attribute cannot be empty (RFC 2865 §5)" }
    : { ok: true, value: octets };
}

/** By the kind of a value that has a structure: its octets, or `null`; what it must be; and how many octets `0x…` may give. */
const STRUCTURES: Readonly<
  Record<
    Exclude<ValueKind, "integer" | "text" | "octets">,
    {
      readonly parse: (text: string) => Uint8Array<ArrayBuffer> | null;
      readonly form: string;
      readonly octets: readonly [least: number, most: number];
    }
  >
> = {
  ipv4: { parse: parseIpv4OrNumber, form: "an IPv4 address", octets: [4, 4] },
  ipv6: { parse: parseIpv6, form: "an IPv6 address", octets: [16, 16] },
  interface: {
    parse: parseInterfaceId,
    form: 'an interface id such as "0211:22ff:fe33:4455"',
    octets: [8, 8],
  },
  ipv6prefix: {
    parse: (text) => parsePrefix(text, { parse: parseIpv6, isShort: true }),
    form: 'an IPv6 prefix such as "2001:db8:1::/64" without bits after its length',
    octets: [2, 18],
  },
  ipv4prefix: {
    parse: (text) => parsePrefix(text, { parse: parseIpv4, isShort: false }),
    form: 'an IPv4 prefix such as "192.0.2.0/24" without bits after its length',
    octets: [6, 6],
  },
  integer64: { parse: parseInteger64, form: "a whole number from 0 to 18446744073709551615", octets: [8, 8] },
  time: {
    parse: parseTime,
    form: 'a time such as "2030-01-31T12:00:00Z", or seconds since 1970',
    octets: [4, 4],
  },
};

/** Active Directory stores an address as a signed number of 32 bits (msRADIUSFramedIPAddress). */
function parseIpv4OrNumber(text: string): Uint8Array<ArrayBuffer> | null {
  const address = parseIpv4(text);
  if (address !== null || !/^-?\d{1,10}$/.test(text)) return address;
  const number = Number(text);
  return number < -0x8000_0000 || number > 0xffff_ffff ? null : encodeInteger(number);
}

/** Eight octets as four groups (RFC 3162 §2.2). */
function parseInterfaceId(text: string): Uint8Array<ArrayBuffer> | null {
  const groups = text.split(":");
  if (groups.length !== 4 || groups.some((group) => !/^[0-9a-fA-F]{1,4}$/.test(group))) return null;
  return Uint8Array.fromHex(groups.map((group) => group.padStart(4, "0")).join(""));
}

/** RFC 3162 §2.3 and RFC 8044 §3.10, §3.11. @param options.isShort zero octets at the end of the prefix are left out */
function parsePrefix(
  text: string,
  { parse, isShort }: { parse: (address: string) => Uint8Array<ArrayBuffer> | null; isShort: boolean },
): Uint8Array<ArrayBuffer> | null {
  const [, address = "", length = ""] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  const octets = parse(address);
  const bits = Number(length);
  if (octets === null || length === "" || bits > octets.length * 8) return null;
  if (octets.some((octet, at) => (octet & (0xff >> Math.min(8, Math.max(0, bits - at * 8)))) !== 0)) {
    return null;
  }
  const end = isShort ? octets.findLastIndex((octet) => octet !== 0) + 1 : octets.length;
  return Uint8Array.of(0, bits, ...octets.subarray(0, end));
}

function parseInteger64(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^\d{1,20}$/.test(text) || BigInt(text) > 0xffff_ffff_ffff_ffffn) return null;
  return Uint8Array.fromHex(BigInt(text).toString(16).padStart(16, "0"));
}

/** RFC 8044 §3.3: seconds since 1970. */
function parseTime(text: string): Uint8Array<ArrayBuffer> | null {
  const isNumber = /^\d{1,10}$/.test(text);
  const isDate = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d))?$/.test(text);
  const seconds = isNumber ? Number(text) : isDate ? Math.floor(Date.parse(text) / 1000) : Number.NaN;
  return seconds >= 0 && seconds <= 0xffff_ffff ? encodeInteger(seconds) : null;
}

function encodeNumber(value: string | number, name: string): Encoded {
  const known = integerValuesOf(name);
  const number = typeof value === "number" ? value : known?.[value] ?? known?.[value.replace(/-User$/, "")] ??
    (/^\d{1,10}$/.test(value) ? Number(value) : Number.NaN);
  if (Number.isInteger(number) && number >= 0 && number <= 0xffffffff) {
    return { ok: true, value: encodeInteger(number) };
  }
  const names = known === undefined ? "" : `, or one of ${Object.keys(known).join(", ")}`;
  return { ok: false, problem: `"${value}" is not a whole number from 0 to 4294967295${names}` };
}

/** The maximum octets (of a text: characters) of a value in a log line. */
const SHOWN_OCTETS = 64;

/**
 * The attributes of a valid packet as `Name="value"` for a log line. Secrets are masked, and unknown types are listed separately.
 * The log escapes control characters.
 */
export function describeAttributes(
  octets: Uint8Array,
  lengthOctets: number,
): { shown: string; unknown: number[] } {
  const parts: string[] = [];
  const unknown: number[] = [];
  forEachAttribute(octets, lengthOctets, (type, at, valueOctets) => {
    const known = attributeByType(type);
    if (known === null) {
      if (unknown.length < 16) unknown.push(type);
      return;
    }
    if (parts.length >= 64) return;
    const value = octets.subarray(at, at + valueOctets);
    const shown = type === STATE
      ? describeState(value)
      : known.row.secret === true || (type === VENDOR_SPECIFIC && isOfMicrosoft(value))
      ? "***"
      : describeValue(known.row.kind, value);
    parts.push(`${known.name}=${shown}`);
  });
  return { shown: parts.join(" "), unknown };
}

/** RFC 2548 §2: vendor 311 carries MS-CHAP responses, from which a password can be guessed. */
function isOfMicrosoft(value: Uint8Array): boolean {
  return value.length >= 4 && readInteger(value) === 311;
}

/** The name of the step is public; the token after it is secret. */
function describeState(value: Uint8Array): string {
  const [name = "", token] = decodeText(value).split(".", 2);
  return stepByName(name) === null ? "***" : token === undefined ? name : `${name}.***`;
}

function describeValue(kind: ValueKind, value: Uint8Array): string {
  if ((kind === "integer" || kind === "time") && value.length === 4) return String(readInteger(value));
  if (kind === "ipv4" && value.length === 4) return value.join(".");
  if (kind === "text") return JSON.stringify(decodeText(value).slice(0, SHOWN_OCTETS));
  const more = value.length > SHOWN_OCTETS ? "…" : "";
  return `0x${value.subarray(0, SHOWN_OCTETS).toHex()}${more}`;
}

/** Reads four octets, network order. */
export function readInteger(octets: Uint8Array, at = 0): number {
  return (((octets[at] as number) << 24) | ((octets[at + 1] as number) << 16) |
    ((octets[at + 2] as number) << 8) | (octets[at + 3] as number)) >>> 0;
}

/** Keeps a byte order mark, so that two different names stay different. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });
/** Gives each octet its own character, so that different octets stay different. */
const windows1252 = new TextDecoder("windows-1252");
const encoder = new TextEncoder();

/**
 * Octets as text: UTF-8, otherwise Windows-1252, which clients send that do not know UTF-8. Short ASCII, the usual case, is faster here
 * than with the runtime's decoder.
 */
export function decodeText(octets: Uint8Array, at = 0, lengthOctets: number = octets.length - at): string {
  const end = at + lengthOctets;
  let all = lengthOctets > 64 ? 0xff : 0;
  for (let i = at; i < end && all < 0x80; i++) all |= octets[i] as number;
  if (all >= 0x80) return decodeLong(octets.subarray(at, end));
  let text = "";
  let i = at;
  // Each call with eight octets creates one text. Eight texts of one character would take twice the time.
  for (; i + 8 <= end; i += 8) text += eightOctetText(octets, i);
  for (; i < end; i++) text += ASCII[octets[i] as number];
  return text;
}

function decodeLong(octets: Uint8Array): string {
  return isUtf8(octets) ? decoder.decode(octets) : windows1252.decode(octets);
}

/** Whether octets are UTF-8. */
export function isUtf8(octets: Uint8Array): boolean {
  let all = 0;
  for (let i = 0; i < octets.length && all < 0x80; i++) all |= octets[i] as number;
  if (all < 0x80) return true;
  try {
    decoder.decode(octets);
    return true;
  } catch (_notUtf8) {
    return false;
  }
}

/**
 * The value of a text that a user typed: it ends at the first NUL (RFC 2865 §5.2), and is UTF-8. The result can be a view of `octets`.
 */
export function typedOctets(octets: Uint8Array): Uint8Array {
  const end = octets.indexOf(0);
  const value = end < 0 ? octets : octets.subarray(0, end);
  return isUtf8(value) ? value : encoder.encode(windows1252.decode(value));
}

function eightOctetText(octets: Uint8Array, at: number): string {
  return String.fromCharCode(
    octets[at] as number,
    octets[at + 1] as number,
    octets[at + 2] as number,
    octets[at + 3] as number,
    octets[at + 4] as number,
    octets[at + 5] as number,
    octets[at + 6] as number,
    octets[at + 7] as number,
  );
}

const ASCII = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
const encoded = new Map<string, Uint8Array<ArrayBuffer>>();

/** The UTF-8 octets of a frequent text. Cached, with a bound. */
export function encodeRepeated(text: string): Uint8Array<ArrayBuffer> {
  let octets = encoded.get(text);
  if (octets === undefined) {
    if (encoded.size >= 256) encoded.clear();
    octets = encoder.encode(text);
    encoded.set(text, octets);
  }
  return octets;
}

// A record as a syslog message (RFC 5424), its frame in a stream (RFC 5425 §4.3: octet counting), and its limits. Pure.

import type { SyslogFormat } from "./destination_choices.ts";
import { type EcsRecord, nestFields } from "./ecs_fields.ts";

export interface SyslogOptions {
  readonly format: SyslogFormat;
  /** RFC 5424 §6.2.1, table 1: 0 to 23. */
  readonly facility: number;
  /** The longest message, without its frame. */
  readonly maxOctets: number;
}

/** RFC 5424 §6.1: 8192 octets is what common receivers accept; a receiver SHOULD accept 2048. */
export const MAX_STREAM_OCTETS = 8192;
/** RFC 5426 §3.2: receivers SHOULD accept 2048 octets. */
export const MAX_DATAGRAM_OCTETS = 2048;
/** RFC 5424 §6.2.1, table 2. */
const SEVERITIES = { alert: 1, warning: 4, notice: 5, informational: 6 } as const;
/** RFC 5424 §6.2: lengths of the fields of the header. */
const MAX_HOST_CHARACTERS = 255;
const MAX_MSGID_CHARACTERS = 32;
const MAX_PARAM_NAME_CHARACTERS = 32;
/** RFC 5612: the enterprise number for examples. Countersign has none of its own. */
const ELEMENT = "ecs@32473";
/** Fields that a message loses first if it is too long. */
const DISPENSABLE = [
  "countersign.before",
  "countersign.after",
  "countersign.details",
  "related.user",
  "related.ip",
  "countersign.object",
  "message",
];

/** Marks a record that is not complete. */
const TRUNCATED = "countersign.truncated";
/** Shorter texts, such as times and codes, are not shortened. */
const MIN_TEXT_CHARACTERS = 40;

const utf8 = new TextEncoder();

/** One message without a frame, of at most `maxOctets`. A message that is too long loses fields, then ends of texts, and stays well-formed. */
export function encodeSyslog(fields: EcsRecord, options: SyslogOptions): Uint8Array<ArrayBuffer> {
  let octets = utf8.encode(textOf(fields, options));
  for (const shorter of shorterRecords(fields)) {
    if (octets.length <= options.maxOctets) return octets;
    octets = utf8.encode(textOf(shorter, options));
  }
  return octets.length <= options.maxOctets ? octets : wholeCharacters(octets.slice(0, options.maxOctets));
}

/** Each is shorter than the one before: without a dispensable field, and then with half of its longest text. */
function* shorterRecords(fields: EcsRecord): Generator<EcsRecord> {
  let shown: EcsRecord = { ...fields, [TRUNCATED]: true };
  for (const name of DISPENSABLE) {
    const { [name]: _dropped, ...others } = shown;
    yield shown = others;
  }
  for (;;) {
    const [longest, text] = Object.entries(shown).reduce<readonly [string, string]>(
      (found, [name, value]) =>
        typeof value === "string" && value.length > found[1].length ? [name, value] : found,
      ["", ""],
    );
    if (text.length <= MIN_TEXT_CHARACTERS) return;
    yield shown = { ...shown, [longest]: `${text.slice(0, text.length >> 1).toWellFormed()}…` };
  }
}

/** A record without its dispensable fields, for a receiver that refuses it because of its size. */
export function shortenRecord(fields: EcsRecord): EcsRecord {
  const names = new Set(DISPENSABLE);
  return {
    ...Object.fromEntries(Object.entries(fields).filter(([name]) => !names.has(name))),
    [TRUNCATED]: true,
  };
}

/** `MSG-LEN SP SYSLOG-MSG` (RFC 5425 §4.3.1). */
export function frameSyslog(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const length = utf8.encode(`${message.length} `);
  const frame = new Uint8Array(length.length + message.length);
  frame.set(length);
  frame.set(message, length.length);
  return frame;
}

function textOf(fields: EcsRecord, { format, facility }: SyslogOptions): string {
  const priority = facility * 8 + severityOf(fields);
  const host = printable(String(fields["observer.hostname"] ?? ""), MAX_HOST_CHARACTERS);
  const messageId = printable(String(fields["event.action"] ?? ""), MAX_MSGID_CHARACTERS);
  const header = `<${priority}>1 ${fields["@timestamp"]} ${host} countersign - ${messageId}`;
  const version = escapeParam(String(fields["observer.version"] ?? ""));
  const origin = `[origin software="Countersign" swVersion="${version}"]`;
  if (format === "json") return `${header} ${origin} ${asciiJson(nestFields(fields))}`;
  return `${header} ${origin}${elementOf(fields)} ${markedText(oneLine(String(fields.message ?? "")))}`;
}

/**
 * JSON in US-ASCII. RFC 5424 §6.4 wants a byte order mark before a message in UTF-8, and JSON must not begin with one (RFC 8259 §8.1). It also
 * leaves no control character to a receiver: JSON permits U+007F to U+009F, and U+0085 ends a line for some.
 */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** RFC 5424 §6.4: a message in UTF-8 begins with the byte order mark; one in US-ASCII needs none. */
function markedText(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : `\ufeff${text}`;
}

function elementOf(fields: EcsRecord): string {
  const params = Object.entries(fields).flatMap(([name, value]) => {
    const values = Array.isArray(value) ? value as readonly string[] : [String(value)];
    if (name === "message" || name === "@timestamp" || name.length > MAX_PARAM_NAME_CHARACTERS) return [];
    return values.map((one) => ` ${name}="${escapeParam(one)}"`);
  });
  return `[${ELEMENT}${params.join("")}]`;
}

function severityOf(fields: EcsRecord): number {
  if (fields["event.kind"] === "alert") return SEVERITIES.alert;
  if (fields["event.outcome"] === "failure") return SEVERITIES.warning;
  return fields["event.dataset"] === "countersign.audit" ? SEVERITIES.notice : SEVERITIES.informational;
}

/** PRINTUSASCII (RFC 5424 §6), or the NILVALUE. */
function printable(text: string, maxCharacters: number): string {
  return text.replace(/[^\x21-\x7e]/g, "").slice(0, maxCharacters) || "-";
}

/** RFC 5424 §6.3.3: `"`, `\` and `]` are escaped. Control characters would end a line of the receiver's file. */
function escapeParam(text: string): string {
  return oneLine(text).replace(/["\\\]]/g, (character) => `\\${character}`);
}

function oneLine(text: string): string {
  return text.replace(/\p{Cc}/gu, " ");
}

/** Without the octets of a character that was cut. */
function wholeCharacters(octets: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  let end = octets.length;
  // A continuation octet is 10xxxxxx (RFC 3629 §3).
  while (end > 0 && ((octets[end - 1] ?? 0) & 0xc0) === 0x80) end--;
  const lead = octets[end - 1] ?? 0;
  return lead >= 0x80 ? octets.slice(0, end - 1) : octets;
}

// Lines of the event log, in text or JSON. Values are escaped, so that each event is one line. Values of fields whose names indicate a
// secret are redacted.

import { escapeControlCharacters, hasControlCharacters } from "./control_characters.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

/** Fields of an event. A number under a name that ends in `Ms` is a time in milliseconds; `undefined` is left out. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

const MAX_VALUE_CHARACTERS = 512;
const MAX_MESSAGE_CHARACTERS = 2048;
const MAX_FIELDS = 100;
/** Bounds memory, in case a field name comes from a packet. */
const MAX_KNOWN_NAMES = 1000;

/** Names whose value is never written, in snake case. */
const REDACTED = new Set([
  "password",
  "user_password",
  "secret",
  "passcode",
  "token",
  "state_token",
  "cookie",
  "authorization",
  "otp",
  "seed",
  "key",
  "body",
]);
/** Names with these endings are redacted too: `consumer_secret`, `CHAP-Password`, `authToken`. */
const REDACTED_ENDINGS = ["_password", "_secret", "_passcode", "_token", "_cookie", "_otp", "_seed"];

const NEEDS_QUOTES = /[\s"=\\]/;

function cut(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const last = text.charCodeAt(maxCharacters - 1);
  const splitsPair = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, splitsPair ? maxCharacters - 1 : maxCharacters) + "…";
}

/** The message of an error, or the text of any other thrown value. */
export function faultMessage(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault);
}

/** The form of a field, computed once per name. */
interface FieldShape {
  readonly redacted: boolean;
  /** The text before the value. */
  readonly text: string;
  readonly json: string;
  /** The text before a value in milliseconds; `null` if the name does not end in Ms. */
  readonly milliseconds: string | null;
}

function shapeOf(name: string): FieldShape {
  const safe = cut(name, 64).replace(/[^A-Za-z0-9_.:-]/g, "_") || "_";
  const words = safe.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase().replace(/[^a-z0-9]/g, "_");
  // A field must not replace the time, level or message of the event.
  const jsonName = safe === "time" || safe === "level" || safe === "message" ? `${safe}_` : safe;
  return {
    redacted: REDACTED.has(words) || REDACTED_ENDINGS.some((ending) => words.endsWith(ending)),
    text: ` ${safe}=`,
    json: `,"${jsonName}":`,
    milliseconds: safe.length > 2 && safe.endsWith("Ms") ? ` ${safe.slice(0, -2)}=` : null,
  };
}

function createShapes(): (name: string) => FieldShape {
  const known = new Map<string, FieldShape>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const shape = shapeOf(name);
    if (known.size < MAX_KNOWN_NAMES) known.set(name, shape);
    return shape;
  };
}

type Value = string | number | boolean | null;
/** Returns the line of an event, with its line end. `time` is written unchanged. */
type LineFormatter = (
  line: { time: string; level: LogLevel; message: string; fields: LogFields | undefined },
) => string;

function textField(shape: FieldShape, value: Value): string {
  if (shape.redacted) return `${shape.text}***`;
  if (typeof value !== "string") {
    if (typeof value === "number" && shape.milliseconds !== null) {
      return `${shape.milliseconds}${value.toFixed(1)} ms`;
    }
    return shape.text + String(value);
  }
  const short = cut(value, MAX_VALUE_CHARACTERS);
  if (short !== "" && !NEEDS_QUOTES.test(short) && !hasControlCharacters(short)) return shape.text + short;
  return `${shape.text}"${escapeControlCharacters(short.replace(/["\\]/g, "\\$&"))}"`;
}

function jsonField(shape: FieldShape, value: Value): string {
  if (shape.redacted) return `${shape.json}"***"`;
  if (typeof value !== "string") return shape.json + JSON.stringify(value);
  return shape.json + escapeControlCharacters(JSON.stringify(cut(value, MAX_VALUE_CHARACTERS)));
}

/** Creates a formatter. Fields whose names indicate a secret are redacted. */
export function createLineFormatter(format: "text" | "json"): LineFormatter {
  const shape = createShapes();
  const fieldOf = format === "text" ? textField : jsonField;
  const fieldsOf = (fields: LogFields | undefined): string => {
    let text = "";
    let count = 0;
    for (const name in fields) {
      const value = fields[name];
      if (value === undefined) continue;
      if (++count > MAX_FIELDS) return text + fieldOf(shape("fields_cut"), true);
      text += fieldOf(shape(name), value);
    }
    return text === "" || format === "json" ? text : " " + text;
  };
  if (format === "text") {
    return ({ time, level, message, fields }) =>
      `${time} ${level.padEnd(5)} ${escapeControlCharacters(cut(message, MAX_MESSAGE_CHARACTERS))}${
        fieldsOf(fields)
      }\n`;
  }
  return ({ time, level, message, fields }) => {
    const text = escapeControlCharacters(JSON.stringify(cut(message, MAX_MESSAGE_CHARACTERS)));
    return `{"time":"${time}","level":"${level}","message":${text}${fieldsOf(fields)}}\n`;
  };
}

// The one event log: a line per event, in text or JSON, gathered and written in batches. Values are escaped, so that
// one event is one line whatever a client sends, and redacted by field name, so that no secret is written.

import { escapeControlCharacters, hasControlCharacters } from "./platform/control_characters.ts";
import type { Clock } from "./runtime.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

/** Fields of an event. A number under a name that ends in `Ms` is a time in milliseconds; `undefined` is left out. */
export type Fields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** What was lost on the way, since the start. */
export interface LogLosses {
  /** Lines that found the buffer full. */
  readonly dropped: number;
  /** Lines whose write failed. */
  readonly unwritten: number;
  /** Writes that failed, and the name of the last failure. */
  readonly failedWrites: number;
  readonly lastFailure: string | null;
}

/** Takes events and returns at once; nothing here throws into the caller. */
export interface Log {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** Whether events of `level` are written; ask before making costly fields. */
  enabled(level: LogLevel): boolean;
  /** Resolves when all lines so far are written, or after `FLUSH_DEADLINE_MS`. Never rejects. */
  flush(): Promise<void>;
  losses(): LogLosses;
}

/** What the log needs: `write` takes a batch of whole lines in UTF-8. */
export interface LogOptions {
  readonly format: "text" | "json";
  readonly level: LogLevel;
  readonly clock: Clock;
  readonly write: (lines: Uint8Array) => Promise<void> | void;
}

const LEVELS: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

/** How long a line waits for company. */
const BATCH_WAIT_MS = 5;
const BATCH_CHARACTERS = 64 * 1024;
/** Beyond this, lines are dropped: a blocked terminal must not take the memory. */
const MAX_WAITING_OCTETS = 8 * 1024 * 1024;
const FLUSH_DEADLINE_MS = 2000;
const MAX_VALUE_CHARACTERS = 512;
const MAX_MESSAGE_CHARACTERS = 2048;
const MAX_FIELDS = 100;
/** Field names are our own words; the bound is for names that came from a packet after all. */
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
/** The same for what ends like this: `consumer_secret`, `CHAP-Password`, `authToken`. */
const REDACTED_ENDINGS = ["_password", "_secret", "_passcode", "_token", "_cookie", "_otp", "_seed"];

const NEEDS_QUOTES = /[\s"=\\]/;

function cut(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const last = text.charCodeAt(maxCharacters - 1);
  const splitsPair = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, splitsPair ? maxCharacters - 1 : maxCharacters) + "…";
}

/** How a field is written: worked out once a name. */
interface FieldShape {
  readonly redacted: boolean;
  /** Ready to be followed by the value. */
  readonly text: string;
  readonly json: string;
  /** Likewise, for a number of milliseconds; `null` when the name does not end in Ms. */
  readonly milliseconds: string | null;
}

function shapeOf(name: string): FieldShape {
  const safe = cut(name, 64).replace(/[^A-Za-z0-9_.:-]/g, "_") || "_";
  const words = safe.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase().replace(/[^a-z0-9]/g, "_");
  // An event's own time, level and message must stay what they are.
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
type LineMaker = (
  line: { time: string; level: LogLevel; message: string; fields: Fields | undefined },
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

function createLineMaker(format: "text" | "json"): LineMaker {
  const shape = createShapes();
  const fieldOf = format === "text" ? textField : jsonField;
  const fieldsOf = (fields: Fields | undefined): string => {
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
    const said = escapeControlCharacters(JSON.stringify(cut(message, MAX_MESSAGE_CHARACTERS)));
    return `{"time":"${time}","level":"${level}","message":${said}${fieldsOf(fields)}}\n`;
  };
}

interface Batch {
  readonly octets: Uint8Array;
  readonly lines: number;
}

/** Gathers lines and writes them, one write at a time. */
function createBatcher({ clock, write }: LogOptions, noticeOf: (losses: LogLosses) => string) {
  const encoder = new TextEncoder();
  let pending = "";
  let pendingLines = 0;
  let timerRuns = false;
  let queue: Batch[] = [];
  let queuedOctets = 0;
  let draining: Promise<void> | null = null;
  let dropped = 0;
  let unwritten = 0;
  let failedWrites = 0;
  let lastFailure: string | null = null;
  let noticed = 0;

  const losses = (): LogLosses => ({ dropped, unwritten, failedWrites, lastFailure });

  const takePending = (): void => {
    if (pending === "") return;
    const octets = encoder.encode(pending);
    queue.push({ octets, lines: pendingLines });
    queuedOctets += octets.length;
    pending = "";
    pendingLines = 0;
  };

  const writeBatch = async (batch: Batch): Promise<void> => {
    try {
      await write(batch.octets);
      // Only now is there somebody who can read it; a notice that is lost as well is made again.
      if (dropped + unwritten > noticed) {
        noticed = dropped + unwritten;
        pending += noticeOf(losses());
        pendingLines += 1;
      }
    } catch (failure) {
      failedWrites += 1;
      unwritten += batch.lines;
      lastFailure = failure instanceof Error ? failure.name : typeof failure;
    }
  };

  const drain = async (): Promise<void> => {
    while (queue.length > 0) {
      const batches = queue;
      queue = [];
      for (const batch of batches) {
        await writeBatch(batch);
        queuedOctets -= batch.octets.length;
      }
      // A notice must not wait for the next event.
      if (queue.length === 0 && !timerRuns) takePending();
    }
    draining = null;
  };

  const start = (): void => {
    takePending();
    // `drain` runs on its own and keeps what fails in the losses.
    if (queue.length > 0) draining ??= drain();
  };

  return {
    losses,
    add(line: string): void {
      if (queuedOctets + pending.length + line.length > MAX_WAITING_OCTETS) {
        dropped += 1;
        return;
      }
      pending += line;
      pendingLines += 1;
      if (pending.length >= BATCH_CHARACTERS) start();
      else if (!timerRuns) {
        timerRuns = true;
        clock.after(BATCH_WAIT_MS, () => {
          timerRuns = false;
          start();
        });
      }
    },
    async flush(): Promise<void> {
      start();
      if (draining === null) return;
      // The second round is for the notice of what was lost.
      const written = draining.then(() => {
        start();
        return draining;
      });
      const { promise, resolve } = Promise.withResolvers<void>();
      const cancel = clock.after(FLUSH_DEADLINE_MS, resolve);
      await Promise.race([written, promise]);
      cancel();
    },
  };
}

/** Makes the log. No line is written before the caller's turn has ended. */
export function createLog(options: LogOptions): Log {
  const { level: least, clock } = options;
  const lineOf = createLineMaker(options.format);
  let lastMs = NaN;
  let lastTime = "";
  const timeText = (): string => {
    const nowMs = clock.nowMs();
    if (nowMs !== lastMs) {
      lastMs = nowMs;
      lastTime = new Date(nowMs).toISOString();
    }
    return lastTime;
  };
  const batcher = createBatcher(options, ({ dropped, unwritten, lastFailure }) =>
    lineOf({
      time: timeText(),
      level: "warn",
      message: "log lines were lost",
      fields: { dropped, unwritten, lastFailure },
    }));
  const writerOf = (level: LogLevel): (message: string, fields?: Fields) => void => {
    if (LEVELS[level] < LEVELS[least]) return () => {};
    return (message, fields) => batcher.add(lineOf({ time: timeText(), level, message, fields }));
  };
  return {
    debug: writerOf("debug"),
    info: writerOf("info"),
    warn: writerOf("warn"),
    error: writerOf("error"),
    enabled: (level) => LEVELS[level] >= LEVELS[least],
    flush: batcher.flush,
    losses: batcher.losses,
  };
}

/**
 * A `write` for {@link LogOptions} over a stream that may take less than it is given, such as `Deno.stderr`.
 * Throws when the stream does, or takes nothing at all.
 */
export function wholeWrites(
  stream: { write(octets: Uint8Array): Promise<number> },
): (lines: Uint8Array) => Promise<void> {
  return async (lines) => {
    for (let at = 0; at < lines.length;) {
      const taken = await stream.write(lines.subarray(at));
      if (taken <= 0) throw new Error("Cannot write the log: the stream takes nothing");
      at += taken;
    }
  };
}

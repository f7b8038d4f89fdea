// The event log: one line per event, written in batches. Lost lines are counted and reported.

import { type Clock, withTimeout } from "./runtime.ts";
import { escapeControlCharacters, hasControlCharacters } from "./control_characters.ts";

/** Accepts events and returns at once. It never throws. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Whether events of `level` are written. Check it before computing expensive fields. */
  enabled(level: LogLevel): boolean;
  /** Resolves when all lines so far are written, or after 2 s. Never rejects. */
  flush(): Promise<void>;
  losses(): LogLosses;
  /** The last warnings and errors, oldest first, as lines of JSON; at most {@link MAX_RECENT}. */
  recent(): readonly string[];
}

/** How events are written, and which. */
interface LogForm {
  readonly format: "text" | "json";
  readonly level: LogLevel;
}

/** A log whose form can change while it is used. */
interface AdjustableLog extends Log {
  adjust(form: LogForm): void;
}

/** `write` takes a batch of whole lines in UTF-8. */
export interface LogOptions extends LogForm {
  readonly clock: Clock;
  readonly write: (lines: Uint8Array) => Promise<void> | void;
}

const LEVELS: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

const MAX_RECENT = 300;
const MAX_RECENT_CHARACTERS = 8192;

/** Creates the log. Lines are written after the current task. */
export function createLog(options: LogOptions): AdjustableLog {
  const { clock } = options;
  let minLevel = LEVELS[options.level];
  let lineOf = createLineFormatter(options.format);
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
  const noticeOf = ({ dropped, unwritten, lastFailure }: LogLosses): string =>
    lineOf({
      time: timeText(),
      level: "warn",
      message: "log lines were lost",
      fields: { dropped, unwritten, lastFailure },
    });
  const toJson = createLineFormatter("json");
  const recent: string[] = [];
  const remember = (level: LogLevel, message: string, fields?: LogFields): void => {
    const line = toJson({ time: timeText(), level, message, fields });
    recent.push(
      line.length <= MAX_RECENT_CHARACTERS
        ? line
        : toJson({ time: timeText(), level, message, fields: undefined }),
    );
    if (recent.length > MAX_RECENT) recent.shift();
  };
  const batcher = new LogBatcher({ clock, write: options.write, noticeOf });
  const writerOf = (level: LogLevel) => (message: string, fields?: LogFields): void => {
    if (LEVELS[level] >= LEVELS.warn) remember(level, message, fields);
    if (LEVELS[level] >= minLevel) batcher.add(lineOf({ time: timeText(), level, message, fields }));
  };
  return {
    debug: writerOf("debug"),
    info: writerOf("info"),
    warn: writerOf("warn"),
    error: writerOf("error"),
    enabled: (level) => LEVELS[level] >= minLevel,
    adjust({ format, level }) {
      minLevel = LEVELS[level];
      lineOf = createLineFormatter(format);
    },
    flush: () => batcher.flush(),
    losses: () => batcher.losses(),
    recent: () => [...recent],
  };
}

/**
 * A `write` for {@link LogOptions} over a stream that may accept only a part, such as `Deno.stderr`.
 * Throws if the stream throws, or accepts nothing.
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

/** The losses since the start. */
interface LogLosses {
  /** Lines that were dropped because the buffer was full. */
  readonly dropped: number;
  /** Lines whose write failed. */
  readonly unwritten: number;
  /** Writes that failed, and the name of the last failure. */
  readonly failedWrites: number;
  readonly lastFailure: string | null;
}

interface LogBatcherDeps {
  readonly clock: Clock;
  readonly write: (lines: Uint8Array) => Promise<void> | void;
  /** The line that reports losses. */
  readonly noticeOf: (losses: LogLosses) => string;
}

/** How long a line waits for further lines of its batch. */
const BATCH_WAIT_MS = 5;
const BATCH_CHARACTERS = 64 * 1024;
/** Beyond this, lines are dropped, so that a blocked terminal cannot use up the memory. */
const MAX_WAITING_OCTETS = 8 * 1024 * 1024;
const FLUSH_DEADLINE_MS = 2000;

interface Batch {
  readonly octets: Uint8Array;
  readonly lines: number;
}

/** The lines that wait, and the batches in progress. */
class LogBatcher {
  readonly #deps: LogBatcherDeps;
  readonly #encoder = new TextEncoder();
  #pending = "";
  #pendingLines = 0;
  #timerRuns = false;
  #queue: Batch[] = [];
  #queuedOctets = 0;
  #draining: Promise<void> | null = null;
  #dropped = 0;
  #unwritten = 0;
  #failedWrites = 0;
  #lastFailure: string | null = null;
  #noticed = 0;

  constructor(deps: LogBatcherDeps) {
    this.#deps = deps;
  }

  losses(): LogLosses {
    return {
      dropped: this.#dropped,
      unwritten: this.#unwritten,
      failedWrites: this.#failedWrites,
      lastFailure: this.#lastFailure,
    };
  }

  /** Adds a line and returns at once. If the buffer is full, the line is dropped. */
  add(line: string): void {
    if (this.#queuedOctets + this.#pending.length + line.length > MAX_WAITING_OCTETS) {
      this.#dropped += 1;
      return;
    }
    this.#pending += line;
    this.#pendingLines += 1;
    if (this.#pending.length >= BATCH_CHARACTERS) this.#start();
    else if (!this.#timerRuns) {
      this.#timerRuns = true;
      this.#deps.clock.after(BATCH_WAIT_MS, () => {
        this.#timerRuns = false;
        this.#start();
      });
    }
  }

  /** Resolves when all lines so far are written, or after 2 s. Never rejects. */
  async flush(): Promise<void> {
    this.#start();
    if (this.#draining === null) return;
    // The second round writes the report of losses.
    const written = this.#draining.then(() => {
      this.#start();
      return this.#draining;
    });
    await withTimeout(written, { clock: this.#deps.clock, timeoutMs: FLUSH_DEADLINE_MS });
  }

  #takePending(): void {
    if (this.#pending === "") return;
    const octets = this.#encoder.encode(this.#pending);
    this.#queue.push({ octets, lines: this.#pendingLines });
    this.#queuedOctets += octets.length;
    this.#pending = "";
    this.#pendingLines = 0;
  }

  async #writeBatch(batch: Batch): Promise<void> {
    try {
      await this.#deps.write(batch.octets);
      // Losses are reported after a successful write. If the report is lost too, it is repeated.
      if (this.#dropped + this.#unwritten > this.#noticed) {
        this.#noticed = this.#dropped + this.#unwritten;
        this.#pending += this.#deps.noticeOf(this.losses());
        this.#pendingLines += 1;
      }
    } catch (failure) {
      this.#failedWrites += 1;
      this.#unwritten += batch.lines;
      this.#lastFailure = failure instanceof Error ? failure.name : typeof failure;
    }
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const batches = this.#queue;
      this.#queue = [];
      for (const batch of batches) {
        await this.#writeBatch(batch);
        this.#queuedOctets -= batch.octets.length;
      }
      // The report of losses must not wait for the next event.
      if (this.#queue.length === 0 && !this.#timerRuns) this.#takePending();
    }
    this.#draining = null;
  }

  #start(): void {
    this.#takePending();
    // `#drain` never rejects; it counts failures as losses.
    if (this.#queue.length > 0) this.#draining ??= this.#drain();
  }
}

// The log of stored records that this version cannot read. A later version may have written them.

/** A later version may write many such records in a second. */
const QUIET_MS = 60_000;

/** Returns a function that reports a record. Of one table, at most one record a minute is logged, with the number of those since the last one. */
export function createUnreadableLog(
  { log, clock }: { log: Log; clock: Pick<Clock, "nowMs"> },
): (key: Deno.KvKey, fault: unknown) => void {
  const tables = new Map<string, { loggedMs: number; unlogged: number }>();
  return (key, fault) => {
    const [table = "", ...names] = key.map(String);
    const nowMs = clock.nowMs();
    const known = tables.get(table) ?? { loggedMs: -Infinity, unlogged: 0 };
    tables.set(table, known);
    known.unlogged++;
    if (nowMs - known.loggedMs < QUIET_MS) return;
    log.error("a stored record cannot be read and is skipped: a later version may have written it", {
      table,
      record: names.slice(0, 2).join("/"),
      records: known.unlogged,
      fault: fault instanceof Error ? fault.message : String(fault),
    });
    known.loggedMs = nowMs;
    known.unlogged = 0;
  };
}

// Lines of the event log, in text or JSON. Values are escaped, so that each event is one line. Values of fields whose names indicate a
// secret are redacted.

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
function createLineFormatter(format: "text" | "json"): LineFormatter {
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

// The one event log: a line per event (platform/log_line.ts), gathered and written in batches (platform/log_batcher.ts).

import { LogBatcher, type LogLosses } from "./log_batcher.ts";
import { createLineMaker, type Fields, type LogLevel } from "./log_line.ts";
import type { Clock } from "./runtime.ts";

/** Takes events and returns at once; nothing here throws into the caller. */
export interface Log {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** Whether events of `level` are written; ask before making costly fields. */
  enabled(level: LogLevel): boolean;
  /** Resolves when all lines so far are written, or after 2 s. Never rejects. */
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
  const noticeOf = ({ dropped, unwritten, lastFailure }: LogLosses): string =>
    lineOf({
      time: timeText(),
      level: "warn",
      message: "log lines were lost",
      fields: { dropped, unwritten, lastFailure },
    });
  const batcher = new LogBatcher({ clock, write: options.write, noticeOf });
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
    flush: () => batcher.flush(),
    losses: () => batcher.losses(),
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

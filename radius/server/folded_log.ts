// Log lines that a flood would repeat: up to a rate each event has a line of its own, beyond it one line a second says how many there were.

import type { Log } from "../../platform/log.ts";
import type { Fields, LogLevel } from "../../platform/log_line.ts";
import type { Clock } from "../../platform/runtime.ts";

export interface FoldedLog {
  /** Writes an event, or counts it. `kind` is one of a few fixed words. Returns whether the event has a line of its own. */
  write(kind: string, line: { level: LogLevel; message: string; fields: Fields }): boolean;
  /** Writes the counts that wait for their second. */
  flush(): void;
}

interface Kind {
  tokens: number;
  atMs: number;
  folded: number;
  last: { level: LogLevel; message: string; fields: Fields } | null;
  cancel: () => void;
}

const BURST = 1000;
const PER_SECOND = 100;
const SUMMARY_MS = 1000;

export function createFoldedLog(
  { log, clock, burst = BURST, perSecond = PER_SECOND }: {
    log: Log;
    clock: Clock;
    burst?: number;
    perSecond?: number;
  },
): FoldedLog {
  const kinds = new Map<string, Kind>();

  const summarize = (kind: Kind): void => {
    kind.cancel();
    const { folded, last } = kind;
    if (folded === 0 || last === null) return;
    kind.folded = 0;
    kind.last = null;
    log[last.level](last.message, { ...last.fields, folded });
  };

  return {
    write(name, line) {
      const nowMs = clock.nowMs();
      let kind = kinds.get(name);
      if (kind === undefined) {
        kind = { tokens: burst, atMs: nowMs, folded: 0, last: null, cancel: () => undefined };
        kinds.set(name, kind);
      }
      const passedMs = Math.max(0, nowMs - kind.atMs);
      kind.tokens = Math.min(burst, kind.tokens + passedMs * perSecond / 1000);
      kind.atMs = nowMs;
      if (kind.tokens >= 1) {
        kind.tokens--;
        log[line.level](line.message, line.fields);
        return true;
      }
      kind.last = line;
      if (kind.folded++ > 0) return false;
      const waiting = kind;
      kind.cancel = clock.after(SUMMARY_MS, () => summarize(waiting));
      return false;
    },
    flush() {
      for (const kind of kinds.values()) summarize(kind);
    },
  };
}

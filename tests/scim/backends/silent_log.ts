// A log that collects its lines for a test.

import type { Log, LogFields } from "../../../platform/log.ts";

export interface KeptLog extends Log {
  readonly lines: { message: string; fields: LogFields }[];
}

export function silentLog(): KeptLog {
  const lines: KeptLog["lines"] = [];
  const keep = (message: string, fields: LogFields = {}): void => void lines.push({ message, fields });
  return {
    lines,
    debug: keep,
    info: keep,
    warn: keep,
    error: keep,
    enabled: () => true,
    flush: () => Promise.resolve(),
    recent: () => [],
    losses: () => ({ dropped: 0, unwritten: 0, failedWrites: 0, lastFailure: null }),
  };
}

// Counts what happens, for /metrics and the console. Names are fixed words, never foreign text.

import { DROP_REASONS, type DropReason } from "../protocol/drop_reasons.ts";

export interface Counters {
  count(name: string): void;
  drop(reason: DropReason): void;
  all(): Readonly<Record<string, number>>;
}

export function createCounters(): Counters {
  const drops = new Map<DropReason, number>(
    Object.keys(DROP_REASONS).map((reason) => [reason as DropReason, 0]),
  );
  const counts = new Map<string, number>(
    [
      "requests",
      "challenges",
      "accepts",
      "rejects",
      "duplicates",
      "logins_joined",
      "status_answers",
      "accounting_requests",
      "accounting_responses",
      "accounting_sessions_evicted",
      "send_failures",
    ]
      .map((name) => [name, 0]),
  );
  return {
    count: (name) => void counts.set(name, (counts.get(name) ?? 0) + 1),
    drop: (reason) => void drops.set(reason, (drops.get(reason) ?? 0) + 1),
    all: () => ({
      ...Object.fromEntries(counts),
      ...Object.fromEntries([...drops].map(([reason, count]) => [`dropped_${reason}`, count])),
    }),
  };
}

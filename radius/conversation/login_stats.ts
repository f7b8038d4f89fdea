// Counts how logins end and how long they took, by client and by the minute of their end, until the charts take the counts. A few
// additions a login.

import { bucketOf, MAX_COUNTED_CLIENTS, OTHER_CLIENTS, TIME_BUCKETS } from "./duration_buckets.ts";
import type { ConversationOutcome, FinishTally } from "../ports.ts";

export interface FinishTallies {
  note(end: { client: string; outcome: ConversationOutcome; tookMs: number; endedMs: number }): void;
  /** What was counted since the last time. */
  take(): FinishTally[];
}

const MINUTE_MS = 60_000;
/** Minutes that wait for the charts; when nothing takes them, the newest minute gets all further counts. */
const MAX_MINUTES = 60;

interface Tally {
  outcomes: Record<string, number>;
  times: number[];
}

export function createFinishTallies(): FinishTallies {
  let minutes = new Map<number, Map<string, Tally>>();
  let newest: { minuteMs: number; clients: Map<string, Tally> } | null = null;

  const clientsAt = (endedMs: number): Map<string, Tally> => {
    const minuteMs = Math.floor(endedMs / MINUTE_MS) * MINUTE_MS;
    if (newest?.minuteMs === minuteMs) return newest.clients;
    if (newest !== null && minutes.size >= MAX_MINUTES) return newest.clients;
    const clients = minutes.get(minuteMs) ?? new Map<string, Tally>();
    minutes.set(minuteMs, clients);
    newest = { minuteMs, clients };
    return clients;
  };

  return {
    note({ client, outcome, tookMs, endedMs }) {
      const clients = clientsAt(endedMs);
      const name = clients.size >= MAX_COUNTED_CLIENTS && !clients.has(client) ? OTHER_CLIENTS : client;
      let tally = clients.get(name);
      if (tally === undefined) {
        tally = { outcomes: {}, times: new Array<number>(TIME_BUCKETS).fill(0) };
        clients.set(name, tally);
      }
      tally.outcomes[outcome] = (tally.outcomes[outcome] ?? 0) + 1;
      const bucket = bucketOf(tookMs);
      tally.times[bucket] = (tally.times[bucket] ?? 0) + 1;
    },
    take() {
      const taken = [...minutes].flatMap(([minuteMs, clients]) =>
        [...clients].map(([client, { outcomes, times }]) => ({ client, outcomes, times, minuteMs }))
      );
      minutes = new Map();
      newest = null;
      return taken;
    },
  };
}

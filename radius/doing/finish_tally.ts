// Counts how logins end and how long they took, by client, until somebody takes the counts away: for charts. A few additions a login.

import type { ConversationOutcome, FinishTally } from "./ports.ts";

export interface FinishTallies {
  note(end: { client: string; outcome: ConversationOutcome; tookMs: number }): void;
  /** What was counted since the last time. */
  take(): FinishTally[];
}

/** More clients than that are counted under one name. */
const MOST_CLIENTS = 200;
export const OTHER_CLIENTS = "(others)";

/** Times fall into buckets whose bounds grow by the square root of two, from 1 ms on. */
export const TIME_BUCKETS = 44;

/** The bucket of a time. */
export function bucketOf(tookMs: number): number {
  if (!(tookMs > 1)) return 0;
  return Math.min(TIME_BUCKETS - 1, Math.ceil(2 * Math.log2(tookMs)));
}

export function createFinishTallies(): FinishTallies {
  let clients = new Map<string, { outcomes: Record<string, number>; times: number[] }>();
  return {
    note({ client, outcome, tookMs }) {
      const name = clients.size >= MOST_CLIENTS && !clients.has(client) ? OTHER_CLIENTS : client;
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
      const taken = [...clients].map(([client, { outcomes, times }]) => ({ client, outcomes, times }));
      clients = new Map();
      return taken;
    },
  };
}

// Failed credentials, counted by where they come from, so that guessing is slow. Kept in memory and bounded.

import type { Clock } from "../../runtime.ts";

/** Failures in a minute from one source; then it waits, whatever it sends. */
export const FAILURES_A_MINUTE = 5;
const WINDOW_MS = 60_000;
const MAX_SOURCES = 10_000;
/** Checks of one source that may wait for their turn. */
const MAX_WAITING = 64;

/** Counts failures, and lets the checks of one source run one after another, so that many at once do not slip through. */
export interface SourceLimit {
  /** Milliseconds until the source may try again; 0: now. */
  waitMs(source: string): number;
  fail(source: string): void;
  /** Runs `work` when earlier work of the same source has ended; `null` when too much waits already. */
  inTurn<T>(source: string, work: () => Promise<T>): Promise<T> | null;
}

export function createSourceLimit({ clock }: { clock: Clock }): SourceLimit {
  const failures = new Map<string, number[]>();
  const turns = new Map<string, { last: Promise<unknown>; waiting: number }>();

  const recentOf = (key: string): number[] => {
    const recent = failures.get(key);
    if (recent === undefined) return [];
    const endMs = clock.nowMs() - WINDOW_MS;
    while (recent[0] !== undefined && recent[0] <= endMs) recent.shift();
    if (recent.length === 0) failures.delete(key);
    return recent;
  };

  return {
    waitMs(source) {
      if (failures.size === 0) return 0;
      const recent = recentOf(sourceNetwork(source));
      const oldest = recent[0];
      if (oldest === undefined || recent.length < FAILURES_A_MINUTE) return 0;
      return Math.max(1, oldest + WINDOW_MS - clock.nowMs());
    },
    fail(source) {
      const key = sourceNetwork(source);
      const recent = recentOf(key);
      // Beyond the limit nothing more needs to be known; and the first key stays the one not seen for longest.
      if (recent.length < FAILURES_A_MINUTE) recent.push(clock.nowMs());
      failures.delete(key);
      failures.set(key, recent);
      if (failures.size > MAX_SOURCES) forgetFirst(failures);
    },
    inTurn(source, work) {
      const key = sourceNetwork(source);
      const turn = turns.get(key) ?? { last: Promise.resolve(), waiting: 0 };
      if (turn.waiting >= MAX_WAITING) return null;
      turns.set(key, turn);
      turn.waiting += 1;
      const done = turn.last.then(work).finally(() => {
        turn.waiting -= 1;
        if (turn.waiting === 0) turns.delete(key);
      });
      // The next one waits for the end, however it ends; who asked hears how.
      turn.last = done.catch(() => undefined);
      return done;
    },
  };
}

function forgetFirst(map: Map<string, unknown>): void {
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}

const IPV6_GROUPS = 8;
const NETWORK_GROUPS = 4;

/** What an address is counted under: of IPv6 the first 64 bits, because one network may use all addresses below them. */
export function sourceNetwork(address: string): string {
  if (!address.includes(":")) return address;
  if (address.toLowerCase().startsWith("::ffff:") && address.includes(".")) return address.slice(7);
  const [head = "", tail] = (address.split("%")[0] ?? "").toLowerCase().split("::");
  const groupsOf = (text: string) => text === "" ? [] : text.split(":");
  const front = groupsOf(head);
  const back = groupsOf(tail ?? "");
  const missing = tail === undefined ? 0 : Math.max(0, IPV6_GROUPS - front.length - back.length);
  const groups = [...front, ...Array<string>(missing).fill("0"), ...back].slice(0, NETWORK_GROUPS);
  return `${groups.map((group) => group.replace(/^0+(?=.)/, "")).join(":")}::/64`;
}

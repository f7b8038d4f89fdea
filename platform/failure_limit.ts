// Rate limit for failed sign-ins: five a minute for one name from one source, and a wider limit for the source, so that
// callers who share an address do not block each other. In memory and bounded.

import { canonicalName } from "./canonical_name.ts";
import type { Clock } from "./runtime.ts";
import { sourceKey } from "./source_key.ts";

/** Failures in a minute for one name from one source. */
export const MAX_FAILURES_PER_NAME = 5;
/** Failures in a minute from one source, for all names together. */
export const MAX_FAILURES_PER_SOURCE = 30;
const WINDOW_MS = 60_000;
const MAX_KEYS = 20_000;

/** Who failed. `source: null` counts the name alone, for a session or a phone that is already known. */
export interface FailureKey {
  readonly source: string | null;
  readonly name: string;
}

export interface FailureLimit {
  /** Milliseconds until a further try; 0: now. */
  waitMs(key: FailureKey): number;
  /** Counts a failure; the returned function takes it back. */
  fail(key: FailureKey): () => void;
}

interface Counted {
  readonly key: string;
  readonly max: number;
}

export function createFailureLimit({ clock }: { clock: Clock }): FailureLimit {
  /** Times of the failures of each key, the oldest first. The key that failed longest ago comes first. */
  const failures = new Map<string, number[]>();

  const recentOf = (key: string): number[] => {
    const recent = failures.get(key) ?? [];
    const endMs = clock.nowMs() - WINDOW_MS;
    while (recent[0] !== undefined && recent[0] <= endMs) recent.shift();
    return recent;
  };
  const wait = ({ key, max }: Counted): number => {
    const recent = recentOf(key);
    const decisive = recent[recent.length - max];
    return decisive === undefined ? 0 : Math.max(1, decisive + WINDOW_MS - clock.nowMs());
  };

  return {
    waitMs: (key) => failures.size === 0 ? 0 : Math.max(...countedKeys(key).map(wait)),
    fail(key) {
      const atMs = clock.nowMs();
      const lists = countedKeys(key).map(({ key, max }) => {
        const recent = recentOf(key);
        recent.push(atMs);
        if (recent.length > max) recent.shift();
        failures.delete(key);
        failures.set(key, recent);
        return recent;
      });
      for (const oldest of failures.keys()) {
        if (failures.size <= MAX_KEYS) break;
        failures.delete(oldest);
      }
      return () => {
        for (const recent of lists) {
          const at = recent.indexOf(atMs);
          if (at >= 0) recent.splice(at, 1);
        }
      };
    },
  };
}

/** A line break is in no name, so no pair of source and name equals another. */
function countedKeys({ source, name }: FailureKey): Counted[] {
  const own = {
    key: `${source === null ? "" : sourceKey(source)}\n${canonicalName(name)}`,
    max: MAX_FAILURES_PER_NAME,
  };
  return source === null ? [own] : [own, { key: sourceKey(source), max: MAX_FAILURES_PER_SOURCE }];
}

const PROVEN_MS = 24 * 3_600_000;
const MAX_PROVEN = 1000;

/** Keyed digests of credentials that were correct within the last day: such a credential passes before any limit. */
export interface ProvenDigests {
  has(digest: string): boolean;
  add(digest: string): void;
  forget(digest: string): void;
}

/** Nothing is written to the store, and the digests are worth nothing without the key. */
export function createProvenDigests({ clock }: { clock: Clock }): ProvenDigests {
  const untilMs = new Map<string, number>();
  return {
    has: (digest) => (untilMs.get(digest) ?? 0) > clock.nowMs(),
    add(digest) {
      untilMs.delete(digest);
      untilMs.set(digest, clock.nowMs() + PROVEN_MS);
      for (const oldest of untilMs.keys()) {
        if (untilMs.size <= MAX_PROVEN) break;
        untilMs.delete(oldest);
      }
    },
    forget: (digest) => void untilMs.delete(digest),
  };
}

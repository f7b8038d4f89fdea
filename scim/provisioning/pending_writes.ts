// What one backend is owed, as it is shown: the oldest entries in memory, bounded, so that asking costs nothing and a long outbox no memory.

import type { OwedWrite } from "../ports.ts";
import type { KeptEntry, OutboxEntry } from "./outbox.ts";

/** Beyond this only the store knows. */
const MOST_KEPT = 1000;

export interface OwedList {
  load(): Promise<void>;
  note(place: { backend: string; sequence: string; isDead: boolean }, entry: OutboxEntry): void;
  forget(sequence: string): void;
  oldest(limit: number): OwedWrite[];
}

/** @param entries gives all entries of one backend. */
export function createOwedList(entries: () => AsyncIterable<KeptEntry>): OwedList {
  const kept = new Map<string, OwedWrite>();
  let isCut = false;
  let loading: Promise<void> | null = null;
  /** What went while the store is read: it may still come out of a batch that was read before. */
  let goneMeanwhile: Set<string> | null = null;

  const keep = (
    { backend, sequence, isDead }: { backend: string; sequence: string; isDead: boolean },
    { kind, name, operation, attempts, sinceMs, nextMs, why }: OutboxEntry,
  ): void => {
    if (!kept.has(sequence) && kept.size >= MOST_KEPT) {
      isCut = true;
      return;
    }
    const shown = { id: sequence, backend, kind, name, operation, attempts, sinceMs, why };
    kept.set(sequence, { ...shown, nextMs: isDead ? null : nextMs });
  };
  const load = async (): Promise<void> => {
    isCut = false;
    const gone = goneMeanwhile = new Set<string>();
    try {
      for await (const { entry, ...place } of entries()) {
        if (gone.has(place.sequence)) continue;
        keep(place, entry);
        if (isCut) return;
      }
    } finally {
      goneMeanwhile = null;
    }
  };

  return {
    load,
    note: keep,
    forget(sequence) {
      kept.delete(sequence);
      goneMeanwhile?.add(sequence);
      if (!isCut || kept.size > MOST_KEPT / 2) return;
      // What fails here is read again when the next entry goes.
      loading ??= load().catch(() => void (isCut = true)).finally(() => loading = null);
    },
    oldest: (limit) => [...kept.values()].sort((a, b) => a.id < b.id ? -1 : 1).slice(0, limit),
  };
}

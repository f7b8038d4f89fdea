// Counts by name that go up and down, and are shown only when asked: a stream changes them far more often than a page can.

import { type ReadonlySignal, signal } from "@preact/signals";

export interface Tally {
  readonly counts: ReadonlySignal<Readonly<Record<string, number>>>;
  /** Sorted; the same array while the names are the same. */
  readonly names: ReadonlySignal<readonly string[]>;
  /** `by` may be negative; a name that comes to 0 is gone. */
  add(name: string, by: number): void;
  clear(): void;
  /** Puts what was counted into the signals. */
  show(): void;
}

const MOST_NAMES = 200;

export function createTally(): Tally {
  const kept = new Map<string, number>();
  const counts = signal<Readonly<Record<string, number>>>({});
  const names = signal<readonly string[]>([]);
  let changed = false;
  return {
    counts,
    names,
    add(name, by) {
      const next = (kept.get(name) ?? 0) + by;
      if (next <= 0) kept.delete(name);
      else kept.set(name, next);
      changed = true;
    },
    clear() {
      kept.clear();
      changed = true;
    },
    show() {
      if (!changed) return;
      changed = false;
      counts.value = Object.fromEntries(kept);
      const next = [...kept.keys()].slice(0, MOST_NAMES).sort();
      const before = names.peek();
      if (next.length !== before.length || next.some((name, at) => name !== before[at])) names.value = next;
    },
  };
}

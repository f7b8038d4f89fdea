// Things that outlive one request of an operator's command, by an id: few, and none for ever.

import type { Clock } from "../runtime.ts";

export interface Shelf<T> {
  /** The id, or `null` when there is no room. */
  put(thing: T): string | null;
  /** What has that id; it counts as used now. */
  take(id: string): T | null;
  remove(id: string): void;
}

/**
 * @param options.most how many there may be. An item that was not requested for `idleMs` makes room for the next, when `mayGo` says so, and is given to `drop`.
 */
export function createShelf<T>(
  { clock, newId, most, idleMs, mayGo, drop }: {
    clock: Clock;
    newId: () => string;
    most: number;
    idleMs: number;
    mayGo: (thing: T) => boolean;
    drop: (thing: T) => void;
  },
): Shelf<T> {
  const kept = new Map<string, { readonly thing: T; usedMs: number }>();
  const clear = (): void => {
    for (const [id, { thing, usedMs }] of kept) {
      if (clock.nowMs() - usedMs < idleMs || !mayGo(thing)) continue;
      kept.delete(id);
      drop(thing);
    }
  };
  return {
    put(thing) {
      clear();
      if (kept.size >= most) return null;
      const id = newId();
      kept.set(id, { thing, usedMs: clock.nowMs() });
      return id;
    },
    take(id) {
      const found = kept.get(id);
      if (found === undefined) return null;
      found.usedMs = clock.nowMs();
      return found.thing;
    },
    remove: (id) => void kept.delete(id),
  };
}

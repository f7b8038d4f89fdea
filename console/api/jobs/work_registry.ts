// Work that outlives a request: few items, each owned by one administrator, deleted when it is not requested for a while.

import type { Clock, Random } from "../../../platform/runtime.ts";

export interface Shelved {
  readonly id: string;
  /** The administrator whose it is. */
  readonly owner: string;
  /** Work is under way, so it is not to be forgotten. */
  isBusy(): boolean;
}

export interface Shelf<T extends Shelved> {
  /** The id, or `null` when there is no room. */
  put(make: (id: string) => T): T | null;
  /** What has that id and belongs to `owner`; it counts as used now. */
  take(id: string, owner: string): T | null;
  remove(id: string): void;
}

export function createShelf<T extends Shelved>(
  { clock, random }: { clock: Clock; random: Random },
  { most, mostEach, idleMs }: { most: number; mostEach: number; idleMs: number },
): Shelf<T> {
  const kept = new Map<string, { readonly thing: T; usedMs: number }>();
  const idle = () => [...kept].filter(([, { thing }]) => !thing.isBusy());
  const clear = (owner: string): void => {
    const nowMs = clock.nowMs();
    for (const [id, { usedMs }] of idle()) if (nowMs - usedMs > idleMs) kept.delete(id);
    const mine = idle().filter(([, { thing }]) => thing.owner === owner).sort(([, a], [, b]) =>
      a.usedMs - b.usedMs
    );
    // The oldest of the same administrator makes room; those of other administrators stay.
    for (const [id] of mine.slice(0, Math.max(0, mine.length - mostEach + 1))) kept.delete(id);
  };
  return {
    put(make) {
      const thing = make(random.bytes(12).toHex());
      clear(thing.owner);
      const each = [...kept.values()].filter((one) => one.thing.owner === thing.owner).length;
      if (kept.size >= most || each >= mostEach) return null;
      kept.set(thing.id, { thing, usedMs: clock.nowMs() });
      return thing;
    },
    take(id, owner) {
      const found = kept.get(id);
      if (found === undefined || found.thing.owner !== owner) return null;
      found.usedMs = clock.nowMs();
      return found.thing;
    },
    remove: (id) => void kept.delete(id),
  };
}

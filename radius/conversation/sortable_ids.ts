// Ids that grow with time, so that the store writes its keys in order: random keys cost it three to six times as much.

import type { Clock, Random } from "../../platform/runtime.ts";

/** Gives ids of 11 characters of time and count and 6 of randomness per process. */
export function createOrderedIds(clock: Clock, random: Random): () => string {
  const node = random.bytes(3).toHex();
  let last = 0;
  return () => {
    // A thousand ids fit into each millisecond before the count runs ahead of the clock; a clock set back is not followed.
    last = Math.max(last + 1, clock.nowMs() * 1024);
    return last.toString(36).padStart(11, "0") + node;
  };
}

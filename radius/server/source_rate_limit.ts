// A token bucket for each source address, in arrays of a fixed size. When every place is taken, sources without one share a bucket: a flood from
// invented addresses costs no memory, and gets no more than one address.

import type { Clock } from "../../platform/runtime.ts";
import { parseIpv6 } from "../protocol/attributes.ts";

export interface SourceRateOptions {
  /** Packets at once. */
  readonly burst: number;
  readonly perSecond: number;
  readonly maxSources?: number;
}

const MAX_SOURCES = 8192;
/** How often buckets that are full again are looked for. */
const SWEEP_MS = 1000;
/** An IPv6 host chooses the last 64 bits of its address. */
const NETWORK_OCTETS = 8;

export class SourceRateLimit {
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #burst: number;
  readonly #perMs: number;
  readonly #places = new Map<string, number>();
  readonly #free: Uint16Array;
  #freeCount: number;
  /** Place 0 is shared by the sources that found no place. */
  readonly #tokens: Float64Array;
  readonly #atMs: Float64Array;
  #sweptMs = Number.NEGATIVE_INFINITY;

  constructor(
    clock: Pick<Clock, "nowMs">,
    { burst, perSecond, maxSources = MAX_SOURCES }: SourceRateOptions,
  ) {
    this.#clock = clock;
    this.#burst = burst;
    this.#perMs = perSecond / 1000;
    this.#tokens = new Float64Array(maxSources + 1).fill(burst);
    this.#atMs = new Float64Array(maxSources + 1).fill(clock.nowMs());
    this.#free = Uint16Array.from({ length: maxSources }, (_, at) => at + 1);
    this.#freeCount = maxSources;
  }

  /** Takes one token of the source's bucket; `false` if it is empty. */
  take(source: string): boolean {
    const nowMs = this.#clock.nowMs();
    const place = this.#placeOf(source, nowMs);
    this.#refill(place, nowMs);
    if ((this.#tokens[place] as number) < 1) return false;
    (this.#tokens[place] as number)--;
    return true;
  }

  /** Sources that have a bucket of their own. */
  get sources(): number {
    return this.#places.size;
  }

  #refill(place: number, nowMs: number): void {
    // A clock that was set back gives nothing.
    const passedMs = Math.max(0, nowMs - (this.#atMs[place] as number));
    this.#tokens[place] = Math.min(this.#burst, (this.#tokens[place] as number) + passedMs * this.#perMs);
    this.#atMs[place] = nowMs;
  }

  #placeOf(source: string, nowMs: number): number {
    const key = networkOf(source);
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    if (this.#freeCount === 0 && nowMs - this.#sweptMs >= SWEEP_MS) this.#sweep(nowMs);
    if (this.#freeCount === 0) return 0;
    const place = this.#free[--this.#freeCount] as number;
    this.#tokens[place] = this.#burst;
    this.#atMs[place] = nowMs;
    this.#places.set(key, place);
    return place;
  }

  /** A bucket that is full again says nothing about its source. */
  #sweep(nowMs: number): void {
    this.#sweptMs = nowMs;
    for (const [key, place] of this.#places) {
      this.#refill(place, nowMs);
      if ((this.#tokens[place] as number) < this.#burst) continue;
      this.#places.delete(key);
      this.#free[this.#freeCount++] = place;
    }
  }
}

function networkOf(source: string): string {
  if (!source.includes(":")) return source;
  const octets = parseIpv6(source);
  return octets === null ? source : octets.subarray(0, NETWORK_OCTETS).toHex();
}

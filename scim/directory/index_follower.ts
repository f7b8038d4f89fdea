// Applies to a counted index in memory what other nodes wrote: entries of its log at once, and buckets when all of them are of the same commit.

import type { Store } from "../../platform/store.ts";
import { CountedIndex, type CountedIndexOptions, type StoredLogEntry } from "./counted_index.ts";
import type { StoredBucket } from "./index_bucket.ts";

interface ChangedBucket {
  readonly value: StoredBucket | null;
  readonly versionstamp: string | null;
  /** The run after which it was read. */
  readonly run: number;
}

/** Loads the buckets and the log, and follows the other nodes from then on. @throws Error if a newer version wrote the index. */
export async function openCountedIndex(options: CountedIndexOptions): Promise<CountedIndex> {
  const index = new CountedIndex(options);
  if (options.nowMs === undefined) {
    await index.load();
    return index;
  }
  const follower = new IndexFollower(index, options.store);
  await index.load();
  follower.start();
  // What was read was not of one commit. What changed in the meantime is read again.
  await options.store.catchUp();
  return index;
}

/**
 * The log alone contains every change of the index. The buckets are replaced only as a whole: a split moves entries from one bucket to others, so
 * a part of it would hide entries.
 */
class IndexFollower {
  readonly #index: CountedIndex;
  readonly #buckets = new Map<string, ChangedBucket>();
  readonly #entries = new Map<number, StoredLogEntry | null>();
  #run = 0;
  #isLoaded = false;

  constructor(index: CountedIndex, store: Pick<Store, "follow" | "onRunEnd">) {
    const { prefix, log } = index.options;
    this.#index = index;
    store.follow(prefix, ({ key, value, versionstamp }) => {
      const [first, ...rest] = key.slice(prefix.length);
      // A number is the form of the index.
      if (typeof first === "number") return;
      const bound = [first, ...rest].join("\0");
      this.#buckets.set(bound, { value: value as StoredBucket | null, versionstamp, run: this.#run });
    });
    store.follow(
      log,
      ({ key, value }) => this.#entries.set(Number(key.at(-1)), value as StoredLogEntry | null),
    );
    store.onRunEnd((horizon) => this.#finishRun(horizon));
  }

  /** The index is loaded. */
  start(): void {
    this.#isLoaded = true;
  }

  /** Returns whether it needs another run. */
  #finishRun(horizon: string): boolean {
    this.#run++;
    if (!this.#isLoaded) return false;
    this.#applyEntries();
    if (this.#buckets.size === 0) return false;
    if (this.#hasLater(horizon)) return true;
    this.#index.applyBuckets(new Map([...this.#buckets].map(([bound, { value }]) => [bound, value])));
    this.#buckets.clear();
    return false;
  }

  #applyEntries(): void {
    if (this.#entries.size === 0) return;
    const removed: number[] = [];
    for (const [sequence, entry] of [...this.#entries].sort(([a], [b]) => a - b)) {
      if (entry === null) removed.push(sequence);
      else this.#index.applyEntry(sequence, entry);
    }
    this.#index.forgetEntries(removed);
    this.#entries.clear();
  }

  /** Whether a bucket may be of a commit whose other buckets the next run reads. A deleted bucket has no version, so it waits for a run. */
  #hasLater(horizon: string): boolean {
    for (const { versionstamp, run } of this.#buckets.values()) {
      if (versionstamp === null ? run === this.#run - 1 : versionstamp > horizon) return true;
    }
    return false;
  }
}

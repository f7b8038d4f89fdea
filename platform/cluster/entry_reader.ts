// Reads entries again and hands them to the parts that mirror them. An entry that this node is writing is read after its own write.

import { keyText } from "./change_log.ts";
import type { Followers } from "./followers.ts";

interface EntryReaderDeps {
  readonly kv: Pick<Deno.Kv, "getMany">;
  readonly followers: Followers;
  readonly ownWrites: OwnWrites;
}

/** Deno KV reads at most ten keys in one call. */
const MAX_KEYS = 10;
/** Calls that read values at the same time. */
const MAX_READS = 16;
/** How often a key is read again because this node wrote it in the meantime. */
const MAX_REREADS = 5;

/** Reads one after another, so that no value is applied after a newer one. */
export class EntryReader {
  readonly #deps: EntryReaderDeps;
  #last: Promise<void> = Promise.resolve();
  readonly #deferred = new Map<string, Deno.KvKey>();

  constructor(deps: EntryReaderDeps) {
    this.#deps = deps;
  }

  /** Reads keys and hands them to their followers. A key that this node writes all the time is left for {@link takeDeferred}. */
  reread(keys: readonly Deno.KvKey[]): Promise<void> {
    const { followers } = this.#deps;
    const wanted = keys.filter((key) => followers.needsValue(key));
    if (wanted.length === 0) return this.#last.catch(() => undefined);
    const reading = this.#last.catch(() => undefined).then(() => this.#reread(wanted));
    this.#last = reading;
    return reading;
  }

  /** Whether a value could not be applied, because this node writes its key all the time. */
  get hasDeferred(): boolean {
    return this.#deferred.size > 0;
  }

  /** Leaves keys for the next run. */
  defer(keys: readonly Deno.KvKey[]): void {
    for (const key of keys) this.#deferred.set(keyText(key), key);
  }

  /** The keys whose values could not be applied, for the next run. */
  takeDeferred(): readonly Deno.KvKey[] {
    const keys = [...this.#deferred.values()];
    this.#deferred.clear();
    return keys;
  }

  async #reread(wanted: readonly Deno.KvKey[]): Promise<void> {
    const { followers, ownWrites } = this.#deps;
    let left = wanted;
    for (let tries = 0; left.length > 0; tries++) {
      if (tries === MAX_REREADS) return this.defer(left);
      const since = ownWrites.mark();
      const again: Deno.KvKey[] = [];
      await this.#readValues(left, (entry) => {
        // A value that was read before the end of an own write may be older than that write.
        if (ownWrites.touched(entry.key, since)) again.push(entry.key);
        else followers.apply(entry);
      });
      if (again.length > 0) await ownWrites.settled(again);
      left = again;
    }
  }

  async #readValues(
    keys: readonly Deno.KvKey[],
    take: (entry: Deno.KvEntryMaybe<unknown>) => void,
  ): Promise<void> {
    const calls: Deno.KvKey[][] = [];
    for (let at = 0; at < keys.length; at += MAX_KEYS) calls.push(keys.slice(at, at + MAX_KEYS));
    for (let at = 0; at < calls.length; at += MAX_READS) {
      const together = calls.slice(at, at + MAX_READS).map((call) => this.#deps.kv.getMany<unknown[]>(call));
      for (const entries of await Promise.all(together)) for (const entry of entries) take(entry);
    }
  }
}

/** Which followed keys this node is writing, or wrote since a mark. */
export class OwnWrites {
  readonly #running = new Map<string, number>();
  readonly #finished = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  #tick = 0;

  begin(keys: readonly Deno.KvKey[]): void {
    for (const key of keys) {
      const text = keyText(key);
      this.#running.set(text, (this.#running.get(text) ?? 0) + 1);
    }
  }

  end(keys: readonly Deno.KvKey[]): void {
    this.#tick++;
    for (const key of keys) {
      const text = keyText(key);
      const running = (this.#running.get(text) ?? 1) - 1;
      if (running === 0) this.#running.delete(text);
      else this.#running.set(text, running);
      this.#finished.delete(text);
      this.#finished.set(text, this.#tick);
      for (const { left } of this.#waiting) countDown(left, text);
    }
    for (const oldest of this.#finished.keys()) {
      if (this.#finished.size <= MAX_FINISHED) break;
      this.#finished.delete(oldest);
    }
    for (const waiting of this.#waiting) {
      if (waiting.left.size > 0) continue;
      this.#waiting.delete(waiting);
      waiting.resume();
    }
  }

  /** The present, for {@link touched}. */
  mark(): number {
    return this.#tick;
  }

  /** Whether this node is writing the key, or finished a write of it after `mark`. */
  touched(key: Deno.KvKey, mark: number): boolean {
    const text = keyText(key);
    return this.#running.has(text) || (this.#finished.get(text) ?? 0) > mark;
  }

  /** Resolves when the writes of these keys that run now have ended. */
  settled(keys: readonly Deno.KvKey[]): Promise<void> {
    const left = new Map<string, number>();
    for (const text of keys.map(keyText)) {
      const running = this.#running.get(text);
      if (running !== undefined) left.set(text, running);
    }
    if (left.size === 0) return Promise.resolve();
    return new Promise((resume) => void this.#waiting.add({ left, resume }));
  }
}

interface Waiting {
  /** How many writes of each key have not ended. */
  readonly left: Map<string, number>;
  readonly resume: () => void;
}

function countDown(left: Map<string, number>, text: string): void {
  const count = left.get(text);
  if (count === undefined) return;
  if (count === 1) left.delete(text);
  else left.set(text, count - 1);
}

/** More writes than this node finishes while a read is in progress. */
const MAX_FINISHED = 20_000;

// Reads the change logs of the other nodes, reads the changed keys again, and hands them to the parts that mirror them.

import { changeKey, HEAD_PREFIX, keyText, type LogHead } from "./change_log.ts";
import type { EntryReader } from "./entry_reader.ts";
import type { Followers } from "./followers.ts";
import { createSingleFlight } from "../semaphore.ts";

export interface ChangeReaderDeps {
  readonly kv: Deno.Kv;
  readonly followers: Followers;
  readonly entries: EntryReader;
  /** Whether a lane belongs to this process. */
  readonly isOwnLane: (lane: string) => boolean;
  readonly nowMs: () => number;
  /** Called when the log of another node no longer contains everything that this node has not read. */
  readonly onGap: (lane: string) => void;
}

/** Entries of one lane that are read in one call. */
const MAX_ENTRIES = 500;
/** How often a run is repeated because a follower got a part of a later commit. */
const MAX_RUNS = 5;

interface FoundHead {
  readonly lane: string;
  readonly seq: number;
}

export class ChangeReader {
  readonly #deps: ChangeReaderDeps;
  #seen = new Map<string, number>();
  #atStart: ReadonlyMap<string, number> = new Map();
  #isRewound = false;
  readonly #singleFlight = createSingleFlight<void>();
  #caughtUpMs: number;
  #tookMs = 0;
  #changes = 0;

  constructor(deps: ChangeReaderDeps) {
    this.#deps = deps;
    this.#caughtUpMs = deps.nowMs();
  }

  /** When this node last had all changes (milliseconds since the epoch). */
  get caughtUpMs(): number {
    return this.#caughtUpMs;
  }

  /** How long the last run took, in milliseconds. */
  get tookMs(): number {
    return this.#tookMs;
  }

  /** How many changed keys of other nodes were read. */
  get changes(): number {
    return this.#changes;
  }

  /** Remembers the present position of all logs. Call it before anything is loaded into memory. */
  async start(): Promise<void> {
    const { heads } = await this.#readHeads();
    for (const { lane, seq } of heads) this.#seen.set(lane, seq);
    this.#atStart = new Map(this.#seen);
  }

  /** Returns to the position of the start, because a part that was being loaded may have missed a change. The next run reads them again. */
  rewind(): void {
    this.#isRewound = true;
  }

  /** Resolves when memory contains every change that other nodes committed before the call. */
  catchUp(): Promise<void> {
    return this.#singleFlight(async () => {
      let runs = 1;
      while (await this.#catchUp() && runs < MAX_RUNS) runs++;
    });
  }

  /** Returns whether a follower needs another run. */
  async #catchUp(): Promise<boolean> {
    const startedMs = this.#deps.nowMs();
    const keys = new Map<string, Deno.KvKey>();
    if (this.#isRewound) this.#seen = new Map(this.#atStart);
    this.#isRewound = false;
    const { heads, horizon } = await this.#readHeads();
    const reached = await Promise.all(heads.map((head) => this.#readLane(head, keys)));
    const deferred = this.#deps.entries.takeDeferred();
    for (const key of deferred) keys.set(keyText(key), key);
    if (keys.size > 0) {
      this.#changes += keys.size;
      const changed = [...keys.values()];
      for (const key of changed) this.#deps.followers.groupChanged(key);
      await this.#deps.entries.reread(changed).catch((fault: unknown) => {
        this.#deps.entries.defer(deferred);
        throw fault;
      });
    }
    // Only now: if a read fails, the next run reads the same entries again.
    for (const [at, { lane }] of heads.entries()) this.#seen.set(lane, reached[at] as number);
    this.#forgetLanes(heads);
    this.#caughtUpMs = startedMs;
    this.#tookMs = this.#deps.nowMs() - startedMs;
    return this.#deps.followers.finishRun(horizon) || this.#deps.entries.hasDeferred;
  }

  /** The heads of the other nodes, and the versionstamp of the newest batch of all. */
  async #readHeads(): Promise<{ heads: FoundHead[]; horizon: string }> {
    const heads: FoundHead[] = [];
    let horizon = "";
    for await (
      const { key, value, versionstamp } of this.#deps.kv.list<LogHead>({ prefix: HEAD_PREFIX }, {
        batchSize: 500,
      })
    ) {
      const lane = String(key[1]);
      if (versionstamp > horizon) horizon = versionstamp;
      if (!this.#deps.isOwnLane(lane)) heads.push({ lane, seq: value.seq });
    }
    return { heads, horizon };
  }

  /** Adds the changed keys of a lane to `keys`. Returns the number of the last entry. */
  async #readLane({ lane, seq }: FoundHead, keys: Map<string, Deno.KvKey>): Promise<number> {
    let next = (this.#seen.get(lane) ?? 0) + 1;
    while (next <= seq) {
      const selector = { start: changeKey(lane, next), end: changeKey(lane, seq + 1) };
      const options = { limit: MAX_ENTRIES, batchSize: MAX_ENTRIES };
      let isFirst = true;
      for await (const { key, value } of this.#deps.kv.list<Deno.KvKey[]>(selector, options)) {
        if (key[2] !== next) this.#deps.onGap(lane);
        isFirst = false;
        for (const changed of value) keys.set(keyText(changed), changed);
        next = Number(key[2]) + 1;
      }
      if (!isFirst) continue;
      this.#deps.onGap(lane);
      return seq;
    }
    return seq;
  }

  /** The heads of lanes that ended long ago expire. */
  #forgetLanes(heads: readonly FoundHead[]): void {
    if (this.#seen.size <= heads.length) return;
    const present = new Set(heads.map(({ lane }) => lane));
    for (const lane of this.#seen.keys()) if (!present.has(lane)) this.#seen.delete(lane);
  }
}

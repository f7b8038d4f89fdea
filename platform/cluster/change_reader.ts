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
interface FoundHead {
  readonly lane: string;
  readonly seq: number;
}

export class ChangeReader {
  readonly #deps: ChangeReaderDeps;
  readonly #seen = new Map<string, number>();
  readonly #singleFlight = createSingleFlight<void>();
  #caughtUpMs: number;
  #changes = 0;

  constructor(deps: ChangeReaderDeps) {
    this.#deps = deps;
    this.#caughtUpMs = deps.nowMs();
  }

  /** When this node last had all changes (milliseconds since the epoch). */
  get caughtUpMs(): number {
    return this.#caughtUpMs;
  }

  /** How many changed keys of other nodes were read. */
  get changes(): number {
    return this.#changes;
  }

  /** Remembers the present position of all logs. Call it before anything is loaded into memory. */
  async start(): Promise<void> {
    for (const { lane, seq } of await this.#readHeads()) this.#seen.set(lane, seq);
  }

  /** Resolves when memory contains every change that other nodes committed before the call. */
  catchUp(): Promise<void> {
    return this.#singleFlight(() => this.#catchUp());
  }

  async #catchUp(): Promise<void> {
    const startedMs = this.#deps.nowMs();
    const keys = new Map<string, Deno.KvKey>();
    const heads = await this.#readHeads();
    const reached = await Promise.all(heads.map((head) => this.#readLane(head, keys)));
    if (keys.size > 0) {
      this.#changes += keys.size;
      const changed = [...keys.values()];
      for (const key of changed) this.#deps.followers.groupChanged(key);
      await this.#deps.entries.reread(changed);
    }
    // Only now: if a read fails, the next run reads the same entries again.
    for (const [at, { lane }] of heads.entries()) this.#seen.set(lane, reached[at] as number);
    this.#forgetLanes(heads);
    this.#caughtUpMs = startedMs;
  }

  async #readHeads(): Promise<FoundHead[]> {
    const heads: FoundHead[] = [];
    for await (
      const { key, value } of this.#deps.kv.list<LogHead>({ prefix: HEAD_PREFIX }, { batchSize: 500 })
    ) {
      const lane = String(key[1]);
      if (!this.#deps.isOwnLane(lane)) heads.push({ lane, seq: value.seq });
    }
    return heads;
  }

  /** Adds the changed keys of a lane to `keys`. Returns the number of the last entry. */
  async #readLane({ lane, seq }: FoundHead, keys: Map<string, Deno.KvKey>): Promise<number> {
    let next = (this.#seen.get(lane) ?? 0) + 1;
    while (next <= seq) {
      const selector = { start: changeKey(lane, next), end: changeKey(lane, seq + 1) };
      const options = { limit: MAX_ENTRIES, batchSize: MAX_ENTRIES };
      let isFirst = true;
      for await (const { key, value } of this.#deps.kv.list<Deno.KvKey[]>(selector, options)) {
        if (isFirst && key[2] !== next) this.#deps.onGap(lane);
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

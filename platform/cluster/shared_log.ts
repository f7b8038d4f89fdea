// This node's part in a shared store: its change log in two lanes, its followers, and the reader of the logs of other nodes.

import { type Clock, pauseFor } from "../runtime.ts";
import { type WatchingKv, watchingKv } from "../watching_kv.ts";
import { ChangeReader } from "./change_reader.ts";
import { type LoggedBatch, LogLane, LostHead } from "./change_log.ts";
import { EntryReader, OwnWrites } from "./entry_reader.ts";
import { Followers } from "./followers.ts";

/** The lanes of the commit queue, with a log each, because their batches overlap. */
export const LANES = ["any", "journal"] as const;
export type LaneName = typeof LANES[number];

export interface SharedLogDeps {
  readonly kv: Deno.Kv;
  /** Differs for each run of a process. */
  readonly node: string;
  readonly clock: Clock;
  /** The log of another node no longer contains what this node has not read. */
  readonly onGap: (lane: string) => void;
}

const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 2000;

/** What this node writes to the change log, and what it reads of other nodes. */
export class SharedLog {
  readonly followers = new Followers();
  readonly entries: EntryReader;
  readonly reader: ChangeReader;
  readonly #deps: SharedLogDeps;
  readonly #lanes: Record<LaneName, LogLane>;
  readonly #ownWrites = new OwnWrites();
  #isClosed = false;

  constructor(deps: SharedLogDeps) {
    const { kv, node, clock: { nowMs }, onGap } = deps;
    const { followers } = this;
    this.#deps = deps;
    this.#lanes = {
      any: new LogLane({ kv, name: `${node}.any`, nowMs }),
      journal: new LogLane({ kv, name: `${node}.journal`, nowMs }),
    };
    const own = new Set(Object.values(this.#lanes).map(({ name }) => name));
    this.entries = new EntryReader({ kv, followers, ownWrites: this.#ownWrites });
    this.reader = new ChangeReader({
      ...{ kv, followers, entries: this.entries, nowMs, onGap },
      isOwnLane: (lane) => own.has(lane),
    });
  }

  /** `null` if the store does not say when a log changes. */
  get watching(): WatchingKv | null {
    return watchingKv(this.#deps.kv);
  }

  /** Adds the changed keys of a batch to its atomic operation. */
  begin(lane: LaneName, atomic: Deno.AtomicOperation, keys: readonly Deno.KvKey[]): StartedBatch {
    const batch = this.#lanes[lane].add(atomic, this.#logged(keys));
    return {
      applied: (versionstamp) => this.#lanes[lane].applied(batch, versionstamp),
      findOutcome: (options, onSilent) =>
        this.#findOutcome(this.#lanes[lane], batch, { ...options, onSilent }),
    };
  }

  /** Notes that this node is going to write keys, from the moment in which memory has the change. Returns a function that ends the note. */
  beginWrite(keys: readonly Deno.KvKey[]): () => void {
    const logged = this.#logged(keys);
    this.#ownWrites.begin(logged);
    return () => this.#ownWrites.end(logged);
  }

  /** The keys as the change log contains them. */
  #logged(keys: readonly Deno.KvKey[]): Deno.KvKey[] {
    return keys.map((key) => this.followers.loggedKey(key)).filter((key) => key !== null);
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Asks until the store answers. */
  async #findOutcome(
    lane: LogLane,
    batch: LoggedBatch,
    { onSilent = () => undefined, ...options }: {
      mayArriveLate: boolean;
      onSilent?: (() => void) | undefined;
    },
  ): Promise<string | null> {
    for (let delayMs = FIRST_RETRY_MS;; delayMs = Math.min(MAX_RETRY_MS, delayMs * 2)) {
      try {
        return await lane.findOutcome(batch, options);
      } catch (fault) {
        if (fault instanceof LostHead) this.#deps.onGap(lane.name);
        if (this.#isClosed || fault instanceof LostHead) throw fault;
        onSilent();
        await pauseFor(this.#deps.clock, delayMs);
      }
    }
  }
}

/** A batch that is being committed. */
export interface StartedBatch {
  applied(versionstamp: string): void;
  /**
   * The versionstamp of a batch whose commit failed, or `null` if it was not applied. `mayArriveLate`: no answer came.
   *
   * @param onSilent called each time when the store does not answer this question either
   */
  findOutcome(options: { mayArriveLate: boolean }, onSilent?: () => void): Promise<string | null>;
}

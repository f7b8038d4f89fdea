// This node's part in a shared store: its change log in two lanes, its followers, and the reader of the logs of other nodes.

import { type Clock, pauseFor } from "../runtime.ts";
import { createSingleFlight } from "../semaphore.ts";
import { type WatchingKv, watchingKv } from "../watching_kv.ts";
import {
  changeKey,
  Followers,
  HEAD_PREFIX,
  keyText,
  type LoggedBatch,
  type LogHead,
  LogLane,
  LostHead,
} from "./change_log.ts";

/** The lanes of the commit queue, with a log each, because their batches overlap. */
export const LANES = ["any", "journal"] as const;
export type LaneName = typeof LANES[number];

interface SharedLogDeps {
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

// Reads the change logs of the other nodes, reads the changed keys again, and hands them to the parts that mirror them.

interface ChangeReaderDeps {
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

class ChangeReader {
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

// Reads entries again and hands them to the parts that mirror them. An entry that this node is writing is read after its own write.

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
class EntryReader {
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

// Reads the changes of other nodes also while no packet and no request asks for them, so that pages and phones see them. If the store can say
// when the logs change, it does so at once; otherwise by asking ten times a second.

import type { Log } from "../log.ts";
import type { Clock } from "../runtime.ts";
import type { WatchingKv } from "../watching_kv.ts";
import { HEAD_PREFIX } from "./change_log.ts";
import { LANES } from "./shared_log.ts";

export interface LogFollowerDeps {
  /** `null`: the store does not say when a log changes. */
  readonly kv: WatchingKv | null;
  readonly clock: Clock;
  readonly log: Log;
  /** Reads the changes. */
  readonly catchUp: () => Promise<void> | null;
  /** When this node last had all changes. */
  readonly caughtUpMs: () => number;
  /** The other nodes that run. */
  readonly peers: () => readonly string[];
}

/** The least time between two readings. */
const PAUSE_MS = 100;
/** A node without others finds a new one at its next beat. */
const ALONE_MS = 1000;
/** The other nodes move the heads of their logs with each beat, once a second. */
const WATCH_MS = 2500;
/** After a watch that could not begin, the node asks for this time. */
const RETRY_MS = 10_000;
/** A watch has at most ten keys. */
const MAX_KEYS = 10;

export class LogFollower {
  readonly #deps: LogFollowerDeps;
  #retryAtMs = 0;
  #isClosed = false;
  #endPause = (): void => undefined;

  constructor(deps: LogFollowerDeps) {
    this.#deps = deps;
  }

  /** Follows until {@link close}. Never rejects. */
  async run(): Promise<void> {
    const { clock, caughtUpMs } = this.#deps;
    for (;;) {
      await this.#pause(PAUSE_MS);
      if (this.#isClosed) return;
      // Under load, packets and requests read the changes.
      if (caughtUpMs() > clock.nowMs() - PAUSE_MS) continue;
      await this.#waitForChange();
      if (this.#isClosed) return;
      await this.#catchUp();
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#endPause();
  }

  /** Returns at once if no log can be watched. */
  async #waitForChange(): Promise<void> {
    const { kv, clock, log, peers } = this.#deps;
    if (kv === null || clock.nowMs() < this.#retryAtMs) return;
    const keys = peers().flatMap((node) => LANES.map((lane) => [...HEAD_PREFIX, `${node}.${lane}`]));
    if (keys.length === 0) return await this.#pause(ALONE_MS);
    if (keys.length > MAX_KEYS) return;
    let isReady = false;
    const onReady = (): void => {
      isReady = true;
      // What changed before is not in the watch.
      void this.#catchUp();
    };
    try {
      await kv.waitForChange(keys, { onReady, timeoutMs: WATCH_MS });
    } catch (fault) {
      if (isReady) return;
      this.#retryAtMs = clock.nowMs() + RETRY_MS;
      log.debug("the logs of the other nodes cannot be watched", { fault: String(fault) });
    }
  }

  async #catchUp(): Promise<void> {
    try {
      await this.#deps.catchUp();
    } catch (fault) {
      this.#deps.log.debug("the changes of other nodes cannot be read", { fault: String(fault) });
    }
  }

  #pause(forMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#deps.clock.after(forMs, resolve);
      this.#endPause = () => {
        cancel();
        resolve();
      };
    });
  }
}

// Packets that wait until this node knows what the other nodes recorded. With one node, no packet waits.

import type { Log } from "../../platform/log.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Store } from "../../platform/store.ts";

/** Exactly one of the two functions is called. */
interface CatchUpPacket {
  resume(): void;
  fail(why: "store_not_answering" | "too_busy"): void;
}

interface CatchUpQueueDeps {
  readonly store: Pick<Store, "catchUp">;
  readonly clock: Clock;
  readonly log: Log;
}

/** A client sends its packet again after some seconds, or asks another server. */
const MAX_WAIT_MS = 3000;
const MAX_WAITING = 20_000;

export class CatchUpQueue {
  readonly #deps: CatchUpQueueDeps;
  /** The packets of the run in progress, and those of the next one. A run has no change that was recorded after its start. */
  #current: CatchUpPacket[] = [];
  #next: CatchUpPacket[] = [];
  #isRunning = false;

  constructor(deps: CatchUpQueueDeps) {
    this.#deps = deps;
  }

  get waiting(): number {
    return this.#current.length + this.#next.length;
  }

  /** Resumes a packet when memory has every change that other nodes recorded before the call. */
  enqueue(packet: CatchUpPacket): void {
    if (this.waiting >= MAX_WAITING) return packet.fail("too_busy");
    this.#next.push(packet);
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#next.length > 0) {
      this.#current = this.#next;
      this.#next = [];
      const isCurrent = await this.#catchUp();
      const packets = this.#current;
      this.#current = [];
      for (const packet of packets) this.#settle(packet, isCurrent);
    }
    this.#isRunning = false;
  }

  /** `false`: the store did not answer in time. */
  async #catchUp(): Promise<boolean> {
    const { store, clock, log } = this.#deps;
    const { promise: late, resolve } = Promise.withResolvers<false>();
    const cancel = clock.after(MAX_WAIT_MS, () => resolve(false));
    try {
      return await Promise.race([store.catchUp()?.then(() => true) ?? true, late]);
    } catch (fault) {
      log.debug("the changes of other nodes cannot be read", { fault: String(fault) });
      return false;
    } finally {
      cancel();
    }
  }

  /** A packet that fails does not stop the packets after it. */
  #settle(packet: CatchUpPacket, isCurrent: boolean): void {
    try {
      if (isCurrent) packet.resume();
      else packet.fail("store_not_answering");
    } catch (fault) {
      this.#deps.log.error("a waiting packet could not be handled", { fault: String(fault) });
    }
  }
}

// Delivers the pending writes of one backend: in order, a few resources at a time, and only while this node holds the lease of the target.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Log } from "../../platform/log.ts";
import { LeaseUnavailable } from "../../platform/cluster/lease.ts";
import { type Clock, withTimeout } from "../../platform/runtime.ts";
import type { Backend } from "../backend_port.ts";
import type { TargetLease } from "../directory/target_lease.ts";
import { deliver, type DeliveryDeps, isUnavailable, lockKey, retryDelayMs } from "./delivery.ts";
import type { OutboxEntry, StoredEntry } from "./outbox.ts";

export interface DeliveryWorkerDeps extends DeliveryDeps {
  readonly backend: Backend;
  readonly lease: Pick<TargetLease, "isHeld" | "claim" | "runIfHeld">;
  readonly log: Log;
}

const MAX_CONCURRENT = 4;
/** A node that stopped leaves entries without a notification. */
const POLL_INTERVAL_MS = 30_000;
const STORE_RETRY_MS = 5000;
/** Another node has the lease and delivers. If it releases the lease with entries left, this node takes it within this time. */
const LEASE_RETRY_MS = 5000;
const CLOSE_TIMEOUT_MS = 5000;

export class DeliveryWorker {
  readonly #deps: DeliveryWorkerDeps;
  readonly #signal: WakeSignal;
  readonly #running: Promise<void>;
  readonly #active = new Map<string, Promise<void>>();
  #isClosed = false;
  #hasWaitingGroup = false;
  /** How often in a row the backend was unavailable. After a failure, one entry at a time is tried when the pause ends. */
  #failures = 0;
  #pausedUntilMs = 0;
  #nextDueMs = Number.POSITIVE_INFINITY;

  /** Starts to deliver. */
  constructor(deps: DeliveryWorkerDeps) {
    this.#deps = deps;
    this.#signal = new WakeSignal(deps.clock);
    this.#running = this.#run();
  }

  /** Call it after an entry was added. */
  wake(): void {
    this.#signal.wake();
  }

  /** Waits for the current deliveries, up to a limit. Pending writes stay in the store. */
  async close(): Promise<void> {
    const { clock } = this.#deps;
    this.#isClosed = true;
    this.#signal.wake();
    const ended = Promise.all([this.#running, ...this.#active.values()]);
    await withTimeout(ended, { clock, timeoutMs: CLOSE_TIMEOUT_MS });
  }

  async #run(): Promise<void> {
    const { clock } = this.#deps;
    while (!this.#isClosed) {
      try {
        await this.#startDue();
      } catch (fault) {
        this.#logError("the outbox cannot be read", fault);
        this.#dueAt(clock.nowMs() + STORE_RETRY_MS);
      }
      if (this.#isClosed) return;
      const untilMs = Math.max(this.#nextDueMs, this.#pausedUntilMs);
      await this.#signal.wait(Math.min(POLL_INTERVAL_MS, Math.max(0, untilMs - clock.nowMs())));
    }
  }

  /** Reads the pending writes once, and starts those that are due. */
  async #startDue(): Promise<void> {
    const { outbox, backend, clock, lease } = this.#deps;
    this.#nextDueMs = Number.POSITIVE_INFINITY;
    this.#hasWaitingGroup = false;
    // Each added write wakes the worker. While the backend is unavailable, that must not read the outbox each time.
    if (this.#isPaused) return this.#dueAt(this.#pausedUntilMs);
    const earlier = new EarlierRenames();
    for await (const known of outbox.live(backend.name)) {
      const key = lockKey(known.entry.kind, known.entry.name);
      const mustWait = earlier.mustWait(known.entry);
      earlier.add(known.entry);
      if (mustWait || this.#active.has(key)) continue;
      if (known.entry.nextMs > clock.nowMs()) {
        this.#dueAt(known.entry.nextMs);
        continue;
      }
      while (this.#isFull && !this.#isClosed) await Promise.race(this.#active.values());
      if (await this.#waitsForMember(known.entry)) continue;
      if (this.#isClosed) return;
      if (this.#isPaused) return this.#dueAt(this.#pausedUntilMs);
      const isStarted = (lease.isHeld || await lease.claim()) && this.#start(key, known);
      if (!isStarted) return this.#dueAt(clock.nowMs() + LEASE_RETRY_MS);
    }
  }

  /** Returns `false` if this node does not hold the lease, or must hand it over. */
  #start(key: string, known: StoredEntry): boolean {
    const delivery = this.#deps.lease.runIfHeld(() => this.#deliver(known));
    if (delivery === null) return false;
    const work = delivery.catch((fault) => {
      if (!(fault instanceof LeaseUnavailable)) this.#logError("a delivery was not recorded", fault);
      // The entry is still due, so without a pause it would be tried again at once.
      this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#deps.clock.nowMs() + STORE_RETRY_MS);
      this.#signal.wake();
    }).finally(() => {
      this.#active.delete(key);
      if (this.#hasWaitingGroup) this.#signal.wake();
    });
    this.#active.set(key, work);
    return true;
  }

  async #deliver(known: StoredEntry): Promise<void> {
    const { log, target, clock, random, backend } = this.#deps;
    const { outcome, ...ended } = await deliver(this.#deps, { backend, known });
    if (outcome === "superseded") this.#dueAt(0);
    if (outcome !== "done") this.#signal.wake();
    if (!("fault" in ended)) {
      if (outcome === "done") this.#failures = 0;
      // Entries that came later may wait for it.
      if (known.entry.from !== undefined) this.#signal.wake();
      return;
    }
    const { fault, nextMs } = ended;
    const { kind, name, operation, attempts } = known.entry;
    log.warn("a write to a backend is still pending", {
      target,
      backend: backend.name,
      [kind]: name,
      operation,
      attempts: attempts + 1,
      givenUp: nextMs === null,
      why: fault.detail,
    });
    if (nextMs !== null) this.#dueAt(nextMs);
    if (!isUnavailable(fault)) this.#failures = 0;
    else if (!this.#isPaused) {
      this.#failures++;
      const chance = (random.bytes(1)[0] ?? 0) / 256;
      this.#pausedUntilMs = clock.nowMs() + retryDelayMs(fault, { attempts: this.#failures, chance });
    }
  }

  get #isFull(): boolean {
    return this.#active.size >= (this.#failures > 0 ? 1 : MAX_CONCURRENT);
  }

  /** Whether a member of the group is being delivered. A backend omits members that it does not have yet. */
  async #waitsForMember({ kind, name }: OutboxEntry): Promise<boolean> {
    if (kind !== "group" || !this.#active.keys().some((key) => key.startsWith("user "))) return false;
    const content = (await this.#deps.directory.read("group", canonicalName(name)))?.content;
    if (content?.kind !== "group") return false;
    const waits = content.members.some((one) => this.#active.has(lockKey("user", one)));
    this.#hasWaitingGroup ||= waits;
    return waits;
  }

  get #isPaused(): boolean {
    return this.#deps.clock.nowMs() < this.#pausedUntilMs;
  }

  #dueAt(atMs: number): void {
    this.#nextDueMs = Math.min(this.#nextDueMs, atMs);
  }

  #logError(message: string, fault: unknown): void {
    const { log, target, backend } = this.#deps;
    log.error(message, {
      target,
      backend: backend.name,
      error: fault instanceof Error ? fault.message : "unknown",
    });
  }
}

/** The renames among the entries that were read before. Each frees names at the backend, and groups name users as they are called afterwards. */
class EarlierRenames {
  readonly #names = new Set<string>();
  #hasUser = false;

  mustWait({ kind, name, from = [] }: OutboxEntry): boolean {
    return [name, ...from].some((one) => this.#names.has(lockKey(kind, one))) ||
      (kind === "group" && this.#hasUser);
  }

  add({ kind, from = [] }: OutboxEntry): void {
    for (const name of from) this.#names.add(lockKey(kind, name));
    this.#hasUser ||= kind === "user" && from.length > 0;
  }
}

/** Lets one waiter sleep until a wake-up or a timeout. A wake-up before the wait ends the wait at once. */
class WakeSignal {
  readonly #clock: Clock;
  #isWoken = false;
  #end: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wake(): void {
    this.#isWoken = true;
    this.#end?.();
  }

  async wait(timeoutMs: number): Promise<void> {
    if (!this.#isWoken) {
      await new Promise<void>((resolve) => {
        const cancel = this.#clock.after(timeoutMs, resolve);
        this.#end = () => {
          cancel();
          resolve();
        };
      });
    }
    this.#isWoken = false;
    this.#end = null;
  }
}

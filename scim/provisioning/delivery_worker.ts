// Delivers the pending writes of one backend: in order, a few resources at a time, and only while this node holds the lease.

import type { Log } from "../../platform/log.ts";
import { type CancelTimer, type Clock, withTimeout } from "../../platform/runtime.ts";
import type { Store } from "../../platform/store.ts";
import type { Backend } from "../backend_port.ts";
import { deliver, type DeliveryDeps, isUnavailable, lockKey, retryDelayMs } from "./delivery.ts";
import type { StoredEntry } from "./outbox.ts";

export interface DeliveryWorkerDeps extends DeliveryDeps {
  readonly backend: Backend;
  readonly lease: Lease;
  readonly log: Log;
}

const MAX_CONCURRENT = 4;
/** A node that crashed leaves entries without a notification. */
const POLL_INTERVAL_MS = 30_000;
const STORE_RETRY_MS = 5000;
const CLOSE_TIMEOUT_MS = 5000;

export class DeliveryWorker {
  readonly #deps: DeliveryWorkerDeps;
  readonly #signal: WakeSignal;
  readonly #running: Promise<void>;
  readonly #active = new Map<string, Promise<void>>();
  #isClosed = false;
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
    const { clock, lease } = this.#deps;
    this.#isClosed = true;
    this.#signal.wake();
    const ended = Promise.all([this.#running, ...this.#active.values()]);
    await withTimeout(ended, { clock, timeoutMs: CLOSE_TIMEOUT_MS });
    await lease.release().catch((fault) => this.#logError("the outbox's lease cannot be released", fault));
  }

  async #run(): Promise<void> {
    const { clock, lease } = this.#deps;
    while (!this.#isClosed) {
      try {
        await this.#startDue();
        if (this.#active.size === 0) await lease.release();
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
    // Each added write wakes the worker. While the backend is unavailable, that must not read the outbox each time.
    if (this.#isPaused) return this.#dueAt(this.#pausedUntilMs);
    for await (const known of outbox.live(backend.name)) {
      const key = lockKey(known.entry.kind, known.entry.name);
      if (this.#active.has(key)) continue;
      if (known.entry.nextMs > clock.nowMs()) {
        this.#dueAt(known.entry.nextMs);
        continue;
      }
      while (this.#isFull && !this.#isClosed) await Promise.race(this.#active.values());
      if (this.#isClosed) return;
      if (this.#isPaused) return this.#dueAt(this.#pausedUntilMs);
      if (!await lease.hold()) return this.#dueAt(lease.freeAtMs);
      this.#start(key, known);
    }
  }

  #start(key: string, known: StoredEntry): void {
    const work = this.#deliver(known).catch((fault) => {
      this.#logError("a delivery was not recorded", fault);
      this.#dueAt(this.#deps.clock.nowMs() + STORE_RETRY_MS);
      this.#signal.wake();
    }).finally(() => this.#active.delete(key));
    this.#active.set(key, work);
  }

  async #deliver(known: StoredEntry): Promise<void> {
    const { log, target, clock, random, backend } = this.#deps;
    const { outcome, ...ended } = await deliver(this.#deps, { backend, known });
    if (outcome === "superseded") this.#dueAt(0);
    if (outcome !== "done") this.#signal.wake();
    if (!("fault" in ended)) {
      if (outcome === "done") this.#failures = 0;
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

interface LeaseRecord {
  readonly owner: string;
  readonly untilMs: number;
}

/** Long enough for a slow disk, short enough after a process was killed. */
const LEASE_TTL_MS = 15_000;
const LEASE_RENEWAL_MS = 5000;

interface LeaseDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly key: Deno.KvKey;
  readonly owner: string;
}

/**
 * A lease in the store. If several nodes share a store, only the holder of the lease delivers. The value contains the deadline,
 * because the store deletes expired values late.
 */
export class Lease {
  readonly #deps: LeaseDeps;
  #heldUntilMs = 0;
  #freeAtMs = 0;
  #cancelRenewal: CancelTimer | null = null;

  constructor(deps: LeaseDeps) {
    this.#deps = deps;
  }

  /** When the lease of another node ends, as last seen. */
  get freeAtMs(): number {
    return this.#freeAtMs;
  }

  /** Takes or renews the lease; `false` if another node has it. The lease is then renewed until {@link release}. */
  async hold(): Promise<boolean> {
    if (this.#heldUntilMs - this.#deps.clock.nowMs() < LEASE_RENEWAL_MS && !await this.#take()) return false;
    this.#renewLater();
    return true;
  }

  /** Releases the lease, if this node has it. */
  async release(): Promise<void> {
    const { store, key, owner } = this.#deps;
    this.#cancelRenewal?.();
    this.#cancelRenewal = null;
    if (this.#heldUntilMs === 0) return;
    this.#heldUntilMs = 0;
    const { value, versionstamp } = await store.get<LeaseRecord>(key);
    if (value?.owner !== owner) return;
    await store.commit({ checks: [{ key, versionstamp }], mutations: [{ type: "delete", key }] });
  }

  async #take(): Promise<boolean> {
    const { store, clock, key, owner } = this.#deps;
    const { value, versionstamp } = await store.get<LeaseRecord>(key);
    const nowMs = clock.nowMs();
    if (value !== null && value.owner !== owner && value.untilMs > nowMs) {
      this.#heldUntilMs = 0;
      this.#freeAtMs = value.untilMs;
      return false;
    }
    const untilMs = nowMs + LEASE_TTL_MS;
    const { ok } = await store.commit({
      checks: [{ key, versionstamp }],
      mutations: [{ type: "set", key, value: { owner, untilMs } satisfies LeaseRecord }],
    });
    this.#heldUntilMs = ok ? untilMs : 0;
    this.#freeAtMs = ok ? 0 : nowMs + LEASE_RENEWAL_MS;
    return ok;
  }

  #renewLater(): void {
    this.#cancelRenewal ??= this.#deps.clock.after(LEASE_RENEWAL_MS, () => {
      this.#cancelRenewal = null;
      // If a renewal fails, the lease expires. The worker calls `hold` before the next delivery.
      void this.#take().then((isHeld) => isHeld ? this.#renewLater() : undefined, () => undefined);
    });
  }
}

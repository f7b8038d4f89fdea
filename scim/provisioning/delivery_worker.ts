// Delivers the pending writes of one backend: in order, a few resources at a time, and only while this node holds the lease of the target.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Log } from "../../platform/log.ts";
import { LeaseUnavailable } from "../../platform/cluster/lease.ts";
import { withTimeout } from "../../platform/runtime.ts";
import { WorkLoop } from "../../platform/work_loop.ts";
import type { Backend } from "../backend_port.ts";
import type { TargetLease } from "../directory/target_lease.ts";
import { deliver, type DeliveryDeps, isUnavailable, retryDelayMs } from "./delivery.ts";
import { resourceKey } from "./locks.ts";
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
  readonly #loop: WorkLoop;
  #hasWaitingGroup = false;
  /** How often in a row the backend was unavailable. After a failure, one entry at a time is tried when the pause ends. */
  #failures = 0;
  #pausedUntilMs = 0;

  /** Starts to deliver. */
  constructor(deps: DeliveryWorkerDeps) {
    this.#deps = deps;
    this.#loop = new WorkLoop({
      clock: deps.clock,
      intervalMs: POLL_INTERVAL_MS,
      pass: () => this.#startDue(),
      onFault: (fault) => this.#logError("the outbox cannot be read", fault),
      pausedUntilMs: () => this.#pausedUntilMs,
    });
    this.#loop.wake();
  }

  /** Call it after an entry was added. */
  wake(): void {
    this.#loop.wake();
  }

  /** Waits for the current deliveries, up to a limit. Pending writes stay in the store. */
  async close(): Promise<void> {
    await withTimeout(this.#loop.close(), { clock: this.#deps.clock, timeoutMs: CLOSE_TIMEOUT_MS });
  }

  /** Reads the pending writes once, and starts those that are due. */
  async #startDue(): Promise<void> {
    const { outbox, backend, clock, lease } = this.#deps;
    const loop = this.#loop;
    this.#hasWaitingGroup = false;
    // Each added write wakes the worker. While the backend is unavailable, that must not read the outbox each time.
    if (this.#isPaused) return loop.dueAt(this.#pausedUntilMs);
    const earlier = new EarlierRenames();
    for await (const known of outbox.live(backend.name)) {
      const key = resourceKey(known.entry);
      const mustWait = earlier.mustWait(known.entry);
      earlier.add(known.entry);
      if (mustWait || loop.active.has(key)) continue;
      if (known.entry.nextMs > clock.nowMs()) {
        loop.dueAt(known.entry.nextMs);
        continue;
      }
      while (this.#isFull && !loop.isClosed) await Promise.race(loop.active.values());
      if (await this.#waitsForMember(known.entry)) continue;
      if (loop.isClosed) return;
      if (this.#isPaused) return loop.dueAt(this.#pausedUntilMs);
      const isStarted = (lease.isHeld || await lease.claim()) && this.#start(key, known);
      if (!isStarted) return loop.dueAt(clock.nowMs() + LEASE_RETRY_MS);
    }
  }

  /** Returns `false` if this node does not hold the lease, or must hand it over. */
  #start(key: string, known: StoredEntry): boolean {
    const delivery = this.#deps.lease.runIfHeld(() => this.#deliver(known));
    if (delivery === null) return false;
    const task = delivery.catch((fault) => {
      if (!(fault instanceof LeaseUnavailable)) this.#logError("a delivery was not recorded", fault);
      // The entry is still due, so without a pause it would be tried again at once.
      this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#deps.clock.nowMs() + STORE_RETRY_MS);
      this.#loop.wake();
    });
    this.#loop.track(key, task, () => this.#hasWaitingGroup && this.#loop.wake());
    return true;
  }

  async #deliver(known: StoredEntry): Promise<void> {
    const { log, target, clock, random, backend } = this.#deps;
    const { outcome, ...ended } = await deliver(this.#deps, { backend, known });
    if (outcome === "superseded") this.#loop.dueAt(0);
    if (outcome !== "done") this.#loop.wake();
    if (!("fault" in ended)) {
      if (outcome === "done") this.#failures = 0;
      // Entries that came later may wait for it.
      if (known.entry.from !== undefined) this.#loop.wake();
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
    if (nextMs !== null) this.#loop.dueAt(nextMs);
    if (!isUnavailable(fault)) this.#failures = 0;
    else if (!this.#isPaused) {
      this.#failures++;
      this.#pausedUntilMs = clock.nowMs() + retryDelayMs(fault, this.#failures, random);
    }
  }

  get #isFull(): boolean {
    return this.#loop.active.size >= (this.#failures > 0 ? 1 : MAX_CONCURRENT);
  }

  /** Whether a member of the group is being delivered. A backend omits members that it does not have yet. */
  async #waitsForMember({ kind, name }: OutboxEntry): Promise<boolean> {
    if (kind !== "group" || !this.#loop.active.keys().some((key) => key.startsWith("user "))) return false;
    const content = (await this.#deps.directory.read("group", canonicalName(name)))?.content;
    if (content?.kind !== "group") return false;
    const waits = content.members.some((one) =>
      this.#loop.active.has(resourceKey({ kind: "user", name: one }))
    );
    this.#hasWaitingGroup ||= waits;
    return waits;
  }

  get #isPaused(): boolean {
    return this.#deps.clock.nowMs() < this.#pausedUntilMs;
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
    return [name, ...from].some((one) => this.#names.has(resourceKey({ kind, name: one }))) ||
      (kind === "group" && this.#hasUser);
  }

  add({ kind, from = [] }: OutboxEntry): void {
    for (const name of from) this.#names.add(resourceKey({ kind, name }));
    this.#hasUser ||= kind === "user" && from.length > 0;
  }
}

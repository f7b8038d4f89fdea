// A lease: work that one node does at a time. The record has no deadline, because clocks differ. It ends when its holder releases it, hands it
// over on request, or is dead. Each write under the lease checks the version of the record, so that a holder that lost the lease without knowing it
// cannot write (a fencing token).

import type { Log } from "../log.ts";
import type { Clock } from "../runtime.ts";
import type { Check, Store } from "../store.ts";
import type { Nodes } from "./nodes.ts";

/** The value under ["lease", name]. */
interface LeaseRecord {
  readonly node: string;
  readonly sinceMs: number;
}

/** The lease could not be had in time, or was lost. Nothing was written; the caller may try again. */
export class LeaseUnavailable extends Error {}

export interface LeaseDeps {
  readonly store: Pick<Store, "follow" | "get" | "commit" | "catchUp" | "reread" | "node">;
  readonly nodes: Pick<Nodes, "isAlive" | "onChange">;
  readonly clock: Clock;
  readonly log: Log;
  readonly name: string;
  /** Runs after the lease came from another node, before any task. Loads what the other node wrote and finishes what it left. */
  readonly onAcquired: () => Promise<void>;
  /** Another node wants the lease, or has it now. */
  readonly onLost?: () => void;
  /** Called at each beat while the holder is dead. */
  readonly onAbandoned?: () => void;
}

/** How long a task waits for the lease. */
const WAIT_MS = 30_000;
/** Without a notice, the record is read again after this time. */
const RECHECK_MS = 500;
/** A request is repeated after so many pauses. */
const ASK_AGAIN_EVERY = 4;
/** How long new tasks may still begin after another node asked for the lease. */
const KEEP_MS = 50;
const REQUEST_RETENTION_MS = 30_000;

/** The part of a lease that writers use. */
export interface WriteLease {
  readonly isHeld: boolean;
  /** Runs `task` while this node holds the lease. @throws LeaseUnavailable */
  run<T>(task: () => Promise<T>): Promise<T>;
  /** Runs `task` if this node holds the lease and no other node waits for it. Otherwise returns `null`. */
  runIfHeld<T>(task: () => Promise<T>): Promise<T> | null;
  /** The check that every write contains; `null` if no other node can write. */
  readonly check: Check | null;
  /** Call it after a write raced. @throws LeaseUnavailable if this node has lost the lease */
  confirm(): Promise<void>;
}

/** For a store that only this process uses. */
export const NO_LEASE: WriteLease = {
  isHeld: true,
  run: (task) => task(),
  runIfHeld: (task) => task(),
  check: null,
  confirm: () => Promise.resolve(),
};

export class NodeLease implements WriteLease {
  readonly #deps: LeaseDeps;
  readonly #key: Deno.KvKey;
  readonly #wantedKey: Deno.KvKey;
  #record: { value: LeaseRecord | null; versionstamp: string | null } = { value: null, versionstamp: null };
  #tasks = 0;
  #acquiring: Promise<void> | null = null;
  /** The request of another node. */
  #request: LeaseRecord | null = null;
  /** Until when new tasks may begin; `null`: no other node wants the lease. */
  #keepUntilMs: number | null = null;
  #isReady = false;
  #wake: (() => void)[] = [];
  #isClosed = false;

  constructor(deps: LeaseDeps) {
    this.#deps = deps;
    this.#key = ["lease", deps.name];
    this.#wantedKey = ["lease_wanted", deps.name];
    deps.store.follow(
      this.#key,
      ({ value, versionstamp }) => this.#apply(value as LeaseRecord | null, versionstamp),
    );
    deps.store.follow(this.#wantedKey, ({ value }) => {
      this.#request = value as LeaseRecord | null;
      this.#handleRequest();
    });
    deps.nodes.onChange(() => {
      this.#notify();
      if (this.isAbandoned) deps.onAbandoned?.();
    });
  }

  /** Whether this node holds the lease. */
  get isHeld(): boolean {
    return this.#isReady && this.#record.value?.node === this.#deps.store.node;
  }

  /** The node that holds the lease, as far as this node knows. */
  get holder(): string | null {
    return this.#record.value?.node ?? null;
  }

  /** Whether a dead node holds the lease. */
  get isAbandoned(): boolean {
    const { holder } = this;
    return holder !== null && !this.#deps.nodes.isAlive(holder);
  }

  /** The check that every write under the lease contains. */
  get check(): Check {
    return { key: this.#key, versionstamp: this.#record.versionstamp };
  }

  /**
   * Runs `task` while this node holds the lease. Tasks may overlap.
   *
   * @throws LeaseUnavailable if another node keeps the lease for too long
   */
  async run<T>(task: () => Promise<T>): Promise<T> {
    await this.#enter();
    return await this.#perform(task);
  }

  /** Runs `task` if this node holds the lease and no other node waits for it. Otherwise returns `null`. */
  runIfHeld<T>(task: () => Promise<T>): Promise<T> | null {
    if (!this.#mayBegin || this.#keepUntilMs !== null) return null;
    this.#tasks++;
    return this.#perform(task);
  }

  /** Runs a task that is counted already. */
  async #perform<T>(task: () => Promise<T>): Promise<T> {
    try {
      return await task();
    } finally {
      this.#tasks--;
      if (this.#tasks === 0 && this.#keepUntilMs !== null) void this.#release();
    }
  }

  /** Reads the record again, after a write under the lease raced. @throws LeaseUnavailable if another node has it */
  async confirm(): Promise<void> {
    await this.#deps.store.reread([this.#key]);
    if (!this.isHeld) throw new LeaseUnavailable(`Cannot write: the lease "${this.#deps.name}" was lost`);
  }

  /** Waits for the running tasks to end, and releases the lease. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#notify();
    while (this.#tasks > 0) await this.#pause();
    if (this.isHeld) await this.#release();
  }

  /** Counts the caller as a task of the lease. */
  async #enter(): Promise<void> {
    const { clock } = this.#deps;
    const untilMs = clock.nowMs() + WAIT_MS;
    while (!this.#mayBegin) {
      if (this.#isClosed || clock.nowMs() >= untilMs) {
        throw new LeaseUnavailable(`Cannot get the lease "${this.#deps.name}": another node keeps it`);
      }
      if (this.isHeld) await this.#pause();
      else await (this.#acquiring ??= this.#acquire(untilMs).finally(() => this.#acquiring = null));
    }
    this.#tasks++;
  }

  get #mayBegin(): boolean {
    if (!this.isHeld || this.#isClosed) return false;
    return this.#keepUntilMs === null || this.#deps.clock.nowMs() < this.#keepUntilMs;
  }

  /** Takes the lease if no living node holds it. For work that any node may do. */
  async claim(): Promise<boolean> {
    if (this.isHeld) return true;
    if (this.#acquiring !== null || this.#isClosed) return false;
    this.#acquiring = this.#take().then(() => undefined).finally(() => this.#acquiring = null);
    await this.#acquiring;
    return this.isHeld;
  }

  /** Tries until this node has the lease. */
  async #acquire(untilMs: number): Promise<void> {
    let asked = 0;
    while (!this.#isClosed && this.#deps.clock.nowMs() < untilMs) {
      const holder = await this.#take();
      if (holder === null) return;
      // The request is repeated, because its record expires, and the holder may have been busy with its own start.
      if (asked++ % ASK_AGAIN_EVERY === 0) await this.#ask(holder);
      await this.#pause();
    }
  }

  /** Takes the lease if no living node holds it, and returns `null`. Otherwise returns the holder. */
  async #take(): Promise<string | null> {
    const { store, nodes, clock } = this.#deps;
    await store.catchUp();
    await store.reread([this.#key]);
    const { value, versionstamp } = this.#record;
    const holder = value?.node ?? null;
    if (holder !== null && holder !== store.node && nodes.isAlive(holder)) return holder;
    const mine: LeaseRecord = { node: store.node, sinceMs: clock.nowMs() };
    const done = await store.commit({
      checks: [{ key: this.#key, versionstamp }],
      mutations: [{ type: "set", key: this.#key, value: mine }, { type: "delete", key: this.#wantedKey }],
    });
    if (!done.ok) return "another node";
    await this.#begin(mine, done.versionstamp, holder);
    return null;
  }

  async #begin(mine: LeaseRecord, versionstamp: string, former: string | null): Promise<void> {
    const { store, log, name, onAcquired } = this.#deps;
    this.#record = { value: mine, versionstamp };
    this.#request = null;
    this.#keepUntilMs = null;
    if (former !== null && former !== store.node) {
      log.warn("this node took over the work of a node that stopped", { lease: name, former });
    }
    // The former holder may have written until the commit above.
    await store.catchUp();
    await onAcquired();
    this.#isReady = true;
    this.#handleRequest();
    this.#notify();
  }

  async #ask(holder: string): Promise<void> {
    const { store, clock, log, name } = this.#deps;
    log.debug("this node asks for a lease", { lease: name, holder });
    const value: LeaseRecord = { node: store.node, sinceMs: clock.nowMs() };
    await store.commit({
      mutations: [{ type: "set", key: this.#wantedKey, value, expireInMs: REQUEST_RETENTION_MS }],
    });
  }

  #handleRequest(): void {
    const { store, clock } = this.#deps;
    const request = this.#request;
    if (request === null || request.node === store.node || !this.isHeld || this.#keepUntilMs !== null) return;
    this.#keepUntilMs = clock.nowMs() + KEEP_MS;
    this.#deps.onLost?.();
    if (this.#tasks === 0) void this.#release();
  }

  /** Gives the lease up. If the store fails, the node stays the holder and tries again when the next task ends. */
  async #release(): Promise<void> {
    const { store, log, name } = this.#deps;
    if (!this.#isReady) return;
    this.#isReady = false;
    const { versionstamp } = this.#record;
    try {
      await store.commit({
        checks: [{ key: this.#key, versionstamp }],
        mutations: [{ type: "delete", key: this.#key }],
      });
      await store.reread([this.#key]);
    } catch (fault) {
      log.warn("a lease could not be released", { lease: name, fault: String(fault) });
      this.#isReady = true;
    }
    this.#keepUntilMs = null;
    this.#notify();
  }

  #apply(value: LeaseRecord | null, versionstamp: string | null): void {
    const wasHeld = this.isHeld;
    this.#record = { value, versionstamp };
    if (wasHeld && !this.isHeld) {
      this.#isReady = false;
      this.#deps.onLost?.();
    }
    this.#notify();
  }

  /** Resolves at the next notice, or after a moment. */
  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#deps.clock.after(RECHECK_MS, resolve);
      this.#wake.push(() => {
        cancel();
        resolve();
      });
    });
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = [];
    for (const resume of wake) resume();
  }
}

// The lease and the locks of a target, and their one order. A write takes them from top to bottom and never goes back, so no two writes wait for each other:
//
//   1. the lease of the target: one node writes its resources, its outbox and its backends
//   2. users
//   3. users at a backend
//   4. groups
//   5. groups at a backend
//   6. the write queue of the directory (scim/directory/write_queue.ts), and at last the commit queue of the store
//
// Within one level, locks are in the order of backend and name. A deletion of a user holds 2 and 3 when it takes 4, because its groups change,
// too. A delivery takes 3 or 5, and takes 2 or 4 after it has released them. Who holds a lock of the queue takes no other lock.

import type { Cluster } from "../platform/cluster/cluster.ts";
import { LeaseUnavailable, NO_LEASE, type WriteLease } from "../platform/cluster/lease.ts";
import type { Log } from "../platform/log.ts";
import type { Store } from "../platform/store.ts";
import { canonicalName } from "../platform/canonical_name.ts";
import type { Clock } from "../platform/runtime.ts";
import { ScimRefusal } from "./http/refusals.ts";
import type { ResourceKind } from "./schema/resource.ts";

export interface TargetLease extends WriteLease {
  /** Whether other nodes use the store, too. */
  readonly isShared: boolean;
  /** Takes the lease if no living node holds it. */
  claim(): Promise<boolean>;
  /** The lease is not taken before `work` ends. */
  require(work: Promise<unknown>): void;
  /** Runs `task` each time this node gets the lease, before any other work. Tasks run in the order of the calls. */
  onAcquired(task: () => Promise<void>): void;
  /** The same store, whose commits fail with {@link LeaseUnavailable} if this node does not hold the lease. */
  fence(store: Store): Store;
}

/** For a store that only this process uses. */
export const SOLE_WRITER: TargetLease = {
  ...NO_LEASE,
  isShared: false,
  claim: () => Promise.resolve(true),
  require: () => undefined,
  onAcquired: () => undefined,
  fence: (store) => store,
};

interface TargetLeaseDeps {
  /** Absent: only this process uses the store. */
  readonly cluster?: Pick<Cluster, "isShared" | "openLease"> | undefined;
  readonly log: Log;
  readonly target: string;
}

/** Opens the lease of a target, and learns which node holds it. Call it once for each target. */
export async function openTargetLease({ cluster, log, target }: TargetLeaseDeps): Promise<TargetLease> {
  if (cluster === undefined || !cluster.isShared) return SOLE_WRITER;
  const tasks: (() => Promise<void>)[] = [];
  const required: Promise<unknown>[] = [];
  let isAcquiring = false;
  const lease = cluster.openLease(`target:${target}`, {
    async onAcquired() {
      isAcquiring = true;
      try {
        for (const task of tasks) await task();
      } finally {
        isAcquiring = false;
      }
    },
    onAbandoned: () =>
      void claim().catch((fault: unknown) =>
        log.warn("the work of a node that stopped could not be taken over; it is tried again", {
          target,
          fault: String(fault),
        })
      ),
  });
  const claim = async (): Promise<boolean> => {
    await Promise.all(required);
    return await lease.claim();
  };
  // This reads the record. Another node may hold the lease.
  await lease.confirm().catch((fault: unknown) => {
    if (!(fault instanceof LeaseUnavailable)) throw fault;
  });
  return {
    isShared: true,
    get isHeld() {
      return lease.isHeld;
    },
    get check() {
      return lease.check;
    },
    async run(task) {
      await Promise.all(required);
      return await lease.run(task);
    },
    runIfHeld: (task) => lease.runIfHeld(task),
    confirm: () => lease.confirm(),
    claim,
    require: (work) => void required.push(work),
    onAcquired: (task) => void tasks.push(task),
    fence: (store) => fencedStore(store, { lease, mayWrite: () => lease.isHeld || isAcquiring }),
  };
}

/** Each commit checks the lease, so a node that lost it without knowing it changes nothing. */
function fencedStore(
  store: Store,
  { lease, mayWrite }: { lease: Pick<WriteLease, "check" | "confirm">; mayWrite: () => boolean },
): Store {
  return {
    ...store,
    async commit(transaction) {
      const { check } = lease;
      if (!mayWrite() || check === null) {
        throw new LeaseUnavailable("Cannot write: this node does not hold the lease of the target");
      }
      const { checks = [], mutations } = transaction;
      const isConditional = checks.length > 0 ||
        mutations.some((one) => "basis" in one && one.basis !== undefined);
      const done = await store.commit({ ...transaction, checks: [...checks, check] });
      if (done.ok) return done;
      await lease.confirm();
      if (!isConditional) throw new LeaseUnavailable("Cannot write: the lease of the target changed");
      return done;
    },
  };
}

/** A resource, or with `backend` the resource at that backend. */
export interface Lockable {
  readonly kind: ResourceKind;
  readonly name: string;
  readonly backend?: string;
}

/** Locks that one caller holds. A second release does nothing. */
export interface HeldLocks {
  /** The last one in the order. */
  readonly last: string;
  release(): void;
}

const NO_LOCKS: HeldLocks = { last: "", release: () => undefined };

interface WriteLocksDeps {
  readonly clock: Clock;
  readonly lease: Pick<TargetLease, "run">;
  /** The maximum number of callers that wait for one lock. */
  readonly maxEach?: number;
  /** For all locks. */
  readonly maxAll?: number;
  /** The longest wait for a resource. */
  readonly waitMs?: number;
}

const MAX_EACH = 256;
const MAX_ALL = 4096;
const WAIT_MS = 30_000;
/** A delivery holds its lock during a call. */
const BACKEND_WAIT_MS = 120_000;

export class WriteLocks {
  readonly #deps: WriteLocksDeps;
  /** The callers that wait for each lock that is held. */
  readonly #queues = new Map<string, (() => void)[]>();
  #waiting = 0;

  constructor(deps: WriteLocksDeps) {
    this.#deps = deps;
  }

  /** Runs `task` under the lease. @throws ScimRefusal `busy` if another node keeps the lease, or took it meanwhile: nothing was changed. */
  async underLease<T>(task: () => Promise<T>): Promise<T> {
    try {
      return await this.#deps.lease.run(task);
    } catch (fault) {
      if (!(fault instanceof LeaseUnavailable)) throw fault;
      throw new ScimRefusal("busy", {
        detail: "Another node writes this directory. Try again in a moment.",
        headers: { "Retry-After": "1" },
        cause: fault,
      });
    }
  }

  /** Runs `task` under the lease and the locks of resources. @throws ScimRefusal `busy` */
  write<T>(wanted: readonly Lockable[], task: (held: HeldLocks) => Promise<T>): Promise<T> {
    return this.underLease(() => this.run(wanted, task));
  }

  /** Runs `task` under locks. The caller has the lease. @param outer what it holds already */
  async run<T>(
    wanted: readonly Lockable[],
    task: (held: HeldLocks) => Promise<T>,
    outer?: HeldLocks,
  ): Promise<T> {
    const held = await this.hold(wanted, outer);
    try {
      return await task(held);
    } finally {
      held.release();
    }
  }

  /**
   * Takes locks in their order. Rejects with the refusal `busy` if too many callers wait, or if it takes too long.
   * @param outer what the caller holds already. @throws Error if one of the locks comes before one that is held
   */
  async hold(wanted: readonly Lockable[], outer = NO_LOCKS): Promise<HeldLocks> {
    const keys = [...new Set(wanted.map(lockText))].sort();
    const [first = outer.last, last = outer.last] = [keys[0], keys.at(-1)];
    if (keys.length > 0 && first <= outer.last) {
      throw new Error(`Cannot take the lock ${first}: the caller holds ${outer.last}`);
    }
    const releases: (() => void)[] = [];
    const release = () => releases.forEach((one) => one());
    try {
      for (const key of keys) releases.push(this.#take(key) ?? await this.#wait(key));
      return { last, release };
    } catch (fault) {
      release();
      throw fault;
    }
  }

  /** Takes a lock if it is free, otherwise returns `null`. It never waits, so its place in the order does not matter. */
  tryHold(wanted: Lockable): HeldLocks | null {
    const last = lockText(wanted);
    const release = this.#take(last);
    return release === null ? null : { last, release };
  }

  #take(key: string): (() => void) | null {
    if (this.#queues.has(key)) return null;
    this.#queues.set(key, []);
    return this.#releaseOf(key);
  }

  #releaseOf(key: string): () => void {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      const next = this.#queues.get(key)?.shift();
      if (next === undefined) this.#queues.delete(key);
      else next();
    };
  }

  #wait(key: string): Promise<() => void> {
    const { clock, maxEach = MAX_EACH, maxAll = MAX_ALL, waitMs = WAIT_MS } = this.#deps;
    const queue = this.#queues.get(key) ?? [];
    if (queue.length >= maxEach || this.#waiting >= maxAll) return Promise.reject(busy());
    this.#waiting++;
    return new Promise((resolve, reject) => {
      const cancel = clock.after(isAtBackend(key) ? BACKEND_WAIT_MS : waitMs, () => {
        queue.splice(queue.indexOf(grant), 1);
        this.#waiting--;
        reject(busy());
      });
      const grant = () => {
        cancel();
        this.#waiting--;
        resolve(this.#releaseOf(key));
      };
      queue.push(grant);
    });
  }
}

function busy(): ScimRefusal {
  return new ScimRefusal("busy", { headers: { "Retry-After": "1" } });
}

/** A resource by its kind and its canonical name. */
export function resourceKey({ kind, name }: Lockable): string {
  return `${kind} ${canonicalName(name)}`;
}

/** The text of a lock. Texts have the order of the locks. */
function lockText(wanted: Lockable): string {
  const { kind, backend } = wanted;
  const level = (kind === "user" ? 2 : 4) + (backend === undefined ? 0 : 1);
  return `${level} ${backend === undefined ? "" : `${backend} `}${resourceKey(wanted)}`;
}

function isAtBackend(key: string): boolean {
  return key.startsWith("3") || key.startsWith("5");
}

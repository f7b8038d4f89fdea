// The lease of one target: one node at a time writes its resources, its outbox and its backends.

import type { Cluster } from "../../platform/cluster/cluster.ts";
import { LeaseUnavailable, NO_LEASE, type WriteLease } from "../../platform/cluster/lease.ts";
import type { Log } from "../../platform/log.ts";
import type { Store } from "../../platform/store.ts";

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

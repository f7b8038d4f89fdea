// This process as one of several nodes on a store: its record, the other nodes, and its leases.

import type { Log } from "../log.ts";
import type { CancelTimer, Clock } from "../runtime.ts";
import type { Store } from "../store.ts";
import { type LeaseDeps, NO_LEASE, NodeLease, type WriteLease } from "./lease.ts";
import { type KnownNode, type NodeRecord, Nodes } from "./nodes.ts";
import type { SharedLog } from "./shared_log.ts";

export interface ClusterDeps {
  readonly store: Store;
  /** `null`: no other node can use the store. */
  readonly shared: SharedLog | null;
  readonly clock: Clock;
  readonly log: Log;
  /** What this node says about itself now, without its lag and leases. */
  readonly describe: () => NodeDescription;
}

export interface NodeDescription extends Omit<NodeRecord, "node" | "beat" | "writtenMs" | "figures"> {
  readonly figures: Omit<NodeRecord["figures"], "lagMs" | "leases">;
}

/** What a lease calls when it comes and goes. */
export type LeaseEvents = Pick<LeaseDeps, "onAcquired" | "onLost">;

/** A change of another node is seen after at most this time, if no packet or request asks for it earlier. */
const POLL_MS = 100;

export class Cluster {
  readonly #deps: ClusterDeps;
  readonly #nodes: Nodes | null;
  readonly #leases = new Map<string, NodeLease>();
  #cancelPoll: CancelTimer = () => undefined;
  #isClosed = false;

  constructor(deps: ClusterDeps) {
    this.#deps = deps;
    const { store, clock, log, shared } = deps;
    this.#nodes = shared === null
      ? null
      : new Nodes({ store, clock, log, describe: () => this.#describe(shared) });
  }

  /** Whether other nodes can use the store. */
  get isShared(): boolean {
    return this.#nodes !== null;
  }

  /** All known nodes, this one first. Empty if no other node can use the store. */
  list(): readonly KnownNode[] {
    return this.#nodes?.list() ?? [];
  }

  /** Announces this node. Follows the other nodes from now on. */
  async start(): Promise<void> {
    await this.#nodes?.start();
    if (this.#nodes !== null) this.#pollLater();
  }

  /** The lease with this name. Each name is opened once. */
  openLease(name: string, { onAcquired, onLost }: LeaseEvents): WriteLease & Pick<NodeLease, "claim"> {
    const { store, clock, log } = this.#deps;
    if (this.#nodes === null) return { ...NO_LEASE, claim: () => Promise.resolve(true) };
    const events = onLost === undefined ? { onAcquired } : { onAcquired, onLost };
    const lease = new NodeLease({ store, clock, log, nodes: this.#nodes, name, ...events });
    this.#leases.set(name, lease);
    return lease;
  }

  /** Releases the leases and removes the record of this node. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelPoll();
    await Promise.all([...this.#leases.values()].map((lease) => lease.close()));
    await this.#nodes?.close();
  }

  #describe(shared: SharedLog): Omit<NodeRecord, "node" | "beat" | "writtenMs"> {
    const { clock, describe } = this.#deps;
    const described = describe();
    const leases = [...this.#leases].flatMap(([name, { isHeld }]) => isHeld ? [name] : []);
    const lagMs = Math.max(0, clock.nowMs() - shared.reader.caughtUpMs);
    return { ...described, figures: { ...described.figures, lagMs, leases } };
  }

  #pollLater(): void {
    const { clock, store, log } = this.#deps;
    this.#cancelPoll = clock.after(POLL_MS, () => {
      const caughtUp = store.catchUp() ?? Promise.resolve();
      void caughtUp.catch((fault: unknown) =>
        log.debug("the changes of other nodes cannot be read", { fault: String(fault) })
      ).finally(() => this.#isClosed ? undefined : this.#pollLater());
    });
  }
}

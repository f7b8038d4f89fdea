// This process as one of several nodes on a store: its record, the other nodes, and its leases.

import type { Log } from "../log.ts";
import type { Clock } from "../runtime.ts";
import type { Store } from "../store.ts";
import { type LeaseDeps, NO_LEASE, NodeLease, type WriteLease } from "./lease.ts";
import { LogFollower } from "./log_follower.ts";
import { type KnownNode, type NodeRecord, Nodes, type NodesDeps } from "./nodes.ts";
import { type PeerKey, PeerKeys } from "./peer_keys.ts";
import type { SharedLog } from "./shared_log.ts";

export interface ClusterDeps {
  readonly store: Store;
  /** `null`: no other node can use the store. */
  readonly shared: SharedLog | null;
  readonly clock: Clock;
  readonly log: Log;
  /** What this node says about itself now, without its lag and leases. */
  readonly describe: () => NodeDescription;
  /** A key that every node derives from the master key. */
  readonly secret: Uint8Array;
}

export interface NodeDescription extends
  Omit<
    NodeRecord,
    "node" | "beat" | "writtenMs" | "figures" | "publicKey" | "auditMark" | "firstAuditMark"
  > {
  readonly figures: Omit<NodeRecord["figures"], "lagMs" | "leases">;
}

/** What this node knows about the nodes, for monitoring. */
export interface ClusterFigures {
  readonly alive: number;
  /** Nodes that stopped answering. */
  readonly silent: number;
  /** The time since this node last had all changes of other nodes. */
  readonly lagMs: number;
  /** How long it took to read them the last time. */
  readonly catchUpMs: number;
  /** Changed keys that this node read. */
  readonly changes: number;
  /** The leases that this node holds. */
  readonly leases: number;
}

/** What a lease calls when it comes and goes. */
export type LeaseEvents = Pick<LeaseDeps, "onAcquired" | "onLost" | "onAbandoned">;

/** The figures of a process that uses its store alone. */
export const ALONE: ClusterFigures = {
  alive: 1,
  silent: 0,
  lagMs: 0,
  catchUpMs: 0,
  changes: 0,
  leases: 0,
};

const NO_KEYS: readonly PeerKey[] = [];

export class Cluster {
  readonly #deps: ClusterDeps;
  readonly #nodes: Nodes | null;
  readonly #leases = new Map<string, NodeLease>();
  #follower: LogFollower | null = null;
  #keys: PeerKeys | null = null;

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

  /** This run of this process; "" if no other node can use the store. */
  get node(): string {
    return this.#nodes === null ? "" : this.#deps.store.node;
  }

  /** See {@link Nodes.clockOffsetMs}. */
  clockOffsetMs(node: string): number {
    return this.#nodes?.clockOffsetMs(node) ?? 0;
  }

  /** Whether a node runs, as far as this node knows. */
  isAlive(node: string): boolean {
    return this.#nodes?.isAlive(node) ?? false;
  }

  /** See {@link Nodes.isResponsibleFor}. */
  isResponsibleFor(node: string): boolean {
    return this.#nodes?.isResponsibleFor(node) ?? true;
  }

  /** The keys that this process shares with other running nodes, in memory only. */
  keys(): readonly PeerKey[] {
    return this.#keys?.list ?? NO_KEYS;
  }

  figures(): ClusterFigures {
    const { shared } = this.#deps;
    if (shared === null) return ALONE;
    const nodes = this.list();
    const alive = nodes.filter(({ isAlive }) => isAlive).length;
    const { tookMs: catchUpMs, changes } = shared.reader;
    const leases = this.#heldLeases().length;
    return { alive, silent: nodes.length - alive, lagMs: this.#lagMs(shared), catchUpMs, changes, leases };
  }

  /** Announces this node. Follows the other nodes from now on, and knows the clocks of those that are alive. */
  async start(): Promise<void> {
    const nodes = this.#nodes;
    const { shared, clock, log, store } = this.#deps;
    if (nodes === null || shared === null) return;
    const keys = this.#keys = await PeerKeys.create(this.#deps.secret);
    await nodes.start();
    const peers = () => nodes.list().filter(({ isSelf, isAlive }) => !isSelf && isAlive);
    const update = (): void => keys.update(peers(), clock.nowMs());
    nodes.onChange(update);
    await nodes.awaitClocks();
    update();
    this.#follower = new LogFollower({
      ...{ kv: shared.watching, clock, log, catchUp: store.catchUp },
      caughtUpMs: () => shared.reader.caughtUpMs,
      peers: () => peers().map(({ node }) => node),
    });
    void this.#follower.run();
  }

  /** Everything is loaded into memory. Changes of other nodes that came during the load are applied again. */
  async finishLoading(): Promise<void> {
    this.#deps.shared?.reader.rewind();
    await this.#deps.store.catchUp();
  }

  /** The lease with this name. Each name is opened once. */
  openLease(name: string, events: LeaseEvents): WriteLease & Pick<NodeLease, "claim"> {
    const { store, clock, log } = this.#deps;
    if (this.#nodes === null) return { ...NO_LEASE, claim: () => Promise.resolve(true) };
    const lease = new NodeLease({ store, clock, log, nodes: this.#nodes, name, ...events });
    this.#leases.set(name, lease);
    return lease;
  }

  /** Releases the leases and removes the record of this node. */
  async close(): Promise<void> {
    this.#follower?.close();
    await Promise.all([...this.#leases.values()].map((lease) => lease.close()));
    await this.#nodes?.close();
  }

  #describe(shared: SharedLog): ReturnType<NodesDeps["describe"]> {
    const described = this.#deps.describe();
    const lagMs = this.#lagMs(shared);
    const publicKey = this.#keys?.publicKey ?? "";
    const leases = this.#heldLeases();
    return { ...described, publicKey, figures: { ...described.figures, lagMs, leases } };
  }

  #heldLeases(): string[] {
    return [...this.#leases].flatMap(([name, { isHeld }]) => isHeld ? [name] : []);
  }

  #lagMs({ reader }: SharedLog): number {
    return Math.max(0, this.#deps.clock.nowMs() - reader.caughtUpMs);
  }
}

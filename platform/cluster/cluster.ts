// This process as one of several nodes on a store: its record, the other nodes, and its leases.

import type { Log } from "../log.ts";
import { type Clock, toBase64Url } from "../runtime.ts";
import type { Store } from "../store.ts";
import type { WatchingKv } from "../watching_kv.ts";
import { HEAD_PREFIX } from "./change_log.ts";
import { type LeaseDeps, NO_LEASE, NodeLease, type WriteLease } from "./lease.ts";
import { type KnownNode, type NodeRecord, Nodes, type NodesDeps } from "./nodes.ts";
import { LANES, type SharedLog } from "./shared_log.ts";

interface ClusterDeps {
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
interface ClusterFigures {
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
type LeaseEvents = Pick<LeaseDeps, "onAcquired" | "onLost" | "onAbandoned">;

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

// Reads the changes of other nodes also while no packet and no request asks for them, so that pages and phones see them. If the store can say
// when the logs change, it does so at once; otherwise by asking ten times a second.

interface LogFollowerDeps {
  /** `null`: the store does not say when a log changes. */
  readonly kv: WatchingKv | null;
  readonly clock: Clock;
  readonly log: Log;
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

// A key for each pair of running nodes, so that two nodes can compare secrets without storing anything that the store or the master key alone
// could reveal. Each run has a new X25519 key pair (RFC 7748). Only the public keys are in the store. The master key authenticates them.

const KEY_OCTETS = 32;
/** More nodes than any cluster has. */
const MAX_PEERS = 64;
/** Longer than any login_join_window_s. */
const KEEP_MS = 600_000;

interface PeerKey {
  readonly node: string;
  readonly key: Uint8Array;
}

class PeerKeys {
  readonly #pair: CryptoKeyPair;
  readonly #secret: Uint8Array;
  readonly #keys = new Map<string, { readonly publicKey: string; key: Uint8Array | null; seenMs: number }>();
  #list: readonly PeerKey[] = [];
  /** The public key of this run, base64url. */
  readonly publicKey: string;

  private constructor(pair: CryptoKeyPair, publicKey: string, secret: Uint8Array) {
    this.#pair = pair;
    this.publicKey = publicKey;
    this.#secret = secret;
  }

  /** @param secret a key that every node derives from the master key */
  static async create(secret: Uint8Array): Promise<PeerKeys> {
    const pair = await crypto.subtle.generateKey("X25519", false, ["deriveBits"]) as CryptoKeyPair;
    const octets = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
    return new PeerKeys(pair, toBase64Url(octets), secret);
  }

  /** The keys that are shared with the other nodes. */
  get list(): readonly PeerKey[] {
    return this.#list;
  }

  /**
   * Takes over the nodes that are alive, with their public keys. New keys are available a moment later. The key of a node that ended stays
   * for a while, because the logins that it handled continue on other nodes.
   */
  update(peers: readonly { readonly node: string; readonly publicKey: string }[], nowMs: number): void {
    for (const { node, publicKey } of peers.slice(0, MAX_PEERS)) {
      const known = this.#keys.get(node);
      if (publicKey === "") continue;
      if (known?.publicKey === publicKey) {
        known.seenMs = nowMs;
        continue;
      }
      this.#keys.set(node, { publicKey, key: null, seenMs: nowMs });
      void this.#derive(publicKey).then((key) => this.#set(node, publicKey, key));
    }
    const byAge = [...this.#keys].toSorted(([, a], [, b]) => b.seenMs - a.seenMs);
    for (const [at, [node, { seenMs }]] of byAge.entries()) {
      if (at >= MAX_PEERS || seenMs < nowMs - KEEP_MS) this.#keys.delete(node);
    }
    this.#collect();
  }

  #set(node: string, publicKey: string, key: Uint8Array | null): void {
    const known = this.#keys.get(node);
    if (known?.publicKey !== publicKey) return;
    known.key = key;
    this.#collect();
  }

  #collect(): void {
    this.#list = [...this.#keys].flatMap(([node, { key }]) => key === null ? [] : [{ node, key }]);
  }

  /** `null` if the public key is malformed, because the store is untrusted input. */
  async #derive(publicKey: string): Promise<Uint8Array | null> {
    try {
      const raw = Uint8Array.fromBase64(publicKey, { alphabet: "base64url" });
      const other = await crypto.subtle.importKey("raw", raw, "X25519", false, []);
      const shared = await crypto.subtle.deriveBits(
        { name: "X25519", public: other },
        this.#pair.privateKey,
        256,
      );
      const material = await crypto.subtle.importKey("raw", shared, "HKDF", false, ["deriveBits"]);
      const options = { name: "HKDF", hash: "SHA-256", salt: this.#secret.slice(), info: INFO };
      return new Uint8Array(await crypto.subtle.deriveBits(options, material, KEY_OCTETS * 8));
    } catch (_malformed) {
      return null;
    }
  }
}

const INFO = new TextEncoder().encode("countersign digests between two nodes");

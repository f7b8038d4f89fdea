// The nodes that share a store. Each node rewrites its record every second. A node whose record stopped changing is dead.

import type { Log } from "../log.ts";
import type { CancelTimer, Clock } from "../runtime.ts";
import type { Store } from "../store.ts";

/** What a node says about itself: the value under ["node", node]. */
export interface NodeRecord {
  readonly node: string;
  /** The name of the host, for people. */
  readonly name: string;
  readonly version: string;
  readonly startedMs: number;
  readonly radius: readonly string[];
  readonly http: string;
  /** Counts the rewrites. */
  readonly beat: number;
  /** The node's clock when it wrote the record. */
  readonly writtenMs: number;
  readonly figures: NodeFigures;
  /** The public key of this run for digests between nodes, base64url; "" if there is none. */
  readonly publicKey: string;
}

/** The load of a node. */
export interface NodeFigures {
  /** Logins in progress that this node handled last. */
  readonly waiting: number;
  /** Access-Requests per second since the last beat. */
  readonly requestsPerS: number;
  readonly rssOctets: number;
  /** The time since the node last had all changes of other nodes. */
  readonly lagMs: number;
  /** The leases that it holds. */
  readonly leases: readonly string[];
}

export interface KnownNode extends NodeRecord {
  readonly isSelf: boolean;
  readonly isAlive: boolean;
  /** Its clock minus this node's clock, as far as a beat shows it. */
  readonly clockOffsetMs: number;
}

export interface NodesDeps {
  readonly store: Pick<Store, "follow" | "list" | "commit" | "catchUp" | "node">;
  readonly clock: Clock;
  readonly log: Log;
  /** What this node says about itself now. */
  readonly describe: () => Omit<NodeRecord, "node" | "beat" | "writtenMs">;
}

export const BEAT_MS = 1000;
/** A node is dead after so many beats of this node without one of its own. Beats are counted, not time, so that no node counts as dead because a clock jumped. */
const DEAD_BEATS = 5;
const RECORD_RETENTION_MS = 60_000;
/** How long a start waits for the clocks of the other nodes. A node beats at once when it sees a new one. A dead node never does. */
const CLOCKS_WAIT_MS = 1500;
const CLOCKS_POLL_MS = 25;
/** A smaller difference may come from the time that a beat takes to arrive. */
const SMALL_OFFSET_MS = 2000;

interface Peer {
  record: NodeRecord;
  /** Beats of this node since the record changed. */
  missed: number;
  /** `null` until the node beats: a record that was found at the start may be old. */
  clockOffsetMs: number | null;
}

export class Nodes {
  readonly #deps: NodesDeps;
  readonly #peers = new Map<string, Peer>();
  readonly #listeners = new Set<() => void>();
  #beat = 0;
  #cancel: CancelTimer = () => undefined;
  #isClosed = false;

  constructor(deps: NodesDeps) {
    this.#deps = deps;
    deps.store.follow(["node"], ({ key, value }) => this.#apply(String(key[1]), value as NodeRecord | null));
  }

  /** Loads the other nodes, and announces this one. */
  async start(): Promise<void> {
    const { store } = this.#deps;
    for await (const { key, value: record } of store.list<NodeRecord>(["node"])) {
      const node = String(key[1]);
      if (record !== null && node !== store.node) {
        this.#peers.set(node, { record, missed: 0, clockOffsetMs: null });
      }
    }
    await this.#announce();
    this.#beatLater();
  }

  /** Waits until the nodes that were found at the start have shown their clocks, or for a beat and a half. */
  async awaitClocks(): Promise<void> {
    const { clock, store } = this.#deps;
    const own = this.#describe();
    // A record with the name and the ports of this node is of its former run.
    const isFormerSelf = ({ name, radius, http }: NodeRecord): boolean =>
      name === own.name && http === own.http && radius.join() === own.radius.join();
    for (const endMs = clock.nowMs() + CLOCKS_WAIT_MS; clock.nowMs() < endMs;) {
      await store.catchUp();
      const unknown = [...this.#peers.values()].filter(({ clockOffsetMs }) => clockOffsetMs === null);
      if (unknown.every(({ record }) => isFormerSelf(record))) return;
      await new Promise<void>((resolve) => void clock.after(CLOCKS_POLL_MS, resolve));
    }
  }

  /** Removes the record of this node. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel();
    const { store } = this.#deps;
    await store.commit({ mutations: [{ type: "delete", key: ["node", store.node] }] });
  }

  isAlive(node: string): boolean {
    if (node === this.#deps.store.node) return true;
    return (this.#peers.get(node)?.missed ?? DEAD_BEATS) < DEAD_BEATS;
  }

  /** The clock of a node minus the clock of this node; 0 if it is small or unknown. */
  clockOffsetMs(node: string): number {
    const offsetMs = this.#peers.get(node)?.clockOffsetMs ?? 0;
    return Math.abs(offsetMs) < SMALL_OFFSET_MS ? 0 : offsetMs;
  }

  /** Whether this node finishes the work of `node`: its own, or that of a dead node if this is the first of the living ones. */
  isResponsibleFor(node: string): boolean {
    const self = this.#deps.store.node;
    if (node === self || node === "") return true;
    if (this.isAlive(node)) return false;
    return [...this.#peers].every(([peer, { missed }]) => missed >= DEAD_BEATS || self < peer);
  }

  /** All known nodes, this one first, then the others by the time of their start. */
  list(): KnownNode[] {
    const self = { ...this.#describe(), isSelf: true, isAlive: true, clockOffsetMs: 0 };
    const others = [...this.#peers.values()].map(({ record, missed, clockOffsetMs }) => ({
      ...record,
      isSelf: false,
      isAlive: missed < DEAD_BEATS,
      clockOffsetMs: clockOffsetMs ?? 0,
    }));
    return [self, ...others.toSorted((a, b) => a.startedMs - b.startedMs)];
  }

  /** Calls `notify` after each beat, and when a node appears or leaves. Returns a function that removes the listener. */
  onChange(notify: () => void): () => void {
    this.#listeners.add(notify);
    return () => this.#listeners.delete(notify);
  }

  #describe(): NodeRecord {
    const { store, clock, describe } = this.#deps;
    return { node: store.node, beat: this.#beat, writtenMs: clock.nowMs(), ...describe() };
  }

  #apply(node: string, record: NodeRecord | null): void {
    if (node === this.#deps.store.node) return;
    const known = this.#peers.get(node);
    if (record === null) this.#peers.delete(node);
    else if (known?.record.beat !== record.beat) {
      this.#peers.set(node, {
        record,
        missed: 0,
        clockOffsetMs: record.writtenMs - this.#deps.clock.nowMs(),
      });
      // The new node needs the clock of this one before it reads anything with a time.
      if (known === undefined && this.#beat > 0 && !this.#isClosed) {
        void this.#announce().catch((fault) => this.#unrecorded(fault));
      }
    }
    this.#notify();
  }

  async #announce(): Promise<void> {
    const { store } = this.#deps;
    this.#beat++;
    const key = ["node", store.node];
    const value = this.#describe();
    await store.commit({ mutations: [{ type: "set", key, value, expireInMs: RECORD_RETENTION_MS }] });
  }

  #beatLater(): void {
    this.#cancel = this.#deps.clock.after(BEAT_MS, () => void this.#tick());
  }

  /** Writes the record, reads the others, and counts who was silent. While the store does not answer, no node is counted. */
  async #tick(): Promise<void> {
    try {
      await this.#announce();
      await this.#deps.store.catchUp();
      for (const [node, peer] of this.#peers) {
        peer.missed++;
        if (peer.missed === DEAD_BEATS) this.#deps.log.warn("a node stopped answering", nameOf(peer.record));
        if (peer.missed > RECORD_RETENTION_MS / BEAT_MS) this.#peers.delete(node);
      }
      this.#notify();
    } catch (fault) {
      this.#unrecorded(fault);
    }
    if (!this.#isClosed) this.#beatLater();
  }

  #unrecorded(fault: unknown): void {
    this.#deps.log.debug("a beat of this node could not be recorded", { fault: String(fault) });
  }

  #notify(): void {
    for (const notify of [...this.#listeners]) notify();
  }
}

function nameOf({ node, name, radius }: NodeRecord): Record<string, string> {
  return { node, name, radius: radius.join(" ") };
}

// The nodes that share a store. Each node rewrites its record every second. A node whose record stopped changing is dead.

import type { Log } from "../log.ts";
import { type CancelTimer, type Clock, pauseFor } from "../runtime.ts";
import type { Store } from "../store.ts";
import { FIRST_FORMAT } from "../upgrade/migrations.ts";

/** What a node says about itself: the value under ["node", node]. */
export interface NodeRecord {
  readonly node: string;
  /** The name of the host, for people. */
  readonly name: string;
  readonly version: string;
  /** The newest format of the store that its program knows. */
  readonly format: number;
  /** The format in which it writes now. */
  readonly writes: number;
  readonly startedMs: number;
  readonly radius: readonly string[];
  readonly http: string;
  /** Counts the rewrites. */
  readonly beat: number;
  /** The node's clock when it wrote the record. */
  readonly writtenMs: number;
  readonly figures: NodeFigures;
  /** Differs between nodes with different settings. */
  readonly settings: string;
  /** The public key of this run for digests between nodes, base64url; "" if there is none. */
  readonly publicKey: string;
  /** Every audit record of the node up to this id is in the store. */
  readonly auditMark: string;
  /** The audit records of this run of the node have larger ids. */
  readonly firstAuditMark: string;
}

/** The load of a node. */
interface NodeFigures {
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
  /** Its clock minus this node's clock, as far as its beats show it. */
  readonly clockOffsetMs: number;
}

export interface NodesDeps {
  readonly store: Pick<
    Store,
    "follow" | "list" | "commit" | "catchUp" | "node" | "auditMark" | "firstAuditMark"
  >;
  readonly clock: Clock;
  readonly log: Log;
  /** What this node says about itself now. */
  readonly describe: () => Omit<NodeRecord, "node" | "beat" | "writtenMs" | "auditMark" | "firstAuditMark">;
}

export const BEAT_MS = 1000;
/** A node is dead after so many beats of this node without one of its own. Beats are counted, not time, so that no node counts as dead because a clock jumped. */
const DEAD_BEATS = 5;
const RECORD_RETENTION_MS = 60_000;
/** How long a start waits for the clocks of the other nodes. A node beats at once when it sees a new one. A dead node never does. */
const CLOCKS_WAIT_MS = 1500;
const CLOCKS_POLL_MS = 25;
/** The difference of two clocks is the largest that so many beats showed, because a late beat only makes it smaller. */
const CLOCK_BEATS = 5;
/** A smaller difference may come from the time that a beat takes to arrive. */
const SMALL_OFFSET_MS = 2000;

interface Peer {
  record: NodeRecord;
  /** Beats of this node since the record changed. */
  missed: number;
  /** The differences of the clocks at the last beats. None until the node beats: a record that was found at the start may be old. */
  readonly offsetsMs: readonly number[];
}

export class Nodes {
  readonly #deps: NodesDeps;
  readonly #peers = new Map<string, Peer>();
  readonly #listeners = new Set<() => void>();
  #beat = 0;
  /** The mark of the last record that is in the store. */
  #auditMark = "";
  #cancel: CancelTimer = () => undefined;
  #isClosed = false;

  constructor(deps: NodesDeps) {
    this.#deps = deps;
    deps.store.follow(["node"], ({ key, value }) => {
      const node = String(key[1]);
      this.#apply(node, value === null ? null : this.#read(node, value));
    });
  }

  /** Loads the other nodes, and announces this one. */
  async start(): Promise<void> {
    const { store } = this.#deps;
    for await (const { key, value } of store.list(["node"])) {
      const node = String(key[1]);
      if (value !== null && node !== store.node) {
        this.#peers.set(node, { record: this.#read(node, value), missed: 0, offsetsMs: [] });
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
      const unknown = [...this.#peers.values()].filter(({ offsetsMs }) => offsetsMs.length === 0);
      if (unknown.every(({ record }) => isFormerSelf(record))) return;
      await pauseFor(clock, CLOCKS_POLL_MS);
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
    const offsetMs = offsetOf(this.#peers.get(node));
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
    const others = [...this.#peers.values()].map((peer) => ({
      ...peer.record,
      isSelf: false,
      isAlive: peer.missed < DEAD_BEATS,
      clockOffsetMs: offsetOf(peer),
    }));
    return [self, ...others.toSorted((a, b) => a.startedMs - b.startedMs)];
  }

  /** Calls `notify` after each beat, and when a node appears or leaves. Returns a function that removes the listener. */
  onChange(notify: () => void): () => void {
    this.#listeners.add(notify);
    return () => this.#listeners.delete(notify);
  }

  /** The record of another node. Fields that a node of another version lacks have neutral values, because every node needs the beats of all others. */
  #read(node: string, value: unknown): NodeRecord {
    const stored = (typeof value === "object" ? value : {}) as Readonly<Record<string, unknown>>;
    const writtenMs = numberOf(stored.writtenMs, this.#deps.clock.nowMs());
    return {
      node,
      name: textOf(stored.name, node),
      version: textOf(stored.version, ""),
      // Version 0.2 does not say so.
      format: numberOf(stored.format, FIRST_FORMAT),
      writes: numberOf(stored.writes, FIRST_FORMAT),
      startedMs: numberOf(stored.startedMs, writtenMs),
      radius: Array.isArray(stored.radius) ? stored.radius.map(String) : [],
      http: textOf(stored.http, ""),
      beat: numberOf(stored.beat),
      writtenMs,
      figures: readFigures(stored.figures),
      settings: textOf(stored.settings, ""),
      publicKey: textOf(stored.publicKey, ""),
      auditMark: textOf(stored.auditMark, ""),
      firstAuditMark: textOf(stored.firstAuditMark, ""),
    };
  }

  #describe(): NodeRecord {
    const { store, clock, describe } = this.#deps;
    const { node, firstAuditMark } = store;
    const auditMark = this.#auditMark;
    return {
      ...{ node, beat: this.#beat, writtenMs: clock.nowMs(), auditMark, firstAuditMark },
      ...describe(),
    };
  }

  #apply(node: string, record: NodeRecord | null): void {
    if (node === this.#deps.store.node) return;
    const known = this.#peers.get(node);
    if (record === null) this.#peers.delete(node);
    else if (known?.record.beat !== record.beat) {
      const offsetMs = record.writtenMs - this.#deps.clock.nowMs();
      const offsetsMs = [...known?.offsetsMs ?? [], offsetMs].slice(-CLOCK_BEATS);
      this.#peers.set(node, { record, missed: 0, offsetsMs });
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
    // The commits of a process are made in order, so the records with smaller ids are in the store when this one is.
    const auditMark = store.auditMark();
    const value: NodeRecord = { ...this.#describe(), auditMark };
    await store.commit({ mutations: [{ type: "set", key, value, expireInMs: RECORD_RETENTION_MS }] });
    if (auditMark > this.#auditMark) this.#auditMark = auditMark;
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

function textOf(field: unknown, other: string): string {
  return typeof field === "string" ? field : other;
}

function numberOf(field: unknown, other = 0): number {
  return typeof field === "number" && Number.isFinite(field) ? field : other;
}

function readFigures(value: unknown): NodeFigures {
  const stored = (typeof value === "object" ? value : null) as Readonly<Record<string, unknown>> | null;
  return {
    waiting: numberOf(stored?.waiting),
    requestsPerS: numberOf(stored?.requestsPerS),
    rssOctets: numberOf(stored?.rssOctets),
    lagMs: numberOf(stored?.lagMs),
    leases: Array.isArray(stored?.leases) ? stored.leases.map(String) : [],
  };
}

function offsetOf(peer: Peer | undefined): number {
  return peer === undefined || peer.offsetsMs.length === 0 ? 0 : Math.max(...peer.offsetsMs);
}

function nameOf({ node, name, radius }: NodeRecord): Record<string, string> {
  return { node, name, radius: radius.join(" ") };
}

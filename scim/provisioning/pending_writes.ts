// The entries of the outbox, and the oldest of them in memory, for display.

import type { ContentChanges } from "../backend_port.ts";
import type { PendingWrite } from "../pending_port.ts";
import type { ResourceKind } from "../schema/resource.ts";
import type { BackendOperation } from "./plan_write.ts";

export interface OutboxEntry {
  readonly kind: ResourceKind;
  readonly name: string;
  readonly operation: BackendOperation;
  /** The names that the resource may have at the backend until the entry is delivered, the oldest first. */
  readonly from?: readonly string[];
  /** The backend may still have an earlier resource with the name, which was deleted here. */
  readonly clears?: true;
  readonly sinceMs: number;
  readonly attempts: number;
  readonly nextMs: number;
  /** An attempt started, and its result is unknown. Read the backend before the next attempt. */
  readonly started: boolean;
  readonly why: string | null;
  readonly remoteId?: string;
  /** Sealed for the key of the entry. */
  readonly password?: Uint8Array;
  /** What the pending writes change (scim/backend_port.ts). Absent: everything. */
  readonly changes?: ContentChanges;
  /** The entry restores what a failed write changed. The content is in a copy that exists only for this entry. */
  readonly restores?: true;
}

/** An entry with its key and its version. */
export interface StoredEntry {
  readonly backend: string;
  readonly sequence: string;
  readonly entry: OutboxEntry;
  readonly versionstamp: string;
  /** A dead letter is not retried until an operator retries it. */
  readonly isDead: boolean;
}

export type EntryPlace = Pick<StoredEntry, "backend" | "sequence" | "isDead">;

/** Beyond this number, memory does not have the entries. */
const MAX_LISTED = 1000;

/** The oldest pending writes of one backend, in memory and bounded, so that a list of them reads nothing from the store. */
export class PendingWriteList {
  readonly #entries: () => AsyncIterable<StoredEntry>;
  readonly #writes = new Map<string, PendingWrite>();
  #isTruncated = false;
  #loading: Promise<void> | null = null;
  /** Entries that were changed or removed while the store is read. A batch that was read earlier may contain their former state. */
  #changedMeanwhile: Set<string> | null = null;

  /** @param entries all entries of the backend. */
  constructor(entries: () => AsyncIterable<StoredEntry>) {
    this.#entries = entries;
  }

  async load(): Promise<void> {
    this.#isTruncated = false;
    const changed = this.#changedMeanwhile = new Set<string>();
    try {
      for await (const { entry, ...place } of this.#entries()) {
        if (changed.has(place.sequence)) continue;
        this.put(place, entry);
        if (this.#isTruncated) return;
      }
    } finally {
      this.#changedMeanwhile = null;
    }
  }

  /** Another node wrote an entry. */
  replace(place: EntryPlace, entry: OutboxEntry): void {
    this.#changedMeanwhile?.add(place.sequence);
    this.put(place, entry);
  }

  /** Another node removed an entry from its place. The same entry may be in the other place: live, or as a dead letter. */
  forgetPlace({ sequence, isDead }: Pick<EntryPlace, "sequence" | "isDead">): void {
    const known = this.#writes.get(sequence);
    if (known === undefined || (known.nextMs === null) === isDead) this.forget(sequence);
  }

  put(
    { backend, sequence, isDead }: EntryPlace,
    { kind, name, operation, attempts, sinceMs, nextMs, why }: OutboxEntry,
  ): void {
    if (!this.#writes.has(sequence) && this.#writes.size >= MAX_LISTED) {
      this.#isTruncated = true;
      return;
    }
    const write = { id: sequence, backend, kind, name, operation, attempts, sinceMs, why };
    this.#writes.set(sequence, { ...write, nextMs: isDead ? null : nextMs });
  }

  forget(sequence: string): void {
    this.#writes.delete(sequence);
    this.#changedMeanwhile?.add(sequence);
    if (!this.#isTruncated || this.#writes.size > MAX_LISTED / 2) return;
    // If this fails, the next removal reads again.
    this.#loading ??= this.load().catch(() => void (this.#isTruncated = true)).finally(() =>
      this.#loading = null
    );
  }

  oldest(limit: number): PendingWrite[] {
    return [...this.#writes.values()].sort(byId).slice(0, limit);
  }
}

/** Entries in order of time. */
export function byId(a: PendingWrite, b: PendingWrite): number {
  return a.id < b.id ? -1 : 1;
}

// Reads of one batch from the store: each record and the memberships of each user once.

import type { Store } from "../../platform/store.ts";
import type { ResourceKind } from "../schema/resource.ts";
import type { NameIndexes } from "./indexes.ts";
import type { DirectoryKeys } from "./keys.ts";
import { type ReadRecord, readRecord } from "./records.ts";

/** The record of a deleted user. */
export interface Tombstone {
  readonly name: string;
  /** Grows with time. */
  readonly order: number;
}

export interface BatchReadDeps {
  readonly store: Store;
  readonly keys: DirectoryKeys;
  readonly indexes: NameIndexes;
}

/** Each value is as of its first read. Names are canonical. */
export class BatchReads {
  readonly #deps: BatchReadDeps;
  readonly #records = new Map<string, Promise<ReadRecord | null>>();
  readonly #memberships = new Map<string, Promise<Map<string, string>>>();

  constructor(deps: BatchReadDeps) {
    this.#deps = deps;
  }

  /** Starts to read what the write of a resource needs. */
  prefetch(kind: ResourceKind, canonical: string): void {
    // A later call reports a failure of this read; there may be no later call.
    this.record(kind, canonical).catch(() => undefined);
    // A new user may be a member already.
    if (kind === "user" && !this.#deps.indexes.names.user.mayContain(canonical)) {
      this.memberships(canonical).catch(() => undefined);
    }
  }

  record(kind: ResourceKind, canonical: string): Promise<ReadRecord | null> {
    const { store, keys, indexes } = this.#deps;
    const place = `${kind}\0${canonical}`;
    const known = this.#records.get(place);
    if (known !== undefined) return known;
    // A name without a known hash has no record, so most creations read nothing.
    const reading = indexes.names[kind].mayContain(canonical)
      ? readRecord({ store, keys }, { kind, canonical })
      : Promise.resolve(null);
    this.#records.set(place, reading);
    return reading;
  }

  /** The member sets that contain a user, with the canonical name of the group of each. */
  memberships(user: string): Promise<ReadonlyMap<string, string>> {
    const known = this.#memberships.get(user);
    if (known !== undefined) return known;
    const reading = this.#listMemberships(user);
    this.#memberships.set(user, reading);
    return reading;
  }

  /** Each call reads the store again. */
  async tombstone(canonical: string): Promise<Tombstone | null> {
    const { store, keys, indexes } = this.#deps;
    if (!indexes.tombstones.mayContain(canonical)) return null;
    return (await store.get<Tombstone>(keys.gone(canonical))).value;
  }

  async #listMemberships(user: string): Promise<Map<string, string>> {
    const { store, keys, indexes } = this.#deps;
    const found = new Map<string, string>();
    // Without groups, there are no members: an import of users before groups reads nothing.
    if (indexes.names.group.total === 0) return found;
    for await (const { key, value } of store.list<string>(keys.memberships(user))) {
      if (value !== null) found.set(String(key[3]), value);
    }
    return found;
  }
}

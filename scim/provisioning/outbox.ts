// The outbox: pending writes to asynchronous backends, one entry per resource and backend. A newer write replaces the older entry, because the
// content is read at delivery. The oldest entries are in memory, for display.

import { canonicalName } from "../../platform/canonical_name.ts";
import { basisOn } from "../../platform/cluster/change_log.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import type { Vault } from "../../platform/vault.ts";
import type { ContentChanges, PendingWrite } from "../backend_port.ts";
import { mergeChanges, queuedChanges } from "../schema/merge.ts";
import type { ResourceKind } from "../schema/resource.ts";
import type { BackendOperation } from "./backend_status.ts";

interface NewEntry {
  readonly backend: string;
  readonly kind: ResourceKind;
  readonly name: string;
  readonly operation: BackendOperation;
  readonly remoteId?: string | undefined;
  /** In clear. The outbox seals it. */
  readonly password?: string | undefined;
  readonly started?: boolean;
  readonly restores?: true;
  /** See {@link OutboxEntry.from}. */
  readonly from?: readonly string[];
  readonly clears?: boolean;
  /** Absent: everything. */
  readonly changes?: ContentChanges | undefined;
}

/** Mutations for a commit. Call `committed` after the commit. */
export interface OutboxChange {
  readonly mutations: readonly Mutation[];
  committed(): void;
}

interface Pointer {
  readonly sequence: string;
  readonly isDead: boolean;
}

interface OutboxDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly target: string;
  readonly backends: readonly string[];
  readonly orderedId: (after?: string) => string;
}

export class Outbox {
  readonly #deps: OutboxDeps;
  readonly #pending: ReadonlyMap<string, PendingWriteList>;
  #notify: (backend: string) => void = () => undefined;
  /** The greatest sequence number so far. The clock of the process or node that made it may be ahead. */
  #lastSequence = "";

  constructor(deps: OutboxDeps) {
    this.#deps = deps;
    this.#pending = new Map(deps.backends.map((backend) => {
      return [backend, new PendingWriteList(() => this.all(backend))];
    }));
    this.#follow();
  }

  /** Keeps {@link pendingWrites} up to date with the changes of other nodes. */
  #follow(): void {
    const { store, target } = this.#deps;
    for (const isDead of [false, true]) {
      store.follow([prefixOf(isDead), target], ({ key, value }) => {
        const place = { backend: String(key[2]), sequence: String(key[3]), isDead };
        this.#noteSequence(place);
        const list = this.#pending.get(place.backend);
        if (value === null) list?.forgetPlace(place);
        else list?.replace(place, value as OutboxEntry);
      });
    }
  }

  async find(backend: string, kind: ResourceKind, name: string): Promise<StoredEntry | null> {
    const { store } = this.#deps;
    const { value } = await store.get<Pointer>(this.#pointerKey(backend, { kind, name }));
    if (value === null) return null;
    const place = { backend, ...value };
    const stored = await store.get<OutboxEntry>(this.#key(place));
    if (stored.value === null || stored.versionstamp === null) return null;
    return { ...place, entry: stored.value, versionstamp: stored.versionstamp };
  }

  /**
   * @param known the entry that `find` returned. The new entry keeps its place, its age and its password.
   * @param options.isChecked the commit fails if `known` was changed since
   */
  add(
    { backend, kind, name, password, remoteId, restores, started = false, changes, ...asked }: NewEntry,
    known: StoredEntry | null,
    options: { readonly isChecked?: boolean } = {},
  ): OutboxChange {
    const { vault, clock, orderedId } = this.#deps;
    const place = { backend, sequence: known?.sequence ?? orderedId(this.#lastSequence), isDead: false };
    this.#noteSequence(place);
    const nowMs = clock.nowMs();
    const { from, clears } = earlierNames(asked, { name, known });
    const operation = asked.operation === "remove" ? "remove" : from === undefined ? "put" : "rename";
    const sealed = password === undefined
      ? (operation !== "remove" ? known?.entry.password : undefined)
      : vault.seal(this.#key(place), new TextEncoder().encode(password));
    const hint = remoteId ?? known?.entry.remoteId;
    const merged = queuedChanges(known === null ? changes : mergeChanges(known.entry.changes, changes));
    const entry: OutboxEntry = {
      kind,
      name,
      operation,
      ...(from === undefined ? {} : { from }),
      ...(clears ? { clears } : {}),
      sinceMs: known?.entry.sinceMs ?? nowMs,
      attempts: 0,
      nextMs: nowMs,
      setMs: nowMs,
      // The result of an earlier attempt is unknown for the newer write, too.
      started: started || (known?.entry.started ?? false),
      why: null,
      ...(hint === undefined ? {} : { remoteId: hint }),
      ...(sealed === undefined ? {} : { password: sealed }),
      ...(restores === undefined ? {} : { restores }),
      ...(operation === "remove" || merged === undefined ? {} : { changes: merged }),
    };
    const change = this.#write(place, entry, { former: known, ...options });
    return {
      mutations: change.mutations,
      committed: () => {
        change.committed();
        this.#notify(backend);
      },
    };
  }

  /**
   * Adds the rename of a resource. It replaces the entries of both names. The commit fails if an attempt for the earlier name begins meanwhile.
   *
   * @param asked.isNew the backend never had the resource, unless an attempt was made
   * @param pending.known the pending write of the earlier name
   * @param pending.occupied that of the new name, which an earlier resource had
   */
  addRename(
    { earlier, isNew, ...asked }: NewEntry & { readonly earlier: string; readonly isNew: boolean },
    { known, occupied }: { readonly known: StoredEntry | null; readonly occupied: StoredEntry | null },
  ): OutboxChange {
    const { from = [], started = false } = known?.entry ?? {};
    // If no attempt was made since the creation or the last rename, the backend does not have the earlier name.
    const isKnown = started || (from.length === 0 && !isNew);
    const names = isKnown ? [...from, earlier] : from;
    const clears = occupied !== null || known?.entry.clears === true;
    const dropped = occupied === null ? null : this.drop(occupied);
    // An attempt that begins now may give the resource its earlier name.
    const added = this.add({ ...asked, from: names, clears }, known, { isChecked: true });
    const pointer: Mutation[] = known === null ? [] : [
      { type: "delete", key: this.#pointerKey(known.backend, known.entry) },
      {
        type: "set",
        key: this.#pointerKey(known.backend, asked),
        value: { sequence: known.sequence, isDead: false } satisfies Pointer,
      },
    ];
    return {
      mutations: [...dropped?.mutations ?? [], ...added.mutations, ...pointer],
      committed() {
        dropped?.committed();
        added.committed();
      },
    };
  }

  /** Deletes an entry. */
  drop(known: StoredEntry): OutboxChange {
    return {
      mutations: [
        { type: "delete", key: this.#key(known) },
        { type: "delete", key: this.#pointerKey(known.backend, known.entry) },
      ],
      committed: () => this.forget(known),
    };
  }

  /** Removes an entry from {@link pendingWrites} that the store no longer has. */
  forget({ backend, sequence }: StoredEntry): void {
    this.#pending.get(backend)?.forget(sequence);
  }

  /** Replaces an entry, live or as a dead letter. */
  update(
    known: StoredEntry,
    entry: OutboxEntry,
    { isDead = false }: { isDead?: boolean } = {},
  ): OutboxChange {
    return this.#write({ backend: known.backend, sequence: known.sequence, isDead }, entry, {
      former: known,
    });
  }

  /** The password of an entry. */
  openPassword({ backend, sequence, entry: { password } }: StoredEntry): string | undefined {
    if (password === undefined) return undefined;
    const plain = this.#deps.vault.open(this.#key({ backend, sequence, isDead: false }), password);
    return plain === null ? undefined : new TextDecoder().decode(plain);
  }

  /** The entries of a backend in order, without dead letters. */
  live(backend: string): AsyncIterable<StoredEntry> {
    return this.#list(backend, { isDead: false });
  }

  dead(backend: string): AsyncIterable<StoredEntry> {
    return this.#list(backend, { isDead: true });
  }

  /** All entries of a backend. Dead letters first, because they need an operator. */
  async *all(backend: string): AsyncGenerator<StoredEntry> {
    yield* this.dead(backend);
    yield* this.live(backend);
  }

  /** Reads the entries for {@link pendingWrites}, and the last sequence number. */
  async load(): Promise<void> {
    const { store, target } = this.#deps;
    for (const [backend, list] of this.#pending) {
      await list.load();
      for (const isDead of [false, true]) {
        const options = { reverse: true, limit: 1 };
        for await (const { key } of store.list([prefixOf(isDead), target, backend], options)) {
          this.#noteSequence({ sequence: String(key[3]) });
        }
      }
    }
  }

  #noteSequence({ sequence }: Pick<EntryPlace, "sequence">): void {
    if (sequence > this.#lastSequence) this.#lastSequence = sequence;
  }

  /** Pending writes and dead letters of all backends, oldest first. */
  pendingWrites(limit: number): readonly PendingWrite[] {
    return [...this.#pending.values()].flatMap((list) => list.oldest(limit)).sort(byId).slice(0, limit);
  }

  /** Sets the callback for added live entries. */
  onAdded(notify: (backend: string) => void): void {
    this.#notify = notify;
  }

  #key({ backend, sequence, isDead }: EntryPlace): Deno.KvKey {
    return [prefixOf(isDead), this.#deps.target, backend, sequence];
  }

  #pointerKey(backend: string, { kind, name }: { kind: ResourceKind; name: string }): Deno.KvKey {
    return ["owed", this.#deps.target, backend, kind, canonicalName(name)];
  }

  async *#list(backend: string, { isDead }: { isDead: boolean }): AsyncGenerator<StoredEntry> {
    const { store, target } = this.#deps;
    const prefix = [prefixOf(isDead), target, backend];
    for await (const { key, value, versionstamp } of store.list<OutboxEntry>(prefix)) {
      const sequence = key[3];
      if (value === null || versionstamp === null || typeof sequence !== "string") continue;
      yield { backend, sequence, entry: value, versionstamp, isDead };
    }
  }

  #write(
    place: EntryPlace,
    entry: OutboxEntry,
    { former, isChecked = false }: { former: StoredEntry | null; isChecked?: boolean },
  ): OutboxChange {
    const { backend, sequence, isDead } = place;
    const basis = isChecked && former !== null ? { basis: basisOn(former.versionstamp) } : {};
    const isMoved = former !== null && former.isDead !== isDead;
    const hasPointer = former !== null && former.isDead === isDead;
    const moved: Mutation[] = isMoved ? [{ type: "delete", key: this.#key(former), ...basis }] : [];
    const pointer: Mutation[] = hasPointer ? [] : [{
      type: "set",
      key: this.#pointerKey(backend, entry),
      value: { sequence, isDead } satisfies Pointer,
    }];
    return {
      mutations: [
        ...moved,
        { type: "set", key: this.#key(place), value: entry, ...(isMoved ? {} : basis) },
        ...pointer,
      ],
      committed: () => this.#pending.get(backend)?.put(place, entry),
    };
  }
}

/** Beyond this number, the oldest names are kept: a resource has them at a backend that was not called for long. */
const MAX_NAMES = 20;

/** What a new entry says about the names at the backend. It keeps what the pending one says. */
function earlierNames(
  { from = [], clears = false }: Pick<NewEntry, "from" | "clears">,
  { name, known }: { name: string; known: StoredEntry | null },
): { from: readonly string[] | undefined; clears: true | false } {
  const canonicals = [...known?.entry.from ?? [], ...from].map(canonicalName);
  const names = [...new Set(canonicals)].filter((one) => one !== canonicalName(name)).slice(0, MAX_NAMES);
  const isRenamed = names.length > 0;
  return {
    from: isRenamed ? names : undefined,
    clears: isRenamed && (clears || known?.entry.clears === true),
  };
}

function prefixOf(isDead: boolean): string {
  return isDead ? "dead_letter" : "outbox";
}

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
  /** The attempts that failed although the backend was reachable. Absent: none. */
  readonly failures?: number;
  readonly nextMs: number;
  /** When `nextMs` was set. If the clock shows an earlier time, it was set back. Absent: an earlier version wrote the entry. */
  readonly setMs?: number;
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

type EntryPlace = Pick<StoredEntry, "backend" | "sequence" | "isDead">;

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
function byId(a: PendingWrite, b: PendingWrite): number {
  return a.id < b.id ? -1 : 1;
}

// The outbox: what backends are still owed. One entry for a resource and a backend; a newer write takes the place of the older one, because the
// content is read when it is delivered.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import type { Vault } from "../../platform/vault.ts";
import type { OwedWrite } from "../ports.ts";
import type { ResourceKind } from "../schema/resource.ts";
import { createOwedList } from "./pending_writes.ts";
import type { BackendOperation } from "./plan_write.ts";

export interface OutboxEntry {
  readonly kind: ResourceKind;
  readonly name: string;
  readonly operation: BackendOperation;
  readonly sinceMs: number;
  readonly attempts: number;
  readonly nextMs: number;
  /** An attempt was made whose end is not known: look at the backend before the next. */
  readonly started: boolean;
  readonly why: string | null;
  readonly remoteId?: string;
  /** Sealed for the entry's key. */
  readonly password?: Uint8Array;
  /** What it delivers is in the copy, which is there for this entry alone: it puts back what a failed write had changed. */
  readonly restores?: true;
}

/** An entry as it stands in the store. */
export interface KeptEntry {
  readonly backend: string;
  readonly sequence: string;
  readonly entry: OutboxEntry;
  readonly versionstamp: string;
  /** A dead letter: it is not tried again until an operator asks for it. */
  readonly isDead: boolean;
}

export interface NewEntry {
  readonly backend: string;
  readonly kind: ResourceKind;
  readonly name: string;
  readonly operation: BackendOperation;
  readonly remoteId?: string | undefined;
  /** In clear; sealed here. */
  readonly password?: string | undefined;
  readonly started?: boolean;
  readonly restores?: true;
}

/** Changes for a commit, and what to call when that is durable. */
export interface OutboxChange {
  readonly mutations: readonly Mutation[];
  committed(): void;
}

export interface Outbox {
  find(backend: string, kind: ResourceKind, name: string): Promise<KeptEntry | null>;
  /** @param known what `find` gave: its place, its age and its password are kept. */
  add(entry: NewEntry, known: KeptEntry | null): OutboxChange;
  /** Takes an entry away. */
  drop(known: KeptEntry): OutboxChange;
  /** Shows an entry no more that is gone from the store. */
  forget(known: KeptEntry): void;
  /** Puts another record in its place, live or as a dead letter. */
  update(known: KeptEntry, entry: OutboxEntry, options?: { isDead?: boolean }): OutboxChange;
  /** The password that an entry carries, or `undefined`. */
  openPassword(known: KeptEntry): string | undefined;
  /** Entries of a backend in order, dead letters not among them; read in steps. */
  live(backend: string): AsyncIterable<KeptEntry>;
  dead(backend: string): AsyncIterable<KeptEntry>;
  /** Reads what is owed, for {@link Outbox.owed}. */
  load(): Promise<void>;
  owed(limit: number): readonly OwedWrite[];
  /** Called when a live entry of the backend was added. */
  onAdded(listener: (backend: string) => void): void;
}

interface Pointer {
  readonly sequence: string;
  readonly isDead: boolean;
}

export interface OutboxDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly target: string;
  readonly backends: readonly string[];
  readonly orderedId: () => string;
}

export function createOutbox({ store, vault, clock, target, backends, orderedId }: OutboxDeps): Outbox {
  const keyOf = (backend: string, sequence: string): Deno.KvKey => ["outbox", target, backend, sequence];
  const deadKeyOf = (
    backend: string,
    sequence: string,
  ): Deno.KvKey => ["dead_letter", target, backend, sequence];
  const pointerKeyOf = (
    backend: string,
    { kind, name }: { kind: ResourceKind; name: string },
  ): Deno.KvKey => [
    "owed",
    target,
    backend,
    kind,
    canonicalName(name),
  ];
  const placeOf = ({ backend, sequence, isDead }: Omit<KeptEntry, "entry" | "versionstamp">) =>
    isDead ? deadKeyOf(backend, sequence) : keyOf(backend, sequence);
  let listener: (backend: string) => void = () => undefined;

  async function* list(backend: string, { isDead }: { isDead: boolean }): AsyncIterable<KeptEntry> {
    const prefix = [isDead ? "dead_letter" : "outbox", target, backend];
    for await (const { key, value, versionstamp } of store.list<OutboxEntry>(prefix)) {
      const sequence = key[3];
      if (value === null || versionstamp === null || typeof sequence !== "string") continue;
      yield { backend, sequence, entry: value, versionstamp, isDead };
    }
  }
  const lists = new Map(backends.map((backend) => [
    backend,
    createOwedList(async function* () {
      // Dead letters first: they need an operator's attention.
      yield* list(backend, { isDead: true });
      yield* list(backend, { isDead: false });
    }),
  ]));

  const write = (
    place: Omit<KeptEntry, "entry" | "versionstamp">,
    entry: OutboxEntry,
    former: KeptEntry | null,
  ): OutboxChange => {
    const { backend, sequence, isDead } = place;
    const moved: Mutation[] = former !== null && former.isDead !== isDead
      ? [{ type: "delete", key: placeOf(former) }]
      : [];
    const isPointed = former !== null && former.isDead === isDead;
    const pointer: Mutation[] = isPointed ? [] : [{
      type: "set",
      key: pointerKeyOf(backend, entry),
      value: { sequence, isDead } satisfies Pointer,
    }];
    return {
      mutations: [...moved, { type: "set", key: placeOf(place), value: entry }, ...pointer],
      committed: () => lists.get(backend)?.note(place, entry),
    };
  };

  return {
    async find(backend, kind, name) {
      const { value } = await store.get<Pointer>(pointerKeyOf(backend, { kind, name }));
      if (value === null) return null;
      const place = { backend, ...value };
      const kept = await store.get<OutboxEntry>(placeOf(place));
      if (kept.value === null || kept.versionstamp === null) return null;
      return { ...place, entry: kept.value, versionstamp: kept.versionstamp };
    },
    add({ backend, kind, name, operation, password, remoteId, restores, started = false }, known) {
      const sequence = known?.sequence ?? orderedId();
      const nowMs = clock.nowMs();
      const sealed = password === undefined
        ? (operation === "put" ? known?.entry.password : undefined)
        : vault.seal(keyOf(backend, sequence), new TextEncoder().encode(password));
      const hint = remoteId ?? known?.entry.remoteId;
      const entry: OutboxEntry = {
        kind,
        name,
        operation,
        sinceMs: known?.entry.sinceMs ?? nowMs,
        attempts: 0,
        nextMs: nowMs,
        // An attempt that is under way, or ended in doubt, is in doubt for the newer write too.
        started: started || (known?.entry.started ?? false),
        why: null,
        ...(hint === undefined ? {} : { remoteId: hint }),
        ...(sealed === undefined ? {} : { password: sealed }),
        ...(restores === undefined ? {} : { restores }),
      };
      const change = write({ backend, sequence, isDead: false }, entry, known);
      return {
        mutations: change.mutations,
        committed() {
          change.committed();
          listener(backend);
        },
      };
    },
    drop: (known) => ({
      mutations: [
        { type: "delete", key: placeOf(known) },
        { type: "delete", key: pointerKeyOf(known.backend, known.entry) },
      ],
      committed: () => lists.get(known.backend)?.forget(known.sequence),
    }),
    forget: ({ backend, sequence }) => lists.get(backend)?.forget(sequence),
    update: (known, entry, { isDead = false } = {}) =>
      write({ backend: known.backend, sequence: known.sequence, isDead }, entry, known),
    openPassword({ backend, sequence, entry: { password } }) {
      if (password === undefined) return undefined;
      const plain = vault.open(keyOf(backend, sequence), password);
      return plain === null ? undefined : new TextDecoder().decode(plain);
    },
    live: (backend) => list(backend, { isDead: false }),
    dead: (backend) => list(backend, { isDead: true }),
    async load() {
      for (const list of lists.values()) await list.load();
    },
    owed: (limit) =>
      [...lists.values()].flatMap((list) => list.oldest(limit)).sort((a, b) => a.id < b.id ? -1 : 1)
        .slice(0, limit),
    onAdded: (added) => void (listener = added),
  };
}

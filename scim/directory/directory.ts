// The directory: users and groups of one target, as the store keeps them (RFC 7643). Names, words and memberships are indexed, so that nothing
// that is asked for walks over everybody.

import type { Log } from "../../log.ts";
import { type Clock, type Random, toHex } from "../../runtime.ts";
import type { Store } from "../../store.ts";
import type {
  Directory,
  KeptPassword,
  Mapping,
  PageOptions,
  PrepareLeaving,
  ResourceKind,
  Stored,
} from "../ports.ts";
import { createMapping } from "../pure/mapping.ts";
import { createBigChanges } from "./big_changes.ts";
import { openIndexes } from "./indexes.ts";
import { keysOf } from "./keys.ts";
import { createLoginView } from "./login_view.ts";
import { createMemberSets } from "./member_sets.ts";
import { createPack } from "./pack.ts";
import { createReader } from "./reader.ts";
import { createSearch } from "./search.ts";
import { type Change, createWriter } from "./writer.ts";

export interface DirectoryDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The `<target_id>`. */
  readonly target: string;
  readonly prepareLeaving: PrepareLeaving;
  /** For filters that name attributes of the mapping; by default the document's. */
  readonly mapping?: Mapping;
  /** How many deleted users are remembered; beyond, the oldest are forgotten. */
  readonly tombstonesKept?: number;
}

const TOMBSTONES_KEPT = 1_000_000;

/**
 * Opens a target's directory: loads its counts (a few thousand values for a million users) and finishes what a crash cut off.
 * One process a target: what is in memory must be what is in the store.
 */
export async function createDirectory(deps: DirectoryDeps): Promise<Directory> {
  const { store, clock, log, target } = deps;
  const keys = keysOf(target);
  const indexes = await openIndexes({ store, keys });
  const memberSets = createMemberSets({ store, keys });
  const view = createLoginView({ store, keys, indexes });
  const observers = new Set<(change: Change) => void>();

  let lastNumber = 0;
  const nextNumber = (): number => lastNumber = Math.max(lastNumber + 1, clock.nowMs() * 1024);
  const newSetId = (): string => `${nextNumber().toString(36)}-${toHex(deps.random.bytes(4))}`;
  const packDeps = { store, keys, indexes, memberSets, nextNumber, onUser: view.changed };
  const newPack = () => createPack(packDeps);
  const writer = createWriter({
    keys,
    clock,
    log,
    indexes,
    nextNumber,
    newSetId,
    newPack,
    prepareLeaving: deps.prepareLeaving,
    big: createBigChanges({ ...packDeps, newPack, newSetId }),
    tombstonesKept: deps.tombstonesKept ?? TOMBSTONES_KEPT,
    onChange(change) {
      for (const observer of observers) {
        try {
          observer(change);
        } catch (fault) {
          // The write is durable: whoever watches badly must not make it look refused.
          log.error("an observer of the directory failed", { fault: String(fault) });
        }
      }
    },
  });
  const reader = createReader({ store, keys, indexes, memberSets });
  const search = createSearch({
    store,
    keys,
    indexes,
    memberSets,
    reader,
    mapping: deps.mapping ?? createMapping({ user: {}, group: {} }),
  });
  await writer.finishChores();

  return {
    target,
    read: reader.read,
    async readPassword(canonical) {
      return (await store.get<KeptPassword>(keys.password(canonical))).value;
    },
    page: (kind: ResourceKind, options: PageOptions) => reader.page(kind, options),
    search,
    count: (kind) => indexes.names[kind].total,
    all: (kind): AsyncIterable<Stored> => reader.all(kind),
    write: writer.write,
    writeMany: (writes) => Promise.all(writes.map(writer.write)),
    changeMembers: writer.changeMembers,
    login: view.login,
    prepareLogin: view.prepare,
    observe(observer) {
      observers.add(observer);
      return () => observers.delete(observer);
    },
  };
}

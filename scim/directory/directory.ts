// The directory: users and groups of one target, as the store keeps them (RFC 7643). Names, words and memberships are indexed, so that nothing
// that is asked for walks over everybody.

import type { PasswordHash } from "../../platform/password_hasher.ts";
import type { Log } from "../../platform/log.ts";
import { NO_CHANGE } from "../../platform/write_batch.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import type { Store } from "../../platform/store.ts";
import type { Directory, PageOptions, PrepareGroupTurn, PrepareLeaving } from "../ports.ts";
import type { Mapping, ResourceKind, Stored } from "../schema/resource.ts";
import { createMapping } from "../schema/mapping.ts";
import { createBigChanges } from "./large_group_update.ts";
import { DirectoryBatch } from "./directory_batch.ts";
import { openNameIndexes, withWordIndexes } from "./indexes.ts";
import { type Keys, keysOf } from "./keys.ts";
import { createLoginView } from "./login_view.ts";
import { createMemberSets } from "./member_sets.ts";
import { createReader } from "./reader.ts";
import { createSearch } from "./search.ts";
import { type Change, createWriter, type Writer } from "./write_queue.ts";

export interface DirectoryDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The `<target_id>`. */
  readonly target: string;
  readonly prepareLeaving: PrepareLeaving;
  /** Absent: nothing is kept for groups elsewhere. */
  readonly prepareGroupTurn?: PrepareGroupTurn;
  /** For filters that name attributes of the mapping; by default the document's. */
  readonly mapping?: Mapping;
  /** How many deleted users are remembered; beyond, the oldest are forgotten. */
  readonly tombstonesKept?: number;
}

const TOMBSTONES_KEPT = 1_000_000;

/** What waits for the counts of words: everything that writes or searches. */
interface Work {
  readonly writer: Writer;
  readonly search: Directory["search"];
}

/**
 * Opens a target's directory. Logins and pages can be answered when it resolves; the counts of search words, which are most of what is loaded,
 * follow, and callers that write or search before wait for them. What a crash cut off is finished first.
 *
 * One process a target: what is in memory must be what is in the store.
 */
export async function createDirectory(deps: DirectoryDeps): Promise<Directory> {
  const { store, clock, log, target } = deps;
  const keys = keysOf(target);
  const names = await openNameIndexes({ store, keys });
  const memberSets = createMemberSets({ store, keys });
  const view = createLoginView({ store, keys, indexes: names });
  const reader = createReader({ store, keys, indexes: names, memberSets });
  const observers = new Set<(change: Change) => void>();
  const tell = (change: Change): void => {
    for (const observer of observers) {
      try {
        observer(change);
      } catch (fault) {
        // The write is durable: an observer that throws must not make it look refused.
        log.error("an observer of the directory failed", { fault: String(fault) });
      }
    }
  };

  let lastNumber = 0;
  const nextNumber = (): number => lastNumber = Math.max(lastNumber + 1, clock.nowMs() * 1024);
  const newSetId = (): string => `${nextNumber().toString(36)}-${deps.random.bytes(4).toHex()}`;

  const openWork = async (): Promise<Work> => {
    const indexes = await withWordIndexes(names, { store, keys });
    const batchDeps = { store, keys, indexes, memberSets, nextNumber, onUser: view.changed };
    const newBatch = () => new DirectoryBatch(batchDeps);
    const prepareGroupTurn = deps.prepareGroupTurn ?? (() => NO_CHANGE);
    const writer = createWriter({
      keys,
      clock,
      log,
      indexes,
      nextNumber,
      newSetId,
      newBatch,
      prepareLeaving: deps.prepareLeaving,
      prepareGroupTurn,
      big: createBigChanges({ ...batchDeps, newBatch, newSetId, prepareGroupTurn }),
      tombstonesKept: deps.tombstonesKept ?? TOMBSTONES_KEPT,
      onChange: tell,
    });
    const mapping = deps.mapping ?? createMapping({ user: {}, group: {} });
    const search = createSearch({ store, keys, indexes, memberSets, reader, mapping });
    await writer.finishChores();
    return { writer, search };
  };
  const work = openWork();
  // The callers that wait for it receive the error as well.
  work.catch((fault: unknown) =>
    log.error("the directory can be read and not written: its counts of words could not be loaded", {
      target,
      fault: String(fault),
    })
  );
  // Half of a big change may be waiting; a login must not see it.
  if (await hasChores({ store, keys })) await work;

  const write: Directory["write"] = async (asked) => await (await work).writer.write(asked);
  return {
    target,
    read: reader.read,
    async readPassword(canonical) {
      return (await store.get<PasswordHash>(keys.password(canonical))).value;
    },
    page: (kind: ResourceKind, options: PageOptions) => reader.page(kind, options),
    search: async (...asked) => await (await work).search(...asked),
    count: (kind) => names.names[kind].total,
    all: (kind): AsyncIterable<Stored> => reader.all(kind),
    write,
    writeMany: (writes) => Promise.all(writes.map(write)),
    changeMembers: async (change) => await (await work).writer.changeMembers(change),
    login: view.login,
    prepareLogin: view.prepare,
    observe(observer) {
      observers.add(observer);
      return () => observers.delete(observer);
    },
  };
}

async function hasChores({ store, keys }: { store: Store; keys: Keys }): Promise<boolean> {
  for await (const _chore of store.list(keys.chores, { limit: 1 })) return true;
  return false;
}

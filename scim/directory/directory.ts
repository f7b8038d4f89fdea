// The directory: users and groups of one target in the store (RFC 7643). Names, words and memberships are indexed, so that no request
// reads all users.

import type { PasswordHash } from "../../platform/password_hasher.ts";
import type { Log } from "../../platform/log.ts";
import { NO_CHANGE } from "../../platform/write_batch.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import type { Store } from "../../platform/store.ts";
import type {
  PageOptions,
  PrepareGroupCleanup,
  PrepareOffboarding,
  PreparePasswordChange,
  Target,
  TargetDirectory,
} from "../ports.ts";
import type { Mapping, ResourceKind, Stored } from "../schema/resource.ts";
import { createMapping } from "../schema/mapping.ts";
import { LargeGroupUpdate } from "./large_group_update.ts";
import { DirectoryBatch } from "./directory_batch.ts";
import { openNameIndexes, withWordIndexes } from "./indexes.ts";
import type { IndexMergeOptions } from "./index_merge.ts";
import { createDirectoryKeys, type DirectoryKeys } from "./keys.ts";
import { createLoginView, type LoginUserView, ResourceReader } from "./reader.ts";
import { createMemberSets } from "./member_sets.ts";
import type { ResourceRecord } from "./records.ts";
import { DirectorySearch } from "./search.ts";
import { SOLE_WRITER, type TargetLease } from "./target_lease.ts";
import { DirectoryTrash } from "./trash.ts";
import { WriteQueue } from "./write_queue.ts";
import {
  createUserRecordFinder,
  type FindUserRecord,
  type RecordDirectory,
} from "../../platform/user_record.ts";

export interface DirectoryDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The `<target_id>`. */
  readonly target: string;
  readonly prepareOffboarding: PrepareOffboarding;
  /** Absent: other modules store nothing that depends on a password. */
  readonly preparePasswordChange?: PreparePasswordChange;
  /** Absent: other modules store nothing for groups. */
  readonly prepareGroupCleanup?: PrepareGroupCleanup;
  /** For filters on mapped attributes, as it is now. Default: the default mapping. */
  readonly mapping?: () => Mapping;
  /** The maximum number of tombstones of deleted users. The oldest are deleted first. */
  readonly maxTombstones?: number;
  /** The maximum number of deleted users in the trash. The oldest are removed first. */
  readonly maxTrashed?: number;
  /** Absent: only this process uses the store. */
  readonly lease?: TargetLease;
  /** When the index logs are merged. Default: the limits of indexes.ts. */
  readonly merge?: Partial<IndexMergeOptions>;
}

const MAX_TOMBSTONES = 1_000_000;

/** The parts that need the word indexes. */
interface WritesAndSearch {
  readonly writes: WriteQueue;
  /** With the mapping of now. */
  readonly search: () => DirectorySearch;
}

/**
 * Opens the directory of a target. When it resolves, logins and pages work. The word indexes, which are most of the data, load afterwards; writes
 * and searches wait for them. Updates that a crash interrupted are finished first; with several nodes, by the one that gets the lease.
 *
 * Memory mirrors the store. With several nodes, it follows what the others write, and writes require the lease.
 */
export async function createDirectory(deps: DirectoryDeps): Promise<TargetDirectory> {
  const { clock, log, target, lease = SOLE_WRITER } = deps;
  const { isShared } = lease;
  const store = lease.fence(deps.store);
  const keys = createDirectoryKeys(target);
  const place = { store, keys, nowMs: isShared ? () => clock.nowMs() : undefined };
  const memberSets = createMemberSets({ store, keys });
  store.followGroups(keys.allMembers, keys.allMembers.length + 1, ([, , setId]) => {
    memberSets.forget(String(setId));
  });
  const names = await openNameIndexes(place);
  const view = createLoginView({ store, keys, indexes: names, isShared });
  const reader = new ResourceReader({ store, keys, indexes: names, memberSets });
  const { notify, observe } = createObservers(log);
  followRecords({ store, keys, view, notify });

  let lastNumber = 0;
  const nextNumber = (): number => lastNumber = Math.max(lastNumber + 1, clock.nowMs() * 1024);
  const newSetId = (): string => `${nextNumber().toString(36)}-${deps.random.bytes(4).toHex()}`;
  const trash = new DirectoryTrash({ store, clock, keys, newSetId, maxEntries: deps.maxTrashed });

  const openWritesAndSearch = async (): Promise<WritesAndSearch> => {
    const indexes = await withWordIndexes(names, { ...place, merge: deps.merge });
    const newPartsName = () => isShared ? `${nextNumber()}-${store.node}` : `${nextNumber()}`;
    const batchDeps = { store, keys, indexes, memberSets, nextNumber, newPartsName, onUser: view.update };
    const newBatch = () => new DirectoryBatch(batchDeps);
    const prepareGroupCleanup = deps.prepareGroupCleanup ?? (() => NO_CHANGE);
    const writes = new WriteQueue({
      ...{ keys, clock, log, indexes, nextNumber, newSetId, newBatch, trash },
      prepareOffboarding: deps.prepareOffboarding,
      preparePasswordChange: deps.preparePasswordChange ?? (() => NO_CHANGE),
      prepareGroupCleanup,
      largeGroups: new LargeGroupUpdate({ ...batchDeps, newBatch, newSetId, prepareGroupCleanup }),
      maxTombstones: deps.maxTombstones ?? MAX_TOMBSTONES,
      onChange: notify,
    });
    const search = followMapping(
      deps,
      (mapping) => new DirectorySearch({ store, keys, indexes, memberSets, reader, mapping }),
    );
    if (!isShared) await writes.recover();
    return { writes, search };
  };
  const work = openWritesAndSearch();
  lease.require(work);
  lease.onAcquired(async () => await (await work).writes.recover());
  // The callers that wait for it receive the error, too.
  work.catch((fault: unknown) =>
    log.error("the directory is read-only: its word indexes could not be loaded", {
      target,
      fault: String(fault),
    })
  );
  // A login must not see half of an interrupted update.
  if (!isShared && await hasRecoveryTasks(store, target)) await work;

  const write: TargetDirectory["write"] = async (asked) => await (await work).writes.write(asked);
  return {
    target,
    trash,
    read: (kind, canonical) => reader.read(kind, canonical),
    async readPassword(canonical) {
      return (await store.get<PasswordHash>(keys.password(canonical))).value;
    },
    page: (kind: ResourceKind, options: PageOptions) => reader.page(kind, options),
    search: async (...asked) => await (await work).search().search(...asked),
    count: (kind) => names.names[kind].total,
    all: (kind): AsyncIterable<Stored> => reader.all(kind),
    write,
    writeMany: (writes) => Promise.all(writes.map(write)),
    changeMembers: async (change) => await (await work).writes.changeMembers(change),
    login: view.login,
    prepareLogin: view.prepare,
    observe,
  };
}

/** The search with the mapping of now. */
function followMapping(
  { mapping: mappingOf }: Pick<DirectoryDeps, "mapping">,
  create: (mapping: Mapping) => DirectorySearch,
): () => DirectorySearch {
  const preset = createMapping({ user: {}, group: {} });
  let known: { readonly mapping: Mapping; readonly search: DirectorySearch } | null = null;
  return () => {
    const mapping = mappingOf?.() ?? preset;
    if (known?.mapping !== mapping) known = { mapping, search: create(mapping) };
    return known.search;
  };
}

type Observer = Parameters<TargetDirectory["observe"]>[0];

function createObservers(log: Log): { notify: Observer } & Pick<TargetDirectory, "observe"> {
  const observers = new Set<Observer>();
  return {
    notify(change) {
      for (const observer of observers) {
        try {
          observer(change);
        } catch (fault) {
          // The write is durable. An error of an observer must not look like a refusal.
          log.error("an observer of the directory failed", { fault: String(fault) });
        }
      }
    },
    observe(observer) {
      observers.add(observer);
      return () => observers.delete(observer);
    },
  };
}

/** Updates the login view by the writes of other nodes, and reports them to the observers. */
function followRecords({ store, keys, view, notify }: {
  readonly store: Pick<Store, "follow">;
  readonly keys: DirectoryKeys;
  readonly view: LoginUserView;
  readonly notify: Observer;
}): void {
  for (const kind of ["user", "group"] as const) {
    store.follow(keys.records(kind), ({ key, value }) => {
      const canonical = String(key[2]);
      const head = value as ResourceRecord | null;
      if (kind === "user") view.follow(canonical, head);
      notify({ kind, name: head?.name ?? canonical, deleted: head === null, isRemote: true });
    });
  }
}

/** Whether an update of a target was interrupted, or is in progress on another node. */
export async function hasRecoveryTasks(store: Pick<Store, "list">, target: string): Promise<boolean> {
  for await (const _task of store.list(createDirectoryKeys(target).chores, { limit: 1 })) return true;
  return false;
}

/** @param target the target whose users sign in. It can change. */
export function findUserRecordIn(target: Pick<Target, "name" | "directory">, store: Store): FindUserRecord {
  return (userName) =>
    createUserRecordFinder({ store, target: target.name, directory: recordDirectoryOf(target) })(userName);
}

/** @param target the target whose users sign in. */
export function recordDirectoryOf({ directory }: Pick<Target, "directory">): RecordDirectory {
  return {
    async read(canonical) {
      const stored = await directory.read("user", canonical);
      return stored?.content.kind === "user"
        ? { createdMs: stored.createdMs, active: stored.content.active }
        : null;
    },
    async isDeleted(canonical) {
      await directory.prepareLogin(canonical);
      return directory.login(canonical).status === "deleted";
    },
  };
}

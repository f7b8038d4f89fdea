// The directory: users and groups of one target in the store (RFC 7643). Names, words and memberships are indexed, so that no request
// reads all users.

import type { PasswordHash } from "../../platform/password_hasher.ts";
import type { Log } from "../../platform/log.ts";
import { NO_CHANGE, type PrepareRename } from "../../platform/write_batch.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import type { Store } from "../../platform/store.ts";
import type {
  NameTraces,
  PrepareForgetDevices,
  PrepareGroupCleanup,
  PrepareOffboarding,
  ResourceIndexes,
  Target,
  TargetDirectory,
} from "../ports.ts";
import type { Mapping, ResourceKind, Stored } from "../schema/resource.ts";
import { type BatchReadDeps, BatchReads, DirectoryBatch } from "./directory_batch.ts";
import { LargeUpdates } from "./large_updates.ts";
import { createResourceIndexes, type Indexes, openNameIndexes, withWordIndexes } from "./indexes.ts";
import type { IndexMergeOptions } from "./index_merge.ts";
import { createDirectoryKeys, type DirectoryKeys } from "./keys.ts";
import {
  createLoginView,
  IdIssuer,
  type LoginUserView,
  readHeadById,
  readIds,
  type RepliesOf,
  ResourceReader,
} from "./reader.ts";
import { GroupNesting } from "./group_nesting.ts";
import { createMemberSets, followRenames, type MemberSets } from "./member_sets.ts";
import type { ResourceRecord } from "./records.ts";
import { DirectorySearch, followMapping } from "./search.ts";
import { SOLE_WRITER, type TargetLease } from "../locks.ts";
import { RenameWriter } from "./rename_writer.ts";
import { DirectoryTrash } from "./trash.ts";
import { RenderedUsers } from "./rendered_users.ts";
import type { WriteParts } from "./write_plan.ts";
import { WriteQueue } from "./write_queue.ts";
import {
  createUserRecordFinder,
  findRenamed,
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
  /** Absent: other modules store nothing that depends on a password or a number. */
  readonly prepareForgetDevices?: PrepareForgetDevices;
  /** Absent: other modules store nothing for groups. */
  readonly prepareGroupCleanup?: PrepareGroupCleanup;
  /** Absent: other modules store nothing by name. */
  readonly prepareRename?: PrepareRename;
  /** For filters on mapped attributes, as it is now. Default: the default mapping. */
  readonly mapping?: () => Mapping;
  /** See {@link LoginViewDeps}. */
  readonly repliesOf?: RepliesOf | undefined;
  /** The maximum number of tombstones of deleted users. The oldest are deleted first. */
  readonly maxTombstones?: number;
  /** The maximum number of deleted users in the trash. The oldest are removed first. */
  readonly maxTrashed?: number;
  /** Absent: only this process uses the store. */
  readonly lease?: TargetLease;
  /** About the octets of the users' texts that stay in memory for responses. With several nodes none do. Default: 48 MiB. */
  readonly maxRenderedOctets?: number;
  /** When the index logs are merged. Default: the limits of indexes.ts. */
  readonly merge?: Partial<IndexMergeOptions>;
}

const MAX_TOMBSTONES = 1_000_000;
export const MAX_RENDERED_OCTETS = 48 * 1024 * 1024;
/** Groups that one name is followed through. */
const MAX_TRACED_GROUPS = 2000;
/** A number of the order of writes contains its time. */
const NUMBERS_PER_MS = 1024;

/** The parts that need the word indexes. */
interface WritesAndSearch {
  readonly writes: WriteQueue;
  readonly renames: RenameWriter;
  /** With the mapping of now. */
  readonly search: () => DirectorySearch;
  readonly indexes: Indexes;
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
  const memberSets = openMemberSets({ store, keys });
  const names = await openNameIndexes(place);
  const pendingRenames = await followRenames({ store, keys });
  const nesting = new GroupNesting({ store, keys, indexes: names });
  const view = createLoginView({
    ...{ store, keys, indexes: names, isShared, pendingRenames, nesting, repliesOf: deps.repliesOf },
  });
  const reader = new ResourceReader({ store, keys, indexes: names, memberSets, pendingRenames });
  const { notify, observe } = createObservers(log);
  followRecords({ store, keys, view, nesting, notify });

  let lastNumber = 0;
  const nextNumber = (): number => lastNumber = Math.max(lastNumber + 1, clock.nowMs() * NUMBERS_PER_MS);
  const newSetId = (): string => `${nextNumber().toString(36)}-${deps.random.bytes(4).toHex()}`;
  const trash = new DirectoryTrash({ store, clock, keys, newSetId, maxEntries: deps.maxTrashed });

  const count = (kind: ResourceKind): number => names.names[kind].total;
  const resources = createResourceIndexes({
    ...{ store, keys, reader, names: names.names },
    indexes: async () => (await work).indexes,
  });
  const reads = readsOf(reader, resources);
  const rendered = new RenderedUsers({
    directory: reads,
    maxOctets: isShared ? 0 : deps.maxRenderedOctets ?? MAX_RENDERED_OCTETS,
    isRenaming: () => !pendingRenames.isEmpty,
  });
  const openWritesAndSearch = async (): Promise<WritesAndSearch> => {
    const indexes = await withWordIndexes(names, { ...place, merge: deps.merge });
    const { writes, renames } = createWrites(deps, {
      ...{ store, keys, clock, log, nextNumber, newSetId, isShared, indexes, memberSets, trash },
      ...{ view, rendered, nesting, pendingRenames, onChange: notify },
    });
    const search = followMapping(
      deps.mapping,
      (mapping) => new DirectorySearch({ indexes: resources, count, memberSets, reader, mapping }),
    );
    if (!isShared) await writes.recover();
    return { writes, renames, search, indexes };
  };
  const work = openWritesAndSearch();
  lease.require(work);
  lease.onAcquired(async () => await (await work).writes.recover());
  reportFailure(deps, work);
  // A login must not see half of an interrupted update.
  if (!isShared && await hasRecoveryTasks(store, target)) await work;

  const write: TargetDirectory["write"] = async (asked) => await (await work).writes.write(asked);
  return {
    target,
    trash,
    ...reads,
    render: (renderer) => rendered.render(renderer),
    readHeadById: (kind, id) => readHeadById({ store, keys, reader }, { kind, id }),
    readIds: (kind, names) => readIds({ reader }, { kind, names }),
    isSettled: async () => !await hasRecoveryTasks(store, target),
    async readPassword(canonical) {
      return (await store.get<PasswordHash>(keys.password(canonical))).value;
    },
    readTraces: (canonical) => readTraces({ store, keys, indexes: names }, canonical),
    search: async (...asked) => await (await work).search().search(...asked),
    count,
    all: (kind): AsyncIterable<Stored> => reader.all(kind),
    write,
    writePlanned: async (resource, plan) => await (await work).writes.writePlanned(resource, plan),
    rename: async (asked) => await (await work).renames.rename(asked),
    renamedTo: (kind, canonical) => findRenamed(store, { target, kind, canonical }),
    writeMany: (writes) => Promise.all(writes.map(write)),
    changeMembers: async (change) => await (await work).writes.changeMembers(change),
    login: view.login,
    prepareLogin: view.prepare,
    observe,
  };
}

function readsOf(
  reader: ResourceReader,
  indexes: ResourceIndexes,
): Pick<TargetDirectory, "indexes" | "read" | "readById" | "page"> {
  return {
    indexes,
    read: (kind, canonical) => reader.read(kind, canonical),
    readById: (kind, id) => reader.readById(kind, id),
    page: (kind, options) => reader.page(kind, options),
  };
}

async function readTraces(deps: BatchReadDeps, canonical: string): Promise<NameTraces> {
  const reads = new BatchReads(deps);
  const tombstone = await reads.tombstone(canonical);
  const groups = new Set((await reads.memberships(canonical)).values());
  // The set grows while it is read. A cycle ends, because each group is in it once.
  for (const name of groups) {
    if (groups.size >= MAX_TRACED_GROUPS) break;
    for (const group of (await reads.memberships(name)).values()) groups.add(group);
  }
  return { leftMs: tombstone === null ? null : tombstone.order / NUMBERS_PER_MS, groups: [...groups] };
}

/** The members of groups in memory, which follow the writes of other nodes. */
function openMemberSets(
  { store, keys }: { readonly store: Store; readonly keys: DirectoryKeys },
): MemberSets {
  const memberSets = createMemberSets({ store, keys });
  const { allMembers } = keys;
  store.followGroups(allMembers, allMembers.length + 1, ([, , setId]) => memberSets.forget(String(setId)));
  return memberSets;
}

/** The callers that wait for it receive the error, too. */
function reportFailure({ log, target }: DirectoryDeps, work: Promise<unknown>): void {
  work.catch((fault: unknown) =>
    log.error("the directory is read-only: its word indexes could not be loaded", {
      target,
      fault: String(fault),
    })
  );
}

interface KnownParts extends
  Pick<
    WriteParts,
    "store" | "keys" | "indexes" | "memberSets" | "nextNumber" | "nesting" | "clock" | "log"
  >,
  Pick<WriteParts, "newSetId" | "trash" | "pendingRenames" | "onChange"> {
  readonly isShared: boolean;
  readonly view: LoginUserView;
  readonly rendered: RenderedUsers;
}

function createWrites(
  deps: DirectoryDeps,
  { isShared, view, rendered, ...known }: KnownParts,
): Pick<WritesAndSearch, "writes" | "renames"> {
  const { store, nextNumber } = known;
  const parts: WriteParts = {
    ...known,
    ids: new IdIssuer(),
    newBatch: () => new DirectoryBatch(parts),
    newPartsName: () => isShared ? `${nextNumber()}-${store.node}` : `${nextNumber()}`,
    onRecord({ kind, canonical }, { before, after }) {
      const isNameChange = (before === null) !== (after === null);
      if (kind === "user") {
        rendered.forget(canonical, { isNameChange });
        view.update(canonical, after);
      } else if (isNameChange) rendered.groupsChanged();
    },
    prepareOffboarding: deps.prepareOffboarding,
    prepareForgetDevices: deps.prepareForgetDevices ?? (() => NO_CHANGE),
    prepareGroupCleanup: deps.prepareGroupCleanup ?? (() => NO_CHANGE),
    prepareRename: deps.prepareRename ?? (() => Promise.resolve(NO_CHANGE)),
  };
  const largeUpdates = new LargeUpdates(parts);
  const { maxTombstones = MAX_TOMBSTONES } = deps;
  const writes = new WriteQueue({ ...parts, largeUpdates, maxTombstones });
  return { writes, renames: new RenameWriter({ ...parts, writes, largeUpdates }) };
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
function followRecords({ store, keys, view, nesting, notify }: {
  readonly store: Pick<Store, "follow">;
  readonly keys: DirectoryKeys;
  readonly view: LoginUserView;
  readonly nesting: GroupNesting;
  readonly notify: Observer;
}): void {
  for (const kind of ["user", "group"] as const) {
    store.follow(keys.records(kind), ({ key, value }) => {
      const canonical = String(key[2]);
      const head = value as ResourceRecord | null;
      if (kind === "user") view.follow(canonical, head);
      else nesting.groupsChanged();
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
      // A caller that adds a factor needs the user of the login, too.
      await directory.prepareLogin(canonical);
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

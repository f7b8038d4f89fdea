// Refreshes one resource from its backends.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Mutation } from "../../platform/store.ts";
import type { Backend, RemoteResource } from "../backend_port.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type { Actor, DirectoryWrite } from "../ports.ts";
import type { ResourceKind, Stored } from "../schema/resource.ts";
import { contentAuditEntries } from "./write_audit.ts";
import { copyChanges, desiredContent, readStatus, type ResourceStatus } from "./backend_status.ts";
import { findByRemoteIds, followRename, type MovedResource, withRenamedMembers } from "./follow_renames.ts";
import { applyReading, type RefreshDeps, toReading, withKnownMembers } from "./reconcile.ts";
import { backendRefusal } from "./write_coordinator.ts";

/** @throws ScimRefusal `backend_unreachable` or `backend_failed` if a backend cannot be read. Nothing is changed then. */
export async function refreshOne(
  deps: RefreshDeps,
  { kind, name, actor, isFollowed = false }: {
    kind: ResourceKind;
    name: string;
    actor: Actor;
    /** A rename at a backend was followed, or could not be. */
    isFollowed?: boolean;
  },
): Promise<Stored | null> {
  const refresh = async (): Promise<Stored | null | MovedResource> => {
    const stored = await deps.directory.read(kind, canonicalName(name));
    const before = await readStatus(deps.copies, stored);
    const found = await readAll(deps, { kind, name: stored?.content.name ?? name, status: before });
    const moved = isFollowed ? null : await findMoved(deps, { found, kind, stored });
    if (moved !== null) return moved;
    const readings = found.map(({ backend, remote }) => toReading(deps, { backend, remote }));
    const after = readings.reduce(applyReading, before);
    if (after === before) return stored;
    const events = contentAuditEntries({ name: deps.target, isLoginTarget: deps.isLoginTarget }, {
      actor,
      action: `${kind}.refreshed`,
      kind,
      name: after.content?.name ?? stored?.content.name ?? name,
      before: before.content,
      after: after.content,
    });
    const write = await refreshWrite(deps, { kind, name, stored, before, after, actor });
    if (write === null) return stored;
    const written = await deps.directory.write({ ...write, also: [...write.also ?? [], ...events] });
    if (!written.ok) throw new ScimRefusal("changed");
    return written.stored;
  };
  const result = await deps.locks.write([{ kind, name }], refresh);
  if (result === null || !("from" in result)) return result;
  const outcome = await followRename({ ...deps, actor }, result);
  const next = outcome === "done" ? result.remote.content.name : name;
  return await refreshOne(deps, { kind, name: next, actor, isFollowed: true });
}

interface FoundAtBackend {
  readonly backend: Backend;
  readonly remote: RemoteResource | null;
}

/** A resource that has another name here than at a backend, by its permanent ID. */
async function findMoved(
  deps: RefreshDeps,
  { found, kind, stored }: { found: readonly FoundAtBackend[]; kind: ResourceKind; stored: Stored | null },
): Promise<MovedResource | null> {
  for (const { backend, remote } of found) {
    if (remote === null) continue;
    const to = canonicalName(remote.content.name);
    if (stored !== null && to !== canonicalName(stored.content.name)) {
      return { backend, from: stored.content.name, remote };
    }
    if (stored !== null) continue;
    const ids = new Set([remote.remoteId]);
    const from = (await findByRemoteIds(deps, { backend, kind, ids })).get(remote.remoteId);
    if (from !== undefined && canonicalName(from) !== to) return { backend, from, remote };
  }
  return null;
}

/** Reads every backend without a pending write, in the order of the list. */
async function readAll(
  deps: RefreshDeps,
  { kind, name, status }: { kind: ResourceKind; name: string; status: ResourceStatus },
): Promise<FoundAtBackend[]> {
  const found = await Promise.all(deps.backends.map(async ({ name: backend }) => {
    const remote = deps.remotes.get(backend);
    if (remote === undefined || (kind === "group" && !remote.holds.groups)) return [];
    if (await deps.outbox.find(backend, kind, name) !== null) return [];
    if (status.content === null && await isEarlierName(deps, { backend, kind, name })) return [];
    const remoteId = status.backends[backend]?.remoteId;
    const read = await remote.read(kind, name, remoteId === undefined ? {} : { remoteId });
    if (!read.ok) throw backendRefusal(backend, { fault: read.fault });
    const known = await withKnownMembers(remote, read.value, desiredContent(status, backend));
    return [{ backend: remote, remote: await withRenamedMembers(deps, known) }];
  }));
  return found.flat();
}

/** Whether a backend still has this name because the rename of its resource is pending. It is no new resource. */
export async function isEarlierName(
  { directory, outbox }: Pick<RefreshDeps, "directory" | "outbox">,
  { backend, kind, name }: { backend: string; kind: ResourceKind; name: string },
): Promise<boolean> {
  const canonical = canonicalName(name);
  const now = await directory.renamedTo(kind, canonical);
  const pending = now === null ? null : await outbox.find(backend, kind, now);
  return pending?.entry.from?.includes(canonical) === true;
}

/** The directory write for a changed status; `null` if the resource exists neither before nor after. */
export async function refreshWrite(
  { copies }: RefreshDeps,
  { kind, name, stored, before, after, actor }: {
    kind: ResourceKind;
    name: string;
    stored: Stored | null;
    before: ResourceStatus;
    after: ResourceStatus;
    actor: Actor;
  },
): Promise<DirectoryWrite | null> {
  if (stored === null && after.content === null) return null;
  const canonical = canonicalName(name);
  const also: Mutation[] = await copyChanges(copies, {
    kind,
    canonical,
    before: before.copies,
    after: after.copies,
  });
  return {
    kind,
    name: after.content?.name ?? stored?.content.name ?? name,
    expected: stored?.version ?? null,
    recorded: stored?.recorded ?? 0,
    statesOnly: stored !== null && after.content === stored.content && also.length === 0,
    next: after.content === null ? null : { content: after.content, backends: after.backends },
    deletion: { actor, cause: "vanished" },
    also,
  };
}

export interface ChangeWatch {
  /** Whether a resource was changed, deleted or delivered since the watch began, so that the list may show an older version. */
  isNewer(name: string, stored: Stored | null): boolean;
  /** Whether another node may have written the resource since the watch began. Its clock may differ, so times do not tell it. */
  isChangedElsewhere(name: string): boolean;
  stop(): void;
}

/** Beyond this number, every missing resource counts as deleted in the meantime. */
const MAX_NAMES = 100_000;

/**
 * Starts before the backend is listed. A write that is pending at the start can be delivered after the backend read the resource for its list.
 * The list is then older than the store, although nothing changes in the store any more.
 */
export async function watchChanges(
  { directory, clock, outbox }: Pick<RefreshDeps, "directory" | "clock" | "outbox">,
  { backend, kind }: { backend: string; kind: ResourceKind },
): Promise<ChangeWatch> {
  const startedMs = clock.nowMs();
  const deleted = new Set<string>();
  const elsewhere = new Set<string>();
  const pending = new Set<string>();
  /** Removing a user changes its groups without a notification. */
  let isUserChanged = false;
  const stop = directory.observe((change) => {
    if (change.kind === "user") isUserChanged = true;
    if (change.kind !== kind) return;
    if (change.deleted && deleted.size < MAX_NAMES) deleted.add(canonicalName(change.name));
    if (change.isRemote === true && elsewhere.size < MAX_NAMES) elsewhere.add(canonicalName(change.name));
  });
  const isChangedElsewhere = (name: string) =>
    elsewhere.size >= MAX_NAMES || elsewhere.has(canonicalName(name));
  try {
    for await (const { entry } of outbox.all(backend)) {
      if (entry.kind === kind) pending.add(canonicalName(entry.name));
      if (pending.size >= MAX_NAMES) break;
    }
  } catch (fault) {
    stop();
    throw fault;
  }
  const wasPending = (name: string) => pending.size >= MAX_NAMES || pending.has(canonicalName(name));
  return {
    isChangedElsewhere,
    isNewer(name, stored) {
      if (isChangedElsewhere(name) || wasPending(name)) return true;
      if (stored === null) return deleted.size >= MAX_NAMES || deleted.has(canonicalName(name));
      return stored.modifiedMs >= startedMs || (kind === "group" && isUserChanged);
    },
    stop,
  };
}

// Refreshes one resource from its backends.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Mutation } from "../../platform/store.ts";
import type { Backend, RemoteResource } from "../backend_port.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type { Actor, BackendInfo, DirectoryWrite, TargetDirectory } from "../ports.ts";
import type { Content, ResourceKind, Stored } from "../schema/resource.ts";
import type { TargetLease } from "../directory/target_lease.ts";
import type { ReadOnlyAttributes } from "../schema/read_only_attributes.ts";
import { contentAuditEntries } from "./write_audit.ts";
import {
  type BackendCopies,
  copyChanges,
  desiredContent,
  readStatus,
  type ResourceStatus,
} from "./backend_status.ts";
import { lockKey } from "./delivery.ts";
import type { KeyedLocks } from "./keyed_locks.ts";
import { underLease } from "./leased_writes.ts";
import type { Outbox } from "./outbox.ts";
import { applyReading, type BackendReading } from "./reconcile.ts";
import { backendRefusal } from "./sync_writes.ts";

export interface RefreshDeps {
  readonly lease: Pick<TargetLease, "run">;
  readonly directory: TargetDirectory;
  readonly backends: readonly BackendInfo[];
  readonly remotes: ReadonlyMap<string, Backend>;
  readonly outbox: Outbox;
  readonly copies: BackendCopies;
  readonly locks: KeyedLocks;
  readonly clock: Clock;
  readonly target: string;
  readonly isLoginTarget: boolean;
  /** The attributes that are read-only at every backend. */
  readonly readOnly: ReadOnlyAttributes;
}

/** @throws ScimRefusal `backend_unreachable` or `backend_failed` if a backend cannot be read. Nothing is changed then. */
export function refreshOne(
  deps: RefreshDeps,
  { kind, name, actor }: { kind: ResourceKind; name: string; actor: Actor },
): Promise<Stored | null> {
  const refresh = async () => {
    const stored = await deps.directory.read(kind, canonicalName(name));
    const before = await readStatus(deps.copies, stored);
    const readings = await readAll(deps, { kind, name: stored?.content.name ?? name, status: before });
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
  return underLease(deps.lease, () => deps.locks.run(lockKey(kind, name), refresh));
}

/** Reads every backend without a pending write, in the order of the list. */
async function readAll(
  deps: RefreshDeps,
  { kind, name, status }: { kind: ResourceKind; name: string; status: ResourceStatus },
): Promise<BackendReading[]> {
  const found = await Promise.all(deps.backends.map(async ({ name: backend }) => {
    const remote = deps.remotes.get(backend);
    if (remote === undefined || (kind === "group" && !remote.holds.groups)) return [];
    if (await deps.outbox.find(backend, kind, name) !== null) return [];
    if (status.content === null && await isEarlierName(deps, { backend, kind, name })) return [];
    const remoteId = status.backends[backend]?.remoteId;
    const read = await remote.read(kind, name, remoteId === undefined ? {} : { remoteId });
    if (!read.ok) throw backendRefusal(backend, { fault: read.fault });
    const known = desiredContent(status, backend);
    const found = await withKnownMembers(remote, read.value, known);
    return [toReading(deps, { backend: remote, remote: found })];
  }));
  return found.flat();
}

/**
 * A group that a backend returned. If the backend shows no members of any group, or hides those of this one, it says nothing about them: the group
 * has the members that are known here. A backend that shows members of other groups is believed.
 *
 * @param known the resource here.
 */
export async function withKnownMembers(
  backend: Backend,
  remote: RemoteResource | null,
  known: Content | null,
): Promise<RemoteResource | null> {
  const content = remote?.content;
  if (remote === null || content?.kind !== "group" || known?.kind !== "group") return remote;
  if (content.members.length > 0 || known.members.length === 0) return remote;
  if (remote.hidesMembers !== true) {
    const shows = await backend.showsMembers?.() ?? { ok: true, value: true };
    if (shows.ok && shows.value) return remote;
  }
  return { ...remote, content: { ...content, members: known.members }, hidesMembers: true };
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

export function toReading(
  { backends, clock, readOnly }: RefreshDeps,
  { backend, remote }: { backend: Backend; remote: BackendReading["remote"] },
): BackendReading {
  return {
    backend: backend.name,
    coverage: backend,
    remote,
    order: backends.map(({ name }) => name),
    embedded: new Set(backends.filter(({ kind }) => kind === "store").map(({ name }) => name)),
    nowMs: clock.nowMs(),
    readOnly,
  };
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

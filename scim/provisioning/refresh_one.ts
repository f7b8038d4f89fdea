// Refreshes one resource from its backends, and follows renames there: a resource that a backend has under another name is found by its permanent ID, so
// that it keeps its id, its memberships and its factors.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Mutation } from "../../platform/store.ts";
import type { Backend, RemoteResource } from "../backend_port.ts";
import { NameHashSet } from "../directory/name_hashes.ts";
import { backendRefusal, ScimRefusal } from "../http/refusals.ts";
import type { Actor, DirectoryWrite } from "../ports.ts";
import { contentChanges } from "../schema/merge.ts";
import type { BackendStates, Content, ResourceKind, Stored } from "../schema/resource.ts";
import {
  applyReading,
  copyChanges,
  desiredContent,
  hasResource,
  readStatus,
  type ResourceStatus,
  toReading,
  withKnownMembers,
} from "./backend_status.ts";
import type { OutboxChange } from "./outbox.ts";
import { isAsynchronous, type TargetParts } from "./plan.ts";
import { contentAuditEntries } from "./write_audit.ts";

/** @throws ScimRefusal `backend_unreachable` or `backend_failed` if a backend cannot be read. Nothing is changed then. */
export async function refreshOne(
  deps: TargetParts,
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
  deps: TargetParts,
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
  deps: TargetParts,
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
  { directory, outbox }: Pick<TargetParts, "directory" | "outbox">,
  { backend, kind, name }: { backend: string; kind: ResourceKind; name: string },
): Promise<boolean> {
  const canonical = canonicalName(name);
  const now = await directory.renamedTo(kind, canonical);
  const pending = now === null ? null : await outbox.find(backend, kind, now);
  return pending?.entry.from?.includes(canonical) === true;
}

/** The directory write for a changed status; `null` if the resource exists neither before nor after. */
export async function refreshWrite(
  { copies }: TargetParts,
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
  const also = await copyChanges(copies, { kind, name, before: before.copies, after: after.copies });
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
  /** Whether the resource may have been written since the watch began. The clocks of nodes differ, and a clock can be set back, so times do not tell it. */
  isChanged(name: string): boolean;
  stop(): void;
}

/** Beyond this number, every missing resource counts as deleted in the meantime. */
const MAX_NAMES = 100_000;

/**
 * Starts before the backend is listed. A write that is pending at the start can be delivered after the backend read the resource for its list.
 * The list is then older than the store, although nothing changes in the store any more.
 */
export async function watchChanges(
  { directory, clock, outbox }: Pick<TargetParts, "directory" | "clock" | "outbox">,
  { backend, kind }: { backend: string; kind: ResourceKind },
): Promise<ChangeWatch> {
  const startedMs = clock.nowMs();
  const deleted = new Set<string>();
  /** With the writes of the refresh itself, which may be more than fit. */
  const written = new Set<string>();
  const elsewhere = new Set<string>();
  const pending = new Set<string>();
  /** Removing a user changes its groups without a notification. */
  let isUserChanged = false;
  const stop = directory.observe((change) => {
    if (change.kind === "user") isUserChanged = true;
    if (change.kind !== kind) return;
    if (change.deleted && deleted.size < MAX_NAMES) deleted.add(canonicalName(change.name));
    const changed = change.isRemote === true ? elsewhere : written;
    if (changed.size < MAX_NAMES) changed.add(canonicalName(change.name));
  });
  const isChanged = (name: string) =>
    elsewhere.size >= MAX_NAMES || [elsewhere, written].some((names) => names.has(canonicalName(name)));
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
    isChanged,
    isNewer(name, stored) {
      if (isChanged(name) || wasPending(name)) return true;
      if (stored === null) return deleted.size >= MAX_NAMES || deleted.has(canonicalName(name));
      return stored.modifiedMs >= startedMs || (kind === "group" && isUserChanged);
    },
    stop,
  };
}

/** A resource of a backend that has another name here. */
interface MovedResource {
  readonly backend: Backend;
  /** The name here. */
  readonly from: string;
  readonly remote: RemoteResource;
}

/** `taken`: another resource here has the new name. `blocked`: another connector has the resource and cannot rename it. `gone`: it changed meanwhile. */
type FollowOutcome = "done" | "taken" | "blocked" | "gone";

/** Whether an ID stays with the resource. A DN does not: it contains the name, and another entry can have it later. */
function isPermanent(id: string | undefined, { kind }: Backend): id is string {
  return id !== undefined && (kind !== "ldap" || !id.includes("="));
}

/** Whether the resource here with the name of `remote` was another one at the backend until now. */
function isOtherResource(stored: Stored | null, remote: RemoteResource, backend: Backend): boolean {
  const state = stored?.backends[backend.name];
  return hasResource(state) && isPermanent(state?.remoteId, backend) && state?.remoteId !== remote.remoteId;
}

/** The resource here that a backend has with one of these IDs, by the ID. Reads the whole directory. */
async function findByRemoteIds(
  { directory }: Pick<TargetParts, "directory">,
  { backend, kind, ids }: { backend: Backend; kind: ResourceKind; ids: ReadonlySet<string> },
): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for await (const { content, backends } of directory.all(kind)) {
    const state = backends[backend.name];
    if (state?.remoteId === undefined || !hasResource(state) || !ids.has(state.remoteId)) continue;
    if (isPermanent(state.remoteId, backend)) names.set(state.remoteId, content.name);
  }
  return names;
}

/** Resources whose names changed are few. More of them are followed in parts. */
const MAX_HELD = 10_000;

/** The resources of one list of a backend that may have other names here. They wait until the list has ended, because names can change places. */
export class MovedResources {
  readonly #deps: TargetParts & { readonly actor: Actor };
  readonly #backend: Backend;
  readonly #kind: ResourceKind;
  readonly #held = new Map<string, RemoteResource>();
  #known: NameHashSet | null = null;

  constructor(
    deps: TargetParts & { readonly actor: Actor },
    { backend, kind }: { backend: Backend; kind: ResourceKind },
  ) {
    this.#deps = deps;
    this.#backend = backend;
    this.#kind = kind;
  }

  get isFull(): boolean {
    return this.#held.size >= MAX_HELD;
  }

  /** Keeps a resource back if it may have another name here. @param stored the resource here with its name. */
  async hold(remote: RemoteResource, stored: Stored | null): Promise<boolean> {
    const state = stored?.backends[this.#backend.name];
    if (!isPermanent(remote.remoteId, this.#backend)) return false;
    if (hasResource(state) && (state?.remoteId === remote.remoteId || state?.remoteId === undefined)) {
      return false;
    }
    const isHeld = isOtherResource(stored, remote, this.#backend) || await this.#isKnown(remote.remoteId);
    if (isHeld) this.#held.set(remote.remoteId, remote);
    return isHeld;
  }

  /** Whether a resource here may have the ID. Reads the directory once, when the first unknown resource is listed. */
  async #isKnown(id: string): Promise<boolean> {
    if (this.#known === null) {
      const known = new NameHashSet(0);
      for await (const { backends } of this.#deps.directory.all(this.#kind)) {
        const state = backends[this.#backend.name];
        if (state?.remoteId !== undefined && hasResource(state)) known.add(state.remoteId);
      }
      this.#known = known;
    }
    return this.#known.has(id);
  }

  /** Follows the renames. Returns the resources that are no renames, and those that could not be followed, by their names here. */
  async settle(): Promise<{
    readonly others: readonly RemoteResource[];
    readonly left: readonly {
      readonly from: string;
      readonly to: string;
      readonly why: "taken" | "blocked";
    }[];
  }> {
    const held = new Map(this.#held);
    this.#held.clear();
    if (held.size === 0) return { others: [], left: [] };
    const [backend, kind] = [this.#backend, this.#kind];
    const names = await findByRemoteIds(this.#deps, { backend, kind, ids: new Set(held.keys()) });
    let waiting = [...names].flatMap(([id, from]) => {
      const remote = held.get(id);
      const isMoved = remote !== undefined && canonicalName(remote.content.name) !== canonicalName(from);
      return isMoved ? [{ backend, from, remote }] : [];
    });
    const left: { from: string; to: string; why: "taken" | "blocked" }[] = [];
    // A name becomes free when the resource that had it is renamed, too.
    for (let isProgress = true; isProgress && waiting.length > 0;) {
      const still: MovedResource[] = [];
      for (const moved of waiting) {
        const outcome = await followRename(this.#deps, moved);
        if (outcome === "taken") still.push(moved);
        else held.delete(moved.remote.remoteId);
        if (outcome === "blocked") left.push(leftOf(moved, outcome));
      }
      isProgress = still.length < waiting.length;
      waiting = still;
    }
    for (const moved of waiting) {
      held.delete(moved.remote.remoteId);
      left.push(leftOf(moved, "taken"));
    }
    return { others: [...held.values()], left };
  }
}

function leftOf({ from, remote }: MovedResource, why: "taken" | "blocked") {
  return { from, to: remote.content.name, why };
}

/** Renames a resource here as a backend did. Other connectors that have it follow by the outbox. */
function followRename(
  deps: TargetParts & { readonly actor: Actor },
  moved: MovedResource,
): Promise<FollowOutcome> {
  const { kind, name } = moved.remote.content;
  return deps.locks.write([{ kind, name: moved.from }, { kind, name }], () => renameHere(deps, moved));
}

async function renameHere(
  deps: TargetParts & { readonly actor: Actor },
  moved: MovedResource,
): Promise<FollowOutcome> {
  const { directory, outbox, copies, target, isLoginTarget, actor } = deps;
  const { backend, from, remote } = moved;
  const { kind, name: to } = remote.content;
  const stored = await directory.read(kind, canonicalName(from));
  const state = stored?.backends[backend.name];
  const isSame = hasResource(state) && state?.remoteId === remote.remoteId;
  // A pending write of this connector may be the rename.
  if (stored === null || !isSame || await outbox.find(backend.name, kind, from) !== null) return "gone";
  if (await directory.read(kind, canonicalName(to)) !== null) return "taken";
  const others = otherBackends(deps, { stored, backend });
  if (others.some((one) => one.isReadOnly === true || one.rename === undefined)) return "blocked";
  const before = await readStatus(copies, stored);
  const known = await withKnownMembers(backend, remote, desiredContent(before, backend.name));
  const after = applyReading(
    before,
    toReading(deps, { backend, remote: await withRenamedMembers(deps, known) }),
  );
  const content: Content = { ...after.content ?? stored.content, name: to };
  const changes: OutboxChange[] = [];
  for (const other of others) changes.push(await queueRename(deps, { other, stored, content }));
  const mutations: Mutation[] = [
    ...await copyChanges(copies, { kind, name: from, to, before: before.copies, after: after.copies }),
    ...changes.flatMap((change) => change.mutations),
    ...contentAuditEntries({ name: target, isLoginTarget }, {
      ...{ actor, action: `${kind}.renamed`, kind, name: to, from: stored.content.name },
      ...{ before: stored.content, after: content },
    }),
  ];
  const written = await directory.rename({
    kind,
    from: stored.content.name,
    expected: stored.version,
    recorded: stored.recorded ?? 0,
    next: { content, backends: statesAfter(deps, { backends: after.backends, others }) },
    also: mutations,
  });
  if (!written.ok) return written.reason === "taken" ? "taken" : "gone";
  for (const change of changes) change.committed();
  return "done";
}

/** The other connectors that have the resource. */
function otherBackends(
  { backends, remotes }: TargetParts,
  { stored, backend }: { stored: Stored; backend: Backend },
): Backend[] {
  return backends.flatMap(({ name }) => {
    const remote = remotes.get(name);
    return remote === undefined || name === backend.name || !hasResource(stored.backends[name])
      ? []
      : [remote];
  });
}

async function queueRename(
  { outbox }: TargetParts,
  { other, stored, content }: { other: Backend; stored: Stored; content: Content },
): Promise<OutboxChange> {
  const { kind, name } = content;
  const from = stored.content.name;
  return outbox.addRename({
    ...{ backend: other.name, kind, name, operation: "rename", earlier: from, isNew: false },
    remoteId: stored.backends[other.name]?.remoteId,
    changes: contentChanges(stored.content, content),
  }, {
    known: await outbox.find(other.name, kind, from),
    occupied: await outbox.find(other.name, kind, name),
  });
}

/** A connector that is called later has a pending write. */
function statesAfter(
  { backends: infos, clock }: TargetParts,
  { backends, others }: { backends: BackendStates; others: readonly Backend[] },
): BackendStates {
  const queued = new Set(
    infos.filter((info) => isAsynchronous(info) && others.some(({ name }) => name === info.name))
      .map(({ name }) => name),
  );
  return Object.fromEntries(
    Object.entries(backends).map(([name, state]) => {
      if (!queued.has(name)) return [name, state];
      return [name, { ...state, state: "pending", operation: "put", sinceMs: clock.nowMs() }];
    }),
  );
}

/**
 * A group as it is here: a member that was renamed has its new name, although the backend's list still has the earlier one. Some directories do not
 * change the members of groups when an entry is renamed.
 */
export async function withRenamedMembers(
  { directory }: Pick<TargetParts, "directory">,
  remote: RemoteResource | null,
): Promise<RemoteResource | null> {
  const content = remote?.content;
  if (remote === null || content?.kind !== "group" || content.members.length === 0) return remote;
  const ids = await directory.readIds("user", content.members);
  if (!ids.includes(null)) return remote;
  const members: string[] = [];
  for (const [at, name] of content.members.entries()) {
    const now = ids[at] === null ? await directory.renamedTo("user", canonicalName(name)) : null;
    const user = now === null ? null : await directory.read("user", now);
    members.push(user?.content.name ?? name);
  }
  const seen = new Map(members.map((name) => [canonicalName(name), name]));
  return { ...remote, content: { ...content, members: [...seen.values()] } };
}

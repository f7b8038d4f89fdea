// Renames at a backend: a refresh finds a resource under another name by its permanent ID, so that it keeps its id, its memberships and its factors.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Mutation } from "../../platform/store.ts";
import type { Backend, RemoteResource } from "../backend_port.ts";
import { NameHashSet } from "../directory/name_hashes.ts";
import type { Actor } from "../ports.ts";
import { contentChanges } from "../schema/content_changes.ts";
import type { BackendStates, Content, ResourceKind, Stored } from "../schema/resource.ts";
import { copyChanges, desiredContent, hasResource, readStatus } from "./backend_status.ts";
import type { OutboxChange } from "./outbox.ts";
import { isAsynchronous } from "./plan.ts";
import { applyReading, type RefreshDeps, toReading, withKnownMembers } from "./reconcile.ts";
import { contentAuditEntries } from "./write_audit.ts";

/** A resource of a backend that has another name here. */
export interface MovedResource {
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
export async function findByRemoteIds(
  { directory }: Pick<RefreshDeps, "directory">,
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
  readonly #deps: RefreshDeps & { readonly actor: Actor };
  readonly #backend: Backend;
  readonly #kind: ResourceKind;
  readonly #held = new Map<string, RemoteResource>();
  #known: NameHashSet | null = null;

  constructor(
    deps: RefreshDeps & { readonly actor: Actor },
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
export function followRename(
  deps: RefreshDeps & { readonly actor: Actor },
  moved: MovedResource,
): Promise<FollowOutcome> {
  const { kind, name } = moved.remote.content;
  return deps.locks.write([{ kind, name: moved.from }, { kind, name }], () => renameHere(deps, moved));
}

async function renameHere(
  deps: RefreshDeps & { readonly actor: Actor },
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
    ...await copyChanges(copies, {
      kind,
      canonical: canonicalName(from),
      before: before.copies,
      after: new Map(),
    }),
    ...await copyChanges(copies, {
      kind,
      canonical: canonicalName(to),
      before: new Map(),
      after: after.copies,
    }),
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
  { backends, remotes }: RefreshDeps,
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
  { outbox }: RefreshDeps,
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
  { backends: infos, clock }: RefreshDeps,
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
  { directory }: Pick<RefreshDeps, "directory">,
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

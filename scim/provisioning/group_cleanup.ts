// The groups of a user who is deleted, deactivated or restored: their members change, so the backends receive the groups again.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Store } from "../../platform/store.ts";
import type { Backend } from "../backend_port.ts";
import type { TargetDirectory } from "../ports.ts";
import type { Content, Stored } from "../schema/resource.ts";
import { hasResource } from "./backend_status.ts";
import type { HeldLocks, WriteLocks } from "./locks.ts";
import type { Outbox, OutboxChange } from "./outbox.ts";

export interface GroupCleanupDeps {
  readonly directory: TargetDirectory;
  readonly remotes: ReadonlyMap<string, Backend>;
  readonly store: Store;
  readonly outbox: Outbox;
  readonly locks: WriteLocks;
}

export interface GroupCleanup {
  /** The groups that a restored user joins. */
  readonly names: readonly string[];
  readonly changes: readonly OutboxChange[];
  /** Call it after the commit, also after a failed one. */
  release(): void;
}

const NONE: GroupCleanup = { names: [], changes: [], release: () => undefined };

/**
 * Queues the groups that a user leaves for the backends, and again those of a renamed user that are pending. Holds the locks of the groups until `release`.
 * @param held the locks of the user
 */
export async function queueGroupCleanup(
  deps: GroupCleanupDeps,
  { stored, next, held }: { stored: Stored | null; next: Content | null; held: HeldLocks },
): Promise<GroupCleanup> {
  const holders = holdersOf(deps);
  if (stored === null || stored.content.kind === "group" || holders.length === 0) return NONE;
  const isGone = isLeaving(stored.content, next);
  // A backend renames the members of its groups. A group that is being delivered may contain the earlier name.
  const isRenamed = next !== null && canonicalName(next.name) !== canonicalName(stored.content.name);
  if (!isGone && !isRenamed) return NONE;
  const { release } = await holdGroups(deps, stored.groups, held);
  try {
    const changes: OutboxChange[] = [];
    for (const name of stored.groups) {
      const group = await deps.directory.read("group", canonicalName(name));
      if (group === null) continue;
      // A group that is only delivered again gets what its pending write changes.
      const left = isGone ? [stored.content.name] : [];
      changes.push(...await queueGroup(deps, { group, holders, left, isPending: !isGone }));
    }
    return { names: [], changes, release };
  } catch (fault) {
    release();
    throw fault;
  }
}

function holdersOf({ remotes }: GroupCleanupDeps): Backend[] {
  return [...remotes.values()].filter(({ holds, isReadOnly }) => holds.groups && isReadOnly !== true);
}

/**
 * Finds the groups that a restored user joins, and queues them for the backends. A group that was created after the deletion is another group,
 * and does not count. Holds the locks of the groups until `release`.
 */
export async function queueGroupReturn(
  deps: GroupCleanupDeps,
  { groups, deletedMs, held }: { groups: readonly string[]; deletedMs: number; held: HeldLocks },
): Promise<GroupCleanup> {
  const { release } = await holdGroups(deps, groups, held);
  try {
    const changes: OutboxChange[] = [];
    const names: string[] = [];
    for (const name of groups) {
      const group = await deps.directory.read("group", canonicalName(name));
      if (group === null || group.createdMs > deletedMs) continue;
      names.push(group.content.name);
      changes.push(...await queueGroup(deps, { group, holders: holdersOf(deps), left: [] }));
    }
    return { names, changes, release };
  } catch (fault) {
    release();
    throw fault;
  }
}

function holdGroups(
  { locks }: GroupCleanupDeps,
  groups: readonly string[],
  held: HeldLocks,
): Promise<HeldLocks> {
  return locks.hold(groups.map((name) => ({ kind: "group", name })), held);
}

function isLeaving(before: Content, next: Content | null): boolean {
  if (before.kind !== "user") return false;
  return next === null || (before.active && next.kind === "user" && !next.active);
}

async function queueGroup(
  { outbox }: GroupCleanupDeps,
  { group, holders, left, isPending = false }: {
    group: Stored;
    holders: readonly Backend[];
    /** The members that leave. */
    left: readonly string[];
    /** Only where a write of the group is pending. */
    isPending?: boolean;
  },
): Promise<OutboxChange[]> {
  const changes: OutboxChange[] = [];
  const { name } = group.content;
  for (const { name: backend } of holders) {
    const state = group.backends[backend];
    // A group that differs belongs to that backend. A pending write already delivers the current group.
    if (!hasResource(state) || state?.differs !== undefined) continue;
    const known = await outbox.find(backend, "group", name);
    if (isPending && known === null) continue;
    const entry = {
      backend,
      kind: "group",
      name,
      operation: "put",
      changes: { attributes: [], left },
    } as const;
    changes.push(outbox.add({ ...entry, remoteId: state?.remoteId }, known));
  }
  return changes;
}

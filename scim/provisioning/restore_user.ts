// Restores users from the trash through the normal write path, and removes them from the trash for ever.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Store } from "../../platform/store.ts";
import type { TargetLease } from "../directory/target_lease.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type { Actor, BackendInfo, RestoredUser, Target, TargetDirectory } from "../ports.ts";
import type { TrashedUser } from "../trash_port.ts";
import { lockKey } from "./delivery.ts";
import type { KeyedLocks } from "./keyed_locks.ts";
import { underLease } from "./leased_writes.ts";
import { targetAuditEntry } from "./write_audit.ts";
import type { WriteCoordinator } from "./write_coordinator.ts";

export interface TrashOperationDeps {
  readonly store: Store;
  readonly lease: Pick<TargetLease, "run">;
  readonly locks: KeyedLocks;
  readonly directory: TargetDirectory;
  readonly backends: readonly BackendInfo[];
  readonly target: string;
  readonly coordinator: Pick<WriteCoordinator, "write">;
  readonly changeMembers: Target["changeMembers"];
}

/** The user joins this many groups in the commit that restores it. Each further group is a write of its own. */
const MAX_GROUPS_AT_ONCE = 50;

export function trashOperations(deps: TrashOperationDeps): Pick<Target, "restoreUser" | "purgeUser"> {
  return {
    restoreUser: (id, { actor }) => restoreUser(deps, { id, actor }),
    purgeUser: (id, actor) => purgeUser(deps, { id, actor }),
  };
}

/**
 * The user, its groups and the end of the entry are one commit. Factors stay deleted.
 * @throws ScimRefusal
 */
async function restoreUser(
  deps: TrashOperationDeps,
  { id, actor }: { id: string; actor: Actor },
): Promise<RestoredUser> {
  const trashed = await deps.directory.trash.read(id);
  if (trashed === null) throw new ScimRefusal("not_found");
  const { content, groups, password, entry: { deletedMs } } = trashed;
  const atOnce = groups.slice(0, MAX_GROUPS_AT_ONCE);
  const job = {
    operation: "create",
    auditAs: "restore",
    kind: "user",
    name: content.name,
    content: () => content,
    restores: { id, groups: atOnce, deletedMs, password },
  } as const;
  const backends = backendsOf(deps, trashed);
  const written = await deps.coordinator.write(job, {
    actor,
    ...(backends.length === 0 ? {} : { backends }),
  });
  const later = groups.slice(MAX_GROUPS_AT_ONCE);
  const { missing, failed } = await joinLater(deps, { trashed, groups: later, actor });
  const stored = later.length === 0
    ? written.stored
    : await deps.directory.read("user", canonicalName(content.name));
  const joined = new Set((stored?.groups ?? []).map(canonicalName));
  const isJoined = (name: string) => joined.has(canonicalName(name));
  return {
    ...written,
    stored,
    groups: groups.filter(isJoined),
    missingGroups: [...atOnce.filter((name) => !isJoined(name)), ...missing],
    failedGroups: failed,
  };
}

/** The backends that had the user and are still in the settings. Empty: none of them. */
function backendsOf({ backends }: TrashOperationDeps, { entry }: TrashedUser): string[] {
  return backends.map(({ name }) => name).filter((name) => entry.backends.includes(name));
}

async function joinLater(
  { directory, changeMembers }: TrashOperationDeps,
  { trashed, groups, actor }: { trashed: TrashedUser; groups: readonly string[]; actor: Actor },
): Promise<{ missing: string[]; failed: string[] }> {
  const missing: string[] = [];
  const failed: string[] = [];
  const { name } = trashed.content;
  for (const group of groups) {
    const found = await directory.read("group", canonicalName(group));
    if (found === null || found.createdMs > trashed.entry.deletedMs) {
      missing.push(group);
      continue;
    }
    try {
      await changeMembers(found.content.name, { add: [name], remove: [] }, { actor });
    } catch (fault) {
      if (!(fault instanceof ScimRefusal)) throw fault;
      failed.push(group);
    }
  }
  return { missing, failed };
}

/** The lock excludes a restore at the same time. */
async function purgeUser(
  { store, lease, locks, directory, target }: TrashOperationDeps,
  { id, actor }: { id: string; actor: Actor },
): Promise<boolean> {
  const trashed = await directory.trash.read(id);
  if (trashed === null) return false;
  const { name } = trashed.content;
  const purge = async (): Promise<boolean> => {
    const removal = await directory.trash.removal(id);
    if (removal === null) return false;
    const record = targetAuditEntry(target, { actor, action: "user.purged", object: `user:${name}` });
    await store.commit({ mutations: [...removal, record] });
    return true;
  };
  return await underLease(lease, () => locks.run(lockKey("user", name), purge));
}

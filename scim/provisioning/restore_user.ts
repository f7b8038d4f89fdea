// Restores users from the trash through the normal write path, and removes them from the trash for ever.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Store } from "../../platform/store.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type { Actor, BackendInfo, RestoredUser, Target, TargetDirectory } from "../ports.ts";
import type { TrashedUser } from "../trash_port.ts";
import type { WriteLocks } from "./locks.ts";
import { targetAuditEntry } from "./write_audit.ts";
import type { WriteCoordinator } from "./write_coordinator.ts";

interface TrashOperationDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, "nowMs">;
  readonly locks: WriteLocks;
  readonly directory: TargetDirectory;
  readonly backends: readonly BackendInfo[];
  readonly target: string;
  readonly coordinator: Pick<WriteCoordinator, "write">;
  readonly changeMembers: Target["changeMembers"];
}

/** The user joins this many groups in the commit that restores it. Each further group is a write of its own, which survives a crash. */
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
  const later = groups.slice(MAX_GROUPS_AT_ONCE);
  const pending = pendingJoins(deps, { trashed, groups: later, actor });
  const job = {
    operation: "create",
    auditAs: "restore",
    kind: "user",
    name: content.name,
    content: () => content,
    restores: {
      ...{ id, groups: atOnce, deletedMs, password },
      also: pending.map(({ key, value }) => ({
        type: "set" as const,
        ...{ key, value, expireInMs: PENDING_JOINS_MS },
      })),
    },
  } as const;
  const backends = backendsOf(deps, trashed);
  const written = await deps.coordinator.write(job, {
    actor,
    ...(backends.length === 0 ? {} : { backends }),
  });
  const { missing, failed } = await joinPending(deps, pending);
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

/** The backends that had the user and are still in the settings, without read-only ones if others had it. Empty: none of them. */
function backendsOf({ backends }: TrashOperationDeps, { entry }: TrashedUser): string[] {
  const had = backends.filter(({ name }) => entry.backends.includes(name));
  const writable = had.filter(({ isReadOnly }) => isReadOnly !== true);
  return (writable.length > 0 ? writable : had).map(({ name }) => name);
}

/** The groups that a restored user joins after the commit that restores it. The record ends with the last of them. */
interface PendingJoins {
  readonly user: string;
  readonly groups: readonly string[];
  readonly deletedMs: number;
  readonly actor: Actor;
  readonly atMs: number;
}

interface StoredJoins {
  readonly key: Deno.KvKey;
  readonly value: PendingJoins;
}

const PENDING_JOINS_MS = 24 * 3600_000;
/** A user who was created this long after the restore began is another one. */
const MAX_RESTORE_MS = 600_000;

const pendingPrefix = (target: string): Deno.KvKey => ["trash_joins", target];

function pendingJoins(
  { target, clock }: Pick<TrashOperationDeps, "target" | "clock">,
  { trashed: { content, entry }, groups, actor }: {
    trashed: TrashedUser;
    groups: readonly string[];
    actor: Actor;
  },
): StoredJoins[] {
  const records: StoredJoins[] = [];
  for (let at = 0; at < groups.length; at += MAX_GROUPS_AT_ONCE) {
    const value = {
      user: content.name,
      groups: groups.slice(at, at + MAX_GROUPS_AT_ONCE),
      deletedMs: entry.deletedMs,
      actor,
      atMs: clock.nowMs(),
    };
    records.push({ key: [...pendingPrefix(target), entry.id, records.length], value });
  }
  return records;
}

/** Each record is removed when its groups are joined. */
async function joinPending(
  deps: TrashOperationDeps,
  records: readonly StoredJoins[],
): Promise<{ missing: string[]; failed: string[] }> {
  const missing: string[] = [];
  const failed: string[] = [];
  for (const { key, value: { user, groups, deletedMs, actor } } of records) {
    for (const group of groups) {
      const found = await deps.directory.read("group", canonicalName(group));
      if (found === null || found.createdMs > deletedMs) {
        missing.push(group);
        continue;
      }
      try {
        await deps.changeMembers(found.content.name, { add: [user], remove: [] }, { actor });
      } catch (fault) {
        if (!(fault instanceof ScimRefusal)) throw fault;
        failed.push(group);
      }
    }
    await deps.locks.underLease(() => deps.store.commit({ mutations: [{ type: "delete", key }] }));
  }
  return { missing, failed };
}

/** Continues the restores that a crash interrupted: the users join the rest of their groups. */
export async function resumeRestores(deps: TrashOperationDeps): Promise<void> {
  const records: StoredJoins[] = [];
  for await (const { key, value } of deps.store.list<PendingJoins>(pendingPrefix(deps.target))) {
    if (value !== null) records.push({ key, value });
  }
  for (const { key, value } of records) {
    const stored = await deps.directory.read("user", canonicalName(value.user));
    const isSame = stored !== null && stored.createdMs <= value.atMs + MAX_RESTORE_MS;
    await joinPending(deps, [{ key, value: isSame ? value : { ...value, groups: [] } }]);
  }
}

/** The lock excludes a restore at the same time. */
async function purgeUser(
  { store, locks, directory, target }: TrashOperationDeps,
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
  return await locks.write([{ kind: "user", name }], purge);
}

// The steps of a rename that do not fit into its first commit: the memberships of a user, and the members of a group. Each step can be repeated, so
// that a recovery task finishes them after a crash. Until then, readers see each resource as it is called now.

import type { Store } from "../../platform/store.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import type { DirectoryBatch } from "./directory_batch.ts";
import type { Indexes } from "./indexes.ts";
import type { DirectoryKeys } from "./keys.ts";
import { findMember, type MemberSet, type MemberSets, withChanges, withGroup } from "./member_sets.ts";
import { readRecord, type ResourceRecord } from "./records.ts";
import { updateUserGroups } from "./write_plan.ts";

export interface RenameStepDeps {
  readonly store: Store;
  readonly keys: DirectoryKeys;
  readonly indexes: Indexes;
  readonly memberSets: MemberSets;
  readonly newBatch: () => DirectoryBatch;
  readonly pendingRenames: PendingRenames;
}

/** Each membership takes four mutations. */
const MAX_MEMBERSHIPS_PER_COMMIT = 150;
/** Each member takes a membership and a record. */
const MAX_MEMBERS_PER_COMMIT = 250;
const MAX_MUTATIONS_PER_COMMIT = 600;
const MAX_OCTETS_PER_COMMIT = 350_000;

/** Runs the steps of a task, and removes it. */
export async function finishRename(deps: RenameStepDeps, task: RenameTask): Promise<void> {
  deps.pendingRenames.begin(task);
  if (task.kind === "rename_user") await moveMemberships(deps, task);
  else await renameInMembers(deps, task);
  deps.pendingRenames.end(renameTaskId(task));
}

/** Moves at most `limit` memberships of a user, or of a group (without an id), to the new name. Returns whether more remain. */
export async function moveSomeMemberships(
  batch: DirectoryBatch,
  { from, to, name, id }: {
    readonly from: string;
    readonly to: string;
    readonly name: string;
    readonly id: string | null;
  },
  limit = MAX_MEMBERSHIPS_PER_COMMIT,
): Promise<boolean> {
  const memberships = [...await batch.memberships(from)];
  for (const [setId, group] of memberships.slice(0, limit)) {
    await batch.changeMembers({ setId, group }, [{ canonical: from, name: null }, {
      canonical: to,
      name,
      id,
    }]);
  }
  return memberships.length > limit;
}

async function moveMemberships(
  { newBatch, keys }: RenameStepDeps,
  task: RenameTask & { kind: "rename_user" },
): Promise<void> {
  for (let isMore = true; isMore;) {
    const batch = newBatch();
    isMore = await moveSomeMemberships(batch, task);
    if (!isMore) batch.remove(keys.chore(renameTaskId(task)));
    await batch.commit();
  }
}

async function renameInMembers(
  deps: RenameStepDeps,
  task: RenameTask & { kind: "rename_group" },
): Promise<void> {
  const { keys, memberSets, newBatch, indexes } = deps;
  const now = await readRecord(deps, { kind: "group", canonical: task.to });
  const setId = now?.record.setId ?? "";
  const { canonicals: users } = await memberSets.load(setId);
  const names = { before: task.before, after: task.after };
  for (let at = 0; at < users.length;) {
    const batch = newBatch();
    for (const user of users.slice(at, at + MAX_MEMBERS_PER_COMMIT)) batch.prefetch("user", user);
    const end = Math.min(at + MAX_MEMBERS_PER_COMMIT, users.length);
    while (
      at < end && batch.mutationCount < MAX_MUTATIONS_PER_COMMIT && batch.sizeOctets < MAX_OCTETS_PER_COMMIT
    ) {
      const user = users[at++] ?? "";
      batch.set(keys.memberOf(user, setId), task.to);
      await renameGroupOf(batch, user, names);
    }
    await batch.commit();
    await indexes.maintain();
  }
  const batch = newBatch();
  batch.remove(keys.chore(renameTaskId(task)));
  await batch.commit();
}

/** Replaces the name of a group in a user's record. */
export async function renameGroupOf(
  batch: DirectoryBatch,
  user: string,
  { before, after }: { readonly before: string; readonly after: string },
): Promise<void> {
  if (canonicalName(before) !== canonicalName(after)) {
    await updateUserGroups(batch, user, { name: before, isMember: false });
  }
  await updateUserGroups(batch, user, { name: after, isMember: true });
}

/** The value under ["chore", target, id]. The record has its new name already. */
export type RenameTask =
  /** Groups contain the user, or the group without an id, under the earlier name. */
  | {
    readonly kind: "rename_user";
    readonly from: string;
    readonly to: string;
    /** The new name as given. */
    readonly name: string;
    readonly id: string | null;
  }
  /** The records of the members contain the earlier name. Both names as given. */
  | {
    readonly kind: "rename_group";
    readonly from: string;
    readonly to: string;
    readonly before: string;
    readonly after: string;
  };

export class PendingRenames {
  /** By the id of the task. */
  readonly #tasks = new Map<string, RenameTask>();

  get isEmpty(): boolean {
    return this.#tasks.size === 0;
  }

  begin(task: RenameTask): void {
    this.#tasks.set(renameTaskId(task), task);
  }

  /** @param id that of the task */
  end(id: string): void {
    this.#tasks.delete(id);
  }

  /** The members with the names of now. */
  inMembers(set: MemberSet): MemberSet {
    let members = set;
    for (const task of this.#tasks.values()) {
      if (task.kind !== "rename_user" || findMember(members, task.from) < 0) continue;
      const { from, to, name, id } = task;
      members = withChanges(members, [{ canonical: from, name: null }, { canonical: to, name, id }]);
    }
    return members;
  }

  /** The groups of a user with the names of now. */
  inGroups(groups: readonly string[]): readonly string[] {
    let names = groups;
    for (const task of this.#tasks.values()) {
      if (task.kind !== "rename_group" || !names.some((name) => canonicalName(name) === task.from)) continue;
      names = withGroup(names, { name: task.before, isMember: false });
      names = withGroup(names, { name: task.after, isMember: true });
    }
    return names;
  }

  inRecord<T extends Pick<ResourceRecord, "groups">>(record: T): T {
    const groups = this.#tasks.size === 0 ? record.groups : this.inGroups(record.groups);
    return groups === record.groups ? record : { ...record, groups };
  }
}

/** The id of the task of a resource with this earlier name. */
export function renameTaskId({ kind, from }: Pick<RenameTask, "kind" | "from">): string {
  return `${kind} ${from}`;
}

/** The renames that another node, or a process before, has not completed. */
export async function followRenames(
  { store, keys }: { readonly store: Pick<Store, "follow" | "list">; readonly keys: DirectoryKeys },
): Promise<PendingRenames> {
  const renames = new PendingRenames();
  const apply = ({ key, value }: { readonly key: Deno.KvKey; readonly value: unknown }) => {
    const task = value as RenameTask | null;
    if (task === null) renames.end(String(key[2]));
    else if (task.kind === "rename_user" || task.kind === "rename_group") renames.begin(task);
  };
  store.follow(keys.chores, apply);
  for await (const entry of store.list(keys.chores)) apply(entry);
  return renames;
}

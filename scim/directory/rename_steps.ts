// The steps of a rename that do not fit into its first commit: the memberships of a user, and the members of a group. Each step can be repeated, so
// that a recovery task finishes them after a crash.

import type { Store } from "../../platform/store.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import type { DirectoryBatch } from "./directory_batch.ts";
import type { Indexes } from "./indexes.ts";
import type { DirectoryKeys } from "./keys.ts";
import type { MemberSets } from "./member_sets.ts";
import { type PendingRenames, type RenameTask, renameTaskId } from "./pending_renames.ts";
import { readRecord } from "./records.ts";
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

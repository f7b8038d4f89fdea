// The renames whose steps are not complete. Readers see each resource as it is called now.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Store } from "../../platform/store.ts";
import type { DirectoryKeys } from "./keys.ts";
import { findMember, type MemberSet, withChanges, withGroup } from "./member_sets.ts";
import type { ResourceRecord } from "./records.ts";

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

// A change of the members of a group, without its other members. Pure.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { GroupContent } from "../schema/resource.ts";

/** Members that join and leave a group, by name. */
export interface GroupMemberChange {
  readonly add: readonly string[];
  readonly remove: readonly string[];
  readonly users?: readonly { readonly id: string; readonly name: string }[] | undefined;
}

/** Removes members, then adds members. Names are compared without case, and each name is listed once. */
export function withMemberChange(group: GroupContent, { add, remove }: GroupMemberChange): GroupContent {
  const removed = new Set(remove.map(canonicalName));
  const members = new Map<string, string>();
  for (const name of group.members) {
    if (!removed.has(canonicalName(name))) members.set(canonicalName(name), name);
  }
  for (const name of add) {
    if (!members.has(canonicalName(name))) members.set(canonicalName(name), name);
  }
  return { ...group, members: [...members.values()] };
}

// The names of groups in a user's record: derived from the memberships, in order of name.

import { canonicalName } from "../../platform/canonical_name.ts";
import { compareText } from "./order.ts";

/** More are left out of the record, which has to fit into the store; memberships beyond are kept all the same. */
export const MAX_GROUPS_OF_A_USER = 1000;

/** With the group among them, or without it; the very same list when nothing changes. */
export function withGroup(
  groups: readonly string[],
  { name, isMember }: { name: string; isMember: boolean },
): readonly string[] {
  const canonical = canonicalName(name);
  const at = groups.findIndex((group) => canonicalName(group) === canonical);
  if (!isMember) return at < 0 ? groups : groups.toSpliced(at, 1);
  if (groups[at] === name) return groups;
  if (at >= 0) return groups.with(at, name);
  if (groups.length >= MAX_GROUPS_OF_A_USER) return groups;
  const place = groups.findIndex((group) => compareText(canonicalName(group), canonical) > 0);
  return place < 0 ? [...groups, name] : groups.toSpliced(place, 0, name);
}

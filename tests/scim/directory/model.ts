// A naive directory in memory, which reads all entries: the model for the real one.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { JsonObject } from "../../../scim/schema/resource.ts";
import { groupWords, queryWords, userWords } from "../../../scim/directory/index_keys.ts";
import { compareText } from "../../../scim/directory/keys.ts";

interface ModelUser {
  readonly name: string;
  readonly active: boolean;
  readonly attributes: JsonObject;
}

interface ModelGroup {
  readonly name: string;
  readonly members: Map<string, string>;
}

export interface Model {
  readonly users: Map<string, ModelUser>;
  readonly groups: Map<string, ModelGroup>;
  readonly gone: Set<string>;
  putUser(user: ModelUser): void;
  putGroup(name: string, members: readonly string[]): void;
  changeMembers(group: string, change: { add: readonly string[]; remove: readonly string[] }): void;
  drop(kind: "user" | "group", canonical: string): void;
  names(kind: "user" | "group"): string[];
  groupsOf(user: string): string[];
  members(group: string): string[];
  /** Canonical names of the entries that have all words of the query. */
  found(kind: "user" | "group", q: string): string[];
}

export function createModel(): Model {
  const users = new Map<string, ModelUser>();
  const groups = new Map<string, ModelGroup>();
  const gone = new Set<string>();
  const leave = (canonical: string): void => {
    for (const { members } of groups.values()) members.delete(canonical);
  };
  const sorted = (names: Iterable<string>): string[] => [...names].sort(compareText);
  const membersOf = (names: readonly string[]): Map<string, string> => {
    const members = new Map<string, string>();
    for (const name of names) if (!members.has(canonicalName(name))) members.set(canonicalName(name), name);
    return members;
  };
  const groupsOf = (user: string): string[] =>
    sorted(groups.keys()).filter((group) => groups.get(group)?.members.has(user))
      .map((group) => groups.get(group)?.name ?? "");
  const wordsOf = (kind: "user" | "group", canonical: string): string[] => {
    const user = users.get(canonical);
    if (kind === "user" && user !== undefined) return userWords({ ...user, groups: groupsOf(canonical) });
    return groupWords(groups.get(canonical)?.name ?? "");
  };
  const names = (kind: "user" | "group"): string[] => sorted((kind === "user" ? users : groups).keys());
  return {
    users,
    groups,
    gone,
    names,
    groupsOf,
    putUser(user) {
      const canonical = canonicalName(user.name);
      if (users.get(canonical)?.active === true && !user.active) leave(canonical);
      users.set(canonical, user);
      gone.delete(canonical);
    },
    putGroup: (name, members) => void groups.set(canonicalName(name), { name, members: membersOf(members) }),
    changeMembers(group, { add, remove }) {
      const members = groups.get(canonicalName(group))?.members;
      for (const name of remove) members?.delete(canonicalName(name));
      for (const [canonical, name] of membersOf(add)) members?.set(canonical, name);
    },
    drop(kind, canonical) {
      if (kind === "group") {
        // Where no user has the name, a member with the name was this group.
        if (groups.delete(canonical) && !users.has(canonical)) leave(canonical);
      } else if (users.delete(canonical)) {
        leave(canonical);
        gone.add(canonical);
      }
    },
    members(group) {
      const members = groups.get(group)?.members ?? new Map<string, string>();
      return sorted(members.keys()).map((canonical) => members.get(canonical) ?? "");
    },
    found(kind, q) {
      const words = queryWords(q);
      return names(kind).filter((canonical) => {
        const own = wordsOf(kind, canonical);
        return words.every((word) => own.some((one) => one.startsWith(word)));
      });
    },
  };
}

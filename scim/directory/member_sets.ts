// The members of a group: an immutable value, so that a reader can continue while the group is written. While a rename takes several commits, readers
// see the names of now.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Store } from "../../platform/store.ts";
import { compareMemberNames, describeMembers } from "../schema/member_names.ts";
import { compareText, type DirectoryKeys } from "./keys.ts";
import { nameHash } from "./name_hashes.ts";

/** In order of canonical name; all lists have the same length. */
export interface MemberSet {
  readonly canonicals: readonly string[];
  /** As given. */
  readonly names: readonly string[];
  /** The ids of the members. `null`: no user has the name. */
  readonly ids: readonly (string | null)[];
  /** The sum of the members' hashes, modulo 2^32. It differs if the members differ, and if a name becomes that of a user. */
  readonly digest: number;
}

export interface MemberChange {
  readonly canonical: string;
  /** As given. `null` removes the member. */
  readonly name: string | null;
  /** Absent: the entry keeps its id. */
  readonly id?: string | null;
}

/** The value under ["member", target, set, user]: the name as given, with the id of the user if there is one. */
type StoredMember = string | readonly [name: string, id: string];

export function encodeMember(name: string, id: string | null): StoredMember {
  return id === null ? name : [name, id];
}

export const NO_MEMBERS: MemberSet = { canonicals: [], names: [], ids: [], digest: 0 };

/** From names as sent. If two have the same canonical form, the first counts. */
export function toMemberSet(names: readonly string[]): MemberSet {
  const byCanonical = new Map<string, string>();
  for (const name of names) {
    const canonical = canonicalName(name);
    if (!byCanonical.has(canonical)) byCanonical.set(canonical, name);
  }
  const canonicals = [...byCanonical.keys()].sort(compareText);
  const given = canonicals.map((canonical) => byCanonical.get(canonical) ?? canonical);
  return sealed({ canonicals, names: given, ids: canonicals.map(() => null) });
}

function sealed({ canonicals, names, ids }: Omit<MemberSet, "digest">): MemberSet {
  describeMembers(names, { canonicals });
  return withIds({ canonicals, names }, ids);
}

/** The set with the ids of its members. */
export function withIds(
  { canonicals, names }: Pick<MemberSet, "canonicals" | "names">,
  ids: MemberSet["ids"],
): MemberSet {
  const digest = names.reduce((sum, name, at) => (sum + memberHash(name, ids[at])) >>> 0, 0);
  return { canonicals, names, ids, digest };
}

/** Responses have only members with an id. A name gets another id only with another write of the group. */
function memberHash(name: string, id: string | null | undefined): number {
  return nameHash(name) + (typeof id === "string" ? 1 : 0);
}

/** @returns the index of the member, or `-1 - index` of the place where it belongs. */
export function findMember({ canonicals }: Pick<MemberSet, "canonicals">, canonical: string): number {
  let low = 0;
  let high = canonicals.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareText(canonicals[middle] ?? "", canonical) < 0) low = middle + 1;
    else high = middle;
  }
  return canonicals[low] === canonical ? low : -1 - low;
}

/** The set after a few changes. */
export function withChanges(set: MemberSet, changes: readonly MemberChange[]): MemberSet {
  if (changes.length === 0) return set;
  const canonicals = [...set.canonicals];
  const names = [...set.names];
  const ids = [...set.ids];
  let digest = set.digest;
  for (const { canonical, name, id } of changes) {
    const at = findMember({ canonicals }, canonical);
    if (at >= 0) digest -= memberHash(names[at] ?? "", ids[at]);
    if (name === null && at >= 0) {
      canonicals.splice(at, 1);
      names.splice(at, 1);
      ids.splice(at, 1);
    } else if (name !== null) {
      const place = at >= 0 ? at : -1 - at;
      const known = id === undefined ? ids[at] ?? null : id;
      canonicals.splice(place, at >= 0 ? 1 : 0, canonical);
      names.splice(place, at >= 0 ? 1 : 0, name);
      ids.splice(place, at >= 0 ? 1 : 0, known);
      digest += memberHash(name, known);
    }
  }
  return { canonicals, names, ids, digest: digest >>> 0 };
}

/** The changes that turn `from` into `to`, in order of name. */
export function diffMembers(from: MemberSet, to: MemberSet): MemberChange[] {
  const changes: MemberChange[] = [];
  let i = 0;
  let j = 0;
  while (i < from.canonicals.length || j < to.canonicals.length) {
    const a = from.canonicals[i];
    const b = to.canonicals[j];
    const order = a === undefined ? 1 : b === undefined ? -1 : compareText(a, b);
    if (order < 0) changes.push({ canonical: a ?? "", name: null });
    else if (order > 0 || from.names[i] !== to.names[j]) {
      changes.push({ canonical: b ?? "", name: to.names[j] ?? null });
    }
    if (order <= 0) i++;
    if (order >= 0) j++;
  }
  return changes;
}

/** Above this number, the whole lists are sorted and compared instead. */
const MAX_FEW_CHANGES = 256;

/**
 * The changes that turn `from` into `names`, if they are few: only names that differ are sorted. `null`: they are many, or two of `names` have the
 * same canonical form.
 */
export function findFewChanges(from: MemberSet, names: readonly string[]): MemberChange[] | null {
  if (Math.abs(from.names.length - names.length) > MAX_FEW_CHANGES) return null;
  const { onlyBefore, onlyAfter } = compareMemberNames(from.names, names);
  if (onlyBefore.length > MAX_FEW_CHANGES || onlyAfter.length > MAX_FEW_CHANGES) return null;
  const changes = new Map<string, string | null>();
  for (const name of onlyBefore) changes.set(canonicalName(name), null);
  for (const name of onlyAfter) {
    const canonical = canonicalName(name);
    const isRespelled = changes.get(canonical) === null;
    if (!isRespelled && (changes.has(canonical) || findMember(from, canonical) >= 0)) return null;
    changes.set(canonical, name);
  }
  return Array.from(changes, ([canonical, name]) => ({ canonical, name }))
    .sort((a, b) => compareText(a.canonical, b.canonical));
}

/** Caches the members of the sets that were used last. */
export interface MemberSets {
  load(setId: string): Promise<MemberSet>;
  /** Whether the set is in memory, so that {@link MemberSets.load} returns all of it. A set that is deleted while it is read is not in memory. */
  has(setId: string): boolean;
  keep(setId: string, set: MemberSet): void;
  forget(setId: string): void;
}

/** @param maxNames how many names are cached in memory. */
export function createMemberSets(
  { store, keys, maxNames = 400_000 }: { store: Store; keys: DirectoryKeys; maxNames?: number },
): MemberSets {
  const kept = new Map<string, MemberSet>();
  let names = 0;
  /** Changes with every write, so that a read from before a write is not cached after it. */
  let writes = 0;

  const forget = (setId: string): void => {
    const set = kept.get(setId);
    if (set === undefined) return;
    names -= set.names.length;
    kept.delete(setId);
  };
  const remember = (setId: string, set: MemberSet): void => {
    forget(setId);
    if (set.names.length > maxNames) return;
    kept.set(setId, set);
    names += set.names.length;
    for (const oldest of kept.keys()) {
      if (names <= maxNames && kept.size <= maxNames) return;
      forget(oldest);
    }
  };
  const read = async (setId: string): Promise<MemberSet> => {
    const canonicals: string[] = [];
    const given: string[] = [];
    const ids: (string | null)[] = [];
    for await (const { key, value } of store.list<StoredMember>(keys.members(setId))) {
      const canonical = key[3];
      if (typeof canonical !== "string" || value === null) continue;
      canonicals.push(canonical);
      given.push(typeof value === "string" ? value : value[0]);
      ids.push(typeof value === "string" ? null : value[1]);
    }
    return sealed({ canonicals, names: given, ids });
  };

  return {
    async load(setId) {
      const known = kept.get(setId);
      if (known !== undefined) return known;
      const before = writes;
      const set = await read(setId);
      // Another node may have changed the set while it was read.
      const caughtUp = store.catchUp();
      if (caughtUp !== null) await caughtUp;
      if (before === writes) remember(setId, set);
      return set;
    },
    has: (setId) => kept.has(setId),
    keep(setId, set) {
      writes += 1;
      remember(setId, set);
    },
    forget(setId) {
      writes += 1;
      forget(setId);
    },
  };
}

/** The record, which must fit into the store, omits further memberships. They are stored elsewhere. */
const MAX_GROUPS_OF_A_USER = 1000;

/** The list with the group, or without it. Returns the same list if nothing changes. */
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

  inRecord<T extends { readonly groups: readonly string[] }>(record: T): T {
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

// Groups in groups: the groups that contain the groups of a user, directly or through other groups. A member of a group is stored by its name. If
// no user has the name, a group with the name is the member.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Store } from "../../platform/store.ts";
import { findRenamed } from "../../platform/user_record.ts";
import type { NameIndexes } from "./indexes.ts";
import type { DirectoryKeys } from "./keys.ts";
import type { ResourceRecord } from "./records.ts";

interface GroupNestingDeps {
  readonly store: Store;
  readonly keys: DirectoryKeys;
  readonly indexes: Pick<NameIndexes, "names">;
}

/** The groups of one user with those that contain them. Further ones do not count. */
const MAX_GROUPS = 2000;
/** Groups whose containers are in memory. */
const MAX_KNOWN = 100_000;
const MAX_ATTEMPTS = 5;

export class GroupNesting {
  readonly #deps: GroupNestingDeps;
  /** The names of the groups that contain a group (canonical name). */
  readonly #containers = new Map<string, readonly string[]>();
  #version = 0;

  constructor(deps: GroupNestingDeps) {
    this.#deps = deps;
    const { store, keys: { allMemberships } } = deps;
    store.followGroups(allMemberships, allMemberships.length + 1, ([, , member]) => {
      this.memberChanged(String(member));
    });
  }

  /** Changes with every change of a group in a group. */
  get version(): number {
    return this.#version;
  }

  /** Call it after a membership of the name (canonical) changed. Most members are users, for whom nothing changes. */
  memberChanged(member: string): void {
    if (!this.#deps.indexes.names.group.mayContain(member)) return;
    this.#containers.delete(member);
    this.#version++;
  }

  /** Call it after a group was created, removed, renamed, or got another set of members. */
  groupsChanged(): void {
    this.#containers.clear();
    this.#version++;
  }

  /** The groups, then those that contain them. The same list if none does; `null` if {@link load} must be called first. */
  withContainers(groups: readonly string[]): readonly string[] | null {
    const missing = this.#follow(groups);
    return Array.isArray(missing) ? null : missing.all;
  }

  /** Loads what {@link withContainers} needs. */
  async load(groups: readonly string[]): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS;) {
      const missing = this.#follow(groups);
      if (!Array.isArray(missing)) return;
      const version = this.#version;
      const found = await Promise.all(missing.map((group) => this.#read(group)));
      // A change in the meantime may be newer than the reads.
      if (version !== this.#version) {
        attempt++;
        continue;
      }
      if (this.#containers.size > MAX_KNOWN) this.#containers.clear();
      for (const [at, group] of missing.entries()) this.#containers.set(group, found[at] ?? []);
    }
  }

  /** All groups, or the canonical names of those whose containers are not in memory. Each group is visited once, so a cycle ends. */
  #follow(groups: readonly string[]): { readonly all: readonly string[] } | string[] {
    const missing: string[] = [];
    let all = groups;
    let seen: Set<string> | null = null;
    for (let at = 0; at < all.length; at++) {
      const group = canonicalName(all[at] as string);
      const containers = this.#containers.get(group);
      if (containers === undefined) missing.push(group);
      for (const container of containers ?? []) {
        seen ??= new Set(groups.map(canonicalName));
        if (seen.size >= MAX_GROUPS || seen.has(canonicalName(container))) continue;
        seen.add(canonicalName(container));
        all = [...all, container];
      }
    }
    return missing.length > 0 ? missing : { all };
  }

  async #read(group: string): Promise<readonly string[]> {
    const { store, keys, indexes } = this.#deps;
    if (
      indexes.names.user.mayContain(group) && (await store.get(keys.record("user", group))).value !== null
    ) {
      return [];
    }
    const containers: string[] = [];
    for await (const { key, value } of store.list<string>(keys.memberships(group), { limit: MAX_GROUPS })) {
      const record = value === null ? null : await this.#group(value);
      // A set that the group had before is removed later.
      if (record !== null && record.setId === key[3]) containers.push(record.name);
    }
    return containers;
  }

  /** A group, also if it was renamed, and the membership has its earlier name. */
  async #group(canonical: string): Promise<ResourceRecord | null> {
    const { store, keys } = this.#deps;
    const { value } = await store.get<ResourceRecord>(keys.record("group", canonical));
    if (value !== null) return value;
    const later = await findRenamed(store, { target: keys.target, kind: "group", canonical });
    return later === null ? null : (await store.get<ResourceRecord>(keys.record("group", later))).value;
  }
}

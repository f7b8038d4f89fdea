// Updates that do not fit into one commit. For a group, first a new set of members is written beside the old one. Then one commit switches to the new
// set. The users' records and the old set follow. Of a rename, memberships and members follow. Each step can be repeated, and a recovery task in the
// store lets a later start finish after a crash.

import type { Mutation } from "../../platform/store.ts";
import type { WriteResult } from "../ports.ts";
import {
  encodeMember,
  type MemberChange,
  type MemberSet,
  NO_MEMBERS,
  type RenameTask,
  renameTaskId,
  withIds,
} from "./member_sets.ts";
import type { DirectoryBatch } from "./directory_batch.ts";
import {
  cleanUpGroup,
  type GroupUpdate,
  isNestedGroup,
  leaveGroups,
  linkGroups,
  moveSomeMemberships,
  renameGroupOf,
  updateUserGroups,
  type WriteParts,
} from "./write_plan.ts";
import { readRecord, toStored } from "./records.ts";

/** The value under ["chore", target, id]. */
type RecoveryTask =
  /** A set that no group uses. */
  | { readonly kind: "sweep"; readonly setId: string }
  /** A group has another set, or none: update the users' records, then delete the old set. "" means no set. */
  | {
    readonly kind: "flip";
    readonly group: string;
    readonly name: string;
    readonly from: string;
    readonly to: string;
  }
  /** A deleted or deactivated user, or a deleted group, is still a member of groups. */
  | { readonly kind: "leave"; readonly user: string }
  /** Groups name a new user without its id. */
  | { readonly kind: "link"; readonly user: string }
  | RenameTask;

const MAX_MEMBERS_PER_COMMIT = 200;
const MAX_MUTATIONS_PER_COMMIT = 400;
const MAX_OCTETS_PER_COMMIT = 350_000;
const MAX_TOMBSTONES_PER_TURN = 20;

export class LargeUpdates {
  readonly #deps: WriteParts;

  constructor(deps: WriteParts) {
    this.#deps = deps;
  }

  /**
   * Replaces the members of a group: all or nothing for readers, complete when it resolves.
   *
   * @param options.prepareFlip fills the commit that switches to the new members
   */
  async changeGroup(
    change: GroupUpdate,
    { also, prepareFlip = () => Promise.resolve() }: {
      also: readonly Mutation[];
      prepareFlip?: (batch: DirectoryBatch) => Promise<void>;
    },
  ): Promise<WriteResult> {
    const { store, keys, newSetId, nextNumber } = this.#deps;
    const to = change.after === null ? "" : newSetId();
    let { membersAfter } = change;
    const sweepKey = keys.chore(`sweep ${to}`);
    const sweep: RecoveryTask = { kind: "sweep", setId: to };
    if (to !== "") {
      await store.commit({ mutations: [{ type: "set", key: sweepKey, value: sweep }] });
      membersAfter = await this.#writeSet(to, change);
    }
    const after = change.after === null ? null : { ...change.after, setId: to };
    const flipKey = keys.chore(`flip ${nextNumber()}`);
    const flip = {
      kind: "flip",
      group: change.canonical,
      name: change.before?.name ?? after?.name ?? change.canonical,
      from: change.before?.setId ?? "",
      to,
    } as const satisfies RecoveryTask;
    const batch = await this.#flipBatch({ ...change, membersAfter }, {
      after,
      also,
      sweepKey,
      flipKey,
      flip,
    });
    const isLeaving = after === null && await isNestedGroup(batch, change.canonical);
    if (isLeaving) {
      batch.set(keys.chore(`leave ${change.canonical}`), { kind: "leave", user: change.canonical });
    }
    await fill(batch, prepareFlip);
    if (!(await batch.commit()).ok) {
      await this.#run(sweepKey, sweep);
      return { ok: false, reason: "changed" };
    }
    await this.#finishFlip(flip, change.changes);
    await store.commit({ mutations: [{ type: "delete", key: flipKey }] });
    if (isLeaving) await this.leaveGroups(change.canonical);
    const place = { kind: "group", target: keys.target } as const;
    return { ok: true, stored: after === null ? null : toStored(place, after, membersAfter) };
  }

  /** Removes a user, or a group in groups, from all groups. */
  leaveGroups(user: string): Promise<void> {
    return this.#repeat(`leave ${user}`, (batch) => leaveGroups(this.#deps, batch, user));
  }

  /** Gives the id of a user to all groups that name it. */
  linkGroups(user: string): Promise<void> {
    return this.#repeat(`link ${user}`, async (batch) => {
      const record = await batch.record("user", user);
      return record !== null && await linkGroups(this.#deps, batch, { canonical: user, record });
    });
  }

  /** Completes a rename: the memberships of a user, or the records of the members of a group. */
  async finishRename(task: RenameTask): Promise<void> {
    const { pendingRenames, keys, memberSets } = this.#deps;
    const id = renameTaskId(task);
    pendingRenames.begin(task);
    if (task.kind === "rename_user") await this.#repeat(id, (batch) => moveSomeMemberships(batch, task));
    else {
      const now = await readRecord(this.#deps, { kind: "group", canonical: task.to });
      const setId = now?.record.setId ?? "";
      const { canonicals } = await memberSets.load(setId);
      await this.#changeUsers(canonicals, async (batch, user) => {
        batch.set(keys.memberOf(user, setId), task.to);
        await renameGroupOf(batch, user, task);
      });
      await this.#repeat(id, () => Promise.resolve(false));
    }
    pendingRenames.end(id);
  }

  /** Runs a step, which tells whether more remains, until its task is done. */
  async #repeat(taskId: string, step: (batch: DirectoryBatch) => Promise<boolean>): Promise<void> {
    for (let isMore = true; isMore;) {
      const batch = this.#deps.newBatch();
      isMore = await step(batch);
      if (!isMore) batch.remove(this.#deps.keys.chore(taskId));
      await batch.commit();
    }
  }

  /** Runs all recovery tasks, and returns how many there were. Call it only when no write is in progress. */
  async recover(): Promise<number> {
    const { store, keys } = this.#deps;
    const tasks: { key: Deno.KvKey; task: RecoveryTask }[] = [];
    for await (const { key, value } of store.list<RecoveryTask>(keys.chores)) {
      if (value !== null) tasks.push({ key, task: value });
    }
    for (const { key, task } of tasks) await this.#run(key, task);
    return tasks.length;
  }

  /** Deletes the oldest tombstones above `maxTombstones`, a few at a time. */
  async trimTombstones(maxTombstones: number): Promise<void> {
    const { store, keys, indexes, newBatch } = this.#deps;
    const excess = Math.min(indexes.tombstones.total - maxTombstones, MAX_TOMBSTONES_PER_TURN);
    if (excess <= 0) return;
    const batch = newBatch();
    for await (const { key, value } of store.list<string>(keys.departures, { limit: excess })) {
      if (value === null) continue;
      await batch.setTombstone(value, null);
      batch.remove(key);
    }
    await batch.commit();
  }

  /** The commit that switches a group to its new set. */
  async #flipBatch(
    change: GroupUpdate,
    { after, also, sweepKey, flipKey, flip }: {
      after: GroupUpdate["after"];
      also: readonly Mutation[];
      sweepKey: Deno.KvKey;
      flipKey: Deno.KvKey;
      flip: RecoveryTask & { kind: "flip" };
    },
  ): Promise<DirectoryBatch> {
    const { newBatch, memberSets } = this.#deps;
    const { canonical, membersAfter } = change;
    const batch = newBatch();
    await batch.checkUnchanged("group", canonical);
    await batch.putRecord({ kind: "group", canonical }, after);
    batch.remove(sweepKey);
    batch.set(flipKey, flip, 2000);
    cleanUpGroup(this.#deps, batch, change);
    batch.also(also);
    if (flip.to !== "") batch.whenCommitted(() => memberSets.keep(flip.to, membersAfter));
    return batch;
  }

  /** Returns the set with the ids of its users. */
  async #writeSet(setId: string, change: GroupUpdate): Promise<MemberSet> {
    const { store, keys } = this.#deps;
    const { canonicals, names } = change.membersAfter;
    const ids: (string | null)[] = [];
    for (let at = 0; at < canonicals.length; at += MAX_MEMBERS_PER_COMMIT) {
      const mutations: Mutation[] = [];
      let sizeOctets = 0;
      const users = canonicals.slice(at, at + MAX_MEMBERS_PER_COMMIT);
      ids.push(...await this.#userIds(users));
      for (const [i, user] of users.entries()) {
        const value = encodeMember(names[at + i] ?? user, ids[at + i] ?? null);
        mutations.push({ type: "set", key: keys.member(setId, user), value });
        mutations.push({ type: "set", key: keys.memberOf(user, setId), value: change.canonical });
        sizeOctets += 8 * user.length + 2 * change.canonical.length + 240;
      }
      await store.commit({ mutations, sizeOctets });
    }
    return withIds(change.membersAfter, ids);
  }

  async #userIds(users: readonly string[]): Promise<(string | null)[]> {
    const batch = this.#deps.newBatch();
    for (const user of users) batch.prefetch("user", user);
    return await Promise.all(users.map(async (user) => (await batch.record("user", user))?.id ?? null));
  }

  async #deleteSet(setId: string): Promise<void> {
    if (setId === "") return;
    const { store, keys, memberSets } = this.#deps;
    let isMore = true;
    while (isMore) {
      const mutations: Mutation[] = [];
      for await (const { key } of store.list(keys.members(setId), { limit: MAX_MEMBERS_PER_COMMIT })) {
        const reverseKey = keys.memberOf(String(key[3]), setId);
        mutations.push({ type: "delete", key }, { type: "delete", key: reverseKey });
      }
      isMore = mutations.length > 0;
      if (isMore) await store.commit({ mutations });
    }
    memberSets.forget(setId);
  }

  /** The difference of two sets, for a recovery task, which no longer has the update. */
  async #changesBetween(from: string, to: string): Promise<MemberChange[]> {
    const { memberSets } = this.#deps;
    const before = from === "" ? NO_MEMBERS : await memberSets.load(from);
    const after = to === "" ? NO_MEMBERS : await memberSets.load(to);
    return [
      ...before.canonicals.map((canonical) => ({ canonical, name: null })),
      ...after.canonicals.map((canonical, at) => ({ canonical, name: after.names[at] ?? canonical })),
    ];
  }

  /** Changes the records of users, in as few commits as they fit into. */
  async #changeUsers(
    users: readonly string[],
    change: (batch: DirectoryBatch, user: string) => Promise<void>,
  ): Promise<void> {
    for (let at = 0; at < users.length;) {
      const batch = this.#deps.newBatch();
      const end = Math.min(at + MAX_MEMBERS_PER_COMMIT, users.length);
      for (const user of users.slice(at, end)) batch.prefetch("user", user);
      while (
        at < end && batch.mutationCount < MAX_MUTATIONS_PER_COMMIT && batch.sizeOctets < MAX_OCTETS_PER_COMMIT
      ) {
        await change(batch, users[at++] ?? "");
      }
      if (batch.mutationCount > 0) await batch.commit();
      await this.#deps.indexes.maintain();
    }
  }

  async #finishFlip(
    { group, name, from }: RecoveryTask & { kind: "flip" },
    known: readonly MemberChange[] | null,
  ): Promise<void> {
    const now = await readRecord(this.#deps, { kind: "group", canonical: group });
    const changes = known ?? await this.#changesBetween(from, now?.record.setId ?? "");
    const names = { before: name, after: now?.record.name ?? name };
    const isMember = new Map(changes.map(({ canonical, name }) => [canonical, name !== null]));
    await this.#changeUsers([...isMember.keys()], async (batch, user) => {
      if (isMember.get(user) === true) await renameGroupOf(batch, user, names);
      else await updateUserGroups(batch, user, { name, isMember: false });
    });
    await this.#deleteSet(from);
  }

  async #run(key: Deno.KvKey, task: RecoveryTask): Promise<void> {
    if (task.kind === "leave") return await this.leaveGroups(task.user);
    if (task.kind === "link") return await this.linkGroups(task.user);
    if (task.kind === "rename_user" || task.kind === "rename_group") {
      return await this.finishRename(task);
    }
    if (task.kind === "sweep") await this.#deleteSet(task.setId);
    else await this.#finishFlip(task, null);
    await this.#deps.store.commit({ mutations: [{ type: "delete", key }] });
  }
}

async function fill(batch: DirectoryBatch, prepare: (batch: DirectoryBatch) => Promise<void>): Promise<void> {
  try {
    await prepare(batch);
  } catch (fault) {
    batch.rollBack();
    throw fault;
  }
}

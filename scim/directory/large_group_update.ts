// Changes of members that do not fit into one commit. A new set of members is written beside the old one, one commit exchanges them, and
// the rest (users' records, the old set) follows. A chore in the store makes a later start finish what a crash cut off.

import type { Mutation } from "../../platform/store.ts";
import type { PrepareGroupTurn, WriteResult } from "../ports.ts";
import type { MemberChange } from "./member_sets.ts";
import type { DirectoryBatch, DirectoryBatchDeps } from "./directory_batch.ts";
import { type GroupChange, regroup, turnGroup } from "./write_plan.ts";
import { readRecord, storedOf } from "./records.ts";

/** What is owed, under ["chore", target, id]. */
export type Chore =
  /** A set that no group has, or will have. */
  | { readonly kind: "sweep"; readonly setId: string }
  /** A group was given another set, or none: users' records follow, then the old set goes. "" stands for no set. */
  | {
    readonly kind: "flip";
    readonly group: string;
    readonly name: string;
    readonly from: string;
    readonly to: string;
  }
  /** A user who left is still a member of groups. */
  | { readonly kind: "leave"; readonly user: string };

export interface BigChangeDeps extends DirectoryBatchDeps {
  readonly newBatch: () => DirectoryBatch;
  readonly newSetId: () => string;
  readonly prepareGroupTurn: PrepareGroupTurn;
}

export interface BigChanges {
  /** All or nothing for readers; complete when it resolves. */
  changeGroup(change: GroupChange, also: readonly Mutation[]): Promise<WriteResult>;
  /** Takes a user who left out of all groups. */
  leave(user: string): Promise<void>;
  /** Does every chore that is there; called when nothing else writes. @returns how many there were. */
  finish(): Promise<number>;
  /** Drops the oldest tombstones above `kept`, a few at a time. */
  trimTombstones(kept: number): Promise<void>;
}

const MEMBERS_A_COMMIT = 200;
const MEMBERSHIPS_A_COMMIT = 50;
const MUTATIONS_A_COMMIT = 400;
const OCTETS_A_COMMIT = 350_000;
const TOMBSTONES_A_TURN = 20;

export function createBigChanges(deps: BigChangeDeps): BigChanges {
  const { store, keys, memberSets, newBatch } = deps;

  const writeSet = async (setId: string, change: GroupChange): Promise<void> => {
    const { canonicals, names } = change.membersAfter;
    for (let at = 0; at < canonicals.length; at += MEMBERS_A_COMMIT) {
      const mutations: Mutation[] = [];
      let sizeOctets = 0;
      for (const [i, user] of canonicals.slice(at, at + MEMBERS_A_COMMIT).entries()) {
        mutations.push({ type: "set", key: keys.member(setId, user), value: names[at + i] ?? user });
        mutations.push({ type: "set", key: keys.memberOf(user, setId), value: change.canonical });
        sizeOctets += 8 * user.length + 2 * change.canonical.length + 200;
      }
      await store.commit({ mutations, sizeOctets });
    }
  };

  const sweep = async (setId: string): Promise<void> => {
    if (setId === "") return;
    let isMore = true;
    while (isMore) {
      const mutations: Mutation[] = [];
      for await (const { key } of store.list(keys.members(setId), { limit: MEMBERS_A_COMMIT })) {
        mutations.push({ type: "delete", key }, {
          type: "delete",
          key: keys.memberOf(String(key[3]), setId),
        });
      }
      isMore = mutations.length > 0;
      if (isMore) await store.commit({ mutations });
    }
    memberSets.forget(setId);
  };

  /** Both sets as a change, for a caller that no longer has the change. */
  const changesBetween = async (from: string, to: string): Promise<MemberChange[]> => {
    const gone = from === "" ? [] : (await memberSets.load(from)).canonicals;
    const { canonicals, names } = to === "" ? { canonicals: [], names: [] } : await memberSets.load(to);
    return [
      ...gone.map((canonical) => ({ canonical, name: null })),
      ...canonicals.map((canonical, at) => ({ canonical, name: names[at] ?? canonical })),
    ];
  };

  const regroupAll = async (changes: readonly MemberChange[], names: { before: string; after: string }) => {
    const isMember = new Map(changes.map(({ canonical, name }) => [canonical, name !== null]));
    const users = [...isMember.keys()];
    for (let at = 0; at < users.length;) {
      const batch = newBatch();
      for (const user of users.slice(at, at + MEMBERS_A_COMMIT)) batch.expect("user", user);
      const end = Math.min(at + MEMBERS_A_COMMIT, users.length);
      while (at < end && batch.mutationCount < MUTATIONS_A_COMMIT && batch.sizeOctets < OCTETS_A_COMMIT) {
        const user = users[at++] ?? "";
        const stays = isMember.get(user) === true;
        await regroup(batch, user, { name: stays ? names.after : names.before, isMember: stays });
      }
      if (batch.mutationCount > 0) await batch.commit();
      for (const index of deps.indexes.all) await index.divide();
    }
  };

  const finishFlip = async (
    { group, name, from }: Chore & { kind: "flip" },
    known: readonly MemberChange[] | null,
  ): Promise<void> => {
    const now = await readRecord({ store, keys }, { kind: "group", canonical: group });
    const changes = known ?? await changesBetween(from, now?.record.setId ?? "");
    await regroupAll(changes, { before: name, after: now?.record.name ?? name });
    await sweep(from);
  };

  const leave = async (user: string): Promise<void> => {
    let isMore = true;
    while (isMore) {
      const batch = newBatch();
      const memberships = [...await batch.memberships(user)];
      for (const [setId, group] of memberships.slice(0, MEMBERSHIPS_A_COMMIT)) {
        await batch.changeMembers({ setId, group }, [{ canonical: user, name: null }]);
      }
      isMore = memberships.length > MEMBERSHIPS_A_COMMIT;
      if (!isMore) batch.remove(keys.chore(`leave ${user}`));
      await batch.commit();
    }
  };

  const doChore = async (key: Deno.KvKey, chore: Chore): Promise<void> => {
    if (chore.kind === "leave") return await leave(chore.user);
    if (chore.kind === "sweep") await sweep(chore.setId);
    else await finishFlip(chore, null);
    await store.commit({ mutations: [{ type: "delete", key }] });
  };

  return {
    async changeGroup(change, also) {
      const { canonical, before, changes, membersAfter } = change;
      const to = change.after === null ? "" : deps.newSetId();
      const sweeping = keys.chore(`sweep ${to}`);
      if (to !== "") {
        await store.commit({
          mutations: [{ type: "set", key: sweeping, value: { kind: "sweep", setId: to } satisfies Chore }],
        });
        await writeSet(to, change);
      }
      const after = change.after === null ? null : { ...change.after, setId: to };
      const flipped = keys.chore(`flip ${deps.nextNumber()}`);
      const chore = {
        kind: "flip",
        group: canonical,
        name: before?.name ?? after?.name ?? canonical,
        from: before?.setId ?? "",
        to,
      } as const satisfies Chore;
      const batch = newBatch();
      await batch.guard("group", canonical);
      await batch.keep({ kind: "group", canonical }, after);
      batch.remove(sweeping);
      batch.set(flipped, chore, 2000);
      turnGroup(deps.prepareGroupTurn, batch, change);
      batch.also(also);
      if (to !== "") batch.whenCommitted(() => memberSets.keep(to, membersAfter));
      const outcome = await batch.commit();
      if (!outcome.ok) {
        await doChore(sweeping, { kind: "sweep", setId: to });
        return { ok: false, reason: "changed" };
      }
      await finishFlip(chore, changes);
      await store.commit({ mutations: [{ type: "delete", key: flipped }] });
      return { ok: true, stored: after === null ? null : storedOf("group", after, membersAfter) };
    },
    leave,
    async finish() {
      const owed: { key: Deno.KvKey; chore: Chore }[] = [];
      for await (const { key, value } of store.list<Chore>(keys.chores)) {
        if (value !== null) owed.push({ key, chore: value });
      }
      for (const { key, chore } of owed) await doChore(key, chore);
      return owed.length;
    },
    async trimTombstones(kept) {
      const over = Math.min(deps.indexes.gone.total - kept, TOMBSTONES_A_TURN);
      if (over <= 0) return;
      const batch = newBatch();
      for await (const { key, value } of store.list<string>(keys.departures, { limit: over })) {
        if (value === null) continue;
        await batch.tombstone(value, null);
        batch.remove(key);
      }
      await batch.commit();
    },
  };
}

// What a write means: who must still be as the writer read it, and what goes into the commit. Each plan fills a batch and writes nothing itself.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Mutation } from "../../platform/store.ts";
import type { DirectoryWrite, PrepareGroupTurn, PrepareLeaving } from "../ports.ts";
import type { Content, GroupContent, Stored } from "../schema/resource.ts";
import { wordsOfGroup } from "../filter/search_terms.ts";
import type { Keys } from "./keys.ts";
import {
  findMember,
  type MemberChange,
  memberChanges,
  type MemberSet,
  memberSetOf,
  NO_MEMBERS,
  withChanges,
} from "./member_sets.ts";
import type { DirectoryBatch } from "./directory_batch.ts";
import { isRevision, type KeptRecord, recordOf, storedOf } from "./records.ts";
import { withGroup } from "./user_groups.ts";

export interface PlanDeps {
  readonly keys: Keys;
  readonly clock: Clock;
  readonly prepareLeaving: PrepareLeaving;
  readonly prepareGroupTurn: PrepareGroupTurn;
  /** Grows; never the same twice. */
  readonly nextNumber: () => number;
  readonly newSetId: () => string;
}

/**
 * `changed`: the writer read something older. `alone`: too much for one commit; nothing was put into the batch. `owes`: users who have to be taken out
 * of more groups when the commit is durable.
 */
export type Planned =
  | { readonly kind: "planned"; readonly stored: () => Stored | null; readonly owes: string | null }
  | { readonly kind: "changed" }
  | { readonly kind: "alone" };

/** A change of a group's members, as the directory's port has it. */
export interface MembersChange {
  readonly group: string;
  readonly add: readonly string[];
  readonly remove: readonly string[];
  /** Given who was no member before, and who is none any more. */
  readonly also?: (added: readonly string[], removed: readonly string[]) => readonly Mutation[];
}

/** A user who leaves more groups than this leaves the rest after the commit. */
const MAX_GROUPS_LEFT_AT_ONCE = 50;
/** A commit takes 1,000 changes, and this much of them a change of members. */
const MAX_MEMBER_MUTATIONS = 500;

const CHANGED = { kind: "changed" } as const;

/** Whether the resource stands as the writer read it. */
export function isExpected(
  record: KeptRecord | null,
  { expected, recorded }: Pick<DirectoryWrite, "expected" | "recorded">,
): boolean {
  if (record === null || expected === null) return record === null && expected === null;
  return isRevision(expected, record.revision) &&
    (recorded === undefined || recorded === (record.recorded ?? 0));
}

/** Plans the write of one user. */
export async function planUser(
  deps: PlanDeps,
  batch: DirectoryBatch,
  write: DirectoryWrite,
): Promise<Planned> {
  const canonical = canonicalName(write.name);
  const before = await batch.record("user", canonical);
  if (!isExpected(before, write) || (before === null && write.next === null)) return CHANGED;
  await batch.guard("user", canonical);
  const isLeaving = before !== null &&
    (write.next === null || (before.active && !isActive(write.next.content)));
  const place = { kind: "user", canonical } as const;
  let after: KeptRecord | null = null;
  if (write.next !== null) {
    const groups = isLeaving ? [] : before?.groups ?? await groupsOf(batch, canonical);
    after = recordOf(write.next.content, {
      ...times(deps, before, write),
      backends: write.next.backends,
      groups,
      setId: "",
    });
  }
  // First what can refuse: a batch must not be left half filled.
  await batch.keep(place, after);
  let owes: string | null = null;
  if (isLeaving && await leave(deps, batch, canonical)) owes = canonical;
  if (after === null) {
    batch.remove(deps.keys.password(canonical));
    await batch.tombstone(canonical, { name: before?.name ?? canonical, order: deps.nextNumber() });
  } else if (before === null) await batch.tombstone(canonical, null);
  if (write.password !== undefined && after !== null) {
    batch.set(deps.keys.password(canonical), write.password, 400);
  }
  batch.also(write.also ?? []);
  return { kind: "planned", stored: () => after === null ? null : storedOf("user", after), owes };
}

function isActive(content: Content): boolean {
  return content.kind === "group" || content.active;
}

/** A client that reads a resource and writes it again gets no conflict when only a delivery was recorded. */
function times(
  { clock, nextNumber }: PlanDeps,
  before: KeptRecord | null,
  { statesOnly = false }: Pick<DirectoryWrite, "statesOnly"> = {},
): Pick<KeptRecord, "createdMs" | "modifiedMs" | "revision" | "recorded"> {
  if (statesOnly && before !== null) {
    const { createdMs, modifiedMs, revision, recorded = 0 } = before;
    return { createdMs, modifiedMs, revision, recorded: recorded + 1 };
  }
  const nowMs = clock.nowMs();
  return { createdMs: before?.createdMs ?? nowMs, modifiedMs: nowMs, revision: nextNumber() };
}

/** The names of the groups that have a member of that name already. */
async function groupsOf(batch: DirectoryBatch, canonical: string): Promise<readonly string[]> {
  let groups: readonly string[] = [];
  for (const [setId, group] of await batch.memberships(canonical)) {
    const record = await batch.record("group", group);
    if (record?.setId === setId) groups = withGroup(groups, { name: record.name, isMember: true });
  }
  return groups;
}

/** Takes a user out of groups, and out of what else knows it. @returns whether groups are left over. */
async function leave(deps: PlanDeps, batch: DirectoryBatch, canonical: string): Promise<boolean> {
  batch.include(deps.prepareLeaving(canonical));
  const memberships = [...await batch.memberships(canonical)];
  for (const [setId, group] of memberships.slice(0, MAX_GROUPS_LEFT_AT_ONCE)) {
    await batch.changeMembers({ setId, group }, [{ canonical, name: null }]);
  }
  if (memberships.length <= MAX_GROUPS_LEFT_AT_ONCE) return false;
  batch.set(deps.keys.chore(`leave ${canonical}`), { kind: "leave", user: canonical });
  return true;
}

/** What a write makes of a group: its records, and what changes among its members. */
export interface GroupChange {
  readonly canonical: string;
  readonly before: KeptRecord | null;
  readonly after: KeptRecord | null;
  readonly membersBefore: MemberSet;
  readonly membersAfter: MemberSet;
  readonly changes: readonly MemberChange[];
}

/** Reads what a write of a group changes; `null` when it stands otherwise than the writer read. */
export async function groupChange(
  deps: PlanDeps,
  batch: DirectoryBatch,
  write: DirectoryWrite,
): Promise<GroupChange | null> {
  const canonical = canonicalName(write.name);
  const before = await batch.record("group", canonical);
  if (!isExpected(before, write) || (before === null && write.next === null)) return null;
  const membersBefore = before === null ? NO_MEMBERS : await batch.members(before.setId);
  const content = write.next?.content;
  const membersAfter = content === undefined ? NO_MEMBERS : memberSetOf(membersOf(content));
  const after = write.next === null ? null : recordOf(write.next.content, {
    ...times(deps, before, write),
    backends: write.next.backends,
    groups: [],
    setId: before?.setId ?? deps.newSetId(),
  });
  const isRespelled = before !== null && after !== null && before.name !== after.name;
  const changes = isRespelled
    // Every member's record names the group.
    ? [...memberChanges(membersBefore, NO_MEMBERS), ...memberChanges(NO_MEMBERS, membersAfter)]
    : memberChanges(membersBefore, membersAfter);
  return { canonical, before, after, membersBefore, membersAfter, changes };
}

function membersOf(content: Content): readonly string[] {
  const { members }: Pick<GroupContent, "members"> = content.kind === "group" ? content : { members: [] };
  return members;
}

/** Reads what a change of members does; `null` when there is no such group. */
export async function membersChange(
  deps: PlanDeps,
  batch: DirectoryBatch,
  change: MembersChange,
): Promise<GroupChange | null> {
  const canonical = canonicalName(change.group);
  const before = await batch.record("group", canonical);
  if (before === null) return null;
  const membersBefore = await batch.members(before.setId);
  const asked = [
    ...memberSetOf(change.remove).canonicals.map((name) => ({ canonical: name, name: null })),
    ...memberChanges(NO_MEMBERS, memberSetOf(change.add)),
  ];
  const membersAfter = withChanges(membersBefore, asked);
  const { recorded: _former, ...rest } = before;
  const after = { ...rest, ...times(deps, before) };
  return {
    canonical,
    before,
    after,
    membersBefore,
    membersAfter,
    changes: memberChanges(membersBefore, membersAfter),
  };
}

/** What goes with a change: of a member that is only spelled differently, nothing is said. */
export function mutationsBeside(
  { also }: Pick<MembersChange, "also">,
  { membersBefore, changes }: GroupChange,
): readonly Mutation[] {
  const before = (canonical: string) => membersBefore.names[findMember(membersBefore, canonical)];
  const added = changes.flatMap(({ canonical, name }) =>
    name !== null && before(canonical) === undefined ? [name] : []
  );
  const removed = changes.flatMap(({ canonical, name }) =>
    name === null ? [before(canonical) ?? canonical] : []
  );
  return also?.(added, removed) ?? [];
}

/** Whether a change fits into one commit with the records of the users whom it concerns. */
export function fitsOneCommit({ before, after, changes }: GroupChange): boolean {
  const words = Math.max(
    ...[before, after].map((record) => record === null ? 0 : wordsOfGroup(record.name).length),
  );
  return changes.length * (4 + 2 * words) <= MAX_MEMBER_MUTATIONS;
}

/** Puts a change of a group that fits into one commit into the batch. */
export async function planGroup(
  { prepareGroupTurn }: Pick<PlanDeps, "prepareGroupTurn">,
  batch: DirectoryBatch,
  { also, ...change }: GroupChange & { also: readonly Mutation[] },
): Promise<Planned> {
  const { canonical, before, after, membersAfter, changes } = change;
  const setId = after?.setId ?? before?.setId ?? "";
  for (const { canonical: user } of changes) batch.expect("user", user);
  await batch.guard("group", canonical);
  await batch.keep({ kind: "group", canonical }, after);
  await batch.changeMembers({ setId, group: canonical }, changes);
  for (const { canonical: user, name } of changes) {
    const group = name === null ? before?.name : after?.name;
    await regroup(batch, user, { name: group ?? canonical, isMember: name !== null });
  }
  turnGroup(prepareGroupTurn, batch, change);
  batch.also(also);
  return {
    kind: "planned",
    stored: () => after === null ? null : storedOf("group", after, membersAfter),
    owes: null,
  };
}

/** A group that begins inherits nothing from one of its name, and one that ends leaves nothing behind. */
export function turnGroup(
  prepare: PrepareGroupTurn,
  batch: DirectoryBatch,
  { canonical, before, after }: Pick<GroupChange, "canonical" | "before" | "after">,
): void {
  if (before === null || after === null) batch.include(prepare(canonical));
}

/** Brings the groups in a user's record in step; nothing happens where there is no such user. */
export async function regroup(
  batch: DirectoryBatch,
  canonical: string,
  group: { name: string; isMember: boolean },
): Promise<void> {
  const record = await batch.record("user", canonical);
  if (record === null) return;
  const groups = withGroup(record.groups, group);
  if (groups !== record.groups) await batch.keep({ kind: "user", canonical }, { ...record, groups });
}

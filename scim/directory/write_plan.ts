// Plans a write: the checks and the mutations of its commit, and the times, the revision and the ids of its record. A plan fills a batch and writes
// nothing itself.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Log } from "../../platform/log.ts";
import type { Mutation } from "../../platform/store.ts";
import type { PrepareRename } from "../../platform/write_batch.ts";
import type {
  DirectoryWrite,
  MembersUpdate,
  PrepareForgetDevices,
  PrepareGroupCleanup,
  PrepareOffboarding,
  ResourceChange,
} from "../ports.ts";
import { compareMemberNames, describeMembers } from "../schema/member_names.ts";
import type { Content, Stored } from "../schema/resource.ts";
import {
  diffMembers,
  findFewChanges,
  findMember,
  type MemberChange,
  type MemberSet,
  NO_MEMBERS,
  type PendingRenames,
  toMemberSet,
  withChanges,
  withGroup,
} from "./member_sets.ts";
import type { DirectoryBatch, DirectoryBatchDeps } from "./directory_batch.ts";
import { type DirectoryTrash, rejoinGroups } from "./trash.ts";
import {
  differInNumbers,
  isRevision,
  type ResourceIdentity,
  type ResourceRecord,
  toRecord,
  toStored,
} from "./records.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { IdIssuer } from "./reader.ts";

/** The parts of a directory that its writes share. */
export interface WriteParts extends DirectoryBatchDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly ids: IdIssuer;
  readonly newBatch: () => DirectoryBatch;
  readonly newSetId: () => string;
  readonly trash: DirectoryTrash;
  readonly pendingRenames: PendingRenames;
  readonly prepareOffboarding: PrepareOffboarding;
  readonly prepareForgetDevices: PrepareForgetDevices;
  readonly prepareGroupCleanup: PrepareGroupCleanup;
  readonly prepareRename: PrepareRename;
  /** Called after each durable change; a rename is one for each name. It must not throw. */
  readonly onChange: (change: ResourceChange) => void;
}

/**
 * `changed`: the writer read an older version. `alone`: too large for one commit; the batch is unchanged. `leavesMoreGroups`: a user, or a
 * group in groups, that must be removed from more groups after the commit. `linksMoreGroups`: a new user whose id must be stored in more groups.
 */
export type PlannedWrite =
  | {
    readonly kind: "planned";
    readonly stored: () => Stored | null;
    readonly leavesMoreGroups: string | null;
    readonly linksMoreGroups: string | null;
    /** The id of a deleted user in the trash. */
    readonly trashed: string | null;
  }
  | { readonly kind: "changed" }
  | { readonly kind: "alone" };

/** If a user leaves more groups than this, or more groups name a new user, the others follow after the commit. */
const MAX_GROUPS_AT_ONCE = 50;
/** Each changed member takes two mutations for the membership, and one for the user's record. A commit accepts 1,000 mutations. */
const MAX_MEMBER_CHANGES = 200;

const CHANGED = { kind: "changed" } as const;

/** Whether the resource is still as the writer read it. */
export function isExpected(
  record: ResourceRecord | null,
  { expected, recorded }: Pick<DirectoryWrite, "expected" | "recorded">,
): boolean {
  if (record === null || expected === null) return record === null && expected === null;
  return isRevision(expected, record.revision) &&
    (recorded === undefined || recorded === (record.recorded ?? 0));
}

/** Plans the write of one user. */
export async function planUser(
  deps: WriteParts,
  batch: DirectoryBatch,
  write: DirectoryWrite,
): Promise<PlannedWrite> {
  const canonical = canonicalName(write.name);
  const before = await batch.record("user", canonical);
  if (!isExpected(before, write) || (before === null && write.next === null)) return CHANGED;
  const removal = write.restores === undefined ? [] : await deps.trash.removal(write.restores.id);
  // Another request restored or removed the entry.
  if (removal === null) return CHANGED;
  await batch.checkUnchanged("user", canonical);
  const isLeaving = before !== null &&
    (write.next === null || (before.active && !isActive(write.next.content)));
  const place = { kind: "user", canonical } as const;
  let after: ResourceRecord | null = null;
  if (write.next !== null) {
    await rejoinGroups(batch, write.next.content.name, write.restores?.groups ?? []);
    const groups = isLeaving ? [] : before?.groups ?? await groupsOf(batch, canonical);
    const restored = write.restores === undefined ? {} : await deps.trash.identity(write.restores.id);
    after = recordAfter(deps, { ...write, next: write.next }, {
      canonical,
      before,
      restored,
      groups,
      setId: "",
    });
  }
  // This can throw, so it comes first. Otherwise the batch would contain a part of the write.
  await batch.putRecord(place, after);
  let leavesMoreGroups: string | null = null;
  let linksMoreGroups: string | null = null;
  if (isLeaving) {
    batch.include(deps.prepareOffboarding(canonical));
    if (await leaveGroups(deps, batch, canonical)) leavesMoreGroups = canonical;
  }
  let trashed: string | null = null;
  if (after === null) {
    if (before !== null) trashed = await deps.trash.add(batch, { before, deletion: write.deletion });
    batch.remove(deps.keys.password(canonical));
    await batch.setTombstone(canonical, { name: before?.name ?? canonical, order: deps.nextNumber() });
  } else if (before === null) {
    await batch.setTombstone(canonical, null);
    if (await linkGroups(deps, batch, { canonical, record: after })) linksMoreGroups = canonical;
  }
  if (write.password !== undefined && after !== null) {
    batch.set(deps.keys.password(canonical), write.password, 400);
  }
  if (before !== null && after !== null && !isLeaving) {
    const isOther = write.password !== undefined || differInNumbers(before, after);
    if (isOther) batch.include(deps.prepareForgetDevices(canonical));
  }
  batch.also([...removal, ...write.also ?? []]);
  const stored = () => after === null ? null : toStored({ kind: "user", target: deps.keys.target }, after);
  return { kind: "planned", stored, leavesMoreGroups, linksMoreGroups, trashed };
}

function isActive(content: Content): boolean {
  return content.kind === "group" || content.active;
}

/** The record of a resource after a write that does not delete it. */
export function recordAfter(
  deps: WriteParts,
  write: Pick<DirectoryWrite, "kind" | "statesOnly"> & { readonly next: NonNullable<DirectoryWrite["next"]> },
  { canonical, before, restored = {}, groups = [], setId }: {
    canonical: string;
    before: ResourceRecord | null;
    /** What a restored user had. */
    restored?: Partial<ResourceIdentity>;
    groups?: readonly string[];
    setId: string;
  },
): ResourceRecord {
  const { content, backends } = write.next;
  const times = nextTimes(deps, before, write);
  const identity = nextIdentity(deps, write, { canonical, before, restored, ...times });
  return toRecord(content, { ...times, ...identity, backends, groups, setId });
}

/** A list of groups with those that already have a member with that name. */
export async function groupsOf(
  batch: DirectoryBatch,
  canonical: string,
  known: readonly string[] = [],
): Promise<readonly string[]> {
  let groups = known;
  for (const [setId, group] of await batch.memberships(canonical)) {
    const record = await batch.record("group", group);
    if (record?.setId === setId) groups = withGroup(groups, { name: record.name, isMember: true });
  }
  return groups;
}

/** Removes a user, or a group in groups, from groups, at most `limit`. @returns whether more groups remain. */
export async function leaveGroups(
  { keys }: Pick<WriteParts, "keys">,
  batch: DirectoryBatch,
  canonical: string,
  limit = MAX_GROUPS_AT_ONCE,
): Promise<boolean> {
  const memberships = [...await batch.memberships(canonical)];
  for (const [setId, group] of memberships.slice(0, limit)) {
    await batch.changeMembers({ setId, group }, [{ canonical, name: null }]);
  }
  if (memberships.length <= limit) return false;
  batch.set(keys.chore(`leave ${canonical}`), { kind: "leave", user: canonical });
  return true;
}

/** Gives the id of a new user to the groups that name it already. @returns whether more groups remain. */
export async function linkGroups(
  { keys }: Pick<WriteParts, "keys">,
  batch: DirectoryBatch,
  { canonical, record }: { canonical: string; record: ResourceRecord },
): Promise<boolean> {
  if (!await batch.linkMembers(new Map([[canonical, record.id]]), MAX_GROUPS_AT_ONCE)) return false;
  batch.set(keys.chore(`link ${canonical}`), { kind: "link", user: canonical });
  return true;
}

/** Each membership takes four mutations. */
const MAX_MOVED_AT_ONCE = 150;

/** Moves at most `limit` memberships of a user, or of a group (without an id), to the new name. Returns whether more remain. */
export async function moveSomeMemberships(
  batch: DirectoryBatch,
  { from, to, name, id }: {
    readonly from: string;
    readonly to: string;
    readonly name: string;
    readonly id: string | null;
  },
  limit = MAX_MOVED_AT_ONCE,
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

/** The records of a group after a write, and the changes of its members. */
export interface GroupUpdate {
  readonly canonical: string;
  readonly before: ResourceRecord | null;
  readonly after: ResourceRecord | null;
  readonly membersBefore: MemberSet;
  readonly membersAfter: MemberSet;
  readonly changes: readonly MemberChange[];
  /** All members after the write, in the order in which they were sent. */
  readonly sent?: readonly string[] | undefined;
}

/** Reads what a write of a group changes. `null` if the group is not as the writer read it. */
export async function readGroupUpdate(
  deps: WriteParts,
  batch: DirectoryBatch,
  write: DirectoryWrite,
): Promise<GroupUpdate | null> {
  const canonical = canonicalName(write.name);
  const before = await batch.record("group", canonical);
  if (!isExpected(before, write) || (before === null && write.next === null)) return null;
  if (!await haveNames(batch, write.users)) return null;
  const membersBefore = before === null ? NO_MEMBERS : await batch.members(before.setId);
  const { after: membersAfter, changes, sent } = membersChange(membersBefore, write.next?.content);
  const after = write.next === null ? null : recordAfter(deps, { ...write, next: write.next }, {
    ...{ canonical, before },
    setId: before?.setId ?? deps.newSetId(),
  });
  const isRespelled = before !== null && after !== null && before.name !== after.name;
  return {
    ...{ canonical, before, after, membersBefore, membersAfter, sent },
    // The record of every member contains the name of the group.
    changes: isRespelled ? allMembers(membersBefore, membersAfter) : changes,
  };
}

/** The members of a group after a write, and how they change. */
export function membersChange(
  before: MemberSet,
  content: Content | undefined,
): Pick<GroupUpdate, "changes" | "sent"> & { readonly after: MemberSet } {
  const members = content?.kind === "group" ? content.members : [];
  const few = findFewChanges(before, members);
  if (few === null) {
    const after = toMemberSet(members);
    return { after, changes: diffMembers(before, after) };
  }
  return {
    after: withChanges(before, few),
    changes: few,
    sent: compareMemberNames(before.names, members).sent,
  };
}

/** All members leave, and all join. */
export function allMembers(before: MemberSet, after: MemberSet): MemberChange[] {
  return [...diffMembers(before, NO_MEMBERS), ...diffMembers(NO_MEMBERS, after)];
}

/** Reads the effect of a change of members. `null` if the group does not exist, or the name belongs to another one now. */
export async function readMembersUpdate(
  deps: WriteParts,
  batch: DirectoryBatch,
  change: MembersUpdate,
): Promise<GroupUpdate | null> {
  const canonical = canonicalName(change.group);
  const before = await batch.record("group", canonical);
  if (before === null) return null;
  if ((change.id ?? before.id) !== before.id || !await haveNames(batch, change.users)) {
    return null;
  }
  const membersBefore = await batch.members(before.setId);
  const asked = [
    ...toMemberSet(change.remove).canonicals.map((name) => ({ canonical: name, name: null })),
    ...diffMembers(NO_MEMBERS, toMemberSet(change.add)),
  ];
  const membersAfter = withChanges(membersBefore, asked);
  const { recorded: _former, ...rest } = before;
  const after = { ...rest, ...nextTimes(deps, before) };
  const changes = diffMembers(membersBefore, membersAfter);
  return { canonical, before, after, membersBefore, membersAfter, changes };
}

/** The mutations for changed members. A member with another spelling is not a change. */
export function membersMutations(
  { also }: Pick<MembersUpdate, "also">,
  { membersBefore, changes }: GroupUpdate,
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

/** Whether a change fits into one commit together with the records of its users. Large records may still exceed the commit. */
export function fitsOneCommit({ changes }: Pick<GroupUpdate, "changes">): boolean {
  return changes.length <= MAX_MEMBER_CHANGES;
}

/** Puts a change of a group that fits into one commit into the batch. */
export async function planGroup(
  deps: Pick<WriteParts, "prepareGroupCleanup" | "keys">,
  batch: DirectoryBatch,
  { also, ...change }: GroupUpdate & { also: readonly Mutation[] },
): Promise<PlannedWrite> {
  const { canonical, before, after, changes, sent } = change;
  const setId = after?.setId ?? before?.setId ?? "";
  for (const { canonical: user } of changes) batch.prefetch("user", user);
  await batch.checkUnchanged("group", canonical);
  await batch.putRecord({ kind: "group", canonical }, after);
  await batch.changeMembers({ setId, group: canonical }, changes);
  for (const { canonical: user, name } of changes) {
    const group = name === null ? before?.name : after?.name;
    await updateUserGroups(batch, user, { name: group ?? canonical, isMember: name !== null });
  }
  cleanUpGroup(deps, batch, change);
  const isLeaving = after === null && await isNestedGroup(batch, canonical);
  const leavesMoreGroups = isLeaving && await leaveGroups(deps, batch, canonical) ? canonical : null;
  batch.also(also);
  const members = await batch.members(setId);
  describeMembers(members.names, { canonicals: members.canonicals, sent });
  const place = { kind: "group", target: deps.keys.target } as const;
  return {
    kind: "planned",
    stored: () => after === null ? null : toStored(place, after, members),
    leavesMoreGroups,
    linksMoreGroups: null,
    trashed: null,
  };
}

/** Whether groups that have the name as a member mean the group: no user has it. */
export async function isNestedGroup(batch: DirectoryBatch, canonical: string): Promise<boolean> {
  return await batch.record("user", canonical) === null;
}

/** Removes other data under the name of a new or deleted group, so that a later group does not inherit it. */
export function cleanUpGroup(
  { prepareGroupCleanup, keys }: Pick<WriteParts, "prepareGroupCleanup" | "keys">,
  batch: DirectoryBatch,
  { canonical, before, after }: Pick<GroupUpdate, "canonical" | "before" | "after">,
): void {
  if (before === null) batch.remove(keys.renamed("group", canonical));
  if (before === null || after === null) batch.include(prepareGroupCleanup(canonical));
}

/** Updates the groups in a user's record. Does nothing if the user does not exist. */
export async function updateUserGroups(
  batch: DirectoryBatch,
  canonical: string,
  group: { name: string; isMember: boolean },
): Promise<void> {
  const record = await batch.record("user", canonical);
  const groups = record === null ? [] : withGroup(record.groups, group);
  if (record === null || groups === record.groups) return;
  const regrouped = (record.regrouped ?? 0) + 1;
  await batch.putRecord({ kind: "user", canonical }, { ...record, groups, regrouped });
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

/** Users of one change that are compared with their ids, so that the cost has a limit. */
const MAX_COMPARED_USERS = 200;

/** Whether the users still have the names that a caller read for their ids. */
export async function haveNames(
  batch: DirectoryBatch,
  users: MembersUpdate["users"] = [],
): Promise<boolean> {
  for (const { id, name } of users.slice(0, MAX_COMPARED_USERS)) {
    if ((await batch.record("user", canonicalName(name)))?.id !== id) return false;
  }
  return true;
}

/** The times and the revision after a write. If only backend states change, the revision stays. So a client that read the resource before can still write it. */
function nextTimes(
  { clock, nextNumber }: Pick<WriteParts, "clock" | "nextNumber">,
  before: ResourceRecord | null,
  { statesOnly = false }: Pick<DirectoryWrite, "statesOnly"> = {},
): Pick<ResourceRecord, "createdMs" | "modifiedMs" | "revision" | "recorded" | "regrouped"> {
  if (statesOnly && before !== null) {
    const { createdMs, modifiedMs, revision, recorded = 0, regrouped } = before;
    const kept = regrouped === undefined ? {} : { regrouped };
    return { createdMs, modifiedMs, revision, recorded: recorded + 1, ...kept };
  }
  const nowMs = clock.nowMs();
  // The clock of the node that wrote the resource before may be ahead of this one's, or this one was set back.
  const revision = Math.max(nextNumber(), (before?.revision ?? 0) + 1);
  const modifiedMs = Math.max(nowMs, before?.modifiedMs ?? 0);
  return { createdMs: before?.createdMs ?? nowMs, modifiedMs, revision };
}

/** The id, the external id and the connection after a write. A restored user gets those that it had. */
function nextIdentity(
  { ids, keys: { target } }: Pick<WriteParts, "ids" | "keys">,
  { kind, next, statesOnly = false }: Pick<DirectoryWrite, "kind" | "next" | "statesOnly">,
  { canonical, before, restored, createdMs }: {
    canonical: string;
    before: ResourceRecord | null;
    restored: Partial<ResourceIdentity>;
    createdMs: number;
  },
): ResourceIdentity {
  const earlier = before ?? restored;
  const id = earlier.id ?? ids.issue({ target, kind, canonical, createdMs });
  const externalId = next?.externalId === undefined ? earlier.externalId : next.externalId;
  const managedBy = next?.managedBy ?? earlier.managedBy;
  const isUnassigned = next?.activeUnassigned ?? (statesOnly && earlier.activeUnassigned === true);
  return {
    id,
    ...(externalId === undefined || externalId === null ? {} : { externalId }),
    ...(managedBy === undefined ? {} : { managedBy }),
    ...(isUnassigned ? { activeUnassigned: true } : {}),
  };
}

// Gives a resource another name (ADR 17: its id stays). The commit that writes the record under the new name also moves what is stored by name, up to a
// limit. A recovery task in the same commit stands for the rest, which follows before the next write.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { RenamedEntry } from "../../platform/user_record.ts";
import { NO_CHANGE, type PrepareRename } from "../../platform/write_batch.ts";
import type { DirectoryRename, RenameResult, ResourceChange } from "../ports.ts";
import type { Content, Stored } from "../schema/resource.ts";
import type { DirectoryBatch } from "./directory_batch.ts";
import type { LargeGroupUpdate } from "./large_group_update.ts";
import {
  diffMembers,
  findFewChanges,
  type MemberChange,
  type MemberSet,
  NO_MEMBERS,
  toMemberSet,
  withChanges,
  withGroup,
} from "./member_sets.ts";
import { differInNumbers, type ResourceRecord, toRecord, toStored } from "./records.ts";
import {
  fitsOneCommit,
  isExpected,
  isNestedGroup,
  nextIdentity,
  nextTimes,
  updateUserGroups,
  type WritePlanDeps,
} from "./write_plan.ts";
import {
  finishRename,
  moveSomeMemberships,
  renameGroupOf,
  type RenameStepDeps,
  type RenameTask,
  renameTaskId,
} from "./rename_steps.ts";
import type { WriteQueue } from "./write_queue.ts";

interface RenameWriterDeps extends WritePlanDeps, RenameStepDeps {
  readonly prepareRename: PrepareRename;
  readonly writes: Pick<WriteQueue, "runRecoverable">;
  readonly largeGroups: Pick<LargeGroupUpdate, "changeGroup" | "leaveGroups" | "linkGroups">;
  /** Called after each durable rename, for both names. It must not throw. */
  readonly onChange: (change: ResourceChange) => void;
}

interface RenameJob {
  readonly write: DirectoryRename;
  readonly from: string;
  readonly to: string;
  readonly before: ResourceRecord;
}

/** A filled batch. `rest`: the task that the batch records. */
interface PlannedRename {
  readonly stored: Stored;
  readonly rest: readonly (() => Promise<void>)[];
}

/** Members of a renamed group, or groups of a renamed user, in the first commit. */
const MAX_AT_ONCE = 150;
const MAX_MUTATIONS = 990;
const MAX_OCTETS = 780_000;
/** Lost races with other modules, such as a session that is used at the same time. */
const MAX_TRIES = 5;
const CHANGED = { ok: false, reason: "changed" } as const;
const TAKEN = { ok: false, reason: "taken" } as const;

export class RenameWriter {
  readonly #deps: RenameWriterDeps;

  constructor(deps: RenameWriterDeps) {
    this.#deps = deps;
  }

  /** @throws RangeError if the resource is too large */
  rename(write: DirectoryRename): Promise<RenameResult> {
    return this.#deps.writes.runRecoverable(async () => {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const result = await this.#try(write);
        if (result !== null) return result;
      }
      return CHANGED;
    });
  }

  /** `null` if the commit raced with another module. */
  async #try(write: DirectoryRename): Promise<RenameResult | null> {
    const { kind } = write;
    const [from, to] = [canonicalName(write.from), canonicalName(write.next.content.name)];
    if (from === to) throw new TypeError("Cannot rename a resource to another spelling: replace it");
    const batch = this.#deps.newBatch();
    const before = await batch.record(kind, from);
    if (before === null || !isExpected(before, write)) return CHANGED;
    if (await batch.record(kind, to) !== null) return TAKEN;
    const job: RenameJob = { write, from, to, before };
    const change = kind === "group" ? await this.#readMembers(batch, job) : null;
    if (change !== null && !fitsOneCommit({ changes: change.few })) return await this.#flip(job, change);
    let planned: PlannedRename;
    try {
      await batch.checkUnchanged(kind, from);
      await batch.checkUnchanged(kind, to);
      planned = change === null
        ? await this.#planUser(batch, job)
        : await this.#planGroup(batch, job, change);
      if (batch.mutationCount > MAX_MUTATIONS || batch.sizeOctets > MAX_OCTETS) {
        throw new RangeError("Cannot rename a resource: it is too large for one commit");
      }
    } catch (fault) {
      batch.rollBack();
      throw fault;
    }
    if (!(await batch.commit()).ok) return null;
    for (const step of planned.rest) await step();
    this.#notify(job);
    return { ok: true, stored: planned.stored };
  }

  /** What other modules store by the name, the password, and the alias of the earlier name. */
  async #moveNamed(batch: DirectoryBatch, { write, from, to }: RenameJob, isLeaving: boolean): Promise<void> {
    const { keys, store, clock, prepareRename, nextNumber } = this.#deps;
    const { kind, next: { content: { name } } } = write;
    if (kind === "user") {
      if (isLeaving) batch.include(this.#deps.prepareOffboarding(from));
      const { value: password } = await store.get(keys.password(from));
      batch.remove(keys.password(from));
      if (write.password !== undefined) batch.set(keys.password(to), write.password, 400);
      else if (password !== null) batch.set(keys.password(to), password, 400);
      else batch.remove(keys.password(to));
      // A login with the earlier name is refused, as that of a deleted user. An unknown name might be accepted.
      await batch.setTombstone(from, { name: write.from, order: nextNumber() });
      await batch.setTombstone(to, null);
    }
    batch.include(await prepareRename({ kind, from, to, name, isLeaving }));
    const entry: RenamedEntry = { to, atMs: clock.nowMs() };
    batch.set(keys.renamed(kind, from), entry, 200 + 2 * to.length);
    batch.remove(keys.renamed(kind, to));
    batch.also(write.also ?? []);
  }

  async #planUser(batch: DirectoryBatch, job: RenameJob): Promise<PlannedRename> {
    const { keys, largeGroups } = this.#deps;
    const { write, from, to, before } = job;
    const { content } = write.next;
    const isLeaving = before.active && content.kind === "user" && !content.active;
    const groups = isLeaving ? [] : await groupsAfter(batch, { before, to });
    const after = this.#recordAfter(job, { groups, setId: "" });
    await batch.putRecord({ kind: "user", canonical: from }, null);
    await batch.putRecord({ kind: "user", canonical: to }, after);
    const { id } = after;
    const rest: (() => Promise<void>)[] = [];
    if (isLeaving) {
      const memberships = [...await batch.memberships(from)];
      for (const [setId, group] of memberships.slice(0, MAX_AT_ONCE)) {
        await batch.changeMembers({ setId, group }, [{ canonical: from, name: null }]);
      }
      if (memberships.length > MAX_AT_ONCE) {
        batch.set(keys.chore(`leave ${from}`), { kind: "leave", user: from });
        rest.push(() => largeGroups.leaveGroups(from));
      }
    } else if (await moveSomeMemberships(batch, { from, to, name: content.name, id }, MAX_AT_ONCE)) {
      rest.push(this.#addTask(batch, { kind: "rename_user", from, to, name: content.name, id }));
    }
    // Groups that name the new name already, without a user.
    if (await batch.linkMembers(new Map([[to, id]]), MAX_AT_ONCE / 3)) {
      batch.set(keys.chore(`link ${to}`), { kind: "link", user: to });
      rest.push(() => largeGroups.linkGroups(to));
    }
    await this.#moveNamed(batch, job, isLeaving);
    // Devices that the new password or number must forget are those of the new name.
    const isOther = write.password !== undefined || differInNumbers(before, after);
    if (isOther && !isLeaving) batch.include(this.#deps.prepareForgetDevices(to));
    return { stored: toStored({ kind: "user", target: keys.target }, after), rest };
  }

  async #planGroup(batch: DirectoryBatch, job: RenameJob, change: MembersChange): Promise<PlannedRename> {
    const { keys } = this.#deps;
    const { from, to, before, write } = job;
    const { setId } = before;
    const after = this.#recordAfter(job, { groups: [], setId });
    const names = { before: before.name, after: after.name };
    await batch.putRecord({ kind: "group", canonical: from }, null);
    await batch.putRecord({ kind: "group", canonical: to }, after);
    for (const { canonical } of change.few) batch.prefetch("user", canonical);
    await batch.changeMembers({ setId, group: to }, change.few);
    for (const { canonical, name } of change.few) {
      if (name !== null) await renameGroupOf(batch, canonical, names);
      else await updateUserGroups(batch, canonical, { name: before.name, isMember: false });
    }
    const changed = new Set(change.few.map(({ canonical }) => canonical));
    const others = change.after.canonicals.filter((canonical) => !changed.has(canonical));
    const rest: (() => Promise<void>)[] = [];
    if (others.length + changed.size > MAX_AT_ONCE) {
      rest.push(this.#addTask(batch, { kind: "rename_group", from, to, ...names }));
    } else {
      for (const user of others) batch.prefetch("user", user);
      for (const user of others) {
        batch.set(keys.memberOf(user, setId), to);
        await renameGroupOf(batch, user, names);
      }
    }
    rest.push(...await this.#moveNested(batch, job));
    await this.#moveNamed(batch, job, false);
    const members = await batch.members(setId);
    return { stored: toStored({ kind: write.kind, target: keys.target }, after, members), rest };
  }

  /**
   * The memberships of a group in other groups. Under the earlier name, a later group would be the member. If a user has the earlier name, it
   * is that user's; if a user has the new name, they stay, because readers follow the rename.
   */
  async #moveNested(
    batch: DirectoryBatch,
    { write, from, to }: RenameJob,
  ): Promise<(() => Promise<void>)[]> {
    if (!await isNestedGroup(batch, from) || !await isNestedGroup(batch, to)) return [];
    const moved = { from, to, name: write.next.content.name, id: null };
    const isMore = await moveSomeMemberships(batch, moved, MAX_AT_ONCE / 3);
    return isMore ? [this.#addTask(batch, { kind: "rename_user", ...moved })] : [];
  }

  /** Many members change with the name: the new members are written as another set, and one commit changes the name and the set. */
  async #flip(job: RenameJob, change: MembersChange): Promise<RenameResult | null> {
    const { from, to, before, write } = job;
    const after = this.#recordAfter(job, { groups: [], setId: "" });
    let rest: (() => Promise<void>)[] = [];
    const result = await this.#deps.largeGroups.changeGroup({
      canonical: to,
      before,
      after,
      membersBefore: change.before,
      membersAfter: change.after,
      changes: [...diffMembers(change.before, NO_MEMBERS), ...diffMembers(NO_MEMBERS, change.after)],
    }, {
      also: [],
      prepareFlip: async (batch) => {
        await batch.checkUnchanged(write.kind, from);
        await batch.putRecord({ kind: "group", canonical: from }, null);
        rest = await this.#moveNested(batch, job);
        await this.#moveNamed(batch, job, false);
      },
    });
    if (!result.ok) return null;
    for (const step of rest) await step();
    this.#notify(job);
    return result;
  }

  async #readMembers(batch: DirectoryBatch, { write: { next: { content } }, before }: RenameJob) {
    const membersBefore = await batch.members(before.setId);
    return membersChange(membersBefore, content);
  }

  #recordAfter(
    { write, to, before }: RenameJob,
    { groups, setId }: Pick<ResourceRecord, "groups" | "setId">,
  ): ResourceRecord {
    const times = nextTimes(this.#deps, before);
    const identity = nextIdentity(this.#deps, write, { canonical: to, before, restored: {}, ...times });
    return toRecord(write.next.content, {
      ...times,
      ...identity,
      backends: write.next.backends,
      groups,
      setId,
    });
  }

  #addTask(batch: DirectoryBatch, task: RenameTask): () => Promise<void> {
    const { keys, pendingRenames } = this.#deps;
    batch.set(keys.chore(renameTaskId(task)), task, 500 + 4 * task.to.length);
    batch.whenCommitted(() => pendingRenames.begin(task));
    return () => finishRename(this.#deps, task);
  }

  #notify({ write: { kind, from: earlier, next: { content: { name } } } }: RenameJob): void {
    this.#deps.onChange({ kind, name: earlier, deleted: true, renamedTo: name });
    this.#deps.onChange({ kind, name, deleted: false, renamedFrom: earlier });
  }
}

/** The members of a group before and after, and the few that change. */
interface MembersChange {
  readonly before: MemberSet;
  readonly after: MemberSet;
  readonly few: readonly MemberChange[];
}

function membersChange(before: MemberSet, content: Content): MembersChange {
  const members = content.kind === "group" ? content.members : [];
  const few = findFewChanges(before, members);
  const after = few === null ? toMemberSet(members) : withChanges(before, few);
  return { before, after, few: few ?? diffMembers(before, after) };
}

/** The groups of a renamed user: its own, and those that name the new name already. */
async function groupsAfter(
  batch: DirectoryBatch,
  { before, to }: { readonly before: ResourceRecord; readonly to: string },
): Promise<readonly string[]> {
  let { groups } = before;
  for (const [setId, group] of await batch.memberships(to)) {
    const record = await batch.record("group", group);
    if (record?.setId === setId) groups = withGroup(groups, { name: record.name, isMember: true });
  }
  return groups;
}

/** For a directory whose other modules store nothing by name. */
export const RENAMES_NOTHING: PrepareRename = () => Promise.resolve(NO_CHANGE);

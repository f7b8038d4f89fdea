// Gives a resource another name (ADR 17: its id stays). The commit that writes the record under the new name also moves what is stored by name, up to a
// limit. A recovery task in the same commit stands for the rest, which follows before the next write.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { RenamedEntry } from "../../platform/user_record.ts";
import type { DirectoryRename, RenameResult } from "../ports.ts";
import type { Stored } from "../schema/resource.ts";
import type { DirectoryBatch } from "./directory_batch.ts";
import type { LargeUpdates } from "./large_updates.ts";
import { type MemberSet, type RenameTask, renameTaskId } from "./member_sets.ts";
import { differInNumbers, type ResourceRecord, toStored } from "./records.ts";
import {
  allMembers,
  fitsOneCommit,
  groupsOf,
  haveNames,
  isExpected,
  isNestedGroup,
  leaveGroups,
  linkGroups,
  membersChange,
  moveSomeMemberships,
  recordAfter,
  renameGroupOf,
  updateUserGroups,
  type WriteParts,
} from "./write_plan.ts";
import { fits, type WriteQueue } from "./write_queue.ts";

interface RenameWriterParts extends WriteParts {
  readonly writes: WriteQueue;
  readonly largeUpdates: LargeUpdates;
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
/** Lost races with other modules, such as a session that is used at the same time. */
const MAX_TRIES = 5;
const CHANGED = { ok: false, reason: "changed" } as const;
const TAKEN = { ok: false, reason: "taken" } as const;

export class RenameWriter {
  readonly #deps: RenameWriterParts;

  constructor(deps: RenameWriterParts) {
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
    if (!await haveNames(batch, write.users)) return CHANGED;
    if (await batch.record(kind, to) !== null) return TAKEN;
    const job: RenameJob = { write, from, to, before };
    const change = kind === "group" ? await readMembers(batch, job) : null;
    if (change !== null && !fitsOneCommit(change)) return await this.#flip(job, change);
    let planned: PlannedRename;
    try {
      await batch.checkUnchanged(kind, from);
      await batch.checkUnchanged(kind, to);
      planned = change === null
        ? await this.#planUser(batch, job)
        : await this.#planGroup(batch, job, change);
      if (!fits(batch)) {
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
    const { keys, largeUpdates } = this.#deps;
    const { write, from, to, before } = job;
    const { content } = write.next;
    const isLeaving = before.active && content.kind === "user" && !content.active;
    // Its own, and those that name the new name already.
    const groups = isLeaving ? [] : await groupsOf(batch, to, before.groups);
    const after = this.#recordAfter(job, { groups, setId: "" });
    await batch.putRecord({ kind: "user", canonical: from }, null);
    await batch.putRecord({ kind: "user", canonical: to }, after);
    const { id } = after;
    const rest: (() => Promise<void>)[] = [];
    if (isLeaving) {
      if (await leaveGroups(this.#deps, batch, from, MAX_AT_ONCE)) {
        rest.push(() => largeUpdates.leaveGroups(from));
      }
    } else if (await moveSomeMemberships(batch, { from, to, name: content.name, id }, MAX_AT_ONCE)) {
      rest.push(this.#addTask(batch, { kind: "rename_user", from, to, name: content.name, id }));
    }
    // Groups that name the new name already, without a user.
    if (await linkGroups(this.#deps, batch, { canonical: to, record: after })) {
      rest.push(() => largeUpdates.linkGroups(to));
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
    for (const { canonical } of change.changes) batch.prefetch("user", canonical);
    await batch.changeMembers({ setId, group: to }, change.changes);
    for (const { canonical, name } of change.changes) {
      if (name !== null) await renameGroupOf(batch, canonical, names);
      else await updateUserGroups(batch, canonical, { name: before.name, isMember: false });
    }
    const changed = new Set(change.changes.map(({ canonical }) => canonical));
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
    const result = await this.#deps.largeUpdates.changeGroup({
      canonical: to,
      before,
      after,
      membersBefore: change.before,
      membersAfter: change.after,
      changes: allMembers(change.before, change.after),
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

  #recordAfter(
    { write, to, before }: RenameJob,
    place: Pick<ResourceRecord, "groups" | "setId">,
  ): ResourceRecord {
    return recordAfter(this.#deps, write, { canonical: to, before, ...place });
  }

  #addTask(batch: DirectoryBatch, task: RenameTask): () => Promise<void> {
    const { keys, pendingRenames, largeUpdates } = this.#deps;
    batch.set(keys.chore(renameTaskId(task)), task, 500 + 4 * task.to.length);
    batch.whenCommitted(() => pendingRenames.begin(task));
    return () => largeUpdates.finishRename(task);
  }

  #notify({ write: { kind, from: earlier, next: { content: { name } } } }: RenameJob): void {
    this.#deps.onChange({ kind, name: earlier, deleted: true, renamedTo: name });
    this.#deps.onChange({ kind, name, deleted: false, renamedFrom: earlier });
  }
}

/** The members of a renamed group before and after, and how they change. */
interface MembersChange extends ReturnType<typeof membersChange> {
  readonly before: MemberSet;
}

async function readMembers(
  batch: DirectoryBatch,
  { write, before: { setId } }: RenameJob,
): Promise<MembersChange> {
  const before = await batch.members(setId);
  return { before, ...membersChange(before, write.next.content) };
}

// The write queue of one target. Writes run in the order of the calls. Several share a commit if they fit. Each is all or nothing.

import type { DirectoryWrite, MembersUpdate, WriteResult } from "../ports.ts";
import type { Stored } from "../schema/resource.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import type { LargeUpdates } from "./large_updates.ts";
import type { DirectoryBatch } from "./directory_batch.ts";
import { NO_MEMBERS } from "./member_sets.ts";
import { toStored } from "./records.ts";
import {
  fitsOneCommit,
  type GroupUpdate,
  membersMutations,
  planGroup,
  type PlannedWrite,
  planUser,
  readGroupUpdate,
  readMembersUpdate,
  type WriteParts,
} from "./write_plan.ts";

interface WriteQueueParts extends WriteParts {
  readonly largeUpdates: LargeUpdates;
  readonly maxTombstones: number;
}

type WriteCall = { readonly write: DirectoryWrite } | { readonly members: MembersUpdate };

/** Work between two commits. It never rejects. */
type QueuedWork = () => Promise<void>;

/** A write in the queue, by what it changes. */
type WritePlace = Pick<DirectoryWrite, "kind" | "name">;

interface QueuedWrite {
  readonly place: WritePlace;
  /** Decides what to write when its turn comes. It only reads. */
  readonly decide: (batch: DirectoryBatch) => Promise<WriteCall>;
  readonly resolve: (result: WriteResult) => void;
  readonly reject: (fault: unknown) => void;
  /** It failed together with others, or is too large to share a commit, so it runs alone. */
  isAlone: boolean;
}

/** A write that is in a batch. */
interface BatchedWrite {
  readonly write: QueuedWrite;
  readonly call: WriteCall;
  readonly planned: PlannedWrite;
}

/** At these limits, a batch accepts no further write. The last write may exceed them by as much again. */
const MAX_BATCH_MUTATIONS = 600;
const MAX_BATCH_OCTETS = 250_000;
const MAX_BATCH_CHECKS = 80;
/** Deno KV accepts 1,000 mutations and 800 KiB. */
const MAX_MUTATIONS = 990;
const MAX_OCTETS = 780_000;
/** The number of queued writes whose records are read ahead. */
const MAX_PREFETCHED = 32;

export class WriteQueue {
  readonly #deps: WriteQueueParts;
  #queue: QueuedWrite[] = [];
  readonly #work: QueuedWork[] = [];
  #isRunning = false;
  #needsRecovery = false;

  constructor(deps: WriteQueueParts) {
    this.#deps = deps;
  }

  write(write: DirectoryWrite): Promise<WriteResult> {
    return this.#enqueue(write, () => Promise.resolve({ write }));
  }

  /** Plans a write from the resource as it is when its turn comes. Rejects as `plan` does; then nothing was written. */
  writePlanned(
    place: WritePlace,
    plan: (stored: Stored | null) => Promise<DirectoryWrite>,
  ): Promise<WriteResult> {
    const { target } = this.#deps.keys;
    const { kind, name } = place;
    return this.#enqueue(place, async (batch) => {
      const record = await batch.record(kind, canonicalName(name));
      const members = record === null || kind === "user" ? NO_MEMBERS : await batch.members(record.setId);
      return { write: await plan(record === null ? null : toStored({ kind, target }, record, members)) };
    });
  }

  changeMembers(members: MembersUpdate): Promise<WriteResult> {
    return this.#enqueue({ kind: "group", name: members.group }, () => Promise.resolve({ members }));
  }

  /** Runs `work` after the writes that are queued now, while no write is in progress. */
  runBetweenWrites<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#work.push(() => work().then(resolve, reject));
      this.#start();
    });
  }

  /** Like {@link runBetweenWrites}. What an error interrupts is finished before the next write. */
  runRecoverable<T>(work: () => Promise<T>): Promise<T> {
    const noted = (fault: unknown): never => {
      this.#needsRecovery = true;
      throw fault;
    };
    return this.runBetweenWrites(() => this.#maintain().then(work).catch(noted));
  }

  /** Finishes what a crash interrupted. */
  async recover(): Promise<void> {
    this.#deps.trash.forgetCount();
    const tasks = await this.#deps.largeUpdates.recover();
    if (tasks > 0) this.#deps.log.info("the directory finished interrupted updates", { tasks });
  }

  #enqueue(place: WritePlace, decide: QueuedWrite["decide"]): Promise<WriteResult> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ place, decide, resolve, reject, isAlone: false });
      this.#start();
    });
  }

  #start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    // Writes of the same turn of the event loop share a commit.
    queueMicrotask(() => void this.#run());
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0 || this.#work.length > 0) {
      await this.#work.shift()?.();
      if (this.#queue.length === 0) continue;
      try {
        await this.#maintain();
      } catch (fault) {
        this.#deps.log.warn("maintenance of the directory failed; the next write retries it", {
          fault: fault instanceof Error ? fault.message : String(fault),
        });
        if (this.#needsRecovery) {
          // Recovery comes first: a later write would build on inconsistent records.
          this.#queue.shift()?.reject(fault);
          continue;
        }
      }
      await this.#commitBatch();
    }
    this.#isRunning = false;
  }

  async #maintain(): Promise<void> {
    const { largeUpdates, indexes, maxTombstones, trash } = this.#deps;
    if (this.#needsRecovery) {
      await largeUpdates.recover();
      this.#needsRecovery = false;
    }
    await indexes.maintain();
    if (indexes.tombstones.total > maxTombstones) await largeUpdates.trimTombstones(maxTombstones);
    await trash.trim();
  }

  async #commitBatch(): Promise<void> {
    const batch = this.#deps.newBatch();
    const batched = await this.#fill(batch);
    if (batched === null || batched.length === 0) return;
    try {
      const outcome = await batch.commit();
      if (outcome.ok) {
        for (const one of batched) await this.#finish(one);
        return;
      }
      if (batched.length > 1) this.#putBack(batched, { isAlone: true });
      else batched[0]?.write.resolve({ ok: false, reason: "changed" });
    } catch (fault) {
      if (batched.length > 1) this.#putBack(batched, { isAlone: true });
      else batched[0]?.write.reject(fault);
    }
  }

  /** Fills a batch from the front of the queue; `null` if its writes went back to the queue, or ended in another way. */
  async #fill(batch: DirectoryBatch): Promise<BatchedWrite[] | null> {
    const batched: BatchedWrite[] = [];
    this.#prefetch(batch);
    while (batched.length === 0 || hasRoom(batch)) {
      const write = this.#queue[0];
      if (write === undefined || (write.isAlone && batched.length > 0)) break;
      this.#queue.shift();
      // A write that is refused leaves the batch as it is.
      const call = await write.decide(batch).catch((fault: unknown) => write.reject(fault));
      if (call === undefined) continue;
      try {
        const planned = await this.#plan(batch, call);
        if (planned.kind === "changed") write.resolve({ ok: false, reason: "changed" });
        else if (planned.kind === "planned" && fits(batch)) batched.push({ write, call, planned });
        else return await this.#handleOversize(batch, { write, call, planned }, batched);
        if (write.isAlone) break;
      } catch (fault) {
        // The batch may contain a part of the write.
        batch.rollBack();
        this.#putBack(batched, { isAlone: false });
        write.reject(fault);
        return null;
      }
    }
    return batched;
  }

  #prefetch(batch: DirectoryBatch): void {
    for (const { place: { kind, name } } of this.#queue.slice(0, MAX_PREFETCHED)) {
      batch.prefetch(kind, canonicalName(name));
    }
  }

  async #plan(batch: DirectoryBatch, call: WriteCall): Promise<PlannedWrite> {
    if ("write" in call && call.write.kind === "user") return await planUser(this.#deps, batch, call.write);
    const change = await this.#readGroupUpdate(batch, call);
    if (change === null) return { kind: "changed" };
    if (!fitsOneCommit(change)) return { kind: "alone" };
    return await planGroup(this.#deps, batch, { ...change, also: extraMutations(call, change) });
  }

  #readGroupUpdate(batch: DirectoryBatch, call: WriteCall): Promise<GroupUpdate | null> {
    return "write" in call
      ? readGroupUpdate(this.#deps, batch, call.write)
      : readMembersUpdate(this.#deps, batch, call.members);
  }

  async #handleOversize(
    batch: DirectoryBatch,
    large: BatchedWrite,
    batched: BatchedWrite[],
  ): Promise<BatchedWrite[] | null> {
    if (large.planned.kind === "alone") {
      // The batch contains nothing of this write, so the batch is committed first.
      if (batched.length > 0) {
        this.#putBack([large], { isAlone: true });
        return batched;
      }
      batch.rollBack();
      await this.#runLargeUpdate(large);
      return null;
    }
    batch.rollBack();
    if (batched.length > 0) this.#putBack([...batched, large], { isAlone: true });
    else if (large.write.place.kind === "group") await this.#runLargeUpdate(large);
    else large.write.reject(new RangeError("Cannot store a resource: it is too large for one commit"));
    return null;
  }

  async #runLargeUpdate({ write, call }: Omit<BatchedWrite, "planned">): Promise<void> {
    try {
      const change = await this.#readGroupUpdate(this.#deps.newBatch(), call);
      const result = change === null
        ? { ok: false, reason: "changed" } as const
        : await this.#deps.largeUpdates.changeGroup(change, { also: extraMutations(call, change) });
      this.#resolve(write, call, result);
    } catch (fault) {
      this.#needsRecovery = true;
      write.reject(fault);
    }
  }

  /** Puts writes back at the front to plan them again. `isAlone`: one by one, because one of them failed. */
  #putBack(batched: readonly BatchedWrite[], { isAlone }: { isAlone: boolean }): void {
    for (const { write } of batched) write.isAlone ||= isAlone;
    this.#queue = [...batched.map(({ write }) => write), ...this.#queue];
  }

  /** Resolves a durable write, after the user has left all groups. */
  async #finish({ write, call, planned }: BatchedWrite): Promise<void> {
    if (planned.kind !== "planned") return;
    try {
      const { trashed, leavesMoreGroups, linksMoreGroups } = planned;
      if (leavesMoreGroups !== null) await this.#deps.largeUpdates.leaveGroups(leavesMoreGroups);
      if (linksMoreGroups !== null) await this.#deps.largeUpdates.linkGroups(linksMoreGroups);
      const stored = planned.stored();
      this.#resolve(write, call, { ok: true, stored, ...(trashed === null ? {} : { trashed }) });
    } catch (fault) {
      this.#needsRecovery = true;
      write.reject(fault);
    }
  }

  #resolve({ place, resolve }: QueuedWrite, call: WriteCall, result: WriteResult): void {
    if (result.ok) {
      const { kind, name } = "write" in call ? call.write : place;
      this.#deps.onChange({ kind, name, deleted: result.stored === null });
    }
    resolve(result);
  }
}

function extraMutations(call: WriteCall, change: GroupUpdate) {
  return "write" in call ? call.write.also ?? [] : membersMutations(call.members, change);
}

function hasRoom(batch: DirectoryBatch): boolean {
  return batch.mutationCount < MAX_BATCH_MUTATIONS && batch.sizeOctets < MAX_BATCH_OCTETS &&
    batch.checkCount < MAX_BATCH_CHECKS;
}

/** Whether a batch fits into one commit. */
export function fits(batch: DirectoryBatch): boolean {
  return batch.mutationCount <= MAX_MUTATIONS && batch.sizeOctets <= MAX_OCTETS;
}

// One writer a target: writes are taken in order of asking, several into one commit where they fit, and each is all or nothing.

import type { Log } from "../../platform/log.ts";
import type { DirectoryWrite, WriteResult } from "../ports.ts";
import type { ResourceKind } from "../schema/resource.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import type { BigChanges } from "./large_group_update.ts";
import type { Indexes } from "./indexes.ts";
import type { DirectoryBatch } from "./directory_batch.ts";
import {
  fitsOneCommit,
  type GroupChange,
  groupChange,
  type MembersChange,
  membersChange,
  mutationsBeside,
  type PlanDeps,
  planGroup,
  type Planned,
  planUser,
} from "./write_plan.ts";

export interface Change {
  readonly kind: ResourceKind;
  readonly name: string;
  readonly deleted: boolean;
}

export interface WriterDeps extends PlanDeps {
  readonly log: Log;
  readonly indexes: Indexes;
  readonly big: BigChanges;
  readonly newBatch: () => DirectoryBatch;
  readonly tombstonesKept: number;
  /** Told of each write that is durable; must not throw. */
  readonly onChange: (change: Change) => void;
}

export interface Writer {
  write(write: DirectoryWrite): Promise<WriteResult>;
  changeMembers(change: MembersChange): Promise<WriteResult>;
  /** What a crash or a failing store left undone. */
  finishChores(): Promise<void>;
}

type Asked = { readonly write: DirectoryWrite } | { readonly members: MembersChange };

interface Job {
  readonly asked: Asked;
  readonly resolve: (result: WriteResult) => void;
  readonly reject: (fault: unknown) => void;
  /** Failed among others, or is too much to be with others: tried with nothing beside it. */
  isAlone: boolean;
}

/** A write that is in a batch. */
interface Packed {
  readonly job: Job;
  readonly planned: Planned;
}

/** Beyond these a batch takes no further write; one write may bring as much again. */
const FULL_MUTATIONS = 600;
const FULL_OCTETS = 250_000;
const FULL_CHECKS = 80;
/** Deno KV takes 1,000 changes and 800 KiB. */
const MAX_MUTATIONS = 990;
const MAX_OCTETS = 780_000;
/** How far ahead records are read. */
const MAX_AHEAD = 32;

export function createWriter(deps: WriterDeps): Writer {
  const { big, indexes, log } = deps;
  let queue: Job[] = [];
  let runs = false;
  let owesChores = false;

  const expectAll = (batch: DirectoryBatch): void => {
    for (const { asked } of queue.slice(0, MAX_AHEAD)) {
      if ("write" in asked) batch.expect(asked.write.kind, canonicalName(asked.write.name));
      else batch.expect("group", canonicalName(asked.members.group));
    }
  };

  const readGroup = (batch: DirectoryBatch, asked: Asked): Promise<GroupChange | null> =>
    "write" in asked ? groupChange(deps, batch, asked.write) : membersChange(deps, batch, asked.members);

  const plan = async (batch: DirectoryBatch, { asked }: Job): Promise<Planned> => {
    if ("write" in asked && asked.write.kind === "user") return await planUser(deps, batch, asked.write);
    const change = await readGroup(batch, asked);
    if (change === null) return { kind: "changed" };
    if (!fitsOneCommit(change)) return { kind: "alone" };
    return await planGroup(deps, batch, { ...change, also: alsoOf(asked, change) });
  };

  const runBig = async (job: Job): Promise<void> => {
    try {
      const change = await readGroup(deps.newBatch(), job.asked);
      const result = change === null
        ? { ok: false, reason: "changed" } as const
        : await big.changeGroup(change, alsoOf(job.asked, change));
      settle(job, result);
    } catch (fault) {
      owesChores = true;
      job.reject(fault);
    }
  };

  const settle = (job: Job, result: WriteResult): void => {
    if (result.ok) {
      const { asked } = job;
      const { kind, name } = "write" in asked
        ? asked.write
        : { kind: "group" as const, name: asked.members.group };
      deps.onChange({ kind, name, deleted: result.stored === null });
    }
    job.resolve(result);
  };

  /** Puts writes back in front: they are planned again, each by itself where it might be to blame. */
  const putBack = (packed: readonly Packed[], { isAlone }: { isAlone: boolean }): void => {
    for (const { job } of packed) job.isAlone ||= isAlone;
    queue = [...packed.map(({ job }) => job), ...queue];
  };

  /** Fills a batch from the front of the queue. `null`: what it held was put back, or dealt with otherwise. */
  const fill = async (batch: DirectoryBatch): Promise<Packed[] | null> => {
    const packed: Packed[] = [];
    expectAll(batch);
    while (packed.length === 0 || hasRoom(batch)) {
      const job = queue[0];
      if (job === undefined || (job.isAlone && packed.length > 0)) break;
      queue.shift();
      try {
        const planned = await plan(batch, job);
        if (planned.kind === "changed") job.resolve({ ok: false, reason: "changed" });
        else if (planned.kind === "planned" && fits(batch)) packed.push({ job, planned });
        else return await handleTooMuch(batch, { job, packed, planned });
        if (job.isAlone) break;
      } catch (fault) {
        // The batch may hold half of it.
        batch.rollBack();
        putBack(packed, { isAlone: false });
        job.reject(fault);
        return null;
      }
    }
    return packed;
  };

  const handleTooMuch = async (
    batch: DirectoryBatch,
    { job, packed, planned }: { job: Job; packed: Packed[]; planned: Planned },
  ): Promise<Packed[] | null> => {
    if (planned.kind === "alone") {
      // Nothing of it is in the batch: what is, goes first.
      if (packed.length > 0) {
        putBack([{ job, planned }], { isAlone: true });
        return packed;
      }
      batch.rollBack();
      await runBig(job);
      return null;
    }
    batch.rollBack();
    if (packed.length > 0) putBack([...packed, { job, planned }], { isAlone: true });
    else if (isOfGroup(job.asked)) await runBig(job);
    else job.reject(new RangeError("Cannot keep a resource with all that belongs to it: it is too large"));
    return null;
  };

  /** Resolves what is durable; the removal from more groups waits for that. */
  const finish = async ({ job, planned }: Packed): Promise<void> => {
    if (planned.kind !== "planned") return;
    try {
      if (planned.owes !== null) await big.leave(planned.owes);
      settle(job, { ok: true, stored: planned.stored() });
    } catch (fault) {
      owesChores = true;
      job.reject(fault);
    }
  };

  const turn = async (): Promise<void> => {
    const batch = deps.newBatch();
    const packed = await fill(batch);
    if (packed === null || packed.length === 0) return;
    try {
      const outcome = await batch.commit();
      if (outcome.ok) {
        for (const one of packed) await finish(one);
        return;
      }
      if (packed.length > 1) putBack(packed, { isAlone: true });
      else packed[0]?.job.resolve({ ok: false, reason: "changed" });
    } catch (fault) {
      if (packed.length > 1) putBack(packed, { isAlone: true });
      else packed[0]?.job.reject(fault);
    }
  };

  const upkeep = async (): Promise<void> => {
    if (owesChores) {
      await big.finish();
      owesChores = false;
    }
    for (const index of indexes.all) await index.divide();
    if (indexes.gone.total > deps.tombstonesKept) await big.trimTombstones(deps.tombstonesKept);
  };

  const run = async (): Promise<void> => {
    while (queue.length > 0) {
      try {
        await upkeep();
      } catch (fault) {
        log.warn("the directory's upkeep failed; it is tried again with the next write", {
          fault: fault instanceof Error ? fault.message : String(fault),
        });
        if (owesChores) {
          // What is owed comes first, else a later write would build on records that are not in step.
          queue.shift()?.reject(fault);
          continue;
        }
      }
      await turn();
    }
    runs = false;
  };

  const ask = (asked: Asked): Promise<WriteResult> =>
    new Promise((resolve, reject) => {
      queue.push({ asked, resolve, reject, isAlone: false });
      if (runs) return;
      runs = true;
      // What is asked for in the same turn shares a commit.
      queueMicrotask(() => void run());
    });

  return {
    write: (write) => ask({ write }),
    changeMembers: (members) => ask({ members }),
    async finishChores() {
      const count = await big.finish();
      if (count > 0) log.info("the directory finished what a stop had cut off", { chores: count });
    },
  };
}

function alsoOf(asked: Asked, change: GroupChange) {
  return "write" in asked ? asked.write.also ?? [] : mutationsBeside(asked.members, change);
}

function isOfGroup(asked: Asked): boolean {
  return !("write" in asked) || asked.write.kind === "group";
}

function hasRoom(batch: DirectoryBatch): boolean {
  return batch.mutationCount < FULL_MUTATIONS && batch.sizeOctets < FULL_OCTETS &&
    batch.checkCount < FULL_CHECKS;
}

function fits(batch: DirectoryBatch): boolean {
  return batch.mutationCount <= MAX_MUTATIONS && batch.sizeOctets <= MAX_OCTETS;
}

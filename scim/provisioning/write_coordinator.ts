// Carries out one write of one resource: plans it, calls the backends that must succeed, and records everything in one commit.

import type { Log } from "../../platform/log.ts";
import type { Mutation } from "../../platform/store.ts";
import type { ScimRefusal } from "../http/refusals.ts";
import type { WriteOptions, Written } from "../ports.ts";
import { lockKey } from "./delivery.ts";
import type { Intent, Intents } from "./intent_log.ts";
import type { Release } from "./keyed_locks.ts";
import type { OutboxChange } from "./outbox.ts";
import {
  linkOf,
  type PreparationDeps,
  type PreparedWrite,
  prepareWrite,
  readBefore,
  type WriteJob,
} from "./prepared_write.ts";
import { oweRestoring } from "./compensation.ts";
import {
  failureReceipt,
  makeCalls,
  refusalFor,
  type SyncCall,
  type SyncOutcome,
  type SyncWork,
  takeBack,
} from "./sync_writes.ts";
import { type CommitDeps, commitWrite } from "./write_commit.ts";

export interface WriterDeps extends PreparationDeps, CommitDeps {
  readonly intents: Intents;
  readonly log: Log;
  readonly commitAlone: (mutations: readonly Mutation[]) => Promise<void>;
}

export type Writer = (job: WriteJob, options: WriteOptions) => Promise<Written>;

/** The failed calls of a write; `left` are those that could not be taken back. */
type FailedCalls = Extract<SyncOutcome, { ok: false }> & { readonly left: readonly SyncCall[] };

/** Makes the function that writes a target's resources, one write of each resource at a time. A refusal is thrown as a ScimRefusal. */
export function createWriter(deps: WriterDeps): Writer {
  /** Intents whose end could not be recorded, by resource. */
  const leftovers = new Map<string, string>();

  const perform = async (job: WriteJob, options: WriteOptions): Promise<Written> => {
    const key = lockKey(job.kind, job.name);
    await settleLeftover(key);
    const prepared = await prepareWrite(deps, job, options);
    if (prepared.plan.calls.length === 0) return await commitWrite(deps, prepared, {});
    const releases: Release[] = [];
    try {
      for (const { backend } of prepared.plan.calls) {
        releases.push(await linkOf(deps, backend).locks.hold(key));
      }
      return await performSync(prepared, key);
    } finally {
      for (const release of releases) release();
    }
  };

  const performSync = async (prepared: PreparedWrite, key: string): Promise<Written> => {
    const { job, plan, options } = prepared;
    const calls = await readBefore(deps, prepared);
    const work: SyncWork = { ...job, content: plan.after.content, password: options.password, calls };
    const intent = await deps.intents.begin({
      ...job,
      befores: new Map(calls.map(({ link, before }) => [link.name, before?.content ?? null])),
    });
    leftovers.set(key, intent.id);
    const outcome = await makeCalls(work);
    if (!outcome.ok) {
      const left = await undo({ work, touched: outcome.touched, intent });
      leftovers.delete(key);
      throw refuse(prepared, { ...outcome, left });
    }
    try {
      const written = await commitWrite(deps, prepared, { intent, puts: outcome.puts });
      leftovers.delete(key);
      return written;
    } catch (fault) {
      await undo({ work, touched: calls, intent });
      leftovers.delete(key);
      throw fault;
    }
  };

  /** The refusal of a write that a backend failed at, which is logged as well. */
  const refuse = ({ job, named }: PreparedWrite, failure: FailedCalls): ScimRefusal => {
    const { fault, failed, touched, left } = failure;
    deps.log.warn("a write was refused because a backend failed", {
      target: deps.directory.target,
      backend: failed.link.name,
      [job.kind]: job.name,
      operation: job.operation,
      stillToTakeBack: left.map(({ link }) => link.name).join(" "),
      why: fault.detail,
    });
    const receipt = failureReceipt(named, { failed: failed.link.name, fault, touched, left });
    return refusalFor(failed.link.name, { fault, receipt });
  };

  /** Takes back what was done; what cannot be is owed from then on. Returns where that is so. */
  const undo = async (
    { work, touched, intent }: { work: SyncWork; touched: readonly SyncCall[]; intent: Intent },
  ): Promise<SyncCall[]> => {
    const left = await takeBack(work, touched);
    const changes: OutboxChange[] = [];
    for (const { link, before } of left) {
      changes.push(await oweRestoring(deps, { ...work, link, before: before?.content ?? null }));
    }
    await deps.commitAlone([...changes.flatMap(({ mutations }) => mutations), ...intent.ending]);
    for (const change of changes) change.committed();
    return left;
  };

  /** What the store could not record then must be settled before the resource is written again. */
  const settleLeftover = async (key: string): Promise<void> => {
    const id = leftovers.get(key);
    if (id === undefined) return;
    await deps.intents.giveBack(id);
    leftovers.delete(key);
  };

  return (job, options) => deps.locks.run(lockKey(job.kind, job.name), () => perform(job, options));
}

// Runs one write of one resource: plans it, calls the backends that must succeed, and records everything in one commit.

import { canonicalName } from "../../platform/canonical_name.ts";
import { LeaseUnavailable } from "../../platform/cluster/lease.ts";
import type { Log } from "../../platform/log.ts";
import type { TargetLease } from "../directory/target_lease.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type { BackendInfo, Target, TargetDirectory, WriteOptions, Written } from "../ports.ts";
import type { Content, GroupContent, Stored } from "../schema/resource.ts";
import { deliveryKey, lockKey } from "./delivery.ts";
import { type Intent, type IntentLog, queueCompensation } from "./intent_log.ts";
import type { KeyedLocks, Release } from "./keyed_locks.ts";
import { underLease } from "./leased_writes.ts";
import type { OutboxChange } from "./outbox.ts";
import { selectBackends } from "./plan_write.ts";
import {
  type PreparedWrite,
  prepareWrite,
  type PrepareWriteDeps,
  readBefore,
  type WriteJob,
} from "./prepared_write.ts";
import {
  backendRefusal,
  failureReceipt,
  makeCalls,
  type SyncCall,
  type SyncOutcome,
  type SyncWork,
  undoCalls,
} from "./sync_writes.ts";
import { auditMembers, targetAuditEntry, writeAction } from "./write_audit.ts";
import { type CommitDeps, commitWrite } from "./write_commit.ts";

export interface WriteCoordinatorDeps extends PrepareWriteDeps, CommitDeps {
  readonly lease: Pick<TargetLease, "run" | "isHeld" | "confirm">;
  readonly intents: IntentLog;
  readonly deliveryLocks: KeyedLocks;
  readonly log: Log;
}

/** The failed calls of a write; `left` are those that could not be undone. */
type FailedCalls = Extract<SyncOutcome, { ok: false }> & { readonly left: readonly SyncCall[] };

/** Writes the resources of a target, one write of each resource at a time. */
export class WriteCoordinator {
  readonly #deps: WriteCoordinatorDeps;
  /** Intents whose end could not be recorded, by resource. */
  readonly #unfinished = new Map<string, string>();

  constructor(deps: WriteCoordinatorDeps) {
    this.#deps = deps;
  }

  /** @throws ScimRefusal */
  write(job: WriteJob, options: WriteOptions): Promise<Written> {
    const { lease, locks } = this.#deps;
    return underLease(
      lease,
      () => locks.run(lockKey(job.kind, job.name), () => this.#perform(job, options)),
    );
  }

  async #perform(job: WriteJob, options: WriteOptions): Promise<Written> {
    const key = lockKey(job.kind, job.name);
    await this.#finishIntent(key);
    const prepared = await prepareWrite(this.#deps, job, options);
    if (prepared.plan.calls.length === 0) return await commitWrite(this.#deps, prepared, {});
    const releases: Release[] = [];
    try {
      for (const { backend } of prepared.plan.calls) {
        releases.push(await this.#deps.deliveryLocks.hold(deliveryKey(backend, job)));
      }
      return await this.#performSync(prepared, key);
    } finally {
      for (const release of releases) release();
    }
  }

  async #performSync(prepared: PreparedWrite, key: string): Promise<Written> {
    const { job, plan, options } = prepared;
    const calls = await readBefore(this.#deps, prepared);
    const work: SyncWork = { ...job, content: plan.after.content, password: options.password, calls };
    const intent = await this.#deps.intents.begin({
      ...job,
      former: new Map(calls.map(({ backend, before }) => [backend.name, before?.content ?? null])),
    });
    this.#unfinished.set(key, intent.id);
    const outcome = await makeCalls(work, this.#deps.lease);
    if (!outcome.ok) {
      const left = await this.#undo({ work, touched: outcome.touched, intent });
      this.#unfinished.delete(key);
      throw this.#refuse(prepared, { ...outcome, left });
    }
    try {
      const written = await commitWrite(this.#deps, prepared, { intent, puts: outcome.puts });
      this.#unfinished.delete(key);
      return written;
    } catch (fault) {
      if (!(fault instanceof LeaseUnavailable)) await this.#undo({ work, touched: calls, intent });
      this.#unfinished.delete(key);
      throw fault;
    }
  }

  /** Logs the failure of a backend, and returns the refusal. */
  #refuse({ job, named }: PreparedWrite, { fault, failed, touched, left }: FailedCalls): ScimRefusal {
    const { name } = failed.backend;
    this.#deps.log.warn("a write was refused because a backend failed", {
      target: this.#deps.directory.target,
      backend: name,
      [job.kind]: job.name,
      operation: job.operation,
      notUndone: left.map(({ backend }) => backend.name).join(" "),
      why: fault.detail,
    });
    const receipt = failureReceipt(named, { failed: name, fault, touched, left });
    return backendRefusal(name, { fault, receipt });
  }

  /**
   * Undoes the calls, queues what could not be undone, and returns it.
   * @throws LeaseUnavailable if this node lost the lease. The new holder undoes the calls, because the intent is in the store, and may have
   * written since.
   */
  async #undo(
    { work, touched, intent }: { work: SyncWork; touched: readonly SyncCall[]; intent: Intent },
  ): Promise<SyncCall[]> {
    await this.#deps.lease.confirm();
    if (!await this.#deps.intents.isOpen(intent)) {
      throw new LeaseUnavailable("Cannot undo a write: its intent has ended");
    }
    const left = await undoCalls(work, touched);
    const changes: OutboxChange[] = [];
    for (const { backend, before } of left) {
      changes.push(
        await queueCompensation(this.#deps, { ...work, backend, former: before?.content ?? null }),
      );
    }
    await this.#deps.store.commit({
      mutations: [...changes.flatMap(({ mutations }) => mutations), ...intent.ending],
    });
    for (const change of changes) change.committed();
    return left;
  }

  /** An intent that the store could not end must end before the next write of the resource. */
  async #finishIntent(key: string): Promise<void> {
    const id = this.#unfinished.get(key);
    if (id === undefined) return;
    await this.#deps.intents.compensate(id);
    this.#unfinished.delete(key);
  }
}

export interface MemberChangesDeps {
  readonly directory: TargetDirectory;
  readonly backends: readonly BackendInfo[];
  readonly lease: Pick<TargetLease, "run">;
  readonly locks: KeyedLocks;
  readonly target: string;
  readonly coordinator: WriteCoordinator;
}

interface MemberChange {
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

/** Adds and removes members of a group: directly if the embedded store is the only backend, otherwise by a replacement of the group. */
export function createMemberChanges(deps: MemberChangesDeps): Target["changeMembers"] {
  const { backends, lease, locks, coordinator } = deps;
  const isStoreAlone = backends.length === 1 && backends[0]?.kind === "store";
  return (group, change, options) => {
    // The direct way does not read the group's record, which contains the version.
    if (isStoreAlone && options.ifVersion === undefined) {
      return underLease(
        lease,
        () => locks.run(lockKey("group", group), () => changeInStore(deps, { group, change, options })),
      );
    }
    const content = (stored: Stored | null): Content | null =>
      stored?.content.kind === "group" ? withMemberChange(stored.content, change) : null;
    const job = { operation: "replace", auditAs: "members", kind: "group", name: group, content } as const;
    return coordinator.write(job, options);
  };
}

async function changeInStore(
  { directory, backends, target }: MemberChangesDeps,
  { group, change, options }: { group: string; change: MemberChange; options: WriteOptions },
): Promise<Written> {
  const selection = { backends, holdsGroups: () => true };
  const named = selectBackends(selection, { kind: "group", named: options.backends });
  const written = await directory.changeMembers({
    group: canonicalName(group),
    add: change.add,
    remove: change.remove,
    also: (added, removed) => [
      targetAuditEntry(target, {
        actor: options.actor,
        action: writeAction("group", "members"),
        object: `group:${group}`,
        ...auditMembers({ added, removed }),
        backends: named,
      }),
    ],
  });
  if (!written.ok) throw new ScimRefusal("not_found");
  return {
    stored: written.stored,
    receipt: { entries: named.map((backend) => ({ backend, outcome: "done" })) },
  };
}

/** Removes members, then adds members. Names are compared without case, and each name is listed once. */
export function withMemberChange(group: GroupContent, { add, remove }: MemberChange): GroupContent {
  const removed = new Set(remove.map(canonicalName));
  const members = new Map<string, string>();
  for (const name of group.members) {
    if (!removed.has(canonicalName(name))) members.set(canonicalName(name), name);
  }
  for (const name of add) {
    if (!members.has(canonicalName(name))) members.set(canonicalName(name), name);
  }
  return { ...group, members: [...members.values()] };
}

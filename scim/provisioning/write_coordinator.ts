// Runs one write of one resource: plans it, calls the backends that must succeed, and records everything in one commit.

import { canonicalName } from "../../platform/canonical_name.ts";
import { LeaseUnavailable, type WriteLease } from "../../platform/cluster/lease.ts";
import type { Log } from "../../platform/log.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type { BackendInfo, Target, TargetDirectory, WriteOptions, Written } from "../ports.ts";
import type { Content, Stored } from "../schema/resource.ts";
import { type Intent, type IntentLog, queueCompensation } from "./intent_log.ts";
import { type GroupMemberChange, withMemberChange } from "./member_change.ts";
import { type HeldLocks, type Lockable, resourceKey, type WriteLocks } from "./locks.ts";
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
  undoneChanges,
} from "./sync_writes.ts";
import { auditMembers, targetAuditEntry, writeAction } from "./write_audit.ts";
import { type CommitDeps, commitWrite } from "./write_commit.ts";

interface WriteCoordinatorDeps extends PrepareWriteDeps, CommitDeps {
  readonly lease: Pick<WriteLease, "isHeld" | "confirm">;
  readonly intents: IntentLog;
  readonly log: Log;
}

/** The failed calls of a write; `left` are those that could not be undone. */
type FailedCalls = Extract<SyncOutcome, { ok: false }> & { readonly left: readonly SyncCall[] };

/** Attempts of a rename. While its locks are held, a delivery can begin once at each connector, so each lost race is another connector. */
const MAX_TRIES = 10;

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
    return this.#deps.locks.write(namesOf(job), (held) => this.#performAgain(job, options, held));
  }

  /** Performs a rename again if a delivery of the earlier name began meanwhile. */
  async #performAgain(job: WriteJob, options: WriteOptions, held: HeldLocks): Promise<Written> {
    for (let tries = 1;; tries++) {
      try {
        return await this.#perform(job, options, held);
      } catch (fault) {
        const isRaced = job.to !== undefined && fault instanceof ScimRefusal && fault.code === "changed";
        if (!isRaced || tries >= MAX_TRIES) throw fault;
      }
    }
  }

  async #perform(job: WriteJob, options: WriteOptions, held: HeldLocks): Promise<Written> {
    const names = namesOf(job);
    for (const name of names) await this.#finishIntent(resourceKey(name));
    const prepared = await prepareWrite(this.#deps, job, options);
    const { calls } = prepared.plan;
    if (calls.length === 0) return await commitWrite(this.#deps, prepared, { held });
    const called = calls.flatMap(({ backend }) => names.map((name) => ({ ...name, backend })));
    return await this.#deps.locks.run(called, (all) => this.#performSync(prepared, all), held);
  }

  async #performSync(prepared: PreparedWrite, held: HeldLocks): Promise<Written> {
    const { job, plan, options } = prepared;
    const calls = await readBefore(this.#deps, prepared);
    const work: SyncWork = { ...job, content: plan.after.content, password: options.password, calls };
    const intent = await this.#deps.intents.begin({
      ...job,
      former: new Map(calls.map(({ backend, before }) => [backend.name, before?.content ?? null])),
    });
    const finished = this.#begin(namesOf(job).map(resourceKey), intent);
    const outcome = await makeCalls(work, this.#deps.lease);
    if (!outcome.ok) {
      const left = await this.#undo({ work, touched: outcome.touched, intent });
      finished();
      throw this.#refuse(prepared, { ...outcome, left });
    }
    try {
      const written = await commitWrite(this.#deps, prepared, { held, intent, puts: outcome.puts });
      finished();
      return written;
    } catch (fault) {
      if (!(fault instanceof LeaseUnavailable)) await this.#undo({ work, touched: calls, intent });
      finished();
      throw fault;
    }
  }

  /** Until the returned function is called, the intent counts as unfinished. */
  #begin(keys: readonly string[], { id }: Intent): () => void {
    for (const key of keys) this.#unfinished.set(key, id);
    return () => keys.forEach((key) => this.#unfinished.delete(key));
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
      const former = before?.content ?? null;
      const undone = undoneChanges(work.content, former);
      changes.push(await queueCompensation(this.#deps, { ...work, backend, former, changes: undone }));
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

/** The resource of a write. A rename has two names. */
function namesOf({ kind, name, to }: WriteJob): Lockable[] {
  return [{ kind, name }, ...to === undefined ? [] : [{ kind, name: to }]];
}

interface MemberChangesDeps {
  readonly directory: TargetDirectory;
  readonly backends: readonly BackendInfo[];
  readonly locks: WriteLocks;
  readonly target: string;
  readonly coordinator: WriteCoordinator;
}

/** Adds and removes members of a group: directly if the embedded store is the only backend, otherwise by a replacement of the group. */
export function createMemberChanges(deps: MemberChangesDeps): Target["changeMembers"] {
  const { backends, locks, coordinator } = deps;
  const isStoreAlone = backends.length === 1 && backends[0]?.kind === "store";
  return (group, change, options) => {
    // The direct way does not read the group's record, which contains the version.
    if (isStoreAlone && options.ifVersion === undefined) {
      const names = [{ kind: "group", name: group }] as const;
      return locks.write(names, () => changeInStore(deps, { group, change, options }));
    }
    const content = (stored: Stored | null): Content | null =>
      stored?.content.kind === "group" ? withMemberChange(stored.content, change) : null;
    const job = { operation: "replace", auditAs: "members", members: change, kind: "group" } as const;
    return coordinator.write({ ...job, name: group, content }, options);
  };
}

async function changeInStore(
  { directory, backends, target }: MemberChangesDeps,
  { group, change, options }: { group: string; change: GroupMemberChange; options: WriteOptions },
): Promise<Written> {
  const selection = { backends, holdsGroups: () => true };
  const named = selectBackends(selection, { kind: "group", named: options.backends });
  const written = await directory.changeMembers({
    group: canonicalName(group),
    id: options.ifId,
    add: change.add,
    remove: change.remove,
    users: change.users,
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
  if (!written.ok) throw new ScimRefusal(options.ifId === undefined ? "not_found" : "changed");
  return {
    stored: written.stored,
    receipt: { entries: named.map((backend) => ({ backend, outcome: "done" })) },
  };
}

// Runs one write of one resource: plans it, calls the backends that must succeed, and records everything in one commit. If a backend fails, the calls
// before it are undone in reverse order.

import { canonicalName } from "../../platform/canonical_name.ts";
import { LeaseUnavailable, type WriteLease } from "../../platform/cluster/lease.ts";
import type { Log } from "../../platform/log.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type {
  BackendInfo,
  Receipt,
  ReceiptEntry,
  Target,
  TargetDirectory,
  WriteOptions,
  Written,
} from "../ports.ts";
import type { Content, ResourceKind, Stored } from "../schema/resource.ts";
import { type Intent, type IntentLog, queueCompensation } from "./intent_log.ts";
import {
  changesFor,
  type GroupMemberChange,
  type PreparedWrite,
  prepareWrite,
  type PrepareWriteDeps,
  selectBackends,
  withMemberChange,
  type WriteJob,
} from "./plan.ts";
import { type HeldLocks, type Lockable, resourceKey, type WriteLocks } from "./locks.ts";
import type { OutboxChange } from "./outbox.ts";
import { auditMembers, targetAuditEntry, writeAction } from "./write_audit.ts";
import { type CommitDeps, commitWrite } from "./commit.ts";
import type {
  Backend,
  BackendFault,
  BackendOutcome,
  ContentChanges,
  PutResult,
  RemoteResource,
} from "../backend_port.ts";
import { contentChanges, joinChanges, NO_CHANGES } from "../schema/content_changes.ts";
import { isUnavailable, renameAt } from "./delivery.ts";
import type { BackendOperation } from "./backend_status.ts";
import { withKnownMembers } from "./reconcile.ts";

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

interface SyncCall {
  readonly backend: Backend;
  readonly operation: BackendOperation;
  /** The previous content at the backend. */
  readonly before: RemoteResource | null;
  /** What the write changes there. `null`: it removes the resource. */
  readonly changes: ContentChanges | null;
}

interface SyncWork {
  readonly kind: ResourceKind;
  readonly name: string;
  /** The new name of a rename. */
  readonly to?: string | undefined;
  readonly content: Content | null;
  readonly password: string | undefined;
  /** A change of members only. */
  readonly members?: GroupMemberChange | undefined;
  readonly calls: readonly SyncCall[];
}

type SyncOutcome =
  /** Results of the puts, by backend. */
  | { readonly ok: true; readonly puts: ReadonlyMap<string, PutResult> }
  | {
    readonly ok: false;
    readonly fault: BackendFault;
    readonly failed: SyncCall;
    /** The calls that took effect, or may have, in their order. */
    readonly touched: readonly SyncCall[];
  };

/** The backend may have the resource with another name. */
function renameUndone(backend: string): ScimRefusal {
  return new ScimRefusal("busy", {
    detail: `The connector "${backend}" still rolls back the name of this resource. Try again in a moment.`,
    headers: { "Retry-After": "5" },
  });
}

const NOTHING = { ok: true, value: null } as const;

/**
 * Reads the content at the backends, so that it can be restored. A new resource must not overwrite one that the store does not know.
 * @throws ScimRefusal if a backend cannot be read, or has an unknown resource with this name
 */
async function readBefore(
  deps: Pick<PrepareWriteDeps, "remotes">,
  { job, named, plan, before, pending, pendingTo }: PreparedWrite,
): Promise<SyncCall[]> {
  const { kind, name, operation, to } = job;
  const untried = { entries: named.map((backend) => ({ backend, outcome: "untried" }) as const) };
  const found = await Promise.all(plan.calls.map(async ({ backend: backendName, operation }) => {
    if (pending.get(backendName)?.entry.from !== undefined) throw renameUndone(backendName);
    const backend = deps.remotes.get(backendName);
    if (backend === undefined) {
      throw new Error(`Cannot call the backend "${backendName}": it has no connection`);
    }
    const remoteId = before.backends[backendName]?.remoteId;
    const { content } = plan.after;
    const earlier = pending.get(backendName)?.entry.changes ?? NO_CHANGES;
    const changes = content === null
      ? null
      : joinChanges(earlier, changesFor({ before, content }, backendName));
    const read = await backend.read(kind, name, remoteId === undefined ? {} : { remoteId });
    return {
      backend,
      operation,
      changes,
      read: read.ok ? { ...read, value: await withKnownMembers(backend, read.value, before.content) } : read,
      other: to === undefined ? NOTHING : await backend.read(kind, to),
    };
  }));
  return found.map(({ backend, operation: call, changes, read, other }) => {
    if (!read.ok) throw backendRefusal(backend.name, { fault: read.fault, receipt: untried });
    if (!other.ok) throw backendRefusal(backend.name, { fault: other.fault, receipt: untried });
    const isOther = other.value !== null && !pendingTo.has(backend.name);
    if (isOther || (operation === "create" && read.value !== null && !pending.has(backend.name))) {
      throw new ScimRefusal("taken", {
        detail: `The connector "${backend.name}" already has a resource with that name. A GET shows it now.`,
        receipt: untried,
      });
    }
    return { backend, operation: call, before: read.value, changes };
  });
}

/** Makes the calls in order, and stops at the first failure. @throws LeaseUnavailable if this node has lost the lease */
async function makeCalls(work: SyncWork, lease: Pick<WriteLease, "isHeld">): Promise<SyncOutcome> {
  const puts = new Map<string, PutResult>();
  const touched: SyncCall[] = [];
  for (const call of work.calls) {
    if (!lease.isHeld) {
      throw new LeaseUnavailable("Cannot call a backend: this node lost the lease of the target");
    }
    const outcome = await makeCall(work, call);
    if (!outcome.ok) {
      if (outcome.fault.unsure) touched.push(call);
      return { ok: false, fault: outcome.fault, failed: call, touched };
    }
    touched.push(call);
    if (outcome.value !== null) puts.set(call.backend.name, outcome.value);
  }
  return { ok: true, puts };
}

async function makeCall(
  { kind, name, content, password, members }: SyncWork,
  { backend, operation, before, changes }: SyncCall,
) {
  const hint = before === null ? {} : { remoteId: before.remoteId };
  if (operation === "remove" || content === null) return await backend.remove(kind, name, hint);
  const wanted = withOwnMembers(content, { members, before });
  const desired = {
    content: wanted,
    ...(password === undefined ? {} : { password }),
    ...(changes === null ? {} : { changes }),
  };
  if (operation === "rename") return await renameAt(backend, { from: name, desired, hint });
  return await backend.put(desired, hint);
}

/** After a change of members, the backend has its own other members: another client may have added some there. */
function withOwnMembers(
  content: Content,
  { members, before }: { members: GroupMemberChange | undefined; before: RemoteResource | null },
): Content {
  const held = before?.content;
  if (members === undefined || content.kind === "user" || held?.kind !== "group") return content;
  return { ...content, members: withMemberChange(held, { ...members, add: content.members }).members };
}

/** Undoes calls, the last one first, and returns those that could not be undone. */
async function undoCalls(
  work: SyncWork,
  touched: readonly SyncCall[],
): Promise<SyncCall[]> {
  const left: SyncCall[] = [];
  for (const call of touched.toReversed()) {
    if (!(await undoCall(work, call)).ok) left.push(call);
  }
  return left;
}

function undoCall(
  { kind, name, to, content }: SyncWork,
  { backend, before }: SyncCall,
): Promise<BackendOutcome<PutResult | null>> {
  if (before === null) return backend.remove(kind, to ?? name);
  const changes = undoneChanges(content, before.content);
  const desired = { content: before.content, ...(changes === undefined ? {} : { changes }) };
  // Without a hint, because a resource that is created again has another id.
  return to === undefined ? backend.put(desired) : renameAt(backend, { from: to, desired, hint: {} });
}

/** What the rollback of a write changes. `undefined`: everything, because the write removed the resource. */
function undoneChanges(content: Content | null, former: Content | null): ContentChanges | undefined {
  return content === null || former === null ? undefined : contentChanges(content, former);
}

/** The outcome at each named backend after `failed` stopped the write. */
function failureReceipt(
  named: readonly string[],
  { failed, fault, touched, left }: {
    failed: string;
    fault: BackendFault;
    touched: readonly SyncCall[];
    left: readonly SyncCall[];
  },
): Receipt {
  const isLeft = (name: string) => left.some(({ backend }) => backend.name === name);
  const isTouched = (name: string) => touched.some(({ backend }) => backend.name === name);
  const entryOf = (backend: string): ReceiptEntry => {
    if (isLeft(backend)) return { backend, outcome: "undoing" };
    if (backend === failed) return { backend, outcome: "failed", detail: fault.detail };
    return { backend, outcome: isTouched(backend) ? "undone" : "untried" };
  };
  return { entries: named.map(entryOf) };
}

/** The refusal for a fault of a backend. */
export function backendRefusal(
  backend: string,
  { fault, receipt = null }: { fault: BackendFault; receipt?: Receipt | null },
): ScimRefusal {
  const pending = receipt?.entries.filter(({ outcome }) => outcome === "undoing")
    .map(({ backend }) => `"${backend}"`) ?? [];
  const end = pending.length === 0
    ? "Nothing was changed."
    : `The write failed. The rollback at ${pending.join(", ")} is pending.`;
  const reason = `${fault.detail.replace(/[.\s]+$/, "").slice(0, 300)}.`;
  const problem = isUnavailable(fault) ? "cannot be reached" : "refused the operation";
  if (fault.isInvalidValue === true) {
    return new ScimRefusal("invalid_value", {
      detail: `The connector "${backend}" does not accept a value: ${reason} ${end}`,
      receipt,
    });
  }
  if (fault.isTaken === true) {
    return new ScimRefusal("taken", {
      detail:
        `The connector "${backend}" has another resource with a value that must be unique: ${reason} ${end}`,
      receipt,
    });
  }
  const waitS = Math.ceil(Math.min(fault.retryAfterMs ?? 5000, 3600_000) / 1000);
  return new ScimRefusal(isUnavailable(fault) ? "backend_unreachable" : "backend_failed", {
    detail: `The connector "${backend}" ${problem}: ${reason} ${end}`,
    headers: isUnavailable(fault) ? { "Retry-After": String(Math.max(1, waitS)) } : {},
    receipt,
  });
}

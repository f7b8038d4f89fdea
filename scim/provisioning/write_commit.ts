// The commit of a write: the record, its copies, the outbox entries, the end of the intent, and the audit entries.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Mutation } from "../../platform/store.ts";
import { type PutResult, withMembersNotStored } from "../backend_port.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type { ReceiptEntry, RenameResult, WriteOptions, Written } from "../ports.ts";
import type { BackendStates } from "../schema/resource.ts";
import { contentAuditEntries, writeAction } from "./write_audit.ts";
import { type BackendCopies, copyChanges } from "./backend_status.ts";
import {
  type GroupCleanup,
  type GroupCleanupDeps,
  queueGroupCleanup,
  queueGroupReturn,
} from "./group_cleanup.ts";
import type { Intent } from "./intent_log.ts";
import type { HeldLocks } from "./locks.ts";
import type { OutboxChange } from "./outbox.ts";
import { changesFor } from "./plan_write.ts";
import type { PreparedWrite } from "./prepared_write.ts";

export interface CommitDeps extends GroupCleanupDeps {
  readonly copies: BackendCopies;
  readonly target: string;
  /** Users sign in from this target. */
  readonly isLoginTarget: boolean;
}

/** The locks of the write, and the result of the backend calls: the intent that ends with the commit, and the result of each put. */
interface CalledBackends {
  readonly held: HeldLocks;
  readonly intent?: Intent;
  readonly puts?: ReadonlyMap<string, PutResult>;
}

/**
 * Commits a write, with the groups that a deleted or deactivated user leaves, or that a restored user joins again.
 * @throws ScimRefusal `changed` or `too_large`
 */
export async function commitWrite(
  deps: CommitDeps,
  prepared: PreparedWrite,
  called: CalledBackends,
): Promise<Written> {
  const { stored, plan: { after }, job: { restores } } = prepared;
  const groups = restores === undefined
    ? await queueGroupCleanup(deps, { stored, next: after.content, held: called.held })
    : await queueGroupReturn(deps, { ...restores, held: called.held });
  try {
    return await record(deps, prepared, { ...called, groups });
  } finally {
    groups.release();
  }
}

async function record(
  deps: CommitDeps,
  prepared: PreparedWrite,
  called: CalledBackends & { groups: GroupCleanup },
): Promise<Written> {
  const { job, stored, plan: { after }, password, named, options } = prepared;
  const { kind, name, restores } = job;
  const { groups } = called;
  const outboxes = [...outboxChanges(deps, prepared), ...groups.changes];
  const also: Mutation[] = [
    ...await copyMutations(deps, prepared),
    ...outboxes.flatMap(({ mutations }) => mutations),
    ...(called.intent?.ending ?? []),
    ...auditOf(deps, prepared, groups),
    ...(restores?.also ?? []),
  ];
  const content = after.content;
  const backends = withPuts(after.backends, called.puts ?? new Map());
  const { directory } = deps;
  const common = {
    kind,
    recorded: stored?.recorded ?? 0,
    ...(password === undefined ? {} : { password }),
    also,
  };
  const writing: Promise<RenameResult> = job.to !== undefined && stored !== null && content !== null
    ? directory.rename({
      ...common,
      from: stored.content.name,
      expected: stored.version,
      next: { content, backends, ...identityOf(options) },
    })
    : directory.write({
      ...common,
      name: content?.name ?? stored?.content.name ?? name,
      expected: stored?.version ?? null,
      next: content === null ? null : { content, backends, ...identityOf(options) },
      deletion: { actor: options.actor, cause: "deleted" },
      ...(restores === undefined ? {} : { restores: { id: restores.id, groups: groups.names } }),
    });
  const written = await writing.catch((fault) => {
    if (!(fault instanceof RangeError)) throw fault;
    throw new ScimRefusal("too_large", { detail: "The resource is too large to be stored.", cause: fault });
  });
  if (!written.ok) throw new ScimRefusal(written.reason);
  for (const change of outboxes) change.committed();
  return {
    stored: written.stored,
    receipt: {
      entries: [
        ...named.map((backend) => entryOf(prepared, { backend, puts: called.puts })),
        ...prepared.spared.map((backend) => ({ backend, outcome: "read_only" as const })),
      ],
    },
    ...(written.trashed === undefined ? {} : { trashed: written.trashed }),
  };
}

/** What the writer sets besides the content. */
function identityOf(
  { externalId, managedBy, activeUnassigned }: WriteOptions,
): Pick<WriteOptions, "externalId" | "managedBy" | "activeUnassigned"> {
  return {
    ...(externalId === undefined ? {} : { externalId }),
    ...(managedBy === undefined ? {} : { managedBy }),
    ...(activeUnassigned === undefined ? {} : { activeUnassigned }),
  };
}

function entryOf(
  { plan }: PreparedWrite,
  { backend, puts }: { backend: string; puts: CalledBackends["puts"] },
): ReceiptEntry {
  if (plan.queued.some((call) => call.backend === backend)) return { backend, outcome: "queued" };
  const notStored = puts?.get(backend)?.notStored;
  return { backend, outcome: "done", ...(notStored === undefined ? {} : { notStored }) };
}

async function copyMutations({ copies }: CommitDeps, prepared: PreparedWrite): Promise<Mutation[]> {
  const { job: { kind, name, to }, before, plan: { after }, pending } = prepared;
  const canonical = canonicalName(name);
  const isRenamed = to !== undefined;
  const mutations = await copyChanges(copies, {
    kind,
    canonical,
    before: before.copies,
    after: isRenamed ? new Map() : after.copies,
  });
  if (isRenamed) {
    const moved = { kind, canonical: canonicalName(to), before: new Map(), after: after.copies };
    mutations.push(...await copyChanges(copies, moved));
  }
  for (const [backend, { entry }] of pending) {
    if (entry.restores === true && !before.copies.has(backend) && !after.copies.has(backend)) {
      mutations.push(...await copies.drop({ backend, kind, canonical }));
    }
  }
  return mutations;
}

/** Adds outbox entries for asynchronous backends, and removes the entries of backends that this write has reached. */
function outboxChanges({ outbox }: CommitDeps, prepared: PreparedWrite): OutboxChange[] {
  const { job: { kind }, options: { password }, plan, before, pending, pendingTo, stored, job } = prepared;
  const name = plan.after.content?.name ?? stored?.content.name ?? job.name;
  const added = plan.queued.map(({ backend, operation }) => {
    const remoteId = before.backends[backend]?.remoteId;
    const content = plan.after.content;
    const changes = content === null ? undefined : changesFor({ before, content }, backend);
    const entry = { backend, kind, name, operation, remoteId, changes };
    const sets = operation === "remove" ? {} : { password };
    const known = pending.get(backend) ?? null;
    if (job.to === undefined) return outbox.add({ ...entry, ...sets }, known);
    const occupied = pendingTo.get(backend) ?? null;
    const isNew = before.backends[backend]?.remoteId === undefined;
    return outbox.addRename({ ...entry, ...sets, earlier: job.name, isNew }, { known, occupied });
  });
  const dropped = plan.calls.flatMap(({ backend }) => {
    const known = pending.get(backend);
    return known === undefined ? [] : [outbox.drop(known)];
  });
  return [...added, ...dropped];
}

function withPuts(states: BackendStates, puts: ReadonlyMap<string, PutResult>): BackendStates {
  if (puts.size === 0) return states;
  const named = Object.entries(states).map(([backend, state]) => {
    const put = puts.get(backend);
    if (put === undefined) return [backend, state] as const;
    return [backend, withMembersNotStored({ ...state, remoteId: put.remoteId }, put.notStored)] as const;
  });
  return Object.fromEntries(named);
}

function auditOf(
  { target, isLoginTarget }: CommitDeps,
  prepared: PreparedWrite,
  { names: groups }: GroupCleanup,
): Mutation[] {
  const { job: { kind, operation, auditAs, name, to }, options, stored, plan, named, password } = prepared;
  return contentAuditEntries({ name: target, isLoginTarget }, {
    actor: options.actor,
    action: writeAction(kind, auditAs ?? operation),
    kind,
    name: plan.after.content?.name ?? stored?.content.name ?? name,
    ...(to === undefined ? {} : { from: stored?.content.name ?? name }),
    before: stored?.content ?? null,
    after: plan.after.content,
    setsPassword: options.password !== undefined || (auditAs === "restore" && password !== undefined),
    backends: named,
    groups,
  });
}

// The commit of a write: the record, its copies, the outbox entries, the end of the intent, the audit entries, and the groups of a user who is deleted,
// deactivated or restored: their members change, so the backends get the groups again.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import { type Backend, type PutResult, withMembersNotStored } from "../backend_port.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type { ReceiptEntry, RenameResult, TargetDirectory, WriteOptions, Written } from "../ports.ts";
import type { BackendStates, Content, Stored } from "../schema/resource.ts";
import { contentAuditEntries, writeAction } from "./write_audit.ts";
import { type BackendCopies, copyChanges, hasResource } from "./backend_status.ts";
import type { Intent } from "./intent_log.ts";
import type { HeldLocks, WriteLocks } from "./locks.ts";
import type { Outbox, OutboxChange } from "./outbox.ts";
import { changesFor, type PreparedWrite } from "./plan.ts";

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

interface GroupCleanupDeps {
  readonly directory: TargetDirectory;
  readonly remotes: ReadonlyMap<string, Backend>;
  readonly store: Store;
  readonly outbox: Outbox;
  readonly locks: WriteLocks;
}

interface GroupCleanup {
  /** The groups that a restored user joins. */
  readonly names: readonly string[];
  readonly changes: readonly OutboxChange[];
  /** Call it after the commit, also after a failed one. */
  release(): void;
}

const NONE: GroupCleanup = { names: [], changes: [], release: () => undefined };

/**
 * Queues the groups that a user leaves for the backends, and again those of a renamed user that are pending. Holds the locks of the groups until `release`.
 * @param held the locks of the user
 */
async function queueGroupCleanup(
  deps: GroupCleanupDeps,
  { stored, next, held }: { stored: Stored | null; next: Content | null; held: HeldLocks },
): Promise<GroupCleanup> {
  const holders = holdersOf(deps);
  if (stored === null || stored.content.kind === "group" || holders.length === 0) return NONE;
  const isGone = isLeaving(stored.content, next);
  // A backend renames the members of its groups. A group that is being delivered may contain the earlier name.
  const isRenamed = next !== null && canonicalName(next.name) !== canonicalName(stored.content.name);
  if (!isGone && !isRenamed) return NONE;
  const { release } = await holdGroups(deps, stored.groups, held);
  try {
    const changes: OutboxChange[] = [];
    for (const name of stored.groups) {
      const group = await deps.directory.read("group", canonicalName(name));
      if (group === null) continue;
      // A group that is only delivered again gets what its pending write changes.
      const left = isGone ? [stored.content.name] : [];
      changes.push(...await queueGroup(deps, { group, holders, left, isPending: !isGone }));
    }
    return { names: [], changes, release };
  } catch (fault) {
    release();
    throw fault;
  }
}

function holdersOf({ remotes }: GroupCleanupDeps): Backend[] {
  return [...remotes.values()].filter(({ holds, isReadOnly }) => holds.groups && isReadOnly !== true);
}

/**
 * Finds the groups that a restored user joins, and queues them for the backends. A group that was created after the deletion is another group,
 * and does not count. Holds the locks of the groups until `release`.
 */
async function queueGroupReturn(
  deps: GroupCleanupDeps,
  { groups, deletedMs, held }: { groups: readonly string[]; deletedMs: number; held: HeldLocks },
): Promise<GroupCleanup> {
  const { release } = await holdGroups(deps, groups, held);
  try {
    const changes: OutboxChange[] = [];
    const names: string[] = [];
    for (const name of groups) {
      const group = await deps.directory.read("group", canonicalName(name));
      if (group === null || group.createdMs > deletedMs) continue;
      names.push(group.content.name);
      changes.push(...await queueGroup(deps, { group, holders: holdersOf(deps), left: [] }));
    }
    return { names, changes, release };
  } catch (fault) {
    release();
    throw fault;
  }
}

function holdGroups(
  { locks }: GroupCleanupDeps,
  groups: readonly string[],
  held: HeldLocks,
): Promise<HeldLocks> {
  return locks.hold(groups.map((name) => ({ kind: "group", name })), held);
}

function isLeaving(before: Content, next: Content | null): boolean {
  if (before.kind !== "user") return false;
  return next === null || (before.active && next.kind === "user" && !next.active);
}

async function queueGroup(
  { outbox }: GroupCleanupDeps,
  { group, holders, left, isPending = false }: {
    group: Stored;
    holders: readonly Backend[];
    /** The members that leave. */
    left: readonly string[];
    /** Only where a write of the group is pending. */
    isPending?: boolean;
  },
): Promise<OutboxChange[]> {
  const changes: OutboxChange[] = [];
  const { name } = group.content;
  for (const { name: backend } of holders) {
    const state = group.backends[backend];
    // A group that differs belongs to that backend. A pending write already delivers the current group.
    if (!hasResource(state) || state?.differs !== undefined) continue;
    const known = await outbox.find(backend, "group", name);
    if (isPending && known === null) continue;
    const entry = {
      backend,
      kind: "group",
      name,
      operation: "put",
      changes: { attributes: [], left },
    } as const;
    changes.push(outbox.add({ ...entry, remoteId: state?.remoteId }, known));
  }
  return changes;
}

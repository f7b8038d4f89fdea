// The commit of a write: the record, its copies, the outbox entries, the end of the intent, and the audit entries.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import { type Backend, type PutResult, withMembersNotStored } from "../backend_port.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type { ReceiptEntry, TargetDirectory, Written } from "../ports.ts";
import type { BackendStates, Content, Stored } from "../schema/resource.ts";
import { contentAuditEntries, writeAction } from "./write_audit.ts";
import { type BackendCopies, copyChanges, hasResource } from "./backend_status.ts";
import type { Intent } from "./intent_log.ts";
import type { Outbox, OutboxChange } from "./outbox.ts";
import type { PreparedWrite } from "./prepared_write.ts";
import { lockKey } from "./delivery.ts";
import type { KeyedLocks, Release } from "./keyed_locks.ts";

export interface CommitDeps extends GroupCleanupDeps {
  readonly copies: BackendCopies;
  readonly target: string;
  /** Users sign in from this target. */
  readonly isLoginTarget: boolean;
}

/** The result of the backend calls: the intent that ends with the commit, and the result of each put. */
export interface CalledBackends {
  readonly intent?: Intent;
  readonly puts?: ReadonlyMap<string, PutResult>;
}

/**
 * Commits a write, with the groups that a deleted or deactivated user leaves.
 * @throws ScimRefusal `changed` or `too_large`
 */
export async function commitWrite(
  deps: CommitDeps,
  prepared: PreparedWrite,
  called: CalledBackends,
): Promise<Written> {
  const { stored, plan: { after } } = prepared;
  const groups = await queueGroupCleanup(deps, { stored, next: after.content });
  try {
    return await record(deps, prepared, { ...called, groups: groups.changes });
  } finally {
    groups.release();
  }
}

async function record(
  deps: CommitDeps,
  prepared: PreparedWrite,
  called: CalledBackends & { groups: readonly OutboxChange[] },
): Promise<Written> {
  const { job: { kind, name }, stored, plan: { after }, password, named } = prepared;
  const outboxes = [...outboxChanges(deps, prepared), ...called.groups];
  const also: Mutation[] = [
    ...await copyMutations(deps, prepared),
    ...outboxes.flatMap(({ mutations }) => mutations),
    ...(called.intent?.ending ?? []),
    ...auditOf(deps, prepared),
  ];
  const content = after.content;
  const backends = withPuts(after.backends, called.puts ?? new Map());
  const written = await deps.directory.write({
    kind,
    name: content?.name ?? stored?.content.name ?? name,
    expected: stored?.version ?? null,
    recorded: stored?.recorded ?? 0,
    next: content === null ? null : { content, backends },
    ...(password === undefined ? {} : { password }),
    also,
  }).catch((fault) => {
    if (!(fault instanceof RangeError)) throw fault;
    throw new ScimRefusal("too_large", { detail: "The resource is too large to be stored.", cause: fault });
  });
  if (!written.ok) throw new ScimRefusal("changed");
  for (const change of outboxes) change.committed();
  return {
    stored: written.stored,
    receipt: { entries: named.map((backend) => entryOf(prepared, { backend, puts: called.puts })) },
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
  const { job: { kind, name }, before, plan: { after }, pending } = prepared;
  const canonical = canonicalName(name);
  const mutations = await copyChanges(copies, {
    kind,
    canonical,
    before: before.copies,
    after: after.copies,
  });
  for (const [backend, { entry }] of pending) {
    if (entry.restores === true && !before.copies.has(backend) && !after.copies.has(backend)) {
      mutations.push(...await copies.drop({ backend, kind, canonical }));
    }
  }
  return mutations;
}

/** Adds outbox entries for asynchronous backends, and removes the entries of backends that this write has reached. */
function outboxChanges({ outbox }: CommitDeps, prepared: PreparedWrite): OutboxChange[] {
  const { job: { kind }, options: { password }, plan, before, pending, stored, job } = prepared;
  const name = plan.after.content?.name ?? stored?.content.name ?? job.name;
  const added = plan.queued.map(({ backend, operation }) =>
    outbox.add({
      backend,
      kind,
      name,
      operation,
      remoteId: before.backends[backend]?.remoteId,
      password: operation === "put" ? password : undefined,
    }, pending.get(backend) ?? null)
  );
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

function auditOf({ target, isLoginTarget }: CommitDeps, prepared: PreparedWrite): Mutation[] {
  const { job: { kind, operation, auditAs, name }, options, stored, plan, named } = prepared;
  return contentAuditEntries({ name: target, isLoginTarget }, {
    actor: options.actor,
    action: writeAction(kind, auditAs ?? operation),
    kind,
    name: plan.after.content?.name ?? stored?.content.name ?? name,
    before: stored?.content ?? null,
    after: plan.after.content,
    setsPassword: options.password !== undefined,
    backends: named,
  });
}

export interface GroupCleanupDeps {
  readonly directory: TargetDirectory;
  readonly remotes: ReadonlyMap<string, Backend>;
  readonly store: Store;
  readonly outbox: Outbox;
  readonly locks: KeyedLocks;
}

export interface GroupCleanup {
  readonly changes: readonly OutboxChange[];
  /** Call it after the commit, also after a failed one. */
  release(): void;
}

const NONE: GroupCleanup = { changes: [], release: () => undefined };

/**
 * Queues the groups that a user leaves for the backends. Holds the locks of the groups until `release`. A write of a group never waits for the
 * lock of a user, so there is no deadlock.
 */
export async function queueGroupCleanup(
  deps: GroupCleanupDeps,
  { stored, next }: { stored: Stored | null; next: Content | null },
): Promise<GroupCleanup> {
  const holders = [...deps.remotes.values()].filter(({ holds }) => holds.groups);
  if (stored === null || holders.length === 0 || !isLeaving(stored.content, next)) return NONE;
  const releases: Release[] = [];
  const release = () => releases.forEach((one) => one());
  try {
    const changes: OutboxChange[] = [];
    for (const name of stored.groups.toSorted(byLock)) {
      releases.push(await deps.locks.hold(lockKey("group", name)));
      changes.push(...await queueGroup(deps, { name, holders }));
    }
    return { changes, release };
  } catch (fault) {
    release();
    throw fault;
  }
}

/** A fixed order, so that two users who leave the same groups cannot deadlock. */
function byLock(a: string, b: string): number {
  return lockKey("group", a) < lockKey("group", b) ? -1 : 1;
}

function isLeaving(before: Content, next: Content | null): boolean {
  if (before.kind !== "user") return false;
  return next === null || (before.active && next.kind === "user" && !next.active);
}

async function queueGroup(
  { directory, outbox }: GroupCleanupDeps,
  { name, holders }: { name: string; holders: readonly Backend[] },
): Promise<OutboxChange[]> {
  const group = await directory.read("group", canonicalName(name));
  if (group === null) return [];
  const changes: OutboxChange[] = [];
  for (const { name: backend } of holders) {
    const state = group.backends[backend];
    // A group that differs belongs to that backend. A pending write already delivers the current group.
    if (!hasResource(state) || state?.differs !== undefined) continue;
    const known = await outbox.find(backend, "group", name);
    const entry = { backend, kind: "group", name: group.content.name, operation: "put" } as const;
    changes.push(outbox.add({ ...entry, remoteId: state?.remoteId }, known));
  }
  return changes;
}

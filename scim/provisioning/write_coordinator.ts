// One write of one resource: its locks, its plan, the calls of the backends that must succeed, and one commit of everything: the record, its copies,
// the outbox entries, the end of the intent, the audit entries, and the groups of a user who leaves or comes back, which the backends get again.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Mutation } from "../../platform/store.ts";
import { type Backend, withMembersNotStored } from "../backend_port.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type {
  DirectoryWrite,
  GroupMemberChange,
  ReceiptEntry,
  RenameResult,
  WriteOptions,
  Written,
} from "../ports.ts";
import type { BackendStates, Content, Stored } from "../schema/resource.ts";
import { BackendCalls, type CalledBackends, type IntentLog } from "./backend_calls.ts";
import { copyChanges, hasResource } from "./backend_status.ts";
import type { HeldLocks, Lockable } from "../locks.ts";
import type { Outbox, OutboxChange } from "./outbox.ts";
import {
  changesFor,
  type PreparedWrite,
  prepareWrite,
  selectBackends,
  type TargetParts,
  withMemberChange,
  type WriteJob,
} from "./plan.ts";
import { auditMembers, contentAuditEntries, targetAuditEntry, writeAction } from "./write_audit.ts";

/** Attempts of a rename. While its locks are held, a delivery can begin once at each connector, so each lost race is another connector. */
const MAX_TRIES = 10;

/** Writes the resources of a target, one write of each resource at a time. */
export class WriteCoordinator {
  readonly #parts: TargetParts;
  readonly #calls: BackendCalls;
  /** The embedded store is the only backend. */
  readonly #isStoreAlone: boolean;

  constructor(parts: TargetParts, intents: IntentLog) {
    this.#parts = parts;
    this.#calls = new BackendCalls(parts, intents);
    this.#isStoreAlone = parts.backends.length === 1 && parts.remotes.size === 0;
  }

  /** @throws ScimRefusal */
  write(job: WriteJob, options: WriteOptions): Promise<Written> {
    const { kind, name, to } = job;
    const resources: Lockable[] = [{ kind, name }, ...to === undefined ? [] : [{ kind, name: to }]];
    // Nothing but the record decides, so the directory plans the write when it reads the record for the commit.
    const isPlannedThere = this.#isStoreAlone && to === undefined && job.restores === undefined &&
      options.password === undefined;
    return this.#parts.locks.write(resources, (held) => {
      return isPlannedThere
        ? this.#writeInStore(job, options)
        : this.#performAgain(job, options, { resources, held });
    });
  }

  /** Adds and removes members of a group: directly if the embedded store is the only backend, otherwise by a replacement of the group. */
  changeMembers(group: string, change: GroupMemberChange, options: WriteOptions): Promise<Written> {
    // The direct way does not read the group's record, which contains the version.
    if (this.#isStoreAlone && options.ifVersion === undefined) {
      const names = [{ kind: "group", name: group }] as const;
      return this.#parts.locks.write(names, () => this.#changeInStore(group, change, options));
    }
    const content = (stored: Stored | null): Content | null =>
      stored?.content.kind === "group" ? withMemberChange(stored.content, change) : null;
    const job = { operation: "replace", auditAs: "members", members: change, kind: "group" } as const;
    return this.write({ ...job, name: group, content }, options);
  }

  async #changeInStore(group: string, change: GroupMemberChange, options: WriteOptions): Promise<Written> {
    const { directory, target } = this.#parts;
    const named = selectBackends(this.#parts, { kind: "group", named: options.backends });
    const written = await directory.changeMembers({
      ...change,
      group: canonicalName(group),
      id: options.ifId,
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

  async #writeInStore(job: WriteJob, options: WriteOptions): Promise<Written> {
    const last = { prepared: null as PreparedWrite | null };
    const writing = this.#parts.directory.writePlanned(job, async (stored) => {
      const prepared = await prepareWrite(this.#parts, { job, options, stored });
      last.prepared = prepared;
      return await toDirectoryWrite(this.#parts, prepared, { also: [], groups: [] });
    });
    const written = await writtenBy(writing);
    if (last.prepared === null) throw new Error("Cannot tell what was written: nothing was planned");
    return resultOf(last.prepared, written);
  }

  /** Performs a rename again if a delivery of the earlier name began meanwhile. */
  async #performAgain(job: WriteJob, options: WriteOptions, locks: WriteLocking): Promise<Written> {
    for (let tries = 1;; tries++) {
      try {
        return await this.#perform(job, options, locks);
      } catch (fault) {
        const isRaced = job.to !== undefined && fault instanceof ScimRefusal && fault.code === "changed";
        if (!isRaced || tries >= MAX_TRIES) throw fault;
      }
    }
  }

  async #perform(job: WriteJob, options: WriteOptions, { resources, held }: WriteLocking): Promise<Written> {
    const { directory, locks } = this.#parts;
    await this.#calls.finish(resources);
    const stored = await directory.read(job.kind, canonicalName(job.name));
    const prepared = await prepareWrite(this.#parts, { job, options, stored });
    const { calls } = prepared.plan;
    if (calls.length === 0) return await commitWrite(this.#parts, prepared, { held });
    const places = calls.flatMap(({ backend }) => resources.map((one) => ({ ...one, backend })));
    return await locks.run(
      places,
      (all) =>
        this.#calls.run(
          prepared,
          resources,
          (called) => commitWrite(this.#parts, prepared, { held: all, called }),
        ),
      held,
    );
  }
}

/** The resource of a write, with its lock. A rename has two names. */
interface WriteLocking {
  readonly resources: readonly Lockable[];
  readonly held: HeldLocks;
}

/**
 * Commits a write, with the groups that a deleted or deactivated user leaves, or that a restored user joins again.
 * @throws ScimRefusal `changed` or `too_large`
 */
async function commitWrite(
  parts: TargetParts,
  prepared: PreparedWrite,
  { held, called }: { held: HeldLocks; called?: CalledBackends },
): Promise<Written> {
  const { directory } = parts;
  const { job, stored } = prepared;
  const groups = await queueGroups(parts, prepared, held);
  try {
    const outboxes = [...outboxChanges(parts, prepared), ...groups.changes];
    const also = [...outboxes.flatMap(({ mutations }) => mutations), ...called?.intent.ending ?? []];
    const write = await toDirectoryWrite(parts, prepared, { also, groups: groups.names, puts: called?.puts });
    const { next } = write;
    const written = await writtenBy(
      job.to !== undefined && stored !== null && next !== null
        ? directory.rename({ ...write, from: stored.content.name, expected: stored.version, next })
        : directory.write(write),
    );
    for (const change of outboxes) change.committed();
    return resultOf(prepared, written, called?.puts);
  } finally {
    groups.release();
  }
}

/** @throws ScimRefusal `changed`, `taken` or `too_large` */
async function writtenBy(writing: Promise<RenameResult>): Promise<DoneWrite> {
  const written = await writing.catch((fault) => {
    if (!(fault instanceof RangeError)) throw fault;
    throw new ScimRefusal("too_large", { detail: "The resource is too large to be stored.", cause: fault });
  });
  if (!written.ok) throw new ScimRefusal(written.reason);
  return written;
}

type DoneWrite = Extract<RenameResult, { ok: true }>;

function resultOf(
  prepared: PreparedWrite,
  { stored, trashed }: DoneWrite,
  puts?: CalledBackends["puts"],
): Written {
  const { named, spared } = prepared;
  return {
    stored,
    receipt: {
      entries: [
        ...named.map((backend) => entryOf(prepared, { backend, puts })),
        ...spared.map((backend) => ({ backend, outcome: "read_only" as const })),
      ],
    },
    ...(trashed === undefined ? {} : { trashed }),
  };
}

function entryOf(
  { plan }: PreparedWrite,
  { backend, puts }: { backend: string; puts: CalledBackends["puts"] | undefined },
): ReceiptEntry {
  if (plan.queued.some((call) => call.backend === backend)) return { backend, outcome: "queued" };
  const notStored = puts?.get(backend)?.notStored;
  return { backend, outcome: "done", ...(notStored === undefined ? {} : { notStored }) };
}

/** The record of a write, with all that belongs to its commit. A rename takes from it what it needs. */
async function toDirectoryWrite(
  parts: TargetParts,
  prepared: PreparedWrite,
  { also, groups, puts }: {
    also: readonly Mutation[];
    /** The groups that a restored user joins. */
    groups: readonly string[];
    puts?: CalledBackends["puts"] | undefined;
  },
): Promise<DirectoryWrite> {
  const { job: { kind, name, members, restores }, stored, plan: { after }, password, options } = prepared;
  const { content } = after;
  return {
    kind,
    name: content?.name ?? stored?.content.name ?? name,
    expected: stored?.version ?? null,
    recorded: stored?.recorded ?? 0,
    next: content === null ? null : {
      content,
      backends: withPuts(after.backends, puts),
      externalId: options.externalId,
      managedBy: options.managedBy,
      activeUnassigned: options.activeUnassigned,
    },
    password,
    deletion: { actor: options.actor, cause: "deleted" },
    users: options.users ?? members?.users,
    ...(restores === undefined ? {} : { restores: { id: restores.id, groups } }),
    also: [
      ...await copyMutations(parts, prepared),
      ...also,
      ...auditOf(parts, prepared, groups),
      ...(restores?.also ?? []),
    ],
  };
}

async function copyMutations({ copies }: TargetParts, prepared: PreparedWrite): Promise<Mutation[]> {
  const { job: { kind, name, to }, before, plan: { after }, pending } = prepared;
  const mutations = await copyChanges(copies, { kind, name, to, before: before.copies, after: after.copies });
  for (const [backend, { entry }] of pending) {
    if (entry.restores === true && !before.copies.has(backend) && !after.copies.has(backend)) {
      mutations.push(...await copies.drop({ backend, kind, canonical: canonicalName(name) }));
    }
  }
  return mutations;
}

/** Adds outbox entries for asynchronous backends, and removes the entries of backends that this write has reached. */
function outboxChanges({ outbox }: TargetParts, prepared: PreparedWrite): OutboxChange[] {
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

const NO_PUTS: CalledBackends["puts"] = new Map();

function withPuts(states: BackendStates, puts: CalledBackends["puts"] = NO_PUTS): BackendStates {
  if (puts.size === 0) return states;
  const named = Object.entries(states).map(([backend, state]) => {
    const put = puts.get(backend);
    if (put === undefined) return [backend, state] as const;
    return [backend, withMembersNotStored({ ...state, remoteId: put.remoteId }, put.notStored)] as const;
  });
  return Object.fromEntries(named);
}

function auditOf(
  { target, isLoginTarget }: TargetParts,
  prepared: PreparedWrite,
  groups: readonly string[],
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

/** The groups that change with a user. */
interface ChangedGroups {
  /** Those that a restored user joins. */
  readonly names: readonly string[];
  readonly changes: readonly OutboxChange[];
  /** Call it after the commit, also after a failed one. */
  release(): void;
}

const NO_GROUPS: ChangedGroups = { names: [], changes: [], release: () => undefined };

/**
 * Queues the groups for the backends that a user leaves, that a restored user joins again, or that are pending and have a renamed user. Holds the locks
 * of the groups until `release`. @param held the locks of the user
 */
async function queueGroups(
  { directory, remotes, outbox, locks }: TargetParts,
  { stored, plan: { after: { content } }, job: { to, restores } }: PreparedWrite,
  held: HeldLocks,
): Promise<ChangedGroups> {
  const holders = [...remotes.values()].filter(({ holds, isReadOnly }) =>
    holds.groups && isReadOnly !== true
  );
  const isGone = stored !== null && isLeaving(stored.content, content);
  // A backend renames the members of its groups. A group that is being delivered may contain the earlier name.
  const isRenamed = stored?.content.kind === "user" && to !== undefined;
  if (restores === undefined && (holders.length === 0 || !(isGone || isRenamed))) return NO_GROUPS;
  const groups = restores?.groups ?? stored?.groups ?? [];
  const { release } = await locks.hold(groups.map((name) => ({ kind: "group", name })), held);
  try {
    const changes: OutboxChange[] = [];
    const joined: string[] = [];
    for (const name of groups) {
      const group = await directory.read("group", canonicalName(name));
      // A group that was created after the deletion of a restored user is another one.
      if (group === null || (restores !== undefined && group.createdMs > restores.deletedMs)) continue;
      if (restores !== undefined) joined.push(group.content.name);
      // A group that is only delivered again gets what its pending write changes.
      const left = isGone && restores === undefined ? [stored.content.name] : [];
      const isPending = restores === undefined && !isGone;
      changes.push(...await queueGroup(outbox, { group, holders, left, isPending }));
    }
    return { names: joined, changes, release };
  } catch (fault) {
    release();
    throw fault;
  }
}

function isLeaving(before: Content, next: Content | null): boolean {
  if (before.kind !== "user") return false;
  return next === null || (before.active && next.kind === "user" && !next.active);
}

async function queueGroup(
  outbox: Outbox,
  { group, holders, left, isPending }: {
    group: Stored;
    holders: readonly Backend[];
    /** The members that leave. */
    left: readonly string[];
    /** Only where a write of the group is pending. */
    isPending: boolean;
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

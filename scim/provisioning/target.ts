// A target: its directory, its backends, and the operations on both. Deleted users come back from the trash by the normal write path.

import type { PasswordHash } from "../../platform/password_hasher.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import type {
  LdapBackendSettings,
  ScimBackendSettings,
  TargetSettings,
} from "../../platform/config/config.ts";
import { LeaseUnavailable } from "../../platform/cluster/lease.ts";
import type { Log } from "../../platform/log.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import { createSingleFlight } from "../../platform/semaphore.ts";
import type { Store } from "../../platform/store.ts";
import type { Vault } from "../../platform/vault.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type {
  Actor,
  BackendInfo,
  RestoredUser,
  Target,
  TargetDirectory,
  TrashedUser,
  WriteOptions,
  Written,
} from "../ports.ts";
import type { Backend, BackendOutcome, RefreshReport } from "../backend_port.ts";
import { hasRecoveryTasks } from "../directory/directory.ts";
import { type TargetLease, WriteLocks } from "../locks.ts";
import type { Content } from "../schema/resource.ts";
import { commonReadOnly, NO_READ_ONLY, readOnlyNames, withReadOnly } from "../schema/merge.ts";
import { createMapping } from "../schema/mapping.ts";
import { IntentLog } from "./backend_calls.ts";
import { BackendCopies, readStatus, type ResourceStatus } from "./backend_status.ts";
import { DeliveryWorker, retryDeadLetters } from "./delivery.ts";
import { Outbox } from "./outbox.ts";
import type { TargetParts, WriteJob } from "./plan.ts";
import { References } from "./references.ts";
import { refreshAll } from "./refresh_all.ts";
import { refreshOne } from "./refresh_one.ts";
import { targetAuditEntry } from "./write_audit.ts";
import { WriteCoordinator } from "./write_coordinator.ts";

export interface TargetDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly lease: TargetLease;
  readonly settings: TargetSettings;
  /** Its writes do not take the lease, but fail without it. */
  readonly directory: TargetDirectory;
  hashPassword(password: string): Promise<PasswordHash>;
  openBackend(
    target: TargetSettings,
    backend: LdapBackendSettings | ScimBackendSettings,
  ): Backend | Promise<Backend>;
  /** Returns IDs that sort by time. @param after an ID that the new one follows, whatever the clock shows */
  orderedId(after?: string): string;
  /** Users sign in from this target. */
  readonly isLoginTarget?: boolean;
}

export interface OpenTarget extends Target {
  /** Stops the delivery of pending writes. */
  stop(): Promise<void>;
  /** Stops, and closes the connections. */
  close(): Promise<void>;
}

/** Opens the backends, undoes what a crash interrupted, and starts the delivery of pending writes. */
export async function openTarget(deps: TargetDeps): Promise<OpenTarget> {
  const { vault, clock, random, log, settings, directory, orderedId, lease, isLoginTarget = false } = deps;
  const target = settings.name;
  const store = lease.fence(deps.store);
  const remoteNames = settings.backends.filter(({ kind }) => kind !== "store").map(({ name }) => name);
  const outbox = new Outbox({ store, vault, clock, target, backends: remoteNames, orderedId });
  const locks = new WriteLocks({ clock, lease });
  const references = new References({ store, directory, outbox, locks, log, target });
  const remotes = await openBackends(deps, references);
  const parts: TargetParts = {
    ...{ target, isLoginTarget, store, lease, locks, directory, outbox, remotes, clock, random, log },
    copies: new BackendCopies({ store, target }),
    backends: settings.backends.map(({ name, kind, mode }): BackendInfo => {
      const readOnly = readOnlyNames(remotes.get(name)?.readOnly ?? NO_READ_ONLY);
      return {
        ...{ name, kind, mode },
        ...(readOnly.length === 0 ? {} : { keeps: readOnly }),
        ...(remotes.get(name)?.isReadOnly === true ? { isReadOnly: true } : {}),
      };
    }),
    readOnly: commonReadOnly([...remotes.values()]),
    hashPassword: (password) => deps.hashPassword(password),
  };
  const intents = new IntentLog(parts, orderedId);
  await outbox.load();
  const coordinator = new WriteCoordinator(parts, intents);
  lease.onAcquired(() => intents.recover());
  await finishInterrupted(parts, intents);
  const workers = new Map(
    [...remotes].map(([name, backend]) => [name, new DeliveryWorker({ ...parts, backend })]),
  );
  outbox.onAdded((backend) => workers.get(backend)?.wake());
  lease.onAcquired(() => Promise.resolve(workers.forEach((worker) => worker.wake())));
  const stop = async (): Promise<void> => {
    await Promise.all([...workers.values()].map((worker) => worker.close()));
  };
  let resuming: Promise<void> = Promise.resolve();
  /** In the background, because it waits for the lease. A fault leaves the records for the next start. */
  const resume = (): void => {
    resuming = resuming.then(() => resumeRestores(parts, coordinator)).catch(
      (fault: unknown) => log.warn("a restore could not be continued", { target, fault: String(fault) }),
    );
  };
  if (!lease.isShared) resume();
  else lease.onAcquired(() => Promise.resolve(resume()));
  return {
    ...targetOperations(parts, { coordinator, settings, references, openStore: deps.store }),
    stop,
    async close() {
      await stop();
      await resuming;
      await references.close();
      await Promise.all([...remotes.values()].map((backend) => backend.close()));
    },
  };
}

/**
 * Finishes what a crash interrupted, before anybody logs in. With several nodes, the one that gets the lease does this, and the work may be in
 * progress on another node.
 */
async function finishInterrupted(
  { lease, store, target, log }: TargetParts,
  intents: IntentLog,
): Promise<void> {
  if (!lease.isShared) return await intents.recover();
  if (!await intents.hasAny() && !await hasRecoveryTasks(store, target)) return;
  try {
    await lease.run(() => Promise.resolve());
  } catch (fault) {
    if (!(fault instanceof LeaseUnavailable)) throw fault;
    log.warn("interrupted writes are not finished yet: another node keeps writing the target", { target });
  }
}

async function openBackends(
  { settings, openBackend }: TargetDeps,
  references: References,
): Promise<Map<string, Backend>> {
  const remotes = new Map<string, Backend>();
  for (const backend of settings.backends) {
    if (backend.kind === "store") continue;
    const opened = await openBackend(settings, backend);
    const usable = backend.access === "read" ? withoutWrites(opened) : opened;
    remotes.set(backend.name, usable.kind === "scim" ? references.translate(usable) : usable);
  }
  return remotes;
}

function targetOperations(
  parts: TargetParts,
  { coordinator, settings, references, openStore }: {
    references: References;
    coordinator: WriteCoordinator;
    settings: TargetSettings;
    /** For records that do not need the lease. */
    openStore: Store;
  },
): Target {
  const { target, lease, directory, backends, locks, copies, remotes, outbox, readOnly, isLoginTarget } =
    parts;
  const singleFlight = createSingleFlight<RefreshReport>();
  const put = (operation: "create" | "replace") => (content: Content, options: WriteOptions) =>
    coordinator.write(
      { operation, kind: content.kind, name: content.name, content: () => content },
      options,
    );
  return {
    name: target,
    isLoginTarget,
    pageSize: settings.pageSize,
    backends,
    mapping: createMapping(settings.mapping),
    readOnly,
    directory: lease.isShared ? leasedDirectory(directory, locks) : directory,
    create: (content, options) =>
      withVisible(parts, () => put("create")(content, options), { content, options }),
    replace: put("replace"),
    rename: (kind, name, content, options) => {
      const job = { kind, name, content: () => content };
      if (canonicalName(name) === canonicalName(content.name)) {
        return coordinator.write({ ...job, operation: "replace" }, options);
      }
      const write = () => coordinator.write({ ...job, operation: "rename", to: content.name }, options);
      return withVisible(parts, write, { content, options });
    },
    remove: (kind, name, options) =>
      coordinator.write({ operation: "remove", kind, name, content: () => null }, options),
    restoreUser: (id, { actor }) => restoreUser(parts, coordinator, { id, actor }),
    purgeUser: (id, actor) => purgeUser(parts, { id, actor }),
    changeMembers: (...given) => coordinator.changeMembers(...given),
    refreshOne: (kind, name, actor) => refreshOne(parts, { kind, name, actor }),
    refreshAll: (actor, options) =>
      singleFlight(async () => {
        const report = await refreshAll(
          { ...parts, actor, maxDropPercent: settings.maxDropPercent },
          options,
        );
        await references.sweep();
        const { faults, ofGroups: _ofGroups, ...counts } = report;
        const record = targetAuditEntry(target, {
          actor,
          action: "target.refreshed",
          ...counts,
          faults: faults.map(({ backend }) => backend),
        });
        await openStore.commit({ mutations: [record] });
        return report;
      }),
    async heldElsewhere(kind, name) {
      const stored = await directory.read(kind, canonicalName(name));
      return withReadOnlyValues(await readStatus(copies, stored), remotes);
    },
    pendingWrites: (limit) => outbox.pendingWrites(limit),
    retryDeadLetters: (options) => retryDeadLetters(parts, options),
  };
}

/** The directory for callers that do not hold the lease. Reads do not need it. */
function leasedDirectory(directory: TargetDirectory, locks: WriteLocks): TargetDirectory {
  return {
    ...directory,
    write: (write) => locks.underLease(() => directory.write(write)),
    writePlanned: (...given) => locks.underLease(() => directory.writePlanned(...given)),
    rename: (rename) => locks.underLease(() => directory.rename(rename)),
    writeMany: (writes) => locks.underLease(() => directory.writeMany(writes)),
    changeMembers: (change) => locks.underLease(() => directory.changeMembers(change)),
  };
}

/**
 * A resource that refuses a new name must be found by that name (RFC 7644 §3.3). So one that only a backend has is read from there.
 * @throws ScimRefusal that of `write`, or that of a backend that cannot be read now
 */
async function withVisible(
  parts: TargetParts,
  write: () => Promise<Written>,
  { content: { kind, name }, options: { actor } }: { content: Content; options: WriteOptions },
): Promise<Written> {
  try {
    return await write();
  } catch (fault) {
    const isTaken = fault instanceof ScimRefusal && fault.code === "taken";
    const isHidden = isTaken && await parts.directory.read(kind, canonicalName(name)) === null;
    if (isHidden) await refreshOne(parts, { kind, name, actor });
    throw fault;
  }
}

/** The contents that differ, including those that differ only in read-only attributes of their backend. */
function withReadOnlyValues(
  { content, backends, copies }: ResourceStatus,
  remotes: ReadonlyMap<string, Backend>,
): ReadonlyMap<string, Content> {
  const contents = new Map(copies);
  for (const [name, { kept }] of Object.entries(backends)) {
    const known = copies.get(name) ?? content;
    const readOnly = remotes.get(name)?.readOnly;
    if (kept === undefined || readOnly === undefined || known?.kind !== "user") continue;
    contents.set(name, withReadOnly(known, { ...known, attributes: kept }, readOnly));
  }
  return contents;
}

/** The user joins this many groups in the commit that restores it. Each further group is a write of its own, which survives a crash. */
const MAX_GROUPS_AT_ONCE = 50;

/**
 * The user, its groups and the end of the entry are one commit. Factors stay deleted.
 * @throws ScimRefusal
 */
async function restoreUser(
  deps: TargetParts,
  coordinator: WriteCoordinator,
  { id, actor }: { id: string; actor: Actor },
): Promise<RestoredUser> {
  const trashed = await deps.directory.trash.read(id);
  if (trashed === null) throw new ScimRefusal("not_found");
  const { content, groups, password, entry: { deletedMs } } = trashed;
  const atOnce = groups.slice(0, MAX_GROUPS_AT_ONCE);
  const later = groups.slice(MAX_GROUPS_AT_ONCE);
  const pending = pendingJoins(deps, { trashed, groups: later, actor });
  const job: WriteJob = {
    operation: "create",
    auditAs: "restore",
    kind: "user",
    name: content.name,
    content: () => content,
    restores: {
      ...{ id, groups: atOnce, deletedMs, password },
      also: pending.map(({ key, value }) => ({
        type: "set" as const,
        ...{ key, value, expireInMs: PENDING_JOINS_MS },
      })),
    },
  };
  const backends = backendsOf(deps, trashed);
  const written = await coordinator.write(job, {
    actor,
    ...(backends.length === 0 ? {} : { backends }),
  });
  const { missing, failed } = await joinPending(deps, coordinator, pending);
  const stored = later.length === 0
    ? written.stored
    : await deps.directory.read("user", canonicalName(content.name));
  const joined = new Set((stored?.groups ?? []).map(canonicalName));
  const isJoined = (name: string) => joined.has(canonicalName(name));
  return {
    ...written,
    stored,
    groups: groups.filter(isJoined),
    missingGroups: [...atOnce.filter((name) => !isJoined(name)), ...missing],
    failedGroups: failed,
  };
}

/** The backends that had the user and are still in the settings, without read-only ones if others had it. Empty: none of them. */
function backendsOf({ backends }: TargetParts, { entry }: TrashedUser): string[] {
  const had = backends.filter(({ name }) => entry.backends.includes(name));
  const writable = had.filter(({ isReadOnly }) => isReadOnly !== true);
  return (writable.length > 0 ? writable : had).map(({ name }) => name);
}

/** The groups that a restored user joins after the commit that restores it. The record ends with the last of them. */
interface PendingJoins {
  readonly user: string;
  readonly groups: readonly string[];
  readonly deletedMs: number;
  readonly actor: Actor;
  readonly atMs: number;
}

interface StoredJoins {
  readonly key: Deno.KvKey;
  readonly value: PendingJoins;
}

const PENDING_JOINS_MS = 24 * 3600_000;
/** A user who was created this long after the restore began is another one. */
const MAX_RESTORE_MS = 600_000;

const pendingPrefix = (target: string): Deno.KvKey => ["trash_joins", target];

function pendingJoins(
  { target, clock }: TargetParts,
  { trashed: { content, entry }, groups, actor }: {
    trashed: TrashedUser;
    groups: readonly string[];
    actor: Actor;
  },
): StoredJoins[] {
  const records: StoredJoins[] = [];
  for (let at = 0; at < groups.length; at += MAX_GROUPS_AT_ONCE) {
    const value = {
      user: content.name,
      groups: groups.slice(at, at + MAX_GROUPS_AT_ONCE),
      deletedMs: entry.deletedMs,
      actor,
      atMs: clock.nowMs(),
    };
    records.push({ key: [...pendingPrefix(target), entry.id, records.length], value });
  }
  return records;
}

/** Each record is removed when its groups are joined. */
async function joinPending(
  deps: TargetParts,
  coordinator: WriteCoordinator,
  records: readonly StoredJoins[],
): Promise<{ missing: string[]; failed: string[] }> {
  const missing: string[] = [];
  const failed: string[] = [];
  for (const { key, value: { user, groups, deletedMs, actor } } of records) {
    for (const group of groups) {
      const found = await deps.directory.read("group", canonicalName(group));
      if (found === null || found.createdMs > deletedMs) {
        missing.push(group);
        continue;
      }
      try {
        await coordinator.changeMembers(found.content.name, { add: [user], remove: [] }, { actor });
      } catch (fault) {
        if (!(fault instanceof ScimRefusal)) throw fault;
        failed.push(group);
      }
    }
    await deps.locks.underLease(() => deps.store.commit({ mutations: [{ type: "delete", key }] }));
  }
  return { missing, failed };
}

/** Continues the restores that a crash interrupted: the users join the rest of their groups. */
async function resumeRestores(deps: TargetParts, coordinator: WriteCoordinator): Promise<void> {
  const records: StoredJoins[] = [];
  for await (const { key, value } of deps.store.list<PendingJoins>(pendingPrefix(deps.target))) {
    if (value !== null) records.push({ key, value });
  }
  for (const { key, value } of records) {
    const stored = await deps.directory.read("user", canonicalName(value.user));
    const isSame = stored !== null && stored.createdMs <= value.atMs + MAX_RESTORE_MS;
    await joinPending(deps, coordinator, [{ key, value: isSame ? value : { ...value, groups: [] } }]);
  }
}

/** The lock excludes a restore at the same time. */
async function purgeUser(
  { store, locks, directory, target }: TargetParts,
  { id, actor }: { id: string; actor: Actor },
): Promise<boolean> {
  const trashed = await directory.trash.read(id);
  if (trashed === null) return false;
  const { name } = trashed.content;
  const purge = async (): Promise<boolean> => {
    const removal = await directory.trash.removal(id);
    if (removal === null) return false;
    const record = targetAuditEntry(target, { actor, action: "user.purged", object: `user:${name}` });
    await store.commit({ mutations: [...removal, record] });
    return true;
  };
  return await locks.write([{ kind: "user", name }], purge);
}

/** A backend that refuses every write, also one that was pending when the connector became read-only. */
function withoutWrites(inner: Backend): Backend {
  const refused: BackendOutcome<never> = {
    ok: false,
    fault: {
      kind: "refused",
      detail: `The connector "${inner.name}" is read-only (access = "read").`,
      ...{ unsure: false, retry: false, isLocal: true },
    },
  };
  const { verify, showsMembers, size } = inner;
  return {
    name: inner.name,
    kind: inner.kind,
    mode: inner.mode,
    covers: inner.covers,
    ...(inner.readOnly === undefined ? {} : { readOnly: inner.readOnly }),
    holds: inner.holds,
    isReadOnly: true,
    read: (kind, name, hint) => inner.read(kind, name, hint),
    put: () => Promise.resolve(refused),
    remove: () => Promise.resolve(refused),
    ...(inner.rename === undefined ? {} : { rename: () => Promise.resolve(refused) }),
    list: (kind) => inner.list(kind),
    ...(verify === undefined ? {} : { verify: (name, password) => verify.call(inner, name, password) }),
    ...(size === undefined ? {} : { size: (kind) => size.call(inner, kind) }),
    ...(showsMembers === undefined ? {} : { showsMembers: () => showsMembers.call(inner) }),
    probe: () => inner.probe(),
    close: () => inner.close(),
  };
}

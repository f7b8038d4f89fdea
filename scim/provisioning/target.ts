// A target: its directory, its backends, and the operations on both.

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
import type { BackendInfo, Target, TargetDirectory, WriteOptions, Written } from "../ports.ts";
import type { RefreshReport } from "../pending_port.ts";
import type { Backend } from "../backend_port.ts";
import { hasRecoveryTasks } from "../directory/directory.ts";
import type { TargetLease } from "../directory/target_lease.ts";
import type { Content } from "../schema/resource.ts";
import { commonReadOnly, NO_READ_ONLY, readOnlyNames, withReadOnly } from "../schema/read_only_attributes.ts";
import { createMapping } from "../schema/mapping.ts";
import { targetAuditEntry } from "./write_audit.ts";
import { BackendCopies, readStatus, type ResourceStatus } from "./backend_status.ts";
import { DeliveryWorker, type DeliveryWorkerDeps } from "./delivery.ts";
import { IntentLog } from "./intent_log.ts";
import { WriteLocks } from "./locks.ts";
import { createMemberChanges, WriteCoordinator } from "./write_coordinator.ts";
import { Outbox, type StoredEntry } from "./outbox.ts";
import { withoutWrites } from "./read_only_access.ts";
import { References } from "./references.ts";
import { refreshAll } from "./refresh_all.ts";
import type { RefreshDeps } from "./reconcile.ts";
import { refreshOne } from "./refresh_one.ts";
import { resumeRestores, trashOperations } from "./restore_user.ts";

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
  /** Returns IDs that sort by time. */
  orderedId(): string;
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
  const shared = {
    store,
    lease,
    directory,
    outbox,
    copies: new BackendCopies({ store, target }),
    remotes,
    locks,
    clock,
    random,
    log,
    target,
    isLoginTarget,
    backends: settings.backends.map(({ name, kind, mode }): BackendInfo => {
      const readOnly = readOnlyNames(remotes.get(name)?.readOnly ?? NO_READ_ONLY);
      return {
        ...{ name, kind, mode },
        ...(readOnly.length === 0 ? {} : { keeps: readOnly }),
        ...(remotes.get(name)?.isReadOnly === true ? { isReadOnly: true } : {}),
      };
    }),
    readOnly: commonReadOnly([...remotes.values()]),
  };
  const intents = new IntentLog({ ...shared, orderedId });
  await shared.outbox.load();
  const coordinator = new WriteCoordinator({
    ...shared,
    intents,
    holdsGroups: (backend) => remotes.get(backend)?.holds.groups ?? true,
    hashPassword: (password) => deps.hashPassword(password),
  });
  lease.onAcquired(async () => void await intents.recover());
  await finishInterrupted(shared, intents);
  const workers = startWorkers(shared);
  shared.outbox.onAdded((backend) => workers.get(backend)?.wake());
  lease.onAcquired(() => Promise.resolve(workers.forEach((worker) => worker.wake())));
  const stop = async (): Promise<void> => {
    await Promise.all([...workers.values()].map((worker) => worker.close()));
  };
  const changeMembers = createMemberChanges({ ...shared, coordinator });
  let resuming: Promise<void> = Promise.resolve();
  /** In the background, because it waits for the lease. A fault leaves the records for the next start. */
  const resume = (): void => {
    resuming = resuming.then(() => resumeRestores({ ...shared, coordinator, changeMembers })).catch(
      (fault: unknown) => log.warn("a restore could not be continued", { target, fault: String(fault) }),
    );
  };
  if (!lease.isShared) resume();
  else lease.onAcquired(() => Promise.resolve(resume()));
  return {
    ...targetOperations(shared, { coordinator, settings, references, openStore: deps.store }),
    stop,
    async close() {
      await stop();
      await resuming;
      await references.close();
      await Promise.all([...remotes.values()].map((backend) => backend.close()));
    },
  };
}

/** The parts that all operations of a target share. */
type TargetParts = RefreshDeps & Omit<DeliveryWorkerDeps, "backend" | "lease"> & {
  readonly lease: TargetLease;
};

/**
 * Finishes what a crash interrupted, before anybody logs in. With several nodes, the one that gets the lease does this, and the work may be in
 * progress on another node.
 */
async function finishInterrupted(
  { lease, store, target, log }: TargetParts,
  intents: IntentLog,
): Promise<void> {
  if (!lease.isShared) return void await intents.recover();
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

function startWorkers(parts: TargetParts): Map<string, DeliveryWorker> {
  return new Map(
    [...parts.remotes].map(([name, backend]) => [name, new DeliveryWorker({ ...parts, backend })]),
  );
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
  const changeMembers = createMemberChanges({ directory, backends, locks, target, coordinator });
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
    ...trashOperations({ ...parts, coordinator, changeMembers }),
    changeMembers,
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

interface RetryDeps {
  readonly store: Store;
  readonly directory: TargetDirectory;
  readonly outbox: Outbox;
  readonly locks: WriteLocks;
  readonly remotes: ReadonlyMap<string, unknown>;
}

/** Returns how many dead letters are retried. @param options.backend only the dead letters of this backend. */
async function retryDeadLetters(
  deps: RetryDeps,
  { backend }: { backend?: string },
): Promise<number> {
  let retried = 0;
  for (const name of deps.remotes.keys()) {
    if (backend !== undefined && name !== backend) continue;
    for await (const { entry } of deps.outbox.dead(name)) {
      const retryOne = async () => {
        const known = await deps.outbox.find(name, entry.kind, entry.name);
        if (known === null || !known.isDead) return false;
        await retry(deps, known);
        return true;
      };
      if (await deps.locks.write([entry], retryOne)) retried++;
    }
  }
  return retried;
}

async function retry({ store, directory, outbox }: RetryDeps, known: StoredEntry): Promise<void> {
  const { backend, entry: { kind, name, operation, restores, changes } } = known;
  const restoring = restores === undefined ? {} : { restores };
  const change = outbox.add({ backend, kind, name, operation, changes, ...restoring }, known);
  const stored = await directory.read(kind, canonicalName(name));
  const state = stored?.backends[backend];
  if (stored === null || state?.state !== "failed") {
    await store.commit({ mutations: change.mutations });
  } else {
    const { why: _former, ...rest } = state;
    const written = await directory.write({
      kind,
      name: stored.content.name,
      expected: stored.version,
      recorded: stored.recorded ?? 0,
      statesOnly: true,
      next: {
        content: stored.content,
        backends: { ...stored.backends, [backend]: { ...rest, state: "pending" } },
      },
      also: change.mutations,
    });
    if (!written.ok) {
      throw new Error(`Cannot retry a failed write of "${backend}": the resource was changed`);
    }
  }
  change.committed();
}

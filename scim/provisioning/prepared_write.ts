// Prepares one write of one resource: reads the stored resource, plans the write, and reads the backends before they are called.

import type { GroupMemberChange } from "./member_change.ts";
import type { Mutation } from "../../platform/store.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import { HasherBusy, type PasswordHash } from "../../platform/password_hasher.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Backend } from "../backend_port.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type { TargetDirectory, WriteOptions } from "../ports.ts";
import { joinChanges, NO_CHANGES } from "../schema/content_changes.ts";
import { type ReadOnlyAttributes, withReadOnly } from "../schema/read_only_attributes.ts";
import type { Content, ResourceKind, Stored } from "../schema/resource.ts";
import { type BackendCopies, hasResource, readStatus, type ResourceStatus } from "./backend_status.ts";
import {
  type BackendSelection,
  changesFor,
  planWrite,
  selectBackends,
  type WriteOperation,
  type WritePlan,
} from "./plan_write.ts";
import type { Outbox, StoredEntry } from "./outbox.ts";
import { selectWritable } from "./read_only_access.ts";
import { withKnownMembers } from "./backend_reading.ts";
import { backendRefusal, type SyncCall } from "./sync_writes.ts";

export interface PrepareWriteDeps extends BackendSelection {
  readonly directory: TargetDirectory;
  readonly remotes: ReadonlyMap<string, Backend>;
  readonly outbox: Outbox;
  readonly copies: BackendCopies;
  readonly clock: Clock;
  /** The attributes that are read-only at every backend. */
  readonly readOnly: ReadOnlyAttributes;
  hashPassword(password: string): Promise<PasswordHash>;
}

/** What a restore adds to the creation of a user. */
interface RestoreJob {
  readonly id: string;
  /** The groups that the same commit adds the user to. */
  readonly groups: readonly string[];
  readonly deletedMs: number;
  readonly password: PasswordHash | null;
  /** More mutations of the same commit. */
  readonly also: readonly Mutation[];
}

export interface WriteJob {
  readonly operation: WriteOperation;
  /** The action of the audit entry, if it is not the operation. */
  readonly auditAs?: "members" | "restore";
  /** The user of the trash that this write creates again. */
  readonly restores?: RestoreJob;
  /** The members that the write adds and removes. Synchronous backends keep their other members. */
  readonly members?: GroupMemberChange;
  readonly kind: ResourceKind;
  readonly name: string;
  /** The new name of a `rename`, with another canonical form. */
  readonly to?: string;
  /** Creates the new content from the stored one. `null` only for `remove`. */
  content(stored: Stored | null): Content | null;
}

/** A planned write, with the previous state of the store and of the outbox. */
export interface PreparedWrite {
  readonly job: WriteJob;
  readonly options: WriteOptions;
  readonly stored: Stored | null;
  readonly named: readonly string[];
  /** Read-only backends that the write leaves as they are. */
  readonly spared: readonly string[];
  readonly before: ResourceStatus;
  readonly plan: WritePlan;
  readonly password: PasswordHash | undefined;
  /** Writes that are already pending at the named backends. */
  readonly pending: ReadonlyMap<string, StoredEntry>;
  /** Those of the new name of a `rename`. */
  readonly pendingTo: ReadonlyMap<string, StoredEntry>;
}

/**
 * Plans one write from the store, the copies and the outbox. Calls no backend and writes nothing.
 * @throws ScimRefusal if the version differs, the plan refuses, or the hasher is busy
 */
export async function prepareWrite(
  deps: PrepareWriteDeps,
  job: WriteJob,
  options: WriteOptions,
): Promise<PreparedWrite> {
  const { kind, name, operation } = job;
  const stored = await deps.directory.read(kind, canonicalName(name));
  checkVersion(stored, options);
  const selected = selectBackends(deps, { kind, named: options.backends });
  const before = await readStatus(deps.copies, stored);
  const wanted = stored === null && operation !== "create" ? null : job.content(stored);
  // RFC 7644 §3.3, §3.5.1: values of readOnly attributes are ignored.
  const content = wanted === null ? null : withReadOnly(wanted, stored?.content ?? null, deps.readOnly);
  const { writable: named, unchanged } = selectWritable(deps.remotes, {
    ...{ operation, kind, content, before, named: selected },
    isExplicit: options.backends !== undefined,
    setsPassword: options.password !== undefined,
  });
  const plan = planWrite({
    operation,
    kind,
    content: content ?? (stored?.content ?? null),
    before,
    backends: deps.backends,
    named,
    unchanged,
    nowMs: deps.clock.nowMs(),
  });
  if (!plan.ok) throw new ScimRefusal(plan.code);
  if (job.to !== undefined) await checkRename(deps, { job, to: job.to, named, before });
  const pending = await readPending(deps, { kind, name, named });
  const pendingTo = job.to === undefined
    ? new Map<string, StoredEntry>()
    : await readPending(deps, { kind, name: job.to, named });
  if (job.to !== undefined) await checkCycle(deps, { kind, to: job.to, pending });
  const { password: known = null } = job.restores ?? {};
  const password = await passwordHash(deps, { kind, named, password: options.password, known });
  const spared = selected.filter((name) => deps.remotes.get(name)?.isReadOnly === true);
  return { job, options, stored, named, spared, before, plan, password, pending, pendingTo };
}

/** @throws ScimRefusal if a backend still has each of two resources with the new name of the other one */
async function checkCycle(
  { directory }: PrepareWriteDeps,
  { kind, to, pending }: { kind: ResourceKind; to: string; pending: ReadonlyMap<string, StoredEntry> },
): Promise<void> {
  const now = await directory.renamedTo(kind, canonicalName(to));
  if (now === null) return;
  for (const [backend, { entry }] of pending) {
    if (entry.from?.includes(now)) {
      throw new ScimRefusal("busy", {
        detail:
          `Earlier renames are still pending at the connector "${backend}". Try again when they are done.`,
        headers: { "Retry-After": "30" },
      });
    }
  }
}

/** @throws ScimRefusal if the name is taken, or a backend that has the resource cannot rename it or was left out */
async function checkRename(
  { directory, remotes }: PrepareWriteDeps,
  { job: { kind }, to, named, before }: {
    job: WriteJob;
    to: string;
    named: readonly string[];
    before: ResourceStatus;
  },
): Promise<void> {
  if (await directory.read(kind, canonicalName(to)) !== null) throw new ScimRefusal("taken");
  for (const [name, state] of Object.entries(before.backends)) {
    if (!hasResource(state)) continue;
    if (!named.includes(name)) {
      throw new ScimRefusal("unsupported", {
        detail:
          `All connectors have the same names. Rename without the parameter \`backends\`, or name "${name}" too.`,
      });
    }
    const remote = remotes.get(name);
    if (remote !== undefined && remote.rename === undefined) {
      throw new ScimRefusal("unsupported", {
        detail: `The connector "${name}" cannot rename a ${kind}. Create the new one and delete the old one.`,
      });
    }
  }
}

function checkVersion(stored: Stored | null, { ifVersion, ifId }: WriteOptions): void {
  if (ifId !== undefined && stored?.id !== ifId) throw new ScimRefusal("changed");
  if (ifVersion === undefined || stored === null || stored.version === ifVersion) return;
  throw new ScimRefusal("precondition");
}

async function readPending(
  { remotes, outbox }: PrepareWriteDeps,
  { kind, name, named }: { kind: ResourceKind; name: string; named: readonly string[] },
): Promise<Map<string, StoredEntry>> {
  const remote = named.filter((backend) => remotes.has(backend));
  const found = await Promise.all(remote.map((backend) => outbox.find(backend, kind, name)));
  return new Map(found.flatMap((known) => known === null ? [] : [[known.backend, known] as const]));
}

/** The hash for the directory, unless the write excludes the embedded store. */
async function passwordHash(
  { backends, hashPassword }: PrepareWriteDeps,
  { kind, named, password, known }: {
    kind: ResourceKind;
    named: readonly string[];
    password: string | undefined;
    /** The hash of a restored user. */
    known: PasswordHash | null;
  },
): Promise<PasswordHash | undefined> {
  const embedded = backends.filter((backend) => backend.kind === "store").map(({ name }) => name);
  const isLeftOut = embedded.length > 0 && !embedded.some((name) => named.includes(name));
  if (kind !== "user" || isLeftOut) return undefined;
  if (password === undefined) return known ?? undefined;
  try {
    return await hashPassword(password);
  } catch (fault) {
    if (!(fault instanceof HasherBusy)) throw fault;
    throw new ScimRefusal("busy", { headers: { "Retry-After": String(fault.retryAfterS) }, cause: fault });
  }
}

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
export async function readBefore(
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

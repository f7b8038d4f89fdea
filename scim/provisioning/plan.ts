// The plan of one write: reads the resource, the state of each backend and the outbox, and decides the record after the write, the calls, and the
// entries of the outbox. Calls no backend and writes nothing.

import type { Mutation } from "../../platform/store.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import { HasherBusy, type PasswordHash } from "../../platform/password_hasher.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Backend, ContentChanges } from "../backend_port.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type { BackendInfo, TargetDirectory, WriteOptions } from "../ports.ts";
import { contentChanges, joinChanges } from "../schema/content_changes.ts";
import { type ReadOnlyAttributes, withReadOnly } from "../schema/read_only_attributes.ts";
import type { BackendState, Content, GroupContent, ResourceKind, Stored } from "../schema/resource.ts";
import {
  type BackendCopies,
  type BackendOperation,
  hasResource,
  isSameContent,
  normalizeStatus,
  readStatus,
  type ResourceStatus,
  withCopy,
  withoutCopy,
  withState,
  type WriteOperation,
} from "./backend_status.ts";
import type { Outbox, StoredEntry } from "./outbox.ts";
import { selectWritable } from "./read_only_access.ts";

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

interface WritePlanInput {
  readonly operation: WriteOperation;
  readonly kind: ResourceKind;
  /** The desired content; `null` exactly for `remove`. */
  readonly content: Content | null;
  readonly before: ResourceStatus;
  /** All backends of the target, in the order of the list. */
  readonly backends: readonly BackendInfo[];
  /** The backends of the write, in the order of the list. */
  readonly named: readonly string[];
  /** Read-only backends that have the resource, and keep it as it is. Absent: none. */
  readonly unchanged?: ReadonlySet<string>;
  readonly nowMs: number;
}

interface BackendCall {
  readonly backend: string;
  readonly operation: BackendOperation;
}

interface WritePlan {
  readonly ok: true;
  /** The resource after the write. */
  readonly after: ResourceStatus;
  /** The calls before the write is recorded, in order. */
  readonly calls: readonly BackendCall[];
  /** The writes that the outbox delivers. */
  readonly queued: readonly BackendCall[];
}

type WritePlanOutcome = WritePlan | { readonly ok: false; readonly code: "taken" | "not_found" };

const NONE: ReadonlySet<string> = new Set();

function planWrite(demand: WritePlanInput): WritePlanOutcome {
  const { operation, before, named, unchanged = NONE } = demand;
  const exists = isOrphan(demand) || unchanged.size > 0 ||
    named.some((name) => hasResource(before.backends[name]));
  if (operation === "create" && exists) return { ok: false, code: "taken" };
  if (operation !== "create" && !exists) return { ok: false, code: "not_found" };
  return operation === "remove" ? planRemoval(demand) : planPut(demand);
}

/** A resource whose backends are no longer in the settings. It exists, although no backend has it. */
function isOrphan({ before, backends }: WritePlanInput): boolean {
  return before.content !== null && !backends.some(({ name }) => before.backends[name] !== undefined);
}

function planPut(
  { operation, content, before, backends, named, unchanged = NONE, nowMs }: WritePlanInput,
): WritePlanOutcome {
  if (content === null) throw new TypeError("Cannot plan a put without content");
  let after: ResourceStatus = { ...before, content };
  const calls: BackendCall[] = [];
  const queued: BackendCall[] = [];
  for (const backend of backends) {
    const { name } = backend;
    if (unchanged.has(name)) {
      after = withoutCopy(after, name);
      continue;
    }
    if (!named.includes(name)) {
      after = keepingOwn(after, { backend: name, before });
      continue;
    }
    const isRenamed = operation === "rename" && hasResource(before.backends[name]);
    const call: BackendCall = { backend: name, operation: isRenamed ? "rename" : "put" };
    const isQueued = isAsynchronous(backend);
    if (isQueued) queued.push(call);
    else if (backend.kind !== "store") calls.push(call);
    after = withState(after, name, stateAfterPut(before.backends[name], { isQueued, isRenamed, nowMs }));
  }
  return { ok: true, after, calls, queued };
}

/** A backend that the write omits keeps its content and its pending writes. */
function keepingOwn(
  after: ResourceStatus,
  { backend, before }: { backend: string; before: ResourceStatus },
): ResourceStatus {
  const isTouched = hasResource(before.backends[backend]) && !before.copies.has(backend);
  if (!isTouched || before.content === null || after.content === null) return after;
  if (isSameContent(before.content, after.content)) return after;
  const kept = withCopy(after, backend, before.content);
  const state = kept.backends[backend];
  if (state === undefined) return kept;
  return { ...kept, backends: { ...kept.backends, [backend]: { ...state, omitted: true } } };
}

/** What a write changes at a backend, compared with what the backend was given before. A difference that a refresh found stays. */
export function changesFor(
  { before, content }: { readonly before: ResourceStatus; readonly content: Content },
  backend: string,
): ContentChanges {
  const state = before.backends[backend];
  if (!hasResource(state)) return contentChanges(null, content);
  const changes = contentChanges(before.content, content);
  const copy = before.copies.get(backend);
  if (copy === undefined) return changes;
  const other = contentChanges(copy, content);
  if (state?.omitted === true) return joinChanges(changes, other);
  const set = contentChanges(null, content).attributes;
  const attributes = other.attributes.filter((path) => set.includes(path));
  return joinChanges(changes, { attributes, left: [] });
}

function stateAfterPut(
  before: BackendState | undefined,
  { isQueued, isRenamed, nowMs }: { isQueued: boolean; isRenamed: boolean; nowMs: number },
): BackendState {
  const own = {
    ...(before?.remoteId === undefined ? {} : { remoteId: before.remoteId }),
    ...(before?.kept === undefined ? {} : { kept: before.kept }),
  };
  if (isQueued) return { state: "pending", operation: "put", sinceMs: nowMs, ...own };
  // A list of the backend that began earlier does not have the new name.
  const isSince = before?.state === "present" && !isRenamed;
  return { state: "present", sinceMs: isSince ? before.sinceMs : nowMs, ...own };
}

function planRemoval({ before, backends, named, nowMs }: WritePlanInput): WritePlanOutcome {
  let after = before;
  const calls: BackendCall[] = [];
  const queued: BackendCall[] = [];
  for (const backend of backends) {
    const state = before.backends[backend.name];
    if (state === undefined || !named.includes(backend.name)) continue;
    after = withState(after, backend.name, undefined);
    if (backend.kind === "store" || state.state === "vanished") continue;
    const call: BackendCall = { backend: backend.name, operation: "remove" };
    if (!isAsynchronous(backend)) calls.push(call);
    else {
      queued.push(call);
      after = withState(after, backend.name, pendingRemoval(state, nowMs));
    }
  }
  return { ok: true, after: normalizeStatus(after, backends.map(({ name }) => name)), calls, queued };
}

function pendingRemoval({ remoteId }: BackendState, nowMs: number): BackendState {
  return {
    state: "pending",
    operation: "remove",
    sinceMs: nowMs,
    ...(remoteId === undefined ? {} : { remoteId }),
  };
}

export function isAsynchronous({ kind, mode }: BackendInfo): boolean {
  return kind !== "store" && mode === "async";
}

/** The data of a target for the selection. */
interface BackendSelection {
  readonly backends: readonly BackendInfo[];
  /** Whether a backend stores groups. */
  readonly holdsGroups: (backend: string) => boolean;
}

/**
 * The names of the selected backends in the order of the list, each once. Throws the refusal `unknown_backend` for an unknown name, for an empty
 * list, and for a group at a backend without groups. Throws `unsupported` for a group if no backend stores groups.
 */
export function selectBackends(
  { backends, holdsGroups }: BackendSelection,
  { kind, named }: { kind: ResourceKind; named: readonly string[] | undefined },
): string[] {
  const all = backends.map(({ name }) => name);
  const able = all.filter((name) => kind === "user" || holdsGroups(name));
  if (named === undefined) {
    if (able.length > 0) return able;
    throw new ScimRefusal("unsupported", { detail: "No connector of this directory stores groups." });
  }
  if (named.length === 0) {
    throw new ScimRefusal("unknown_backend", { detail: "The parameter `backends` names no backend." });
  }
  const unknown = named.find((name) => !all.includes(name));
  if (unknown !== undefined) {
    const shown = unknown.slice(0, 100);
    throw new ScimRefusal("unknown_backend", { detail: `The directory has no connector "${shown}".` });
  }
  const unable = named.find((name) => !able.includes(name));
  if (unable !== undefined) {
    throw new ScimRefusal("unknown_backend", { detail: `The connector "${unable}" does not store groups.` });
  }
  return all.filter((name) => named.includes(name));
}

/** Members that join and leave a group, by name. */
export interface GroupMemberChange {
  readonly add: readonly string[];
  readonly remove: readonly string[];
  readonly users?: readonly { readonly id: string; readonly name: string }[] | undefined;
}

/** Removes members, then adds members. Names are compared without case, and each name is listed once. */
export function withMemberChange(group: GroupContent, { add, remove }: GroupMemberChange): GroupContent {
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

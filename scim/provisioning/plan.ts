// The plan of one write: reads the resource, the state of each backend and the outbox, and decides the record after the write, the calls, and the
// entries of the outbox. Calls no backend and writes nothing.

import type { Mutation, Store } from "../../platform/store.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import type { Log } from "../../platform/log.ts";
import { HasherBusy, type PasswordHash } from "../../platform/password_hasher.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import type { Backend, ContentChanges } from "../backend_port.ts";
import type { TargetLease, WriteLocks } from "../locks.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type { BackendInfo, GroupMemberChange, TargetDirectory, WriteOptions } from "../ports.ts";
import { contentChanges, joinChanges, type ReadOnlyAttributes, withReadOnly } from "../schema/merge.ts";
import type { BackendState, Content, GroupContent, ResourceKind, Stored } from "../schema/resource.ts";
import {
  type BackendCopies,
  type BackendOperation,
  desiredContent,
  hasResource,
  holdsAlready,
  isSameContent,
  normalizeStatus,
  readStatus,
  replaceState,
  type ResourceStatus,
  withCopy,
  withoutCopy,
  withState,
  type WriteOperation,
} from "./backend_status.ts";
import type { Outbox, StoredEntry } from "./outbox.ts";

/** The parts of an open target, which its operations share. */
export interface TargetParts {
  readonly target: string;
  /** Users sign in from this target. */
  readonly isLoginTarget: boolean;
  /** All backends, in the order of the settings. */
  readonly backends: readonly BackendInfo[];
  /** Those that are called: all but the embedded store. */
  readonly remotes: ReadonlyMap<string, Backend>;
  /** The attributes that are read-only at every backend. */
  readonly readOnly: ReadOnlyAttributes;
  readonly store: Store;
  readonly lease: TargetLease;
  readonly locks: WriteLocks;
  readonly directory: TargetDirectory;
  readonly copies: BackendCopies;
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
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
 * Plans one write from the stored resource, the copies and the outbox. Calls no backend and writes nothing.
 * @throws ScimRefusal if the version differs, the plan refuses, or the hasher is busy
 */
export async function prepareWrite(
  deps: TargetParts,
  { job, options, stored }: Pick<PreparedWrite, "job" | "options" | "stored">,
): Promise<PreparedWrite> {
  const { kind, name, operation } = job;
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
    content: content ?? stored?.content ?? null,
    before,
    backends: deps.backends,
    named,
    unchanged,
    nowMs: deps.clock.nowMs(),
  });
  const pending = await readPending(deps, { kind, name, named });
  const pendingTo = job.to === undefined
    ? NOTHING_PENDING
    : await checkRename(deps, { kind, to: job.to, named, before, pending });
  const { password: known = null } = job.restores ?? {};
  const password = await passwordHash(deps, { kind, named, password: options.password, known });
  const spared = selected.filter((name) => deps.remotes.get(name)?.isReadOnly === true);
  return { job, options, stored, named, spared, before, plan, password, pending, pendingTo };
}

/**
 * Returns the pending writes of the new name.
 * @throws ScimRefusal if the name is taken, if a backend that has the resource cannot rename it or was left out, or if a backend still has each of
 * two resources with the new name of the other one
 */
async function checkRename(
  deps: TargetParts,
  { kind, to, named, before, pending }: Pick<PreparedWrite, "named" | "before" | "pending"> & {
    kind: ResourceKind;
    to: string;
  },
): Promise<PreparedWrite["pendingTo"]> {
  const { directory, remotes } = deps;
  const canonical = canonicalName(to);
  if (await directory.read(kind, canonical) !== null) throw new ScimRefusal("taken");
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
  const now = await directory.renamedTo(kind, canonical);
  for (const [backend, { entry }] of pending) {
    if (now === null || !entry.from?.includes(now)) continue;
    throw new ScimRefusal("busy", {
      detail:
        `Earlier renames are still pending at the connector "${backend}". Try again when they are done.`,
      headers: { "Retry-After": "30" },
    });
  }
  return await readPending(deps, { kind, name: to, named });
}

function checkVersion(stored: Stored | null, { ifVersion, ifId }: WriteOptions): void {
  if (ifId !== undefined && stored?.id !== ifId) throw new ScimRefusal("changed");
  if (ifVersion === undefined || stored === null || stored.version === ifVersion) return;
  throw new ScimRefusal("precondition");
}

const NOTHING_PENDING: PreparedWrite["pending"] = new Map();

async function readPending(
  { remotes, outbox }: TargetParts,
  { kind, name, named }: { kind: ResourceKind; name: string; named: readonly string[] },
): Promise<PreparedWrite["pending"]> {
  const called = named.filter((backend) => remotes.has(backend));
  if (called.length === 0) return NOTHING_PENDING;
  const found = await Promise.all(called.map((backend) => outbox.find(backend, kind, name)));
  return new Map(found.flatMap((known) => known === null ? [] : [[known.backend, known] as const]));
}

/** The hash for the directory, unless the write excludes the embedded store. */
async function passwordHash(
  { backends, hashPassword }: TargetParts,
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
  /** The desired content; `null` exactly for `remove`. */
  readonly content: Content | null;
  readonly before: ResourceStatus;
  /** All backends of the target, in the order of the list. */
  readonly backends: readonly BackendInfo[];
  /** The backends of the write, in the order of the list. */
  readonly named: readonly string[];
  /** Read-only backends that have the resource, and keep it as it is. */
  readonly unchanged: ReadonlySet<string>;
  readonly nowMs: number;
}

interface BackendCall {
  readonly backend: string;
  readonly operation: BackendOperation;
}

interface WritePlan {
  /** The resource after the write. */
  readonly after: ResourceStatus;
  /** The calls before the write is recorded, in order. */
  readonly calls: readonly BackendCall[];
  /** The writes that the outbox delivers. */
  readonly queued: readonly BackendCall[];
}

/** @throws ScimRefusal `taken` or `not_found` */
function planWrite(demand: WritePlanInput): WritePlan {
  const { operation, before, named, unchanged } = demand;
  const exists = isOrphan(demand) || unchanged.size > 0 ||
    named.some((name) => hasResource(before.backends[name]));
  if (operation === "create" && exists) throw new ScimRefusal("taken");
  if (operation !== "create" && !exists) throw new ScimRefusal("not_found");
  return operation === "remove" ? planRemoval(demand) : planPut(demand);
}

/** A resource whose backends are no longer in the settings. It exists, although no backend has it. */
function isOrphan({ before, backends }: WritePlanInput): boolean {
  return before.content !== null && !backends.some(({ name }) => before.backends[name] !== undefined);
}

function planPut(
  { operation, content, before, backends, named, unchanged, nowMs }: WritePlanInput,
): WritePlan {
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
  return { after, calls, queued };
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
  return state === undefined ? kept : replaceState(kept, backend, { ...state, omitted: true });
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

function planRemoval({ before, backends, named, nowMs }: WritePlanInput): WritePlan {
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
  return { after: normalizeStatus(after, backends.map(({ name }) => name)), calls, queued };
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

/**
 * The names of the selected backends in the order of the list, each once. Throws the refusal `unknown_backend` for an unknown name, for an empty
 * list, and for a group at a backend without groups. Throws `unsupported` for a group if no backend stores groups.
 */
export function selectBackends(
  { backends, remotes }: Pick<TargetParts, "backends" | "remotes">,
  { kind, named }: { kind: ResourceKind; named: readonly string[] | undefined },
): string[] {
  const all = backends.map(({ name }) => name);
  const able = all.filter((name) => kind === "user" || remotes.get(name)?.holds.groups !== false);
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

interface WritableBackends {
  /** The backends that the write changes, in the order of the list. */
  readonly writable: readonly string[];
  /** Read-only backends that have the resource, and keep it as it is. */
  readonly unchanged: ReadonlySet<string>;
}

interface AccessInput {
  readonly operation: WriteOperation;
  readonly kind: ResourceKind;
  /** `null` for a removal. */
  readonly content: Content | null;
  readonly before: ResourceStatus;
  readonly named: readonly string[];
  /** The request itself names the backends. */
  readonly isExplicit: boolean;
  readonly setsPassword: boolean;
}

/**
 * Leaves out read-only backends. What such a backend has cannot be changed here, except what it cannot store, such as `active` in OpenLDAP.
 * @throws ScimRefusal `read_only` if only a read-only backend could make the change
 */
function selectWritable(remotes: ReadonlyMap<string, Backend>, input: AccessInput): WritableBackends {
  const { operation, kind, before, named, isExplicit } = input;
  const writable: string[] = [];
  const unchanged = new Set<string>();
  let skipped: string | null = null;
  for (const name of named) {
    const remote = remotes.get(name);
    if (remote?.isReadOnly !== true) {
      writable.push(name);
      continue;
    }
    if (hasResource(before.backends[name])) {
      if (!isUnchangedAt(remote, input)) throw heldReadOnly(name, { operation, kind });
      unchanged.add(name);
    } else if (isExplicit && operation !== "remove") throw cannotCreate(name, kind);
    else skipped ??= name;
  }
  if (writable.length === 0 && skipped !== null && operation === "create") throw cannotCreate(skipped, kind);
  // A user who leaves the read-only directory must not stay in another one that only this write added.
  const isOwn = (name: string) => isExplicit || unchanged.size === 0 || hasResource(before.backends[name]);
  return { writable: writable.filter(isOwn), unchanged };
}

/** Whether the backend stores nothing of the change. */
function isUnchangedAt(
  remote: Backend,
  { operation, content, before, setsPassword }: AccessInput,
): boolean {
  const held = desiredContent(before, remote.name);
  if (operation !== "replace" || setsPassword || content === null || held === null) return false;
  return held.name === content.name &&
    holdsAlready(remote, { content, remote: { content: held, remoteId: "" } });
}

/** The refusal for a change of what a read-only backend has. */
export function heldReadOnly(
  name: string,
  { operation, kind }: { operation: WriteOperation; kind: ResourceKind },
): ScimRefusal {
  const instead = operation === "remove"
    ? `Delete the ${kind} there. The next refresh then removes it here.`
    : `Change the ${kind} there. The next refresh then shows the change here.`;
  return new ScimRefusal("read_only", {
    detail: `The connector "${name}" is read-only, and it has this ${kind}. Nothing was changed. ${instead}`,
  });
}

/** The refusal for a new resource at a read-only backend. */
export function cannotCreate(name: string, kind: ResourceKind): ScimRefusal {
  return new ScimRefusal("read_only", {
    detail:
      `The connector "${name}" is read-only, so a ${kind} cannot be created there. Nothing was changed.`,
  });
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

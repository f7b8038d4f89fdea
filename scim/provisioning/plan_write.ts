// Plans one write: the resource, the state of each backend, the copies, and the backend calls. Pure.

import type { BackendInfo } from "../ports.ts";
import type { BackendState, Content, ResourceKind } from "../schema/resource.ts";
import {
  hasResource,
  isSameContent,
  normalizeStatus,
  type ResourceStatus,
  withCopy,
  withoutCopy,
  withState,
} from "./backend_status.ts";
import type { ContentChanges } from "../backend_port.ts";
import { contentChanges, joinChanges } from "../schema/content_changes.ts";
import { ScimRefusal } from "../http/refusals.ts";

export type WriteOperation = "create" | "replace" | "remove" | "rename";
export type BackendOperation = "put" | "remove" | "rename";

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

export interface WritePlan {
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

export function planWrite(demand: WritePlanInput): WritePlanOutcome {
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
export interface BackendSelection {
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

// Decides what one write means: for the resource, for each backend's state, for the copies, and which calls it takes. Pure.

import type { BackendInfo } from "../ports.ts";
import type { BackendState, Content, ResourceKind } from "../schema/resource.ts";
import { sameContent } from "./content_equals.ts";
import { has, settled, type Standing, withCopy, withState } from "./backend_status.ts";

export type Operation = "create" | "replace" | "remove";
export type BackendOperation = "put" | "remove";

export interface WriteDemand {
  readonly operation: Operation;
  readonly kind: ResourceKind;
  /** What it shall be; `null` exactly for `remove`. */
  readonly content: Content | null;
  readonly before: Standing;
  /** All of the target's, as listed. */
  readonly backends: readonly BackendInfo[];
  /** The names that the write is for, in the order of the list. */
  readonly named: readonly string[];
  readonly nowMs: number;
}

export interface BackendCall {
  readonly backend: string;
  readonly operation: BackendOperation;
}

export interface WritePlan {
  readonly ok: true;
  /** What the resource is when the write is done. */
  readonly after: Standing;
  /** Calls to make before anything is recorded, in order. */
  readonly calls: readonly BackendCall[];
  /** What an outbox delivers. */
  readonly queued: readonly BackendCall[];
}

export type Planned = WritePlan | { readonly ok: false; readonly code: "taken" | "not_found" };

export function planWrite(demand: WriteDemand): Planned {
  const { operation, before, named } = demand;
  const exists = isOrphan(demand) || named.some((name) => has(before.backends[name]));
  if (operation === "create" && exists) return { ok: false, code: "taken" };
  if (operation !== "create" && !exists) return { ok: false, code: "not_found" };
  return operation === "remove" ? planRemoval(demand) : planPut(demand);
}

/** A resource whose backends are not in the settings any more: it exists, though no backend has it. */
function isOrphan({ before, backends }: WriteDemand): boolean {
  return before.content !== null && !backends.some(({ name }) => before.backends[name] !== undefined);
}

function planPut({ content, before, backends, named, nowMs }: WriteDemand): Planned {
  if (content === null) throw new TypeError("Cannot plan a put without content");
  let after: Standing = { ...before, content };
  const calls: BackendCall[] = [];
  const queued: BackendCall[] = [];
  for (const backend of backends) {
    const { name } = backend;
    if (!named.includes(name)) {
      after = keepingOwn(after, { backend: name, before });
      continue;
    }
    const call: BackendCall = { backend: name, operation: "put" };
    const isQueued = isDeliveredLater(backend);
    if (isQueued) queued.push(call);
    else if (backend.kind !== "store") calls.push(call);
    after = withState(after, name, stateAfterPut(before.backends[name], { isQueued, nowMs }));
  }
  return { ok: true, after, calls, queued };
}

/** A backend that the write leaves out goes on holding (or being owed) what it held. */
function keepingOwn(after: Standing, { backend, before }: { backend: string; before: Standing }): Standing {
  const isTouched = has(before.backends[backend]) && !before.copies.has(backend);
  if (!isTouched || before.content === null || after.content === null) return after;
  return sameContent(before.content, after.content) ? after : withCopy(after, backend, before.content);
}

function stateAfterPut(
  before: BackendState | undefined,
  { isQueued, nowMs }: { isQueued: boolean; nowMs: number },
): BackendState {
  const own = {
    ...(before?.remoteId === undefined ? {} : { remoteId: before.remoteId }),
    ...(before?.kept === undefined ? {} : { kept: before.kept }),
  };
  if (isQueued) return { state: "pending", operation: "put", sinceMs: nowMs, ...own };
  return { state: "present", sinceMs: before?.state === "present" ? before.sinceMs : nowMs, ...own };
}

function planRemoval({ before, backends, named, nowMs }: WriteDemand): Planned {
  let after = before;
  const calls: BackendCall[] = [];
  const queued: BackendCall[] = [];
  for (const backend of backends) {
    const state = before.backends[backend.name];
    if (state === undefined || !named.includes(backend.name)) continue;
    after = withState(after, backend.name, undefined);
    if (backend.kind === "store" || state.state === "vanished") continue;
    const call: BackendCall = { backend: backend.name, operation: "remove" };
    if (!isDeliveredLater(backend)) calls.push(call);
    else {
      queued.push(call);
      after = withState(after, backend.name, owedRemoval(state, nowMs));
    }
  }
  return { ok: true, after: settled(after, backends.map(({ name }) => name)), calls, queued };
}

function owedRemoval({ remoteId }: BackendState, nowMs: number): BackendState {
  return {
    state: "pending",
    operation: "remove",
    sinceMs: nowMs,
    ...(remoteId === undefined ? {} : { remoteId }),
  };
}

export function isDeliveredLater({ kind, mode }: BackendInfo): boolean {
  return kind !== "store" && mode === "async";
}

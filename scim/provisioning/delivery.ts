// One attempt to deliver a pending write to a backend. The entry is marked as started first. After a crash, the backend is then read first,
// so that nothing is applied twice.

import { type Backoff, backoffMs } from "../../platform/backoff.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import type { TargetDirectory } from "../ports.ts";
import {
  type Backend,
  type BackendFault,
  type BackendOutcome,
  isSameSummary,
  type PutResult,
  withMembersNotStored,
} from "../backend_port.ts";
import type { BackendState, Content, Stored } from "../schema/resource.ts";
import type { BackendCopies } from "./backend_status.ts";
import { deliverRename } from "./deliver_rename.ts";
import type { WriteLocks } from "./locks.ts";
import type { Outbox, OutboxEntry, StoredEntry } from "./outbox.ts";
import { holdsAlready } from "./reconcile.ts";

/** `superseded`: a newer write replaced the entry, or another node has it. `nextMs`: the next attempt; `null` for a dead letter. */
type DeliveryOutcome =
  | { readonly outcome: "done" | "superseded" }
  | { readonly outcome: "failed"; readonly fault: BackendFault; readonly nextMs: number | null };

export interface DeliveryDeps {
  readonly store: Store;
  readonly directory: TargetDirectory;
  readonly outbox: Outbox;
  readonly copies: BackendCopies;
  readonly locks: WriteLocks;
  readonly clock: Clock;
  readonly random: Random;
  readonly target: string;
}

/** Delivers one entry. Rejects if the store fails; the entry then stays. @param known an entry that is not a dead letter. */
export async function deliver(
  deps: DeliveryDeps,
  { backend, known }: { backend: Backend; known: StoredEntry },
): Promise<DeliveryOutcome> {
  const { kind, name, from = [] } = known.entry;
  // The names that the resource may have at the backend.
  const names = [...from, name].map((one) => ({ kind, name: one, backend: known.backend }));
  const tried = await deps.locks.run(names, async () => {
    const started = await markStarted(deps, known);
    if (started === null) return null;
    return {
      started,
      outcome: await attempt(deps, { backend, known: started, isInDoubt: known.entry.started }),
    };
  });
  if (tried === null) return { outcome: "superseded" };
  const { started: attempted, outcome } = tried;
  // The lock of the resource is not held during the call, so that a slow backend does not delay writes of the resource.
  return await deps.locks.run([{ kind, name }], async () => {
    const now = await deps.outbox.find(known.backend, kind, name);
    if (now === null || now.sequence !== known.sequence) await forgetStray(deps, attempted);
    if (now?.versionstamp !== attempted.versionstamp) return { outcome: "superseded" };
    return outcome.ok
      ? await recordDone(deps, { known: now, put: outcome.value })
      : await recordFault(deps, { known: now, fault: outcome.fault });
  });
}

async function markStarted({ store, outbox }: DeliveryDeps, known: StoredEntry): Promise<StoredEntry | null> {
  const entry: OutboxEntry = { ...known.entry, started: true, attempts: known.entry.attempts + 1 };
  const change = outbox.update(known, entry);
  const [first] = change.mutations;
  if (first === undefined || first.type === "audit") return null;
  const { key } = first;
  const committed = await store.commit({
    checks: [{ key, versionstamp: known.versionstamp }],
    mutations: change.mutations,
  });
  if (!committed.ok) return null;
  change.committed();
  return { ...known, entry, versionstamp: committed.versionstamp };
}

/** Deletes an entry that was replaced by an entry with another sequence number. It would never end by itself. */
async function forgetStray({ store, outbox, target }: DeliveryDeps, stray: StoredEntry): Promise<void> {
  const key = ["outbox", target, stray.backend, stray.sequence];
  const forgotten = await store.commit({
    checks: [{ key, versionstamp: stray.versionstamp }],
    mutations: [{ type: "delete", key }],
  });
  if (forgotten.ok) outbox.forget(stray);
}

async function attempt(
  deps: DeliveryDeps,
  { backend, known, isInDoubt }: { backend: Backend; known: StoredEntry; isInDoubt: boolean },
): Promise<BackendOutcome<Partial<PutResult>>> {
  const { kind, name, operation, remoteId, changes } = known.entry;
  const hint = remoteId === undefined ? {} : { remoteId };
  const content = operation === "remove" ? null : await contentToDeliver(deps, known);
  // The resource no longer exists, so there is nothing to deliver.
  if (operation !== "remove" && content === null) return { ok: true, value: {} };
  const password = deps.outbox.openPassword(known);
  const sets = {
    ...(password === undefined ? {} : { password }),
    ...(changes === undefined ? {} : { changes }),
  };
  if (known.entry.from !== undefined) {
    const desired = content === null ? null : { content, ...sets };
    return await deliverRename(backend, { known, desired, hint });
  }
  // A backend that hides members does not show whether they left.
  const isUnseen = backend.showsMembers !== undefined && (changes?.left.length ?? 0) > 0;
  if (isInDoubt && !isUnseen) {
    const found = await backend.read(kind, name, hint);
    if (!found.ok) return found;
    if (found.value === null && content === null) return { ok: true, value: {} };
    const isThere = found.value !== null && content !== null && password === undefined &&
      holdsAlready(backend, { content, remote: found.value });
    if (isThere) return { ok: true, value: { remoteId: found.value.remoteId } };
  }
  if (content === null) {
    const removed = await backend.remove(kind, name, hint);
    return removed.ok ? { ok: true, value: {} } : removed;
  }
  return await backend.put({ content, ...sets }, hint);
}

/** The content to write to the backend. */
async function contentToDeliver(
  { directory, copies }: DeliveryDeps,
  { backend, entry: { kind, name, restores } }: StoredEntry,
): Promise<Content | null> {
  const canonical = canonicalName(name);
  const stored = await directory.read(kind, canonical);
  const isApart = restores === true || stored?.backends[backend]?.differs === true;
  const copy = isApart ? await copies.read({ backend, kind, canonical }) : null;
  return copy ?? stored?.content ?? null;
}

async function recordDone(
  deps: DeliveryDeps,
  { known, put }: { known: StoredEntry; put: Partial<PutResult> },
): Promise<DeliveryOutcome> {
  const { backend, entry: { kind, name, operation, restores } } = known;
  const canonical = canonicalName(name);
  const stored = await deps.directory.read(kind, canonical);
  const state = stored?.backends[backend];
  const isOwn = restores === true && state?.differs === undefined;
  const dropped = isOwn ? await deps.copies.drop({ backend, kind, canonical }) : [];
  const change = deps.outbox.drop(known);
  const next = state?.operation === undefined
    ? redelivered(state, { operation, put })
    : delivered(state, { operation, put, nowMs: deps.clock.nowMs() });
  await record(deps, { stored, backend, next, mutations: [...change.mutations, ...dropped] });
  change.committed();
  return { outcome: "done" };
}

/** The state after a delivery that was not recorded as pending, such as a group without a deleted user. */
function redelivered(
  state: BackendState | undefined,
  { operation, put }: { operation: string; put: Partial<PutResult> },
): BackendState | undefined {
  if (state?.state !== "present" || operation === "remove") return state;
  return withMembersNotStored(state, put.notStored);
}

function delivered(
  { differs, omitted, kept }: BackendState,
  { operation, put: { remoteId, notStored }, nowMs }: {
    operation: string;
    put: Partial<PutResult>;
    nowMs: number;
  },
): BackendState | undefined {
  if (operation === "remove") return undefined;
  return {
    state: "present",
    sinceMs: nowMs,
    ...(remoteId === undefined ? {} : { remoteId }),
    ...(differs === undefined ? {} : { differs }),
    ...(omitted === undefined ? {} : { omitted }),
    ...(kept === undefined ? {} : { kept }),
    ...(notStored === undefined ? {} : { notStored }),
  };
}

async function recordFault(
  deps: DeliveryDeps,
  { known, fault }: { known: StoredEntry; fault: BackendFault },
): Promise<DeliveryOutcome> {
  const { backend, entry } = known;
  const isDead = isPermanent(fault, entry.attempts);
  const nextMs = deps.clock.nowMs() + retryDelayMs(fault, entry.attempts, deps.random);
  const change = deps.outbox.update(
    known,
    { ...entry, nextMs, why: fault.detail, started: fault.unsure },
    { isDead },
  );
  const stored = await deps.directory.read(entry.kind, canonicalName(entry.name));
  const state = stored?.backends[backend];
  const next: BackendState | undefined = state?.operation === undefined
    ? state
    : { ...state, state: isDead ? "failed" : "pending", why: fault.detail };
  await record(deps, { stored, backend, next, mutations: change.mutations });
  change.committed();
  return { outcome: "failed", fault, nextMs: isDead ? null : nextMs };
}

/** Commits the change of the entry, and the state of the resource if it changes. */
async function record(
  { store, directory }: DeliveryDeps,
  { stored, backend, next, mutations }: {
    stored: Stored | null;
    backend: string;
    next: BackendState | undefined;
    mutations: readonly Mutation[];
  },
): Promise<void> {
  const state = stored?.backends[backend];
  const isSame = state === next ||
    (state?.state === next?.state && state?.why === next?.why &&
      isSameSummary(state?.notStored, next?.notStored));
  if (stored === null || isSame) {
    await store.commit({ mutations });
    return;
  }
  const { [backend]: _before, ...others } = stored.backends;
  const written = await directory.write({
    kind: stored.content.kind,
    name: stored.content.name,
    expected: stored.version,
    recorded: stored.recorded ?? 0,
    statesOnly: true,
    next: {
      content: stored.content,
      backends: next === undefined ? others : { ...others, [backend]: next },
    },
    also: mutations,
  });
  // Another process wrote the resource. The attempt counts as unknown and is repeated.
  if (!written.ok) throw new Error(`Cannot record a delivery to "${backend}": the resource was changed`);
}

const DELAYS: Backoff = { firstMs: 1000, longestMs: 10 * 60_000, factors: [0.8, 1.2] };
/** An unreachable backend is called at least this often. One call a minute is cheap, and its return is noticed soon. */
const UNAVAILABLE_DELAYS: Backoff = { ...DELAYS, longestMs: 60_000 };
const MAX_RETRY_AFTER_MS = 3600_000;
/** Failed attempts before a write becomes a dead letter. A fault that says that the backend is unreachable or busy never makes it one. */
const MAX_ATTEMPTS = 50;

/** Whether the fault concerns the whole backend, and not one resource. */
export function isUnavailable({ kind }: BackendFault): boolean {
  return kind === "unreachable" || kind === "busy";
}

/** @param attempts the number of attempts, from 1 */
export function retryDelayMs(fault: BackendFault, attempts: number, random: Random): number {
  const askedMs = Math.min(fault.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  return Math.max(backoffMs(isUnavailable(fault) ? UNAVAILABLE_DELAYS : DELAYS, attempts, random), askedMs);
}

/** Whether a write becomes a dead letter until an operator retries it. This never happens because a backend is unreachable or busy. */
export function isPermanent(fault: BackendFault, attempts: number): boolean {
  return !fault.retry || (attempts >= MAX_ATTEMPTS && !isUnavailable(fault));
}

// One attempt to give a backend what it is owed. It is marked as started before, so that after a crash the backend is looked at first and nothing is
// applied twice.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import type { Directory } from "../ports.ts";
import type { BackendFault, BackendOutcome, PutResult } from "../backend_port.ts";
import type { BackendState, Content, Stored } from "../schema/resource.ts";
import { isSameSummary, withMembersNotStored } from "../schema/members_not_stored.ts";
import type { Copies } from "./backend_copies.ts";
import { isHopeless, retryDelayMs } from "./backoff.ts";
import type { KeyedLocks } from "./keyed_locks.ts";
import type { Link } from "./backend_client.ts";
import type { KeptEntry, Outbox, OutboxEntry } from "./outbox.ts";
import { holdsAlready } from "./reconcile.ts";

/** `superseded`: a newer write took the entry's place, or another node has it. `nextMs`: when it is due again; `null` for a dead letter. */
export type Delivered =
  | { readonly outcome: "done" | "superseded" }
  | { readonly outcome: "failed"; readonly fault: BackendFault; readonly nextMs: number | null };

export interface DeliveryDeps {
  readonly store: Store;
  readonly directory: Directory;
  readonly outbox: Outbox;
  readonly copies: Copies;
  readonly locks: KeyedLocks;
  readonly clock: Clock;
  readonly random: Random;
  readonly target: string;
}

/** The key of a resource in locks. */
export function lockKey(kind: string, name: string): string {
  return `${kind} ${canonicalName(name)}`;
}

/** @param known a live entry as it was read. Rejects when the store fails; the entry stands then. */
export async function deliver(
  deps: DeliveryDeps,
  { link, known }: { link: Link; known: KeptEntry },
): Promise<Delivered> {
  const { kind, name } = known.entry;
  const release = await link.locks.hold(lockKey(kind, name));
  let started: KeptEntry | null;
  let outcome: BackendOutcome<Partial<PutResult>>;
  try {
    started = await markStarted(deps, known);
    if (started === null) return { outcome: "superseded" };
    outcome = await attempt(deps, { link, known: started, isInDoubt: known.entry.started });
  } finally {
    release();
  }
  const attempted = started;
  // The resource's lock is not held while the backend works: a slow backend must not hold up who writes the resource.
  return await deps.locks.run(lockKey(kind, name), async () => {
    const now = await deps.outbox.find(known.backend, kind, name);
    if (now === null || now.sequence !== known.sequence) await forgetStray(deps, attempted);
    if (now?.versionstamp !== attempted.versionstamp) return { outcome: "superseded" };
    return outcome.ok
      ? await recordDone(deps, { known: now, put: outcome.value })
      : await recordFault(deps, { known: now, fault: outcome.fault });
  });
}

async function markStarted({ store, outbox }: DeliveryDeps, known: KeptEntry): Promise<KeptEntry | null> {
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

/** An entry that its resource does not point to was replaced by one with another number; it would never end by itself. */
async function forgetStray({ store, outbox, target }: DeliveryDeps, stray: KeptEntry): Promise<void> {
  const key = ["outbox", target, stray.backend, stray.sequence];
  const forgotten = await store.commit({
    checks: [{ key, versionstamp: stray.versionstamp }],
    mutations: [{ type: "delete", key }],
  });
  if (forgotten.ok) outbox.forget(stray);
}

async function attempt(
  deps: DeliveryDeps,
  { link, known, isInDoubt }: { link: Link; known: KeptEntry; isInDoubt: boolean },
): Promise<BackendOutcome<Partial<PutResult>>> {
  const { kind, name, operation, remoteId } = known.entry;
  const hint = remoteId === undefined ? {} : { remoteId };
  const content = operation === "put" ? await owedContent(deps, known) : null;
  // A put of what is nowhere any more: there is nothing to deliver.
  if (operation === "put" && content === null) return { ok: true, value: {} };
  const password = deps.outbox.openPassword(known);
  if (isInDoubt) {
    const found = await link.backend.read(kind, name, hint);
    if (!found.ok) return found;
    if (found.value === null && content === null) return { ok: true, value: {} };
    const isThere = found.value !== null && content !== null && password === undefined &&
      holdsAlready(link.backend, { content, remote: found.value });
    if (isThere) return { ok: true, value: { remoteId: found.value.remoteId } };
  }
  if (content === null) {
    const removed = await link.backend.remove(kind, name, hint);
    return removed.ok ? { ok: true, value: {} } : removed;
  }
  return await link.backend.put({ content, ...(password === undefined ? {} : { password }) }, hint);
}

/** What the backend shall hold, as it is now. */
async function owedContent(
  { directory, copies }: DeliveryDeps,
  { backend, entry: { kind, name, restores } }: KeptEntry,
): Promise<Content | null> {
  const canonical = canonicalName(name);
  const stored = await directory.read(kind, canonical);
  const isApart = restores === true || stored?.backends[backend]?.differs === true;
  const copy = isApart ? await copies.read({ backend, kind, canonical }) : null;
  return copy ?? stored?.content ?? null;
}

async function recordDone(
  deps: DeliveryDeps,
  { known, put }: { known: KeptEntry; put: Partial<PutResult> },
): Promise<Delivered> {
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

/** The state after a delivery that it does not count as pending: a group without a user who left. */
function redelivered(
  state: BackendState | undefined,
  { operation, put }: { operation: string; put: Partial<PutResult> },
): BackendState | undefined {
  if (state?.state !== "present" || operation === "remove") return state;
  return withMembersNotStored(state, put.notStored);
}

function delivered(
  { differs, kept }: BackendState,
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
    ...(kept === undefined ? {} : { kept }),
    ...(notStored === undefined ? {} : { notStored }),
  };
}

async function recordFault(
  deps: DeliveryDeps,
  { known, fault }: { known: KeptEntry; fault: BackendFault },
): Promise<Delivered> {
  const { backend, entry } = known;
  const isDead = isHopeless(fault, entry.attempts);
  const chance = (deps.random.bytes(1)[0] ?? 0) / 256;
  const nextMs = deps.clock.nowMs() + retryDelayMs(fault, { attempts: entry.attempts, chance });
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

/** One commit: what happens to the entry, and the resource's state where that changes. */
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
  // Another process wrote it: the attempt counts as in doubt and is looked at again.
  if (!written.ok) throw new Error(`Cannot record a delivery to "${backend}": the resource was changed`);
}

// Delivers the pending writes of one backend: in order, a few resources at a time, and only while this node holds the lease of the target. An entry is
// marked as started first. After a crash, the backend is then read first, so that nothing is applied twice.

import { canonicalName } from "../../platform/canonical_name.ts";
import { type Backoff, backoffMs } from "../../platform/backoff.ts";
import { LeaseUnavailable } from "../../platform/cluster/lease.ts";
import { type Random, withTimeout } from "../../platform/runtime.ts";
import type { Mutation } from "../../platform/store.ts";
import { WorkLoop } from "../../platform/work_loop.ts";
import {
  type Backend,
  type BackendFault,
  type BackendOutcome,
  type DesiredResource,
  isSameSummary,
  isUnavailable,
  type PutResult,
  type RemoteHint,
  renameAt,
  withMembersNotStored,
} from "../backend_port.ts";
import type { BackendState, Content, Stored } from "../schema/resource.ts";
import { holdsAlready, presentState } from "./backend_status.ts";
import { resourceKey } from "../locks.ts";
import type { OutboxEntry, StoredEntry } from "./outbox.ts";
import type { TargetParts } from "./plan.ts";

const MAX_CONCURRENT = 4;
/** A node that stopped leaves entries without a notification. */
const POLL_INTERVAL_MS = 30_000;
const STORE_RETRY_MS = 5000;
/** Another node has the lease and delivers. If it releases the lease with entries left, this node takes it within this time. */
const LEASE_RETRY_MS = 5000;
const CLOSE_TIMEOUT_MS = 5000;

interface DeliveryWorkerParts extends TargetParts {
  readonly backend: Backend;
}

export class DeliveryWorker {
  readonly #deps: DeliveryWorkerParts;
  readonly #loop: WorkLoop;
  #hasWaitingGroup = false;
  /** How often in a row the backend was unavailable. After a failure, one entry at a time is tried when the pause ends. */
  #failures = 0;
  #pause = { fromMs: 0, untilMs: 0 };

  /** Starts to deliver. */
  constructor(deps: DeliveryWorkerParts) {
    this.#deps = deps;
    this.#loop = new WorkLoop({
      clock: deps.clock,
      intervalMs: POLL_INTERVAL_MS,
      pass: () => this.#startDue(),
      onFault: (fault) => this.#logError("the outbox cannot be read", fault),
      pausedUntilMs: () => this.#isPaused ? this.#pause.untilMs : 0,
    });
    this.#loop.wake();
  }

  /** Call it after an entry was added. */
  wake(): void {
    this.#loop.wake();
  }

  /** Waits for the current deliveries, up to a limit. Pending writes stay in the store. */
  async close(): Promise<void> {
    await withTimeout(this.#loop.close(), { clock: this.#deps.clock, timeoutMs: CLOSE_TIMEOUT_MS });
  }

  /** Reads the pending writes once, and starts those that are due. */
  async #startDue(): Promise<void> {
    const { outbox, backend, clock, lease } = this.#deps;
    const loop = this.#loop;
    this.#hasWaitingGroup = false;
    // Each added write wakes the worker. While the backend is unavailable, that must not read the outbox each time.
    if (this.#isPaused) return loop.dueAt(this.#pause.untilMs);
    const earlier = new EarlierRenames();
    for await (const known of outbox.live(backend.name)) {
      const key = resourceKey(known.entry);
      const mustWait = earlier.mustWait(known.entry);
      earlier.add(known.entry);
      if (mustWait || loop.active.has(key)) continue;
      if (!isDue(known.entry, clock.nowMs())) {
        loop.dueAt(known.entry.nextMs);
        continue;
      }
      while (this.#isFull && !loop.isClosed) await Promise.race(loop.active.values());
      if (await this.#waitsForMember(known.entry)) continue;
      if (loop.isClosed) return;
      if (this.#isPaused) return loop.dueAt(this.#pause.untilMs);
      const isStarted = (lease.isHeld || await lease.claim()) && this.#start(key, known);
      if (!isStarted) return loop.dueAt(clock.nowMs() + LEASE_RETRY_MS);
    }
  }

  /** Returns `false` if this node does not hold the lease, or must hand it over. */
  #start(key: string, known: StoredEntry): boolean {
    const delivery = this.#deps.lease.runIfHeld(() => this.#deliver(known));
    if (delivery === null) return false;
    const task = delivery.catch((fault) => {
      if (!(fault instanceof LeaseUnavailable)) this.#logError("a delivery was not recorded", fault);
      // The entry is still due, so without a pause it would be tried again at once.
      this.#pauseFor(STORE_RETRY_MS);
      this.#loop.wake();
    });
    this.#loop.track(key, task, () => this.#hasWaitingGroup && this.#loop.wake());
    return true;
  }

  async #deliver(known: StoredEntry): Promise<void> {
    const { log, target, random, backend } = this.#deps;
    const { outcome, ...ended } = await deliver(this.#deps, { backend, known });
    if (outcome === "superseded") this.#loop.dueAt(0);
    if (outcome !== "done") this.#loop.wake();
    if (!("fault" in ended)) {
      if (outcome === "done") this.#failures = 0;
      // Entries that came later may wait for it.
      if (known.entry.from !== undefined) this.#loop.wake();
      return;
    }
    const { fault, nextMs } = ended;
    const { kind, name, operation, attempts } = known.entry;
    log.warn("a write to a backend is still pending", {
      target,
      backend: backend.name,
      [kind]: name,
      operation,
      attempts: attempts + 1,
      givenUp: nextMs === null,
      why: fault.detail,
    });
    if (nextMs !== null) this.#loop.dueAt(nextMs);
    if (!isUnavailable(fault)) this.#failures = 0;
    else if (!this.#isPaused) {
      this.#failures++;
      this.#pauseFor(retryDelayMs(fault, this.#failures, random));
    }
  }

  get #isFull(): boolean {
    return this.#loop.active.size >= (this.#failures > 0 ? 1 : MAX_CONCURRENT);
  }

  /** Whether a member of the group is being delivered. A backend omits members that it does not have yet. */
  async #waitsForMember({ kind, name }: OutboxEntry): Promise<boolean> {
    if (kind !== "group" || !this.#loop.active.keys().some((key) => key.startsWith("user "))) return false;
    const content = (await this.#deps.directory.read("group", canonicalName(name)))?.content;
    if (content?.kind !== "group") return false;
    const waits = content.members.some((one) =>
      this.#loop.active.has(resourceKey({ kind: "user", name: one }))
    );
    this.#hasWaitingGroup ||= waits;
    return waits;
  }

  get #isPaused(): boolean {
    return isBetween(this.#pause, this.#deps.clock.nowMs());
  }

  #pauseFor(durationMs: number): void {
    const fromMs = this.#deps.clock.nowMs();
    const untilMs = fromMs + durationMs;
    if (!this.#isPaused || untilMs > this.#pause.untilMs) this.#pause = { fromMs, untilMs };
  }

  #logError(message: string, fault: unknown): void {
    const { log, target, backend } = this.#deps;
    log.error(message, {
      target,
      backend: backend.name,
      error: fault instanceof Error ? fault.message : "unknown",
    });
  }
}

/** Whether a wait is in progress. It ends when the clock is set back to before it began, or it would last longer by as much. */
function isBetween({ fromMs, untilMs }: { fromMs: number; untilMs: number }, nowMs: number): boolean {
  return fromMs <= nowMs && nowMs < untilMs;
}

function isDue({ nextMs, setMs = 0 }: OutboxEntry, nowMs: number): boolean {
  return !isBetween({ fromMs: setMs, untilMs: nextMs }, nowMs);
}

/** The renames among the entries that were read before. Each frees names at the backend, and groups name users as they are called afterwards. */
class EarlierRenames {
  readonly #names = new Set<string>();
  #hasUser = false;

  mustWait({ kind, name, from = [] }: OutboxEntry): boolean {
    return [name, ...from].some((one) => this.#names.has(resourceKey({ kind, name: one }))) ||
      (kind === "group" && this.#hasUser);
  }

  add({ kind, from = [] }: OutboxEntry): void {
    for (const name of from) this.#names.add(resourceKey({ kind, name }));
    this.#hasUser ||= kind === "user" && from.length > 0;
  }
}

/** `superseded`: a newer write replaced the entry, or another node has it. `nextMs`: the next attempt; `null` for a dead letter. */
type DeliveryOutcome =
  | { readonly outcome: "done" | "superseded" }
  | { readonly outcome: "failed"; readonly fault: BackendFault; readonly nextMs: number | null };

/** Delivers one entry. Rejects if the store fails; the entry then stays. @param known an entry that is not a dead letter. */
async function deliver(
  deps: TargetParts,
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

async function markStarted({ store, outbox }: TargetParts, known: StoredEntry): Promise<StoredEntry | null> {
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
async function forgetStray({ store, outbox, target }: TargetParts, stray: StoredEntry): Promise<void> {
  const key = ["outbox", target, stray.backend, stray.sequence];
  const forgotten = await store.commit({
    checks: [{ key, versionstamp: stray.versionstamp }],
    mutations: [{ type: "delete", key }],
  });
  if (forgotten.ok) outbox.forget(stray);
}

async function attempt(
  deps: TargetParts,
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
  { directory, copies }: TargetParts,
  { backend, entry: { kind, name, restores } }: StoredEntry,
): Promise<Content | null> {
  const canonical = canonicalName(name);
  const stored = await directory.read(kind, canonical);
  const isApart = restores === true || stored?.backends[backend]?.differs === true;
  const copy = isApart ? await copies.read({ backend, kind, canonical }) : null;
  return copy ?? stored?.content ?? null;
}

async function recordDone(
  deps: TargetParts,
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
    : operation === "remove"
    ? undefined
    : presentState(state, { ...put, sinceMs: deps.clock.nowMs() });
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

async function recordFault(
  deps: TargetParts,
  { known, fault }: { known: StoredEntry; fault: BackendFault },
): Promise<DeliveryOutcome> {
  const { backend, entry } = known;
  const isAway = isUnavailable(fault);
  // The attempts during an outage say nothing about the write.
  const failures = (entry.failures ?? 0) + (isAway ? 0 : 1);
  const isDead = isPermanent(fault, failures);
  const setMs = deps.clock.nowMs();
  const nextMs = setMs + retryDelayMs(fault, isAway ? entry.attempts : failures, deps.random);
  const change = deps.outbox.update(
    known,
    { ...entry, failures, nextMs, setMs, why: fault.detail, started: fault.unsure },
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
  { store, directory }: TargetParts,
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

/** Returns how many dead letters are retried. @param options.backend only the dead letters of this backend. */
export async function retryDeadLetters(
  parts: TargetParts,
  { backend }: { readonly backend?: string },
): Promise<number> {
  let retried = 0;
  for (const name of parts.remotes.keys()) {
    if (backend !== undefined && name !== backend) continue;
    for await (const { entry } of parts.outbox.dead(name)) {
      const retryOne = async () => {
        const known = await parts.outbox.find(name, entry.kind, entry.name);
        if (known === null || !known.isDead) return false;
        await retry(parts, known);
        return true;
      };
      if (await parts.locks.write([entry], retryOne)) retried++;
    }
  }
  return retried;
}

async function retry(parts: TargetParts, known: StoredEntry): Promise<void> {
  const { backend, entry: { kind, name, operation, restores, changes } } = known;
  const restoring = restores === undefined ? {} : { restores };
  const change = parts.outbox.add({ backend, kind, name, operation, changes, ...restoring }, known);
  const stored = await parts.directory.read(kind, canonicalName(name));
  let next = stored?.backends[backend];
  if (next?.state === "failed") {
    const { why: _former, ...rest } = next;
    next = { ...rest, state: "pending" };
  }
  await record(parts, { stored, backend, next, mutations: change.mutations });
  change.committed();
}

const DELAYS: Backoff = { firstMs: 1000, longestMs: 10 * 60_000, factors: [0.8, 1.2] };
/** An unreachable backend is called at least this often. One call a minute is cheap, and its return is noticed soon. */
const UNAVAILABLE_DELAYS: Backoff = { ...DELAYS, longestMs: 60_000 };
const MAX_RETRY_AFTER_MS = 3600_000;
/** Failures before a write becomes a dead letter. Those that say that the backend is unreachable or busy do not count. */
const MAX_FAILURES = 50;

/** @param attempts those that failed, from 1 */
export function retryDelayMs(fault: BackendFault, attempts: number, random: Random): number {
  const askedMs = Math.min(fault.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  return Math.max(backoffMs(isUnavailable(fault) ? UNAVAILABLE_DELAYS : DELAYS, attempts, random), askedMs);
}

/** Whether a write becomes a dead letter until an operator retries it. This never happens because a backend is unreachable or busy. */
export function isPermanent(fault: BackendFault, failures: number): boolean {
  return !fault.retry || (failures >= MAX_FAILURES && !isUnavailable(fault));
}

/** Renames or removes the resource, whichever of its names it has at the backend. It can be repeated. @param rename.desired `null`: it is removed */
async function deliverRename(
  backend: Backend,
  { known: { entry }, desired, hint }: {
    known: StoredEntry;
    desired: DesiredResource | null;
    hint: RemoteHint;
  },
): Promise<BackendOutcome<Partial<PutResult>>> {
  const { kind, name, from = [], clears } = entry;
  if (desired === null) return await removeAll(backend, { kind, names: [...from, name], hint });
  let held: string | null = null;
  for (const one of from) {
    const read = await backend.read(kind, one, hint);
    if (!read.ok) return read;
    if (read.value === null) continue;
    held = one;
    break;
  }
  if (held === null) return await backend.put(desired, hint);
  if (clears === true) {
    const removed = await backend.remove(kind, name);
    if (!removed.ok) return removed;
  }
  return await renameAt(backend, { from: held, desired, hint });
}

async function removeAll(
  backend: Backend,
  { kind, names, hint }: Pick<StoredEntry["entry"], "kind"> & {
    names: readonly string[];
    hint: RemoteHint;
  },
): Promise<BackendOutcome<Partial<PutResult>>> {
  for (const name of names) {
    const removed = await backend.remove(kind, name, hint);
    if (!removed.ok) return removed;
  }
  return { ok: true, value: {} };
}

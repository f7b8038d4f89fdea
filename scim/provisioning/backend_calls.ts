// The calls to the backends that must succeed before a write is recorded. An intent with what they had before is durable first. If a call or the commit
// fails, the calls are undone in reverse order. What a crash interrupted is undone by the outbox.

import { canonicalName } from "../../platform/canonical_name.ts";
import { LeaseUnavailable } from "../../platform/cluster/lease.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import {
  type Backend,
  type BackendFault,
  type BackendOutcome,
  type ContentChanges,
  type PutResult,
  type RemoteResource,
  renameAt,
} from "../backend_port.ts";
import { backendRefusal, ScimRefusal } from "../http/refusals.ts";
import type { GroupMemberChange, Receipt, ReceiptEntry, Written } from "../ports.ts";
import { contentChanges, joinChanges, NO_CHANGES } from "../schema/merge.ts";
import type { Content, ResourceKind } from "../schema/resource.ts";
import {
  type BackendOperation,
  deleteChunkedText,
  desiredContent,
  holdsAlready,
  parseContent,
  readChunkedText,
  readStatus,
  setChunkedText,
  withKnownMembers,
} from "./backend_status.ts";
import { type Lockable, resourceKey } from "../locks.ts";
import type { OutboxChange } from "./outbox.ts";
import { changesFor, type PreparedWrite, type TargetParts, withMemberChange, type WriteJob } from "./plan.ts";

/** What the calls of a write resulted in: the intent that ends with its commit, and the result of each put, by backend. */
export interface CalledBackends {
  readonly intent: Intent;
  readonly puts: ReadonlyMap<string, PutResult>;
}

/** Makes the calls of writes. */
export class BackendCalls {
  readonly #parts: TargetParts;
  readonly #intents: IntentLog;
  /** Intents whose end could not be recorded, by resource. */
  readonly #unfinished = new Map<string, string>();

  constructor(parts: TargetParts, intents: IntentLog) {
    this.#parts = parts;
    this.#intents = intents;
  }

  /**
   * Makes the calls of a write, and commits it.
   * @param resources its resource; a rename has two names
   * @throws ScimRefusal if a backend fails
   */
  async run(
    prepared: PreparedWrite,
    resources: readonly Lockable[],
    commit: (called: CalledBackends) => Promise<Written>,
  ): Promise<Written> {
    const calls = await readBefore(this.#parts, prepared);
    const intent = await this.#intents.begin(prepared.job, calls);
    const keys = resources.map(resourceKey);
    for (const key of keys) this.#unfinished.set(key, intent.id);
    const finished = () => keys.forEach((key) => this.#unfinished.delete(key));
    const outcome = await makeCalls(prepared, calls, this.#parts.lease);
    if (!outcome.ok) {
      const left = await this.#undo(prepared, outcome.touched, intent);
      finished();
      throw this.#refuse(prepared, { ...outcome, left });
    }
    try {
      const written = await commit({ intent, puts: outcome.puts });
      finished();
      return written;
    } catch (fault) {
      if (!(fault instanceof LeaseUnavailable)) await this.#undo(prepared, calls, intent);
      finished();
      throw fault;
    }
  }

  /** An intent that the store could not end must end before the next write of the resource. */
  async finish(resources: readonly Lockable[]): Promise<void> {
    if (this.#unfinished.size === 0) return;
    for (const key of resources.map(resourceKey)) {
      const id = this.#unfinished.get(key);
      if (id === undefined) continue;
      await this.#intents.compensate(id);
      this.#unfinished.delete(key);
    }
  }

  /** Logs the failure of a backend, and returns the refusal. */
  #refuse({ job, named }: PreparedWrite, failed: FailedCalls): ScimRefusal {
    const { fault, failed: { backend: { name } }, left } = failed;
    this.#parts.log.warn("a write was refused because a backend failed", {
      target: this.#parts.target,
      backend: name,
      [job.kind]: job.name,
      operation: job.operation,
      notUndone: left.map(({ backend }) => backend.name).join(" "),
      why: fault.detail,
    });
    return backendRefusal(name, { fault, receipt: failureReceipt(named, failed) });
  }

  /**
   * Undoes the calls, queues what could not be undone, and returns it.
   * @throws LeaseUnavailable if this node lost the lease. The new holder undoes the calls, because the intent is in the store, and may have
   * written since.
   */
  async #undo(
    prepared: PreparedWrite,
    touched: readonly SyncCall[],
    intent: Intent,
  ): Promise<SyncCall[]> {
    await this.#parts.lease.confirm();
    if (!await this.#intents.isOpen(intent)) {
      throw new LeaseUnavailable("Cannot undo a write: its intent has ended");
    }
    const left: SyncCall[] = [];
    for (const call of touched.toReversed()) {
      if (!(await undoCall(prepared, call)).ok) left.push(call);
    }
    const changes: OutboxChange[] = [];
    const { job: { kind, name, to } } = prepared;
    for (const { backend, before } of left) {
      const former = before?.content ?? null;
      const undone = undoneChanges(prepared, former);
      changes.push(
        await queueCompensation(this.#parts, { kind, name, to, backend, former, changes: undone }),
      );
    }
    await endIntent(this.#parts.store, intent.ending, changes);
    return left;
  }
}

interface SyncCall {
  readonly backend: Backend;
  readonly operation: BackendOperation;
  /** The previous content at the backend. */
  readonly before: RemoteResource | null;
  /** What the write changes there. `null`: it removes the resource. */
  readonly changes: ContentChanges | null;
}

interface FailedCalls {
  readonly fault: BackendFault;
  readonly failed: SyncCall;
  /** The calls that took effect, or may have, in their order. */
  readonly touched: readonly SyncCall[];
  /** Those that could not be undone. */
  readonly left: readonly SyncCall[];
}

type SyncOutcome =
  | { readonly ok: true; readonly puts: CalledBackends["puts"] }
  | Readonly<{ ok: false } & Omit<FailedCalls, "left">>;

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
async function readBefore(
  { remotes }: TargetParts,
  { job, named, plan, before, pending, pendingTo }: PreparedWrite,
): Promise<SyncCall[]> {
  const { kind, name, operation, to } = job;
  const untried = { entries: named.map((backend) => ({ backend, outcome: "untried" }) as const) };
  const found = await Promise.all(plan.calls.map(async ({ backend: backendName, operation }) => {
    if (pending.get(backendName)?.entry.from !== undefined) throw renameUndone(backendName);
    const backend = remotes.get(backendName);
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

/** Makes the calls in order, and stops at the first failure. @throws LeaseUnavailable if this node has lost the lease */
async function makeCalls(
  prepared: PreparedWrite,
  calls: readonly SyncCall[],
  lease: TargetParts["lease"],
): Promise<SyncOutcome> {
  const puts = new Map<string, PutResult>();
  const touched: SyncCall[] = [];
  for (const call of calls) {
    if (!lease.isHeld) {
      throw new LeaseUnavailable("Cannot call a backend: this node lost the lease of the target");
    }
    const outcome = await makeCall(prepared, call);
    if (!outcome.ok) {
      if (outcome.fault.unsure) touched.push(call);
      return { ok: false, fault: outcome.fault, failed: call, touched };
    }
    touched.push(call);
    if (outcome.value !== null) puts.set(call.backend.name, outcome.value);
  }
  return { ok: true, puts };
}

async function makeCall(
  { job: { kind, name, members }, plan: { after: { content } }, options: { password } }: PreparedWrite,
  { backend, operation, before, changes }: SyncCall,
) {
  const hint = before === null ? {} : { remoteId: before.remoteId };
  if (operation === "remove" || content === null) return await backend.remove(kind, name, hint);
  const wanted = withOwnMembers(content, { members, before });
  const desired = {
    content: wanted,
    ...(password === undefined ? {} : { password }),
    ...(changes === null ? {} : { changes }),
  };
  if (operation === "rename") return await renameAt(backend, { from: name, desired, hint });
  return await backend.put(desired, hint);
}

/** After a change of members, the backend has its own other members: another client may have added some there. */
function withOwnMembers(
  content: Content,
  { members, before }: { members: GroupMemberChange | undefined; before: RemoteResource | null },
): Content {
  const held = before?.content;
  if (members === undefined || content.kind === "user" || held?.kind !== "group") return content;
  return { ...content, members: withMemberChange(held, { ...members, add: content.members }).members };
}

function undoCall(
  prepared: PreparedWrite,
  { backend, before }: SyncCall,
): Promise<BackendOutcome<PutResult | null>> {
  const { job: { kind, name, to } } = prepared;
  if (before === null) return backend.remove(kind, to ?? name);
  const changes = undoneChanges(prepared, before.content);
  const desired = { content: before.content, ...(changes === undefined ? {} : { changes }) };
  // Without a hint, because a resource that is created again has another id.
  return to === undefined ? backend.put(desired) : renameAt(backend, { from: to, desired, hint: {} });
}

/** What the rollback of a write changes. `undefined`: everything, because the write removed the resource. */
function undoneChanges(
  { plan: { after: { content } } }: PreparedWrite,
  former: Content | null,
): ContentChanges | undefined {
  return content === null || former === null ? undefined : contentChanges(content, former);
}

/** The outcome at each named backend after `failed` stopped the write. */
function failureReceipt(
  named: readonly string[],
  { failed, fault, touched, left }: FailedCalls,
): Receipt {
  const isIn = (calls: readonly SyncCall[], name: string) =>
    calls.some(({ backend }) => backend.name === name);
  const entryOf = (backend: string): ReceiptEntry => {
    if (isIn(left, backend)) return { backend, outcome: "undoing" };
    if (backend === failed.backend.name) return { backend, outcome: "failed", detail: fault.detail };
    return { backend, outcome: isIn(touched, backend) ? "undone" : "untried" };
  };
  return { entries: named.map(entryOf) };
}

interface IntentRecord {
  readonly kind: ResourceKind;
  readonly name: string;
  /** The new name of a rename. */
  readonly to?: string;
  readonly operation: string;
  readonly atMs: number;
  /** In the order of the calls. `parts`: the number of parts of the former content. 0: the backend did not have the resource. */
  readonly backends: readonly { readonly name: string; readonly parts: number }[];
}

interface Intent {
  readonly id: string;
  /** The mutations that end it. They belong to the commit that records the write or its rollback. */
  readonly ending: readonly Mutation[];
}

/** A commit accepts 800 KiB, and a part has up to 60 KiB. */
const MAX_PARTS_PER_COMMIT = 10;
const MAX_DELETES_PER_COMMIT = 200;

/** What backends held before a write that calls them. An intent exists until the write is recorded or undone. */
export class IntentLog {
  readonly #deps: TargetParts;
  readonly #orderedId: () => string;

  constructor(deps: TargetParts, orderedId: () => string) {
    this.#deps = deps;
    this.#orderedId = orderedId;
  }

  /** Records an intent. It is durable when the promise resolves. */
  async begin(
    { kind, name, to, operation }: WriteJob,
    calls: readonly SyncCall[],
  ): Promise<Intent> {
    const { store, clock } = this.#deps;
    const id = this.#orderedId();
    const texts = calls.map(({ backend: { name }, before }) => ({
      name,
      written: before === null ? [] : setChunkedText(this.#partKey(id, name), JSON.stringify(before.content)),
    }));
    const record: IntentRecord = {
      kind,
      name,
      ...(to === undefined ? {} : { to }),
      operation,
      atMs: clock.nowMs(),
      backends: texts.map(({ name, written }) => ({ name, parts: written.length })),
    };
    const parts = texts.flatMap(({ written }) => written);
    const head: Mutation = { type: "set", key: this.#key(id), value: record };
    // The head is written last: without it there is no intent, and no backend was called.
    for (let from = 0; from < parts.length - MAX_PARTS_PER_COMMIT; from += MAX_PARTS_PER_COMMIT) {
      await store.commit({ mutations: parts.slice(from, from + MAX_PARTS_PER_COMMIT) });
    }
    const last = parts.slice(parts.length - 1 - (parts.length - 1) % MAX_PARTS_PER_COMMIT);
    await store.commit({ mutations: [...last, head] });
    return { id, ending: this.#ending(id, record) };
  }

  /** Queues the former content for every backend of an intent, and ends the intent. */
  async compensate(id: string): Promise<void> {
    const { store, log, target } = this.#deps;
    const { value } = await store.get<IntentRecord>(this.#key(id));
    if (value === null) return;
    const changes = await this.#queueAll(id, value);
    await endIntent(store, this.#ending(id, value), changes);
    log.warn("an interrupted write is rolled back", {
      target,
      [value.kind]: value.name,
      operation: value.operation,
      backends: value.backends.map(({ name }) => name).join(" "),
    });
  }

  /** Whether an intent is neither recorded nor undone. */
  async isOpen({ id }: Intent): Promise<boolean> {
    return (await this.#deps.store.get(this.#key(id))).value !== null;
  }

  async hasAny(): Promise<boolean> {
    const { store, target } = this.#deps;
    for await (const _intent of store.list(["intent", target], { limit: 1 })) return true;
    return false;
  }

  /** Compensates all intents of a former process, and deletes parts without an intent: no backend was called for them. */
  async recover(): Promise<void> {
    const { store, target } = this.#deps;
    const ids = new Set<string>();
    const parts: Deno.KvKey[] = [];
    for await (const { key } of store.list(["intent", target])) {
      if (key.length === 3) ids.add(String(key[2]));
      else parts.push(key);
    }
    for (const id of ids) await this.compensate(id);
    const strays = parts.filter(([, , id]) => !ids.has(String(id)));
    for (let at = 0; at < strays.length; at += MAX_DELETES_PER_COMMIT) {
      const keys = strays.slice(at, at + MAX_DELETES_PER_COMMIT);
      await store.commit({ mutations: keys.map((key) => ({ type: "delete", key })) });
    }
  }

  #key(id: string): Deno.KvKey {
    return ["intent", this.#deps.target, id];
  }

  #partKey(id: string, backend: string): Deno.KvKey {
    return ["intent", this.#deps.target, id, backend];
  }

  #ending(id: string, { backends }: IntentRecord): Mutation[] {
    const parts = backends.filter(({ parts }) => parts > 0)
      .flatMap(({ name, parts }) => deleteChunkedText(this.#partKey(id, name), parts));
    return [{ type: "delete", key: this.#key(id) }, ...parts];
  }

  async #queueAll(id: string, { kind, name, to, backends }: IntentRecord): Promise<OutboxChange[]> {
    const changes: OutboxChange[] = [];
    for (const { name: backendName, parts } of backends.toReversed()) {
      const backend = this.#deps.remotes.get(backendName);
      if (backend === undefined) continue;
      const text = parts === 0
        ? null
        : await readChunkedText(this.#deps.store, this.#partKey(id, backendName));
      const former = text === null ? null : parseContent(text.text);
      // A former content that cannot be read must not become a removal.
      if (parts > 0 && former === null) continue;
      changes.push(await queueCompensation(this.#deps, { backend, kind, name, to, former }));
    }
    return changes;
  }
}

/** Ends an intent in one commit with what was queued for it. */
async function endIntent(
  store: Store,
  ending: readonly Mutation[],
  changes: readonly OutboxChange[],
): Promise<void> {
  await store.commit({ mutations: [...changes.flatMap(({ mutations }) => mutations), ...ending] });
  for (const change of changes) change.committed();
}

interface Compensation {
  readonly backend: Backend;
  readonly kind: ResourceKind;
  readonly name: string;
  /** The name that a rename gave the resource at the backend. */
  readonly to?: string | undefined;
  /** What the backend held before the write; `null`: it did not have the resource. */
  readonly former: Content | null;
  /** What the rollback changes. Absent: everything. */
  readonly changes?: ContentChanges | undefined;
}

/** Queues a write that restores `former`. A write that is already pending stays, because it is newer than `former`. */
async function queueCompensation(
  { directory, outbox, copies }: TargetParts,
  { backend, kind, name, to, former, changes }: Compensation,
): Promise<OutboxChange> {
  const from = to === undefined ? [] : [to];
  if (to !== undefined && former === null) {
    const made = await outbox.find(backend.name, kind, to);
    return outbox.add({ backend: backend.name, kind, name: to, operation: "remove", started: true }, made);
  }
  const place = { backend: backend.name, kind, name, from, changes };
  const known = await outbox.find(backend.name, kind, name);
  if (known !== null) {
    const { operation, restores } = known.entry;
    const restoring = restores === undefined ? {} : { restores };
    return outbox.add({ ...place, operation, started: true, ...restoring }, known);
  }
  if (former === null) return outbox.add({ ...place, operation: "remove", started: true }, null);
  const canonical = canonicalName(name);
  const stored = await directory.read(kind, canonical);
  const desired = desiredContent(await readStatus(copies, stored), backend.name);
  const isStored = desired !== null &&
    holdsAlready(backend, { content: desired, remote: { content: former, remoteId: "" } });
  const put = { ...place, operation: "put", started: true } as const;
  if (isStored) return outbox.add(put, null);
  const copied = await copies.set({ backend: backend.name, kind, canonical }, former);
  const change = outbox.add({ ...put, restores: true }, null);
  return { mutations: [...copied, ...change.mutations], committed: change.committed };
}

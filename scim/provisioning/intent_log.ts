// The intent log: what backends held before a write that calls them. An intent exists until the write is recorded or undone. After a
// crash, the backends get their former content back.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Log } from "../../platform/log.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import type { Backend, ContentChanges } from "../backend_port.ts";
import type { TargetDirectory } from "../ports.ts";
import type { Content, ResourceKind } from "../schema/resource.ts";
import {
  type BackendCopies,
  deleteChunkedText,
  desiredContent,
  parseContent,
  readChunkedText,
  readStatus,
  setChunkedText,
} from "./backend_status.ts";
import type { Outbox, OutboxChange } from "./outbox.ts";
import { holdsAlready } from "./reconcile.ts";

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

export interface Intent {
  readonly id: string;
  /** The mutations that end it. They belong to the commit that records the write or its rollback. */
  readonly ending: readonly Mutation[];
}

interface NewIntent {
  readonly kind: ResourceKind;
  readonly name: string;
  readonly to?: string;
  readonly operation: string;
  /** The former content at each backend, in the order of the calls; `null`: none. */
  readonly former: ReadonlyMap<string, Content | null>;
}

interface IntentLogDeps extends CompensationDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly target: string;
  readonly remotes: ReadonlyMap<string, Backend>;
  readonly orderedId: () => string;
}

/** A commit accepts 800 KiB, and a part has up to 60 KiB. */
const MAX_PARTS_PER_COMMIT = 10;
const MAX_DELETES_PER_COMMIT = 200;

export class IntentLog {
  readonly #deps: IntentLogDeps;

  constructor(deps: IntentLogDeps) {
    this.#deps = deps;
  }

  /** Records an intent. It is durable when the promise resolves. */
  async begin({ kind, name, to, operation, former }: NewIntent): Promise<Intent> {
    const { store, clock, orderedId } = this.#deps;
    const id = orderedId();
    const texts = [...former].map(([backend, content]) => ({
      name: backend,
      written: content === null ? [] : setChunkedText(this.#partKey(id, backend), JSON.stringify(content)),
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
    await store.commit({
      mutations: [...changes.flatMap(({ mutations }) => mutations), ...this.#ending(id, value)],
    });
    for (const change of changes) change.committed();
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

  /** Compensates all intents of a former process, and returns how many there were. */
  async recover(): Promise<number> {
    const { store, target } = this.#deps;
    const ids: string[] = [];
    for await (const { key } of store.list(["intent", target])) {
      if (key.length === 3 && typeof key[2] === "string") ids.push(key[2]);
    }
    for (const id of ids) await this.compensate(id);
    await this.#sweep();
    return ids.length;
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

  /** Deletes parts of intents without a head. No backend was called for them. */
  async #sweep(): Promise<void> {
    const { store, target } = this.#deps;
    let strays: Mutation[] = [];
    for await (const { key } of store.list(["intent", target])) {
      strays.push({ type: "delete", key });
      if (strays.length < MAX_DELETES_PER_COMMIT) continue;
      await store.commit({ mutations: strays });
      strays = [];
    }
    if (strays.length > 0) await store.commit({ mutations: strays });
  }
}

interface CompensationDeps {
  readonly directory: TargetDirectory;
  readonly outbox: Outbox;
  readonly copies: BackendCopies;
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
export async function queueCompensation(
  { directory, outbox, copies }: CompensationDeps,
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

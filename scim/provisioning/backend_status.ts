// Per-backend status and copies of a resource, and the resource that results.

import type { BackendState, BackendStates, Content, ResourceKind, Stored } from "../schema/resource.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import { isSameJson } from "../schema/json_limits.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import { ScimRefusal } from "../http/refusals.ts";

export type WriteOperation = "create" | "replace" | "remove" | "rename";
export type BackendOperation = "put" | "remove" | "rename";

/** A resource during a change: its content (`null`: it does not exist), the state of each backend, and the contents that differ. */
export interface ResourceStatus {
  readonly content: Content | null;
  readonly backends: BackendStates;
  /** By backend, for exactly the backends whose state has `differs`. */
  readonly copies: ReadonlyMap<string, Content>;
}

/** Whether a backend has the resource, or a pending write creates it there. */
export function hasResource(state: BackendState | undefined): boolean {
  if (state === undefined || state.state === "vanished") return false;
  return state.state === "present" || state.operation === "put";
}

/** The content at a backend after its pending writes. */
export function desiredContent(status: ResourceStatus, backend: string): Content | null {
  return status.copies.get(backend) ?? status.content;
}

/** Replaces the state of one backend. `undefined` removes the state and the copy. */
export function withState(
  status: ResourceStatus,
  backend: string,
  state: BackendState | undefined,
): ResourceStatus {
  const { [backend]: _replaced, ...others } = status.backends;
  const bare = withoutCopy({ ...status, backends: others }, backend);
  return state === undefined ? bare : { ...bare, backends: { ...others, [backend]: state } };
}

/** Sets the content at a backend that has the resource, even if it equals the content of the resource. */
export function withCopy(status: ResourceStatus, backend: string, content: Content): ResourceStatus {
  const state = status.backends[backend];
  if (state === undefined) return status;
  return {
    ...status,
    backends: { ...status.backends, [backend]: { ...state, differs: true } },
    copies: new Map(status.copies).set(backend, content),
  };
}

export function withoutCopy(status: ResourceStatus, backend: string): ResourceStatus {
  const state = status.backends[backend];
  if (!status.copies.has(backend) && state?.differs === undefined) return status;
  const copies = new Map(status.copies);
  copies.delete(backend);
  if (state === undefined) return { ...status, copies };
  const { differs: _no, omitted: _neither, ...rest } = state;
  return { ...status, copies, backends: { ...status.backends, [backend]: rest } };
}

/**
 * The last step of every change. A resource that no backend has is deleted. If no backend has the content of the resource any more, the content of
 * the first remaining backend replaces it.
 *
 * @param order the target's backends in the order of the list.
 */
export function normalizeStatus(status: ResourceStatus, order: readonly string[]): ResourceStatus {
  const holders = order.filter((name) => hasResource(status.backends[name]));
  const first = holders[0];
  if (first === undefined) return { content: null, backends: {}, copies: new Map() };
  if (holders.some((name) => !status.copies.has(name))) return status;
  const promoted = status.copies.get(first) ?? null;
  return withoutCopy({ ...status, content: promoted }, first);
}

export function isSameContent(a: Content, b: Content): boolean {
  if (a === b) return true;
  if (a.name !== b.name || !isSameJson(a.attributes, b.attributes)) return false;
  if (a.kind === "user") return b.kind === "user" && a.active === b.active;
  return b.kind === "group" && sameMembers(a.members, b.members);
}

/** Names are compared without case: another spelling of a member is the same member. */
function sameMembers(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  if (a.every((name, at) => name === b[at])) return true;
  const names = new Set(a.map(canonicalName));
  return b.every((name) => names.has(canonicalName(name)));
}

interface CopyId {
  readonly backend: string;
  readonly kind: ResourceKind;
  readonly canonical: string;
}

/** A commit accepts 800 KiB, and it contains the resource, too. */
const MAX_CHARACTERS = 200_000;

export class BackendCopies {
  readonly #store: Store;
  readonly #target: string;

  constructor({ store, target }: { store: Store; target: string }) {
    this.#store = store;
    this.#target = target;
  }

  async read(id: CopyId): Promise<Content | null> {
    const stored = await readChunkedText(this.#store, this.#key(id));
    return stored === null ? null : parseContent(stored.text);
  }

  /** The mutations that write a copy. @throws ScimRefusal `too_large` if the copy does not fit into a commit. */
  async set(id: CopyId, content: Content): Promise<Mutation[]> {
    const text = JSON.stringify(content);
    if (text.length > MAX_CHARACTERS) {
      throw new ScimRefusal("too_large", {
        detail:
          `The resource is too large to differ between connectors. Name all connectors, including "${id.backend}".`,
      });
    }
    const stored = await readChunkedText(this.#store, this.#key(id));
    return setChunkedText(this.#key(id), text, { before: stored?.parts ?? 0 });
  }

  /** The mutations that delete a copy, if there is one. */
  async drop(id: CopyId): Promise<Mutation[]> {
    const stored = await readChunkedText(this.#store, this.#key(id));
    return stored === null ? [] : deleteChunkedText(this.#key(id), stored.parts);
  }

  #key({ backend, kind, canonical }: CopyId): Deno.KvKey {
    return ["copy", this.#target, backend, kind, canonical];
  }
}

/** The mutations that change the copies of one resource from one status to the next. */
export async function copyChanges(
  copies: BackendCopies,
  { kind, canonical, before, after }: {
    readonly kind: ResourceKind;
    readonly canonical: string;
    readonly before: ReadonlyMap<string, Content>;
    readonly after: ReadonlyMap<string, Content>;
  },
): Promise<Mutation[]> {
  const mutations: Mutation[] = [];
  for (const [backend, content] of after) {
    if (before.get(backend) === content) continue;
    mutations.push(...await copies.set({ backend, kind, canonical }, content));
  }
  const dropped = [...before.keys()].filter((backend) => !after.has(backend));
  for (const backend of dropped) {
    mutations.push(...await copies.drop({ backend, kind, canonical }));
  }
  return mutations;
}

/** The status of a resource, with the contents that differ. */
export async function readStatus(copies: BackendCopies, stored: Stored | null): Promise<ResourceStatus> {
  const found = new Map<string, Content>();
  if (stored === null) return { content: null, backends: {}, copies: found };
  const { content, backends } = stored;
  for (const [backend, state] of Object.entries(backends)) {
    if (state.differs === undefined) continue;
    const copy = await copies.read({ backend, kind: content.kind, canonical: canonicalName(content.name) });
    if (copy !== null) found.set(backend, copy);
  }
  return { content, backends, copies: found };
}

/** The store contains only texts that this module wrote. */
export function parseContent(text: string): Content {
  return JSON.parse(text) as Content;
}

/** A value of Deno KV has at most 64 KiB, and V8 writes a character as at most two octets. */
const MAX_CHUNK_CHARACTERS = 30_000;

interface Head {
  readonly parts: number;
  readonly text: string;
}

interface ChunkedText {
  readonly text: string;
  /** The number of keys. */
  readonly parts: number;
}

/**
 * The mutations that write `text` at `key`, over a text of `before` parts. Above 400,000 characters they do not fit into
 * one commit: copies are shorter, and the intent log uses several commits.
 */
export function setChunkedText(
  key: Deno.KvKey,
  text: string,
  { before = 0 }: { before?: number } = {},
): Mutation[] {
  const parts = Math.max(1, Math.ceil(text.length / MAX_CHUNK_CHARACTERS));
  const slice = (part: number) => text.slice(part * MAX_CHUNK_CHARACTERS, (part + 1) * MAX_CHUNK_CHARACTERS);
  const mutations: Mutation[] = [{ type: "set", key, value: { parts, text: slice(0) } satisfies Head }];
  for (let part = 1; part < parts; part++) {
    mutations.push({ type: "set", key: [...key, part], value: slice(part) });
  }
  for (let part = parts; part < before; part++) mutations.push({ type: "delete", key: [...key, part] });
  return mutations;
}

export function deleteChunkedText(key: Deno.KvKey, parts: number): Mutation[] {
  const mutations: Mutation[] = [{ type: "delete", key }];
  for (let part = 1; part < parts; part++) mutations.push({ type: "delete", key: [...key, part] });
  return mutations;
}

/** `null` if there is no text, or if a part is missing. */
export async function readChunkedText(store: Store, key: Deno.KvKey): Promise<ChunkedText | null> {
  const { value } = await store.get<Head>(key);
  if (value === null) return null;
  let text = value.text;
  for (let part = 1; part < value.parts; part++) {
    const { value: more } = await store.get<string>([...key, part]);
    if (more === null) return null;
    text += more;
  }
  return { text, parts: value.parts };
}

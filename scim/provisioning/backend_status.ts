// Per-backend status and copies of a resource, the resource that results, and how what a backend returns changes it. The first listed backend that
// has the resource is authoritative.

import { type Backend, type RemoteResource, stillNotStored, withMembersNotStored } from "../backend_port.ts";
import type {
  BackendState,
  BackendStates,
  Content,
  JsonObject,
  ResourceKind,
  Stored,
} from "../schema/resource.ts";
import { NO_READ_ONLY, type ReadOnlyAttributes, withReadOnly } from "../schema/merge.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import { ENTERPRISE_SCHEMA } from "../schema/attribute_table.ts";
import { isJsonObject, isSameJson, property } from "../schema/attributes.ts";
import { mergeContent } from "../schema/mapping.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { BackendInfo } from "../ports.ts";

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

/** The state of a backend that has the resource. What differs there stays. */
export function presentState(
  { differs, omitted, kept }: Partial<BackendState> = {},
  { sinceMs, remoteId, notStored }: Pick<BackendState, "sinceMs" | "remoteId" | "notStored">,
): BackendState {
  return {
    ...{ state: "present", sinceMs },
    ...(remoteId === undefined ? {} : { remoteId }),
    ...(differs === undefined ? {} : { differs }),
    ...(omitted === undefined ? {} : { omitted }),
    ...(kept === undefined ? {} : { kept }),
    ...(notStored === undefined ? {} : { notStored }),
  };
}

/** The content at a backend after its pending writes. */
export function desiredContent(status: ResourceStatus, backend: string): Content | null {
  return status.copies.get(backend) ?? status.content;
}

/** Replaces the state of one backend, and removes its copy. `undefined` removes the state, too. */
export function withState(
  status: ResourceStatus,
  backend: string,
  state: BackendState | undefined,
): ResourceStatus {
  const { [backend]: _replaced, ...others } = status.backends;
  const bare = withoutCopy({ ...status, backends: others }, backend);
  return state === undefined ? bare : { ...bare, backends: { ...others, [backend]: state } };
}

/** Replaces the state of one backend, and keeps its copy. */
export function replaceState(status: ResourceStatus, backend: string, state: BackendState): ResourceStatus {
  return { ...status, backends: { ...status.backends, [backend]: state } };
}

/** Sets the content at a backend that has the resource, even if it equals the content of the resource. */
export function withCopy(status: ResourceStatus, backend: string, content: Content): ResourceStatus {
  const state = status.backends[backend];
  if (state === undefined) return status;
  const copies = new Map(status.copies).set(backend, content);
  return replaceState({ ...status, copies }, backend, { ...state, differs: true });
}

export function withoutCopy(status: ResourceStatus, backend: string): ResourceStatus {
  const state = status.backends[backend];
  if (!status.copies.has(backend) && state?.differs === undefined) return status;
  const copies = new Map(status.copies);
  copies.delete(backend);
  if (state === undefined) return { ...status, copies };
  const { differs: _no, omitted: _neither, ...rest } = state;
  return replaceState({ ...status, copies }, backend, rest);
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

/** The mutations that change the copies of one resource from one status to the next. @param change.to its new name, if it is renamed */
export async function copyChanges(
  copies: BackendCopies,
  { kind, name, to = name, before, after }: {
    readonly kind: ResourceKind;
    readonly name: string;
    readonly to?: string | undefined;
    readonly before: ReadonlyMap<string, Content>;
    readonly after: ReadonlyMap<string, Content>;
  },
): Promise<Mutation[]> {
  const [canonical, next] = [canonicalName(name), canonicalName(to)];
  const isMoved = canonical !== next;
  const mutations: Mutation[] = [];
  for (const backend of before.keys()) {
    if (!isMoved && after.has(backend)) continue;
    mutations.push(...await copies.drop({ backend, kind, canonical }));
  }
  for (const [backend, content] of after) {
    if (!isMoved && before.get(backend) === content) continue;
    mutations.push(...await copies.set({ backend, kind, canonical: next }, content));
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

/** The data that a backend can store. */
type Coverage = Pick<Backend, "covers" | "holds" | "readOnly">;

/** The longest read-only value that is stored although it differs from the resource. */
const MAX_READ_ONLY_CHARACTERS = 2000;

/** The whole content at a backend: attributes that it cannot store, or that are read-only there, come from `previous`. */
function completeContent(backend: Coverage, previous: Content, remote: ReadContent): Content {
  return withReadOnly(whole(backend, previous, remote), previous, backend.readOnly ?? NO_READ_ONLY);
}

type ReadContent = Pick<RemoteResource, "content" | "manager">;

function whole(backend: Coverage, previous: Content, { content: read, manager }: ReadContent): Content {
  const known = !backend.holds.active && read.kind === "user" && previous.kind === "user"
    ? { ...read, active: previous.active }
    : read;
  const merged = mergeContent(previous, known, backend.covers);
  return manager?.id === undefined ? merged : withManager(merged, { ...manager, id: manager.id });
}

/** A manager of a SCIM server, who is a user here. It is stored where the client put it, and a different spelling is no change. */
function withManager(content: Content, { id, name }: { id: string; name: string }): Content {
  const { attributes } = content;
  const enterprise = property(attributes, ENTERPRISE_SCHEMA);
  const extension = isJsonObject(enterprise) ? enterprise : {};
  const core = property(attributes, "manager");
  const held = core ?? property(extension, "manager");
  const { value, $ref }: JsonObject = isJsonObject(held) ? held : held === undefined ? {} : { value: held };
  const ref = typeof $ref === "string" ? $ref.slice($ref.lastIndexOf("/") + 1) : undefined;
  const known = value ?? ref;
  const isSame = typeof known === "string" &&
    (known.toLowerCase() === id || canonicalName(known) === canonicalName(name));
  if (isSame) return content;
  const manager = { value: id };
  return {
    ...content,
    attributes: core === undefined
      ? { ...attributes, [ENTERPRISE_SCHEMA]: { ...extension, manager } }
      : { ...attributes, manager },
  };
}

/** Whether a backend already has `content`, as far as it can store it. */
export function holdsAlready(
  backend: Coverage,
  { content, remote }: { content: Content; remote: RemoteResource },
): boolean {
  const merged = completeContent(backend, content, remote);
  return isSameContent({ ...merged, name: content.name }, content);
}

interface BackendReading {
  readonly backend: Coverage & Pick<Backend, "name">;
  /** `null`: it does not have the resource. */
  readonly remote: RemoteResource | null;
  /** All backends of the target, in the order of the list. */
  readonly order: readonly string[];
  /** Backends of kind `store`. They always have the content of the resource. */
  readonly embedded: ReadonlySet<string>;
  readonly nowMs: number;
  /** Attributes that are read-only in every backend, so that only the backends set them. */
  readonly readOnly: ReadOnlyAttributes;
}

interface FoundReading extends BackendReading {
  readonly remote: RemoteResource;
}

export function toReading(
  { backends, clock, readOnly }: {
    readonly backends: readonly BackendInfo[];
    readonly clock: Clock;
    readonly readOnly: ReadOnlyAttributes;
  },
  { backend, remote }: Pick<BackendReading, "backend" | "remote">,
): BackendReading {
  return {
    ...{ backend, remote, readOnly },
    order: backends.map(({ name }) => name),
    embedded: new Set(backends.filter(({ kind }) => kind === "store").map(({ name }) => name)),
    nowMs: clock.nowMs(),
  };
}

/** The status after a read. Returns the same object if nothing changed. */
export function applyReading(status: ResourceStatus, reading: BackendReading): ResourceStatus {
  const state = status.backends[reading.backend.name];
  // A pending write will be delivered, and a dead letter waits for an operator; the current value of the backend overwrites neither.
  if (state?.operation !== undefined) return status;
  if (reading.remote === null) return withVanished(status, reading);
  const found = { ...reading, remote: reading.remote };
  return withNotStored(withOwnReadOnly(withCommonReadOnly(withFound(status, found), found), found), found);
}

/** The first backend that has the resource decides on common read-only attributes. The store follows, and no backend counts as different. */
function withCommonReadOnly(
  status: ResourceStatus,
  reading: FoundReading,
): ResourceStatus {
  const { backend, order, embedded, remote, readOnly } = reading;
  const first = order.find((name) => !embedded.has(name) && hasResource(status.backends[name]));
  if (readOnly.size === 0 || first !== backend.name || status.content === null) return status;
  const content = withReadOnly(status.content, remote.content, readOnly);
  return isSameContent(content, status.content) ? status : { ...status, content };
}

/** Records the read-only attributes of a backend that differ from the resource. */
function withOwnReadOnly(
  status: ResourceStatus,
  { backend: { name, readOnly = NO_READ_ONLY }, remote }: FoundReading,
): ResourceStatus {
  const { content } = status;
  const state = status.backends[name];
  if (readOnly.size === 0 || content?.kind !== "user" || state === undefined) return status;
  const isSame = isSameContent(withReadOnly(content, remote.content, readOnly), content);
  const own = Object.fromEntries(
    Object.entries(remote.content.attributes).filter(([name]) => readOnly.has(name)),
  );
  const kept = isSame || JSON.stringify(own).length > MAX_READ_ONLY_CHARACTERS ? undefined : own;
  if (isSameJson(state.kept, kept)) return status;
  const { kept: _before, ...rest } = state;
  return replaceState(status, name, kept === undefined ? rest : { ...rest, kept });
}

/** Removes names from the summary of the state if the backend now has the members, or if they are no longer members of the resource. */
function withNotStored(
  status: ResourceStatus,
  { backend: { name }, remote }: FoundReading,
): ResourceStatus {
  const state = status.backends[name];
  const wanted = status.content;
  if (state?.notStored === undefined) return status;
  const notStored = wanted?.kind === "group" && remote.content.kind === "group"
    ? stillNotStored(state.notStored, { wanted, held: remote.content })
    : undefined;
  const next = withMembersNotStored(state, notStored);
  return next === state ? status : replaceState(status, name, next);
}

function withVanished(
  status: ResourceStatus,
  { backend: { name }, order, nowMs }: BackendReading,
): ResourceStatus {
  if (status.backends[name]?.state !== "present") return status;
  return normalizeStatus(withState(status, name, { state: "vanished", sinceMs: nowMs }), order);
}

function withFound(
  status: ResourceStatus,
  reading: FoundReading,
): ResourceStatus {
  const { backend, remote, order } = reading;
  const { name } = backend;
  const kept = desiredContent(status, name) ?? emptyContent(remote.content);
  const isFirst = !order.slice(0, order.indexOf(name)).some((one) => hasResource(status.backends[one]));
  const present = withPresent(status, reading);
  if (!isFirst && status.content !== null) {
    if (holdsAlready(backend, { content: status.content, remote })) return withoutCopy(present, name);
    const own = completeContent(backend, kept, remote);
    const copy = present.copies.get(name);
    return copy !== undefined && isSameContent(copy, own) ? present : withCopy(present, name, own);
  }
  // A new resource takes all attributes. Later, read-only attributes of the backend do not change the resource.
  const complete = status.content === null ? whole : completeContent;
  return withContent(present, { ...reading, content: complete(backend, kept, remote) });
}

function withPresent(
  status: ResourceStatus,
  { backend: { name }, remote, nowMs }: FoundReading,
): ResourceStatus {
  const state = status.backends[name];
  if (state?.state === "present" && state.remoteId === remote.remoteId) return status;
  const known = state?.state === "present" ? state : { sinceMs: nowMs };
  return replaceState(status, name, presentState(state, { ...known, remoteId: remote.remoteId }));
}

/** The resource takes the content of the first backend. Other backends keep theirs, but the embedded store follows. */
function withContent(
  status: ResourceStatus,
  { backend: { name }, order, embedded, content }: BackendReading & { content: Content },
): ResourceStatus {
  const bare = withoutCopy(status, name);
  const before = status.content;
  if (before !== null && isSameContent(before, content)) return bare;
  let after: ResourceStatus = { ...bare, content };
  for (const other of order) {
    const follows = other === name || embedded.has(other) || after.copies.has(other);
    if (before !== null && !follows && hasResource(after.backends[other])) {
      after = withCopy(after, other, before);
    }
  }
  return after;
}

function emptyContent({ kind, name }: Content): Content {
  return kind === "user"
    ? { kind, name, active: true, attributes: { name: { familyName: "", givenName: "" } } }
    : { kind, name, attributes: {}, members: [] };
}

/**
 * A group that a backend returned. If the backend shows no members of any group, or hides those of this one, it says nothing about them: the group
 * has the members that are known here. A backend that shows members of other groups is believed.
 *
 * @param known the resource here.
 */
export async function withKnownMembers(
  backend: Backend,
  remote: RemoteResource | null,
  known: Content | null,
): Promise<RemoteResource | null> {
  const content = remote?.content;
  if (remote === null || content?.kind !== "group" || known?.kind !== "group") return remote;
  if (content.members.length > 0 || known.members.length === 0) return remote;
  if (remote.hidesMembers !== true) {
    const shows = await backend.showsMembers?.() ?? { ok: true, value: true };
    if (shows.ok && shows.value) return remote;
  }
  return { ...remote, content: { ...content, members: known.members }, hidesMembers: true };
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

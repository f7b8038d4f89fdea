// Reconciles a resource with what a backend returned. The first listed backend that has it is authoritative.

import { type Backend, type RemoteResource, stillNotStored, withMembersNotStored } from "../backend_port.ts";
import type { BackendState, Content, JsonObject } from "../schema/resource.ts";
import { NO_READ_ONLY, type ReadOnlyAttributes, withReadOnly } from "../schema/read_only_attributes.ts";
import { canonicalName } from "../../platform/canonical_name.ts";
import { ENTERPRISE_SCHEMA } from "../schema/attribute_table.ts";
import { property } from "../schema/attributes.ts";
import { isJsonObject, isSameJson } from "../schema/json_limits.ts";
import { mergeContent } from "../schema/mapping.ts";
import {
  type BackendCopies,
  desiredContent,
  hasResource,
  isSameContent,
  normalizeStatus,
  type ResourceStatus,
  withCopy,
  withoutCopy,
  withState,
} from "./backend_status.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { BackendInfo, TargetDirectory } from "../ports.ts";
import type { WriteLocks } from "./locks.ts";
import type { Outbox } from "./outbox.ts";

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
  readonly backend: string;
  readonly coverage: Coverage;
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

/** The status after a read. Returns the same object if nothing changed. */
export function applyReading(status: ResourceStatus, reading: BackendReading): ResourceStatus {
  const state = status.backends[reading.backend];
  // A pending write will be delivered, and a dead letter waits for an operator; the current value of the backend overwrites neither.
  if (state?.operation !== undefined) return status;
  if (reading.remote === null) return withVanished(status, reading);
  const found = { ...reading, remote: reading.remote };
  return withNotStored(withOwnReadOnly(withCommonReadOnly(withFound(status, found), found), found), found);
}

/** The first backend that has the resource decides on common read-only attributes. The store follows, and no backend counts as different. */
function withCommonReadOnly(
  status: ResourceStatus,
  reading: BackendReading & { remote: RemoteResource },
): ResourceStatus {
  const { backend, order, embedded, remote, readOnly } = reading;
  const first = order.find((name) => !embedded.has(name) && hasResource(status.backends[name]));
  if (readOnly.size === 0 || first !== backend || status.content === null) return status;
  const content = withReadOnly(status.content, remote.content, readOnly);
  return isSameContent(content, status.content) ? status : { ...status, content };
}

/** Records the read-only attributes of a backend that differ from the resource. */
function withOwnReadOnly(
  status: ResourceStatus,
  { backend, coverage, remote }: BackendReading & { remote: RemoteResource },
): ResourceStatus {
  const { readOnly = NO_READ_ONLY } = coverage;
  const { content } = status;
  const state = status.backends[backend];
  if (readOnly.size === 0 || content?.kind !== "user" || state === undefined) return status;
  const isSame = isSameContent(withReadOnly(content, remote.content, readOnly), content);
  const own = Object.fromEntries(
    Object.entries(remote.content.attributes).filter(([name]) => readOnly.has(name)),
  );
  const kept = isSame || JSON.stringify(own).length > MAX_READ_ONLY_CHARACTERS ? undefined : own;
  if (isSameJson(state.kept, kept)) return status;
  const { kept: _before, ...rest } = state;
  const next: BackendState = kept === undefined ? rest : { ...rest, kept };
  return { ...status, backends: { ...status.backends, [backend]: next } };
}

/** Removes names from the summary of the state if the backend now has the members, or if they are no longer members of the resource. */
function withNotStored(
  status: ResourceStatus,
  { backend, remote }: BackendReading & { remote: RemoteResource },
): ResourceStatus {
  const state = status.backends[backend];
  const wanted = status.content;
  if (state?.notStored === undefined) return status;
  const notStored = wanted?.kind === "group" && remote.content.kind === "group"
    ? stillNotStored(state.notStored, { wanted, held: remote.content })
    : undefined;
  const next = withMembersNotStored(state, notStored);
  return next === state ? status : { ...status, backends: { ...status.backends, [backend]: next } };
}

function withVanished(status: ResourceStatus, { backend, order, nowMs }: BackendReading): ResourceStatus {
  if (status.backends[backend]?.state !== "present") return status;
  return normalizeStatus(withState(status, backend, { state: "vanished", sinceMs: nowMs }), order);
}

function withFound(
  status: ResourceStatus,
  reading: BackendReading & { remote: RemoteResource },
): ResourceStatus {
  const { backend, coverage, remote, order } = reading;
  const kept = desiredContent(status, backend) ?? emptyContent(remote.content);
  const isFirst = !order.slice(0, order.indexOf(backend)).some((name) => hasResource(status.backends[name]));
  const present = withPresent(status, reading);
  if (!isFirst && status.content !== null) {
    if (holdsAlready(coverage, { content: status.content, remote })) return withoutCopy(present, backend);
    const own = completeContent(coverage, kept, remote);
    const copy = present.copies.get(backend);
    return copy !== undefined && isSameContent(copy, own) ? present : withCopy(present, backend, own);
  }
  // A new resource takes all attributes. Later, read-only attributes of the backend do not change the resource.
  const complete = status.content === null ? whole : completeContent;
  return withContent(present, { ...reading, content: complete(coverage, kept, remote) });
}

function withPresent(
  status: ResourceStatus,
  { backend, remote, nowMs }: BackendReading & { remote: RemoteResource },
): ResourceStatus {
  const state = status.backends[backend];
  if (state?.state === "present" && state.remoteId === remote.remoteId) return status;
  const next: BackendState = {
    state: "present",
    sinceMs: state?.state === "present" ? state.sinceMs : nowMs,
    remoteId: remote.remoteId,
    ...(state?.differs === undefined ? {} : { differs: state.differs }),
    ...(state?.omitted === undefined ? {} : { omitted: state.omitted }),
    ...(state?.kept === undefined ? {} : { kept: state.kept }),
    ...(state?.state !== "present" || state.notStored === undefined ? {} : { notStored: state.notStored }),
  };
  return { ...status, backends: { ...status.backends, [backend]: next } };
}

/** The resource takes the content of the first backend. Other backends keep theirs, but the embedded store follows. */
function withContent(
  status: ResourceStatus,
  { backend, order, embedded, content }: BackendReading & { content: Content },
): ResourceStatus {
  const bare = withoutCopy(status, backend);
  const before = status.content;
  if (before !== null && isSameContent(before, content)) return bare;
  let after: ResourceStatus = { ...bare, content };
  for (const other of order) {
    const follows = other === backend || embedded.has(other) || after.copies.has(other);
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

export interface RefreshDeps {
  readonly directory: TargetDirectory;
  readonly backends: readonly BackendInfo[];
  readonly remotes: ReadonlyMap<string, Backend>;
  readonly outbox: Outbox;
  readonly copies: BackendCopies;
  readonly locks: WriteLocks;
  readonly clock: Clock;
  readonly target: string;
  readonly isLoginTarget: boolean;
  /** The attributes that are read-only at every backend. */
  readonly readOnly: ReadOnlyAttributes;
}

export function toReading(
  { backends, clock, readOnly }: RefreshDeps,
  { backend, remote }: { backend: Backend; remote: BackendReading["remote"] },
): BackendReading {
  return {
    backend: backend.name,
    coverage: backend,
    remote,
    order: backends.map(({ name }) => name),
    embedded: new Set(backends.filter(({ kind }) => kind === "store").map(({ name }) => name)),
    nowMs: clock.nowMs(),
    readOnly,
  };
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

// What a backend returned for a resource, as a refresh and a write take it.

import type { Clock } from "../../platform/runtime.ts";
import type { Backend, RemoteResource } from "../backend_port.ts";
import type { BackendInfo, TargetDirectory } from "../ports.ts";
import type { Content } from "../schema/resource.ts";
import type { ReadOnlyAttributes } from "../schema/read_only_attributes.ts";
import type { BackendCopies } from "./backend_status.ts";
import type { WriteLocks } from "./locks.ts";
import type { Outbox } from "./outbox.ts";
import type { BackendReading } from "./reconcile.ts";

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

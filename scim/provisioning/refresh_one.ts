// Brings one resource up to date with what its backends have.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Clock } from "../../platform/runtime.ts";
import type { Mutation } from "../../platform/store.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type { Actor, BackendInfo, Directory, DirectoryWrite } from "../ports.ts";
import type { ResourceKind, Stored } from "../schema/resource.ts";
import type { Kept } from "../schema/read_only_attributes.ts";
import { contentEntries } from "./write_audit.ts";
import { type Copies, copyChanges, readStanding } from "./backend_copies.ts";
import { lockKey } from "./delivery.ts";
import type { KeyedLocks } from "./keyed_locks.ts";
import type { Link } from "./backend_client.ts";
import type { Outbox } from "./outbox.ts";
import { applyReading, type Reading } from "./reconcile.ts";
import type { Standing } from "./backend_status.ts";
import { refusalFor } from "./sync_writes.ts";

export interface RefreshDeps {
  readonly directory: Directory;
  readonly backends: readonly BackendInfo[];
  readonly links: ReadonlyMap<string, Link>;
  readonly outbox: Outbox;
  readonly copies: Copies;
  readonly locks: KeyedLocks;
  readonly clock: Clock;
  readonly target: string;
  readonly isLoginTarget: boolean;
  /** What every backend keeps for itself. */
  readonly readOnly: Kept;
}

/** Throws the refusal `backend_unreachable` or `backend_failed` when one cannot be read; nothing was changed then. */
export function refreshOne(
  deps: RefreshDeps,
  { kind, name, actor }: { kind: ResourceKind; name: string; actor: Actor },
): Promise<Stored | null> {
  return deps.locks.run(lockKey(kind, name), async () => {
    const stored = await deps.directory.read(kind, canonicalName(name));
    const before = await readStanding(deps.copies, stored);
    const readings = await readAll(deps, { kind, name: stored?.content.name ?? name, standing: before });
    const after = readings.reduce(applyReading, before);
    if (after === before) return stored;
    const events = contentEntries({ name: deps.target, isLoginTarget: deps.isLoginTarget }, {
      actor,
      action: `${kind}.refreshed`,
      kind,
      name: after.content?.name ?? stored?.content.name ?? name,
      before: before.content,
      after: after.content,
    });
    const write = await refreshWrite(deps, { kind, name, stored, before, after });
    if (write === null) return stored;
    const written = await deps.directory.write({ ...write, also: [...write.also ?? [], ...events] });
    if (!written.ok) throw new ScimRefusal("changed");
    return written.stored;
  });
}

/** What every backend that is owed nothing has, in the order of the list. */
async function readAll(
  deps: RefreshDeps,
  { kind, name, standing }: { kind: ResourceKind; name: string; standing: Standing },
): Promise<Reading[]> {
  const found = await Promise.all(deps.backends.map(async ({ name: backend }) => {
    const link = deps.links.get(backend);
    if (link === undefined || (kind === "group" && !link.backend.holds.groups)) return [];
    if (await deps.outbox.find(backend, kind, name) !== null) return [];
    const remoteId = standing.backends[backend]?.remoteId;
    const read = await link.backend.read(kind, name, remoteId === undefined ? {} : { remoteId });
    if (!read.ok) throw refusalFor(backend, { fault: read.fault });
    return [readingOf(deps, { link, remote: read.value })];
  }));
  return found.flat();
}

export function readingOf(
  { backends, clock, readOnly }: RefreshDeps,
  { link, remote }: { link: Link; remote: Reading["remote"] },
): Reading {
  return {
    backend: link.name,
    coverage: link.backend,
    remote,
    order: backends.map(({ name }) => name),
    embedded: new Set(backends.filter(({ kind }) => kind === "store").map(({ name }) => name)),
    nowMs: clock.nowMs(),
    readOnly,
  };
}

/** The directory's write for a standing that a reading changed; `null` when there was nothing and is nothing. */
export async function refreshWrite(
  { copies }: RefreshDeps,
  { kind, name, stored, before, after }: {
    kind: ResourceKind;
    name: string;
    stored: Stored | null;
    before: Standing;
    after: Standing;
  },
): Promise<DirectoryWrite | null> {
  if (stored === null && after.content === null) return null;
  const canonical = canonicalName(name);
  const also: Mutation[] = await copyChanges(copies, {
    kind,
    canonical,
    before: before.copies,
    after: after.copies,
  });
  return {
    kind,
    name: after.content?.name ?? stored?.content.name ?? name,
    expected: stored?.version ?? null,
    recorded: stored?.recorded ?? 0,
    statesOnly: stored !== null && after.content === stored.content && also.length === 0,
    next: after.content === null ? null : { content: after.content, backends: after.backends },
    also,
  };
}

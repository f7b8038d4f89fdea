// A user who is deleted or deactivated leaves every group in the store; backends that hold those groups are owed them without the leaver.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Directory } from "../ports.ts";
import type { Content, Stored } from "../schema/resource.ts";
import { lockKey } from "./delivery.ts";
import type { KeyedLocks, Release } from "./keyed_locks.ts";
import type { Link } from "./backend_client.ts";
import type { Outbox, OutboxChange } from "./outbox.ts";
import { has } from "./backend_status.ts";

export interface LeftGroupsDeps {
  readonly directory: Directory;
  readonly links: ReadonlyMap<string, Link>;
  readonly outbox: Outbox;
  readonly locks: KeyedLocks;
}

export interface LeftGroups {
  readonly changes: readonly OutboxChange[];
  /** To be called when the leaving is recorded, or is not. */
  release(): void;
}

const NONE: LeftGroups = { changes: [], release: () => undefined };

/**
 * What the leaving takes beside the user's own record. Holds the groups' locks until released; a writer of a group never waits for a user's, so
 * there is no deadlock.
 */
export async function leaveGroups(
  deps: LeftGroupsDeps,
  { stored, next }: { stored: Stored | null; next: Content | null },
): Promise<LeftGroups> {
  const holders = [...deps.links.values()].filter(({ backend }) => backend.holds.groups);
  if (stored === null || holders.length === 0 || !isLeaving(stored.content, next)) return NONE;
  const releases: Release[] = [];
  const release = () => releases.forEach((one) => one());
  try {
    const changes: OutboxChange[] = [];
    for (const name of stored.groups.toSorted(byLock)) {
      releases.push(await deps.locks.hold(lockKey("group", name)));
      changes.push(...await oweGroup(deps, { name, holders }));
    }
    return { changes, release };
  } catch (fault) {
    release();
    throw fault;
  }
}

/** Always in one order: two leavers of the same groups must not each hold what the other waits for. */
function byLock(a: string, b: string): number {
  return lockKey("group", a) < lockKey("group", b) ? -1 : 1;
}

function isLeaving(before: Content, next: Content | null): boolean {
  if (before.kind !== "user") return false;
  return next === null || (before.active && next.kind === "user" && !next.active);
}

async function oweGroup(
  { directory, outbox }: LeftGroupsDeps,
  { name, holders }: { name: string; holders: readonly Link[] },
): Promise<OutboxChange[]> {
  const group = await directory.read("group", canonicalName(name));
  if (group === null) return [];
  const changes: OutboxChange[] = [];
  for (const { name: backend } of holders) {
    const state = group.backends[backend];
    // What differs there is that backend's own; a removal or a put that is owed already brings the group as it is then.
    if (!has(state) || state?.differs !== undefined) continue;
    const known = await outbox.find(backend, "group", name);
    const entry = { backend, kind: "group", name: group.content.name, operation: "put" } as const;
    changes.push(outbox.add({ ...entry, remoteId: state?.remoteId }, known));
  }
  return changes;
}

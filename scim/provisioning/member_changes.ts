// Adds and removes members of a group: cheap where the embedded store is all there is, a replacement where other backends hold the group too.

import { canonicalName } from "../../platform/canonical_name.ts";
import { ScimRefusal } from "../http/refusals.ts";
import type { BackendInfo, Directory, Target, WriteOptions, Written } from "../ports.ts";
import type { Content, GroupContent, Stored } from "../schema/resource.ts";
import { actionOf, memberNames, targetEntry } from "./write_audit.ts";
import { lockKey } from "./delivery.ts";
import type { KeyedLocks } from "./keyed_locks.ts";
import { chooseBackends } from "./select_backends.ts";
import type { Writer } from "./write_coordinator.ts";

export interface MemberChangesDeps {
  readonly directory: Directory;
  readonly backends: readonly BackendInfo[];
  readonly locks: KeyedLocks;
  readonly target: string;
  readonly write: Writer;
}

interface MemberChange {
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

export function createMemberChanges(deps: MemberChangesDeps): Target["changeMembers"] {
  const { backends, locks, write } = deps;
  const isStoreAlone = backends.length === 1 && backends[0]?.kind === "store";
  return (group, change, options) => {
    // The version is in the group's record, which the cheap way does not read.
    if (isStoreAlone && options.ifVersion === undefined) {
      return locks.run(lockKey("group", group), () => changeInStore(deps, { group, change, options }));
    }
    const content = (stored: Stored | null): Content | null =>
      stored?.content.kind === "group" ? withMembers(stored.content, change) : null;
    return write({ operation: "replace", deed: "members", kind: "group", name: group, content }, options);
  };
}

async function changeInStore(
  { directory, backends, target }: MemberChangesDeps,
  { group, change, options }: { group: string; change: MemberChange; options: WriteOptions },
): Promise<Written> {
  const named = chooseBackends({ backends, holdsGroups: () => true }, {
    kind: "group",
    named: options.backends,
  });
  const recordOf = (added: readonly string[], removed: readonly string[]) =>
    targetEntry(target, {
      actor: options.actor,
      action: actionOf("group", "members"),
      object: `group:${group}`,
      ...memberNames({ added, removed }),
      backends: named,
    });
  const written = await directory.changeMembers({
    group: canonicalName(group),
    add: change.add,
    remove: change.remove,
    also: (added, removed) => [recordOf(added, removed)],
  });
  if (!written.ok) throw new ScimRefusal("not_found");
  return {
    stored: written.stored,
    receipt: { entries: named.map((backend) => ({ backend, outcome: "done" })) },
  };
}

/** Removed first, then added; each name once, without case. */
export function withMembers(group: GroupContent, { add, remove }: MemberChange): GroupContent {
  const removed = new Set(remove.map(canonicalName));
  const kept = new Map<string, string>();
  for (const name of group.members) {
    if (!removed.has(canonicalName(name))) kept.set(canonicalName(name), name);
  }
  for (const name of add) {
    if (!kept.has(canonicalName(name))) kept.set(canonicalName(name), name);
  }
  return { ...group, members: [...kept.values()] };
}

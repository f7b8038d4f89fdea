// Puts users into groups where the embedded store is all that a target has: in changes that are small enough to share a commit, whatever the size of
// the group.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Mutation } from "../../platform/store.ts";
import type { GroupContent } from "../schema/resource.ts";
import { actionOf, memberNames, targetEntry } from "../provisioning/write_audit.ts";
import type { Work } from "./bulk_plan.ts";

export interface Join {
  /** As given. */
  readonly group: string;
  readonly member: string;
}

/** A change beyond this would be written beside the whole group, and not into it. */
const MEMBERS_A_CHANGE = 25;

/** Groups that are missing are created. @returns the groups that were, canonical. */
export async function joinInStore(work: Work, joins: readonly Join[]): Promise<ReadonlySet<string>> {
  const groups = new Map<string, { readonly name: string; readonly members: string[] }>();
  for (const { group, member } of joins) {
    const canonical = canonicalName(group);
    const found = groups.get(canonical);
    if (found === undefined) groups.set(canonical, { name: group, members: [member] });
    else found.members.push(member);
  }
  const made = new Set<string>();
  await Promise.all([...groups].map(async ([canonical, { name, members }]) => {
    const first = members.slice(0, MEMBERS_A_CHANGE);
    const total = members.length;
    if (await changeOrMake(work, { name, members: first, total })) made.add(canonical);
    const rest: Promise<unknown>[] = [];
    for (let from = MEMBERS_A_CHANGE; from < total; from += MEMBERS_A_CHANGE) {
      const add = members.slice(from, from + MEMBERS_A_CHANGE);
      rest.push(work.target.directory.changeMembers({ group: canonical, add, remove: [] }));
    }
    await Promise.all(rest);
  }));
  return made;
}

/** Removes a member again who was added and could not be written. */
export async function leaveInStore({ target }: Work, joins: readonly Join[]): Promise<void> {
  await Promise.all(
    joins.map(({ group, member }) =>
      target.directory.changeMembers({ group: canonicalName(group), add: [], remove: [member] })
    ),
  );
}

interface FirstMembers {
  readonly name: string;
  readonly members: readonly string[];
  /** How many there are in all, for the audit record. */
  readonly total: number;
}

/** @returns whether the group was made. */
async function changeOrMake(work: Work, first: FirstMembers): Promise<boolean> {
  const { directory } = work.target;
  const { name, members } = first;
  const change = { group: canonicalName(name), add: members, remove: [] };
  const also = () => [auditOf(work, first)];
  if ((await directory.changeMembers({ ...change, also })).ok) return false;
  const content: GroupContent = { kind: "group", name, attributes: {}, members };
  const backends = Object.fromEntries(
    work.named.map((backend) => [backend, { state: "present", sinceMs: work.deps.clock.nowMs() }] as const),
  );
  const made = await directory.write({
    kind: "group",
    name,
    expected: null,
    next: { content, backends },
    also: [auditOf(work, first, { isNew: true })],
  });
  // Another request created it meanwhile.
  if (!made.ok) await directory.changeMembers({ ...change, also });
  return made.ok;
}

function auditOf(
  { target, request, named }: Work,
  { name, members, total }: FirstMembers,
  { isNew = false }: { isNew?: boolean } = {},
): Mutation {
  return targetEntry(target.name, {
    actor: request.actor,
    action: actionOf("group", isNew ? "create" : "members"),
    object: `group:${name}`,
    ...memberNames({ added: members, total }),
    backends: named,
  });
}

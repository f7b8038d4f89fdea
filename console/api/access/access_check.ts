// Requires a recent factor for changes of users and groups that give a person access. API tokens cannot make such a change.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Clock } from "../../../platform/runtime.ts";
import { DELETED_USER_DAYS } from "../../../platform/user_record.ts";
import type { Target } from "../../../scim/ports.ts";
import { toFrontEnd } from "../../../scim/schema/mapping.ts";
import type { Content, ResourceKind } from "../../../scim/schema/resource.ts";
import type { People } from "../deps.ts";
import { type AccessSubject, givesAccess, groupsInQuestion } from "./gives_access.ts";

export interface AccessCheckDeps {
  readonly people: Pick<People, "access">;
  readonly clock: Clock;
}

/** The resources before and after a change; `null`: there is none. */
export interface AccessChange {
  readonly before: AccessSubject | null;
  readonly after: AccessSubject | null;
}

const RETENTION_MS = DELETED_USER_DAYS * 24 * 3_600_000;

/** Whether the creation, change or deletion of a resource of a target gives a person access. */
async function changeGivesAccess(
  { people: { access }, clock }: AccessCheckDeps,
  { directory, mapping }: Pick<Target, "directory" | "mapping">,
  { before, after: given }: AccessChange,
): Promise<boolean> {
  const name = canonicalName((before ?? given)?.content.name ?? "");
  const isNewUser = before === null && given?.content.kind === "user";
  const { leftMs, groups } = isNewUser ? await directory.readTraces(name) : { leftMs: null, groups: [] };
  const after = given === null ? null : { ...given, groups: [...given.groups, ...groups] };
  const named = await namedGroups(access, { directory }, groupsInQuestion(before, after));
  return givesAccess(before, after, {
    isGroupNamed: (group) => named.has(group),
    isUserNamed: access.isUserNamed,
    hadFactor: access.hadFactor(name, before?.id),
    leftRecently: leftMs !== null && leftMs + RETENTION_MS > clock.nowMs(),
    replyValuesOf(user) {
      if (access.replySources.length === 0) return [];
      const values = toFrontEnd(user, mapping);
      return access.replySources.flatMap((source) =>
        (values.get(source) ?? []).map((value) => `${source}=${value}`)
      );
    },
  });
}

/** Those of the groups (canonical) that are named, or that a named group contains. */
async function namedGroups(
  access: People["access"],
  { directory }: Pick<Target, "directory">,
  groups: readonly string[],
): Promise<ReadonlySet<string>> {
  const named = new Set<string>();
  if (!access.namesGroups()) return named;
  for (const group of groups) {
    const isNamed = access.isGroupNamed(group) ||
      (await directory.readTraces(group)).groups.some((container) => access.isGroupNamed(container));
    if (isNamed) named.add(group);
  }
  return named;
}

/** Whether the creation of a user or group, or its replacement, gives a person access. */
export async function writeGivesAccess(
  deps: AccessCheckDeps,
  target: Pick<Target, "directory" | "mapping">,
  { content, password }: { readonly content: Content; readonly password?: string | undefined },
): Promise<boolean> {
  const before = await readSubject(target, content.kind, content.name);
  const groups = before?.groups ?? [];
  return await changeGivesAccess(deps, target, {
    before,
    after: { content, groups, setsPassword: password !== undefined },
  });
}

/** Whether the deletion of a user or group gives a person access. */
export async function removalGivesAccess(
  deps: AccessCheckDeps,
  target: Pick<Target, "directory" | "mapping">,
  { kind, name }: { readonly kind: ResourceKind; readonly name: string },
): Promise<boolean> {
  return await changeGivesAccess(deps, target, {
    before: await readSubject(target, kind, name),
    after: null,
  });
}

/** Names that join and leave a group. */
export interface GroupMembershipChange {
  readonly group: string;
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

/** Whether one of the changes of members gives a person access. A name without a user can be a member, too. */
export async function membersGiveAccess(
  deps: AccessCheckDeps,
  target: Pick<Target, "directory" | "mapping">,
  changes: readonly GroupMembershipChange[],
): Promise<boolean> {
  for (const change of changes) if (await memberChangeGivesAccess(deps, target, change)) return true;
  return false;
}

async function memberChangeGivesAccess(
  deps: AccessCheckDeps,
  target: Pick<Target, "directory" | "mapping">,
  { group, add, remove }: GroupMembershipChange,
): Promise<boolean> {
  // A large group is not read for nothing.
  const named = await namedGroups(deps.people.access, target, [canonicalName(group)]);
  if (named.size === 0) return false;
  const before = await readSubject(target, "group", group);
  if (before?.content.kind !== "group") return true;
  const removed = new Set(remove.map(canonicalName));
  const kept = before.content.members.filter((member) => !removed.has(canonicalName(member)));
  const content = { ...before.content, members: [...kept, ...add] };
  return await changeGivesAccess(deps, target, { before, after: { content, groups: [] } });
}

async function readSubject(
  { directory }: Pick<Target, "directory">,
  kind: ResourceKind,
  name: string,
): Promise<AccessSubject | null> {
  const stored = await directory.read(kind, canonicalName(name));
  return stored === null ? null : { id: stored.id, content: stored.content, groups: stored.groups };
}

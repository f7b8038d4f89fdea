// The rules of a connection for writes: resources and members of another origin, and the deletion limit.

import { ScimRefusal } from "../../http/refusals.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Content, Stored } from "../../schema/resource.ts";
import { type Operation, type OperationContext, traceResource } from "./operation.ts";

/**
 * A connection changes the resources that it created or adopted. For any other resource it needs a confirmation of an administrator, unless its rules adopt
 * automatically. A match by e-mail address never counts.
 *
 * @param sentExternalId what the request calls the resource. @throws ScimRefusal `adoption_needed`
 */
export async function checkOrigin(
  { context }: Operation,
  stored: Stored,
  sentExternalId?: string,
): Promise<void> {
  traceResource(context, stored);
  if (await proposeIfForeign(context, stored, sentExternalId)) throw new ScimRefusal("adoption_needed");
}

/** A creation met an existing resource. The administrator sees the match, and the answer stays `taken`: the provider then looks for the resource. */
export async function proposeTaken(
  { context }: Operation,
  { content, externalId }: { content: Content; externalId: string | undefined },
): Promise<void> {
  const stored = await context.target.directory.read(content.kind, canonicalName(content.name));
  if (stored === null) return;
  traceResource(context, stored);
  await proposeIfForeign(context, stored, externalId);
}

/** A group before and after a write; `null`: it does not exist. A change of members needs only the members that join or leave. */
interface MembershipWrite {
  readonly before: GroupMembers | null;
  readonly after: GroupMembers | null;
}

interface GroupMembers {
  readonly name: string;
  readonly members: readonly string[];
}

/** A request proposes at most so many members to the administrator. The next request proposes the next ones. */
const MAX_PROPOSED = 100;

/**
 * A group that a policy or a reply attribute names decides how its members sign in. So a connection changes its members as it changes users: those of another
 * origin need a confirmation. @throws ScimRefusal `adoption_needed`
 */
export async function checkMembers({ context }: Operation, write: MembershipWrite): Promise<void> {
  const { target, connection } = context;
  if (connection.settings.adoption === "automatic") return;
  const groups = [write.before, write.after].flatMap((group) => group === null ? [] : [group.name]);
  if (!await isAnyNamed(context, groups)) return;
  const was = new Set(write.before?.members.map(canonicalName));
  const is = new Set(write.after?.members.map(canonicalName));
  // Under another name, the group counts as another one.
  const isSameGroup = groups.length === 2 && new Set(groups.map(canonicalName)).size === 1;
  let first: string | null = null;
  let proposed = 0;
  for (const member of isSameGroup ? was.symmetricDifference(is) : was.union(is)) {
    const stored = await target.directory.read("user", member);
    if (stored === null || (isSameGroup && isMemberOf(stored, groups[0] ?? "") === is.has(member))) continue;
    if (!await proposeIfForeign(context, stored, undefined)) continue;
    first ??= stored.content.name;
    if (++proposed >= MAX_PROPOSED) break;
  }
  if (first === null) return;
  throw new ScimRefusal("adoption_needed", {
    detail: `A policy or a reply attribute names the group, and this connection did not create its member ${
      JSON.stringify(first)
    }. Accept the user in the console, in the tab Existing users of the connection. Then send the request again.`,
  });
}

/** Whether one of the groups, or a group that contains it, decides how its members sign in. */
async function isAnyNamed(
  { target, namedAccess }: OperationContext,
  groups: readonly string[],
): Promise<boolean> {
  if (!namedAccess.namesGroups(target.name)) return false;
  for (const group of groups.map(canonicalName)) {
    if (namedAccess.isGroupNamed(group)) return true;
    if ((await target.directory.readTraces(group)).groups.some(namedAccess.isGroupNamed)) return true;
  }
  return false;
}

function isMemberOf({ groups }: Stored, group: string): boolean {
  return groups.some((one) => canonicalName(one) === canonicalName(group));
}

/** @returns whether an administrator must confirm the match. */
async function proposeIfForeign(
  { connection, access }: OperationContext,
  stored: Stored,
  sentExternalId: string | undefined,
): Promise<boolean> {
  const { id, managedBy, content: { kind, name } } = stored;
  if (await access.isAdopted(connection, { kind, id, managedBy })) return false;
  const externalId = sentExternalId ?? stored.externalId ?? null;
  await access.proposeAdoption(connection, { ...{ kind, id, name }, externalId });
  return true;
}

/**
 * Counts a user that is deleted or deactivated. The deletion of an inactive user counts, too: it cannot be undone by the connection.
 *
 * @returns a function that undoes the count. @throws ScimRefusal `deletion_limit`
 */
export async function countRemovedUser(
  { context: { access, connection } }: Operation,
  { content }: Stored,
  as: "deleted" | "deactivated",
): Promise<() => Promise<void>> {
  if (content.kind !== "user" || (as === "deactivated" && !content.active)) return () => Promise.resolve();
  return await access.countDeletion(connection, 1);
}

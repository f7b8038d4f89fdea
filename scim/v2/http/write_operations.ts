// Creating, replacing and deleting resources (RFC 7644 §3.3, §3.5.1, §3.6). A replacement with another name is a rename.
// A connection writes within its rules: resources and members of its origin, and a limit for deletions.

import { canonicalName } from "../../../platform/canonical_name.ts";
import { checkPreconditions } from "../../http/handlers.ts";
import { ScimRefusal, typedRefusal } from "../../http/refusals.ts";
import { property } from "../../schema/attributes.ts";
import { etagOf } from "../../schema/render_resource.ts";
import type { Content, JsonObject, Stored } from "../../schema/resource.ts";
import { queryResources } from "../query/query.ts";
import { readBody } from "../schema/read_body.ts";
import { memberIdsOf, toStoredContent } from "../schema/stored_content.ts";
import { hiddenMembers, type MemberNames, memberNames, type NamedMember } from "./member_names.ts";
import {
  type Operation,
  type OperationContext,
  type OperationResult,
  projectionOf,
  repeatLostRaces,
  resourceTypeOf,
  traceResource,
} from "./operation.ts";
import { readWanted, renderContextOf } from "./read_operations.ts";
import { locationOf, renderResponse, renderStored } from "../schema/render_stored.ts";

/** POST of a resource. An inactive user of the connection becomes active again, if its rules say so. */
export async function createOperation(operation: Operation): Promise<OperationResult> {
  return await repeatLostRaces(operation, () => createOnce(operation));
}

async function createOnce(operation: Operation): Promise<OperationResult> {
  const { context } = operation;
  projectionOf(operation);
  const given = await contentOf(operation, null);
  const { content, externalId = null, password } = given;
  const revived = await findInactive(operation, { content, externalId });
  if (revived !== null) return await reviveUser(operation, { stored: revived, given });
  if (content.kind === "group") await checkMembers(operation, { before: null, after: content });
  const options = {
    actor: context.actor,
    externalId,
    password,
    managedBy: context.connection.settings.name,
    users: given.users,
  };
  if (context.connection.settings.dryRun) {
    if (await context.target.directory.read(content.kind, canonicalName(content.name)) !== null) {
      await proposeTaken(operation, given);
      throw new ScimRefusal("taken");
    }
    return planned(operation, { status: 201, verb: "create", content });
  }
  const { stored } = await context.target.create(content, options).catch(async (fault: unknown) => {
    if (fault instanceof ScimRefusal && fault.code === "taken") await proposeTaken(operation, given);
    throw fault;
  });
  if (stored === null) throw new Error("Cannot answer a creation: the target returned no resource");
  traceResource(context, stored);
  return await writtenResult(operation, stored, 201);
}

/** PUT of a resource. What the body omits is removed, except members, `active` and the password. */
export async function replaceOperation(operation: Operation): Promise<OperationResult> {
  projectionOf(operation);
  return await repeatLostRaces(operation, async () => {
    const stored = await readWanted(operation);
    checkPreconditions(operation, stored);
    const given = await contentOf(operation, stored);
    await checkOrigin(operation, stored, given.externalId);
    const written = await writeContent(operation, {
      stored,
      ...given,
      externalId: given.externalId ?? null,
    });
    return "stored" in written ? await writtenResult(operation, written.stored) : written;
  });
}

/** DELETE of a resource. A connection with soft deletion deactivates users. */
export async function deleteOperation(operation: Operation): Promise<OperationResult> {
  return await repeatLostRaces(operation, () => deleteOnce(operation));
}

async function deleteOnce(operation: Operation): Promise<OperationResult> {
  const { context, kind } = operation;
  const { settings } = context.connection;
  const stored = await readWanted(operation);
  checkPreconditions(operation, stored);
  await checkOrigin(operation, stored);
  if (stored.content.kind === "group") {
    await checkMembers(operation, { before: stored.content, after: null });
  }
  const isSoft = kind === "user" && settings.softDelete;
  if (settings.dryRun) {
    return planned(operation, {
      status: 204,
      verb: isSoft ? "deactivate" : "delete",
      content: stored.content,
    });
  }
  const forgive = await countRemovedUser(operation, stored, isSoft ? "deactivated" : "deleted");
  try {
    // Another writer may change the resource meanwhile, or rename it, so that its name belongs to another one.
    const options = { actor: context.actor, ifVersion: stored.version };
    if (isSoft && stored.content.kind === "user") {
      await context.target.replace({ ...stored.content, active: false }, options);
    } else await context.target.remove(kind, stored.content.name, options);
  } catch (fault) {
    await forgive();
    throw asLostRace(fault);
  }
  return { status: 204, text: null };
}

/** The response to a write. */
export async function writtenResult(
  operation: Operation,
  stored: Stored,
  status: 200 | 201 = 200,
): Promise<OperationResult> {
  const context = renderContextOf(operation);
  const text = await renderResponse(stored, context, projectionOf(operation));
  const location = locationOf(context, stored.id);
  return { status, text, etag: etagOf(stored.version), location, id: stored.id };
}

/** What a body sets. */
interface GivenContent {
  readonly content: Content;
  readonly externalId: string | undefined;
  readonly password: string | undefined;
  /** The members that were read for the body. */
  readonly users: readonly NamedMember[];
}

async function contentOf(operation: Operation, stored: Stored | null): Promise<GivenContent> {
  const { context } = operation;
  const type = resourceTypeOf(operation);
  const body = await operation.json();
  context.trace.attributes = Object.keys(body).filter((name) => name !== "schemas");
  // For immutable attributes. Members and groups are none.
  const previous = stored === null ? undefined : await renderStored(stored, renderContextOf(operation), {
    includes: (name) => name !== "members" && name !== "groups",
  });
  const read = readBody(body, type, previous === undefined ? {} : { previous });
  if (!read.ok) throw typedRefusal(read);
  const resource = stored === null ? read.resource : withKept(read.resource, stored);
  const { names, users } = await membersOf(operation, { resource: read.resource, body, stored });
  const converted = toStoredContent(resource, type, {
    ...(stored === null ? {} : { previous: stored.content }),
    members: names,
  });
  if (!converted.ok) throw typedRefusal(converted);
  return { ...converted, users };
}

/** RFC 7644 §3.5.1 lets a server keep what a PUT omits. An `active` that is omitted, removed or null must not let a user in. */
export function withKept(resource: JsonObject, { content }: Pick<Stored, "content">): JsonObject {
  if (content.kind !== "user" || property(resource, "active") !== undefined) return resource;
  return { ...resource, active: content.active };
}

async function membersOf(
  { context, kind }: Operation,
  { resource, body, stored }: { resource: JsonObject; body: JsonObject; stored: Stored | null },
): Promise<MemberNames> {
  if (kind === "user") return { names: [], users: [] };
  // An empty list removes all members. RFC 7644 §3.5.1 lets a server keep what a PUT omits, and an omitted list must not remove everybody.
  const sent = Object.keys(body).find(isMembers);
  if (stored?.content.kind === "group" && sent === undefined) {
    return { names: stored.content.members, users: [] };
  }
  const read = memberIdsOf(resource, sent === undefined ? undefined : property(body, sent));
  if (!read.ok) throw typedRefusal(read);
  const { names, users } = await memberNames(context.target.directory, read.ids, {
    ...{ unknown: "refuse", stored },
  });
  return { names: stored === null ? names : [...hiddenMembers(stored), ...names], users };
}

function isMembers(name: string): boolean {
  return /(^|:)members$/i.test(name);
}

/** An inactive user with the same externalId, otherwise with the same userName. An e-mail address never counts. */
async function findInactive(
  operation: Operation,
  { content, externalId }: { content: Content; externalId: string | null },
): Promise<Stored | null> {
  const { target, connection: { settings } } = operation.context;
  if (content.kind !== "user" || !settings.reactivate) return null;
  const named = await target.directory.read("user", canonicalName(content.name));
  if (named !== null) {
    const isOther = externalId !== null && named.externalId !== undefined && named.externalId !== externalId;
    return isInactive(named) && !isOther ? named : null;
  }
  if (externalId === null) return null;
  const [known, another] = await findByExternalId(operation, externalId);
  return known !== undefined && another === undefined && isInactive(known) ? known : null;
}

function isInactive({ content }: Stored): boolean {
  return content.kind === "user" && !content.active;
}

/** At most two users with an externalId: it need not be unique (RFC 7643 §3.1). None while the index is being built. */
async function findByExternalId({ context }: Operation, externalId: string): Promise<readonly Stored[]> {
  const { target, schemas, cursors, baseUrl } = context;
  const found = await queryResources(target, schemas, {
    ...{ kind: "user", filter: `externalId eq ${JSON.stringify(externalId)}` },
    ...{ sortBy: null, sortOrder: "ascending", startIndex: 1, count: 2, cursor: null },
  }, { ...cursors, baseUrl });
  return found.ok ? found.resources : [];
}

async function reviveUser(
  operation: Operation,
  { stored, given }: { stored: Stored; given: GivenContent },
): Promise<OperationResult> {
  const { externalId } = given;
  await checkOrigin(operation, stored, externalId);
  const written = await writeContent(operation, {
    ...given,
    stored,
    externalId: externalId ?? stored.externalId ?? null,
  });
  return "stored" in written ? await writtenResult(operation, written.stored) : written;
}

interface ResourceRewrite {
  /** The resource as it was read. The write fails if another writer changes it meanwhile. */
  readonly stored: Stored;
  readonly content: Content;
  readonly externalId: string | null;
  readonly password: string | undefined;
  readonly users: readonly NamedMember[];
  /** A PATCH removed `active`. */
  readonly activeUnassigned?: boolean;
}

/** @returns the resource after the write, or the result of a dry run. @throws ScimRefusal `changed` or `precondition` after a lost race */
export async function writeContent(
  operation: Operation,
  { stored, content, externalId, password, users, activeUnassigned = false }: ResourceRewrite,
): Promise<{ readonly stored: Stored } | OperationResult> {
  const { context } = operation;
  const { settings } = context.connection;
  const isRenamed = canonicalName(content.name) !== canonicalName(stored.content.name);
  const isLeaving = stored.content.kind === "user" && stored.content.active && content.kind === "user" &&
    !content.active;
  traceResource(context, stored);
  if (stored.content.kind === "group" && content.kind === "group") {
    await checkMembers(operation, { before: stored.content, after: content });
  }
  if (settings.dryRun) {
    const verb = isRenamed ? "rename" : isLeaving ? "deactivate" : "change";
    return planned(operation, { status: 200, verb, content: stored.content });
  }
  const forgive = isLeaving
    ? await countRemovedUser(operation, stored, "deactivated")
    : () => Promise.resolve();
  const options = {
    actor: context.actor,
    externalId,
    password,
    managedBy: settings.name,
    activeUnassigned,
    ifVersion: stored.version,
    users,
  };
  try {
    const written = isRenamed
      ? await context.target.rename(content.kind, stored.content.name, content, options)
      : await context.target.replace(content, options);
    if (written.stored === null) throw new Error("Cannot answer a write: the target returned no resource");
    return { stored: written.stored };
  } catch (fault) {
    await forgive();
    throw asLostRace(fault);
  }
}

/** The target finds a resource by its name. If the name that was read is gone, another writer renamed or deleted the resource. */
export function asLostRace(fault: unknown): unknown {
  const isGone = fault instanceof ScimRefusal && fault.code === "not_found";
  return isGone ? new ScimRefusal("changed", { cause: fault }) : fault;
}

/** The result of a dry run: nothing is stored, and the request log shows what would happen. */
export function planned(
  operation: Operation,
  { status, verb, content }: { status: 200 | 201 | 204; verb: string; content: Content },
): OperationResult {
  const { context, id } = operation;
  context.trace.resource ??= { kind: content.kind, id: null, name: content.name };
  context.trace.planned = `Would ${verb} the ${content.kind} ${JSON.stringify(content.name)}.`;
  if (status === 204) return { status, text: null };
  const { type, baseUrl } = renderContextOf(operation);
  const shown = id ?? context.newId();
  const location = locationOf({ type, baseUrl }, shown);
  const name = content.kind === "user"
    ? { userName: content.name, active: content.active }
    : { displayName: content.name };
  const resource = {
    schemas: [type.schema.id],
    id: shown,
    ...name,
    meta: { resourceType: type.name, location },
  };
  return { status, text: JSON.stringify(resource), location, id: shown };
}

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
async function proposeTaken(
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
async function countRemovedUser(
  { context: { access, connection } }: Operation,
  { content }: Stored,
  as: "deleted" | "deactivated",
): Promise<() => Promise<void>> {
  if (content.kind !== "user" || (as === "deactivated" && !content.active)) return () => Promise.resolve();
  return await access.countDeletion(connection, 1);
}

// PATCH of a resource (RFC 7644 §3.5.2). Members of a group change one by one, so that parallel requests lose nothing and the size of the group does not
// matter.

import { canonicalName } from "../../../platform/canonical_name.ts";
import { checkPreconditions } from "../../http/handlers.ts";
import { typedRefusal } from "../../http/refusals.ts";
import { isJsonArray, isJsonObject, property } from "../../schema/attributes.ts";
import type { GroupContent, JsonObject, Stored } from "../../schema/resource.ts";
import type { ResourceTypeDefinition } from "../../schema/attribute_table.ts";
import { readBody } from "../schema/read_body.ts";
import { toStoredContent } from "../schema/stored_content.ts";
import { applyPatch, type MemberChanges, MembersNeeded, type PatchOutcome } from "../patch/patch.ts";
import { createPatchSchema, type PatchSchema } from "../patch/patch_path.ts";
import {
  asLostRace,
  checkMembers,
  checkOrigin,
  planned,
  withKept,
  writeContent,
  writtenResult,
} from "./write_operations.ts";
import { hiddenMembers, type MemberNames, memberNames, namedMembers } from "./member_names.ts";
import {
  isConditional,
  type Operation,
  type OperationResult,
  projectionOf,
  repeatLostRaces,
  resourceTypeOf,
} from "./operation.ts";
import { readWanted, readWantedHead, renderContextOf } from "./read_operations.ts";
import { membersOf, renderStored } from "../schema/render_stored.ts";

export async function patchOperation(operation: Operation): Promise<OperationResult> {
  const body = await operation.json();
  operation.context.trace.attributes = patchedAttributes(body);
  projectionOf(operation);
  return await repeatLostRaces(operation, () => patchOnce(operation, body, { isWhole: false }));
}

/** @param options.isWhole reads the members of a group, which most changes do not need. */
async function patchOnce(
  operation: Operation,
  body: JsonObject,
  { isWhole }: { isWhole: boolean },
): Promise<OperationResult> {
  const { kind, context } = operation;
  // The version of a group counts its members.
  const isHead = kind === "group" && !isWhole && !isConditional(operation);
  const head = isHead ? await readWantedHead(operation) : await readWanted(operation);
  checkPreconditions(operation, head);
  await checkOrigin(operation, head);
  const type = resourceTypeOf(operation);
  const resource = await renderStored(head, renderContextOf(operation), {
    includes: (name) => name !== "members" && name !== "groups",
  });
  const patched = applyQuietly(resource, body, {
    schema: patchSchemaOf(type),
    ...(kind === "group"
      ? {
        members: {
          canRemoveAll: context.connection.settings.removeAllMembers,
          ...isHead ? {} : { present: () => membersOf(head, renderContextOf(operation)) },
        },
      }
      : {}),
  });
  if (patched === "members_needed") return await patchOnce(operation, body, { isWhole: true });
  if (!patched.ok) throw typedRefusal(patched.problem);
  const { isChanged, members } = patched;
  if (!isChanged && members === null) return await unchangedResult(operation, head);
  if (!isChanged && members !== null && members.replace === undefined) {
    return await changeMembers(operation, head, members);
  }
  // The resource and its version must come from one read.
  if (isHead) return await patchOnce(operation, body, { isWhole: true });
  // What a PATCH leaves is read like the body of a PUT, so that a client can send it again.
  const read = readBody(patched.resource, type, { previous: resource });
  if (!read.ok) throw typedRefusal(read);
  return await writeWhole(operation, { stored: head, resource: read.resource, members });
}

function applyQuietly(...given: Parameters<typeof applyPatch>): PatchOutcome | "members_needed" {
  try {
    return applyPatch(...given);
  } catch (fault) {
    if (fault instanceof MembersNeeded) return "members_needed";
    throw fault;
  }
}

/** Adds and removes members. The group itself is not read or written. */
async function changeMembers(
  operation: Operation,
  head: Stored,
  change: MemberChanges,
): Promise<OperationResult> {
  const { context } = operation;
  const { directory } = context.target;
  const added = await namedMembers(directory, change.add, "refuse");
  // A member that no longer exists is not a member, so its removal changes nothing.
  const removed = await namedMembers(directory, change.remove, "ignore");
  const add = added.map(({ name }) => name);
  const remove = removed.map(({ name }) => name);
  const { content } = head;
  await checkMembers(operation, {
    before: { name: content.name, members: remove },
    after: { name: content.name, members: add },
  });
  if (context.connection.settings.dryRun) {
    return planned(operation, { status: 204, verb: "change the members of", content });
  }
  if (add.length + remove.length > 0) {
    const options = {
      actor: context.actor,
      ifId: head.id,
      ...isConditional(operation) ? { ifVersion: head.version } : {},
    };
    try {
      await context.target.changeMembers(
        content.name,
        { add, remove, users: [...added, ...removed] },
        options,
      );
    } catch (fault) {
      throw asLostRace(fault);
    }
  }
  return await patchedResult(operation, null);
}

async function writeWhole(
  operation: Operation,
  { stored, resource, members }: { stored: Stored; resource: JsonObject; members: MemberChanges | null },
): Promise<OperationResult> {
  const { context } = operation;
  const { names, users } = stored.content.kind === "group"
    ? await membersAfter(operation, stored, members)
    : { names: [], users: [] };
  const converted = toStoredContent(withKept(resource, stored), resourceTypeOf(operation), {
    previous: stored.content,
    members: names,
  });
  if (!converted.ok) throw typedRefusal(converted);
  const { content, externalId = null, password } = converted;
  // The user stays as it was. Only the response has no `active` any more.
  const activeUnassigned = content.kind === "user" && property(resource, "active") === undefined;
  const written = await writeContent(operation, {
    ...{ stored, content, externalId, password, users, activeUnassigned },
  });
  if ("stored" in written) return await patchedResult(operation, written.stored, members === null);
  return context.trace.resource?.kind === "group" ? { status: 204, text: null } : written;
}

async function membersAfter(
  { context: { target: { directory } } }: Operation,
  stored: Stored,
  members: MemberChanges | null,
): Promise<MemberNames> {
  const group = stored.content as GroupContent;
  if (members === null) return { names: group.members, users: [] };
  const { replace, remove, add } = members;
  const namesOf = (ids: readonly string[], unknown: "refuse" | "ignore") =>
    memberNames(directory, ids, { unknown, stored });
  if (replace !== undefined) {
    const { names, users } = await namesOf(replace, "refuse");
    return { names: [...hiddenMembers(stored), ...names], users };
  }
  const removed = new Set((await namesOf(remove, "ignore")).names.map(canonicalName));
  const kept = group.members.filter((name) => !removed.has(canonicalName(name)));
  const { names, users } = await namesOf(add, "refuse");
  return { names: [...kept, ...names], users };
}

/** Nothing differs from the resource, so nothing is written. */
async function unchangedResult(operation: Operation, head: Stored): Promise<OperationResult> {
  return await patchedResult(operation, operation.kind === "group" ? null : head);
}

/**
 * A user is in the response. A group is only if the request names attributes, or changes other attributes than its members: it can have
 * 10,000 members.
 */
async function patchedResult(
  operation: Operation,
  written: Stored | null,
  isWanted = false,
): Promise<OperationResult> {
  const { attributes } = operation.projection;
  const isNamed = attributes !== undefined && attributes.length > 0;
  if (operation.kind === "group" && !isNamed && !isWanted) return { status: 204, text: null };
  return await writtenResult(operation, written ?? await readWanted(operation));
}

const compiled = new WeakMap<ResourceTypeDefinition, PatchSchema>();

function patchSchemaOf(type: ResourceTypeDefinition): PatchSchema {
  let schema = compiled.get(type);
  if (schema === undefined) {
    schema = createPatchSchema(type.schema, type.extensions.map((extension) => extension.schema));
    compiled.set(type, schema);
  }
  return schema;
}

const MAX_TRACED = 20;

/** The paths that a PATCH names, for the request log: never values. */
function patchedAttributes(body: JsonObject): string[] {
  const operations = property(body, "Operations") ?? property(body, "operations");
  if (!isJsonArray(operations)) return [];
  const names = operations.slice(0, MAX_TRACED).flatMap((one) => {
    if (!isJsonObject(one)) return [];
    const path = property(one, "path");
    const value = property(one, "value");
    // A filter in a path can have a value.
    if (typeof path === "string") return [path.replace(/\[[^]*$/, "").slice(0, 100)];
    return isJsonObject(value) ? Object.keys(value).slice(0, MAX_TRACED) : [];
  });
  return [...new Set(names)];
}

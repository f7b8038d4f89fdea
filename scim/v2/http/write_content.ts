// Writes the content of an existing resource: a replacement, or a rename if the name is another one.

import { canonicalName } from "../../../platform/canonical_name.ts";
import { ScimRefusal } from "../../http/refusals.ts";
import type { Content, Stored } from "../../schema/resource.ts";
import { checkMembers, countRemovedUser } from "./connection_rules.ts";
import { type Operation, type OperationResult, traceResource } from "./operation.ts";
import { locationOf } from "../schema/render_stored.ts";
import { renderContextOf } from "./read_operations.ts";

interface ResourceRewrite {
  /** The resource as it was read. The write fails if another writer changes it meanwhile. */
  readonly stored: Stored;
  readonly content: Content;
  readonly externalId: string | null;
  readonly password: string | undefined;
  /** A PATCH removed `active`. */
  readonly activeUnassigned?: boolean;
}

/** @returns the resource after the write, or the result of a dry run. @throws ScimRefusal `changed` or `precondition` after a lost race */
export async function writeContent(
  operation: Operation,
  { stored, content, externalId, password, activeUnassigned = false }: ResourceRewrite,
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

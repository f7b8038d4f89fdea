// The rules of a connection for writes: resources of another origin, and the deletion limit.

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

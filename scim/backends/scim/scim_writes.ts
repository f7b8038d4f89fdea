// Writes to another SCIM server: POST for new resources, PUT for changes, PATCH for members. Never repeats an uncertain write.

import { type DesiredResource, membersNotStored, type PutResult } from "../../backend_port.ts";
import type { JsonObject, Mapping, ResourceKind } from "../../schema/resource.ts";
import { type ReadOnlyAttributes, withReadOnly } from "../../schema/read_only_attributes.ts";
import {
  collectionPath,
  isSameResource,
  type ReceivedResource,
  type ScimCapabilities,
  toResource,
} from "./scim_resources.ts";
import type { ScimResponse } from "./scim_http.ts";
import { type MemberLookup, memberPatches, resolveMembers, type ScimIdCache } from "./scim_members.ts";
import type { ScimClient } from "./scim_client.ts";
import { BackendError, malformedError, unsupportedError } from "../backend_error.ts";

export interface ScimWriter {
  readonly service: ScimClient;
  readonly ids: ScimIdCache;
  readonly mapping: Mapping;
  /** Read-only attributes of the server. A PUT repeats the server's values, because it replaces everything (RFC 7644 §3.5.1). */
  readonly readOnly: ReadOnlyAttributes;
}

interface PutJob extends ScimWriter {
  readonly desired: DesiredResource;
  readonly members: readonly JsonObject[];
  readonly abilities: ScimCapabilities;
  readonly deadlineMs: number;
}

/** Makes the server store `desired`. */
export async function putResource(desired: DesiredResource, order: PutOptions): Promise<PutResult> {
  try {
    return await putOnce(desired, order);
  } catch (thrown) {
    // A member may have been created again with another ID than the cached one.
    const mayBeStale = desired.content.kind === "group" && desired.content.members.length > 0 &&
      thrown instanceof BackendError && thrown.fault.kind === "refused" && !thrown.fault.retry;
    if (!mayBeStale || !order.writer.ids.clear()) throw thrown;
    return await putOnce(desired, order);
  }
}

interface PutOptions {
  readonly writer: ScimWriter;
  /** The name of the resource until now. Absent: that of the content. */
  readonly from?: string;
  readonly id: string | undefined;
  readonly deadlineMs: number;
}

async function putOnce(
  desired: DesiredResource,
  { writer, from, id, deadlineMs }: PutOptions,
): Promise<PutResult> {
  const { content } = desired;
  const { service, ids } = writer;
  const abilities = await service.capabilities(deadlineMs);
  const { kind, name } = content;
  const earlier = from === undefined ? null : await service.find({ kind, name: from, id, deadlineMs });
  const found = earlier ?? await service.find({ kind, name, id, deadlineMs });
  if (content.kind === "group" && !service.hasGroups) throw unsupportedError("the server has no groups");
  const lookup: MemberLookup = { service, ids, dialect: abilities.dialect, deadlineMs };
  const { members, unknown } = await resolveMembers(content.kind === "group" ? content.members : [], lookup);
  const laid: DesiredResource = {
    ...desired,
    content: withReadOnly(content, found?.content ?? null, writer.readOnly),
  };
  const job: PutJob = { ...writer, desired: laid, abilities, deadlineMs, members };
  const made = found === null ? await create(job) : await replace(found, job);
  if (content.kind === "user" && from !== undefined) ids.forget(from);
  if (content.kind === "user") ids.remember(content.name, made);
  const notStored = membersNotStored(unknown);
  return { remoteId: made, ...notStored === undefined ? {} : { notStored } };
}

async function create(job: PutJob): Promise<string> {
  const { service, desired: { content, password }, deadlineMs } = job;
  const answer = await service.send({
    method: "POST",
    path: collectionPath(content.kind),
    body: bodyOf(job),
    deadlineMs,
  }, { allow: [409], secrets: secretsOf(password) });
  const { kind, name } = content;
  if (answer.status !== 409) return idIn(answer) ?? (await mustFind(job, { kind, name })).id;
  // Another client created it in the meantime, or an earlier attempt arrived after all.
  const other = await mustFind(job, { kind, name });
  const laid = { ...job.desired, content: withReadOnly(content, other.content, job.readOnly) };
  return await replace(other, { ...job, desired: laid });
}

async function mustFind(
  { service, deadlineMs }: PutJob,
  { kind, name }: { kind: ResourceKind; name: string },
): Promise<ReceivedResource> {
  const found = await service.find({ kind, name, deadlineMs });
  if (found === null) {
    throw malformedError("the server reports that the name is taken, but does not return the resource");
  }
  return found;
}

async function replace(found: ReceivedResource, job: PutJob): Promise<string> {
  const { service, mapping, abilities, deadlineMs, desired: { content, password } } = job;
  const { dialect } = abilities;
  const held = found.members.map(({ value }) => value);
  const wanted = job.members.flatMap(({ value }) => typeof value === "string" ? [value] : []);
  const isSame = password === undefined && isSameResource(content, found.content, { dialect, mapping });
  if (isSame && isSameSet(held, wanted)) return found.id;
  const path = `${collectionPath(content.kind)}/${encodeURIComponent(found.id)}`;
  if (isSame && content.kind === "group" && abilities.patch) {
    await patchMembers(memberPatches(held, wanted), { path, job });
    return found.id;
  }
  const answer = await service.send({
    method: "PUT",
    path,
    body: { ...bodyOf(job), id: found.id },
    deadlineMs,
  }, { secrets: secretsOf(password) });
  return idIn(answer) ?? found.id;
}

/** After the first request succeeded, a failure leaves the group incomplete. */
async function patchMembers(
  patches: readonly JsonObject[],
  { path, job: { service, deadlineMs } }: { path: string; job: PutJob },
): Promise<void> {
  for (const [count, body] of patches.entries()) {
    try {
      await service.send({ method: "PATCH", path, body, deadlineMs });
    } catch (thrown) {
      if (thrown instanceof BackendError && count > 0) {
        throw new BackendError({ ...thrown.fault, unsure: true }, { cause: thrown });
      }
      throw thrown;
    }
  }
}

function bodyOf({ desired: { content, password }, members, abilities: { dialect } }: PutJob): JsonObject {
  return toResource(content, { dialect, members, ...password === undefined ? {} : { password } });
}

function secretsOf(password: string | undefined): string[] {
  return password === undefined ? [] : [password];
}

/** The ID from the body, otherwise from Location. */
function idIn({ body, headers }: ScimResponse): string | null {
  if (typeof body?.id === "string" && body.id !== "") return body.id;
  const last = headers.get("location")?.split("/").at(-1) ?? "";
  if (last === "" || last.includes("?")) return null;
  try {
    return decodeURIComponent(last);
  } catch (fault) {
    if (fault instanceof URIError) return null;
    throw fault;
  }
}

function isSameSet(held: readonly string[], wanted: readonly string[]): boolean {
  const has = new Set(held);
  return has.size === new Set(wanted).size && wanted.every((one) => has.has(one));
}

/** Removes a resource. A missing resource counts as removed. */
export async function removeResource(
  wanted: { kind: ResourceKind; name: string; id: string | undefined; deadlineMs: number },
  { service, ids }: ScimWriter,
): Promise<void> {
  const { kind, name, deadlineMs } = wanted;
  const found = await service.find(wanted);
  if (kind === "user") ids.forget(name);
  if (found === null) return;
  const path = `${collectionPath(kind)}/${encodeURIComponent(found.id)}`;
  await service.send({ method: "DELETE", path, deadlineMs }, { allow: [404] });
}

// Writing to another SCIM server: POST what is new, PUT what differs, PATCH where only members do. Nothing is sent twice blindly.

import type { Desired, PutResult } from "../../backend_port.ts";
import type { JsonObject, Mapping, ResourceKind } from "../../schema/resource.ts";
import { type Kept, layKept } from "../../schema/read_only_attributes.ts";
import { membersNotStored } from "../../schema/members_not_stored.ts";
import type { ScimAbilities } from "./scim_dialects.ts";
import type { ScimAnswer } from "./scim_http.ts";
import type { ScimIds } from "./scim_ids.ts";
import { type MemberDesk, memberPatches, membersOf } from "./scim_members.ts";
import { isSameContent, pathOf, type ReceivedResource, toResource } from "./scim_resources.ts";
import type { ScimService } from "./scim_client.ts";
import { nonsense, Trouble, unsupported } from "../backend_error.ts";

export interface ScimWriter {
  readonly service: ScimService;
  readonly ids: ScimIds;
  readonly mapping: Mapping;
  /** What the server keeps for itself: a PUT brings it as the server has it (RFC 7644 §3.5.1 replaces everything). */
  readonly keeps: Kept;
}

interface Job extends ScimWriter {
  readonly desired: Desired;
  readonly members: readonly JsonObject[];
  readonly abilities: ScimAbilities;
  readonly deadlineMs: number;
}

/** Makes the server hold `desired`. */
export async function putResource(desired: Desired, order: PutOrder): Promise<PutResult> {
  try {
    return await putOnce(desired, order);
  } catch (thrown) {
    // A member may have been made anew there, under another id than the one that is remembered.
    const mayBeStale = desired.content.kind === "group" && desired.content.members.length > 0 &&
      thrown instanceof Trouble && thrown.fault.kind === "refused" && !thrown.fault.retry;
    if (!mayBeStale || !order.writer.ids.clear()) throw thrown;
    return await putOnce(desired, order);
  }
}

interface PutOrder {
  readonly writer: ScimWriter;
  readonly id: string | undefined;
  readonly deadlineMs: number;
}

async function putOnce(desired: Desired, { writer, id, deadlineMs }: PutOrder): Promise<PutResult> {
  const { content } = desired;
  const { service, ids } = writer;
  const abilities = await service.abilities(deadlineMs);
  const found = await service.find({ kind: content.kind, name: content.name, id, deadlineMs });
  if (content.kind === "group" && !service.hasGroups()) throw unsupported("the server has no groups");
  const desk: MemberDesk = { service, ids, dialect: abilities.dialect, deadlineMs };
  const { members, unknown } = await membersOf(content.kind === "group" ? content.members : [], desk);
  const laid: Desired = { ...desired, content: layKept(content, found?.content ?? null, writer.keeps) };
  const job: Job = { ...writer, desired: laid, abilities, deadlineMs, members };
  const made = found === null ? await create(job) : await replace(found, job);
  if (content.kind === "user") ids.remember(content.name, made);
  const notStored = membersNotStored(unknown);
  return { remoteId: made, ...notStored === undefined ? {} : { notStored } };
}

async function create(job: Job): Promise<string> {
  const { service, desired: { content, password }, deadlineMs } = job;
  const answer = await service.send({
    method: "POST",
    path: pathOf(content.kind),
    body: bodyOf(job),
    deadlineMs,
  }, { allow: [409], secrets: secretsOf(password) });
  const { kind, name } = content;
  if (answer.status !== 409) return idIn(answer) ?? (await mustFind(job, { kind, name })).id;
  // Another client created it meanwhile, or an earlier attempt of ours arrived after all.
  const other = await mustFind(job, { kind, name });
  const laid = { ...job.desired, content: layKept(content, other.content, job.keeps) };
  return await replace(other, { ...job, desired: laid });
}

async function mustFind(
  { service, deadlineMs }: Job,
  { kind, name }: { kind: ResourceKind; name: string },
): Promise<ReceivedResource> {
  const found = await service.find({ kind, name, deadlineMs });
  if (found === null) {
    throw nonsense("the server says that the name is taken, but does not give the resource");
  }
  return found;
}

async function replace(found: ReceivedResource, job: Job): Promise<string> {
  const { service, mapping, abilities, deadlineMs, desired: { content, password } } = job;
  const { dialect } = abilities;
  const held = found.members.map(({ value }) => value);
  const wanted = job.members.flatMap(({ value }) => typeof value === "string" ? [value] : []);
  const isSame = password === undefined && isSameContent(content, found.content, { dialect, mapping });
  if (isSame && isSameSet(held, wanted)) return found.id;
  const path = `${pathOf(content.kind)}/${encodeURIComponent(found.id)}`;
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

/** After the first has gone through, a failure leaves the group half done. */
async function patchMembers(
  patches: readonly JsonObject[],
  { path, job: { service, deadlineMs } }: { path: string; job: Job },
): Promise<void> {
  for (const [count, body] of patches.entries()) {
    try {
      await service.send({ method: "PATCH", path, body, deadlineMs });
    } catch (thrown) {
      if (thrown instanceof Trouble && count > 0) {
        throw new Trouble({ ...thrown.fault, unsure: true }, { cause: thrown });
      }
      throw thrown;
    }
  }
}

function bodyOf({ desired: { content, password }, members, abilities: { dialect } }: Job): JsonObject {
  return toResource(content, { dialect, members, ...password === undefined ? {} : { password } });
}

function secretsOf(password: string | undefined): string[] {
  return password === undefined ? [] : [password];
}

/** From the body, else from Location. */
function idIn({ body, headers }: ScimAnswer): string | null {
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

/** Removes it; what is not there is removed already. */
export async function removeResource(
  wanted: { kind: ResourceKind; name: string; id: string | undefined; deadlineMs: number },
  { service, ids }: ScimWriter,
): Promise<void> {
  const { kind, name, deadlineMs } = wanted;
  const found = await service.find(wanted);
  if (kind === "user") ids.forget(name);
  if (found === null) return;
  const path = `${pathOf(kind)}/${encodeURIComponent(found.id)}`;
  await service.send({ method: "DELETE", path, deadlineMs }, { allow: [404] });
}

// Writes to another SCIM server: POST for new resources, the operations of a PATCH with what changes, or a merged PUT (RFC 7644 §3.5). Never repeats an
// uncertain write.

import { canonicalName } from "../../../platform/canonical_name.ts";
import {
  type ContentChanges,
  type DesiredResource,
  membersNotStored,
  type PutResult,
  type Reference,
} from "../../backend_port.ts";
import type { Content, JsonObject, JsonValue, Mapping, ResourceKind } from "../../schema/resource.ts";
import { isJsonArray, isSameJson, property, propertyNamed, spellingOf } from "../../schema/attributes.ts";
import { contentChanges, type ReadOnlyAttributes, withReadOnly } from "../../schema/merge.ts";
import {
  collectionPath,
  nameAttribute,
  type ReceivedResource,
  RFC7643_COVERS,
  type ScimCapabilities,
  SPECIFICATION_ONLY,
  toJsonObject,
  toResource,
} from "./scim_resources.ts";
import type { ScimClient, ScimResponse } from "./scim_client.ts";
import {
  type MemberLookup,
  memberPatches,
  memberResets,
  patchBody,
  resolveMembers,
  type ScimIdCache,
  type ServerReference,
  serverReferences,
  translateReferences,
} from "./scim_members.ts";
import { BackendError, malformedError, unsupportedError } from "../backend_error.ts";
import { ENTERPRISE_SCHEMA } from "../../schema/attribute_table.ts";

export interface ScimWriter {
  readonly service: ScimClient;
  readonly ids: ScimIdCache;
  readonly mapping: Mapping;
  /** The base URL, for `$ref`. */
  readonly url: string;
  /** Read-only attributes of the server. They are never sent, except as the server has them. */
  readonly readOnly: ReadOnlyAttributes;
}

interface PutJob extends ScimWriter {
  readonly desired: DesiredResource;
  readonly members: readonly JsonObject[];
  /** Members that leave the group. */
  readonly left: readonly JsonObject[];
  readonly references: ReadonlyMap<string, ServerReference>;
  /** The earlier name of a rename. */
  readonly from: string | undefined;
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
  const { content, changes } = desired;
  const { service, ids } = writer;
  const abilities = await service.capabilities(deadlineMs);
  const { kind, name } = content;
  const earlier = from === undefined ? null : await service.find({ kind, name: from, id, deadlineMs });
  const found = earlier ?? await service.find({ kind, name, id, deadlineMs });
  if (content.kind === "group" && !service.hasGroups) throw unsupportedError("the server has no groups");
  const lookup: MemberLookup = { service, ids, dialect: abilities.dialect, deadlineMs };
  const { members, unknown } = await resolveMembers(content.kind === "group" ? content.members : [], lookup);
  // A member that the server does not have is in no group there.
  const { members: left } = await resolveMembers(found === null ? [] : changes?.left ?? [], lookup);
  const references = await serverReferences(desired.references, lookup);
  const job: PutJob = { ...writer, desired, abilities, deadlineMs, members, left, references, from };
  const made = found === null ? await create(job) : await change(found, job);
  if (content.kind === "user" && from !== undefined) ids.forget(from);
  if (content.kind === "user") ids.remember(content.name, made);
  const notStored = membersNotStored(unknown);
  const awaited: Reference[] = [
    ...[...references.values()].filter((one) => one.id === null),
    ...unknown.slice(0, MAX_AWAITED_MEMBERS).map((member) => ({ kind: "user", name: member }) as const),
  ];
  return {
    remoteId: made,
    ...notStored === undefined ? {} : { notStored },
    ...awaited.length === 0 ? {} : { awaited },
  };
}

/** The members of one group that are waited for. The next write of the group sends the others. */
const MAX_AWAITED_MEMBERS = 500;

async function create(job: PutJob): Promise<string> {
  const { service, desired, deadlineMs } = job;
  const { password, content } = desired;
  const answer = await service.send({
    method: "POST",
    path: collectionPath(content.kind),
    body: bodyOf({ ...job, desired: { ...desired, content: withReadOnly(content, null, job.readOnly) } }),
    deadlineMs,
  }, { allow: [409], secrets: secretsOf(password) });
  const { kind, name } = content;
  if (answer.status !== 409) return idIn(answer) ?? (await mustFind(job, { kind, name })).id;
  // Another client created it in the meantime, or an earlier attempt arrived after all. Otherwise another value is taken.
  const found = await service.find({ kind, name, deadlineMs });
  if (found !== null) return await change(found, job);
  throw service.errorOf(answer, { method: "POST", secrets: secretsOf(password) });
}

async function mustFind(
  { service, deadlineMs }: PutJob,
  { kind, name }: { kind: ResourceKind; name: string },
): Promise<ReceivedResource> {
  const found = await service.find({ kind, name, deadlineMs });
  if (found === null) {
    throw malformedError("the server reports a new resource, but does not return it");
  }
  return found;
}

/** Sends what changes: by PATCH if the server has it, otherwise by a PUT of its own resource with the changes. */
async function change(found: ReceivedResource, job: PutJob): Promise<string> {
  const { abilities, desired: { content, changes, password }, readOnly, from } = job;
  const input = { found, content, body: bodyOf(job), changes, readOnly, from };
  const attributes = attributeChanges(input);
  const members = memberChanges(found, job);
  const isSame = attributes.length === 0 && password === undefined && members.added.length === 0 &&
    members.removed.length === 0 && !members.resets;
  if (isSame) return found.id;
  const path = `${collectionPath(content.kind)}/${encodeURIComponent(found.id)}`;
  const update: Update = { found, path, job, attributes, members };
  const verbs = abilities.patch ? [patchResource, putMerged] : [putMerged, patchResource];
  let refusal: ScimResponse | null = null;
  for (const verb of verbs) {
    const answer = await verb(update);
    if (answer === null || answer.status < 300) return (answer === null ? null : idIn(answer)) ?? found.id;
    refusal ??= answer;
  }
  if (refusal === null) return found.id;
  throw job.service.errorOf(refusal, { method: "PATCH", secrets: secretsOf(password) });
}

interface MemberChanges {
  readonly added: readonly string[];
  /** Members that the server may not have. */
  readonly removed: readonly string[];
  /** The server does not show members, and must have exactly the wanted ones. */
  readonly resets: boolean;
  readonly wanted: readonly string[];
}

interface Update {
  readonly found: ReceivedResource;
  readonly path: string;
  readonly job: PutJob;
  readonly attributes: readonly AttributeChange[];
  readonly members: MemberChanges;
}

/** Members that leave are removed whatever the server lists: it may hide members. Those that only the server has stay. */
function memberChanges(found: ReceivedResource, job: PutJob): MemberChanges {
  const { desired: { content, changes } } = job;
  if (content.kind === "user") return { added: [], removed: [], resets: false, wanted: [] };
  const keyOf = memberKey(job.abilities);
  const shown = new Set(found.members.map(({ value }) => keyOf(value)));
  const wanted = idsOf(job.members);
  const wants = new Set(wanted.map(keyOf));
  const added = wanted.filter((id) => !shown.has(keyOf(id)));
  const leaving = changes === undefined ? found.members.map(({ value }) => value) : idsOf(job.left);
  const removed = leaving.filter((id) => !wants.has(keyOf(id)));
  return { added, removed, resets: changes === undefined && shown.size === 0, wanted };
}

function idsOf(members: readonly JsonObject[]): string[] {
  return members.flatMap(({ value }) => typeof value === "string" ? [value] : []);
}

/** The status of a server that lacks the method, at a resource that was just read. */
const LACKS_METHOD = [404, 405, 501];
/** A refusal with one of these types concerns the values. Another verb does not help. */
const FINAL_TYPES = new Set(["invalidValue", "uniqueness", "mutability", "sensitive"]);
/** A removal that finds nothing has reached its aim. */
const FINDS_NOTHING = new Set(["noTarget", "invalidPath"]);

/** `null`: all requests succeeded. A response: the server lacks the method, and nothing was changed. */
async function patchResource(
  { found, path, job, attributes, members }: Update,
): Promise<ScimResponse | null> {
  const { desired: { password } } = job;
  const isShown = ({ value, held }: AttributeChange) => value !== undefined || held !== undefined;
  const operations = patchOperations(attributes.filter(isShown));
  if (password !== undefined) operations.push({ op: "replace", path: "password", value: password });
  const isShownMember = (id: string) => found.members.some(({ value }) => value === id);
  const { added, removed, resets, wanted } = members;
  const hidden = removed.filter((id) => !isShownMember(id));
  const patches = new PatchRun(path, job);
  if (operations.length > 0) await patches.send([patchBody(operations)]);
  if (resets) await patches.send(memberResets(wanted));
  else await patches.send(memberPatches({ added, removed: removed.filter(isShownMember) }));
  // The server may not have these. It may say so (RFC 7644 §3.12 noTarget), and then the aim is reached.
  await patches.send(memberPatches({ added: [], removed: hidden }), { mayLack: true });
  const unshown = patchOperations(attributes.filter((one) => !isShown(one)));
  await patches.send(unshown.map((operation) => patchBody([operation])), { mayLack: true });
  return patches.refusal;
}

/** Several PATCH requests of one resource. After the first one succeeded, a failure leaves the resource incomplete. */
class PatchRun {
  readonly #path: string;
  readonly #job: PutJob;
  #sent = 0;
  /** The server lacks the method, or cannot do this by it. Nothing was changed. */
  refusal: ScimResponse | null = null;

  constructor(path: string, job: PutJob) {
    this.#path = path;
    this.#job = job;
  }

  async send(bodies: readonly JsonObject[], { mayLack = false }: { mayLack?: boolean } = {}): Promise<void> {
    for (const body of bodies) {
      if (this.refusal !== null) return;
      await this.#sendOne(body, mayLack);
    }
  }

  async #sendOne(body: JsonObject, mayLack: boolean): Promise<void> {
    const { service, deadlineMs, desired: { password } } = this.#job;
    const secrets = secretsOf(password);
    const isFirst = this.#sent === 0;
    const allow = isFirst ? [400, ...LACKS_METHOD] : mayLack ? [400] : [];
    try {
      const request = { method: "PATCH", path: this.#path, body, deadlineMs } as const;
      const answer = await service.send(request, { allow, secrets });
      if (answer.status < 300) return void this.#sent++;
      const type = String(answer.body?.scimType ?? "");
      if (answer.status === 400 && mayLack && FINDS_NOTHING.has(type)) return await this.#sendSingly(body);
      const isOther = isFirst && !FINAL_TYPES.has(type);
      if (!isOther) throw service.errorOf(answer, { method: "PATCH", secrets });
      this.refusal = answer;
    } catch (thrown) {
      if (isFirst || !(thrown instanceof BackendError)) throw thrown;
      throw new BackendError({ ...thrown.fault, unsure: true }, { cause: thrown });
    }
  }

  /** One operation that finds nothing refuses its whole request. */
  async #sendSingly({ Operations: operations }: JsonObject): Promise<void> {
    const all = isJsonArray(operations) ? operations : [];
    if (all.length === 1) return;
    for (const operation of all) await this.send([patchBody([operation])], { mayLack: true });
  }
}

/** A response: that of the server, which may lack the method. */
async function putMerged({ found, path, job, attributes, members }: Update): Promise<ScimResponse> {
  const { service, deadlineMs, desired: { content, password } } = job;
  const body = mergedBody(found.raw, {
    changes: attributes,
    body: bodyOf(job),
    members: content.kind === "group" ? mergedMembers(found, { job, members }) : undefined,
  });
  return await service.send({
    method: "PUT",
    path,
    body: { ...body, id: found.id, ...password === undefined ? {} : { password } },
    deadlineMs,
  }, { allow: LACKS_METHOD, secrets: secretsOf(password) });
}

/** The members as the server has them, without those that leave, and with the new ones. */
function mergedMembers(
  { raw }: ReceivedResource,
  { job, members }: { job: PutJob; members: MemberChanges },
): JsonValue[] {
  const keyOf = memberKey(job.abilities);
  const leaving = new Set(members.removed.map(keyOf));
  const added = new Set(members.added);
  const entries = isJsonArray(raw.members) ? raw.members : [];
  return [
    ...entries.filter((entry) => !leaving.has(keyOf(String(toJsonObject(entry).value)))),
    ...job.members.filter(({ value }) => added.has(String(value))),
  ];
}

/** Names are compared without case, ids exactly. */
function memberKey({ dialect }: ScimCapabilities): (value: string) => string {
  return dialect.members === "names" ? canonicalName : (id) => id;
}

function bodyOf({ desired: { content, password }, members, references, url, abilities }: PutJob): JsonObject {
  const { dialect } = abilities;
  const body = toResource(content, { dialect, members, ...password === undefined ? {} : { password } });
  return translateReferences(body, { references, url });
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

/** One attribute that the server gets. `value: undefined` removes it. */
interface AttributeChange {
  /** `title`, `name.givenName`, `urn:…:User:department`. */
  readonly path: string;
  readonly value: JsonValue | undefined;
  /** What the server shows now. */
  readonly held: JsonValue | undefined;
}

interface ResourceChangeInput {
  readonly found: ReceivedResource;
  readonly content: Content;
  /** The resource in the format of the server, as a POST sends it. */
  readonly body: JsonObject;
  /** Absent: the server has exactly the resource afterwards. */
  readonly changes: ContentChanges | undefined;
  readonly readOnly: ReadOnlyAttributes;
  /** The earlier name of a rename. */
  readonly from: string | undefined;
}

/** The attributes to change, without members and without those that have the value already. */
function attributeChanges(input: ResourceChangeInput): AttributeChange[] {
  const { found: { raw }, body, content, from } = input;
  const paths = new Set(changedPaths(input));
  if (isNameSent(input)) paths.add(nameAttribute(content.kind));
  // The server got the name as externalId, too.
  const external = property(raw, "externalId");
  const isOwn = from !== undefined && typeof external === "string" &&
    canonicalName(external) === canonicalName(from);
  if (isOwn) paths.add("externalId");
  return [...paths].flatMap((path) => {
    const [value, held] = [valueAt(body, path), valueAt(raw, path)];
    return value !== undefined && isSameJson(value, held) ? [] : [{ path, value, held }];
  });
}

/**
 * Another client may have renamed the resource at the server, which is found by its id. The next refresh follows. So the name is sent only if this
 * write changes it.
 */
function isNameSent({ found, content, from }: ResourceChangeInput): boolean {
  if (from !== undefined) return true;
  const held = found.content.name;
  return held !== content.name && canonicalName(held) === canonicalName(content.name);
}

function changedPaths({ changes, found, content, readOnly }: ResourceChangeInput): string[] {
  const { attributes } = changes ?? exactChanges(found, content);
  return attributes.flatMap(asRfcPath).filter((path) => !readOnly.has(path));
}

/** Without what only the server knows, such as the extension of another vendor. */
function exactChanges({ content: held }: ReceivedResource, content: Content): ContentChanges {
  const { attributes } = contentChanges(held, content);
  return {
    left: [],
    attributes: attributes.filter((path) =>
      path === "active" || RFC7643_COVERS.has(topOf(path)) ||
      property(content.attributes, topOf(path)) !== undefined
    ),
  };
}

/** The interface specification has `manager` as a core attribute, and has attributes that RFC 7643 lacks. */
function asRfcPath(path: string): string[] {
  const top = topOf(path);
  if (top === "manager") return [MANAGER_PATH];
  return SPECIFICATION_ONLY.includes(top) ? [] : [path];
}

const MANAGER_PATH = `${ENTERPRISE_SCHEMA}:manager`;

/** The attribute of a path, or the URN of an extension. */
function topOf(path: string): string {
  return splitPath(path)[0];
}

function splitPath(path: string): readonly [string, string | null] {
  const at = path.startsWith("urn:") ? path.lastIndexOf(":") : path.indexOf(".");
  return at < 0 ? [path, null] : [path.slice(0, at), path.slice(at + 1)];
}

function valueAt(object: JsonObject, path: string): JsonValue | undefined {
  const whole = propertyNamed(object, path);
  if (whole !== undefined) return whole;
  const [top, sub] = splitPath(path);
  if (sub === null) return undefined;
  return propertyNamed(toJsonObject(propertyNamed(object, top)), sub);
}

/** The operations of one PATCH. */
function patchOperations(changes: readonly AttributeChange[]): JsonObject[] {
  return changes.map(({ path, value, held }): JsonObject => {
    if (value === undefined) return { op: "remove", path };
    return { op: held === undefined ? "add" : "replace", path, value };
  });
}

/** What the server sets by itself. It ignores these values (RFC 7643 §7 `readOnly`), or refuses them. */
const SERVER_ONLY = new Set(["meta", "groups"]);

/** The server's resource with the changes. What only the server has stays (RFC 7644 §3.5.1: a PUT replaces everything). */
function mergedBody(
  raw: JsonObject,
  { changes, body, members }: {
    readonly changes: readonly AttributeChange[];
    readonly body: JsonObject;
    /** Of a group. */
    readonly members: readonly JsonValue[] | undefined;
  },
): JsonObject {
  const merged = new Map(Object.entries(raw).filter(([name]) => !SERVER_ONLY.has(name)));
  for (const { path, value } of changes) setAt(merged, path, value);
  const schemas = [raw.schemas, body.schemas].flatMap((list) => isJsonArray(list) ? list : []);
  return {
    ...Object.fromEntries(merged),
    schemas: [...new Set(schemas)],
    ...members === undefined ? {} : { members },
  };
}

function setAt(object: Map<string, JsonValue>, path: string, value: JsonValue | undefined): void {
  const [top, sub] = object.has(path) ? [path, null] : splitPath(path);
  const key = [...object.keys()].find((one) => one.toLowerCase() === top.toLowerCase()) ?? top;
  if (sub === null) {
    if (value === undefined) object.delete(key);
    else object.set(key, value);
    return;
  }
  const holder = toJsonObject(object.get(key));
  const inner = new Map(Object.entries(holder));
  const part = spellingOf(holder, sub) ?? sub;
  if (value === undefined) inner.delete(part);
  else inner.set(part, value);
  if (inner.size === 0) object.delete(key);
  else object.set(key, Object.fromEntries(inner));
}

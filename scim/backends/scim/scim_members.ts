// Group members and other references at another SCIM server: names and ids of this directory become ids of the server, and back.

import type { JsonObject, JsonValue } from "../../schema/resource.ts";
import { parseName } from "../../schema/resource_name.ts";
import type { Reference } from "../../backend_port.ts";
import { ENTERPRISE_SCHEMA } from "../../schema/attribute_table.ts";
import { BackendError } from "../backend_error.ts";
import {
  collectionPath,
  type ReceivedMember,
  type ReceivedResource,
  type ScimDialect,
  toJsonObject,
} from "./scim_resources.ts";
import type { ScimClient } from "./scim_client.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Clock } from "../../../platform/runtime.ts";
import { isJsonArray, isJsonObject, isUuid } from "../../schema/attributes.ts";

/** AWS accepts no more in one PATCH. */
const MAX_MEMBERS_PER_PATCH = 100;
/** Concurrent look-ups. The connection limit is lower. */
const MAX_CONCURRENT = 8;
const PATCH_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

export interface MemberLookup {
  readonly service: ScimClient;
  readonly ids: ScimIdCache;
  readonly dialect: ScimDialect;
  readonly deadlineMs: number;
}

/** Members in the format of the server. */
interface RemoteMembers {
  readonly members: readonly JsonObject[];
  /** Names without a user at the server, which cannot store them. */
  readonly unknown: readonly string[];
}

/** The `members` entry of each name. */
export async function resolveMembers(names: readonly string[], lookup: MemberLookup): Promise<RemoteMembers> {
  if (lookup.dialect.members === "names") {
    return { members: names.map((name) => ({ value: name, display: name })), unknown: [] };
  }
  const ids = await inTurns(names, (name) => idOf(name, lookup));
  return {
    members: [...new Set(ids.filter((id) => id !== null))].map((value) => ({ value })),
    unknown: names.filter((_, at) => ids[at] === null),
  };
}

/** The references of a content at the server, by the values in the content. */
export async function serverReferences(
  references: ReadonlyMap<string, Reference> | undefined,
  lookup: MemberLookup,
): Promise<ReadonlyMap<string, ServerReference>> {
  const { service, dialect, deadlineMs } = lookup;
  const found = await inTurns([...references ?? []], async ([value, reference]) => {
    const { kind, name } = reference;
    const id = dialect.members === "names"
      ? name
      : kind === "user"
      ? await idOf(name, lookup)
      : (await service.find({ kind, name, deadlineMs }))?.id ?? null;
    return [value, { ...reference, id }] as const;
  });
  return new Map(found);
}

/** The name of the user that the manager of a resource is; `null`: none, or one that cannot be read. */
export async function managerName(raw: JsonObject, lookup: MemberLookup): Promise<string | null> {
  const manager = toJsonObject(raw[ENTERPRISE_SCHEMA]).manager ?? raw.manager;
  const value = typeof manager === "string" ? manager : toJsonObject(manager).value;
  if (typeof value !== "string" || value === "") return null;
  try {
    return await nameOf({ value, display: "" }, lookup);
  } catch (thrown) {
    if (thrown instanceof BackendError && thrown.fault.kind === "refused") return null;
    throw thrown;
  }
}

async function idOf(name: string, { service, ids, deadlineMs }: MemberLookup): Promise<string | null> {
  const known = ids.idOf(name);
  if (known !== undefined) return known;
  const found = await service.find({ kind: "user", name, deadlineMs });
  if (found !== null) ids.remember(found.content.name, found.id);
  return found?.id ?? null;
}

/** Names of a group's members. Skips members that no longer exist. */
export async function resolveMemberNames(
  { members }: ReceivedResource,
  lookup: MemberLookup,
): Promise<string[]> {
  const names = await inTurns(members, (member) => nameOf(member, lookup));
  return names.flatMap((name) => {
    const read = parseName(name ?? "");
    return read.ok ? [read.name] : [];
  });
}

async function nameOf(member: ReceivedMember, lookup: MemberLookup): Promise<string | null> {
  const { service, ids, dialect, deadlineMs } = lookup;
  if (dialect.members === "names") return member.display === "" ? member.value : member.display;
  const known = ids.nameOf(member.value);
  if (known !== undefined) return known;
  const found = await service.get("user", { id: member.value, deadlineMs });
  if (found !== null) ids.remember(found.content.name, found.id);
  return found?.content.name ?? null;
}

async function inTurns<A, B>(items: readonly A[], task: (item: A) => Promise<B>): Promise<B[]> {
  const results: B[] = [];
  for (let from = 0; from < items.length; from += MAX_CONCURRENT) {
    results.push(...await Promise.all(items.slice(from, from + MAX_CONCURRENT).map(task)));
  }
  return results;
}

/** PATCH bodies that add and remove members, each with at most {@link MAX_MEMBERS_PER_PATCH} of them (RFC 7644 §3.5.2). */
export function memberPatches(
  { added, removed }: { readonly added: readonly string[]; readonly removed: readonly string[] },
): JsonObject[] {
  return [
    ...inChunks(added).map((ids) =>
      patchBody([{ op: "add", path: "members", value: ids.map((value) => ({ value })) }])
    ),
    ...inChunks(removed).map((ids) => patchBody(ids.map(removalOf))),
  ];
}

/** PATCH bodies that make a group have exactly these members, whatever it has now. */
export function memberResets(ids: readonly string[]): JsonObject[] {
  return [
    patchBody([{ op: "remove", path: "members" }]),
    ...memberPatches({ added: ids, removed: [] }),
  ];
}

function removalOf(id: string): JsonObject {
  return { op: "remove", path: `members[value eq ${JSON.stringify(id)}]` };
}

export function patchBody(operations: readonly JsonValue[]): JsonObject {
  return { schemas: [PATCH_SCHEMA], Operations: operations };
}

function inChunks(ids: readonly string[]): string[][] {
  const chunks: string[][] = [];
  for (let from = 0; from < ids.length; from += MAX_MEMBERS_PER_PATCH) {
    chunks.push(ids.slice(from, from + MAX_MEMBERS_PER_PATCH));
  }
  return chunks;
}

const MAX_REMEMBERED = 50_000;
const KEEP_MS = 600_000;

export interface ScimIdCache {
  idOf(name: string): string | undefined;
  nameOf(id: string): string | undefined;
  remember(name: string, id: string): void;
  forget(name: string): void;
  /** Clears the cache. `false` if it was empty. */
  clear(): boolean;
}

export function createScimIdCache(clock: Clock): ScimIdCache {
  const ids = new Map<string, string>();
  const names = new Map<string, string>();
  let sinceMs = clock.nowMs();
  const clear = (): boolean => {
    const had = ids.size > 0 || names.size > 0;
    ids.clear();
    names.clear();
    sinceMs = clock.nowMs();
    return had;
  };
  const age = (): void => {
    if (ids.size >= MAX_REMEMBERED || names.size >= MAX_REMEMBERED) clear();
    else if (clock.nowMs() - sinceMs > KEEP_MS) clear();
  };
  return {
    idOf(name) {
      age();
      return ids.get(canonicalName(name));
    },
    nameOf(id) {
      age();
      return names.get(id);
    },
    remember(name, id) {
      age();
      ids.set(canonicalName(name), id);
      names.set(id, name);
    },
    forget(name) {
      const id = ids.get(canonicalName(name));
      ids.delete(canonicalName(name));
      if (id !== undefined) names.delete(id);
    },
    clear,
  };
}

/** A reference at the server. `id: null`: the server does not have the resource. */
export interface ServerReference extends Reference {
  readonly id: string | null;
}

interface Translation {
  /** By the value in the content. */
  readonly references: ReadonlyMap<string, ServerReference>;
  /** The base URL of the server. */
  readonly url: string;
}

/** The body with the references of the server. A reference to a resource that the server lacks is left out, and an unknown manager, too. */
export function translateReferences(body: JsonObject, translation: Translation): JsonObject {
  const translated = Object.entries(body).flatMap(([name, value]): [string, JsonValue][] => {
    const isExtension = name.startsWith("urn:") && isJsonObject(value);
    const after = name === "manager"
      ? translateManager(value, translation)
      : isExtension
      ? translateExtension(name, value, translation)
      : value;
    return after === undefined ? [] : [[name, after]];
  });
  return Object.fromEntries(translated);
}

function translateExtension(
  urn: string,
  extension: JsonObject,
  translation: Translation,
): JsonObject | undefined {
  const isEnterprise = urn.toLowerCase() === ENTERPRISE_SCHEMA.toLowerCase();
  const translated = Object.entries(extension).flatMap(([name, value]): [string, JsonValue][] => {
    const after = isEnterprise && name === "manager"
      ? translateManager(value, translation)
      : translateValue(value, translation);
    return after === undefined ? [] : [[name, after]];
  });
  return translated.length === 0 ? undefined : Object.fromEntries(translated);
}

function translateManager(manager: JsonValue, { references, url }: Translation): JsonValue | undefined {
  if (typeof manager === "string") return references.get(manager)?.id ?? undefined;
  if (!isJsonObject(manager)) return undefined;
  const { value, $ref, ...rest }: JsonObject = manager;
  const keys = [value, typeof $ref === "string" ? $ref.slice($ref.lastIndexOf("/") + 1) : undefined];
  const found = keys.flatMap((key) => typeof key === "string" ? references.get(key) ?? [] : [])[0];
  if (found === undefined || found.id === null) return undefined;
  return { ...rest, value: found.id, ...$ref === undefined ? {} : { $ref: addressOf(found, found.id, url) } };
}

/** `undefined`: the reference is left out, with the value that it belongs to. */
function translateValue(value: JsonValue, translation: Translation): JsonValue | undefined {
  if (typeof value === "string") return translateText(value, translation);
  if (isJsonArray(value)) return value.flatMap((one) => translateValue(one, translation) ?? []);
  if (!isJsonObject(value)) return value;
  const translated = Object.entries(value).map(([name, one]) =>
    [name, translateValue(one, translation)] as const
  );
  const isLost = translated.some(([name, one]) => one === undefined && (name === "value" || name === "$ref"));
  if (isLost) return undefined;
  return Object.fromEntries(translated.flatMap(([name, one]) => one === undefined ? [] : [[name, one]]));
}

/** Only ids are translated here: any text may be equal to a name. */
function translateText(text: string, { references, url }: Translation): string | undefined {
  const last = text.slice(text.lastIndexOf("/") + 1);
  const found = isUuid(last) ? references.get(last) : undefined;
  if (found === undefined) return text;
  if (found.id === null) return undefined;
  return last === text ? found.id : addressOf(found, found.id, url);
}

function addressOf({ kind }: Reference, id: string, url: string): string {
  return `${url}${collectionPath(kind)}/${encodeURIComponent(id)}`;
}

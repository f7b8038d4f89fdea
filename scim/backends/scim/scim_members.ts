// Members of groups on another SCIM server, which knows users by its own ids.

import type { JsonObject } from "../../schema/resource.ts";
import { readName } from "../../schema/resource_name.ts";
import type { ScimDialect } from "./scim_dialects.ts";
import type { ScimIds } from "./scim_ids.ts";
import type { ReceivedMember, ReceivedResource } from "./scim_resources.ts";
import type { ScimService } from "./scim_client.ts";

/** AWS takes no more in one PATCH. */
const MEMBERS_A_PATCH = 100;
/** Look-ups that run side by side; the line to the server is narrower still. */
const AT_ONCE = 8;
const PATCH_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

/** Who looks up. */
export interface MemberDesk {
  readonly service: ScimService;
  readonly ids: ScimIds;
  readonly dialect: ScimDialect;
  readonly deadlineMs: number;
}

/** Members as the server takes them. */
export interface MembersThere {
  readonly members: readonly JsonObject[];
  /** Names that the server has no user for; it cannot hold them. */
  readonly unknown: readonly string[];
}

/** The `members` entry of each name. */
export async function membersOf(names: readonly string[], desk: MemberDesk): Promise<MembersThere> {
  if (desk.dialect.members === "names") {
    return { members: names.map((name) => ({ value: name, display: name })), unknown: [] };
  }
  const ids = await inTurns(names, (name) => idOf(name, desk));
  return {
    members: [...new Set(ids.filter((id) => id !== null))].map((value) => ({ value })),
    unknown: names.filter((_, at) => ids[at] === null),
  };
}

async function idOf(name: string, { service, ids, deadlineMs }: MemberDesk): Promise<string | null> {
  const known = ids.idOf(name);
  if (known !== undefined) return known;
  const found = await service.find({ kind: "user", name, deadlineMs });
  if (found !== null) ids.remember(found.content.name, found.id);
  return found?.id ?? null;
}

/** Names of a group's members; who is no user there any more is left out. */
export async function namesOf({ members }: ReceivedResource, desk: MemberDesk): Promise<string[]> {
  const names = await inTurns(members, (member) => nameOf(member, desk));
  return names.flatMap((name) => {
    const read = readName(name ?? "");
    return read.ok ? [read.name] : [];
  });
}

async function nameOf(member: ReceivedMember, desk: MemberDesk): Promise<string | null> {
  const { service, ids, dialect, deadlineMs } = desk;
  if (dialect.members === "names") return member.display === "" ? member.value : member.display;
  const known = ids.nameOf(member.value);
  if (known !== undefined) return known;
  const found = await service.get("user", { id: member.value, deadlineMs });
  if (found !== null) ids.remember(found.content.name, found.id);
  return found?.content.name ?? null;
}

async function inTurns<A, B>(items: readonly A[], task: (item: A) => Promise<B>): Promise<B[]> {
  const results: B[] = [];
  for (let from = 0; from < items.length; from += AT_ONCE) {
    results.push(...await Promise.all(items.slice(from, from + AT_ONCE).map(task)));
  }
  return results;
}

/** PATCH bodies that turn one list of ids into another (RFC 7644 §3.5.2). */
export function memberPatches(held: readonly string[], wanted: readonly string[]): JsonObject[] {
  const has = new Set(held);
  const wants = new Set(wanted);
  const added = wanted.filter((id) => !has.has(id));
  const removed = held.filter((id) => !wants.has(id));
  return [
    ...inChunks(added).map((ids) =>
      patch([{ op: "add", path: "members", value: ids.map((value) => ({ value })) }])
    ),
    ...inChunks(removed).map((ids) =>
      patch(ids.map((id) => ({ op: "remove", path: `members[value eq ${JSON.stringify(id)}]` })))
    ),
  ];
}

function patch(operations: readonly JsonObject[]): JsonObject {
  return { schemas: [PATCH_SCHEMA], Operations: operations };
}

function inChunks(ids: readonly string[]): string[][] {
  const chunks: string[][] = [];
  for (let from = 0; from < ids.length; from += MEMBERS_A_PATCH) {
    chunks.push(ids.slice(from, from + MEMBERS_A_PATCH));
  }
  return chunks;
}

// Members of groups are ids in requests, and names in the directory.

import { ScimRefusal } from "../../http/refusals.ts";
import type { TargetDirectory } from "../../ports.ts";
import type { Stored } from "../../schema/resource.ts";

/** How many users are read at the same time. */
const BATCH = 100;

export interface MemberNames {
  readonly names: readonly string[];
  /** Those that were read: one of them can get another name, or be deleted, before the write. */
  readonly users: readonly NamedMember[];
}

/**
 * The names of users. Members that a group has already are not read: of 10,000 members, a PUT changes few.
 *
 * @param options.stored the group before the write
 * @throws ScimRefusal `invalid_value` if no user has one of the ids and `unknown` is `refuse`
 */
export async function memberNames(
  directory: Pick<TargetDirectory, "readHeadById" | "isSettled">,
  ids: readonly string[],
  { unknown, stored }: { unknown: "refuse" | "ignore"; stored: Stored | null },
): Promise<MemberNames> {
  // A user who is deleted leaves many groups one after the other. Its name would stay in the group, for a later user.
  const find = nameFinder(stored === null || !await directory.isSettled() ? null : stored);
  const found = ids.map(find);
  const missing = new Set(ids.filter((_, at) => found[at] === undefined));
  const users = await namedMembers(directory, [...missing], unknown);
  const names = new Map(users.map(({ id, name }) => [id, name]));
  for (const [at, id] of ids.entries()) found[at] ??= names.get(id);
  return { names: found.filter((name) => name !== undefined), users };
}

/**
 * Finds the names of ids in a group, one after the other. Most clients send the members as they got them, so the next one is tried first: a table
 * of 10,000 ids takes longer than the write.
 */
function nameFinder(stored: Stored | null): (id: string) => string | undefined {
  if (stored?.content.kind !== "group") return () => undefined;
  const { content: { members }, memberIds = [] } = stored;
  let places: ReadonlyMap<string | null, number> | null = null;
  let next = 0;
  let isEachFound = true;
  return (id) => {
    while (memberIds[next] === null) next++;
    if (memberIds[next] !== id) {
      if (isEachFound && next >= memberIds.length) return undefined;
      const isAfterNext = memberIds[next + 1] === id;
      if (!isAfterNext) places ??= placesOf(memberIds);
      const at = isAfterNext ? next + 1 : places?.get(id);
      if (at === undefined) return undefined;
      next = at;
      isEachFound = false;
    }
    return members[next++];
  };
}

function placesOf(ids: readonly (string | null)[]): ReadonlyMap<string | null, number> {
  const places = new Map<string | null, number>();
  for (const [at, id] of ids.entries()) places.set(id, at);
  return places;
}

/** Members that are no users, such as groups. No response has them, so no request can mean to remove them. */
export function hiddenMembers({ content, memberIds = [] }: Stored): readonly string[] {
  return content.kind === "group" ? content.members.filter((_, at) => (memberIds[at] ?? null) === null) : [];
}

/** A user of an id. */
export interface NamedMember {
  readonly id: string;
  readonly name: string;
}

/** The users of ids, as {@link memberNames}. */
export async function namedMembers(
  directory: Pick<TargetDirectory, "readHeadById">,
  ids: readonly string[],
  unknown: "refuse" | "ignore",
): Promise<NamedMember[]> {
  const found: NamedMember[] = [];
  for (let from = 0; from < ids.length; from += BATCH) {
    const batch = ids.slice(from, from + BATCH);
    const users = await Promise.all(batch.map((id) => directory.readHeadById("user", id)));
    for (const [at, user] of users.entries()) {
      if (user !== null) found.push({ id: user.id, name: user.content.name });
      else if (unknown === "refuse") throw unknownMember(batch[at] ?? "");
    }
  }
  return found;
}

const MAX_QUOTED = 64;

function unknownMember(id: string): ScimRefusal {
  const quoted = JSON.stringify(id.slice(0, MAX_QUOTED).toWellFormed());
  return new ScimRefusal("invalid_value", {
    detail: `No user has the id ${quoted}. Create the user first. Groups cannot be members of groups.`,
  });
}

// Members of groups are ids in requests, and names in the directory.

import { ScimRefusal } from "../../http/refusals.ts";
import type { TargetDirectory } from "../../ports.ts";
import type { Stored } from "../../schema/resource.ts";

/** How many users are read at the same time. */
const BATCH = 100;

/**
 * The names of users. Members that a group has already are not read: of 10,000 members, a PUT changes few.
 *
 * @param options.stored the group before the write
 * @throws ScimRefusal `invalid_value` if no user has one of the ids and `unknown` is `refuse`
 */
export async function memberNames(
  directory: Pick<TargetDirectory, "readHeadById">,
  ids: readonly string[],
  { unknown, stored }: { unknown: "refuse" | "ignore"; stored: Stored | null },
): Promise<string[]> {
  const names = new Map<string | null, string>();
  if (stored?.content.kind === "group") {
    const { content: { members }, memberIds = [] } = stored;
    for (const [at, name] of members.entries()) names.set(memberIds[at] ?? null, name);
  }
  const read = await namedMembers(directory, ids.filter((id) => !names.has(id)), unknown);
  for (const { id, name } of read) names.set(id, name);
  return ids.flatMap((id) => names.get(id) ?? []);
}

/** Members that are no users, such as groups. No response has them, so no request can mean to remove them. */
export function hiddenMembers({ content, memberIds = [] }: Stored): readonly string[] {
  return content.kind === "group" ? content.members.filter((_, at) => (memberIds[at] ?? null) === null) : [];
}

/** A user of an id. */
interface NamedMember {
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

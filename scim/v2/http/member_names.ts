// Members of groups are ids in requests, and names in the directory.

import { ScimRefusal } from "../../http/refusals.ts";
import type { TargetDirectory } from "../../ports.ts";
import type { Stored } from "../../schema/resource.ts";

/** How many users are read at the same time. */
const BATCH = 100;

/**
 * The names of users.
 *
 * @throws ScimRefusal `invalid_value` if no user has one of the ids and `unknown` is `refuse`
 */
export async function memberNames(
  directory: Pick<TargetDirectory, "readHeadById">,
  ids: readonly string[],
  unknown: "refuse" | "ignore",
): Promise<string[]> {
  return (await namedMembers(directory, ids, unknown)).map(({ name }) => name);
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

/** As {@link memberNames}, with the ids. */
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

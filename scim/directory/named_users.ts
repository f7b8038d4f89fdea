// Compares the names of a change with the ids of the users that it means.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { DirectoryBatch } from "./directory_batch.ts";
import type { DirectoryKeys } from "./keys.ts";
import type { MembersUpdate } from "./member_sets.ts";
import { idOf } from "./records.ts";

/** Users of one change that are compared with their ids, so that the cost has a limit. */
const MAX_COMPARED_USERS = 200;

/** Whether the users still have the names that a caller read for their ids. */
export async function haveNames(
  { keys: { target } }: { readonly keys: DirectoryKeys },
  batch: DirectoryBatch,
  users: NonNullable<MembersUpdate["users"]>,
): Promise<boolean> {
  for (const { id, name } of users.slice(0, MAX_COMPARED_USERS)) {
    const record = await batch.record("user", canonicalName(name));
    if (record === null || idOf({ kind: "user", target }, record) !== id) return false;
  }
  return true;
}

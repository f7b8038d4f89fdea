// Restores one user from the trash, with a result that lists can show.

import type { Actor, Target } from "../../../scim/ports.ts";
import { Refusal, withTargetErrors } from "../errors.ts";
import type { RestoreItem } from "./trash_types.ts";

/** A refusal is the result of this user. The other users are restored. */
export async function restoreOne(
  target: Target,
  { id, actor }: { id: string; actor: Actor },
): Promise<RestoreItem> {
  const entry = await target.directory.trash.read(id);
  const name = entry?.content.name ?? "";
  const none = { id, name, groups: [], missingGroups: [], failedGroups: [] };
  try {
    const restored = await withTargetErrors(target.restoreUser(id, { actor }));
    const { groups, missingGroups, failedGroups, receipt, stored } = restored;
    return {
      ...{ id, name: stored?.content.name ?? name, groups, missingGroups, failedGroups, receipt },
      did: "restored",
      problem: null,
      lacksPassword: entry?.password === null,
    };
  } catch (fault) {
    if (!(fault instanceof Refusal)) throw fault;
    return {
      ...none,
      did: "failed",
      problem: problemOf(fault),
      receipt: fault.receipt,
      lacksPassword: false,
    };
  }
}

function problemOf({ code, receipt, message }: Refusal): string {
  if (code === "unknown_object") return new Refusal("not_in_trash").message;
  // With a receipt, the message names the connector that has the user.
  if (code === "object_exists" && receipt === null) return new Refusal("trash_name_taken").message;
  return message;
}

// The groups and clients that policies name and that do not exist: they were renamed or removed, so a condition with such a name has no effect.

import { canonicalName } from "../../../platform/canonical_name.ts";
import { namesInConditions, type Policy } from "../../../radius/policy/policy.ts";
import type { TargetDirectory } from "../../../scim/ports.ts";
import type { MissingNames } from "./policy_types.ts";

/** Groups that are looked up for one page. */
const MAX_GROUPS = 500;

/** @param clients the names of the RADIUS clients; `null` if they are not known */
export async function findMissingNames(
  policies: readonly Policy[],
  { directory, clients }: {
    directory: Pick<TargetDirectory, "read">;
    clients: readonly string[] | null;
  },
): Promise<MissingNames> {
  const named = policies.flatMap(({ conditions }) => namesInConditions(conditions, "groups"));
  const groups: string[] = [];
  for (const name of [...new Set(named)].slice(0, MAX_GROUPS)) {
    if (await directory.read("group", canonicalName(name)) === null) groups.push(name);
  }
  const ofClients = new Set(policies.flatMap(({ conditions }) => namesInConditions(conditions, "clients")));
  return {
    groups,
    clients: clients === null ? [] : [...ofClients].filter((name) => !clients.includes(name)),
  };
}

// The end of a bypass code, by the help desk or by its user.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { Store } from "../../../platform/store.ts";
import type { BypassCodeStatus } from "../../../radius/factors/bypass_codes.ts";
import type { People } from "../deps.ts";
import { Refusal } from "../errors.ts";
import { factorAudit, type FactorRequest } from "../users/factor_changes.ts";

/** @throws Refusal `no_bypass`. */
export async function revokeBypassCode(
  { people: { bypassCodes }, store }: { people: Pick<People, "bypassCodes">; store: Store },
  request: FactorRequest,
): Promise<void> {
  const canonical = canonicalName(request.user);
  const before = bypassCodes.status(canonical);
  if (before === null) throw new Refusal("no_bypass");
  const { mutations, restore } = bypassCodes.removeUser(canonical);
  const record = factorAudit(request, { action: "bypass.revoke", bypass: before.id, ...leftOf(before) });
  await store.commit({ mutations: [...mutations, record, ...request.also ?? []] }).catch((fault: unknown) => {
    restore();
    throw fault;
  });
}

function leftOf({ usesLeft }: BypassCodeStatus): { usesLeft?: number } {
  return usesLeft === null ? {} : { usesLeft };
}

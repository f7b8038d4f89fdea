// "This wasn't me" about a request that a phone received: from the phone page, its notification, and the approval page.

import { canonicalName } from "../../../platform/canonical_name.ts";
import type { OwnRequest, PhoneView } from "../../../upstream/embedded/second_factor/interfaces.ts";
import type { People } from "../deps.ts";
import { Refusal } from "../errors.ts";
import type { AccountAuth } from "./account_auth.ts";
import { type NotMeDeps, reportNotMe } from "./account_logins.ts";
import type { NotMeResult } from "./account_types.ts";

export interface RequestReportDeps extends Omit<NotMeDeps, "people" | "sessions" | "records"> {
  readonly people?: People;
  readonly accountAuth: () => AccountAuth;
}

/**
 * Reports a request as "not me".
 *
 * @param keepSessionId the account session that continues
 * @throws Refusal `no_directory`, `too_many_changes`
 */
export async function reportRequest(
  { people, accountAuth, ...deps }: RequestReportDeps,
  { userName, client, place }: OwnRequest,
  { source, keepSessionId }: { source: string; keepSessionId: string | null },
): Promise<NotMeResult> {
  if (people === undefined) throw new Refusal("no_directory");
  const { sessions, records, reports } = accountAuth();
  await reports.take(canonicalName(userName));
  return await reportNotMe({ ...deps, people, sessions, records }, {
    ...{ user: userName, source, keepSessionId },
    about: { conversationId: "", client, place },
  });
}

/** Reports a request of a phone. The request may have been answered before. @throws Refusal `unknown_request` */
export function phoneReportOf(deps: RequestReportDeps) {
  return async (view: PhoneView, requestId: string, source: string): Promise<NotMeResult> => {
    const request = deps.secondFactorAdmin()?.request(requestId) ?? null;
    const isOwn = view.pairings.some(({ pairingId, status }) =>
      pairingId === request?.pairingId && status === "enabled"
    );
    if (request === null || !isOwn) throw new Refusal("unknown_request");
    return await reportRequest(deps, request, { source, keepSessionId: null });
  };
}

// Which message news of the second-factor service becomes: for which subscription, and until when it has a meaning.

import type { PhoneNews, SecondFactorContext } from "../second_factor/context.ts";
import { approvalState } from "../second_factor/device_service.ts";
import type { PushSubscriptionRecord } from "../second_factor/records.ts";
import { endedMessage, type OutgoingPush, pairingMessage, requestMessage } from "./push_payload.ts";

/** A message about news, for one phone. */
export interface PlannedPush {
  readonly subscription: PushSubscriptionRecord;
  readonly message: OutgoingPush;
  /** Whether the message has a meaning only after an earlier one about the same. */
  readonly onlyAfter: boolean;
  /** Whether the message still has a meaning; on all nodes, because each one mirrors the tables. */
  readonly isNeeded: () => boolean;
}

type PlanDeps = Pick<SecondFactorContext, "tables" | "clock" | "settings">;

/** `null`: no phone needs a message. */
export function planPush(news: PhoneNews, deps: PlanDeps): PlannedPush | null {
  // The phone decided after its notification appeared, and removes the notification itself.
  if (news.kind === "ended" && news.isNotified === true) return null;
  const subscription = subscriptionFor(news, deps);
  if (subscription === undefined || subscription.sealed === null) return null;
  const message = messageOf(news, deps);
  return { subscription, message, onlyAfter: news.kind === "ended", isNeeded: () => isOpen(news, deps) };
}

function subscriptionFor(news: PhoneNews, { tables }: PlanDeps): PushSubscriptionRecord | undefined {
  // With the last pairing, the subscription ended in the same commit.
  if (news.kind === "ended" && news.subscription !== undefined) return news.subscription;
  const pairing = news.kind === "pairing" ? news.pairing : tables.pairings.get(news.request.pairingId)?.value;
  return pairing === undefined ? undefined : tables.subscriptions.get(pairing.phone)?.value;
}

function messageOf(news: PhoneNews, { clock, settings: { requesterName } }: PlanDeps): OutgoingPush {
  const nowMs = clock.nowMs();
  if (news.kind === "pairing") return pairingMessage(news.pairing, nowMs);
  const { request } = news;
  if (news.kind === "request") return requestMessage(request, { requesterName });
  const state = approvalState(request.decision);
  return endedMessage(request.id, state === "waiting" ? "cancelled" : state, nowMs);
}

/** Whether what the news asks is still open. The end of a request stays true. */
function isOpen(news: PhoneNews, { tables }: PlanDeps): boolean {
  if (news.kind === "ended") return true;
  if (news.kind === "pairing") return tables.pairings.get(news.pairing.id)?.value.state === "asks_approval";
  return tables.requests.get(news.request.id)?.value.decision === null;
}

// Writes finished logins into the history: with the commit that ends them, or right after it when a deadline or a leaving ended many at once.

import type { Denial } from "../flow/denial_causes.ts";
import { auditEntry } from "../../platform/audit.ts";
import type { Log } from "../../platform/log.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import { HISTORY_KEPT_MS, historyKey, packFinished } from "./login_record.ts";
import { type Conversation, phoneOf } from "./conversation.ts";

/** Changes that go into one commit; each is well under a kilobyte. */
const MOST_IN_ONE = 50;

/** The change that keeps a conversation which has its outcome. @param options.target the directory whose users log in. */
export function historyMutation(
  conversation: Conversation,
  { target, refusedFor = null, denial }: {
    target: string;
    refusedFor?: string | null;
    denial?: Denial | undefined;
  },
): Mutation {
  const { orderedId, shownUser, client, source, place, factor, startedMs, updatedMs, outcome, moments } =
    conversation;
  return {
    type: "set",
    key: historyKey(orderedId),
    value: packFinished({
      user: shownUser,
      client,
      source,
      place,
      factor,
      startedMs,
      endedMs: updatedMs,
      outcome: outcome ?? "expired",
      refusedFor,
      moments,
      passwordRight: conversation.firstFactorRight,
      target,
      ...phoneOf(conversation),
      ...(denial === undefined ? {} : { denial }),
    }),
    expireInMs: HISTORY_KEPT_MS,
  };
}

/**
 * Records what ended without a packet. Should it fail, the logins are over all the same: only their line in the history is missing.
 *
 * @param deps.denialOf why the push of a login that expired was not approved.
 */
export function recordEnded(
  { store, log, target, denialOf = () => undefined }: {
    store: Store;
    log: Log;
    target: string;
    denialOf?: (conversation: Conversation) => Denial | undefined;
  },
  ended: readonly Conversation[],
): void {
  for (let at = 0; at < ended.length; at += MOST_IN_ONE) {
    const mutations = ended.slice(at, at + MOST_IN_ONE).flatMap((one) => {
      const denial = denialOf(one);
      return [historyMutation(one, { target, denial }), endedEntry(one, denial)];
    });
    store.commit({ mutations }).catch((fault: unknown) =>
      log.error("logins that ended could not be written into the history", { fault: String(fault) })
    );
  }
}

/** The audit event of a login that ended without an answer, so that the user's timeline has it. */
function endedEntry(conversation: Conversation, denial: Denial | undefined): Mutation {
  const { orderedId, shownUser, client, source, place, factor, outcome } = conversation;
  return auditEntry({
    actor: "radius",
    action: `login.${outcome ?? "expired"}`,
    object: `user:${shownUser}`,
    client,
    source,
    caller: place,
    conversation: orderedId,
    factor,
    because: denial?.cause,
    ...phoneOf(conversation),
  });
}

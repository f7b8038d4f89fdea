// Records of logins: the history entry and the audit events. A decision is recorded in its own commit.

import { type Denial, encodeLoginRecord, HISTORY_RETENTION_MS, historyKey } from "./login_record.ts";
import { type AuditEntry, auditEntry } from "../../platform/audit.ts";
import type { Log } from "../../platform/log.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import { type Conversation, factorFields, relayField, serverFields } from "./conversation.ts";
import type { Request } from "../server/request.ts";

/** Logins in one commit; each takes less than a kilobyte. */
const MAX_PER_COMMIT = 50;

/** Writes the history entry of a conversation that has ended. @param options.target the directory whose users log in */
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
    value: encodeLoginRecord({
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
      ...factorFields(conversation),
      ...serverFields(conversation),
      ...(denial === undefined ? {} : { denial }),
      ...(conversation.policy === "" ? {} : { policy: conversation.policy }),
      ...relayField(conversation),
    }),
    expireInMs: HISTORY_RETENTION_MS,
  };
}

/**
 * Records logins that ended without a packet. If this fails, only their history entries are missing.
 *
 * @param deps.denialOf why the push of an expired login was not approved
 * @param deps.mayBeRecorded whether another node may have recorded the ends; nothing is written for those
 * @param deps.recorded called for each login when its end is in the store; `byOther`: another node recorded it
 */
export function recordEndedLogins(
  { store, log, target, denialOf = () => undefined, mayBeRecorded = false, recorded = () => undefined }: {
    store: Store;
    log: Log;
    target: () => string;
    denialOf?: (conversation: Conversation) => Denial | undefined;
    mayBeRecorded?: boolean;
    recorded?: (conversation: Conversation, by: { byOther: boolean }) => void;
  },
  ended: readonly Conversation[],
): void {
  const together = mayBeRecorded ? 1 : MAX_PER_COMMIT;
  for (let at = 0; at < ended.length; at += together) {
    const part = ended.slice(at, at + together);
    const checks = mayBeRecorded
      ? part.map(({ orderedId }) => ({ key: historyKey(orderedId), versionstamp: null }))
      : [];
    const mutations = part.flatMap((one) => {
      const denial = denialOf(one);
      return [
        historyMutation(one, { target: target(), denial }),
        // For the timeline of the user.
        auditLogin(one, {
          action: `login.${one.outcome ?? "expired"}`,
          factor: one.factor,
          because: denial?.cause,
          ...factorFields(one),
        }),
      ];
    });
    store.commit({ checks, mutations }).then(({ ok }) => {
      for (const one of part) recorded(one, { byOther: !ok });
    }).catch((fault: unknown) =>
      log.error("logins that ended could not be written into the history", { fault: String(fault) })
    );
  }
}

/** Ends of logins that are recorded in one commit. An attacker can begin thousands of logins for one name, and the size of a commit is limited. */
export const MAX_ENDS = 20;

/** Records further ends of logins, after the commit that ended the first {@link MAX_ENDS}. If this fails, the logins are still refused. */
export function recordMoreEnds({ store, log }: { store: Store; log: Log }, ends: readonly Mutation[]): void {
  for (let at = 0; at < ends.length; at += MAX_ENDS) {
    store.commit({ mutations: ends.slice(at, at + MAX_ENDS) }).catch((fault: unknown) =>
      log.error("the end of a user's logins could not be recorded", { fault: String(fault) })
    );
  }
}

/** Writes an audit event of a login. */
export function auditLogin(
  { orderedId, shownUser, client, source, place, policy }: Conversation,
  event: Omit<AuditEntry, "actor" | "object">,
): Mutation {
  return auditEntry({
    actor: "radius",
    object: `user:${shownUser}`,
    client,
    source,
    caller: place,
    conversation: orderedId,
    ...(policy === "" ? {} : { policy }),
    ...event,
  });
}

/** Records in the audit log, with both sources, that a re-issued login joined the unanswered one. */
export function recordJoin(
  { store, log }: { store: Store; log: Log },
  conversation: Conversation,
  { firstSource, joined }: { firstSource: string; joined: Request },
): void {
  const { orderedId, shownUser: user, client } = conversation;
  const fields = {
    ...{ user, client, source: joined.source, firstSource },
    conversation: orderedId,
  };
  log[firstSource === joined.source ? "info" : "warn"](
    "login joined: a re-issued login gets the answer of the login that is in progress",
    fields,
  );
  const record = auditLogin(conversation, {
    action: "login.joined",
    source: joined.source,
    sources: [firstSource, joined.source],
  });
  store.commit({ mutations: [record] }).catch((fault: unknown) =>
    log.error("a joined login could not be recorded in the audit log", { ...fields, fault: String(fault) })
  );
}

// Counts what a user did wrong: a guess, which may lock the user, and a number that gets no message.

import type { Log } from "../../platform/log.ts";
import type { Mutation } from "../../platform/store.ts";
import type { Facts } from "../flow/context.ts";
import type { Attempt } from "../server/request_context.ts";
import type { Conversation } from "../conversation/conversation.ts";
import type { Counters } from "../server/counters.ts";
import type { Failures, Limits } from "./limits.ts";
import { noteNotSent } from "../conversation/effects.ts";

interface CountDeps {
  readonly limits: Limits;
  readonly counters: Counters;
  readonly log: Log;
}

/** A failure that was counted, in memory already; `mutations` count it in the store. */
export interface CountedFailure {
  readonly locked: boolean;
  readonly mutations: readonly Mutation[];
  /** Of the audit record, if the failure locked the user. */
  readonly lockAudit: { action: "user.locked"; hard: boolean; failures: number };
}

/** Counts a failure. Of a name that does not exist nothing is stored. */
export function countUserFailure(
  { limits, counters, log }: CountDeps,
  { user, shownUser }: Conversation,
  { userExists }: Pick<Facts, "userExists">,
): CountedFailure {
  const stored = userExists ? limits.fail(user) : null;
  const { locked, failures }: { locked: boolean; failures: Failures } = stored ?? limits.failStranger(user);
  counters.count("failures");
  if (locked) {
    counters.count("locks");
    log.warn("user locked after too many failures", {
      user: shownUser,
      until: failures.hardLocked
        ? "an administrator unlocks"
        : new Date(failures.lockedUntilMs).toISOString(),
    });
  }
  return {
    locked,
    mutations: stored === null ? [] : [stored.mutation],
    lockAudit: { action: "user.locked", hard: failures.hardLocked, failures: failures.total },
  };
}

/** Logs a typed number that gets no message, and counts it for the user. Of a name that does not exist nothing is counted. */
export function refuseSend(
  deps: CountDeps,
  { conversation, attempt }: { conversation: Conversation; attempt: Attempt },
  { userExists }: Pick<Facts, "userExists">,
): readonly Mutation[] {
  const reason = attempt.notSent ?? "not_a_number";
  noteNotSent(deps, conversation.at === "GET_VOICE_PHONE_NUMBER" ? "call" : "text", conversation, reason);
  // A limit that is reached stays reached for its time alone: trying again does not prolong it.
  if (!userExists || reason.endsWith("_limit")) return [];
  return [deps.limits.countRefusedSend(conversation.user)];
}

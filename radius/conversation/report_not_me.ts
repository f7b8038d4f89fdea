// The report "This was not me": locks the user for an hour, ends the user's bypass code and waiting logins, and orders the end of the user's
// accounting sessions. The lock applies at once, and is recorded in the commit of the report.

import type { Log } from "../../platform/log.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import { isStep } from "../protocol/steps.ts";
import type { Conversation } from "./conversation.ts";
import type { ConversationStore } from "./conversation_store.ts";
import { MAX_ENDS, recordEndedLogins, recordMoreEnds } from "./login_history.ts";
import type { Limits } from "../factors/limits.ts";
import type { BypassCodeStore } from "../factors/bypass_codes.ts";
import type { RememberedDevices } from "../policy/remembered_devices.ts";
import type { SecondFactorService } from "../ports.ts";
import type { Disconnects } from "../dynamic_authorization/disconnects.ts";

/** A report in progress. The caller that commits it calls `done` or `undo`. */
export interface NotMeReport {
  readonly mutations: readonly Mutation[];
  /** The records to read again if the commit raced: another node counted a failure. Call `undo` before, and prepare the report again. */
  readonly dependsOn: readonly Deno.KvKey[];
  /** Logins of the user are refused until then, unless an administrator unlocks the user. */
  readonly lockedUntilMs: number;
  /** Connected sessions of the user, which the gateway tries to end at their NAS. */
  readonly sessions: number;
  /** Called when the commit is durable. Ends the waiting logins and returns their number. Does not throw or wait. */
  end(): number;
  /** Ends the waiting logins, unless {@link end} did, and cancels the requests that are still pending. */
  done(): number;
  /** Called if the commit failed or raced. */
  undo(): void;
}

interface NotMeReportDeps {
  readonly store: Store;
  readonly log: Log;
  /** The directory whose users log in. */
  readonly target: () => string;
  readonly limits: Limits;
  readonly remembered: Pick<RememberedDevices, "prepareForget">;
  readonly bypassCodes: Pick<BypassCodeStore, "removeUser">;
  readonly conversations: ConversationStore;
  readonly secondFactor: Pick<SecondFactorService, "cancel">;
  readonly changed: (conversation: Conversation) => void;
  /** Ends the user's accounting sessions at their NAS. */
  readonly disconnects: Pick<Disconnects, "prepareReport">;
}

/** The row that ends a reported login. */
const NOT_ME_ROW = "not_me";

const LOCK_MS = 3600_000;

/** Returns a function that prepares a report of a user (canonical name). */
export function createNotMeReports(deps: NotMeReportDeps): (user: string) => NotMeReport {
  const { limits, conversations, secondFactor, remembered, bypassCodes, disconnects } = deps;
  /** Logins that wait for the user's next packet. A login in progress is rejected because of the lock. */
  const waiting = (user: string): Conversation[] => conversations.liveOf(user).filter(({ at }) => isStep(at));

  return (user) => {
    const lock = limits.lockFor(user, LOCK_MS);
    const forgotten = remembered.prepareForget(user);
    const sessions = disconnects.prepareReport(user);
    const bypass = bypassCodes.removeUser(user);
    const endOf = (conversation: Conversation) =>
      conversations.endMutation(conversation, NOT_ME_ROW, "rejected");
    const first = waiting(user).slice(0, MAX_ENDS);
    const firstIds = new Set(first.map(({ orderedId }) => orderedId));
    const end = (): number => {
      forgotten.done();
      sessions.done();
      const ended = waiting(user);
      for (const conversation of ended) {
        conversations.end(conversation, "rejected", NOT_ME_ROW);
        deps.changed(conversation);
      }
      recordMoreEnds(deps, ended.filter(({ orderedId }) => !firstIds.has(orderedId)).map(endOf));
      recordEndedLogins(deps, ended);
      return ended.length;
    };
    let ended: number | null = null;
    return {
      mutations: [
        lock.mutation,
        ...forgotten.mutations,
        ...bypass.mutations,
        ...first.map(endOf),
        ...sessions.mutations,
      ],
      dependsOn: [lock.mutation.key],
      lockedUntilMs: lock.lockedUntilMs,
      sessions: sessions.count,
      end: () => ended ??= end(),
      done() {
        const requests = conversations.liveOf(user).map(({ requestId }) => requestId);
        ended ??= end();
        for (const id of new Set(requests)) if (id !== null) void secondFactor.cancel(id);
        return ended;
      },
      undo() {
        bypass.restore();
        forgotten.undo();
        lock.undo();
      },
    };
  };
}

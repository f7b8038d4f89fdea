// What follows when a person says that a login was not theirs: the user is locked for a while, and every login of theirs that waits
// ends. The lock is in force at once; it goes into the commit that records the deed.

import type { Log } from "../../platform/log.ts";
import type { Mutation, Store } from "../../platform/store.ts";
import { isStep } from "../protocol/steps.ts";
import type { Conversation } from "./conversation.ts";
import type { Conversations } from "./conversation_store.ts";
import { recordEnded } from "./login_history.ts";
import type { Limits } from "../factors/limits.ts";
import type { SecondFactorService } from "../ports.ts";

/** A report "this was not me" in progress; the caller that commits it calls one of the two. */
export interface Disowning {
  readonly mutations: readonly Mutation[];
  /** Until when logins under that name are refused, unless an administrator unlocks it. Milliseconds since the epoch. */
  readonly lockedUntilMs: number;
  /** The commit is durable. Ends what waits, and says how many that were. Does not throw, waits for nothing. */
  done(): number;
  /** The commit was not made: everything is as before. */
  undo(): void;
}

export interface DisowningDeps {
  readonly store: Store;
  readonly log: Log;
  /** The directory whose users log in. */
  readonly target: string;
  readonly limits: Limits;
  readonly conversations: Conversations;
  readonly secondFactor: Pick<SecondFactorService, "cancel">;
  readonly changed: (conversation: Conversation) => void;
}

/** The row that ends a login which its user disowned. */
export const NOT_ME = "not_me";

const LOCK_MS = 3600_000;
/** Logins that end in the same commit; an attacker can begin thousands of logins under one name. The lock refuses the others. */
const MOST_ENDS = 20;

/** @returns prepares the disowning of a user (canonical name). */
export function createDisownings(deps: DisowningDeps): (user: string) => Disowning {
  const { limits, conversations, secondFactor } = deps;
  /** What waits for the person's next packet. One that is worked on right now finds the lock by itself, and is answered. */
  const waiting = (user: string): Conversation[] =>
    conversations.liveOf(user).filter(({ at }) => isStep(at)).slice(0, MOST_ENDS);

  return (user) => {
    const lock = limits.lockFor(user, LOCK_MS);
    const ends = waiting(user).map((conversation) => conversations.ending(conversation, NOT_ME));
    return {
      mutations: [lock.mutation, ...ends],
      lockedUntilMs: lock.lockedUntilMs,
      done() {
        const ended = waiting(user);
        for (const { requestId } of conversations.liveOf(user)) {
          if (requestId !== null) void secondFactor.cancel(requestId);
        }
        for (const conversation of ended) {
          conversations.end(conversation, "cancelled", NOT_ME);
          deps.changed(conversation);
        }
        recordEnded(deps, ended);
        return ended.length;
      },
      undo: lock.undo,
    };
  };
}

// Begins conversations: a new login, and the one that takes the place of another after Cancel.

import type { Clock } from "../../platform/runtime.ts";
import { placeOfTuple } from "./session_key.ts";
import type { Conversation } from "./conversation.ts";
import type { SharedTuples } from "./shared_tuples.ts";

export interface Beginnings {
  login(login: Login): Conversation;
  /** Cancel: the first factor that was right stays right, everything else begins anew under another id. */
  startOver(old: Conversation): Conversation;
}

export interface Login {
  readonly client: string;
  readonly user: string;
  readonly shownUser: string;
  readonly source: string;
  readonly place: string;
  readonly tuple: string;
  /** Whether State carries a token, unless the settings force one of the two forms. */
  readonly hasToken: boolean;
  readonly signed: boolean;
}

/** @param deps.stateForm `auto` adds a token if the tuple does not distinguish logins. */
export function createBeginnings(
  deps: {
    clock: Clock;
    sharedTuples: Pick<SharedTuples, "isShared">;
    orderedId: () => string;
    stateForm: "auto" | "name" | "token";
    conversationTtlMs: number;
  },
): Beginnings {
  /** All fields, always in the same order: then all conversations are of one shape to the engine. */
  const begin = (head: Login & { firstFactorRight: boolean }): Conversation => {
    const now = deps.clock.nowMs();
    const orderedId = deps.orderedId();
    return {
      orderedId,
      secretId: "",
      client: head.client,
      user: head.user,
      shownUser: head.shownUser,
      source: head.source,
      place: head.place,
      tuple: head.tuple,
      hasToken: head.hasToken,
      signed: head.signed,
      startedMs: now,
      deadlineMs: now + deps.conversationTtlMs,
      at: "start",
      round: 0,
      updatedMs: now,
      firstFactorRight: head.firstFactorRight,
      factor: null,
      requestId: null,
      pairingId: null,
      phone: null,
      newPairingId: null,
      numberToMatch: null,
      passcode: null,
      numbers: [],
      prompt: null,
      lastAnswer: null,
      outcome: null,
      moments: [],
      stored: "not",
      answerDigest: null,
    };
  };

  return {
    login: (login) => begin({ ...login, firstFactorRight: false }),
    startOver(old) {
      const isShared = deps.stateForm === "auto" &&
        deps.sharedTuples.isShared(placeOfTuple(old.tuple, old.user));
      const next = begin({ ...old, hasToken: old.hasToken || isShared });
      // A password that was right once must not be good for ever: cancelling does not renew its time.
      return old.firstFactorRight ? { ...next, deadlineMs: old.deadlineMs } : next;
    },
  };
}

// Begins conversations: a new login, and the one that takes the place of another after Cancel.

import type { Clock } from "../../runtime.ts";
import type { Vault } from "../../vault.ts";
import type { Tuple } from "../pure/tuple.ts";
import type { Conversation } from "./conversation.ts";
import { createStateTokens } from "./state_tokens.ts";

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
  readonly tuple: Tuple;
  readonly passwordDigest: string;
}

/** @param deps.stateForm `auto` adds a token where the request carries nothing that tells two logins of a user apart. */
export function createBeginnings(
  deps: {
    clock: Clock;
    vault: Vault;
    orderedId: () => string;
    stateForm: "auto" | "name" | "token";
    conversationTtlMs: number;
  },
): Beginnings {
  const tokenOf = createStateTokens(deps.vault);
  const needsToken = ({ distinct }: Tuple): boolean =>
    deps.stateForm === "token" || (deps.stateForm === "auto" && !distinct);

  /** All fields, always in the same order: then all conversations are of one shape to the engine. */
  const begin = (
    head: Omit<Login, "tuple"> & { tuple: string; hasToken: boolean; firstFactorRight: boolean },
  ): Conversation => {
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
      token: head.hasToken ? tokenOf(orderedId) : null,
      startedMs: now,
      deadlineMs: now + deps.conversationTtlMs,
      passwordDigest: head.passwordDigest,
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
    };
  };

  return {
    login: (login) =>
      begin({
        ...login,
        tuple: login.tuple.key,
        hasToken: needsToken(login.tuple),
        firstFactorRight: false,
      }),
    startOver: (old) => {
      const next = begin({ ...old, hasToken: old.token !== null });
      // A password that was right once must not be good for ever: cancelling does not renew its time.
      return old.firstFactorRight ? { ...next, deadlineMs: old.deadlineMs } : next;
    },
  };
}

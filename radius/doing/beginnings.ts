// Begins conversations: a new login, and the one that takes the place of another after Cancel.

import type { Clock, Random } from "../../runtime.ts";
import type { Tuple } from "../pure/tuple.ts";
import { type Conversation, newToken } from "./conversation.ts";

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

const TOKEN_OCTETS = 16;

/** @param deps.stateForm `auto` adds a token where the request carries nothing that tells two logins of a user apart. */
export function createBeginnings(
  deps: {
    clock: Clock;
    random: Random;
    orderedId: () => string;
    stateForm: "auto" | "name" | "token";
    conversationTtlMs: number;
  },
): Beginnings {
  const token = (): string => newToken(deps.random.bytes(TOKEN_OCTETS));
  const needsToken = ({ distinct }: Tuple): boolean =>
    deps.stateForm === "token" || (deps.stateForm === "auto" && !distinct);

  /** All fields, always in the same order: then all conversations are of one shape to the engine. */
  const begin = (
    head: Omit<Login, "tuple"> & { tuple: string; token: string | null; firstFactorRight: boolean },
  ): Conversation => {
    const now = deps.clock.nowMs();
    return {
      orderedId: deps.orderedId(),
      secretId: "",
      client: head.client,
      user: head.user,
      shownUser: head.shownUser,
      source: head.source,
      place: head.place,
      tuple: head.tuple,
      token: head.token,
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
        token: needsToken(login.tuple) ? token() : null,
        firstFactorRight: false,
      }),
    startOver: (old) => begin({ ...old, token: old.token === null ? null : token() }),
  };
}

// A conversation for tests, at the menu.

import type { Conversation } from "../../radius/conversation/conversation.ts";
import type { ManualClock } from "../upstream/manual_clock.ts";

/** How long it lives. */
export const TTL_MS = 300_000;

/** Makes a conversation that began now. */
export function conversation(
  orderedId: string,
  { clock, ...more }: Partial<Conversation> & { clock: ManualClock },
): Conversation {
  const now = clock.nowMs();
  return {
    orderedId,
    secretId: `secret of ${orderedId}`,
    client: "vpn",
    user: "ada",
    shownUser: "Ada",
    source: "192.0.2.1",
    place: "",
    tuple: `tuple of ${orderedId}`,
    hasToken: false,
    signed: true,
    startedMs: now,
    deadlineMs: now + TTL_MS,
    at: "CHOOSE_WHICH_MULTIFACTOR",
    round: 1,
    updatedMs: now,
    firstFactorRight: false,
    factor: null,
    requestId: null,
    pairingId: null,
    phone: null,
    newPairingId: null,
    numberToMatch: null,
    passcode: null,
    numbers: [],
    prompt: "menu",
    lastAnswer: null,
    outcome: null,
    moments: [],
    stored: "not",
    answerDigest: null,
    ...more,
  };
}

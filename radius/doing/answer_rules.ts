// What a packet may do with a login in progress, before its answer is looked at.

import type { Appended } from "../facts/facts.ts";
import type { Step } from "../facts/steps.ts";
import type { Conversation } from "./conversation.ts";
import type { Request } from "./request.ts";

const DEVICE: Step = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const PAIRING: Step = "SECONDFACTOR_AWAIT_PAIRING_APPROVAL";

/**
 * Whether an answer is to change nothing. Anyone can make a packet without Message-Authenticator and without a password. Some clients send the
 * empty answer that continues a push in this form (docs/radius-clients.md), so it counts there, from the address that began the login.
 */
export function isPowerless(request: Request, { source, at }: Pick<Conversation, "source" | "at">): boolean {
  return !request.proven && (request.source !== source || (at !== DEVICE && at !== PAIRING));
}

/** Whether the wait of a held login was cut off, by a restart or by the store: a client that is held to the end can do nothing with a challenge. */
export function wasCutOff(
  { outcome, at, lastAnswer }: Conversation,
  appended: Appended | null,
  { device }: Request["client"]["policy"],
): boolean {
  return outcome === null && at === DEVICE && lastAnswer?.state === null &&
    (device === "hold" || appended?.kind === "push");
}

// Whether a text message or a call may go to a number, and how a user is named in it.

import type { FactorSettings } from "../../platform/config/config.ts";
import { isCountryAllowed } from "../../platform/phone_number.ts";
import type { Limits, Send } from "./limits.ts";

/** Why no message is sent: one row a reason, with the sentence for the log. The user reads the same words in every case. */
export const NOT_SENT_REASONS = {
  not_a_number: "the answer is not a phone number",
  number_not_allowed: "factors.phone_numbers does not allow this number for this user",
  country_not_allowed:
    "factors.country_codes does not allow the number; without a list, satellite and premium-rate numbers are not allowed",
  user_limit: "the limit of factors.sends.per_user is reached",
  number_limit: "the limit of factors.sends.per_number is reached",
  client_limit: "the limit of factors.sends.per_client_per_hour is reached",
  total_limit: "the limit of factors.sends.total_per_hour is reached",
} as const;

export type NotSentReason = keyof typeof NOT_SENT_REASONS;

/** @param send.allowed whether the number is one of the user's, or any number is allowed. */
export function whyNotSent(
  { settings, limits }: { settings: Pick<FactorSettings, "countryCodes">; limits: Limits },
  send: Send & { readonly allowed: boolean },
): NotSentReason | null {
  if (!send.allowed) return "number_not_allowed";
  if (!isCountryAllowed(send.number, settings.countryCodes)) return "country_not_allowed";
  return limits.limitOf(send);
}

/** Longer names of the directory are cut before they are spoken. */
const MAX_SPOKEN_CHARACTERS = 64;
/** A login name and nothing else: without blanks it is no sentence, and without many digits no phone number. */
const PLAIN_NAME = /^[\p{L}\p{N}._@\\-]{1,32}$/u;
const MAX_SPOKEN_DIGITS = 4;

/**
 * The user's name for a voice call. The caller of a login chooses a name that the directory does not have, so such a name is only spoken if it
 * cannot carry a message.
 */
export function spokenName(name: string, { exists }: { exists: boolean }): string {
  if (exists) return [...name].slice(0, MAX_SPOKEN_CHARACTERS).join("");
  const digits = name.match(/\p{N}/gu)?.length ?? 0;
  return PLAIN_NAME.test(name) && digits <= MAX_SPOKEN_DIGITS ? name : "this user";
}

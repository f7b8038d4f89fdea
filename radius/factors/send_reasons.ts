// Decides whether a text message or a call may be sent to a number.

import type { FactorSettings } from "../../platform/config/config.ts";
import { isCountryAllowed } from "../../platform/phone_number.ts";
import type { Limits, Send } from "./limits.ts";

/** The reasons why no message is sent, with the sentence for the log. The user sees the same text in every case. */
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

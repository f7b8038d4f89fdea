// The conditions of the flow table: a name, a sentence for the docs, and a pure predicate over the inputs.

import type { Facts } from "./context.ts";

export interface ConditionRow {
  readonly says: string;
  readonly holds: (facts: Facts) => boolean;
}

const chose =
  (letter: "s" | "t" | "p" | "d", factor: "device" | "sms" | "voice" | "totp") => (facts: Facts) =>
    facts.answer.toLowerCase() === letter &&
    (facts.enabled.has(factor) || (letter === "d" && facts.enabled.has("device")));

// deno-fmt-ignore
export const CONDITIONS = {
  always: { says: "anything else", holds: () => true },
  user_refused: { says: "the user is inactive, deleted, locked out or not allowed", holds: (f) => f.userRefused },

  first_factor_configured: { says: "a first factor is configured and not yet right", holds: (f) => f.firstFactor === "asked" },
  first_factor_wrong: { says: "the first factor is wrong", holds: (f) => f.firstFactor === "wrong" },
  first_factor_unavailable: { says: "the first factor cannot be checked", holds: (f) => f.firstFactor === "unavailable" },
  password_empty: { says: "the password is empty", holds: (f) => f.passwordEmpty },

  appended: { says: "something other than auto was appended to the password", holds: (f) => f.appended !== null && f.appended.kind !== "auto" },
  appended_code: { says: "a passcode was appended", holds: (f) => f.appended?.kind === "code" },
  appended_push: { says: "push was appended", holds: (f) => f.appended?.kind === "push" },
  appended_sms: { says: "sms was appended", holds: (f) => f.appended?.kind === "sms" },
  appended_call: { says: "call was appended", holds: (f) => f.appended?.kind === "call" },

  has_device: { says: "has a device pairing", holds: (f) => f.ready.device },
  has_totp: { says: "has TOTP", holds: (f) => f.ready.totp },
  has_device_codes: { says: "has a device pairing that generates passcodes", holds: (f) => f.ready.deviceCodes },
  verified_sms_number: { says: "has a verified SMS number", holds: (f) => f.ready.sms },
  verified_voice_number: { says: "has a verified voice number", holds: (f) => f.ready.voice },
  picks_device: { says: "a device pairing comes first", holds: (f) => f.pick === "device" },
  picks_sms: { says: "a verified SMS number comes first", holds: (f) => f.pick === "sms" },
  picks_voice: { says: "a verified voice number comes first", holds: (f) => f.pick === "voice" },
  picks_totp: { says: "TOTP comes first", holds: (f) => f.pick === "totp" },
  pushes_left: { says: "the limit of pushes is not reached", holds: (f) => f.pushesLeft },
  pushes_used_up: { says: "the limit of pushes is reached", holds: (f) => !f.pushesLeft },

  answer_is_cancel: { says: "cancel", holds: (f) => f.answer.toLowerCase() === "cancel" },
  answer_empty: { says: "empty", holds: (f) => f.answer === "" },
  chose_s: { says: "S", holds: chose("s", "device") },
  chose_t: { says: "T", holds: chose("t", "sms") },
  chose_p: { says: "P", holds: chose("p", "voice") },
  chose_d: { says: "D", holds: chose("d", "totp") },
  one_sms_number: { says: "one known number", holds: (f) => f.smsNumbers.length === 1 },
  several_sms_numbers: { says: "several known numbers", holds: (f) => f.smsNumbers.length > 1 },
  one_voice_number: { says: "one known number", holds: (f) => f.voiceNumbers.length === 1 },
  several_voice_numbers: { says: "several known numbers", holds: (f) => f.voiceNumbers.length > 1 },
  may_enrol: { says: "enrolment at login is allowed", holds: (f) => f.mayEnrol },
  may_not_enrol: { says: "enrolment at login is not allowed", holds: (f) => !f.mayEnrol },

  is_held: { says: "the request is held", holds: (f) => f.held !== "no" },
  is_held_to_the_end: { says: "the request is held and no challenge may follow", holds: (f) => f.held === "to_the_end" },
  push_sent: { says: "the request was opened", holds: (f) => f.requestOpened },
  no_request: { says: "the request's identifier is absent", holds: (f) => !f.requestOpened },
  approved: { says: "granted and not pending", holds: (f) => f.decision === "granted" },
  denied: { says: "not granted and not pending, or the service does not know the request", holds: (f) => f.decision === "denied" },
  pending: { says: "still pending", holds: (f) => f.decision === "pending" },
  answered: { says: "the service gave an answer", holds: (f) => f.decision !== null },

  pairing_created: { says: "the service knows the phrase", holds: (f) => f.pairing === "enabled" || f.pairing === "pending" },
  pairing_enabled: { says: "the pairing is enabled", holds: (f) => f.pairing === "enabled" },
  pairing_pending: { says: "still pending", holds: (f) => f.pairing === "pending" },
  pairing_denied: { says: "denied", holds: (f) => f.pairing === "denied" },
  unknown_to_service: { says: "the service does not know it", holds: (f) => f.pairing === "unknown" },

  number_usable: { says: "a number that is allowed, within the limits", holds: (f) => f.number !== null && f.numberUsable },
  no_phone_number: { says: "not a phone number", holds: (f) => f.number === null },
  message_sent: { says: "the telephony service took it", holds: (f) => f.messageSent },
  passcode_matches: { says: "the passcode, in time", holds: (f) => f.passcodeMatches },

  answer_is_code: { says: "a typed device passcode", holds: (f) => f.answerIsCode && (f.ready.totp || f.requestOpened) },
  answer_is_recovery_code: { says: "a typed recovery code, and the user has some", holds: (f) => f.answerIsRecoveryCode && f.hasRecoveryCodes },
  has_recovery_codes: { says: "has recovery codes", holds: (f) => f.hasRecoveryCodes },
  recovery_code_matches: { says: "a recovery code of the user's, not used before", holds: (f) => f.recoveryCodeMatches },
  totp_matches: { says: "the code of the user's TOTP, its time step not used before", holds: (f) => f.totpStep !== null },
  service_may_know_code: { says: "a code for the service, and a request is open", holds: (f) => f.answerIsCode && f.requestOpened },

  state_was_device: { says: "the State of the device step", holds: (f) => f.stateWasDevice },
} as const satisfies Record<string, ConditionRow>;

export type FlowCondition = keyof typeof CONDITIONS;

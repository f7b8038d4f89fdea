// The conditions of the flow table: a name, a sentence for the docs, and a pure predicate over the inputs.

import { isAccountRefusal, isPasswordOver } from "../../platform/account_refusals.ts";
import type { Facts } from "./context.ts";

interface ConditionRow {
  readonly text: string;
  readonly holds: (facts: Facts) => boolean;
}

const chose =
  (letter: "s" | "t" | "p" | "d", factor: "device" | "sms" | "voice" | "totp") => (facts: Facts) =>
    facts.answer.toLowerCase() === letter && facts.menu.has(factor);

const lacks = (factor: "device" | "sms" | "voice" | "totp") => (facts: Facts) =>
  facts.required === factor && !facts.requiredUsable;

// deno-fmt-ignore
export const CONDITIONS = {
  always: { text: "anything else", holds: () => true },
  user_refused: { text: "the user is inactive, deleted, locked out or not allowed", holds: (f) => f.userRefused },

  policy_denies: { text: "a policy denies the login", holds: (f) => f.policyDenies },
  policy_denies_now: { text: "by now, a policy denies the login, or the phone that approved it is not allowed", holds: (f) => f.policyDeniesNow },
  policy_bypasses: { text: "a policy needs no second factor, and the password was checked", holds: (f) => f.policyBypasses },
  device_remembered: { text: "the device is remembered, and the password was checked", holds: (f) => f.deviceRemembered },
  lacks_required_device: { text: "a policy requires a phone, and the user has none", holds: lacks("device") },
  lacks_required_sms: { text: "a policy requires a text message, and the user has no number", holds: lacks("sms") },
  lacks_required_voice: { text: "a policy requires a phone call, and the user has no number", holds: lacks("voice") },
  lacks_required_totp: { text: "a policy requires an authenticator app, and the user has none", holds: lacks("totp") },
  requires_device: { text: "a policy requires a phone", holds: (f) => f.required === "device" },
  requires_sms: { text: "a policy requires a text message", holds: (f) => f.required === "sms" },
  requires_voice: { text: "a policy requires a phone call", holds: (f) => f.required === "voice" },
  enrolment_overdue: { text: "the deadline for enrolment has passed, and the user has no second factor", holds: (f) => f.enrolmentOverdue },
  step_forbidden: { text: "a policy or the settings do not allow the factor of this step", holds: (f) => f.stepForbidden },

  first_factor_configured: { text: "a first factor is configured and not checked yet", holds: (f) => f.firstFactor === "asked" },
  first_factor_wrong: { text: "the first factor is wrong", holds: (f) => f.firstFactor === "wrong" },
  may_not_change_password: { text: "the user cannot change the password in this login", holds: (f) => !f.mayChangePassword },
  password_over: { text: "the password is right, and the LDAP server demands a new one", holds: (f) => isPasswordOver(f.firstFactor) },
  account_refused: { text: "the LDAP server refuses the account for another reason than the password", holds: (f) => isAccountRefusal(f.firstFactor) && !isPasswordOver(f.firstFactor) },
  first_factor_unavailable: { text: "the first factor cannot be checked", holds: (f) => f.firstFactor === "unavailable" },
  first_factor_challenged: { text: "the first-factor server asks the user a question", holds: (f) => f.firstFactor === "challenged" },
  challenges_used_up: { text: "it asked too many questions", holds: (f) => !f.challengesLeft },
  password_empty: { text: "the password is empty", holds: (f) => f.passwordEmpty },

  relayed: { text: "the login is relayed, so no prompt can follow", holds: (f) => f.relayed },

  appended: { text: "something other than auto was appended to the password", holds: (f) => f.appended !== null && f.appended.kind !== "auto" },
  appended_code: { text: "a passcode was appended", holds: (f) => f.appended?.kind === "code" },
  appended_bypass_code: { text: "a bypass code was appended", holds: (f) => f.appended?.kind === "bypass" },
  appended_push: { text: "push was appended", holds: (f) => f.appended?.kind === "push" },
  appended_sms: { text: "sms was appended", holds: (f) => f.appended?.kind === "sms" },
  appended_call: { text: "call was appended", holds: (f) => f.appended?.kind === "call" },

  has_appended_choice: { text: "the number behind the word, if any, is that of a phone or number of the user", holds: (f) => f.appendedChoice !== "missing" },
  passcode_was_kept: { text: "a passcode was sent to the user in append mode, and it is still valid", holds: (f) => f.passcodeKept },
  kept_passcode_matches: { text: "the appended passcode is the one that was sent in append mode", holds: (f) => f.keptPasscodeMatches },

  has_device: { text: "has a device pairing", holds: (f) => f.ready.device },
  has_totp: { text: "has TOTP", holds: (f) => f.ready.totp },
  has_device_codes: { text: "has a device pairing that generates passcodes", holds: (f) => f.ready.deviceCodes },
  verified_sms_number: { text: "has a verified SMS number", holds: (f) => f.ready.sms },
  verified_voice_number: { text: "has a verified voice number", holds: (f) => f.ready.voice },
  picks_device: { text: "a device pairing is tried first", holds: (f) => f.pick === "device" },
  picks_sms: { text: "a verified SMS number is tried first", holds: (f) => f.pick === "sms" },
  picks_voice: { text: "a verified voice number is tried first", holds: (f) => f.pick === "voice" },
  picks_totp: { text: "TOTP is tried first", holds: (f) => f.pick === "totp" },
  pushes_left: { text: "the limit of push requests is not reached", holds: (f) => f.pushesLeft },
  pushes_used_up: { text: "the limit of push requests is reached", holds: (f) => !f.pushesLeft },

  several_phones: { text: "has several phones", holds: (f) => f.phones.several },
  answer_is_other_phone: { text: "the answer chooses another phone", holds: (f) => f.phones.other !== null },

  answer_is_cancel: { text: "the answer is cancel", holds: (f) => f.answer.toLowerCase() === "cancel" },
  answer_empty: { text: "the answer is empty", holds: (f) => f.answer === "" },
  chose_s: { text: "the answer is S", holds: chose("s", "device") },
  chose_t: { text: "the answer is T", holds: chose("t", "sms") },
  chose_p: { text: "the answer is P", holds: chose("p", "voice") },
  chose_d: { text: "the answer is D", holds: chose("d", "totp") },
  one_sms_number: { text: "one known number", holds: (f) => f.smsNumbers.length === 1 },
  several_sms_numbers: { text: "several known numbers", holds: (f) => f.smsNumbers.length > 1 },
  one_voice_number: { text: "one known number", holds: (f) => f.voiceNumbers.length === 1 },
  several_voice_numbers: { text: "several known numbers", holds: (f) => f.voiceNumbers.length > 1 },
  may_enrol: { text: "enrolment at login is allowed", holds: (f) => f.mayEnrol },
  may_not_enrol: { text: "enrolment at login is not allowed", holds: (f) => !f.mayEnrol },

  is_held: { text: "the RADIUS request is held", holds: (f) => f.held !== "no" },
  is_held_to_the_end: { text: "the RADIUS request is held and no challenge may follow", holds: (f) => f.held === "to_the_end" },
  push_sent: { text: "the service created the approval request", holds: (f) => f.requestOpened },
  no_request: { text: "there is no approval request", holds: (f) => !f.requestOpened },
  approved: { text: "approved", holds: (f) => f.decision === "granted" },
  denied: { text: "denied, or the service does not know the request", holds: (f) => f.decision === "denied" },
  pending: { text: "still pending", holds: (f) => f.decision === "pending" },
  answered: { text: "the service gave an answer", holds: (f) => f.decision !== null },

  pairing_created: { text: "the service knows the phrase", holds: (f) => f.pairing === "enabled" || f.pairing === "pending" },
  pairing_enabled: { text: "the pairing is enabled", holds: (f) => f.pairing === "enabled" },
  pairing_pending: { text: "still pending", holds: (f) => f.pairing === "pending" },
  pairing_denied: { text: "denied", holds: (f) => f.pairing === "denied" },
  unknown_to_service: { text: "the service does not know it", holds: (f) => f.pairing === "unknown" },

  number_usable: { text: "a phone number that is allowed and within the limits", holds: (f) => f.number !== null && f.numberUsable },
  no_phone_number: { text: "not a phone number", holds: (f) => f.number === null },
  message_sent: { text: "the telephony service accepted the message", holds: (f) => f.messageSent },
  passcode_matches: { text: "the answer is the passcode, and it is still valid", holds: (f) => f.passcodeMatches },

  answer_is_code: { text: "the answer is a device passcode", holds: (f) => f.answerIsCode && (f.ready.totp || (f.requestOpened && f.deviceCodes)) },
  answer_is_recovery_code: { text: "the answer is a recovery code, and the user has some", holds: (f) => f.answerIsRecoveryCode && f.hasRecoveryCodes },
  has_recovery_codes: { text: "has recovery codes", holds: (f) => f.hasRecoveryCodes },
  recovery_code_matches: { text: "the answer is an unused recovery code of the user", holds: (f) => f.recoveryCodeMatches },
  answer_is_bypass_code: { text: "the answer has the form of a bypass code, and the user has one", holds: (f) => f.answerIsBypassCode && f.hasBypassCode },
  has_bypass_code: { text: "has a bypass code", holds: (f) => f.hasBypassCode },
  bypass_code_matches: { text: "the answer is the bypass code of the user", holds: (f) => f.bypassCodeMatches },
  totp_matches: { text: "the answer is the user's TOTP code, and its time step is unused", holds: (f) => f.totpStep !== null },
  code_was_used: { text: "the code was used already, or is older than the last used one", holds: (f) => f.codeFault === "code_used" },
  last_step_ahead: { text: "the last used time step of the factor lies in the future", holds: (f) => f.codeFault === "last_step_ahead" },
  clock_ahead: { text: "the code is right for a clock that is ahead", holds: (f) => (f.codeFault ?? "").startsWith("clock_") && !(f.codeFault ?? "").startsWith("clock_-") },
  clock_behind: { text: "the code is right for a clock that is behind", holds: (f) => (f.codeFault ?? "").startsWith("clock_-") },
  service_may_know_code: { text: "the answer is a code, and an approval request is open", holds: (f) => f.answerIsCode && f.requestOpened && f.deviceCodes },

  new_password_missing: { text: "no new password was typed yet", holds: (f) => !f.hasNewPassword },
  new_password_repeated: { text: "the answer is the new password again", holds: (f) => f.newPasswordRepeated },
  factor_was_right: { text: "the second factor of this login was right", holds: (f) => f.factorWasRight },
  password_changed: { text: "the directory changed the password", holds: (f) => f.passwordChange === "changed" },
  new_password_refused: { text: "the directory's policy does not allow the new password", holds: (f) => f.passwordChange === "refused" },

  reply_unreadable: { text: "the stored answer of the first-factor server cannot be opened", holds: (f) => f.acceptFault === "reply_unreadable" },
  accept_too_large: { text: "the attributes of the Access-Accept do not fit into a packet", holds: (f) => f.acceptFault === "accept_too_large" },

  state_was_device: { text: "State is that of the device step", holds: (f) => f.stateWasDevice },
} as const satisfies Record<string, ConditionRow>;

export type FlowCondition = keyof typeof CONDITIONS;

// The inputs of the flow table: the second factors, and the facts that the conditions read.

import { type AccountRefusal, isAccountRefusal, isPasswordOver } from "../../platform/account_refusals.ts";
import type { Appended } from "../protocol/login_input.ts";

export const FACTORS = {
  device: { letter: "S", label: "Smart-phone responder", short: "phone" },
  sms: { letter: "T", label: "Text-message delivered passcode", short: "text" },
  voice: { letter: "P", label: "Phone-call delivered passcode", short: "call" },
  totp: { letter: "D", label: "Device-generated passcode", short: "code" },
} as const satisfies Record<string, { letter: string; label: string; short: string }>;

export type Factor = keyof typeof FACTORS;

/** @throws TypeError if this version has no such factor */
export function checkFactor(kind: unknown): void {
  if (typeof kind === "string" && Object.hasOwn(FACTORS, kind)) return;
  throw new TypeError("its kind of factor is unknown, so this node does not offer it");
}

/** The factors of the menu: the enabled ones, and passcodes of a phone. */
export function menuOf(enabled: ReadonlySet<Factor>): ReadonlySet<Factor> {
  return enabled.has("device") ? new Set([...enabled, "totp"]) : enabled;
}

/** The factor of a successful login, or a code that replaces a factor. */
export type UsedFactor = Factor | "recovery" | "bypass";

/** The order of factors for a user without a preference. */
export const FACTOR_ORDER: readonly Factor[] = ["device", "sms", "voice", "totp"];

export interface PhoneChoiceFacts {
  /** Whether the user can choose between phones. */
  readonly several: boolean;
  /** The pairing of the phone that the answer chooses instead of the one that has the request. */
  readonly other: string | null;
  /** What the conversation stores of the phones that a prompt offers. */
  readonly entries: readonly string[];
}

export interface Facts {
  /** The trimmed answer; empty at the start of a login. */
  readonly answer: string;
  readonly passwordEmpty: boolean;
  readonly appended: Appended | null;
  /** The phone or the phone number that the number behind the appended word chooses, by its pairing. `first`: without a number. */
  readonly appendedChoice: "first" | "missing" | { readonly id: string; readonly number?: string };
  /** Whether a passcode that was sent in append mode waits for its login, and whether it is the appended one. */
  readonly passcodeKept: boolean;
  readonly keptPasscodeMatches: boolean;
  /** The user is inactive, deleted, locked out, or unknown where unknown users are rejected. */
  readonly userRefused: boolean;
  readonly firstFactor:
    | "not_configured"
    | "asked"
    | "right"
    | "wrong"
    | "challenged"
    | "unavailable"
    | AccountRefusal;
  /** Whether the first-factor server may ask the user one more question. */
  readonly challengesLeft: boolean;
  readonly enabled: ReadonlySet<Factor>;
  /** The factors that the user can choose in the menu. */
  readonly menu: ReadonlySet<Factor>;
  /** The policy that applies, by name; `null`: the settings apply. */
  readonly policy: string | null;
  readonly policyDenies: boolean;
  /** The same, decided again after a wait: another policy was saved, or applies because the user's groups changed. Also if a phone approved that is not
   * allowed any more. */
  readonly policyDeniesNow: boolean;
  /** Whether a policy accepts this login without a second factor, and the password was checked. */
  readonly policyBypasses: boolean;
  /** Whether the device of this login is remembered, and the policy lets it replace the second factor. */
  readonly deviceRemembered: boolean;
  readonly required: Factor | null;
  /** Whether the user has the required factor, or can add it during this login. */
  readonly requiredUsable: boolean;
  /** Whether the policy does not allow the factor of the step. */
  readonly stepForbidden: boolean;
  /** Whether the deadline to set up a second factor has passed, and the user has none. */
  readonly enrolmentOverdue: boolean;
  /** Whether a passcode that the paired phone generates is accepted. */
  readonly deviceCodes: boolean;
  /** Factors that are enabled and that this user has. */
  readonly ready: {
    readonly device: boolean;
    readonly deviceCodes: boolean;
    readonly sms: boolean;
    readonly voice: boolean;
    readonly totp: boolean;
  };
  /** The preferred factor if it is ready, otherwise the first that is ready. */
  readonly pick: Factor | null;
  readonly pushesLeft: boolean;
  readonly phones: PhoneChoiceFacts;
  /** Whether the user may pair a phone by its phrase. */
  readonly mayEnrol: boolean;
  /** Whether a number may be stored as verified after its passcode was right. */
  readonly mayStoreNumber: boolean;
  /** Numbers that the user may choose: verified ones first, then those of the directory. */
  readonly smsNumbers: readonly string[];
  readonly voiceNumbers: readonly string[];
  /** The number in the answer, before any policy applies. */
  readonly number: string | null;
  readonly numberUsable: boolean;
  /** Whether the first-factor server checked CHAP, MS-CHAP or EAP. Their clients show no prompt. */
  readonly relayed: boolean;
  readonly held: "no" | "then_challenge" | "to_the_end";
  /** Whether an authentication request's identifier is known. */
  readonly requestOpened: boolean;
  /** The service's answer about the request; `null` without a usable answer. */
  readonly decision: "granted" | "denied" | "pending" | null;
  readonly pairing: "enabled" | "pending" | "denied" | "unknown" | null;
  readonly messageSent: boolean;
  readonly passcodeMatches: boolean;
  /** Whether a sent passcode is still valid, so that a wrong answer can be a guess. */
  readonly passcodeOutstanding: boolean;
  /** Whether a password or a code was compared with the right one, so that a wrong answer can be a guess. */
  readonly guessChecked: boolean;
  /** Whether the user is in the directory or has a factor. Failures of other names are not stored, because anyone can invent names. */
  readonly userExists: boolean;
  readonly answerIsCode: boolean;
  /** Whether the user has recovery codes left, and whether the answer has their form. */
  readonly hasRecoveryCodes: boolean;
  readonly answerIsRecoveryCode: boolean;
  /** Whether the answer is an unused recovery code of the user. */
  readonly recoveryCodeMatches: boolean;
  /** The same for the bypass code that the help desk issues. */
  readonly hasBypassCode: boolean;
  readonly answerIsBypassCode: boolean;
  readonly bypassCodeMatches: boolean;
  /** The time step for which the typed code is the user's TOTP; `null` if there is none. */
  readonly totpStep: number | null;
  /** Why a refused code is one of the user's factors, but of another time; `null`: it is of none. */
  readonly codeFault: string | null;
  /** Whether a password that is over may be changed in this login. */
  readonly mayChangePassword: boolean;
  /** Whether a password is to be changed before the login is accepted. */
  readonly passwordDue: boolean;
  readonly hasNewPassword: boolean;
  /** Whether the answer is the new password again. */
  readonly newPasswordRepeated: boolean;
  /** Whether the second factor was right before the password was changed. */
  readonly factorWasRight: boolean;
  /** `failed`: the directory did not answer, and may have changed it. */
  readonly passwordChange: "changed" | "refused" | "wrong" | "failed" | null;
  /** Whether State names the device step. */
  readonly stateWasDevice: boolean;
  /** Why no Access-Accept can be sent; `null`: it can. */
  readonly acceptFault: AcceptFault | null;
}

/** `reply_unreadable`: the stored answer of the first-factor server cannot be opened. `accept_too_large`: the attributes do not fit into a packet. */
export type AcceptFault = "reply_unreadable" | "accept_too_large";

/** The facts for a State whose conversation is gone. Only its step is known. */
export const NOTHING_KNOWN: Facts = {
  answer: "",
  passwordEmpty: false,
  appended: null,
  appendedChoice: "first",
  passcodeKept: false,
  keptPasscodeMatches: false,
  userRefused: false,
  firstFactor: "not_configured",
  challengesLeft: false,
  enabled: new Set(),
  menu: new Set(),
  policy: null,
  policyDenies: false,
  policyDeniesNow: false,
  policyBypasses: false,
  deviceRemembered: false,
  required: null,
  requiredUsable: false,
  stepForbidden: false,
  enrolmentOverdue: false,
  deviceCodes: false,
  ready: { device: false, deviceCodes: false, sms: false, voice: false, totp: false },
  pick: null,
  pushesLeft: false,
  phones: { several: false, other: null, entries: [] },
  mayEnrol: false,
  mayStoreNumber: false,
  smsNumbers: [],
  voiceNumbers: [],
  number: null,
  numberUsable: false,
  relayed: false,
  held: "no",
  requestOpened: false,
  decision: null,
  pairing: null,
  messageSent: false,
  passcodeMatches: false,
  passcodeOutstanding: false,
  guessChecked: false,
  userExists: false,
  answerIsCode: false,
  hasRecoveryCodes: false,
  answerIsRecoveryCode: false,
  recoveryCodeMatches: false,
  hasBypassCode: false,
  answerIsBypassCode: false,
  bypassCodeMatches: false,
  totpStep: null,
  codeFault: null,
  mayChangePassword: false,
  passwordDue: false,
  hasNewPassword: false,
  newPasswordRepeated: false,
  factorWasRight: false,
  passwordChange: null,
  stateWasDevice: false,
  acceptFault: null,
};

// The conditions of the flow table: a name, a sentence for the docs, and a pure predicate over the inputs.

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

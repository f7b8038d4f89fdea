// The inputs of the flow table: the second factors, and the facts that the conditions read.

import type { AccountRefusal } from "../../platform/account_refusals.ts";
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

/** The phones of the user. */
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
  /** The factor that the policy requires. */
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

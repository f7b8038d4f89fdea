// What the flow table looks at: plain values, gathered before a row is chosen.

import type { Appended } from "../protocol/password.ts";
import type { Factor } from "./factors.ts";

export interface Facts {
  /** The trimmed answer; at the start of a login the password is no answer and this is empty. */
  readonly answer: string;
  readonly passwordEmpty: boolean;
  readonly appended: Appended | null;
  /** Inactive, deleted, locked out, or unknown where unknown users are rejected. */
  readonly userRefused: boolean;
  readonly firstFactor: "not_configured" | "asked" | "right" | "wrong" | "unavailable";
  readonly enabled: ReadonlySet<Factor>;
  /** Factors that are enabled and that this user has. */
  readonly ready: {
    readonly device: boolean;
    readonly deviceCodes: boolean;
    readonly sms: boolean;
    readonly voice: boolean;
    readonly totp: boolean;
  };
  /** The preferred factor, else the first that is ready. */
  readonly pick: Factor | null;
  readonly pushesLeft: boolean;
  /** Whether a phone may be paired by its phrase. */
  readonly mayEnrol: boolean;
  /** Whether a number that got a passcode may be stored as verified. */
  readonly mayStoreNumber: boolean;
  /** Numbers that may be texted or called on the user's word: verified ones first, then registered ones. */
  readonly smsNumbers: readonly string[];
  readonly voiceNumbers: readonly string[];
  /** The number that the answer means, whatever policy says of it. */
  readonly number: string | null;
  readonly numberUsable: boolean;
  readonly held: "no" | "then_challenge" | "to_the_end";
  /** Whether an authentication request's identifier is known. */
  readonly requestOpened: boolean;
  /** What the service said of the request; `null`: no usable answer. */
  readonly decision: "granted" | "denied" | "pending" | null;
  readonly pairing: "enabled" | "pending" | "denied" | "unknown" | null;
  readonly messageSent: boolean;
  readonly passcodeMatches: boolean;
  /** Whether a passcode was sent that still counts, so that it could be guessed. */
  readonly passcodeOutstanding: boolean;
  /** Whether a password or a code was compared with the right one, so that it could be guessed. */
  readonly guessChecked: boolean;
  /** Whether the user is in the directory or has a factor. Of other names there is nothing to guess, and there are any number of them. */
  readonly userExists: boolean;
  readonly answerIsCode: boolean;
  /** Whether the user has recovery codes left, and whether the answer has their form. */
  readonly hasRecoveryCodes: boolean;
  readonly answerIsRecoveryCode: boolean;
  /** Whether the answer is a recovery code of the user's that was not used before. */
  readonly recoveryCodeMatches: boolean;
  /** The time step of the user's TOTP that the code belongs to. */
  readonly totpStep: number | null;
  /** Whether the State was that of the device step. */
  readonly stateWasDevice: boolean;
}

/** What is known of a State whose conversation is gone: nothing but its step. */
export const NOTHING_KNOWN: Facts = {
  answer: "",
  passwordEmpty: false,
  appended: null,
  userRefused: false,
  firstFactor: "not_configured",
  enabled: new Set(),
  ready: { device: false, deviceCodes: false, sms: false, voice: false, totp: false },
  pick: null,
  pushesLeft: false,
  mayEnrol: false,
  mayStoreNumber: false,
  smsNumbers: [],
  voiceNumbers: [],
  number: null,
  numberUsable: false,
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
  totpStep: null,
  stateWasDevice: false,
};

// Why a directory refuses a sign-in although it does not call the password wrong. The names are used in the log, the history and the console.

/** `isRight`: the directory only answers so for the right password. `isTold`: the user reads it, too. */
interface AccountRefusalRow {
  readonly isRight: boolean;
  readonly isTold: boolean;
}

const ACCOUNT_REFUSALS = {
  password_expired: { isRight: true, isTold: true },
  password_must_change: { isRight: true, isTold: true },
  account_disabled: { isRight: true, isTold: false },
  account_expired: { isRight: true, isTold: false },
  sign_in_hours: { isRight: true, isTold: false },
  sign_in_place: { isRight: true, isTold: false },
  /** The password was not compared. */
  account_locked: { isRight: false, isTold: false },
} as const satisfies Record<string, AccountRefusalRow>;

export type AccountRefusal = keyof typeof ACCOUNT_REFUSALS;

export function isAccountRefusal(text: string | null): text is AccountRefusal {
  return text !== null && Object.hasOwn(ACCOUNT_REFUSALS, text);
}

/** Whether the user reads that the password has to be changed. */
export function isPasswordOver(text: string | null): boolean {
  return isAccountRefusal(text) && ACCOUNT_REFUSALS[text].isTold;
}

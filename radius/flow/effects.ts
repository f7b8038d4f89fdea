// The effects of the flow table: what a row does besides leading to another place.

/**
 * The effects of rows. `upstream`: it calls another service or waits for one; a row has at most one such effect, as its last.
 * `claimed`: it must happen at most once, so the conversation is committed at the passage before the call.
 */
export const EFFECTS = {
  check_first_factor: { upstream: true, text: "checks the first factor" },
  note_first_factor: { upstream: false, text: "notes that the first factor was right" },
  replace_older: { upstream: false, text: "replaces the older login of the same place" },
  keep_old_password: { upstream: false, text: "keeps the password, sealed, until it is changed" },
  keep_new_password: { upstream: false, text: "keeps the new password, sealed, until it is used" },
  forget_new_password: { upstream: false, text: "forgets the new password" },
  note_factor: { upstream: false, text: "notes that the second factor was right" },
  change_password: {
    upstream: true,
    claimed: true,
    text: "changes the password in the directory, by the old one",
  },
  finish_password_change: { upstream: false, text: "forgets both passwords, and records the change" },
  count_failure: { upstream: false, text: "counts a failure of the user" },
  count_failure_if_checked: {
    upstream: false,
    text: "counts a failure of the user if a password or a code was checked",
  },
  count_failure_if_passcode: {
    upstream: false,
    text: "counts a failure of the user if a sent passcode is still valid",
  },
  count_refused_send: { upstream: false, text: "counts a refused message or call for the user" },
  remember_device: { upstream: false, text: "remembers the device if the policy says so" },
  note_no_factor: { upstream: false, text: "notes that no second factor was used" },
  clear_failures: { upstream: false, text: "clears the user's failures" },
  push: { upstream: true, claimed: true, text: "sends a push request" },
  hold: { upstream: true, claimed: true, text: "holds the RADIUS request and waits for the decision" },
  ask_approval: { upstream: true, text: "reads the decision from the service" },
  ask_null: {
    upstream: true,
    text: "reads the status of the literal `null`, twice; at most 10 times a minute and client",
  },
  text: { upstream: true, claimed: true, text: "sends a text message" },
  call: { upstream: true, claimed: true, text: "places a phone call" },
  create_pairing: { upstream: true, claimed: true, text: "creates a pairing at the service" },
  ask_pairing: { upstream: true, text: "reads the pairing from the service" },
  store_pairing: { upstream: false, text: "stores the pairing" },
  remember_number: { upstream: false, text: "stores the number as verified if enrolment is allowed" },
  keep_passcode: { upstream: false, text: "in append mode, keeps the passcode for the next login" },
  take_kept_passcode: { upstream: false, text: "uses up the passcode that was kept" },
  take_totp_step: { upstream: false, text: "uses up the time step" },
  take_recovery_code: { upstream: false, text: "uses up the recovery code" },
  take_bypass_code: { upstream: false, text: "uses the bypass code" },
  ask_otp: { upstream: true, text: "checks the passcode at the service" },
  start_over: { upstream: false, text: "cancels the request and starts a new conversation" },
  drop_request: { upstream: false, text: "cancels the request" },
} as const satisfies Record<string, { upstream: boolean; claimed?: true; text: string }>;

export type Effect = keyof typeof EFFECTS;

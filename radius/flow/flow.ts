// The flow of a conversation: one ordered table of rows, and step(), which chooses the next row. At each place, the first row whose
// conditions are all true applies. The diagram in the docs, the view in the console and the tests are derived from the rows. A login that a decision
// ends while it waits has no row here, only a name: DENIED_ROW of radius/conversation/conversation.ts.

import { type AcceptFault, CONDITIONS, type Facts, type FlowCondition } from "./context.ts";
import { type FlowEnd, type FlowPlace, isStep } from "../protocol/steps.ts";
import type { Prompt } from "./prompts.ts";

const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const FIRST_FACTOR = "FIRSTFACTOR_GET_ANSWER";
const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const NEW_PASSWORD = "FIRSTFACTOR_GET_NEW_PASSWORD";
const REPEAT_PASSWORD = "FIRSTFACTOR_REPEAT_NEW_PASSWORD";
const PHRASE = "SECONDFACTOR_GET_PAIRING_PHRASE";
const PAIRING = "SECONDFACTOR_AWAIT_PAIRING_APPROVAL";
const CODE = "GET_DEVICE_GENERATED_PASSCODE";
const GET_SMS = "GET_SMS_PHONE_NUMBER";
const GET_VOICE = "GET_VOICE_PHONE_NUMBER";

export interface FlowRow {
  /** The name of the row in logs, audit, console and tests. */
  readonly name: string;
  /** `*`: every step of a live conversation. */
  readonly from: FlowPlace | "*";
  readonly when: readonly FlowCondition[];
  readonly then: readonly Effect[];
  /** The prompt in Reply-Message; `null` for a row into a passage. */
  readonly prompt: Prompt | null;
  readonly to: FlowPlace | FlowEnd;
}

type Tail = [
  when: readonly FlowCondition[],
  then: readonly Effect[],
  prompt: Prompt | null,
  to: FlowPlace | FlowEnd,
];

/**
 * The effects of rows: what a row does besides leading to another place. `upstream`: it calls another service or waits for one; a row has at most one such effect, as its last.
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

function rows(from: FlowPlace | "*", tails: Record<string, Tail>): FlowRow[] {
  return Object.entries(tails).map(([name, tail]) => {
    const [when, then, prompt, to] = tail;
    return { name, from, when, then, prompt, to };
  });
}

/** The rows of a step that waits for a delivered passcode; the four steps differ only in their names. */
function passcodeRows(from: FlowPlace, kind: string): FlowRow[] {
  return rows(from, {
    [`${kind}_empty`]: [["answer_empty"], [], "menu", MENU],
    [`${kind}_right`]: [
      ["passcode_matches"],
      ["take_kept_passcode", "remember_number", "remember_device", "clear_failures"],
      "accepted",
      "accept",
    ],
    [`${kind}_wrong`]: [
      ["always"],
      ["count_failure_if_passcode", "take_kept_passcode"],
      "mismatch",
      "reject",
    ],
  });
}

/** The rows of a user without a factor after the deadline of the enrolment, and of a policy that requires a factor which the user does not have. */
function requiredRows(from: FlowPlace, suffix: string): FlowRow[] {
  return rows(from, {
    [`overdue${suffix}`]: [["enrolment_overdue"], [], "enrol_first", "reject"],
    [`needs_device${suffix}`]: [["lacks_required_device"], [], "needs_device", "reject"],
    [`needs_sms${suffix}`]: [["lacks_required_sms"], [], "needs_sms", "reject"],
    [`needs_voice${suffix}`]: [["lacks_required_voice"], [], "needs_voice", "reject"],
    [`needs_totp${suffix}`]: [["lacks_required_totp"], [], "needs_totp", "reject"],
  });
}

// deno-fmt-ignore
export const FLOW: readonly FlowRow[] = [
  ...rows("*", {
    refused_meanwhile: [["user_refused"], ["drop_request"], "denied", "reject"],
    denied_by_policy_meanwhile: [["policy_denies"], ["drop_request"], "denied", "reject"],
    bypassed_by_policy_meanwhile: [["policy_bypasses"], ["note_no_factor", "clear_failures", "drop_request"], "accepted", "accept"],
    cancelled_before_first_factor: [["answer_is_cancel", "first_factor_configured"], ["drop_request"], "gone", "reject"],
    cancelled: [["answer_is_cancel"], ["start_over"], "menu", MENU],
    forbidden_by_policy_meanwhile: [["step_forbidden"], ["drop_request"], "menu", MENU],
  }),

  ...rows("start", {
    refused: [["user_refused"], [], "denied", "reject"],
    denied_by_policy: [["policy_denies"], [], "denied", "reject"],
    first_factor_asked: [["first_factor_configured"], ["check_first_factor"], null, "first_factor"],
    overdue_without_password: [["password_empty", "enrolment_overdue"], [], "enrol_first", "reject"],
    empty_password: [["password_empty"], [], "menu", MENU],
    bypassed_by_policy: [["policy_bypasses"], ["clear_failures"], "accepted", "accept"],
    remembered_device: [["device_remembered"], ["clear_failures"], "accepted", "accept"],
    no_first_factor: [["always"], [], null, "factor"],
  }),
  ...rows("first_factor", {
    first_factor_wrong: [["first_factor_wrong"], ["count_failure_if_checked"], "denied", "reject"],
    password_over: [["password_over", "may_not_change_password"], [], "password_over", "reject"],
    account_refused: [["account_refused"], [], "denied", "reject"],
    refused_after_first_factor: [["user_refused"], [], "denied", "reject"],
    denied_by_policy_after_first_factor: [["policy_denies_now"], [], "denied", "reject"],
    password_to_change: [["password_over"], ["note_first_factor", "keep_old_password"], "ask_new_password", NEW_PASSWORD],
    first_factor_unavailable: [["first_factor_unavailable"], [], "denied", "reject"],
    first_factor_asks_too_often: [["first_factor_challenged", "challenges_used_up"], [], "denied", "reject"],
    first_factor_asks: [["first_factor_challenged"], ["replace_older"], "first_factor_asks", FIRST_FACTOR],
    reply_unreadable: [["reply_unreadable"], [], "denied", "reject"],
    accept_too_large: [["accept_too_large"], [], "denied", "reject"],
    bypassed_after_first_factor: [["policy_bypasses"], ["note_first_factor", "clear_failures"], "accepted", "accept"],
    remembered_after_first_factor: [["device_remembered"], ["note_first_factor", "clear_failures"], "accepted", "accept"],
    first_factor_right: [["always"], ["note_first_factor"], null, "factor"],
  }),
  ...rows(FIRST_FACTOR, {
    first_factor_answered: [["always"], ["check_first_factor"], null, "first_factor"],
  }),
  ...rows(NEW_PASSWORD, {
    new_password_empty: [["answer_empty"], [], "ask_new_password", NEW_PASSWORD],
    new_password_typed: [["always"], ["keep_new_password"], "ask_new_password_again", REPEAT_PASSWORD],
  }),
  ...rows(REPEAT_PASSWORD, {
    new_password_after_factor: [["new_password_repeated", "factor_was_right"], [], null, "password_due"],
    new_password_repeated: [["new_password_repeated"], [], null, "factor"],
    new_passwords_differ: [["always"], ["forget_new_password"], "new_passwords_differ", NEW_PASSWORD],
  }),
  ...rows("password_due", {
    new_password_after_cancel: [["new_password_missing"], ["note_factor"], "ask_new_password", NEW_PASSWORD],
    password_due: [["always"], ["note_factor", "change_password"], null, "changing_password"],
  }),
  ...rows("changing_password", {
    refused_while_changing: [["user_refused"], [], "denied", "reject"],
    denied_by_policy_while_changing: [["policy_denies_now"], [], "denied", "reject"],
    password_changed: [["password_changed"], ["finish_password_change"], "accepted", "accept"],
    new_password_refused: [["new_password_refused"], ["forget_new_password"], "new_password_refused", NEW_PASSWORD],
    password_not_changed: [["always"], [], "password_not_changed", "reject"],
  }),
  ...requiredRows("factor", ""),
  ...rows("factor", {
    relayed_exhausted: [["relayed", "has_device", "pushes_used_up"], [], "denied", "reject"],
    relayed_device: [["relayed", "has_device"], ["push"], null, "pushing"],
    relayed_no_device: [["relayed"], [], "needs_device", "reject"],
    appended_bypass_code: [["appended_bypass_code", "has_bypass_code"], [], null, "code"],
    appended_sent_code: [["appended_code", "kept_passcode_matches"], [], null, "code"],
    appended_code: [["appended_code", "has_totp"], [], null, "code"],
    appended_device_code: [["appended_code", "has_device_codes", "pushes_left"], ["push"], null, "pushing_for_code"],
    appended_other_code: [["appended_code", "passcode_was_kept"], [], null, "code"],
    appended_push: [["appended_push", "has_device", "has_appended_choice", "pushes_left"], ["push"], null, "pushing"],
    appended_sms: [["appended_sms", "verified_sms_number", "has_appended_choice"], ["text"], null, "texting"],
    appended_call: [["appended_call", "verified_voice_number", "has_appended_choice"], ["call"], null, "calling"],
    appended_unusable: [["appended"], [], "denied", "reject"],
    device_exhausted: [["picks_device", "pushes_used_up"], [], "too_many_pushes", MENU],
    device_picked: [["picks_device"], ["push"], null, "pushing"],
    sms_picked: [["picks_sms"], ["text"], null, "texting"],
    voice_picked: [["picks_voice"], ["call"], null, "calling"],
    totp_picked: [["picks_totp"], [], "ask_device_code", CODE],
    required_pairing: [["requires_device"], [], "ask_phrase", PHRASE],
    required_text_which: [["requires_sms", "several_sms_numbers"], [], "which_sms_number", GET_SMS],
    required_text: [["requires_sms", "one_sms_number"], ["text"], null, "texting"],
    required_text_ask: [["requires_sms"], [], "ask_sms_number", GET_SMS],
    required_call_which: [["requires_voice", "several_voice_numbers"], [], "which_voice_number", GET_VOICE],
    required_call: [["requires_voice", "one_voice_number"], ["call"], null, "calling"],
    required_call_ask: [["requires_voice"], [], "ask_voice_number", GET_VOICE],
    nothing_paired: [["always"], [], "menu", MENU],
  }),

  ...requiredRows(MENU, "_at_menu"),
  ...rows(MENU, {
    s_exhausted: [["chose_s", "has_device", "pushes_used_up"], [], "too_many_pushes", MENU],
    s_device: [["chose_s", "has_device"], ["push"], null, "pushing"],
    s_enrol: [["chose_s", "may_enrol"], [], "ask_phrase", PHRASE],
    s_nothing: [["chose_s"], [], "no_device", MENU],
    t_which: [["chose_t", "several_sms_numbers"], [], "which_sms_number", GET_SMS],
    t_known: [["chose_t", "one_sms_number"], ["text"], null, "texting"],
    t_ask: [["chose_t"], [], "ask_sms_number", GET_SMS],
    p_which: [["chose_p", "several_voice_numbers"], [], "which_voice_number", GET_VOICE],
    p_known: [["chose_p", "one_voice_number"], ["call"], null, "calling"],
    p_ask: [["chose_p"], [], "ask_voice_number", GET_VOICE],
    d_totp: [["chose_d", "has_totp"], [], "ask_device_code", CODE],
    d_exhausted: [["chose_d", "has_device_codes", "pushes_used_up"], [], "too_many_pushes", MENU],
    d_device: [["chose_d", "has_device_codes"], ["push"], null, "pushing_for_code"],
    d_recovery: [["chose_d", "has_recovery_codes"], [], "ask_device_code", CODE],
    d_bypass: [["chose_d", "has_bypass_code"], [], "ask_device_code", CODE],
    d_nothing: [["chose_d"], [], "no_device_code", MENU],
    bypass_at_menu: [["answer_is_bypass_code"], [], null, "code"],
    not_a_choice: [["always"], [], "menu", MENU],
  }),

  ...rows("pushing", {
    pushed_and_held: [["push_sent", "is_held"], ["hold"], null, "holding"],
    unsent_and_held: [["is_held_to_the_end"], [], "not_given", "reject"],
    pushed_to_one_of_several: [["push_sent", "several_phones"], [], "approve_on_phone", DEVICE],
    pushed: [["push_sent"], [], "approve_on_device", DEVICE],
    push_unsent_to_one_of_several: [["several_phones"], [], "push_unsent_to_phone", DEVICE],
    push_unsent: [["always"], [], "push_unsent", DEVICE],
  }),
  ...rows("holding", {
    refused_while_held: [["user_refused"], ["drop_request"], "denied", "reject"],
    denied_by_policy_while_held: [["policy_denies_now"], ["drop_request"], "denied", "reject"],
    approved_while_held: [["approved"], ["remember_device", "clear_failures"], "accepted", "accept"],
    denied_while_held: [["denied"], [], "not_given", "reject"],
    held_to_the_end: [["is_held_to_the_end"], ["drop_request"], "not_given", "reject"],
    hold_over_with_several: [["several_phones"], [], "approve_on_phone", DEVICE],
    hold_over: [["always"], [], "approve_on_device", DEVICE],
  }),
  ...rows(DEVICE, {
    other_phone_exhausted: [["answer_is_other_phone", "pushes_used_up"], [], "no_push_to_other_phone", DEVICE],
    other_phone: [["answer_is_other_phone"], ["drop_request", "push"], null, "pushing"],
    typed_code: [["answer_is_code"], [], null, "code"],
    typed_recovery_code: [["answer_is_recovery_code"], [], null, "code"],
    typed_bypass_code: [["answer_is_bypass_code"], [], null, "code"],
    no_request: [["no_request"], ["ask_null"], "not_given", "reject"],
    continued: [["always"], ["ask_approval"], null, "asking"],
  }),
  ...rows("asking", {
    refused_while_asking: [["user_refused"], ["drop_request"], "denied", "reject"],
    denied_by_policy_while_asking: [["policy_denies_now"], ["drop_request"], "denied", "reject"],
    approved: [["approved"], ["remember_device", "clear_failures"], "accepted", "accept"],
    not_approved: [["denied"], [], "not_given", "reject"],
    still_pending_on_one_of_several: [["pending", "several_phones"], [], "still_waiting_for_phone", DEVICE],
    still_pending: [["pending"], [], "still_waiting", DEVICE],
    service_down: [["always"], [], "service_down", DEVICE],
  }),

  ...rows(PHRASE, {
    phrase_empty: [["answer_empty"], [], "menu", MENU],
    phrase_forbidden: [["may_not_enrol"], [], "no_device", MENU],
    phrase_typed: [["always"], ["create_pairing"], null, "pairing"],
  }),
  ...rows("pairing", {
    pairing_created: [["pairing_created"], [], "confirm_pairing", PAIRING],
    phrase_unknown: [["unknown_to_service"], [], "unknown_phrase", PHRASE],
    pairing_failed: [["always"], [], "phrase_not_checked", PHRASE],
  }),
  ...rows(PAIRING, {
    pairing_asked: [["always"], ["ask_pairing"], null, "asking_pairing"],
  }),
  ...rows("asking_pairing", {
    refused_while_pairing: [["user_refused"], [], "denied", "reject"],
    denied_by_policy_while_pairing: [["policy_denies_now"], [], "denied", "reject"],
    pairing_forbidden: [["pairing_enabled", "may_not_enrol"], [], "no_device", MENU],
    paired_exhausted: [["pairing_enabled", "pushes_used_up"], ["store_pairing"], "too_many_pushes", MENU],
    paired: [["pairing_enabled"], ["store_pairing", "push"], null, "pushing"],
    pairing_pending: [["pairing_pending"], [], "pairing_still_pending", PAIRING],
    pairing_denied: [["pairing_denied"], [], "pairing_denied", "reject"],
    pairing_unknown: [["unknown_to_service"], [], "pairing_denied", "reject"],
    pairing_not_checked: [["always"], [], "pairing_not_checked", PAIRING],
  }),

  ...rows(GET_SMS, {
    sms_number_empty: [["answer_empty"], [], "menu", MENU],
    sms_number_typed: [["number_usable"], ["text"], null, "texting_typed"],
    sms_number_refused: [["always"], ["count_refused_send"], "ask_sms_number", GET_SMS],
  }),
  ...rows("texting_typed", {
    typed_text_sent: [["message_sent"], [], "enter_texted_code", "VERIFY_SMS_PHONE_NUMBER"],
    typed_text_refused: [["always"], [], "ask_sms_number", GET_SMS],
  }),
  ...rows("texting", {
    appended_text_sent: [["message_sent", "appended_sms"], ["keep_passcode"], "passcode_sent", "reject"],
    appended_text_refused: [["appended_sms"], [], "denied", "reject"],
    text_sent: [["message_sent"], ["keep_passcode"], "enter_texted_code", "AWAIT_SMS_DELIVERED_PASSCODE"],
    text_refused: [["always"], [], "text_not_sent", MENU],
  }),
  ...rows(GET_VOICE, {
    voice_number_empty: [["answer_empty"], [], "menu", MENU],
    voice_number_malformed: [["no_phone_number"], [], "ask_voice_number", GET_VOICE],
    voice_number_typed: [["number_usable"], ["call"], null, "calling_typed"],
    voice_number_refused: [["always"], ["count_refused_send"], "enter_spoken_code", "VERIFY_VOICE_PHONE_NUMBER"],
  }),
  ...rows("calling_typed", {
    typed_call_placed: [["always"], [], "enter_spoken_code", "VERIFY_VOICE_PHONE_NUMBER"],
  }),
  ...rows("calling", {
    appended_call_placed: [["appended_call"], ["keep_passcode"], "passcode_sent", "reject"],
    call_placed: [["always"], ["keep_passcode"], "enter_spoken_code", "AWAIT_VOICE_DELIVERED_PASSCODE"],
  }),
  ...passcodeRows("VERIFY_SMS_PHONE_NUMBER", "typed_text_code"),
  ...passcodeRows("VERIFY_VOICE_PHONE_NUMBER", "typed_call_code"),
  ...passcodeRows("AWAIT_SMS_DELIVERED_PASSCODE", "text_code"),
  ...passcodeRows("AWAIT_VOICE_DELIVERED_PASSCODE", "call_code"),

  ...rows("pushing_for_code", {
    opened_for_appended: [["push_sent", "appended_code"], [], null, "code"],
    opened_for_code: [["push_sent"], [], "ask_device_code", CODE],
    appended_unopened: [["appended_code"], [], "denied", "reject"],
    not_opened: [["always"], [], "code_not_possible", MENU],
  }),
  ...rows(CODE, {
    code_typed: [["always"], [], null, "code"],
  }),
  ...rows("code", {
    refused_at_code: [["user_refused"], ["drop_request"], "denied", "reject"],
    denied_by_policy_at_code: [["policy_denies_now"], ["drop_request"], "denied", "reject"],
    sent_code_right: [["kept_passcode_matches"], ["take_kept_passcode", "remember_device", "clear_failures"], "accepted", "accept"],
    totp_right: [["totp_matches"], ["take_totp_step", "remember_device", "clear_failures", "drop_request"], "accepted", "accept"],
    recovery_right: [["recovery_code_matches"], ["take_recovery_code", "clear_failures", "drop_request"], "accepted", "accept"],
    bypass_right: [["bypass_code_matches"], ["take_bypass_code", "clear_failures", "drop_request"], "accepted", "accept"],
    code_for_service: [["service_may_know_code"], ["ask_otp"], null, "asking_otp"],
    code_used: [["code_was_used"], ["count_failure_if_checked", "drop_request"], "mismatch", "reject"],
    code_before_last_step: [["last_step_ahead"], ["count_failure_if_checked", "drop_request"], "mismatch", "reject"],
    code_of_fast_clock: [["clock_ahead"], ["count_failure_if_checked", "drop_request"], "mismatch", "reject"],
    code_of_slow_clock: [["clock_behind"], ["count_failure_if_checked", "drop_request"], "mismatch", "reject"],
    code_wrong: [["always"], ["count_failure_if_checked", "drop_request"], "mismatch", "reject"],
  }),
  ...rows("asking_otp", {
    refused_while_asking_otp: [["user_refused"], ["drop_request"], "denied", "reject"],
    denied_by_policy_while_asking_otp: [["policy_denies_now"], ["drop_request"], "denied", "reject"],
    otp_right: [["approved"], ["remember_device", "clear_failures"], "accepted", "accept"],
    otp_wrong: [["answered"], ["count_failure", "drop_request"], "mismatch", "reject"],
    otp_not_checked: [["always"], [], "code_not_checked", CODE],
  }),

  ...rows("gone", {
    gone_device: [["state_was_device"], ["ask_null"], "not_given", "reject"],
    gone_elsewhere: [["always"], [], "gone", "reject"],
  }),
];

/** A row with its conditions. They are looked up once, because `step()` runs for each request. */
interface Ready {
  readonly row: FlowRow;
  readonly holds: readonly ((facts: Facts) => boolean)[];
}

const ROWS = new Map<FlowPlace, readonly Ready[]>();
for (const place of new Set(FLOW.map((row) => row.from))) {
  if (place === "*") continue;
  const ofPlace = FLOW.filter((row) => row.from === place || (row.from === "*" && isStep(place)));
  ROWS.set(
    place,
    ofPlace.map((row) => ({ row, holds: row.when.map((condition) => CONDITIONS[condition].holds) })),
  );
}
const NO_ROWS: readonly Ready[] = [];

const UPSTREAM = new Set(FLOW.filter(({ then }) => then.some((effect) => EFFECTS[effect].upstream)));

/** The row in place of one that accepts, while the password of the login is to be changed. */
const DIVERTED = new Map<FlowRow, FlowRow>(
  FLOW.filter(({ to, from }) => to === "accept" && from !== "changing_password")
    .map((row) => [row, { ...row, prompt: null, to: "password_due" }]),
);

/** What happened stays recorded when a login is refused after all. */
const KEPT_EFFECTS: ReadonlySet<Effect> = new Set([
  "take_kept_passcode",
  "take_totp_step",
  "take_recovery_code",
  "take_bypass_code",
  "finish_password_change",
  "drop_request",
]);

/** A row that accepts, when no Access-Accept can be sent. */
function refusedFor(row: FlowRow, fault: AcceptFault): FlowRow {
  return {
    ...row,
    name: fault,
    then: row.then.filter((effect) => KEPT_EFFECTS.has(effect)),
    prompt: "denied",
    to: "reject",
  };
}

/** What follows instead of a row that accepts, if anything is in the way. */
function acceptedBy(row: FlowRow, facts: Facts): FlowRow {
  const diverted = facts.passwordDue ? DIVERTED.get(row) : undefined;
  if (diverted !== undefined) return diverted;
  return facts.acceptFault === null ? row : refusedFor(row, facts.acceptFault);
}

/**
 * The first row from `place` whose conditions are all true. While a password is to be changed, a row that accepts leads to `password_due` instead; while
 * no Access-Accept can be sent, it rejects.
 *
 * @throws Error if no row applies. This cannot happen, because each place ends in `always`, which a test checks.
 */
export function step(place: FlowPlace, facts: Facts): FlowRow {
  for (const { row, holds } of ROWS.get(place) ?? NO_ROWS) {
    let all = true;
    for (let i = 0; all && i < holds.length; i++) all = (holds[i] as (facts: Facts) => boolean)(facts);
    if (all) return row.to === "accept" ? acceptedBy(row, facts) : row;
  }
  throw new Error(`Cannot choose a row at "${place}": none holds`);
}

/** Whether one of a row's effects calls another service, so that the user waits. */
export function callsUpstream(row: FlowRow): boolean {
  return UPSTREAM.has(row);
}

/** The rows that are tried at a place, in order. */
export function rowsFrom(place: FlowPlace): readonly FlowRow[] {
  return (ROWS.get(place) ?? NO_ROWS).map(({ row }) => row);
}

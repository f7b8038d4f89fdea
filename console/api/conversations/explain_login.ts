// Explains why a login was refused or a packet dropped: a reason code with values and evidence. The page has the texts of each code. A
// test checks that each row of the flow table and each drop reason has a code.

import type { AccountRefusal } from "../../../platform/account_refusals.ts";
import { clockAheadS } from "../../../radius/tokens/token_codes.ts";
import { type Denial, DENIAL_CAUSES } from "../../../radius/conversation/login_record.ts";
import type { ConversationMoment, ConversationView, DropTally, StrayPacket } from "../../../radius/ports.ts";

/** Values for the text. */
type ExplanationValues = Readonly<Record<string, string | number>>;

/** One step that led to the result. */
interface Evidence {
  readonly atMs: number;
  /** A row of the flow table. */
  readonly row: string;
}

export interface Explanation {
  /** Names the sentence `why_<code>` and the fix `fix_<code>`. */
  readonly code: ReasonCode;
  readonly values: ExplanationValues;
  readonly evidence: readonly Evidence[];
}

/** The reason for each row that ends a login without an Accept. */
export const ROW_REASONS = {
  refused: "user_refused",
  refused_meanwhile: "user_refused",
  refused_after_first_factor: "user_refused",
  refused_while_held: "user_refused",
  refused_while_asking: "user_refused",
  refused_while_pairing: "user_refused",
  refused_at_code: "user_refused",
  refused_while_asking_otp: "user_refused",
  denied_by_policy: "policy_denied",
  denied_by_policy_meanwhile: "policy_denied",
  denied_by_policy_after_first_factor: "policy_denied",
  denied_by_policy_while_held: "policy_denied",
  denied_by_policy_while_asking: "policy_denied",
  denied_by_policy_while_pairing: "policy_denied",
  denied_by_policy_at_code: "policy_denied",
  denied_by_policy_while_asking_otp: "policy_denied",
  overdue_without_password: "enrolment_overdue",
  overdue: "enrolment_overdue",
  overdue_at_menu: "enrolment_overdue",
  needs_device: "policy_factor_missing",
  needs_sms: "policy_factor_missing",
  needs_voice: "policy_factor_missing",
  needs_totp: "policy_factor_missing",
  needs_device_at_menu: "policy_factor_missing",
  needs_sms_at_menu: "policy_factor_missing",
  needs_voice_at_menu: "policy_factor_missing",
  needs_totp_at_menu: "policy_factor_missing",
  first_factor_wrong: "password_wrong",
  password_over: "password_expired",
  account_refused: "account_refused",
  first_factor_unavailable: "password_not_checked",
  first_factor_asks_too_often: "first_factor_asks_too_often",
  reply_unreadable: "reply_unreadable",
  accept_too_large: "accept_too_large",
  cancelled_before_first_factor: "started_over",
  refused_while_changing: "user_refused",
  denied_by_policy_while_changing: "policy_denied",
  password_not_changed: "password_not_changed",
  relayed_exhausted: "pushes_used_up",
  relayed_no_device: "no_prompt_factor",
  appended_unusable: "appended_unusable",
  appended_unopened: "push_not_sent",
  appended_text_sent: "passcode_sent",
  appended_call_placed: "passcode_sent",
  appended_text_refused: "passcode_not_sent",
  unsent_and_held: "push_not_sent",
  no_request: "no_request",
  denied_while_held: "phone_denied",
  not_approved: "phone_denied",
  denied_while_waiting: "phone_denied",
  pairing_denied_while_waiting: "pairing_denied",
  held_to_the_end: "phone_silent",
  pairing_denied: "pairing_denied",
  pairing_unknown: "pairing_unknown",
  typed_text_code_wrong: "passcode_wrong",
  typed_call_code_wrong: "passcode_wrong",
  text_code_wrong: "passcode_wrong",
  call_code_wrong: "passcode_wrong",
  code_used: "code_used",
  code_before_last_step: "last_step_ahead",
  code_of_fast_clock: "clock_ahead",
  code_of_slow_clock: "clock_behind",
  code_wrong: "passcode_wrong",
  otp_wrong: "passcode_wrong",
  gone_device: "login_gone",
  gone_elsewhere: "login_gone",
  gone: "login_gone",
  expired: "expired",
  superseded: "superseded",
  cancelled: "started_over",
  user_left: "user_left",
  user_renamed: "user_renamed",
  not_me: "not_me",
} as const;

/** Reasons of dropped datagrams, and of requests that are refused before a login. */
export const STRAY_REASONS = [
  "source_port_zero",
  "unknown_client",
  "other_nas",
  "too_short",
  "too_long",
  "truncated",
  "code_not_served",
  "wrong_port",
  "malformed_attribute",
  "wrong_message_authenticator",
  "wrong_request_authenticator",
  "missing_message_authenticator",
  "unsigned_proxy_state",
  "unsigned_status_server",
  "unsigned_eap",
  "incomplete_accounting",
  "rate_limited",
  "store_not_answering",
  "duplicate_in_progress",
  "overtaken",
  "too_busy",
  "first_factor_busy",
  "first_factor_silent",
  "store_failed",
  "no_user_name",
  "refused_user_name",
  "several_users",
  "two_states",
  "two_passwords",
  "bad_password_length",
  "garbled_password",
  "chap",
  "unsigned_chap",
  "malformed_chap",
  "ms_chap_change",
  "mixed_versions",
  "eap",
  "malformed_eap",
  "eap_names_differ",
  "eap_outer_identity",
  "eap_user_unnamed",
  "relay_over",
  "relay_prompted",
  "eap_gtc_refused",
  "eap_unasked",
  "no_login",
  "sshd_password",
  "unknown_state",
] as const;

/** The reason for a refused user, by the result of the directory, of the limits or of the LDAP server. */
const REFUSED_FOR = {
  inactive: "user_inactive",
  deleted: "user_deleted",
  unknown: "user_unknown",
  locked: "user_locked",
  password_expired: "password_expired",
  password_must_change: "password_must_change",
  account_disabled: "account_disabled",
  account_expired: "account_expired",
  account_locked: "account_locked",
  sign_in_hours: "sign_in_hours",
  sign_in_place: "sign_in_place",
} as const satisfies Record<AccountRefusal, string> & Record<string, string>;

/** General reasons that the result of the directory makes exact. */
const REFUSALS: ReadonlySet<ReasonCode> = new Set(["user_refused", "password_expired", "account_refused"]);

export type ReasonCode =
  | typeof ROW_REASONS[keyof typeof ROW_REASONS]
  | typeof DENIAL_CAUSES[keyof typeof DENIAL_CAUSES]["reason"]
  | typeof STRAY_REASONS[number]
  | typeof REFUSED_FOR[keyof typeof REFUSED_FOR]
  | "other";

/** All codes, for the texts and their tests. */
export const REASON_CODES: readonly ReasonCode[] = [
  ...new Set<ReasonCode>([
    ...Object.values(ROW_REASONS),
    ...Object.values(DENIAL_CAUSES).map(({ reason }) => reason),
    ...STRAY_REASONS,
    ...Object.values(REFUSED_FOR),
    "other",
  ]),
];

const rows = new Map<string, ReasonCode>(Object.entries(ROW_REASONS));
const strays = new Map<string, ReasonCode>(STRAY_REASONS.map((reason) => [reason, reason]));
const refusals = new Map<string, ReasonCode>(Object.entries(REFUSED_FOR));

/**
 * The reason for the row that ended a login; `other` for a row that this version does not know.
 *
 * @param options.denial why the push was not approved. Without it, a denied push gets the general reason.
 */
export function reasonOfRow(
  row: string,
  { refusedFor = null, denial }: { refusedFor?: string | null; denial?: Denial | undefined } = {},
): ReasonCode {
  const reason = rows.get(row) ?? "other";
  if (denial !== undefined && (DENIED_PUSHES.has(reason) || isRequestOver(row, denial))) {
    return DENIAL_CAUSES[denial.cause].reason;
  }
  if (!REFUSALS.has(reason) || refusedFor === null) return reason;
  return refusals.get(refusedFor) ?? reason;
}

/** The general reasons of logins that end because their push was not approved. */
const DENIED_PUSHES: ReadonlySet<ReasonCode> = new Set(["phone_denied", "expired"]);

/** Whether a passcode was refused because its request was over, not because the passcode was wrong. */
function isRequestOver(row: string, { cause }: Denial): boolean {
  return row === "otp_wrong" && cause !== "wrong_passcode" && cause !== "service";
}

/** The reason for a datagram that was dropped or refused. */
export function reasonOfStray(reason: string): ReasonCode {
  return strays.get(reason) ?? rows.get(reason) ?? "other";
}

/** `null` for an open or accepted login. */
export function explainLogin(
  login: Pick<ConversationView, "client" | "user" | "startedMs" | "passwordRight" | "policy"> & {
    readonly outcome: string | null;
    readonly moments: readonly ConversationMoment[];
  },
  { refusedFor = null, denial }: { refusedFor?: string | null; denial?: Denial | undefined } = {},
): Explanation | null {
  const last = login.moments.at(-1);
  if (login.outcome === null || login.outcome === "accepted" || last === undefined) return null;
  const aheadS = clockAheadS(refusedFor);
  const asked = login.moments.findLast(({ row }) => ASKED.has(row));
  return {
    code: reasonOfRow(last.row, { refusedFor, denial }),
    values: {
      user: login.user,
      client: login.client,
      seconds: secondsBetween(asked?.atMs ?? login.startedMs, last.atMs),
      passwordRight: login.passwordRight === true ? 1 : 0,
      ...(aheadS === null ? {} : { minutes: Math.round(Math.abs(aheadS) / 6) / 10 }),
      ...(login.policy === undefined ? {} : { policy: login.policy }),
      ...(denial?.by === undefined ? {} : { by: denial.by }),
    },
    evidence: login.moments.map(({ atMs, row }) => ({ atMs, row })),
  };
}

/** Rows after which the gateway waits for the user. The waiting time starts here. */
const ASKED = new Set([
  "pushed",
  "pushed_and_held",
  "device_picked",
  "appended_push",
  "text_sent",
  "typed_text_sent",
  "call_placed",
  "typed_call_placed",
  "opened_for_code",
  "totp_picked",
  "d_totp",
]);

function secondsBetween(fromMs: number, toMs: number): number {
  return Math.round(Math.max(0, toMs - fromMs) / 100) / 10;
}

/** @param tally the count of the same reason from the same source, if known. */
export function explainStray(stray: StrayPacket, tally: DropTally | undefined): Explanation {
  return {
    code: reasonOfStray(stray.reason),
    values: {
      source: stray.source,
      client: stray.client ?? "",
      ...(stray.rule === undefined ? {} : stray.rule),
      count: Math.max(tally?.count ?? 0, stray.copies),
      sinceMs: Math.min(tally?.firstMs ?? stray.atMs, stray.atMs),
    },
    evidence: [],
  };
}

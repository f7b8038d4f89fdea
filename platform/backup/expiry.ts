// When entries expire. Deno KV expires them and does not say when, so a backup takes the time from the entry itself: from a field, from
// the time in its key, or, if neither has it, from the longest lifetime of its table, counted from the backup.

import { DAY_MS, HOUR_MS, MINUTE_MS } from "../durations.ts";
import { DELETED_USER_DAYS } from "../user_record.ts";
import { auditIdMs } from "../log_blocks.ts";
import { MAX_STEP_LINE_MS } from "../journal.ts";

/** What the settings say about lifetimes. */
export interface LifetimeSettings {
  readonly auditRetentionMs: number;
  readonly conversationTtlMs: number;
}

/** The lifetimes that the settings define at the moment. */
export function lifetimesOf(
  { console, radius }: { console: { auditRetentionMs: number }; radius: { conversationTtlMs: number } },
): LifetimeSettings {
  return {
    get auditRetentionMs() {
      return console.auditRetentionMs;
    },
    get conversationTtlMs() {
      return radius.conversationTtlMs;
    },
  };
}

interface Entry {
  readonly key: Deno.KvKey;
  readonly value: unknown;
}

/** The moment an entry expires (milliseconds since the epoch), or `null` if it does not. */
type ExpiryRule = (
  entry: Entry,
  now: { readonly nowMs: number; readonly settings: LifetimeSettings },
) => number | null;

/** A field of the value with a time in milliseconds, and what is added to it. */
function field(name: string, plusMs = 0): ExpiryRule {
  return ({ value }) => {
    const found = memberOf(value, name);
    return typeof found === "number" ? found + plusMs : null;
  };
}

/** The longest lifetime of a table, for entries whose remaining lifetime cannot be read. */
function atMost(lifetimeMs: number): ExpiryRule {
  return (_entry, { nowMs }) => nowMs + lifetimeMs;
}

/** The key of a block has a part after the id. */
const afterAudit: ExpiryRule = ({ key }, { settings }) =>
  auditIdMs(String(key[0] === "audit" ? key[1] : key.at(-1))) + settings.auditRetentionMs;
/** The id of a deleted user begins with the time of the deletion in 1/1024 ms, in base 36. */
const afterTrash: ExpiryRule = ({ key }) => {
  const deletedMs = Number.parseInt(String(key[2]), 36) / 1024;
  return Number.isFinite(deletedMs) ? deletedMs + DELETED_USER_DAYS * DAY_MS : null;
};
/** An accepted match does not expire. Others expire 90 days after the latest request, or after the decision. */
const afterProposal: ExpiryRule = ({ value }) => {
  if (memberOf(value, "state") === "accepted") return null;
  const [lastMs, decidedMs] = ["lastMs", "decidedMs"].map((name) => Number(memberOf(value, name) ?? 0));
  return Math.max(lastMs ?? 0, decidedMs ?? 0) + 90 * DAY_MS;
};
/** A conversation contains its deadline, which the gateway checks. */
const afterLogin: ExpiryRule = (_entry, { nowMs, settings }) =>
  nowMs + settings.conversationTtlMs + MINUTE_MS;
/** The journal contains conversations, and time steps of authenticator apps. */
const afterJournal: ExpiryRule = (entry, now) =>
  Math.max(afterLogin(entry, now) ?? 0, now.nowMs + MAX_STEP_LINE_MS);

/** By the first part of the key, or by the first two. An entry of a table that is not listed does not expire. */
const RULES: ReadonlyMap<string, ExpiryRule> = new Map<string, ExpiryRule>([
  ["accounting", atMost(30 * DAY_MS)],
  ["setting_undo", atMost(30 * DAY_MS)],
  ["alert", field("lastMs", 90 * DAY_MS)],
  ["alert_ack", field("atMs", 90 * DAY_MS)],
  ["alert_delivery", field("atMs", 90 * DAY_MS)],
  ["alert_open", atMost(90 * DAY_MS)],
  ["alert_pending", field("queuedMs", 90 * DAY_MS)],
  ["audit", afterAudit],
  ["audit_by", afterAudit],
  ["audit_names", afterAudit],
  ["bypass_code", field("expiresMs")],
  ["bypass_use", field("expiresMs")],
  ["chart/minute", ({ key }) => Number(key[2]) + MINUTE_MS + 48 * HOUR_MS],
  ["chart/hour", ({ key }) => Number(key[2]) + HOUR_MS + 90 * DAY_MS],
  ["console_challenge_used", atMost(10 * MINUTE_MS)],
  ["console_invitation", field("deadlineMs")],
  ["console_notice", field("atMs", 90 * DAY_MS)],
  ["console_session", field("deadlineMs")],
  ["console_setup", field("deadlineMs")],
  ["console_token", field("expiresMs")],
  ["console_totp", atMost(15 * MINUTE_MS)],
  ["conversation", afterLogin],
  ["embedded/device", field("seenMs", 400 * DAY_MS)],
  ["embedded/invitation", field("deadlineMs")],
  ["embedded/outbox", field("deadlineMs")],
  ["embedded/phone", field("deadlineMs")],
  ["embedded/phrase", field("deadlineMs")],
  [
    "embedded/pairing",
    (entry, now) => isEnabled(entry.value) ? null : field("modifiedMs", DAY_MS)(entry, now),
  ],
  ["embedded/request", field("deadlineMs", 10 * MINUTE_MS)],
  ["enrolment_campaign", field("createdMs", 180 * DAY_MS)],
  ["enrolment_result", field("atMs", 180 * DAY_MS)],
  ["enrolment_users", atMost(180 * DAY_MS)],
  ["remembered_device", field("untilMs")],
  ["remembered_epoch", atMost(90 * DAY_MS)],
  ["history", atMost(90 * DAY_MS)],
  ["journal", afterJournal],
  ["last_sign_in", field("atMs", 400 * DAY_MS)],
  ["last_sign_in_mark", atMost(7 * DAY_MS)],
  ["limit/failures", ({ value }, { nowMs }) => isHardLocked(value) ? null : nowMs + 30 * DAY_MS],
  ["limit", atMost(30 * DAY_MS)],
  // 7 days in the queue, and 30 days as failed.
  ["mail", atMost(37 * DAY_MS)],
  ["me_link", field("deadlineMs")],
  ["me_link_of", atMost(DAY_MS)],
  ["me_session", field("deadlineMs")],
  ["me_session_of", atMost(HOUR_MS)],
  ["me_totp", atMost(15 * MINUTE_MS)],
  ["report_enrolment", field("atMs", 7 * DAY_MS)],
  ["request_used", atMost(DAY_MS)],
  ["scim_adoption", afterProposal],
  ["scim_connection_removed", field("untilMs")],
  ["scim_deletion", ({ key }) => (Number(key[2]) + 25) * HOUR_MS],
  ["scim_request", atMost(30 * DAY_MS)],
  // A secret without an end does not expire.
  ["scim_secret", field("expiresMs", 30 * DAY_MS)],
  ["sent_passcode", field("expiresMs")],
  ["session_disconnect", atMost(30 * DAY_MS)],
  ["session_report", field("untilMs")],
  ["shadow_day", ({ key }) => (Number(key[2]) + 1) * DAY_MS + 90 * DAY_MS],
  ["shadow_user", field("lastMs", 90 * DAY_MS)],
  ["shared_tuple", field("untilMs")],
  ["trash", field("deletedMs", DELETED_USER_DAYS * DAY_MS)],
  ["trash_joins", field("atMs", DAY_MS)],
  ["trash_part", afterTrash],
  ["unsigned_login", ({ value }) => typeof value === "number" ? value + 7 * DAY_MS : null],
  ["user_notice", field("atMs", 30 * DAY_MS)],
]);

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
const isHardLocked = (value: unknown) => memberOf(value, "hardLocked") === true;
const isEnabled = (value: unknown) => memberOf(value, "state") === "enabled";

/** When an entry expires, or `null` if it does not. Never before the store itself would remove it. */
export function expiryOf(
  entry: Entry,
  now: { readonly nowMs: number; readonly settings: LifetimeSettings },
): number | null {
  const [table, second] = entry.key.map(String);
  const rule = RULES.get(`${table}/${second}`) ?? RULES.get(String(table));
  return rule?.(entry, now) ?? null;
}

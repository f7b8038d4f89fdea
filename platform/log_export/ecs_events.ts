// How the actions of the audit log are classified in the Elastic Common Schema (ECS 8.17): category, type and outcome. An action without a row
// has the classification of its first word and of its verb, so that a new action is never without one.

import { AUDIT_ACTIONS } from "../audit_actions.ts";
import type { RecordKind } from "./destination_choices.ts";

/** Allowed values of `event.category` that are used. */
type Category = "authentication" | "configuration" | "iam" | "network" | "session";
/** Allowed values of `event.type` that are used. */
type EventType =
  | "access"
  | "admin"
  | "change"
  | "creation"
  | "deletion"
  | "denied"
  | "end"
  | "group"
  | "info"
  | "start"
  | "user";

export interface EcsEvent {
  readonly kind: "event" | "alert";
  readonly category: readonly Category[];
  readonly type: readonly EventType[];
  readonly outcome: "success" | "failure" | "unknown";
}

/** The category of an action by its first word, and the type that belongs to it. */
const SUBJECTS: Readonly<
  Record<string, { readonly category: readonly Category[]; readonly about?: EventType }>
> = {
  administrator: { category: ["iam"], about: "admin" },
  approval: { category: ["authentication"] },
  bypass: { category: ["iam"], about: "user" },
  caller: { category: ["iam"], about: "user" },
  enrolment: { category: ["iam"], about: "user" },
  factor: { category: ["iam"], about: "user" },
  group: { category: ["iam"], about: "group" },
  hardware_token: { category: ["iam"], about: "user" },
  invitation: { category: ["iam"], about: "user" },
  login: { category: ["authentication"] },
  packets: { category: ["network"] },
  pairing: { category: ["iam"], about: "user" },
  preference: { category: ["iam"], about: "user" },
  recovery_codes: { category: ["iam"], about: "user" },
  session: { category: ["session"] },
  token: { category: ["iam"], about: "admin" },
  user: { category: ["iam"], about: "user" },
  vpn_session: { category: ["session"] },
};

/** The type of an action by a part of its verb. */
const VERBS: readonly (readonly [RegExp, EventType])[] = [
  [/^(?:add|create|created|invite|issue|issued|import|make|.*_add)$/, "creation"],
  [
    /^(?:delete|deleted|purged|remove|revoke|delete_data|forget|forget_devices|.*_remove|.*_withdraw)$/,
    "deletion",
  ],
  [/^(?:export|reveal|me_link|me_entered)$/, "access"],
  [/^(?:end|end_all|run_out|replace)$/, "end"],
  [
    /^(?:acknowledge|approve|deny|cancel|test|retry|retried|refresh|refreshed|skip|take_up|dismiss|confirm)$/,
    "info",
  ],
];

/** Actions that differ from the rule. */
const EVENTS: Readonly<Record<string, Partial<EcsEvent>>> = {
  "administrator.refused": { category: ["authentication"], type: ["start"], outcome: "failure" },
  "administrator.sign_in": { category: ["authentication", "session"], type: ["start"] },
  "administrator.sign_out": { category: ["session"], type: ["end"] },
  "alert.delivery_failed": { type: ["info"], outcome: "failure" },
  "alert.ended": { type: ["info"] },
  "alert.opened": { type: ["info"] },
  "approval.deny": { outcome: "failure" },
  "connection.deletions_stopped": { kind: "alert", outcome: "failure" },
  "log_export.skipped": { kind: "alert", type: ["info"], outcome: "failure" },
  "login.accepted": { type: ["start"] },
  "login.cancelled": { type: ["start"], outcome: "unknown" },
  "login.expired": { type: ["start"], outcome: "failure" },
  "login.joined": { type: ["info"], outcome: "unknown" },
  "login.rejected": { type: ["start"], outcome: "failure" },
  "login.superseded": { type: ["start"], outcome: "unknown" },
  "mail.failed": { type: ["info"], outcome: "failure" },
  "packets.dropped": { type: ["denied"], outcome: "failure" },
  "pairing.deny": { outcome: "failure" },
  "target.refresh_failed": { type: ["info"], outcome: "failure" },
  "user.locked": { kind: "alert", type: ["user", "change"] },
  "user.not_me": { kind: "alert", category: ["authentication"], type: ["info"] },
  "vpn_session.disconnect": { type: ["info"] },
  "vpn_session.disconnect_failed": { kind: "alert", type: ["info"], outcome: "failure" },
  "vpn_session.disconnected": { type: ["end"] },
};

/** The classification of an action, of this version or of another one. */
export function ecsEventOf(action: string): EcsEvent {
  const [subject = "", verb = ""] = action.split(".", 2);
  const { category = ["configuration"], about } = Object.hasOwn(SUBJECTS, subject)
    ? SUBJECTS[subject] ?? {}
    : {};
  const type = VERBS.find(([pattern]) => pattern.test(verb))?.[1] ??
    (category.includes("authentication") ? "info" : "change");
  const row = Object.hasOwn(EVENTS, action) ? EVENTS[action] : {};
  return {
    kind: kindOf(action) === "alerts" ? "alert" : "event",
    category: category ?? ["configuration"],
    type: about === undefined ? [type] : [about, type],
    outcome: "success",
    ...row,
  };
}

/** The kind of a record by its action. */
export function kindOf(action: string): RecordKind {
  if (action.startsWith("login.")) return "logins";
  if (action.startsWith("alert.") && !action.startsWith("alert.receiver_")) return "alerts";
  return action === "packets.dropped" ? "drops" : "audit";
}

/** The classification of every action, for the docs. */
export function ecsEventRows(): { readonly action: string; readonly event: EcsEvent }[] {
  return Object.keys(AUDIT_ACTIONS).map((action) => ({ action, event: ecsEventOf(action) }));
}

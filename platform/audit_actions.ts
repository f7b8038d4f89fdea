// The actions of the audit log: one row for each kind of event. The browser reads this table too.
//
// To add an action: add a row here, and its label to both catalogues in console/web/i18n: `audit.event_<action>` ("." becomes "_").
// Then add `auditEntry({ action, actor, source, object, … })` to the transaction of the change.

/** The kind of an event's object, which is written `kind:name`, such as `user:ada`. */
export type AuditObjectKind =
  | "administrator"
  | "alert"
  | "alert-receiver"
  | "approval"
  | "audit"
  | "campaign"
  | "client"
  | "connection"
  | "credential"
  | "first-step"
  | "group"
  | "mail"
  | "log-export"
  | "hardware-token"
  | "message"
  | "notice"
  | "policy"
  | "setting"
  | "sign-in"
  | "target"
  | "token"
  | "user";

interface ActionRow {
  /** The usual kind of the event's object. */
  readonly about: AuditObjectKind;
}

/** An imperative names an action of a person or a program. A participle names an event of the gateway. */
export const AUDIT_ACTIONS = {
  "administrator.change": { about: "administrator" },
  "administrator.create": { about: "administrator" },
  "administrator.invite": { about: "administrator" },
  "administrator.invite_withdraw": { about: "administrator" },
  "administrator.passkey_add": { about: "administrator" },
  "administrator.passkey_remove": { about: "administrator" },
  "administrator.recovery_codes": { about: "administrator" },
  "administrator.refused": { about: "administrator" },
  "administrator.remove": { about: "administrator" },
  "administrator.renew": { about: "administrator" },
  "administrator.renew_link": { about: "administrator" },
  "administrator.sign_in": { about: "administrator" },
  "administrator.sign_out": { about: "administrator" },
  "administrator.totp_add": { about: "administrator" },
  "administrator.totp_remove": { about: "administrator" },
  "administrator.unlock": { about: "administrator" },
  "alert.acknowledge": { about: "alert" },
  "alert.delivery_failed": { about: "alert-receiver" },
  "alert.ended": { about: "alert" },
  "alert.opened": { about: "alert" },
  "alert.receiver_change": { about: "alert-receiver" },
  "alert.receiver_create": { about: "alert-receiver" },
  "alert.receiver_delete": { about: "alert-receiver" },
  "alert.receiver_pause": { about: "alert-receiver" },
  "alert.receiver_resume": { about: "alert-receiver" },
  "alert.receiver_secret": { about: "alert-receiver" },
  "alert.receiver_test": { about: "alert-receiver" },
  "approval.approve": { about: "user" },
  "approval.cancel": { about: "user" },
  "approval.deny": { about: "user" },
  "audit.export": { about: "audit" },
  "bypass.issue": { about: "user" },
  "bypass.revoke": { about: "user" },
  "bypass.use": { about: "user" },
  "caller.answered": { about: "user" },
  "caller.verify": { about: "user" },
  "client.change": { about: "client" },
  "client.create": { about: "client" },
  "client.end_overlap": { about: "client" },
  "client.forget": { about: "client" },
  "client.remove": { about: "client" },
  "client.rotate": { about: "client" },
  "connection.change": { about: "connection" },
  "connection.create": { about: "connection" },
  "connection.deletions_stopped": { about: "connection" },
  "connection.match_accept": { about: "connection" },
  "connection.match_refuse": { about: "connection" },
  "connection.remove": { about: "connection" },
  "connection.secret_add": { about: "connection" },
  "connection.secret_revoke": { about: "connection" },
  "enrolment.cancel": { about: "campaign" },
  "enrolment.change_deadline": { about: "user" },
  "enrolment.remind": { about: "user" },
  "enrolment.start": { about: "campaign" },
  "factor.confirm": { about: "user" },
  "filter.remove": { about: "administrator" },
  "filter.save": { about: "administrator" },
  "first_step.skip": { about: "first-step" },
  "first_step.take_up": { about: "first-step" },
  "group.created": { about: "group" },
  "group.deleted": { about: "group" },
  "group.export": { about: "group" },
  "group.members_changed": { about: "group" },
  "group.refreshed": { about: "group" },
  "group.renamed": { about: "group" },
  "group.replaced": { about: "group" },
  "group.replies": { about: "group" },
  "user.replies": { about: "user" },
  "hardware_token.assign": { about: "user" },
  "hardware_token.disable": { about: "user" },
  "hardware_token.enable": { about: "user" },
  "hardware_token.import": { about: "target" },
  "hardware_token.remove": { about: "hardware-token" },
  "hardware_token.resynchronize": { about: "user" },
  "hardware_token.test": { about: "user" },
  "hardware_token.unassign": { about: "user" },
  "invitation.make": { about: "user" },
  "log_export.change": { about: "log-export" },
  "log_export.create": { about: "log-export" },
  "log_export.pause": { about: "log-export" },
  "log_export.remove": { about: "log-export" },
  "log_export.resume": { about: "log-export" },
  "log_export.secret": { about: "log-export" },
  "log_export.skipped": { about: "log-export" },
  "log_export.test": { about: "log-export" },
  "login.accepted": { about: "user" },
  "login.cancelled": { about: "user" },
  "login.expired": { about: "user" },
  "login.joined": { about: "user" },
  "login.rejected": { about: "user" },
  "login.superseded": { about: "user" },
  "mail.failed": { about: "mail" },
  "mail.remove": { about: "mail" },
  "mail.send_again": { about: "mail" },
  "mail.sent": { about: "mail" },
  "mail.template_change": { about: "mail" },
  "mail.template_reset": { about: "mail" },
  "mail.test": { about: "mail" },
  "notice.dismiss": { about: "notice" },
  "outbox.retried": { about: "target" },
  "outbox.retry": { about: "target" },
  "outbox.reveal": { about: "message" },
  "packets.dropped": { about: "client" },
  "pairing.approve": { about: "user" },
  "pairing.deny": { about: "user" },
  "pairing.add": { about: "user" },
  "pairing.passcode_seed": { about: "user" },
  "pairing.rename": { about: "user" },
  "pairing.revoke": { about: "user" },
  "password.change": { about: "user" },
  "policy.change": { about: "policy" },
  "policy.create": { about: "policy" },
  "policy.order": { about: "policy" },
  "policy.remove": { about: "policy" },
  "preference.set": { about: "user" },
  "recovery_codes.make": { about: "user" },
  "recovery_codes.remove": { about: "user" },
  "scim_credential.add": { about: "credential" },
  "scim_credential.revoke": { about: "credential" },
  "session.end": { about: "administrator" },
  "session.end_all": { about: "administrator" },
  "session.replace": { about: "administrator" },
  "session.run_out": { about: "administrator" },
  "settings.change": { about: "setting" },
  "settings.undo": { about: "setting" },
  "target.change": { about: "target" },
  "target.create": { about: "target" },
  "target.delete_data": { about: "target" },
  "target.export": { about: "target" },
  "target.refresh": { about: "target" },
  "target.refresh_failed": { about: "target" },
  "target.refreshed": { about: "target" },
  "target.remove": { about: "target" },
  "token.create": { about: "token" },
  "token.revoke": { about: "token" },
  "user.created": { about: "user" },
  "user.deleted": { about: "user" },
  "user.export": { about: "user" },
  "user.lost_phone": { about: "user" },
  "user.locked": { about: "user" },
  "user.me_entered": { about: "user" },
  "user.me_link": { about: "user" },
  "user.not_me": { about: "user" },
  "user.purged": { about: "user" },
  "user.refresh": { about: "user" },
  "user.refreshed": { about: "user" },
  "user.replaced": { about: "user" },
  "user.renamed": { about: "user" },
  "user.restored": { about: "user" },
  "user.retry": { about: "user" },
  "user.reset_limits": { about: "user" },
  "user.forget_devices": { about: "user" },
  "user.unlock": { about: "user" },
  "vpn_session.disconnect": { about: "user" },
  "vpn_session.disconnect_failed": { about: "user" },
  "vpn_session.disconnected": { about: "user" },
} as const satisfies Record<string, ActionRow>;

export type AuditAction = keyof typeof AUDIT_ACTIONS;

/** The groups of the events, and the first words of their actions. */
const AUDIT_GROUPS = {
  sign_ins: ["login", "approval", "packets", "vpn_session"],
  users: ["user", "password", "group", "target", "outbox"],
  factors: [
    ...["pairing", "factor", "invitation", "enrolment", "hardware_token", "recovery_codes", "preference"],
    ...["bypass", "caller"],
  ],
  clients: ["client", "policy", "connection", "scim_credential"],
  administrators: ["administrator", "session", "token", "filter", "first_step", "notice"],
  system: ["settings", "mail", "alert", "log_export", "audit"],
} as const satisfies Record<string, readonly string[]>;
type AuditGroup = keyof typeof AUDIT_GROUPS;
export const AUDIT_GROUP_NAMES = Object.keys(AUDIT_GROUPS) as readonly AuditGroup[];

const GROUP_OF_WORD: ReadonlyMap<string, AuditGroup> = new Map(
  AUDIT_GROUP_NAMES.flatMap((group) => AUDIT_GROUPS[group].map((word) => [word, group] as const)),
);

/** The group of an action; `system` for one that this version does not know. */
export function auditGroupOf(action: string): AuditGroup {
  return GROUP_OF_WORD.get(action.slice(0, action.indexOf("."))) ?? "system";
}

/** Events that administrators and users cause while they work, but that change nothing. */
const NO_CHANGES: ReadonlySet<string> = new Set<AuditAction>([
  "administrator.refused",
  "administrator.sign_in",
  "administrator.sign_out",
  "filter.remove",
  "filter.save",
  "session.replace",
  "session.run_out",
]);

/**
 * Whether the record is no sign-in and not written by a provisioning client. Those are many, so that this is the index of the rest.
 *
 * @param actor as recorded, such as `scim:hr`
 */
export function isAuditedChange(action: string, actor: string): boolean {
  return !actor.startsWith("scim:") && auditGroupOf(action) !== "sign_ins";
}

/** Actors that are programs of the gateway. Others without a kind, such as `grace`, are administrators. */
const PROGRAM_ACTORS: ReadonlySet<string> = new Set([
  "enrolment",
  "gateway",
  "mail",
  "nobody",
  "radius",
  "recovery",
  "settings",
]);

/** Whether an administrator made a change: in the console, with an API token or with a command. */
export function isAdministratorChange(action: string, actor: string): boolean {
  const isPerson = actor.includes(":") ? actor.startsWith("token:") : !PROGRAM_ACTORS.has(actor);
  return isPerson && isAuditedChange(action, actor) && !NO_CHANGES.has(action);
}

/**
 * The details that a record can have, besides actor, action, object, source, before and after. `moment`: milliseconds since the
 * epoch. `code`: a name whose text is the audit message `<field>_<code>`.
 */
export const AUDIT_DETAILS = {
  added: "text",
  addedBy: "text",
  address: "text",
  alert: "identifier",
  attempts: "count",
  backend: "text",
  backends: "text",
  because: "code",
  browser: "text",
  by: "code",
  bypass: "identifier",
  caller: "text",
  campaign: "text",
  changed: "attributes",
  confirmed: "text",
  conversation: "conversation",
  count: "count",
  created: "count",
  deadlineMs: "moment",
  deleted: "count",
  errorCause: "text",
  factor: "code",
  failures: "count",
  faults: "text",
  from: "text",
  groups: "text",
  hard: "yes",
  how: "code",
  kind: "code",
  locks: "count",
  nas: "text",
  number: "text",
  operator: "text",
  pairing: "identifier",
  phone: "text",
  policy: "text",
  problem: "code",
  removed: "text",
  reason: "text",
  request: "identifier",
  revision: "identifier",
  row: "row",
  session: "text",
  sources: "text",
  subject: "text",
  template: "code",
  to: "text",
  token: "identifier",
  tookMs: "count",
  unchanged: "count",
  uses: "count",
  usesLeft: "count",
  unconfirmed: "text",
  updated: "count",
  vanished: "count",
} as const;

export type AuditDetailName = keyof typeof AUDIT_DETAILS;

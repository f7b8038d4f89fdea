// The table of settings: a row for each key, except clients (platform/client_settings.ts) and targets (target_settings.ts). Parsing, checks,
// docs and the Settings page are derived from it.

import { DEFAULT_AUDIT_DAYS } from "../audit.ts";
import { contact, hostPatterns } from "./push_values.ts";
import { settingRow, type SettingRows } from "./value_types.ts";
import { MAIL_ROWS } from "./mail_settings.ts";
import { ALERT_ROWS } from "./alert_settings.ts";
import { ENROLMENT_ROWS } from "./enrolment_settings.ts";
import * as value from "./value_types.ts";

/** Each [[console.admin]]. */
export const ADMIN_ROWS = {
  "name": settingRow(value.settingLine({ max: 128 }), "", {
    doc: "besides those made in the console; unique",
    required: true,
    example: "admin",
  }),
  "password": settingRow(value.settingSecret({ min: 12 }), "", {
    doc: "at least 12 characters",
    required: true,
    example: "env:CONSOLE_PASSWORD",
  }),
  "role": settingRow(
    value.settingChoice(["owner", "user_manager", "operator", "help_desk", "viewer"]),
    "owner",
    {
      doc: "owner | user_manager | operator | help_desk | viewer",
    },
  ),
} satisfies SettingRows;

/** The services of Chrome, Firefox, Safari and Edge. */
const DEFAULT_PUSH_HOSTS = [
  "fcm.googleapis.com",
  "*.push.services.mozilla.com",
  "*.push.apple.com",
  "*.notify.windows.com",
];
const COUNT = { min: 1, max: 1_000_000 };
const CALL_TIMEOUT = value.milliseconds({ min: 100, max: 30_000 });

/** Every setting that is not in a repeated table. */
export const GENERAL_ROWS = {
  "server.data_dir": settingRow(value.settingLine({ min: 1, max: 1024 }), "./data", {
    editable: false,
    doc: "everything that the embedded parts keep",
  }),
  "server.log_format": settingRow(value.settingChoice(["text", "json"]), "text", {
    security: false,
    doc: "text | json",
  }),
  "server.log_level": settingRow(value.settingChoice(["debug", "info", "warn", "error"]), "info", {
    security: false,
    doc: "debug | info | warn | error",
  }),

  "store.kv": settingRow(value.url, "", {
    editable: false,
    doc:
      "the KV Connect endpoint of several nodes, with its access token in the environment variable DENO_KV_ACCESS_TOKEN; empty: the file countersign.kv in server.data_dir",
  }),

  "http.listen": settingRow(value.listen, "127.0.0.1:8080", {
    editable: false,
    doc: "console, device page, health and metrics; port 0 lets the host choose",
  }),
  "http.public_url": settingRow(value.origin, "http://127.0.0.1:8080", {
    doc:
      "how browsers and phones reach it; phones cannot reach a loopback address; not set: where http.listen is, on loopback if that is every address",
  }),
  "http.tls_cert": settingRow(value.settingLine({ max: 1024 }), "", {
    editable: false,
    doc: "path of a PEM file; both or neither",
  }),
  "http.tls_key": settingRow(value.settingLine({ max: 1024 }), "", {
    editable: false,
    doc: "path of a PEM file; both or neither",
  }),
  "http.trusted_proxies": settingRow(value.ranges, [], {
    doc: "addresses or CIDRs of reverse proxies whose X-Forwarded-For is trusted, read from the right",
    example: ["127.0.0.1"],
  }),

  "radius.listen": settingRow(value.listens, ["[::]:1812"], {
    editable: false,
    doc:
      "a string or a list; dual stack; falls back to 0.0.0.0 without IPv6; both wildcards on one port, or a " +
      "wildcard and one of its addresses, are a fault",
  }),
  "radius.accounting_listen": settingRow(value.listens, ["[::]:1813"], {
    editable: false,
    doc:
      "Accounting-Request is answered here and on the authentication port; not set: a port that is in use is a warning; set: it stops the start",
  }),
  "radius.secret": settingRow(value.settingSecret(), "", {
    doc: "for any client address, while no client is given; empty: generated on the first start",
  }),
  "radius.state": settingRow(value.settingChoice(["auto", "name", "token"]), "auto", {
    doc: "auto | name | token; auto adds a random token to the step's name when a request carries no " +
      "Calling-Station-Id, NAS-Port-Id or NAS-Port, or when several logins share them",
  }),
  "radius.directory": settingRow(value.settingLine({ min: 1, max: 64 }), "default", {
    doc: "the target whose users log in",
  }),
  "radius.conversation_ttl_s": settingRow(value.seconds({ min: 30, max: 3600 }), 300, {
    doc: "how long a login may take",
  }),
  "radius.login_join_window_s": settingRow(value.seconds({ min: 0, max: 300 }), 30, {
    doc: "a re-issued login joins the first one within this time, while that one waits for its answer",
  }),

  "factors.enabled": settingRow(
    value.settingChoices(["device", "sms", "voice", "totp"]),
    ["device", "sms", "voice", "totp"],
    { doc: "which factors are offered" },
  ),
  "factors.terminal_name": settingRow(value.settingLine({ min: 1, max: 128 }), "VPN Access", {
    doc: "what an approval names as the place of the login",
  }),
  "factors.requester_name": settingRow(value.settingLine({ min: 1, max: 128 }), "Countersign", {
    doc: "whom messages and calls name as their sender",
  }),
  "factors.phone_numbers": settingRow(value.settingChoice(["registered", "any"]), "registered", {
    doc: "registered | any; any takes whatever number is typed, which is no second factor at all",
  }),
  "factors.enrol_at_login": settingRow(
    value.settingChoice(["after_first_factor", "never", "always"]),
    "after_first_factor",
    { doc: "after_first_factor | never | always: whether a login may pair a factor of its own" },
  ),
  "factors.country_codes": settingRow(value.countryCodes, [], {
    doc: 'e.g. ["1", "49"]; [] = all but satellite and premium-rate numbers',
  }),
  "factors.device.continue_wait_ms": settingRow(value.milliseconds({ min: 0, max: 30_000 }), 1500, {
    security: false,
    doc: 'how long "continue" waits for a pending approval before it asks again',
  }),
  "factors.device.number_matching": settingRow(value.boolean, true, { doc: "embedded service only" }),
  "factors.passcode.sms_digits": settingRow(value.integer({ min: 4, max: 10 }), 6, {
    doc: "digits of a texted passcode",
  }),
  "factors.passcode.voice_digits": settingRow(value.integer({ min: 4, max: 10 }), 4, {
    doc: "digits of a spoken passcode",
  }),
  "factors.passcode.lifetime_s": settingRow(value.seconds({ min: 30, max: 600 }), 300, {
    doc: "how long a passcode counts",
  }),
  "factors.pushes.per_user": settingRow(value.integer(COUNT), 5, {
    doc: "approvals asked of one user in the window",
  }),
  "factors.pushes.window_s": settingRow(value.seconds({ min: 1, max: 86_400 }), 3600, { doc: "the window" }),
  "factors.lockout.failures": settingRow(value.integer(COUNT), 10, {
    doc: "failures in a row that lock a user",
  }),
  "factors.lockout.minutes": settingRow(value.minutes({ min: 1, max: 1440 }), 15, {
    doc: "doubles with each further lock, to 24 h",
  }),
  "factors.lockout.hard_limit": settingRow(value.integer(COUNT), 100, {
    doc: "then only an administrator unlocks",
  }),
  "factors.lockout.warn_locks_per_hour": settingRow(value.integer(COUNT), 20, {
    doc: "with more locks in an hour the log and the health page show a warning",
  }),
  "factors.lockout.warn_failures_per_hour": settingRow(value.integer(COUNT), 500, {
    doc: "likewise, with more failures of all users",
  }),
  "factors.sends.per_user": settingRow(value.integer(COUNT), 5, {
    doc: "texts and calls for one user in the window",
  }),
  "factors.sends.per_number": settingRow(value.integer(COUNT), 5, {
    doc: "texts and calls to one number in the window",
  }),
  "factors.sends.window_s": settingRow(value.seconds({ min: 1, max: 86_400 }), 600, { doc: "the window" }),
  "factors.sends.total_per_hour": settingRow(value.integer(COUNT), 500, {
    doc: "texts and calls for all users in an hour; when it is reached, nothing is sent",
  }),
  "factors.sends.per_client_per_hour": settingRow(value.integer(COUNT), 200, {
    doc: "texts and calls for the logins of one client in an hour",
  }),

  "help_desk.bypass_max_minutes": settingRow(value.minutes({ min: 15, max: 1440 }), 1440, {
    doc: "the longest time for which the help desk may issue a bypass code",
  }),
  "help_desk.bypass_max_uses": settingRow(value.integer({ min: 1, max: 50 }), 10, {
    doc: "the largest number of logins for which the help desk may issue a bypass code",
  }),
  "help_desk.bypass_any_uses": settingRow(value.boolean, true, {
    doc: "whether a bypass code may be valid for any number of logins until it expires",
  }),
  "help_desk.verifications_per_hour": settingRow(value.integer({ min: 1, max: 60 }), 5, {
    doc: "how often the help desk may verify one user as a caller",
  }),

  "second_factor.url": settingRow(value.url, "", {
    doc: 'empty = embedded; else e.g. "https://api.example.com" (the client adds /v1/…)',
  }),
  "second_factor.consumer_key": settingRow(value.settingSecret(), "", { doc: "given by that service" }),
  "second_factor.consumer_secret": settingRow(value.settingSecret(), "", { doc: "given by that service" }),
  "second_factor.timeout_ms": settingRow(CALL_TIMEOUT, 5000, {
    security: false,
    doc: "deadline of one call",
  }),

  "push.enabled": settingRow(value.boolean, true, {
    security: false,
    doc: "web push to phones whose page is closed; embedded service only",
  }),
  "push.hosts": settingRow(hostPatterns, DEFAULT_PUSH_HOSTS, {
    doc: "push services that phones may name; *. stands for any name below",
  }),
  "push.contact": settingRow(contact, "", {
    doc:
      'for the operators of push services, as in "mailto:it@example.com"; empty: the host of http.public_url',
  }),

  "telephony.url": settingRow(value.url, "", {
    doc: 'empty = embedded outbox; else e.g. "https://api.twilio.com"',
  }),
  "telephony.account_id": settingRow(value.settingLine({ max: 128 }), "", { doc: "given by that service" }),
  "telephony.auth_token": settingRow(value.settingSecret(), "", { doc: "given by that service" }),
  "telephony.from": settingRow(value.settingLine({ max: 64 }), "", {
    doc: "the number that texts and calls come from",
  }),
  "telephony.twiml_echo_url": settingRow(value.url, "", {
    doc: "set: the Url field points there; empty: the markup goes inline in the Twiml field",
  }),
  "telephony.connections_per_route": settingRow(value.integer({ min: 1, max: 100 }), 2, {
    security: false,
    doc: "at the same time",
  }),
  "telephony.connections_total": settingRow(value.integer({ min: 1, max: 1000 }), 20, {
    security: false,
    doc: "at the same time",
  }),
  "telephony.timeout_ms": settingRow(CALL_TIMEOUT, 5000, { security: false, doc: "deadline of one call" }),

  ...MAIL_ROWS,
  ...ENROLMENT_ROWS,
  ...ALERT_ROWS,

  "geoip.database": settingRow(value.settingLine({ max: 1024 }), "", {
    doc:
      "path of a MaxMind DB file (.mmdb) with the country of IP addresses; empty: none; read again when it changes",
    editable: false,
  }),
  "geoip.asn_database": settingRow(value.settingLine({ max: 1024 }), "", {
    doc: "path of a MaxMind DB file with the network (ASN), if geoip.database has none",
    editable: false,
  }),

  "console.session_hours": settingRow(value.hours({ min: 1, max: 720 }), 12, {
    doc: "a session's longest life",
  }),
  "console.idle_minutes": settingRow(value.minutes({ min: 1, max: 1440 }), 15, {
    doc: "an open, visible live page counts as use",
  }),
  "console.second_factor": settingRow(value.settingChoice(["offered", "required"]), "offered", {
    doc:
      "offered | required: with required, an administrator without an authenticator app and without a passkey sets one up at sign-in before anything else; accounts of the sign-in provider rely on the provider",
  }),
  "console.audit_days": settingRow(value.days({ min: 1, max: 3650 }), DEFAULT_AUDIT_DAYS, {
    doc: "days that a record of the audit log is kept",
  }),
  "console.oidc.issuer": settingRow(value.url, "", {
    doc: "sign-in through this OpenID Connect provider; empty: none. The address that it comes back to is " +
      "http.public_url with /console/api/oidc/callback after it",
  }),
  "console.oidc.name": settingRow(value.settingLine({ max: 64 }), "", {
    doc: "what the provider is called at sign-in; empty: the issuer's host name",
  }),
  "console.oidc.client_id": settingRow(value.settingLine({ max: 256 }), "", {
    doc: "as the provider gave it",
  }),
  "console.oidc.client_secret": settingRow(value.settingSecret(), "", { doc: "as the provider gave it" }),
  "console.oidc.scopes": settingRow(value.settingLine({ min: 6, max: 256 }), "openid profile email", {
    doc: "what is asked for, separated by spaces; openid must be among it",
  }),
  "console.oidc.role_claim": settingRow(value.settingLine({ min: 1, max: 256 }), "groups", {
    doc: "the claim of the ID token that the four lists below are compared with",
  }),
  "console.oidc.owners": settingRow(value.texts, [], { doc: "values of the claim that make an owner" }),
  "console.oidc.user_managers": settingRow(value.texts, [], { doc: "values that make a user manager" }),
  "console.oidc.operators": settingRow(value.texts, [], { doc: "values that make an operator" }),
  "console.oidc.help_desk": settingRow(value.texts, [], {
    doc: "values that make a member of the help desk",
  }),
  "console.oidc.viewers": settingRow(value.texts, [], {
    doc: "values that make a viewer; who has none of all these is not let in",
  }),
} satisfies SettingRows;

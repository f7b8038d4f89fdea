// The table of settings: a row for each, except clients (platform/client_settings.ts) and targets (targets.ts). Config, parsing, checks,
// docs and the Settings page are derived from it.

import { DEFAULT_AUDIT_DAYS } from "../audit.ts";
import { choice, choices, flag, number, secret, text } from "../fields.ts";
import { DEFAULT_HELP_TEXT, MAIL_LANGUAGES } from "../mail/mail_templates.ts";
import {
  listAs,
  MAX_SECRET_CHARACTERS,
  rowsByKey,
  setting,
  type SettingTable,
  textAs,
} from "./setting_rows.ts";

/** Each [[console.admin]]. */
export const ADMIN_SETTINGS = {
  name: setting(text({ max: 128 }), {
    doc: "besides those made in the console; unique",
    mustBeGiven: true,
    example: "admin",
  }),
  password: setting(secret({ min: 12, max: MAX_SECRET_CHARACTERS }), {
    doc: "at least 12 characters",
    mustBeGiven: true,
    example: "env:CONSOLE_PASSWORD",
  }),
  role: setting(choice(["owner", "user_manager", "operator", "help_desk", "viewer"], { default: "owner" }), {
    doc: "owner | user_manager | operator | help_desk | viewer",
  }),
} satisfies SettingTable;

/** The services of Chrome, Firefox, Safari and Edge. */
const DEFAULT_PUSH_HOSTS = [
  "fcm.googleapis.com",
  "*.push.services.mozilla.com",
  "*.push.apple.com",
  "*.notify.windows.com",
];
const COUNT = { min: 1, max: 1_000_000 };
const CALL_TIMEOUT = number({ min: 100, max: 30_000, default: 5000, unit: "ms" });

/** Every setting that is not in a repeated table. A name that ends with `Ms` has milliseconds, and the file the unit of the row. */
export const SETTINGS = {
  server: {
    dataDir: setting(text({ isRequired: true, min: 1, max: 1024, default: "./data" }), {
      editable: false,
      doc: "everything that the embedded parts keep",
    }),
    logFormat: setting(choice(["text", "json"], { default: "text" }), {
      security: false,
      doc: "text | json",
    }),
    logLevel: setting(choice(["debug", "info", "warn", "error"], { default: "info" }), {
      security: false,
      doc: "debug | info | warn | error",
    }),
  },
  store: {
    kv: textAs("url", "", {
      editable: false,
      doc:
        "the KV Connect endpoint of several nodes, with its access token in the environment variable DENO_KV_ACCESS_TOKEN; empty: the file countersign.kv in server.data_dir",
    }),
    upgradeBackup: setting(text({ max: 1024 }), {
      editable: false,
      doc:
        'the directory of the backup that an upgrade makes before it changes the store; empty: backups in server.data_dir; "none": an upgrade makes no backup',
    }),
  },
  http: {
    listen: textAs("listen", "127.0.0.1:8080", {
      editable: false,
      doc: "console, device page, health and metrics; port 0 lets the host choose",
    }),
    publicUrl: textAs("origin", "http://127.0.0.1:8080", {
      doc:
        "how browsers and phones reach it; phones cannot reach a loopback address; not set: where http.listen is, on loopback if that is every address",
    }),
    tlsCert: setting(text({ max: 1024 }), {
      editable: false,
      doc: "path of a PEM file; both or neither",
    }),
    tlsKey: setting(text({ max: 1024 }), {
      editable: false,
      doc: "path of a PEM file; both or neither",
    }),
    trustedProxies: listAs("ranges", [], {
      maxItems: 1000,
      doc: "addresses or CIDRs of reverse proxies whose X-Forwarded-For is trusted, read from the right",
      example: ["127.0.0.1"],
    }),
  },
  radius: {
    listen: listAs("listens", ["[::]:1812"], {
      maxItems: 64,
      editable: false,
      doc:
        "a string or a list; dual stack; falls back to 0.0.0.0 without IPv6; both wildcards on one port, or a " +
        "wildcard and one of its addresses, are a fault",
    }),
    accounting: {
      listen: listAs("listens", ["[::]:1813"], {
        maxItems: 64,
        key: "radius.accounting_listen",
        editable: false,
        doc:
          "Accounting-Request is answered here and on the authentication port; not set: a port that is in use is a warning; set: it stops the start",
      }),
    },
    tls: {
      listen: listAs("optional_listens", [], {
        maxItems: 64,
        key: "radius.tls_listen",
        editable: false,
        doc:
          "a string or a list; RADIUS over TLS (RadSec, RFC 6614, and RADIUS/1.1, RFC 9765), as a rule on port 2083; empty: off",
      }),
      cert: setting(text({ max: 1024 }), {
        key: "radius.tls_cert",
        editable: false,
        doc:
          "path of a PEM file with the certificate of the gateway and its intermediates; read again when it changes",
      }),
      key: setting(text({ max: 1024 }), {
        key: "radius.tls_key",
        editable: false,
        doc: "path of a PEM file; read again when it changes",
      }),
      ca: setting(text({ max: 1024 }), {
        key: "radius.tls_ca",
        editable: false,
        doc:
          "path of a PEM file with the authorities that issue the certificates of clients; read again when it changes",
      }),
    },
    secret: setting(secret({ max: MAX_SECRET_CHARACTERS }), {
      doc: "for any client address, while no client is given; empty: generated on the first start",
    }),
    state: setting(choice(["auto", "name", "token"], { default: "auto" }), {
      doc: "auto | name | token; auto adds a random token to the step's name when a request carries no " +
        "Calling-Station-Id, NAS-Port-Id or NAS-Port, or when several logins share them",
    }),
    directory: setting(text({ isRequired: true, min: 1, max: 64, default: "default" }), {
      names: "directories",
      doc: "the target whose users log in",
    }),
    conversationTtlMs: setting(number({ min: 30, max: 3600, default: 300, unit: "s" }), {
      doc: "how long a login may take",
    }),
    loginJoinWindowMs: setting(number({ min: 0, max: 300, default: 30, unit: "s" }), {
      doc: "a re-issued login joins the first one within this time, while that one waits for its answer",
    }),
  },
  factors: {
    enabled: setting(
      choices(["device", "sms", "voice", "totp"], { default: ["device", "sms", "voice", "totp"] }),
      { doc: "which factors are offered" },
    ),
    terminalName: setting(text({ isRequired: true, min: 1, max: 128, default: "VPN Access" }), {
      doc: "what an approval names as the place of the login",
    }),
    requesterName: setting(text({ isRequired: true, min: 1, max: 128, default: "Countersign" }), {
      doc: "whom messages and calls name as their sender",
    }),
    phoneNumbers: setting(choice(["registered", "any"], { default: "registered" }), {
      doc: "registered | any; any takes whatever number is typed, which is no second factor at all",
    }),
    enrolAtLogin: setting(
      choice(["after_first_factor", "never", "always"], { default: "after_first_factor" }),
      { doc: "after_first_factor | never | always: whether a login may pair a factor of its own" },
    ),
    countryCodes: listAs("country_codes", [], {
      maxItems: 1000,
      doc: 'e.g. ["1", "49"]; [] = all but satellite and premium-rate numbers',
    }),
    device: {
      continueWaitMs: setting(number({ min: 0, max: 30_000, default: 1500, unit: "ms" }), {
        security: false,
        doc: 'how long "continue" waits for a pending approval before it asks again',
      }),
      numberMatching: setting(flag({ default: true }), { doc: "embedded service only" }),
    },
    passcode: {
      smsDigits: setting(number({ min: 4, max: 10, default: 6 }), {
        doc: "digits of a texted passcode",
      }),
      voiceDigits: setting(number({ min: 4, max: 10, default: 4 }), {
        doc: "digits of a spoken passcode",
      }),
      lifetimeMs: setting(number({ min: 30, max: 600, default: 300, unit: "s" }), {
        doc: "how long a passcode counts",
      }),
    },
    pushes: {
      perUser: setting(number({ ...COUNT, default: 5 }), {
        doc: "approvals asked of one user in the window, over all clients",
      }),
      windowMs: setting(number({ min: 1, max: 86_400, default: 3600, unit: "s" }), {
        doc: "the window: how long an approval counts",
      }),
    },
    lockout: {
      failures: setting(number({ ...COUNT, default: 10 }), {
        doc: "failures in a row that lock a user",
      }),
      lockMs: setting(number({ min: 1, max: 1440, default: 15, unit: "min" }), {
        key: "factors.lockout.minutes",
        doc: "doubles with each further lock, to 24 h",
      }),
      hardLimit: setting(number({ ...COUNT, default: 100 }), {
        doc: "then only an administrator unlocks",
      }),
      warnLocksPerHour: setting(number({ ...COUNT, default: 20 }), {
        doc: "with more locks in an hour the log and System status show a warning",
      }),
      warnFailuresPerHour: setting(number({ ...COUNT, default: 500 }), {
        doc: "likewise, with more failures of all users",
      }),
    },
    sends: {
      perUser: setting(number({ ...COUNT, default: 5 }), {
        doc: "texts and calls for one user in the window",
      }),
      perNumber: setting(number({ ...COUNT, default: 5 }), {
        doc: "texts and calls to one number in the window",
      }),
      windowMs: setting(number({ min: 1, max: 86_400, default: 600, unit: "s" }), {
        doc: "the window: how long a text or call counts",
      }),
      totalPerHour: setting(number({ ...COUNT, default: 500 }), {
        doc: "texts and calls for all users in an hour; when it is reached, nothing is sent",
      }),
      perClientPerHour: setting(number({ ...COUNT, default: 200 }), {
        doc: "texts and calls for the logins of one client in an hour",
      }),
    },
  },
  helpDesk: {
    bypassMaxMs: setting(number({ min: 15, max: 1440, default: 1440, unit: "min" }), {
      doc: "the longest time for which the help desk may issue a bypass code",
    }),
    bypassMaxUses: setting(number({ min: 1, max: 50, default: 10 }), {
      doc: "the largest number of logins for which the help desk may issue a bypass code",
    }),
    bypassAnyUses: setting(flag({ default: true }), {
      doc: "whether a bypass code may be valid for any number of logins until it expires",
    }),
    verificationsPerHour: setting(number({ min: 1, max: 60, default: 5 }), {
      doc: "how often the help desk may verify one user as a caller",
    }),
  },
  secondFactor: {
    url: textAs("url", "", {
      doc: 'empty = embedded; else e.g. "https://api.example.com" (the client adds /v1/…)',
    }),
    consumerKey: setting(secret({ max: MAX_SECRET_CHARACTERS }), { doc: "given by that service" }),
    consumerSecret: setting(secret({ max: MAX_SECRET_CHARACTERS }), { doc: "given by that service" }),
    timeoutMs: setting(CALL_TIMEOUT, {
      security: false,
      doc: "deadline of one call",
    }),
  },
  push: {
    enabled: setting(flag({ default: true }), {
      security: false,
      doc: "web push to phones whose page is closed; embedded service only",
    }),
    hosts: listAs("host_patterns", DEFAULT_PUSH_HOSTS, {
      doc: "push services that phones may name; *. stands for any name below",
    }),
    contact: textAs("contact", "", {
      doc:
        'for the operators of push services, as in "mailto:it@example.com"; empty: the host of http.public_url',
    }),
  },
  telephony: {
    url: textAs("url", "", {
      doc: 'empty = embedded outbox; else e.g. "https://api.twilio.com"',
    }),
    accountId: setting(text({ max: 128 }), { doc: "given by that service" }),
    authToken: setting(secret({ max: MAX_SECRET_CHARACTERS }), { doc: "given by that service" }),
    from: setting(text({ max: 64 }), {
      doc: "the number that texts and calls come from",
    }),
    twimlEchoUrl: textAs("url", "", {
      doc: "set: the Url field points there; empty: the markup goes inline in the Twiml field",
    }),
    connectionsPerRoute: setting(number({ min: 1, max: 100, default: 2 }), {
      security: false,
      doc: "at the same time",
    }),
    connectionsTotal: setting(number({ min: 1, max: 1000, default: 20 }), {
      security: false,
      doc: "at the same time",
    }),
    timeoutMs: setting(CALL_TIMEOUT, { security: false, doc: "deadline of one call" }),
  },
  mail: {
    host: textAs("host", "", {
      doc: "the SMTP server that mails are sent through; empty: no mail is sent",
      example: "smtp.example.com",
    }),
    port: setting(number({ min: 1, max: 65_535, default: 587 }), {
      doc: "587 with STARTTLS, 465 with TLS, 25 for a relay in your own network",
    }),
    security: setting(choice(["starttls", "tls", "none"], { default: "starttls" }), {
      doc: "starttls | tls | none; starttls sends nothing if the server does not offer TLS",
    }),
    user: setting(text({ max: 256 }), {
      doc: "for the sign-in at the server; empty: none",
    }),
    password: setting(secret({ max: MAX_SECRET_CHARACTERS }), { doc: "for the sign-in at the server" }),
    ca: textAs("own_certificates", "", {
      doc:
        "path of a PEM file with the authorities to trust instead of the host's, or the content of such a file",
    }),
    from: textAs("mailbox", "", {
      doc: "the sender of all mails",
      example: "Countersign <no-reply@example.com>",
    }),
    replyTo: textAs("mailbox", "", {
      doc: "where answers go, such as the help desk; empty: to the sender",
      example: "Help desk <helpdesk@example.com>",
    }),
    language: setting(choice(MAIL_LANGUAGES, { default: "en" }), {
      security: false,
      doc: "en | de; of mails to users whose language is not known, and to administrators",
    }),
    perMinute: setting(number({ min: 1, max: 60_000, default: 30 }), {
      doc: "the most mails in a minute; Microsoft 365 accepts 30",
    }),
    timeoutMs: setting(number({ min: 1000, max: 300_000, default: 60_000, unit: "ms" }), {
      security: false,
      doc: "deadline of one mail, from the connection to the last answer of the server",
    }),
  },
  enrolment: {
    invitationMs: setting(number({ min: 1, max: 720, default: 72, unit: "h" }), {
      doc:
        "how long the link of a mailed invitation is valid; a link that the console shows is valid for 24 h",
    }),
    reminderDays: listAs("day_numbers", ["3", "7"], {
      maxItems: 10,
      security: false,
      doc: "days after the invitation on which a user without a factor is reminded; [] = no reminders",
    }),
    deadlineDays: setting(number({ min: 0, max: 365, default: 0, unit: "days" }), {
      doc:
        "days after the invitation from which a login of a user without a factor is refused; 0 = no deadline",
    }),
    helpText: setting(text({ max: 160, default: DEFAULT_HELP_TEXT.en }), {
      doc:
        "whom users ask for help: in the refusal after the deadline, and in mails; German mails translate the default",
    }),
    perMinute: setting(number({ min: 1, max: 60_000, default: 300 }), {
      doc: "how many users a campaign invites in a minute at most",
    }),
  },
  alerts: {
    enabled: setting(flag({ default: true }), {
      doc:
        "watch for alerts: lockouts, rejection spikes, reported sign-ins, failing parts, expiring certificates",
    }),
    spikeCount: setting(number({ min: 1, max: 1_000_000, default: 20 }), {
      doc: "rejected sign-ins in ten minutes from which on they are a spike",
    }),
    spikeFactor: setting(number({ min: 1, max: 1000, default: 3 }), {
      doc:
        "how many times the average of the last 24 h a spike is at least; before 24 h, only the count decides",
    }),
    failingMs: setting(number({ min: 1, max: 1440, default: 5, unit: "min" }), {
      doc: "how long a connector, a service or a write fails before it is an alert",
    }),
    perHour: setting(number({ min: 1, max: 1000, default: 30 }), {
      doc:
        "messages to one receiver in an hour: of all warnings, and of each kind of critical alerts; then one message says how many were left out",
    }),
  },
  geoip: {
    database: setting(text({ max: 1024 }), {
      doc:
        "path of a MaxMind DB file (.mmdb) with the country of IP addresses; empty: none; read again when it changes",
      editable: false,
    }),
    asnDatabase: setting(text({ max: 1024 }), {
      doc: "path of a MaxMind DB file with the network (ASN), if geoip.database has none",
      editable: false,
    }),
  },
  console: {
    sessionMs: setting(number({ min: 1, max: 720, default: 12, unit: "h" }), {
      doc: "a session's longest life",
    }),
    idleMs: setting(number({ min: 1, max: 1440, default: 15, unit: "min" }), {
      doc: "an open, visible live page counts as use",
    }),
    secondFactor: setting(choice(["offered", "required"], { default: "offered" }), {
      doc:
        "offered | required: with required, an administrator without an authenticator app and without a passkey sets one up at sign-in before anything else; accounts of the sign-in provider rely on the provider",
    }),
    auditDays: setting(number({ min: 1, max: 3650, default: DEFAULT_AUDIT_DAYS, unit: "days" }), {
      doc: "days that a record of the audit log is kept",
    }),
    oidc: {
      issuer: textAs("url", "", {
        doc:
          "sign-in through this OpenID Connect provider; empty: none. The address that it comes back to is " +
          "http.public_url with /console/api/oidc/callback after it",
      }),
      name: setting(text({ max: 64 }), {
        doc: "what the provider is called at sign-in; empty: the issuer's host name",
      }),
      clientId: setting(text({ max: 256 }), {
        doc: "as the provider gave it",
      }),
      clientSecret: setting(secret({ max: MAX_SECRET_CHARACTERS }), { doc: "as the provider gave it" }),
      scopes: setting(text({ isRequired: true, min: 6, max: 256, default: "openid profile email" }), {
        doc: "what is asked for, separated by spaces; openid must be among it",
      }),
      roleClaim: setting(text({ isRequired: true, min: 1, max: 256, default: "groups" }), {
        doc: "the claim of the ID token that the four lists below are compared with",
      }),
      owners: listAs("texts", [], { doc: "values of the claim that make an owner" }),
      userManagers: listAs("texts", [], { doc: "values that make a user manager" }),
      operators: listAs("texts", [], { doc: "values that make an operator" }),
      helpDesk: listAs("texts", [], {
        doc: "values that make a member of the help desk",
      }),
      viewers: listAs("texts", [], {
        doc: "values that make a viewer; who has none of all these is not let in",
      }),
    },
  },
} satisfies SettingTable;

/** The rows of {@link SETTINGS} by key. */
export const GENERAL_ROWS = rowsByKey(SETTINGS);

// Builds the Config from the parsed settings.

import { resolve } from "node:path";
import type { Config, ReplyAttributes, ScimCredentialSettings, TargetSettings } from "./config.ts";
import type { ADMIN_ROWS, GENERAL_ROWS } from "./settings.ts";
import { toClientPolicy, toClientSettings } from "./client_rows.ts";
import type { SettingRows, SettingValues } from "./value_types.ts";

const DAY_MS = 24 * 3600_000;

export type GeneralValues = SettingValues<typeof GENERAL_ROWS>;
export type AdminValues = SettingValues<typeof ADMIN_ROWS>;

/** All parsed settings of the file. */
export interface ParsedSettings {
  readonly file: string | null;
  readonly cwd: string;
  readonly general: GeneralValues;
  readonly anyClient: SettingValues<SettingRows>;
  readonly clients: readonly SettingValues<SettingRows>[];
  readonly admins: readonly AdminValues[];
  readonly replyDefault: ReplyAttributes;
  readonly replyGroups: Config["radius"]["replyGroups"];
  readonly replyUsers: Config["radius"]["replyUsers"];
  readonly replyFromDirectory: Config["radius"]["replyFromDirectory"];
  readonly targets: readonly TargetSettings[];
  readonly credentials: readonly ScimCredentialSettings[];
  readonly tls: Config["http"]["tls"];
  /** The certificates of `mail.ca`. */
  readonly mailCaPem: string;
  /** `http.public_url` of the file, or the URL of `http.listen`. */
  readonly publicUrl: string;
  /** Whether the file has `radius.accounting_listen`. */
  readonly accountingListenIsGiven: boolean;
}

function factorsOf(general: GeneralValues): Config["factors"] {
  return {
    enabled: general["factors.enabled"],
    terminalName: general["factors.terminal_name"],
    requesterName: general["factors.requester_name"],
    phoneNumbers: general["factors.phone_numbers"],
    enrolAtLogin: general["factors.enrol_at_login"],
    countryCodes: general["factors.country_codes"],
    device: {
      continueWaitMs: general["factors.device.continue_wait_ms"],
      numberMatching: general["factors.device.number_matching"],
    },
    passcode: {
      smsDigits: general["factors.passcode.sms_digits"],
      voiceDigits: general["factors.passcode.voice_digits"],
      lifetimeMs: general["factors.passcode.lifetime_s"],
    },
    pushes: { perUser: general["factors.pushes.per_user"], windowMs: general["factors.pushes.window_s"] },
    lockout: {
      failures: general["factors.lockout.failures"],
      lockMs: general["factors.lockout.minutes"],
      hardLimit: general["factors.lockout.hard_limit"],
      warnLocksPerHour: general["factors.lockout.warn_locks_per_hour"],
      warnFailuresPerHour: general["factors.lockout.warn_failures_per_hour"],
    },
    sends: {
      perUser: general["factors.sends.per_user"],
      perNumber: general["factors.sends.per_number"],
      windowMs: general["factors.sends.window_s"],
      totalPerHour: general["factors.sends.total_per_hour"],
      perClientPerHour: general["factors.sends.per_client_per_hour"],
    },
  };
}

function enrolmentOf(general: GeneralValues): Config["enrolment"] {
  return {
    invitationMs: general["enrolment.invitation_hours"],
    reminderDays: general["enrolment.reminder_days"],
    deadlineDays: general["enrolment.deadline_days"],
    helpText: general["enrolment.help_text"],
    perMinute: general["enrolment.per_minute"],
  };
}

function alertsOf(general: GeneralValues): Config["alerts"] {
  return {
    enabled: general["alerts.enabled"],
    spikeCount: general["alerts.spike_count"],
    spikeFactor: general["alerts.spike_factor"],
    failingMs: general["alerts.failing_minutes"],
    perHour: general["alerts.per_hour"],
  };
}

function servicesOf(general: GeneralValues): Pick<Config, "secondFactor" | "telephony" | "push"> {
  return {
    push: {
      enabled: general["push.enabled"],
      hosts: general["push.hosts"],
      contact: general["push.contact"],
    },
    secondFactor: {
      url: general["second_factor.url"],
      consumerKey: general["second_factor.consumer_key"],
      consumerSecret: general["second_factor.consumer_secret"],
      timeoutMs: general["second_factor.timeout_ms"],
    },
    telephony: {
      url: general["telephony.url"],
      accountId: general["telephony.account_id"],
      authToken: general["telephony.auth_token"],
      from: general["telephony.from"],
      twimlEchoUrl: general["telephony.twiml_echo_url"],
      connectionsPerRoute: general["telephony.connections_per_route"],
      connectionsTotal: general["telephony.connections_total"],
      timeoutMs: general["telephony.timeout_ms"],
    },
  };
}

function oidcOf(general: GeneralValues): Config["console"]["oidc"] {
  const issuer = general["console.oidc.issuer"];
  return issuer === "" ? null : {
    issuer,
    name: general["console.oidc.name"] || new URL(issuer).hostname,
    clientId: general["console.oidc.client_id"],
    clientSecret: general["console.oidc.client_secret"],
    scopes: general["console.oidc.scopes"],
    roleClaim: general["console.oidc.role_claim"],
    owners: general["console.oidc.owners"],
    userManagers: general["console.oidc.user_managers"],
    operators: general["console.oidc.operators"],
    helpDesk: general["console.oidc.help_desk"],
    viewers: general["console.oidc.viewers"],
  };
}

function mailOf({ general, mailCaPem }: ParsedSettings): Config["mail"] {
  return {
    host: general["mail.host"],
    port: general["mail.port"],
    security: general["mail.security"],
    user: general["mail.user"],
    password: general["mail.password"],
    caPem: mailCaPem,
    from: general["mail.from"] || null,
    replyTo: general["mail.reply_to"] || null,
    language: general["mail.language"],
    perMinute: general["mail.per_minute"],
    timeoutMs: general["mail.timeout_ms"],
  };
}

/** An optional path. */
function absolute(cwd: string, path: string): string {
  return path === "" ? "" : resolve(cwd, path);
}

/** Builds the Config of `parts`, without checks. */
export function buildConfig(parts: ParsedSettings): Config {
  const { general } = parts;
  return {
    file: parts.file,
    server: {
      dataDir: resolve(parts.cwd, general["server.data_dir"]),
      logFormat: general["server.log_format"],
      logLevel: general["server.log_level"],
    },
    store: { kv: general["store.kv"] },
    http: {
      listen: general["http.listen"],
      publicUrl: parts.publicUrl,
      tls: parts.tls,
      trustedProxies: general["http.trusted_proxies"],
    },
    radius: {
      listen: general["radius.listen"],
      accounting: {
        listen: general["radius.accounting_listen"],
        isGiven: parts.accountingListenIsGiven,
      },
      secret: general["radius.secret"],
      state: general["radius.state"],
      directory: general["radius.directory"],
      conversationTtlMs: general["radius.conversation_ttl_s"],
      loginJoinWindowMs: general["radius.login_join_window_s"],
      anyClient: toClientPolicy(parts.anyClient),
      clients: parts.clients.map(toClientSettings),
      replyDefault: parts.replyDefault,
      replyGroups: parts.replyGroups,
      replyUsers: parts.replyUsers,
      replyFromDirectory: parts.replyFromDirectory,
    },
    factors: factorsOf(general),
    enrolment: enrolmentOf(general),
    alerts: alertsOf(general),
    helpDesk: {
      bypassMaxMs: general["help_desk.bypass_max_minutes"],
      bypassMaxUses: general["help_desk.bypass_max_uses"],
      bypassAnyUses: general["help_desk.bypass_any_uses"],
      verificationsPerHour: general["help_desk.verifications_per_hour"],
    },
    ...servicesOf(general),
    mail: mailOf(parts),
    geoip: {
      database: absolute(parts.cwd, general["geoip.database"]),
      asnDatabase: absolute(parts.cwd, general["geoip.asn_database"]),
    },
    targets: parts.targets,
    scim: { credentials: parts.credentials },
    console: {
      sessionMs: general["console.session_hours"],
      idleMs: general["console.idle_minutes"],
      secondFactor: general["console.second_factor"],
      auditRetentionMs: general["console.audit_days"] * DAY_MS,
      admins: parts.admins.map(({ name, password, role }) => ({ name, password, role })),
      oidc: oidcOf(general),
    },
  };
}

// The Settings page: settings, sign-in limits, retention limits, and licences. setting_changes.ts has the routes that change settings.

import { DAY_MS, HOUR_MS } from "../../../platform/durations.ts";
import { createSettingChangeRoutes, type SettingChangeDeps } from "./setting_changes.ts";
import type {
  Installation,
  LicenceRow,
  ProviderStatus,
  RetentionRow,
  SettingsAnswer,
  SignInLimits,
} from "./setting_types.ts";
import type { OidcSettings } from "../../../platform/config/config.ts";
import { Hono } from "hono";
import type { Clock } from "../../../platform/runtime.ts";
import { may, RECENT_FACTOR_MS } from "../auth/permissions.ts";
import { MIN_PASSWORD_CHARACTERS } from "../auth/admin_store.ts";
import { FAILURES_PER_MINUTE } from "../auth/sign_in_rate_limit.ts";
import { CODE_LOCK_MS, HARD_WRONG_CODES, MAX_WRONG_CODES } from "../auth/factors.ts";
import type { HttpEnv } from "../hono_env.ts";
import type { OidcProvider } from "../auth/oidc_provider.ts";
import { DEFAULT_AUDIT_RETENTION_MS } from "../../../platform/audit.ts";
import { DELETED_USER_DAYS } from "../../../platform/user_record.ts";
import { SESSION_LIMITS } from "../../../radius/protocol/accounting.ts";
import { CAPTURE_LIMITS } from "../../../radius/protocol/dissect_packet.ts";
import { HISTORY_RETENTION_MS } from "../../../radius/conversation/login_record.ts";
import { CHART_SPANS } from "../charts/chart_series.ts";
import { INVITATION_MS, SETUP_MS } from "../auth/invitations.ts";
import { HISTORY_LIMIT } from "../conversations/event_feed.ts";

export interface SettingRouteDeps extends SettingChangeDeps {
  readonly installation: Installation;
  readonly http: { readonly publicUrl: string };
  readonly console: { readonly oidc?: OidcSettings | null; readonly auditRetentionMs?: number };
  readonly oidc: () => { readonly provider: Pick<OidcProvider, "lastContact"> } | null;
  readonly clock: Clock;
}

export function createSettingRoutes(deps: SettingRouteDeps) {
  return new Hono<HttpEnv>()
    .get("/", may("viewer"), (c) => c.json(settingsAnswer(deps)))
    .route("/", createSettingChangeRoutes(deps, () => settingsAnswer(deps)));
}

function settingsAnswer(deps: SettingRouteDeps): SettingsAnswer {
  const { clock, settings, installation: { version, runtime, startedMs, file } } = deps;
  return {
    nowMs: clock.nowMs(),
    file,
    version: String(settings.version),
    warnings: settings.warnings,
    settings: settings.list(),
    directories: settings.config.targets.map(({ name, backends }) => ({
      name,
      ldap: backends.filter(({ kind }) => kind === "ldap").map((backend) => backend.name),
    })),
    signIn: signInRules(deps),
    kept: retentionRows(deps.console),
    about: { version, runtime, startedMs, licences: LICENCES },
  };
}

function signInRules({ http: { publicUrl }, console, oidc }: SettingRouteDeps): SignInLimits {
  return {
    minPasswordCharacters: MIN_PASSWORD_CHARACTERS,
    failuresPerMinute: FAILURES_PER_MINUTE,
    wrongCodes: MAX_WRONG_CODES,
    codeLockMs: CODE_LOCK_MS,
    hardWrongCodes: HARD_WRONG_CODES,
    stepUpMs: RECENT_FACTOR_MS,
    publicUrl,
    passkeys: passkeysAt(publicUrl),
    provider: providerStatus(console.oidc ?? null, oidc),
  };
}

/** Whether passkeys work at an address: WebAuthn (Level 3 §5.1.3) requires https and a host name. */
export function passkeysAt(publicUrl: string): SignInLimits["passkeys"] {
  const { protocol, hostname } = new URL(publicUrl);
  if (/^[\d.]+$/.test(hostname) || hostname.startsWith("[")) return "address_is_number";
  const isSecure = protocol === "https:" || hostname === "localhost" || hostname.endsWith(".localhost");
  return isSecure ? "possible" : "not_secure";
}

function providerStatus(
  settings: OidcSettings | null,
  oidc: SettingRouteDeps["oidc"],
): ProviderStatus | null {
  if (settings === null) return null;
  const { name, issuer } = settings;
  return { name, issuer, asked: oidc()?.provider.lastContact() ?? null };
}

export const LICENCES: readonly LicenceRow[] = [
  { name: "Countersign", licence: "MIT" },
  { name: "@preact/signals", licence: "MIT" },
  { name: "@simplewebauthn/server", licence: "MIT" },
  { name: "@std", licence: "MIT" },
  { name: "hono", licence: "MIT" },
  { name: "jose", licence: "MIT" },
  { name: "ldapts", licence: "MIT" },
  { name: "lucide-static", licence: "ISC" },
  { name: "nodemailer", licence: "MIT-0" },
  { name: "oauth4webapi", licence: "MIT" },
  { name: "preact", licence: "MIT" },
  { name: "sax", licence: "BlueOak-1.0.0" },
  { name: "smol-toml", licence: "BSD-3-Clause" },
  { name: "uqr", licence: "MIT" },
  { name: "valibot", licence: "MIT" },
];

const inStore = { where: "store" } as const;
const inMemory = { where: "memory", unit: "count" } as const;

/** @param auditRetentionMs the setting `console.audit_days`, which the store enforces. */
export const retentionRows = (
  { auditRetentionMs = DEFAULT_AUDIT_RETENTION_MS }: { auditRetentionMs?: number },
): readonly RetentionRow[] => [
  { name: "history", amount: HISTORY_RETENTION_MS / DAY_MS, unit: "days", ...inStore },
  { name: "audit", amount: auditRetentionMs / DAY_MS, unit: "days", ...inStore },
  { name: "vpn_sessions", amount: SESSION_LIMITS.retentionMs / DAY_MS, unit: "days", ...inStore },
  { name: "deleted_users", amount: DELETED_USER_DAYS, unit: "days", ...inStore },
  { name: "charts_hour", amount: CHART_SPANS.hour.keptMs / DAY_MS, unit: "days", ...inStore },
  { name: "charts_minute", amount: CHART_SPANS.minute.keptMs / HOUR_MS, unit: "hours", ...inStore },
  { name: "invitations", amount: INVITATION_MS / HOUR_MS, unit: "hours", ...inStore },
  { name: "set_up_links", amount: SETUP_MS / HOUR_MS, unit: "hours", ...inStore },
  { name: "logins_with_packets", amount: CAPTURE_LIMITS.maxConversations, ...inMemory },
  { name: "packets_each", amount: CAPTURE_LIMITS.maxEach, ...inMemory },
  { name: "stray_packets", amount: CAPTURE_LIMITS.maxStrays, ...inMemory },
  { name: "packet_octets", amount: CAPTURE_LIMITS.ringOctets, ...inMemory, unit: "octets" },
  { name: "live_changes", amount: HISTORY_LIMIT, ...inMemory },
];

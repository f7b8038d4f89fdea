// The Settings page: settings, their changes with check, undo and tests of services, sign-in limits, retention limits, and licences.

import * as v from "valibot";
import { DAY_MS, HOUR_MS } from "../../../platform/durations.ts";
import type { Config, ConfigFault, ConfigWarning, OidcSettings } from "../../../platform/config/config.ts";
import { type Context, Hono } from "hono";
import type { Clock } from "../../../platform/runtime.ts";
import { may, RECENT_FACTOR_MS } from "../auth/permissions.ts";
import { MIN_PASSWORD_CHARACTERS } from "../auth/admin_store.ts";
import { FAILURES_PER_MINUTE } from "../auth/sign_in_rate_limit.ts";
import { CODE_LOCK_MS, HARD_WRONG_CODES, MAX_WRONG_CODES } from "../auth/factors.ts";
import { callerOf, type HttpEnv, jsonBody, textUpTo } from "../hono_env.ts";
import { OidcProvider } from "../auth/oidc_provider.ts";
import { auditKey, DEFAULT_AUDIT_RETENTION_MS } from "../../../platform/audit.ts";
import { DELETED_USER_DAYS } from "../../../platform/user_record.ts";
import { SESSION_LIMITS } from "../../../radius/protocol/accounting.ts";
import { CAPTURE_LIMITS } from "../../../radius/protocol/dissect_packet.ts";
import { HISTORY_RETENTION_MS } from "../../../radius/conversation/login_record.ts";
import { CHART_SPANS } from "../charts/chart_series.ts";
import { INVITATION_MS, SETUP_MS } from "../auth/invitations.ts";
import { HISTORY_LIMIT } from "../conversations/event_feed.ts";
import { reducePhoneNumber } from "../../../platform/phone_number.ts";
import { problemOf } from "../../../platform/setting_problems.ts";
import type { LiveSettings } from "../../../platform/config/live_settings.ts";
import type { SaveResult, SettingChanges, SettingDiff } from "../../../platform/config/setting_writer.ts";
import type { MailProblemCode } from "../../../platform/mail/mail_records.ts";
import type { MailService } from "../../../platform/mail/mail_service.ts";
import { withMailErrors } from "../mail/mail_routes.ts";
import type { Fetch } from "../../../platform/fetch_with_deadline.ts";
import type { Store } from "../../../platform/store.ts";
import type { ServiceTrial, TrialCode, TrialResult } from "../../../upstream/services.ts";
import { createHostCheck } from "../../request_gate.ts";
import { OIDC_CALLBACK_PATH } from "../auth/oidc_routes.ts";
import type { Connect } from "../deps.ts";
import { Refusal } from "../errors.ts";
import type { SettingValue, SettingView } from "../../../platform/config/list_settings.ts";

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
const retentionRows = (
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

interface SettingChangeDeps {
  readonly settings: LiveSettings;
  readonly store: Store;
  readonly clock: Clock;
  readonly serviceTrial?: ServiceTrial;
  readonly fetch?: Fetch;
  readonly mail?: Pick<MailService, "try">;
  readonly connect?: Pick<Connect, "targetsApplied">;
}

const DROPPED_KEYS = ["__proto__", "constructor", "prototype"];

const isTable = (raw: unknown): raw is object =>
  typeof raw === "object" && raw !== null && !Array.isArray(raw);

/** Reply attributes with all their names, because an unknown name has to be refused with its reason. */
function isAttributeTable(raw: unknown): boolean {
  return isTable(raw) &&
    Object.entries(raw).every(([name, value]) =>
      name.length <= 128 && (typeof value === "number" || typeof value === "string" && value.length <= 253)
    );
}

const VALUE = v.nullable(v.union([
  v.pipe(v.string(), v.maxLength(64 * 1024)),
  v.number(),
  v.boolean(),
  v.pipe(v.array(textUpTo(1024)), v.maxLength(1000)),
  v.custom<Readonly<Record<string, string | number>>>(isAttributeTable),
]));
const CHANGES = v.pipe(
  // A record drops these keys without a word.
  v.custom<Readonly<Record<string, unknown>>>((raw) =>
    isTable(raw) && !DROPPED_KEYS.some((key) => Object.hasOwn(raw, key))
  ),
  v.record(textUpTo(100), VALUE),
  v.check((changes) => Object.keys(changes).length <= 200),
);
const CHECK = v.strictObject({ changes: CHANGES });
const VERSION = v.pipe(v.string(), v.regex(/^\d{1,15}$/), v.transform(Number));
const SAVE = v.strictObject({ version: VERSION, changes: CHANGES });
const UNDO = v.strictObject({ auditId: textUpTo(100) });
const TEST = v.strictObject({
  changes: CHANGES,
  /** A number that receives a text. */
  to: v.optional(
    v.pipe(textUpTo(64), v.transform((typed) => reducePhoneNumber(typed) ?? ""), v.minLength(1)),
  ),
});

const MAIL_TEST = v.strictObject({
  changes: CHANGES,
  /** An address that receives a message. */
  to: v.optional(textUpTo(254)),
});

const SENDS_TEST = may("owner", { recentFactor: true, sendsTest: true });

function createSettingChangeRoutes(deps: SettingChangeDeps, answer: () => SettingsAnswer) {
  const { settings, store } = deps;
  /** Answers when directories follow the change: the next packet, and the next page, use them. */
  const saved = async (c: Context<HttpEnv>, result: SaveResult): Promise<SettingsSaved> => {
    const auditId = requireSaved(c, result);
    await deps.connect?.targetsApplied();
    return { ...answer(), auditId };
  };
  return new Hono<HttpEnv>()
    .post("/check", may("owner"), jsonBody(CHECK), (c) => {
      const { config, faults, warnings, diff } = settings.draft({ changes: c.req.valid("json").changes });
      const lost = lostAddress(c, config.http.publicUrl, settings);
      return c.json({ faults, warnings: [...warnings, ...lost], diff } satisfies SettingCheck);
    })
    .put("/", may("owner"), jsonBody(SAVE), async (c) => {
      const { version, changes } = c.req.valid("json");
      requireFactorFor(c, Object.keys(changes), settings);
      return c.json(await saved(c, await settings.writer.change(changes, { ...callerOf(c), version })));
    })
    .post("/undo", may("owner"), jsonBody(UNDO), async (c) => {
      const { value } = await store.get<{ revision?: unknown }>(auditKey(c.req.valid("json").auditId));
      const revision = value?.revision;
      if (typeof revision !== "number") throw new Refusal("setting_unknown_change");
      const undone = await settings.writer.undone(revision);
      if (undone === null) throw new Refusal("setting_unknown_change");
      requireFactorFor(c, undone.keys, settings);
      if (undone.targets.length > 0) c.var.requireRecentFactor();
      const result = await settings.writer.undo(revision, callerOf(c));
      if (result === null) throw new Refusal("setting_unknown_change");
      return c.json(await saved(c, result));
    })
    .post("/test/second_factor", may("owner", { recentFactor: true }), jsonBody(TEST), async (c) => {
      const { config } = requireValid(settings, c.req.valid("json").changes);
      return c.json(await timed(deps, async () => await deps.serviceTrial?.secondFactor(config)));
    })
    .post("/test/telephony", SENDS_TEST, jsonBody(TEST), async (c) => {
      const { changes, to = null } = c.req.valid("json");
      const { config } = requireValid(settings, changes);
      return c.json(await timed(deps, async () => await deps.serviceTrial?.telephony(config, { to })));
    })
    .post("/test/mail", SENDS_TEST, jsonBody(MAIL_TEST), async (c) => {
      const { changes, to } = c.req.valid("json");
      const { config } = requireValid(settings, changes);
      return c.json(
        await timed(deps, () => testMail(deps, config, { to, administrator: callerOf(c).actor })),
      );
    })
    .post("/test/oidc", may("owner", { recentFactor: true }), jsonBody(TEST), async (c) => {
      const { config } = requireValid(settings, c.req.valid("json").changes);
      return c.json(await timed(deps, () => testProvider(deps, config)));
    });
}

/** A warning if the address that the administrator uses would be refused. */
function lostAddress(
  c: Context<HttpEnv>,
  publicUrl: string,
  { config: { http } }: LiveSettings,
): ConfigWarning[] {
  if (publicUrl === http.publicUrl || c.env.viaControlSocket) return [];
  const { host } = new URL(c.req.url);
  if (createHostCheck({ listen: http.listen, publicUrl })(host)) return [];
  return [{ key: "http.public_url", ...problemOf("address_lost", { host, url: publicUrl }) }];
}

/** A change of a setting that protects sign-ins needs a recent factor, as changes of policies, clients and directories do. */
function requireFactorFor(c: Context<HttpEnv>, keys: readonly string[], settings: LiveSettings): void {
  if (keys.some((key) => settings.isSecurity(key))) c.var.requireRecentFactor();
}

/** @throws Refusal `changed_meanwhile`, `bad_settings`. */
export function requireSaved(c: Context<HttpEnv>, result: SaveResult): string | null {
  if (result.ok) return result.auditId;
  if (result.reason === "faults") throw badSettings(result.faults);
  const refusal = new Refusal("changed_meanwhile");
  const { actor } = callerOf(c);
  refusal.conflicts = result.conflicts.map((one) => ({ ...one, isOwn: one.by === actor }));
  throw refusal;
}

export function badSettings(faults: readonly ConfigFault[]): Refusal {
  const refusal = new Refusal("bad_settings");
  refusal.faults = faults;
  return refusal;
}

function requireValid(settings: LiveSettings, changes: SettingChanges) {
  const draft = settings.draft({ changes });
  if (draft.faults.length > 0) throw badSettings(draft.faults);
  return draft;
}

const EMBEDDED: TrialResult = { ok: true, code: "embedded", detail: "" };

/** Sentences for programs; pages translate the code. */
const MESSAGES: Readonly<Record<TrialCode, string>> = {
  embedded: "The embedded service is used. There is nothing to test.",
  accepted: "The service answered and accepted the credentials.",
  answered: "The service answered. It did not say whether the credentials are right.",
  sent: "The service accepted the test message.",
  credentials_refused: "The service refused the credentials.",
  refused: "The service refused the test.",
  no_mail: "No mail server or no sender is entered. There is nothing to test.",
  no_tls: "The encrypted connection failed. Check the security, the port and the certificate.",
  unreachable: "The service did not answer as expected. Check the address.",
};

async function timed(
  { clock }: SettingChangeDeps,
  test: () => Promise<TrialResult | undefined>,
): Promise<SettingTest> {
  const startedMs = clock.nowMs();
  const { ok, code, detail } = await test() ?? EMBEDDED;
  const message = detail === "" ? MESSAGES[code] : `${MESSAGES[code]} (${detail})`;
  return { ok, code, detail, message, tookMs: clock.nowMs() - startedMs };
}

/** What a problem of mail means for the settings. */
const MAIL_TRIALS: Readonly<Partial<Record<MailProblemCode, TrialCode>>> = {
  sign_in: "credentials_refused",
  unreachable: "unreachable",
  name_not_found: "unreachable",
  timeout: "unreachable",
  tls: "no_tls",
  no_starttls: "no_tls",
};

async function testMail(
  { mail }: SettingChangeDeps,
  config: Config,
  { to, administrator }: { to: string | undefined; administrator: string },
): Promise<TrialResult> {
  const { host, from, language } = config.mail;
  if (mail === undefined || host === "" || from === null) return { ok: true, code: "no_mail", detail: "" };
  const message = to === undefined ? null : { to, administrator, language };
  const outcome = await withMailErrors(() => mail.try(config, message));
  const { detail } = outcome;
  if (outcome.ok) return { ok: true, code: message === null ? "accepted" : "sent", detail };
  return { ok: false, code: MAIL_TRIALS[outcome.code] ?? "refused", detail };
}

async function testProvider(
  { clock, fetch = globalThis.fetch }: SettingChangeDeps,
  { console: { oidc }, http }: LiveSettings["config"],
): Promise<TrialResult> {
  if (oidc === null) return EMBEDDED;
  const provider = new OidcProvider({ settings: oidc, fetch, clock });
  try {
    const ok = await provider.acceptsCredentials({ redirectUri: http.publicUrl + OIDC_CALLBACK_PATH });
    return { ok, code: ok ? "accepted" : "credentials_refused", detail: "" };
  } catch (fault) {
    if (!(fault instanceof Refusal)) throw fault;
    return { ok: false, code: "unreachable", detail: "" };
  }
}

export type { ConfigFault, ConfigWarning, SettingDiff, SettingValue, SettingView };

export interface Installation {
  readonly version: string;
  /** Deno's. */
  readonly runtime: string;
  readonly startedMs: number;
  /** The settings file, absolute; `null` when there is none. */
  readonly file: string | null;
}

/** A retention limit: a time, or a number. */
export interface RetentionRow {
  readonly name: RetentionName;
  readonly amount: number;
  readonly unit: "days" | "hours" | "count" | "octets";
  readonly where: "store" | "memory";
}

type RetentionName =
  | "history"
  | "audit"
  | "vpn_sessions"
  | "deleted_users"
  | "charts_hour"
  | "charts_minute"
  | "invitations"
  | "set_up_links"
  | "logins_with_packets"
  | "packets_each"
  | "stray_packets"
  | "packet_octets"
  | "live_changes";

/** The sign-in limits, which are not in the settings file. */
interface SignInLimits {
  readonly minPasswordCharacters: number;
  readonly failuresPerMinute: number;
  readonly wrongCodes: number;
  readonly hardWrongCodes: number;
  readonly codeLockMs: number;
  readonly stepUpMs: number;
  readonly publicUrl: string;
  readonly passkeys: "possible" | "address_is_number" | "not_secure";
  readonly provider: ProviderStatus | null;
}

export interface ProviderStatus {
  readonly name: string;
  readonly issuer: string;
  /** The last request; `null`: none since the start. */
  readonly asked: { readonly atMs: number; readonly ok: boolean } | null;
}

export interface LicenceRow {
  readonly name: string;
  readonly licence: string;
}

/** A directory, and the names of its LDAP connectors. */
export interface DirectoryNames {
  readonly name: string;
  readonly ldap: readonly string[];
}

export interface SettingsAnswer {
  readonly nowMs: number;
  readonly file: string | null;
  /** Of this state; a save names the version that it is based on. */
  readonly version: string;
  readonly warnings: readonly ConfigWarning[];
  readonly settings: readonly SettingView[];
  /** What settings can name. */
  readonly directories: readonly DirectoryNames[];
  readonly signIn: SignInLimits;
  readonly kept: readonly RetentionRow[];
  readonly about: {
    readonly version: string;
    readonly runtime: string;
    readonly startedMs: number;
    readonly licences: readonly LicenceRow[];
  };
}

/** What a change would do. Nothing is saved. */
export interface SettingCheck {
  readonly faults: readonly ConfigFault[];
  /** Those that the change adds. */
  readonly warnings: readonly ConfigWarning[];
  readonly diff: readonly SettingDiff[];
}

/** `auditId`: null if nothing changed. */
interface SettingsSaved extends SettingsAnswer {
  readonly auditId: string | null;
}

/** The result of a test. `code` names it for translations. */
export interface SettingTest {
  readonly ok: boolean;
  readonly code: TrialCode;
  /** What the service said, in its language, or "". */
  readonly detail: string;
  readonly message: string;
  readonly tookMs: number;
}

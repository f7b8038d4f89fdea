// Changes of settings: check, save, undo, and tests of services with values that are not saved.

import * as v from "valibot";
import { type Context, Hono } from "hono";
import { auditKey } from "../../../platform/audit.ts";
import type { Config, ConfigFault, ConfigWarning } from "../../../platform/config/config.ts";
import { reducePhoneNumber } from "../../../platform/phone_number.ts";
import { problemOf } from "../../../platform/setting_problems.ts";
import type { LiveSettings } from "../../../platform/config/live_settings.ts";
import type { SaveResult, SettingChanges } from "../../../platform/config/setting_writer.ts";
import type { MailProblemCode } from "../../../platform/mail/mail_records.ts";
import type { MailService } from "../../../platform/mail/mail_service.ts";
import { withMailErrors } from "../mail/mail_routes.ts";
import type { Clock } from "../../../platform/runtime.ts";
import type { Fetch } from "../../../platform/fetch_with_deadline.ts";
import type { Store } from "../../../platform/store.ts";
import type { ServiceTrial, TrialCode, TrialResult } from "../../../upstream/services.ts";
import { createHostCheck } from "../../request_gate.ts";
import { OIDC_CALLBACK_PATH } from "../auth/oidc_routes.ts";
import { OidcProvider } from "../auth/oidc_provider.ts";
import { may } from "../auth/permissions.ts";
import type { Connect } from "../deps.ts";
import { Refusal } from "../errors.ts";
import { callerOf, type HttpEnv, jsonBody, textUpTo } from "../hono_env.ts";
import type { SettingCheck, SettingsAnswer, SettingsSaved, SettingTest } from "./setting_types.ts";

export interface SettingChangeDeps {
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

export function createSettingChangeRoutes(deps: SettingChangeDeps, answer: () => SettingsAnswer) {
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

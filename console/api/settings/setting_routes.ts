// The settings, to be read: what the file says, what holds besides, what this installation is. Nothing is changed here.

import { Hono } from "hono";
import type { OidcSettings } from "../../../platform/config/config.ts";
import type { Clock } from "../../../platform/runtime.ts";
import { may, STEP_UP_MS } from "../auth/permissions.ts";
import { MIN_PASSWORD_CHARACTERS } from "../auth/admin_store.ts";
import { FAILURES_PER_MINUTE } from "../auth/sign_in_rate_limit.ts";
import { CODE_LOCK_MS, MAX_WRONG_CODES } from "../auth/factors.ts";
import type { HttpEnv } from "../hono_env.ts";
import { LICENCES } from "./licences.ts";
import { retentionRows } from "./retention.ts";
import type { OidcProvider } from "../auth/oidc_provider.ts";
import type { Installation, ProviderStanding, SettingsAnswer, SignInRules } from "./setting_types.ts";

export interface SettingRouteDeps {
  readonly installation: Installation;
  readonly http: { readonly publicUrl: string };
  readonly console: { readonly oidc?: OidcSettings | null; readonly auditKeptMs?: number };
  readonly oidc: { readonly provider: Pick<OidcProvider, "standing"> } | null;
  readonly clock: Clock;
}

export function createSettingRoutes(deps: SettingRouteDeps) {
  return new Hono<HttpEnv>().get("/", may("viewer"), (c) => {
    const { clock, installation: { version, runtime, startedMs, file, settings } } = deps;
    return c.json(
      {
        nowMs: clock.nowMs(),
        file,
        settings,
        signIn: signInRules(deps),
        kept: retentionRows(deps.console),
        about: { version, runtime, startedMs, licences: LICENCES },
      } satisfies SettingsAnswer,
    );
  });
}

function signInRules({ http: { publicUrl }, console, oidc }: SettingRouteDeps): SignInRules {
  return {
    minPasswordCharacters: MIN_PASSWORD_CHARACTERS,
    failuresPerMinute: FAILURES_PER_MINUTE,
    wrongCodes: MAX_WRONG_CODES,
    codeLockMs: CODE_LOCK_MS,
    stepUpMs: STEP_UP_MS,
    publicUrl,
    passkeys: passkeysAt(publicUrl),
    provider: providerStanding(console.oidc ?? null, oidc),
  };
}

/** What WebAuthn (Level 3 §5.1.3) says of an address: a secure one, by a name. */
export function passkeysAt(publicUrl: string): SignInRules["passkeys"] {
  const { protocol, hostname } = new URL(publicUrl);
  if (/^[\d.]+$/.test(hostname) || hostname.startsWith("[")) return "address_is_number";
  const isSecure = protocol === "https:" || hostname === "localhost" || hostname.endsWith(".localhost");
  return isSecure ? "possible" : "not_secure";
}

function providerStanding(
  settings: OidcSettings | null,
  oidc: SettingRouteDeps["oidc"],
): ProviderStanding | null {
  if (settings === null) return null;
  const { name, issuer } = settings;
  return { name, issuer, asked: oidc?.provider.standing() ?? null };
}

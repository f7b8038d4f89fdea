// Creates the services of sign-in and authorization.

import type { AdminSettings, OidcSettings } from "../../../platform/config/config.ts";
import type { Fetch } from "../../../platform/fetch_with_deadline.ts";
import { createChangeLimit } from "../change_limits.ts";
import { createAccountRateLimit, createSignInRateLimit, createStartRateLimit } from "./sign_in_rate_limit.ts";
import { AdminCommands } from "./admin_commands.ts";
import { ApiTokens } from "./api_tokens.ts";
import type { Admin } from "./admin_records.ts";
import { AdminFactors, hasSecondFactor } from "./factors.ts";
import { createOidcAdmins, type OidcAdminsDeps } from "./oidc_routes.ts";
import { OidcProvider } from "./oidc_provider.ts";
import { Passkeys } from "./passkeys.ts";
import { TESTS_PER_MINUTE } from "./permissions.ts";
import { createRejectedSignIns, createSignIn } from "./sign_in.ts";
import { Sessions } from "./sessions.ts";

export interface AuthServiceDeps extends Omit<OidcAdminsDeps, "settings" | "configAdmins"> {
  readonly console: {
    readonly sessionMs: number;
    readonly idleMs: number;
    readonly secondFactor?: "offered" | "required";
    readonly admins?: readonly AdminSettings[];
    readonly oidc?: OidcSettings | null;
  };
  /** Calls the sign-in provider. */
  readonly fetch?: Fetch;
}

export function createAuthServices(deps: AuthServiceDeps) {
  const settings = deps.console;
  const attempts = createSignInRateLimit(deps, "console");
  const starts = createStartRateLimit(deps);
  const sessions = new Sessions({ ...deps, settings });
  const refused = createRejectedSignIns(deps);
  const recoveryAttempts = createSignInRateLimit(deps, "console_recovery");
  const factors = new AdminFactors({ ...deps, recoveryAttempts });
  const isSecondFactorRequired = () => settings.secondFactor === "required";
  const passkeys = new Passkeys({ ...deps, factors });
  return {
    attempts,
    starts,
    refused,
    sessions,
    factors,
    passkeys,
    isSecondFactorRequired,
    /** Accounts of the sign-in provider have the factors of the provider. */
    async mustSetUpFactor({ id, origin }: Admin): Promise<boolean> {
      if (!isSecondFactorRequired() || origin === "provider") return false;
      return !hasSecondFactor((await factors.read(id)).record);
    },
    signIn: createSignIn({
      ...deps,
      isSecondFactorRequired,
      factors,
      passkeys,
      attempts,
      accountAttempts: createAccountRateLimit(deps),
      refused,
    }),
    tokens: new ApiTokens(deps),
    testLimit: createChangeLimit(deps, {
      name: "console_test",
      perMinute: TESTS_PER_MINUTE,
      refusal: "too_many_tests",
    }),
    administrators: new AdminCommands({
      ...deps,
      factors,
      passkeys,
      configAdmins: settings.admins ?? [],
    }),
    oidc: followOidc(deps),
    providerName: () => settings.oidc?.name ?? null,
  };
}

type OidcServices = ReturnType<typeof createOidcServices>;

/** The services of the provider that the settings name now; `null`: none. */
function followOidc(deps: AuthServiceDeps): () => OidcServices | null {
  let used: { readonly of: string; readonly services: OidcServices } | null = null;
  return () => {
    const { oidc: settings = null } = deps.console;
    if (settings === null) return used = null;
    const of = JSON.stringify(Object.entries(settings));
    if (used?.of !== of) used = { of, services: createOidcServices(deps, { ...settings }) };
    return used.services;
  };
}

function createOidcServices(deps: AuthServiceDeps, settings: OidcSettings) {
  const { fetch = globalThis.fetch } = deps;
  return {
    provider: new OidcProvider({ ...deps, settings, fetch }),
    adminOf: createOidcAdmins({ ...deps, settings, configAdmins: deps.console.admins ?? [] }),
  };
}

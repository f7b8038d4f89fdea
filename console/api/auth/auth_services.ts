// Makes what stands behind signing in and what may be done: one of each for an application.

import type { AdminSettings, OidcSettings } from "../../../platform/config/config.ts";
import type { Log } from "../../../platform/log.ts";
import type { Fetch } from "../../../platform/fetch_with_deadline.ts";
import type { Clock, Random } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import type { Vault } from "../../../platform/vault.ts";
import { createAccountAttempts } from "./account_rate_limit.ts";
import { createAdministrators } from "./admin_commands.ts";
import type { Admins } from "./admin_store.ts";
import { createApiTokens } from "./api_tokens.ts";
import { createAttempts } from "./sign_in_rate_limit.ts";
import { createFactors } from "./factors.ts";
import { createOidcAdmins } from "./oidc_admins.ts";
import { OidcProvider } from "./oidc_provider.ts";
import { createPasskeys } from "./passkeys.ts";
import { createRefusedSignIns } from "./rejected_sign_ins.ts";
import { createSessions } from "./sessions.ts";
import { createSignIn } from "./sign_in.ts";

export interface AccessServiceDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly admins: Admins;
  readonly console: {
    readonly sessionMs: number;
    readonly idleMs: number;
    readonly admins?: readonly AdminSettings[];
    readonly oidc?: OidcSettings | null;
  };
  /** How the sign-in provider is called; needed only where there is one. */
  readonly fetch?: Fetch;
}

export type AccessServices = ReturnType<typeof createAccessServices>;

export function createAccessServices(deps: AccessServiceDeps) {
  const settings = deps.console;
  const attempts = createAttempts(deps);
  const sessions = createSessions({ ...deps, settings });
  const refused = createRefusedSignIns(deps);
  const factors = createFactors(deps);
  const passkeys = createPasskeys({ ...deps, factors });
  return {
    attempts,
    refused,
    sessions,
    factors,
    passkeys,
    signIn: createSignIn({
      ...deps,
      factors,
      passkeys,
      attempts,
      accountAttempts: createAccountAttempts(deps),
      refused,
    }),
    tokens: createApiTokens(deps),
    administrators: createAdministrators({
      ...deps,
      factors,
      passkeys,
      configAdmins: settings.admins ?? [],
    }),
    oidc: oidcOf(deps),
    providerName: settings.oidc?.name ?? null,
  };
}

function oidcOf(deps: AccessServiceDeps) {
  const { oidc: settings } = deps.console;
  if (settings === undefined || settings === null) return null;
  const { fetch = globalThis.fetch } = deps;
  return {
    provider: new OidcProvider({ ...deps, settings, fetch }),
    adminOf: createOidcAdmins({ ...deps, settings, configAdmins: deps.console.admins ?? [] }),
  };
}

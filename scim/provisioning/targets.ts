// All targets of the settings: each with its directory, its backends, and what delivers to them.

import type { PasswordHash } from "../../platform/password_hasher.ts";
import type {
  LdapBackendSettings,
  ScimBackendSettings,
  TargetSettings,
} from "../../platform/config/config.ts";
import type { Log } from "../../platform/log.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import type { Store } from "../../platform/store.ts";
import type { Vault } from "../../platform/vault.ts";
import type { Directory, Targets } from "../ports.ts";
import type { Backend } from "../backend_port.ts";
import { type OpenTarget, openTarget } from "./target.ts";

export interface TargetsDeps {
  readonly settings: readonly TargetSettings[];
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  hashPassword(password: string): Promise<PasswordHash>;
  openDirectory(target: string): Promise<Directory>;
  openBackend(target: TargetSettings, backend: LdapBackendSettings | ScimBackendSettings): Backend;
  /** Grows with every call. */
  orderedId(): string;
  /** The target that users sign in from. */
  readonly loginTarget?: string;
  /** Whom leases belong to: the same over restarts where no other process can have the store, so that what a killed one held is not waited for. */
  readonly owner?: string;
}

/** Opens every target and starts what delivers. Rejects when the store fails; a backend that is away stops nothing. */
export async function createTargets(deps: TargetsDeps): Promise<Targets> {
  const owner = deps.owner ?? deps.random.bytes(8).toHex();
  const targets = new Map<string, OpenTarget>();
  for (const settings of deps.settings) {
    const directory = await deps.openDirectory(settings.name);
    targets.set(
      settings.name,
      await openTarget({
        ...deps,
        owner,
        settings,
        directory,
        isLoginTarget: settings.name === deps.loginTarget,
      }),
    );
  }
  return {
    get: (name) => targets.get(name) ?? null,
    names: [...targets.keys()],
    async close() {
      await Promise.all([...targets.values()].map((target) => target.close()));
    },
  };
}

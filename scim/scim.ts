// Creates the SCIM side: targets with their directories and backends, credentials, and the HTTP application.

import type {
  Config,
  LdapBackendSettings,
  ScimBackendSettings,
  TargetSettings,
} from "../platform/config/config.ts";
import type { Cluster } from "../platform/cluster/cluster.ts";
import type { Log } from "../platform/log.ts";
import { HasherBusy, type PasswordHasher } from "../platform/password_hasher.ts";
import type { Fetch } from "../platform/fetch_with_deadline.ts";
import { NO_CHANGE } from "../platform/write_batch.ts";
import type { Clock, Random } from "../platform/runtime.ts";
import type { Store } from "../platform/store.ts";
import type { Vault } from "../platform/vault.ts";
import { createLdapBackend } from "./backends/ldap/ldap_backend.ts";
import { createScimBackend } from "./backends/scim/scim_backend.ts";
import { type BackendHealth, guardBackend, type GuardedBackend } from "./backends/guarded_backend.ts";
import { createDirectory } from "./directory/directory.ts";
import { createScimApp, type ScimApp } from "./http/app.ts";
import { Credentials } from "./http/credentials.ts";
import type { PrepareGroupCleanup, PrepareOffboarding, Target, Targets } from "./ports.ts";
import type { Backend, BackendOutcome } from "./backend_port.ts";
import { createMapping } from "./schema/mapping.ts";
import { createTargets } from "./provisioning/target.ts";

export interface ScimDeps {
  readonly config: Pick<Config, "targets" | "scim" | "http" | "radius">;
  readonly store: Store;
  /** Absent: only this process uses the store. */
  readonly cluster?: Pick<Cluster, "isShared" | "openLease">;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Must not keep connections alive: Deno silently repeats a POST if a kept connection closes. */
  readonly fetch: Fetch;
  /** Creates one hasher for each purpose, so that no login waits for checks of credentials. */
  readonly createHasher: () => PasswordHasher;
  readonly orderedId: () => string;
  /** Deletes what the gateway stores for a user of the login target. */
  readonly prepareOffboarding: PrepareOffboarding;
  /** Deletes what the gateway stores for a group of the login target. */
  readonly prepareGroupCleanup: PrepareGroupCleanup;
}

/** The result of a password check. `unchecked`: the user has no password, or the given one is not UTF-8. */
export type PasswordVerdict = "right" | "wrong" | "unchecked" | "unavailable" | "busy";

export interface Scim {
  readonly targets: Targets;
  readonly credentials: Credentials;
  readonly app: ScimApp;
  /** The login target: the target whose users log in. */
  readonly logins: Target;
  /** Whether the directory has a password hash of this user. */
  hasPassword(canonicalName: string): Promise<boolean>;
  /** Checks a password against the hash in the directory. */
  verifyPassword(canonicalName: string, password: Uint8Array): Promise<PasswordVerdict>;
  /** Checks a password by a bind at an ldap backend of {@link logins}. */
  verifyAtBackend(backend: string, userName: string, password: Uint8Array): Promise<PasswordVerdict>;
  /** The health of a backend since the start; `null` for an unknown backend and for the embedded store. */
  backendHealth(target: string, backend: string): BackendHealth | null;
  /** Probes a backend; `null` as for {@link backendHealth}. */
  probeBackend(target: string, backend: string): Promise<BackendOutcome<null> | null>;
  close(): Promise<void>;
}

/** Opens the directories of all targets, and starts the delivery to their backends. */
export async function createScim(deps: ScimDeps): Promise<Scim> {
  const { config, store, vault, clock, random, log } = deps;
  const newPasswordHasher = deps.createHasher();
  const backends = new Map<string, GuardedBackend>();
  const mappings = new Map(config.targets.map(({ name, mapping }) => [name, createMapping(mapping)]));
  const openBackend = (
    target: TargetSettings,
    settings: LdapBackendSettings | ScimBackendSettings,
  ): Backend => {
    const shared = { mapping: mappings.get(target.name) ?? createMapping(target.mapping), clock, log };
    const opened = settings.kind === "ldap"
      ? createLdapBackend({ ...shared, settings, random })
      : createScimBackend({ ...shared, settings, fetch: deps.fetch });
    const guarded = guardBackend(opened, { connections: settings.connections, clock, random, log });
    backends.set(`${target.name} ${settings.name}`, guarded);
    return guarded.backend;
  };
  const targets = await createTargets({
    settings: config.targets,
    store,
    ...(deps.cluster === undefined ? {} : { cluster: deps.cluster }),
    vault,
    clock,
    random,
    log,
    hashPassword: (password) => newPasswordHasher.make(password),
    openDirectory: (target, lease) =>
      createDirectory({
        store,
        lease,
        clock,
        random,
        log,
        target,
        mapping: mappings.get(target),
        ...(target === config.radius.directory
          ? { prepareOffboarding: deps.prepareOffboarding, prepareGroupCleanup: deps.prepareGroupCleanup }
          : { prepareOffboarding: () => NO_CHANGE }),
      }),
    openBackend,
    orderedId: deps.orderedId,
    loginTarget: config.radius.directory,
  });
  const logins = targets.get(config.radius.directory);
  if (logins === null) throw new Error(`Cannot find the target "${config.radius.directory}"`);
  const credentials = new Credentials({
    store,
    vault,
    clock,
    random,
    hasher: deps.createHasher(),
    log,
    settings: config.scim.credentials,
  });
  return {
    targets,
    credentials,
    logins,
    app: createScimApp({ targets, credentials, publicUrl: config.http.publicUrl, store, clock, log, random }),
    ...passwordChecks({ logins, hasher: deps.createHasher(), backends }),
    backendHealth: (target, backend) => backends.get(`${target} ${backend}`)?.health() ?? null,
    probeBackend: async (target, backend) =>
      await backends.get(`${target} ${backend}`)?.backend.probe() ?? null,
    close: () => targets.close(),
  };
}

function passwordChecks(
  { logins, hasher, backends }: {
    logins: Target;
    hasher: PasswordHasher;
    backends: ReadonlyMap<string, GuardedBackend>;
  },
): Pick<Scim, "hasPassword" | "verifyPassword" | "verifyAtBackend"> {
  const { directory } = logins;
  return {
    hasPassword: async (canonicalName) => await directory.readPassword(canonicalName) !== null,
    async verifyPassword(canonicalName, password) {
      const hash = await directory.readPassword(canonicalName);
      const text = decodeUtf8(password);
      // The reply is delayed by a second in any case, so a name without a password needs no decoy.
      if (hash === null || text === null) return "unchecked";
      try {
        return await hasher.check(text, hash) ? "right" : "wrong";
      } catch (fault) {
        // Nothing was checked. The request gets no reply, and the client sends it again.
        if (fault instanceof HasherBusy) return "busy";
        throw fault;
      }
    },
    async verifyAtBackend(name, userName, password) {
      const backend = backends.get(`${logins.name} ${name}`);
      const verdict = await backend?.backend.verify?.(userName, password);
      return verdict?.ok === true ? verdict.value : "unavailable";
    },
  };
}

function decodeUtf8(octets: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(octets);
  } catch (_notUtf8) {
    return null;
  }
}

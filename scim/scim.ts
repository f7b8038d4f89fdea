// The identity interface, put together from its parts: targets over directories and backends, credentials, and the HTTP application.

import type {
  Config,
  LdapBackendSettings,
  ScimBackendSettings,
  TargetSettings,
} from "../platform/config/config.ts";
import type { Log } from "../platform/log.ts";
import { HasherBusy, type PasswordHasher } from "../platform/password_hasher.ts";
import type { Fetch } from "../platform/fetch_with_deadline.ts";
import { NO_CHANGE } from "../platform/write_batch.ts";
import type { Clock, Random } from "../platform/runtime.ts";
import type { Store } from "../platform/store.ts";
import type { Vault } from "../platform/vault.ts";
import { createLdapBackend } from "./backends/ldap/ldap_backend.ts";
import { createScimBackend } from "./backends/scim/scim_backend.ts";
import { type BackendStanding, guardBackend, type GuardedBackend } from "./backends/guarded_backend.ts";
import { createDirectory } from "./directory/directory.ts";
import { createScimApp, type ScimApp } from "./http/app.ts";
import { createCredentials, type Credentials } from "./http/credentials.ts";
import type { PrepareGroupTurn, PrepareLeaving, Target, Targets } from "./ports.ts";
import type { Backend, BackendOutcome } from "./backend_port.ts";
import { createMapping } from "./schema/mapping.ts";
import { createTargets } from "./provisioning/targets.ts";

export interface IdentityDeps {
  readonly config: Pick<Config, "targets" | "scim" | "http" | "radius">;
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Opens no connection that is kept: Deno repeats a POST silently when a kept one dies. */
  readonly fetch: Fetch;
  /** Called for each use of a hasher, so that no login waits behind guesses of credentials. */
  readonly createHasher: () => PasswordHasher;
  readonly orderedId: () => string;
  /** What leavers of the target whose users log in leave behind in the gateway. */
  readonly prepareLeaving: PrepareLeaving;
  /** What is kept for groups of that target elsewhere. */
  readonly prepareGroupTurn: PrepareGroupTurn;
}

/** The verdict on a password, as the gateway's first factor gives it. `unchecked`: there is no password that it could be. */
export type PasswordVerdict = "right" | "wrong" | "unchecked" | "unavailable" | "busy";

export interface Identity {
  readonly targets: Targets;
  readonly credentials: Credentials;
  readonly app: ScimApp;
  /** The target whose users log in. */
  readonly logins: Target;
  /** Whether the directory has the hash of a password of this user. */
  hasPassword(canonicalName: string): Promise<boolean>;
  /** Checks a password against the hash that the directory keeps. Octets that are not UTF-8 are refused without a check. */
  verifyPassword(canonicalName: string, password: Uint8Array): Promise<PasswordVerdict>;
  /** Checks a password by a bind at an ldap backend of {@link logins}. */
  verifyAtBackend(backend: string, userName: string, password: Uint8Array): Promise<PasswordVerdict>;
  /** What is known of a backend since the start; `null` for one that is not there, and for the store itself. */
  standing(target: string, backend: string): BackendStanding | null;
  /** Asks a backend for the least; `null` as for {@link standing}. */
  probe(target: string, backend: string): Promise<BackendOutcome<null> | null>;
  close(): Promise<void>;
}

/** The data directory is locked, so the process that has its store is the only one. */
const STORE_HOLDER = "data directory";

/** Opens the directories of all targets and starts what delivers to their backends. */
export async function createIdentity(deps: IdentityDeps): Promise<Identity> {
  const { config, store, vault, clock, random, log } = deps;
  const hashers = {
    credentials: deps.createHasher(),
    logins: deps.createHasher(),
    newPasswords: deps.createHasher(),
  };
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
    vault,
    clock,
    random,
    log,
    hashPassword: (password) => hashers.newPasswords.make(password),
    openDirectory: (target) =>
      createDirectory({
        store,
        clock,
        random,
        log,
        target,
        mapping: mappings.get(target),
        ...(target === config.radius.directory
          ? { prepareLeaving: deps.prepareLeaving, prepareGroupTurn: deps.prepareGroupTurn }
          : { prepareLeaving: () => NO_CHANGE }),
      }),
    openBackend,
    orderedId: deps.orderedId,
    loginTarget: config.radius.directory,
    owner: STORE_HOLDER,
  });
  const credentials = createCredentials({
    store,
    vault,
    clock,
    random,
    hasher: hashers.credentials,
    log,
    settings: config.scim.credentials,
  });
  const logins = targets.get(config.radius.directory);
  if (logins === null) throw new Error(`Cannot find the target "${config.radius.directory}"`);

  return {
    targets,
    credentials,
    logins,
    app: createScimApp({ targets, credentials, publicUrl: config.http.publicUrl, clock, log, random }),
    async hasPassword(canonicalName) {
      return await logins.directory.readPassword(canonicalName) !== null;
    },
    async verifyPassword(canonicalName, password) {
      const hash = await logins.directory.readPassword(canonicalName);
      const text = decodeUtf8(password);
      // The reply is delayed by a second in any case, so a name without a password needs no decoy.
      if (hash === null || text === null) return "unchecked";
      try {
        return await hashers.logins.check(text, hash) ? "right" : "wrong";
      } catch (fault) {
        // Nothing was checked, so this is no Access-Reject: the request gets no answer, and the client sends it again.
        if (fault instanceof HasherBusy) return "busy";
        throw fault;
      }
    },
    async verifyAtBackend(name, userName, password) {
      const backend = backends.get(`${logins.name} ${name}`);
      const verdict = await backend?.backend.verify?.(userName, password);
      return verdict?.ok === true ? verdict.value : "unavailable";
    },
    standing: (target, backend) => backends.get(`${target} ${backend}`)?.standing() ?? null,
    probe: async (target, backend) => await backends.get(`${target} ${backend}`)?.backend.probe() ?? null,
    close: () => targets.close(),
  };
}

function decodeUtf8(octets: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(octets);
  } catch (_notUtf8) {
    return null;
  }
}

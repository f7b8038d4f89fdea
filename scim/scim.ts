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
import { NO_CHANGE, type PrepareRename } from "../platform/write_batch.ts";
import type { Clock, Random } from "../platform/runtime.ts";
import type { Store } from "../platform/store.ts";
import type { Vault } from "../platform/vault.ts";
import { type BackendHealth, guardBackend, type GuardedBackend } from "./backends/guarded_backend.ts";
import { createDirectory, MAX_RENDERED_OCTETS } from "./directory/directory.ts";
import type { RepliesOf } from "./directory/reader.ts";
import type { ScimAppDeps } from "./http/app.ts";
import { Credentials } from "./http/credentials.ts";
import type {
  PrepareForgetDevices,
  PrepareGroupCleanup,
  PrepareOffboarding,
  ResourceChange,
  Target,
  Targets,
} from "./ports.ts";
import type {
  Backend,
  BackendFault,
  BackendOutcome,
  BindVerdict,
  PasswordChange,
  PasswordChangeRequest,
} from "./backend_port.ts";
import { LoginNames } from "./backends/login_names.ts";
import { BackendListError } from "./backends/backend_error.ts";
import type { ScimV2AppDeps } from "./v2/http/v2_app.ts";
import { followExtensions } from "./v2/schema/custom_extension.ts";
import { createMapping, toFrontEnd } from "./schema/mapping.ts";
import type { Mapping } from "./schema/resource.ts";
import { createTargets, type LiveTargets } from "./provisioning/target_set.ts";
import { Connections } from "./v2/connections/connections.ts";

// No literals of import(): Deno reads the modules of a literal before the first line runs.
const LDAP_BACKEND: string = import.meta.resolve("./backends/ldap/ldap_backend.ts");
const SCIM_BACKEND: string = import.meta.resolve("./backends/scim/scim_backend.ts");

interface ScimDeps {
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
  readonly orderedId: (after?: string) => string;
  /** Deletes what the gateway stores for a user of the login target. */
  readonly prepareOffboarding: PrepareOffboarding;
  /** Forgets the devices of a user of the login target that replace a second factor. */
  readonly prepareForgetDevices: PrepareForgetDevices;
  /** Deletes what the gateway stores for a group of the login target. */
  readonly prepareGroupCleanup: PrepareGroupCleanup;
  /** The groups of the login target that policies and reply attributes name. */
  readonly namedAccess: () => { namesGroups(): boolean; isGroupNamed(group: string): boolean };
  /** Moves what other parts store by the name of a user or group of the login target. */
  readonly prepareRename: PrepareRename;
}

/** The result of a password check. `unchecked`: the user has no password, or the given one is not UTF-8. */
type PasswordVerdict = BindVerdict | "unchecked" | "busy";

/** The result of {@link Scim.tryBackend}. */
export interface BackendTrial {
  readonly ok: boolean;
  /** With `ok: false`. */
  readonly fault?: BackendFault;
  /** The first users, mapped. */
  readonly users: readonly {
    readonly user: string;
    readonly rows: readonly { readonly name: string; readonly values: readonly string[] }[];
  }[];
}

export interface Scim {
  readonly targets: LiveTargets;
  readonly credentials: Credentials;
  /** The identity providers of /scim/v2. */
  readonly connections: Connections;
  /** What the applications of {@link connections} and {@link credentials} need. They are created after the start. */
  readonly apps: ScimAppDeps & ScimV2AppDeps;
  /** The login target: the target whose users log in. */
  readonly logins: Pick<Target, "name" | "directory">;
  /** Calls the observer after each change of a resource of {@link logins}. */
  observeLogins(observer: (change: ResourceChange) => void): void;
  /** Opens, changes and closes targets as the settings say now. */
  applySettings(): Promise<void>;
  /** Users log in from this target from now on. It must be open. */
  changeLogins(target: string): void;
  /** Whether the directory has a password hash of this user. */
  hasPassword(canonicalName: string): Promise<boolean>;
  /** Checks a password against the hash in the directory. */
  verifyPassword(canonicalName: string, password: Uint8Array): Promise<PasswordVerdict>;
  /** Checks a password by a bind at an ldap backend of {@link logins}. Throws with the reason if it cannot. */
  verifyAtBackend(backend: string, userName: string, password: Uint8Array): Promise<PasswordVerdict>;
  /** The other names by which users of {@link logins} sign in. */
  readonly loginNames: Pick<LoginNames, "isUsed" | "prepare" | "find">;
  /** Whether users may change their passwords at a backend of {@link logins} during a login. */
  mayChangePassword(backend: string): boolean;
  /** Changes the password of a user at a backend of {@link logins}. Throws with the reason if it cannot. */
  changePassword(backend: string, userName: string, change: PasswordChangeRequest): Promise<PasswordChange>;
  /** The health of a backend since the start; `null` for an unknown backend and for the embedded store. */
  backendHealth(target: string, backend: string): BackendHealth | null;
  /** Tests settings of a backend that are not saved: connects, signs in, and reads the first users. */
  tryBackend(target: TargetSettings, backend: string): Promise<BackendTrial>;
  /** Probes a backend; `null` as for {@link backendHealth}. */
  probeBackend(target: string, backend: string): Promise<BackendOutcome<null> | null>;
  close(): Promise<void>;
}

/** Opens the directories of all targets, and starts the delivery to their backends. */
export async function createScim(deps: ScimDeps): Promise<Scim> {
  const { config, store, vault, clock, random, log } = deps;
  const newPasswordHasher = deps.createHasher();
  const backends = new Map<string, GuardedBackend>();
  const mappingOf = followMappings(config);
  const logins = new LoginTarget(config.radius.directory);
  const targets = await createTargets({
    settings: config.targets,
    store,
    ...(deps.cluster === undefined ? {} : { cluster: deps.cluster }),
    vault,
    clock,
    random,
    log,
    hashPassword: (password) => newPasswordHasher.make(password),
    async openDirectory(target, lease) {
      const isLogin = () => target === logins.name;
      const directory = await createDirectory({
        ...{ store, lease, clock, random, log, target },
        mapping: () => mappingOf(target),
        maxRenderedOctets: MAX_RENDERED_OCTETS / Math.max(1, config.targets.length),
        repliesOf: repliesReader(config, () => mappingOf(target)),
        prepareOffboarding: (user) => isLogin() ? deps.prepareOffboarding(user) : NO_CHANGE,
        prepareForgetDevices: (user) => isLogin() ? deps.prepareForgetDevices(user) : NO_CHANGE,
        prepareGroupCleanup: (group) => isLogin() ? deps.prepareGroupCleanup(group) : NO_CHANGE,
        prepareRename: async (rename) => isLogin() ? await deps.prepareRename(rename) : NO_CHANGE,
      });
      directory.observe((change) => logins.notify(target, change));
      return directory;
    },
    openBackend: (target, settings) =>
      openRemote(deps, { target: target.name, mapping: createMapping(target.mapping), settings, backends }),
    orderedId: deps.orderedId,
    loginTarget: () => logins.name,
  });
  logins.use(targets);
  const credentials = new Credentials({
    store,
    vault,
    clock,
    random,
    hasher: deps.createHasher(),
    log,
    settings: config.scim.credentials,
  });
  const connections = await Connections.open({ store, vault, clock, random, log, credentials, targets });
  const schemasOf = followExtensions(config);
  return {
    targets,
    credentials,
    connections,
    applySettings: () => targets.apply(config.targets),
    changeLogins: (name) => logins.change(name),
    logins: logins.target,
    observeLogins: (observer) => logins.observe(observer),
    apps: {
      ...{ targets, credentials, http: config.http, schemasOf, store, vault, clock, log, random },
      access: connections,
      namedAccess: {
        namesGroups: (target) => target === logins.name && deps.namedAccess().namesGroups(),
        isGroupNamed: (group) => deps.namedAccess().isGroupNamed(group),
      },
    },
    ...passwordChecks({ logins: logins.target, hasher: deps.createHasher(), backends, clock, log }),
    backendHealth: (target, backend) => backends.get(`${target} ${backend}`)?.health() ?? null,
    tryBackend: (target, backend) => tryBackend(deps, target, backend),
    probeBackend: async (target, backend) =>
      await backends.get(`${target} ${backend}`)?.backend.probe() ?? null,
    async close() {
      await connections.close();
      await targets.close();
    },
  };
}

/** Reads the front-end attributes of `radius.reply.from_directory`. `undefined`: there are none. */
function repliesReader(
  { radius: { replyFromDirectory } }: { readonly radius: Pick<Config["radius"], "replyFromDirectory"> },
  mapping: () => Mapping,
): RepliesOf | undefined {
  const sources = Object.entries(replyFromDirectory);
  if (sources.length === 0) return undefined;
  return ({ content }) => {
    const values = toFrontEnd(content, mapping());
    const found = sources.flatMap(([name, source]) => {
      const own = values.get(source) ?? [];
      return own.length === 0 ? [] : [[name, own] as const];
    });
    return found.length === 0 ? undefined : Object.fromEntries(found);
  };
}

/** The mapping of each target, made once for each change. */
function followMappings(config: Pick<Config, "targets">): (target: string) => Mapping {
  const known = new Map<string, { readonly of: TargetSettings["mapping"]; readonly mapping: Mapping }>();
  const preset = createMapping({ user: {}, group: {} });
  return (target) => {
    const of = config.targets.find(({ name }) => name === target)?.mapping;
    if (of === undefined) return preset;
    let found = known.get(target);
    if (found?.of !== of) known.set(target, found = { of, mapping: createMapping(of) });
    return found.mapping;
  };
}

interface RemoteBackend {
  readonly target: string;
  readonly mapping: Mapping;
  readonly settings: LdapBackendSettings | ScimBackendSettings;
  /** The open backends. */
  readonly backends: Map<string, GuardedBackend>;
}

/** Creates a backend. Its modules are loaded, because many installations have no such backend. */
async function createRemote(
  { clock, random, log, fetch }: ScimDeps,
  { mapping, settings }: Pick<RemoteBackend, "mapping" | "settings">,
): Promise<Backend> {
  const shared = { mapping, clock, log };
  if (settings.kind === "ldap") {
    const { createLdapBackend }: typeof import("./backends/ldap/ldap_backend.ts") = await import(
      LDAP_BACKEND
    );
    return createLdapBackend({ ...shared, settings, random });
  }
  const { createScimBackend }: typeof import("./backends/scim/scim_backend.ts") = await import(SCIM_BACKEND);
  return createScimBackend({ ...shared, settings, fetch });
}

/** Opens a backend. It is in `backends` until it is closed or replaced. */
async function openRemote(
  deps: ScimDeps,
  { target, mapping, settings, backends }: RemoteBackend,
): Promise<Backend> {
  const { clock, random, log } = deps;
  const opened = await createRemote(deps, { mapping, settings });
  const guarded = guardBackend(opened, { connections: settings.connections, clock, random, log });
  const key = `${target} ${settings.name}`;
  backends.set(key, guarded);
  return {
    ...guarded.backend,
    close() {
      if (backends.get(key) === guarded) backends.delete(key);
      return guarded.backend.close();
    },
  };
}

const TRIAL_USERS = 3;

async function tryBackend(deps: ScimDeps, target: TargetSettings, name: string): Promise<BackendTrial> {
  const settings = target.backends.find((backend) => backend.name === name);
  if (settings === undefined || settings.kind === "store") return { ok: true, users: [] };
  const mapping = createMapping(target.mapping);
  const backend = await openRemote(deps, { target: "trial", mapping, settings, backends: new Map() });
  try {
    const probe = await backend.probe();
    if (!probe.ok) return { ok: false, users: [], fault: probe.fault };
    const users: BackendTrial["users"][number][] = [];
    for await (const page of backend.list("user")) {
      for (const { content } of page.slice(0, TRIAL_USERS - users.length)) {
        const rows = [...toFrontEnd(content, mapping)].map(([name, values]) => ({ name, values }));
        users.push({ user: content.name, rows });
      }
      if (users.length >= TRIAL_USERS) break;
    }
    return { ok: true, users };
  } catch (thrown) {
    if (!(thrown instanceof BackendListError)) throw thrown;
    return { ok: false, users: [], fault: thrown.fault };
  } finally {
    await backend.close();
  }
}

function passwordChecks(
  { logins, hasher, backends, clock, log }: {
    logins: Scim["logins"];
    hasher: PasswordHasher;
    backends: ReadonlyMap<string, GuardedBackend>;
    clock: Clock;
    log: Log;
  },
): Pick<
  Scim,
  "hasPassword" | "verifyPassword" | "verifyAtBackend" | "loginNames" | "mayChangePassword" | "changePassword"
> {
  const find = (name: string) => backends.get(`${logins.name} ${name}`)?.backend;
  const finding = () =>
    [...backends].flatMap(([key, { backend }]) =>
      key.startsWith(`${logins.name} `) && backend.findNames !== undefined ? [backend] : []
    );
  return {
    loginNames: new LoginNames({ backends: finding, clock, log }),
    hasPassword: async (canonicalName) => await logins.directory.readPassword(canonicalName) !== null,
    async verifyPassword(canonicalName, password) {
      const hash = await logins.directory.readPassword(canonicalName);
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
      const verdict = await find(name)?.verify?.(userName, password);
      if (verdict?.ok === true) return verdict.value;
      throw new Error(verdict?.fault.detail ?? "the target has no such backend");
    },
    mayChangePassword: (name) => find(name)?.changePassword !== undefined,
    async changePassword(name, userName, change) {
      const changed = await find(name)?.changePassword?.(userName, change);
      if (changed?.ok === true) return changed.value;
      throw new Error(changed?.fault.detail ?? "the target has no such backend");
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

// The target whose users log in. It follows the setting radius.directory, but changes only when the gateway has loaded what it stores for
// the new target.

type Observer = (change: ResourceChange) => void;

class LoginTarget {
  /** Its properties are those of the target that is used now. */
  readonly target: Pick<Target, "name" | "directory">;
  readonly #observers: Observer[] = [];
  #name: string;
  #targets: Pick<Targets, "get"> | null = null;

  constructor(name: string) {
    this.#name = name;
    const current = (): Target => this.#current;
    this.target = {
      get name() {
        return current().name;
      },
      get directory() {
        return current().directory;
      },
    };
  }

  get name(): string {
    return this.#name;
  }

  /** @throws Error if the login target is not among the targets */
  use(targets: Pick<Targets, "get">): void {
    this.#targets = targets;
    void this.#current;
  }

  /** Users log in from this target from now on. */
  change(name: string): void {
    this.#name = name;
  }

  observe(observer: Observer): void {
    this.#observers.push(observer);
  }

  notify(target: string, change: ResourceChange): void {
    if (target !== this.#name) return;
    for (const observer of this.#observers) observer(change);
  }

  get #current(): Target {
    const target = this.#targets?.get(this.#name) ?? null;
    if (target === null) throw new Error(`Cannot find the target "${this.#name}"`);
    return target;
  }
}

// Builds all services on an opened store and connects them. It opens no listener: `main.ts` adds the sockets, and commands
// without a server use the result as it is.

import { Cluster } from "./platform/cluster/cluster.ts";
import { canonicalName } from "./platform/canonical_name.ts";
import {
  canonicalRange,
  createRangeCheck,
  parseSocketAddress,
  socketAddressText,
} from "./platform/addresses.ts";
import type { LiveSettings } from "./platform/config/live_settings.ts";
import { AdminStore } from "./console/api/auth/admin_store.ts";
import type { Dist } from "./console/assets.ts";
import { createAccountRenames } from "./console/api/account/account_renames.ts";
import { createHttpApp } from "./console/app.ts";
import { readinessOf } from "./console/api/health/readiness.ts";
import { createNodeDescription } from "./console/api/nodes/node_description.ts";
import type { HttpApp } from "./platform/http/http_server.ts";
import { removeSetUpLink } from "./platform/banner.ts";
import type { DataDir } from "./platform/data_dir.ts";
import { syncPhonePairings } from "./radius/factors/pairing_sync.ts";
import type { GatewayMonitor, LoginDirectory } from "./radius/ports.ts";
import { reducePhoneNumber } from "./platform/phone_number.ts";
import { type GeoIp, startGeoIp } from "./platform/geoip/geoip.ts";
import type { Log } from "./platform/log.ts";
import { createPasswordHasher, REQUEST_COST } from "./platform/password_hasher.ts";
import { openHttpClient } from "./platform/fetch_with_deadline.ts";
import { createOrderedIds } from "./radius/conversation/conversation.ts";
import { createRadius, type Radius } from "./radius/radius.ts";
import { type LastSignIns, startLastSignIns } from "./radius/factors/last_sign_ins.ts";
import { matchTotp, totpAt } from "./radius/factors/totp.ts";
import type { Clock, Random } from "./platform/runtime.ts";
import { type PrepareRename, prepareRenames } from "./platform/write_batch.ts";
import { createTransfer } from "./scim/transfer/import_export.ts";
import { findUserRecordIn } from "./scim/directory/directory.ts";
import { rememberOpenApi } from "./scim/v2/openapi/openapi_document.ts";
import { type DirectoryFollower, followDirectories } from "./scim/follow_directories.ts";
import type { FindUserRecord } from "./platform/user_record.ts";
import { createScim, type Scim } from "./scim/scim.ts";
import { ldapAttributeNames } from "./scim/backends/ldap/ldap_schemas.ts";
import { parseResource } from "./scim/schema/parse_resource.ts";
import { createMapping, toFrontEnd } from "./scim/schema/mapping.ts";
import { createUnreadableLog } from "./platform/unreadable_log.ts";
import { createServices, type Services } from "./upstream/services.ts";

export const VERSION = "0.1.0";

export interface CompositionDeps {
  /** Loaded. */
  readonly settings: LiveSettings;
  readonly dataDir: Pick<DataDir, "store" | "vault" | "shared">;
  /** The built console. */
  readonly dist: Dist;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly startedMs: number;
  /** The shared secret for any client address, while no client and no `radius.secret` is configured. */
  readonly generatedSecret: string;
  /** The addresses of the RADIUS listeners, as text. */
  readonly radiusListeners: readonly string[];
  /** Whether the HTTP listener accepts connections. */
  readonly isHttpServing: () => boolean;
}

/** All services of one process. */
export interface Composition {
  readonly cluster: Cluster;
  readonly radius: Radius;
  readonly identity: Scim;
  readonly services: Services;
  readonly admins: AdminStore;
  readonly app: HttpApp;
  /** Ends background work and waits for writes that are in progress. The store stays open. */
  close(): Promise<void>;
}

/** Loads the stored state and builds the services. No listener is opened. */
export async function compose(deps: CompositionDeps): Promise<Composition> {
  const { settings, dataDir: { store, vault, shared: sharedLog }, clock, random, log } = deps;
  const { config } = settings;
  const gateway: { monitor: GatewayMonitor | null } = { monitor: null };
  const describe = createNodeDescription({ ...deps, version: VERSION, vault }, () => gateway.monitor);
  store.onUnreadable(createUnreadableLog({ log, clock }));
  const secret = vault.deriveKey("peer keys", 32);
  const cluster = new Cluster({ store, shared: sharedLog, clock, log, describe, secret });
  await cluster.start();
  const shared = { config, store, vault, clock, random, log, cluster };
  const identityClient = openHttpClient();
  const identity = await createScim({
    ...shared,
    fetch: identityClient.fetch,
    createHasher: () => createPasswordHasher({ random, cost: REQUEST_COST }),
    orderedId: createOrderedIds(clock, random),
    // Gateway and directory depend on each other. These functions are only called after both exist.
    prepareOffboarding: (name) => radius.prepareOffboarding(name),
    preparePasswordChange: (name) => radius.policies.remembered.prepareForget(name),
    prepareGroupCleanup: (name) => radius.replies.prepareForget(name),
    prepareRename: (rename) => prepareRename(rename),
  });
  const findUserRecord = findUserRecordIn(identity.logins, store);
  const services = await createServices({
    ...shared,
    totp: { at: totpAt, match: matchTotp },
    findUserRecord,
    userAgent: `Countersign/${VERSION}`,
    onBug: (fault) => log.error("an embedded service failed", { fault: String(fault) }),
  });
  const radius: Radius = await createRadius({
    ...shared,
    peers: cluster,
    directory: directoryOf(identity),
    passwords: {
      hasPassword: identity.hasPassword,
      directory: (user, password) => identity.verifyPassword(user, password),
      ldap: (backend, user, password) => identity.verifyAtBackend(backend, user, password),
    },
    secondFactor: services.secondFactor,
    telephony: services.telephony,
    generatedSecret: deps.generatedSecret,
    onSettingsChange: (listener) => settings.onChange(listener),
    openSocket: (hostname) => Deno.listenDatagram({ transport: "udp", hostname, port: 0 }),
  });
  gateway.monitor = radius.monitor;
  await cluster.finishLoading();
  settings.onChange(() => services.applySettings());
  // Settings that other nodes changed meanwhile.
  services.applySettings();
  followUsers(deps, { services, radius, identity, findUserRecord });
  const { prepareDirectory } = radius;
  const directories = followDirectories({ settings, store, clock, log, identity, prepareDirectory });
  const admins = new AdminStore({
    ...shared,
    configAdmins: config.console.admins,
    http: config.http,
    onSetUp: () => removeSetUpLink(config),
  });
  const { geoIp, lastSignIns } = startReportSources(deps, { identity, radius });
  const prepareRename = composeRenames(deps, [lastSignIns, services.embeddedService, radius]);
  const parts = { cluster, radius, identity, services, admins };
  const app = createApp(deps, { ...parts, identityClient, directories, geoIp, lastSignIns });
  return {
    ...parts,
    app,
    async close() {
      app.close();
      geoIp.stop();
      directories.close();
      lastSignIns.stop();
      radius.close();
      await identity.close();
      identityClient.close();
      await services.close();
      await cluster.close();
    },
  };
}

/** Phones follow the users of the directory, and a checked password does not count after a change of the user. */
function followUsers(
  { log }: CompositionDeps,
  { services, radius, identity, findUserRecord }: Pick<Composition, "services" | "radius" | "identity"> & {
    readonly findUserRecord: FindUserRecord;
  },
): void {
  syncPhonePairings({ ...services.embeddedService, radius, findUserRecord, log });
  identity.observeLogins(({ kind, name }) => {
    if (kind === "user") radius.forgetPassword(canonicalName(name));
  });
}

/** What parts store by the name of a user or group. From the last part on, no login of the user is recorded before the commit. */
function composeRenames(
  { dataDir: { store }, clock }: CompositionDeps,
  parts: readonly { readonly prepareRename: PrepareRename }[],
): PrepareRename {
  return prepareRenames([{ prepareRename: createAccountRenames({ store, clock }) }, ...parts]);
}

/** Where addresses are, and when users signed in last. */
function startReportSources(
  { settings: { config }, dataDir: { store }, clock, log }: CompositionDeps,
  { identity, radius: { monitor } }: Pick<Composition, "identity" | "radius">,
): { geoIp: GeoIp; lastSignIns: LastSignIns } {
  return {
    geoIp: startGeoIp({ settings: config.geoip, clock, log }),
    lastSignIns: startLastSignIns({
      ...{ store, clock, log, monitor },
      target: () => identity.logins.name,
      longestLoginMs: config.radius.conversationTtlMs,
    }),
  };
}

/** Whether an address is a trusted proxy, as the settings say now. */
export function followRanges(
  settings: Pick<LiveSettings, "config" | "onChange">,
): (address: string) => boolean {
  const { http } = settings.config;
  let isProxy = createRangeCheck(http.trustedProxies);
  settings.onChange((changed) => {
    if (changed.has("http.trusted_proxies")) isProxy = createRangeCheck(http.trustedProxies);
  });
  return (address) => isProxy(address);
}

interface Parts extends Omit<Composition, "app" | "close"> {
  readonly identityClient: ReturnType<typeof openHttpClient>;
  readonly directories: DirectoryFollower;
  readonly geoIp: GeoIp;
  readonly lastSignIns: LastSignIns;
}

function createApp(
  { settings, dataDir: { store, vault }, dist, clock, random, log, ...deps }: CompositionDeps,
  { cluster, radius, identity, services, admins, identityClient, directories, geoIp, lastSignIns }: Parts,
): HttpApp {
  const { config } = settings;
  return createHttpApp({
    http: config.http,
    settings,
    serviceTrial: services.trial,
    isProxy: followRanges(settings),
    console: config.console,
    fetch: identityClient.fetch,
    log,
    clock,
    random,
    vault,
    store,
    cluster,
    admins,
    watch: radius.monitor,
    geoIp,
    vpnSessions: radius.sessions,
    phone: () => services.embedded?.phone ?? null,
    secondFactorAdmin: () => services.embedded?.admin ?? null,
    outbox: () => services.outbox?.messages ?? null,
    people: {
      targets: identity.targets,
      loginTarget: () => identity.logins.name,
      pairings: radius.pairings,
      limits: radius.limits,
      recoveryCodes: radius.recoveryCodes,
      policies: radius.policies,
      lastSignIns,
      prepareNotMeReport: radius.prepareNotMeReport,
      findUserRecord: findUserRecordIn(identity.logins, store),
      factors: config.factors,
      readContent: parseResource,
      trials: radius.loginDryRun,
    },
    transfer: createTransfer({ clock, http: config.http }),
    replies: radius.replies,
    installation: {
      version: VERSION,
      runtime: Deno.version.deno,
      startedMs: deps.startedMs,
      file: config.file,
    },
    connect: {
      register: radius.register,
      clientDiscovery: radius.clientDiscovery,
      signingClients: radius.signingClients,
      targets: identity.targets,
      credentials: identity.credentials,
      connections: identity.connections.administration,
      config,
      listening: { radius: deps.radiusListeners, http: socketAddressText(config.http.listen) },
      secondFactor: services.secondFactor,
      probeTelephony: () => services.probeTelephony?.() ?? null,
      canonicalRange,
      serverAddress: parseSocketAddress,
      probeFirstFactor: radius.probeFirstFactor,
      backendHealth: identity.backendHealth,
      probe: identity.probeBackend,
      tryBackend: identity.tryBackend,
      targetsApplied: directories.apply,
      ldapAttributes: ldapAttributeNames(),
      previewMapping: (content, mapping) => toFrontEnd(content, createMapping(mapping)),
    },
    ready: () => readinessOf(deps, { store, clock, cluster }),
    dist,
    scim: identity.apps,
    openApi: rememberOpenApi(config.http),
  });
}

/** The directory in the form that the RADIUS gateway needs. */
function directoryOf({ logins }: Scim): LoginDirectory {
  return {
    prepare: (name) => logins.directory.prepareLogin(name),
    lookUp(name) {
      const user = logins.directory.login(name);
      if (user.phoneNumbers.length === 0) return user;
      return { ...user, phoneNumbers: user.phoneNumbers.flatMap((given) => reducePhoneNumber(given) ?? []) };
    },
  };
}

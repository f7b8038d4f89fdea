// Builds all services on an opened store and connects them. It opens no listener: `main.ts` adds the sockets, and commands
// without a server use the result as it is.

import { Cluster, type NodeDescription } from "./platform/cluster/cluster.ts";
import { canonicalName } from "./platform/canonical_name.ts";
import type { Config } from "./platform/config/config.ts";
import {
  canonicalRange,
  createRangeCheck,
  parseSocketAddress,
  socketAddressText,
} from "./platform/addresses.ts";
import type { LoadedSettings } from "./platform/config/settings_view.ts";
import { AdminStore } from "./console/api/auth/admin_store.ts";
import type { Dist } from "./console/assets.ts";
import { createHttpApp } from "./console/app.ts";
import type { Readiness } from "./console/api/health/metrics.ts";
import type { HttpApp } from "./platform/http/http_server.ts";
import { removeSetUpLink } from "./platform/banner.ts";
import type { DataDir } from "./platform/data_dir.ts";
import { syncPhonePairings } from "./radius/factors/pairing_sync.ts";
import type { GatewayMonitor, LoginDirectory } from "./radius/ports.ts";
import { reducePhoneNumber } from "./platform/phone_number.ts";
import type { Log } from "./platform/log.ts";
import { hostName } from "./platform/process.ts";
import { createPasswordHasher, REQUEST_COST } from "./platform/password_hasher.ts";
import { openHttpClient } from "./platform/fetch_with_deadline.ts";
import { createOrderedIds } from "./radius/conversation/conversation.ts";
import { createRadius, type Radius } from "./radius/radius.ts";
import { matchTotp, totpAt } from "./radius/factors/totp.ts";
import type { Clock, Random } from "./platform/runtime.ts";
import { createTransfer } from "./scim/transfer/import_export.ts";
import { findUserRecordIn } from "./scim/directory/directory.ts";
import { openApiText } from "./scim/http/openapi.ts";
import { createScim, type Scim } from "./scim/scim.ts";
import { parseResource } from "./scim/schema/parse_resource.ts";
import { createMapping, toFrontEnd } from "./scim/schema/mapping.ts";
import { STORE_SILENT_MS } from "./platform/store.ts";
import { createUnreadableLog } from "./platform/unreadable_log.ts";
import { createServices, type Services } from "./upstream/services.ts";

export const VERSION = "0.1.0";

export interface CompositionDeps {
  readonly config: Config;
  /** The settings as the console shows them. */
  readonly settings: LoadedSettings["settings"];
  readonly dataDir: Pick<DataDir, "store" | "vault" | "shared">;
  /** The built console. */
  readonly dist: Dist;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly startedMs: number;
  /** The shared secret for any client address while no client is configured. */
  readonly anySecret: string;
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
  const { config, dataDir: { store, vault, shared: sharedLog }, clock, random, log } = deps;
  const gateway: { monitor: GatewayMonitor | null } = { monitor: null };
  const describe = createNodeDescription(deps, () => gateway.monitor);
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
    prepareGroupCleanup: (name) => radius.replies.prepareForget(name),
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
    anySecret: deps.anySecret,
    openSocket: (hostname) => Deno.listenDatagram({ transport: "udp", hostname, port: 0 }),
  });
  gateway.monitor = radius.monitor;
  await cluster.finishLoading();
  if (services.embedded !== null) syncPhonePairings({ ...services.embedded, radius, findUserRecord, log });
  identity.logins.directory.observe(({ kind, name }) => {
    if (kind === "user") radius.forgetPassword(canonicalName(name));
  });
  const admins = new AdminStore({
    ...shared,
    configAdmins: config.console.admins,
    publicUrl: config.http.publicUrl,
    onSetUp: () => removeSetUpLink(config),
  });
  const app = createApp(deps, { cluster, radius, identity, services, admins, identityClient });
  return {
    cluster,
    radius,
    identity,
    services,
    admins,
    app,
    async close() {
      app.close();
      radius.close();
      await identity.close();
      identityClient.close();
      await services.close();
      await cluster.close();
    },
  };
}

interface Parts extends Omit<Composition, "app" | "close"> {
  readonly identityClient: ReturnType<typeof openHttpClient>;
}

function createApp(
  { config, settings, dataDir: { store, vault }, dist, clock, random, log, ...deps }: CompositionDeps,
  { cluster, radius, identity, services, admins, identityClient }: Parts,
): HttpApp {
  return createHttpApp({
    http: config.http,
    isProxy: createRangeCheck(config.http.trustedProxies),
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
    vpnSessions: radius.sessions,
    phone: services.embedded?.phone ?? null,
    secondFactorAdmin: services.embedded?.admin ?? null,
    outbox: services.outbox?.messages ?? null,
    people: {
      targets: identity.targets,
      loginTarget: identity.logins.name,
      pairings: radius.pairings,
      limits: radius.limits,
      recoveryCodes: radius.recoveryCodes,
      prepareNotMeReport: radius.prepareNotMeReport,
      findUserRecord: findUserRecordIn(identity.logins, store),
      factors: config.factors,
      readContent: parseResource,
      trials: radius.loginDryRun,
    },
    transfer: createTransfer({ clock, publicUrl: config.http.publicUrl }),
    replies: radius.replies,
    installation: {
      version: VERSION,
      runtime: Deno.version.deno,
      startedMs: deps.startedMs,
      file: config.file,
      settings,
    },
    connect: {
      register: radius.register,
      clientDiscovery: radius.clientDiscovery,
      signingClients: radius.signingClients,
      targets: identity.targets,
      credentials: identity.credentials,
      config,
      listening: { radius: deps.radiusListeners, http: socketAddressText(config.http.listen) },
      secondFactor: services.secondFactor,
      probeTelephony: services.probeTelephony,
      canonicalRange,
      serverAddress: parseSocketAddress,
      probeFirstFactor: radius.probeFirstFactor,
      backendHealth: identity.backendHealth,
      probe: identity.probeBackend,
      previewMapping: (content, mapping) => toFrontEnd(content, createMapping(mapping)),
    },
    ready: () => readinessOf(deps, { store, clock, cluster }),
    dist,
    scim: identity.app,
    openApi: () => openApiText(config.http.publicUrl),
  });
}

/** A store that does not answer, or changes of other nodes that cannot be read: no login can be answered. */
function readinessOf(
  { isHttpServing }: Pick<CompositionDeps, "isHttpServing">,
  { store, clock, cluster }: Pick<CompositionDeps["dataDir"], "store"> & { clock: Clock; cluster: Cluster },
): Readiness {
  const silentMs = clock.nowMs() - store.lastAnswerMs();
  const { lagMs } = cluster.figures();
  const [isSilent, isBehind] = [silentMs > STORE_SILENT_MS, lagMs > STORE_SILENT_MS];
  const isServing = isHttpServing();
  const changes = isBehind ? `not read for ${secondsOf(lagMs)}` : "read";
  return {
    ok: !isSilent && !isBehind && isServing,
    parts: {
      radius: "listening",
      store: isSilent ? `does not answer for ${secondsOf(silentMs)}` : "answers",
      ...(cluster.isShared ? { changes } : {}),
      http: isServing ? "listening" : "does not accept connections",
    },
  };
}

function secondsOf(spanMs: number): string {
  return `${Math.round(spanMs / 1000)} s`;
}

const MIN_RATE_MS = 900;

/** What this node says about itself to the others. */
function createNodeDescription(
  { config, clock, startedMs, radiusListeners }: CompositionDeps,
  monitorOf: () => GatewayMonitor | null,
): () => NodeDescription {
  let last = { requests: 0, atMs: clock.nowMs() };
  let requestsPerS = 0;
  return () => {
    const monitor = monitorOf();
    const now = { requests: monitor?.counters().requests ?? 0, atMs: clock.nowMs() };
    // The pages ask more often than the heartbeat. A shorter time gives no useful rate.
    if (now.atMs - last.atMs >= MIN_RATE_MS) {
      requestsPerS = Math.round((now.requests - last.requests) * 1000 / (now.atMs - last.atMs));
      last = now;
    }
    return {
      name: hostName(),
      version: VERSION,
      startedMs,
      radius: radiusListeners,
      // All nodes have one public URL.
      http: socketAddressText(config.http.listen),
      figures: { waiting: monitor?.aliveHere() ?? 0, requestsPerS, rssOctets: Deno.memoryUsage().rss },
    };
  };
}

/** The directory in the form that the RADIUS gateway needs. */
function directoryOf({ logins: { directory } }: Scim): LoginDirectory {
  return {
    prepare: directory.prepareLogin,
    lookUp(name) {
      const user = directory.login(name);
      if (user.phoneNumbers.length === 0) return user;
      return { ...user, phoneNumbers: user.phoneNumbers.flatMap((given) => reducePhoneNumber(given) ?? []) };
    },
  };
}

// Builds all services on an opened store and connects them. `main.ts` opens the sockets before, and reads them after. Commands without a server use
// the result as it is.

import { Cluster } from "./platform/cluster/cluster.ts";
import { canonicalName } from "./platform/canonical_name.ts";
import { canonicalRange, parseSocketAddress, socketAddressText } from "./platform/addresses.ts";
import { type AlertService, openAlerts } from "./platform/alerts/alerts.ts";
import type { LiveSettings } from "./platform/config/live_settings.ts";
import { AdminStore } from "./console/api/auth/admin_store.ts";
import type { Dist } from "./console/assets.ts";
import type { People } from "./console/api/deps.ts";
import { type EnrolmentService, startEnrolment } from "./console/api/enrolment/enrolment_service.ts";
import { createAccountRenames } from "./console/api/account/account_renames.ts";
import { type Readiness, readinessOf } from "./console/api/health/metrics.ts";
import { createNodeDescription } from "./console/api/nodes/node_routes.ts";
import { followRanges, type HttpApp } from "./platform/http/http_server.ts";
import { removeSetUpLink } from "./platform/banner.ts";
import type { DataDir } from "./platform/data_dir.ts";
import { syncPhonePairings } from "./radius/factors/pairing_sync.ts";
import { type OpenLogExport, openLogExport } from "./platform/log_export/log_export.ts";
import { loginDirectoryOf } from "./radius/login_directory.ts";
import type { GatewayMonitor, Passwords } from "./radius/ports.ts";
import { type GeoIp, startGeoIp } from "./platform/geoip/geoip.ts";
import { createUnreadableLog, type Log } from "./platform/log.ts";
import { type MailService, openMailService } from "./platform/mail/mail_service.ts";
import { createPasswordHasher, REQUEST_COST } from "./platform/password_hasher.ts";
import { openHttpClient } from "./platform/fetch_with_deadline.ts";
import { createOrderedIds } from "./radius/conversation/conversation.ts";
import { decodeLoginRecord, historyKey } from "./radius/conversation/login_record.ts";
import { createRadius, type Radius } from "./radius/radius.ts";
import { type LastSignIns, startLastSignIns } from "./radius/factors/last_sign_ins.ts";
import { matchTotp, totpAt } from "./radius/factors/totp.ts";
import type { Clock, Random } from "./platform/runtime.ts";
import { type PrepareRename, prepareRenames } from "./platform/write_batch.ts";
import { createTransfer } from "./scim/transfer/import_export.ts";
import { findUserRecordIn } from "./scim/directory/directory.ts";
import { type DirectoryFollower, followDirectories } from "./scim/follow_directories.ts";
import type { FindUserRecord } from "./platform/user_record.ts";
import { createScim, type Scim } from "./scim/scim.ts";
import { ldapAttributeNames } from "./scim/backends/ldap/ldap_schemas.ts";
import { parseResource } from "./scim/schema/parse_resource.ts";
import { createMapping, toFrontEnd } from "./scim/schema/mapping.ts";
import { createServices, type ServiceDeps, type Services } from "./upstream/services.ts";
import type { Config } from "./platform/config/config.ts";
import { redact, secretsIn } from "./platform/config/redact_settings.ts";

export const VERSION = "0.3.0";
/** The description of both SCIM interfaces. */
const OPEN_API = new URL("docs/openapi.json", import.meta.url);
/** No literal, because Deno reads the modules of a literal import() before the first line runs. They are a quarter of the start. */
const CONSOLE: string = import.meta.resolve("./console/app.ts");

export interface CompositionDeps extends Pick<ServiceDeps, "pushNetwork"> {
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
  readonly mail: MailService;
  /** Whether the gateway can answer logins. */
  readiness(): Readiness;
  /** Loads the console and the routes of HTTP, once. The gateway can answer RADIUS before. */
  openApp(): Promise<HttpApp>;
  /** Ends background work and waits for writes that are in progress. The store stays open. */
  close(): Promise<void>;
}

/** Loads the stored state and builds the services. No listener is opened. */
export async function compose(deps: CompositionDeps): Promise<Composition> {
  const { settings, dataDir: { store, vault }, clock, random, log } = deps;
  const { config } = settings;
  const gateway: { monitor: GatewayMonitor | null } = { monitor: null };
  store.onUnreadable(createUnreadableLog({ log, clock }));
  const cluster = await startCluster(deps, () => gateway.monitor);
  const shared = { config, store, vault, clock, random, log, cluster };
  const identityClient = openHttpClient();
  const identity = await createScim({
    ...shared,
    fetch: identityClient.fetch,
    createHasher: () => createPasswordHasher({ random, cost: REQUEST_COST }),
    orderedId: createOrderedIds(clock, random),
    // Gateway and directory depend on each other. These functions are only called after both exist.
    prepareOffboarding: (name) => radius.prepareOffboarding(name),
    prepareForgetDevices: (name) => radius.policies.remembered.prepareForget(name),
    prepareGroupCleanup: (name) => radius.replies.prepareForget(name),
    prepareRename: (rename) => prepareRename(rename),
    namedAccess: () => radius.access,
  });
  const findUserRecord = findUserRecordIn(identity.logins, store);
  const services = await createServices({
    ...shared,
    totp: { at: totpAt, match: matchTotp },
    pushNetwork: deps.pushNetwork,
    findUserRecord,
    userAgent: `Countersign/${VERSION}`,
    onBug: (fault) => log.error("an embedded service failed", { fault: String(fault) }),
  });
  const radius: Radius = await createRadius({
    ...shared,
    peers: cluster,
    directory: loginDirectoryOf(() => identity.logins.directory, identity.loginNames),
    passwords: passwordsOf(identity),
    secondFactor: services.secondFactor,
    telephony: services.telephony,
    generatedSecret: deps.generatedSecret,
    onSettingsChange: (listener) => settings.onChange(listener),
    openSocket: (hostname) => Deno.listenDatagram({ transport: "udp", hostname, port: 0 }),
  });
  gateway.monitor = radius.monitor;
  const mail = await openMailService({ ...shared, settings, findUserRecord });
  await cluster.finishLoading();
  settings.onChange(() => services.applySettings());
  // Settings that other nodes changed meanwhile.
  services.applySettings();
  followUsers(deps, { services, radius, identity, findUserRecord, mail });
  const { prepareDirectory } = radius;
  const directories = followDirectories({ settings, store, clock, log, identity, prepareDirectory });
  const { admins: configAdmins } = config.console;
  const onSetUp = () => removeSetUpLink(config);
  const admins = new AdminStore({ ...shared, configAdmins, http: config.http, onSetUp });
  const { geoIp, lastSignIns } = startReportSources(deps, { identity, radius });
  const { logExport, alerts } = await openReports(deps, { cluster, radius, mail });
  const prepareRename = composeRenames(deps, [mail.admin, lastSignIns, services.embeddedService, radius]);
  const people = createPeople({ config, radius, identity, findUserRecord, lastSignIns, parseResource });
  const enrolment = startEnrolment({ ...shared, people, mail, services });
  const parts = { cluster, radius, identity, services, admins, mail };
  const sources = { identityClient, directories, geoIp, people, enrolment, logExport, alerts };
  let app: Promise<HttpApp> | undefined;
  const isRadiusReceiving = () => radius.server.isReceiving();
  const readiness = () => readinessOf({ ...deps, isRadiusReceiving }, { store, clock, cluster });
  return {
    ...{ ...parts, readiness },
    openApp: () => app ??= createApp(deps, { ...parts, ...sources, readiness }),
    async close() {
      (await app)?.close();
      await enrolment.close();
      geoIp.stop();
      directories.close();
      lastSignIns.stop();
      radius.close();
      await alerts.close();
      await Promise.all([mail.close(), logExport.close(), identity.close()]);
      identityClient.close();
      await services.close();
      await cluster.close();
    },
  };
}

/** Joins the other nodes of the store. `monitor` returns `null` until the gateway exists. */
async function startCluster(
  deps: CompositionDeps,
  monitor: () => GatewayMonitor | null,
): Promise<Cluster> {
  const { dataDir: { store, vault, shared }, clock, log } = deps;
  const describe = createNodeDescription({ ...deps, version: VERSION, vault }, monitor);
  const secret = vault.deriveKey("peer keys", 32);
  const cluster = new Cluster({ store, shared, clock, log, describe, secret });
  await cluster.start();
  return cluster;
}

/** Phones follow the users of the directory, and a checked password does not count after a change of the user. */
function followUsers(
  { log, clock }: CompositionDeps,
  { services, radius, identity, findUserRecord, mail }:
    & Pick<Composition, "services" | "radius" | "identity" | "mail">
    & { readonly findUserRecord: FindUserRecord },
): void {
  syncPhonePairings({ ...services.embeddedService, radius, findUserRecord, log, clock });
  identity.observeLogins(({ kind, name }) => {
    if (kind !== "user") return;
    radius.forgetPassword(canonicalName(name));
    mail.userChanged(canonicalName(name));
  });
}

/** What parts store by the name of a user or group. From the last part on, no login of the user is recorded before the commit. */
function composeRenames(
  { dataDir: { store }, clock }: CompositionDeps,
  parts: readonly { readonly prepareRename: PrepareRename }[],
): PrepareRename {
  return prepareRenames([{ prepareRename: createAccountRenames({ store, clock }) }, ...parts]);
}

/** GeoIP (where addresses are; only the console uses it, so it starts after RADIUS), and when users signed in last. */
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

/** What sends records and alerts to other systems. */
async function openReports(
  { settings: { config }, dataDir: { store, vault }, clock, random, log, isHttpServing }: CompositionDeps,
  { cluster, radius, mail }: Pick<Composition, "cluster" | "radius" | "mail">,
): Promise<{ logExport: OpenLogExport; alerts: AlertService }> {
  const shared = { config, store, vault, clock, random, log, cluster, mayDeliver: isHttpServing };
  const logExport = await openLogExport({
    ...{ ...shared, version: VERSION, counters: () => radius.monitor.counters() },
    login: { keyOf: historyKey, read: decodeLoginRecord },
  });
  const alerts = await openAlerts({ ...shared, mail, webhooks: logExport.logExport.webhooks });
  return { logExport, alerts };
}

interface Parts extends Omit<Composition, "openApp" | "close"> {
  readonly identityClient: ReturnType<typeof openHttpClient>;
  readonly directories: DirectoryFollower;
  readonly geoIp: GeoIp;
  readonly people: People;
  readonly enrolment: EnrolmentService;
  readonly logExport: OpenLogExport;
  readonly alerts: AlertService;
}

async function createApp(
  { settings, dataDir: { store, vault }, dist, clock, random, log, ...deps }: CompositionDeps,
  { cluster, radius, identity, services, admins, identityClient, directories, ...parts }: Parts,
): Promise<HttpApp> {
  const { createHttpApp }: typeof import("./console/app.ts") = await import(CONSOLE);
  const { config } = settings;
  return createHttpApp({
    secretSettings: { redact, secretsIn },
    ...{ settings, http: config.http, console: config.console, serviceTrial: services.trial },
    ...{ mail: parts.mail, geoIp: parts.geoIp, people: parts.people, enrolment: parts.enrolment },
    ...{ logExport: parts.logExport.logExport, alerts: parts.alerts },
    isProxy: followRanges(settings),
    fetch: identityClient.fetch,
    ...{ log, clock, random, vault, store, cluster, admins },
    watch: radius.monitor,
    shadow: radius.shadow,
    vpnSessions: radius.sessions,
    phone: () => services.embedded?.phone ?? null,
    secondFactorAdmin: () => services.embedded?.admin ?? null,
    phonePages: () => services.embedded?.pages ?? null,
    outbox: () => services.outbox?.messages ?? null,
    transfer: createTransfer({ clock, http: config.http }),
    replies: radius.replies,
    userReplies: radius.userReplies,
    installation: {
      version: VERSION,
      runtime: Deno.version.deno,
      startedMs: deps.startedMs,
      file: config.file,
    },
    connect: {
      register: radius.register,
      clientDiscovery: radius.clientDiscovery,
      radsec: radius.radsec,
      signingClients: radius.signingClients,
      targets: identity.targets,
      credentials: identity.credentials,
      connections: identity.connections.administration,
      config,
      listening: { radius: deps.radiusListeners, http: socketAddressText(config.http.listen) },
      secondFactor: services.secondFactor,
      pushPages: () => services.embedded?.pages ?? null,
      probeTelephony: () => services.probeTelephony?.() ?? null,
      canonicalRange,
      serverAddress: parseSocketAddress,
      firstFactorServers: radius.firstFactorServers,
      backendHealth: identity.backendHealth,
      probe: identity.probeBackend,
      tryBackend: identity.tryBackend,
      targetsApplied: directories.apply,
      ldapAttributes: ldapAttributeNames(),
      previewMapping: (content, mapping) => toFrontEnd(content, createMapping(mapping)),
    },
    ready: parts.readiness,
    dist,
    scim: identity.apps,
    openApi: () => Deno.readFile(OPEN_API),
  });
}

/** The checks of passwords, by the directory of the login target and by its backends. */
function passwordsOf(identity: Scim): Passwords {
  return {
    hasPassword: identity.hasPassword,
    directory: identity.verifyPassword,
    ldap: identity.verifyAtBackend,
    changes: { isAllowed: identity.mayChangePassword, change: identity.changePassword },
  };
}

interface PeopleSources {
  readonly config: Pick<Config, "factors" | "helpDesk">;
  readonly radius: Radius;
  readonly identity: Pick<Scim, "targets" | "logins">;
  readonly findUserRecord: FindUserRecord;
  readonly lastSignIns: LastSignIns;
  readonly parseResource: People["readContent"];
}

/** The users of the directory with their factors, from the services of the gateway and the directory. */
function createPeople(
  { config, radius, identity, findUserRecord, lastSignIns, parseResource }: PeopleSources,
): People {
  return {
    pairings: radius.pairings,
    limits: radius.limits,
    recoveryCodes: radius.recoveryCodes,
    hardwareTokens: radius.hardwareTokens,
    enrolment: radius.enrolment,
    factorMarks: radius.factorMarks,
    bypassCodes: radius.bypassCodes,
    policies: radius.policies,
    access: radius.access,
    prepareNotMeReport: radius.prepareNotMeReport,
    lastSignIns,
    targets: identity.targets,
    loginTarget: () => identity.logins.name,
    findUserRecord: (userName) => findUserRecord(userName),
    factors: config.factors,
    helpDesk: config.helpDesk,
    readContent: parseResource,
    trials: radius.loginDryRun,
  };
}

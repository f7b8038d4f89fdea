// Builds all services on an opened store and connects them. `main.ts` opens the sockets before, and reads them after. Commands without a server use
// the result as it is.

import { Cluster } from "./platform/cluster/cluster.ts";
import type { AppDeps, AppParts, StartedApp } from "./compose_app.ts";
import { canonicalName } from "./platform/canonical_name.ts";
import { AdminStore, createAdminPasswordHasher } from "./console/api/auth/admin_store.ts";
import type { People } from "./console/api/deps.ts";
import { readinessOf } from "./console/api/health/readiness.ts";
import { createNodeDescription } from "./console/api/nodes/node_description.ts";
import type { HttpApp } from "./platform/http/http_server.ts";
import { removeSetUpLink } from "./platform/banner.ts";
import { syncPhonePairings } from "./radius/factors/pairing_sync.ts";
import { type GatewayMonitor, loginDirectoryOf, type Passwords } from "./radius/ports.ts";
import { type GeoIp, startGeoIp } from "./platform/geoip/geoip.ts";
import { createUnreadableLog } from "./platform/log.ts";
import { openMailService } from "./platform/mail/mail_service.ts";
import { type Cost, createPasswordHasher, REQUEST_COST } from "./platform/password_hasher.ts";
import { openHttpClient } from "./platform/fetch_with_deadline.ts";
import { createOrderedIds } from "./radius/conversation/conversation.ts";
import { createRadius, type Radius } from "./radius/radius.ts";
import { type LastSignIns, startLastSignIns } from "./radius/factors/last_sign_ins.ts";
import { matchTotp, totpAt } from "./radius/factors/totp.ts";
import { type PrepareRename, prepareRenames } from "./platform/write_batch.ts";
import { findUserRecordIn } from "./scim/directory/directory.ts";
import { followDirectories } from "./scim/follow_directories.ts";
import type { FindUserRecord } from "./platform/user_record.ts";
import { createScim, type Scim } from "./scim/scim.ts";
import { parseResource } from "./scim/schema/parse_resource.ts";
import { createServices, type ServiceDeps } from "./upstream/services.ts";
import type { Config } from "./platform/config/config.ts";

export const VERSION = "0.3.0";
// No literals of import(): Deno reads the modules of a literal before the first line runs. They are half of all.
const APP: string = import.meta.resolve("./compose_app.ts");
const ACCOUNT_RENAMES: string = import.meta.resolve("./console/api/account/account_renames.ts");

export interface CompositionDeps extends AppDeps, Pick<ServiceDeps, "pushNetwork"> {
  /** The shared secret for any client address, while no client and no `radius.secret` is configured. */
  readonly generatedSecret: string;
  /** The cost of all password hashes; less is for tests. */
  readonly passwordCost?: Cost;
}

/** All services of one process. */
export interface Composition
  extends Pick<AppParts, "cluster" | "radius" | "identity" | "services" | "admins" | "mail" | "readiness"> {
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
    createHasher: () => createPasswordHasher({ random, cost: deps.passwordCost ?? REQUEST_COST }),
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
  const hasher = createAdminPasswordHasher({ random, cost: deps.passwordCost });
  const admins = new AdminStore({ ...shared, configAdmins, http: config.http, hasher, onSetUp });
  const { geoIp, lastSignIns } = startReportSources(deps, { identity, radius });
  const prepareRename = composeRenames(deps, [mail.admin, lastSignIns, services.embeddedService, radius]);
  const people = createPeople({ config, radius, identity, findUserRecord, lastSignIns, parseResource });
  const parts = { cluster, radius, identity, services, admins, mail };
  const sources = { identityClient, directories, geoIp, people, version: VERSION };
  let opening: Promise<StartedApp> | undefined;
  const isRadiusReceiving = () => radius.server.isReceiving();
  const readiness = () => readinessOf({ ...deps, isRadiusReceiving }, { store, clock, cluster });
  return {
    ...{ ...parts, readiness },
    openApp: async () => (await (opening ??= loadApp(deps, { ...parts, ...sources, readiness }))).app,
    async close() {
      const opened = await opening;
      opened?.app.close();
      await opened?.enrolment.close();
      geoIp.stop();
      directories.close();
      lastSignIns.stop();
      radius.close();
      await opened?.alerts.close();
      await Promise.all([mail.close(), opened?.logExport.close(), identity.close()]);
      identityClient.close();
      await services.close();
      await cluster.close();
    },
  };
}

async function loadApp(deps: AppDeps, parts: AppParts): Promise<StartedApp> {
  const { startApp }: typeof import("./compose_app.ts") = await import(APP);
  return await startApp(deps, parts);
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
  const prepareRename: PrepareRename = async (rename) => {
    const { createAccountRenames }: typeof import("./console/api/account/account_renames.ts") = await import(
      ACCOUNT_RENAMES
    );
    return await createAccountRenames({ store, clock })(rename);
  };
  return prepareRenames([{ prepareRename }, ...parts]);
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

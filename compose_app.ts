// The part of the composition that is loaded after RADIUS has answered its first packets: HTTP, enrolment, log export and alerts.

import { canonicalRange, parseSocketAddress, socketAddressText } from "./platform/addresses.ts";
import { type AlertService, openAlerts } from "./platform/alerts/alerts.ts";
import type { Cluster } from "./platform/cluster/cluster.ts";
import type { LiveSettings } from "./platform/config/live_settings.ts";
import type { AdminStore } from "./console/api/auth/admin_store.ts";
import type { Readiness } from "./console/api/health/readiness.ts";
import type { Dist } from "./console/assets.ts";
import type { DataDir } from "./platform/data_dir.ts";
import type { Log } from "./platform/log.ts";
import type { MailService } from "./platform/mail/mail_service.ts";
import type { Clock, Random } from "./platform/runtime.ts";
import type { Radius } from "./radius/radius.ts";
import type { Scim } from "./scim/scim.ts";
import { createScimApp } from "./scim/http/app.ts";
import { createTokenApp } from "./scim/v2/connections/token_app.ts";
import { createScimV2App } from "./scim/v2/http/v2_app.ts";
import type { Services } from "./upstream/services.ts";
import { createHttpApp } from "./console/app.ts";
import type { People } from "./console/api/deps.ts";
import { type EnrolmentService, startEnrolment } from "./console/api/enrolment/enrolment_service.ts";
import { followRanges, type HttpApp } from "./platform/http/http_server.ts";
import { type OpenLogExport, openLogExport } from "./platform/log_export/log_export.ts";
import type { GeoIp } from "./platform/geoip/geoip.ts";
import type { openHttpClient } from "./platform/fetch_with_deadline.ts";
import { decodeLoginRecord, historyKey } from "./radius/conversation/login_record.ts";
import { createTransfer } from "./scim/transfer/import_export.ts";
import type { DirectoryFollower } from "./scim/follow_directories.ts";
import { ldapAttributeNames } from "./scim/backends/ldap/ldap_schemas.ts";
import { createMapping, toFrontEnd } from "./scim/schema/mapping.ts";
import { redact, secretsIn } from "./platform/config/list_settings.ts";

/** The description of both SCIM interfaces. */
const OPEN_API = new URL("docs/openapi.json", import.meta.url);

/** What the process gives to all services. */
export interface AppDeps {
  /** Loaded. */
  readonly settings: LiveSettings;
  readonly dataDir: Pick<DataDir, "store" | "vault" | "shared">;
  /** The built console. */
  readonly dist: Dist;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly startedMs: number;
  /** The addresses of the RADIUS listeners, as text. */
  readonly radiusListeners: readonly string[];
  /** Whether the HTTP listener accepts connections. */
  readonly isHttpServing: () => boolean;
}

/** The services that are built before. */
export interface AppParts {
  readonly cluster: Cluster;
  readonly radius: Radius;
  readonly identity: Scim;
  readonly services: Services;
  readonly admins: AdminStore;
  readonly mail: MailService;
  /** Whether the gateway can answer logins. */
  readiness(): Readiness;
  readonly identityClient: ReturnType<typeof openHttpClient>;
  readonly directories: DirectoryFollower;
  readonly geoIp: GeoIp;
  readonly people: People;
  readonly version: string;
}

/** To be closed by the composition, in its order. */
export interface StartedApp {
  readonly app: HttpApp;
  readonly enrolment: EnrolmentService;
  readonly logExport: OpenLogExport;
  readonly alerts: AlertService;
}

/** Starts the enrolment, the log export and the alerts, and opens the application of HTTP. */
export async function startApp(deps: AppDeps, parts: AppParts): Promise<StartedApp> {
  const { settings: { config }, dataDir: { store, vault }, clock, random, log } = deps;
  const shared = { config, store, vault, clock, random, log };
  const enrolment = startEnrolment({ ...shared, ...parts });
  const { logExport, alerts } = await openReports(deps, parts);
  const app = createApp(deps, { ...parts, enrolment, logExport, alerts });
  return { app, enrolment, logExport, alerts };
}

function createApp(
  { settings, dataDir: { store, vault }, dist, clock, random, log, ...deps }: AppDeps,
  { cluster, radius, identity, services, admins, identityClient, directories, ...parts }:
    & AppParts
    & Omit<StartedApp, "app">,
): HttpApp {
  const { config } = settings;
  const { apps: scim, connections } = identity;
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
      version: parts.version,
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
    scim: [createScimApp(scim), createScimV2App(scim), createTokenApp({ connections, log, random })],
    openApi: () => Deno.readFile(OPEN_API),
  });
}

/** What sends records and alerts to other systems. */
async function openReports(
  { settings: { config }, dataDir: { store, vault }, clock, random, log, isHttpServing }: AppDeps,
  { cluster, radius, mail, version }: AppParts,
): Promise<{ logExport: OpenLogExport; alerts: AlertService }> {
  const shared = { config, store, vault, clock, random, log, cluster, mayDeliver: isHttpServing };
  const logExport = await openLogExport({
    ...{ ...shared, version, counters: () => radius.monitor.counters() },
    login: { keyOf: historyKey, read: decodeLoginRecord },
  });
  const alerts = await openAlerts({ ...shared, mail, webhooks: logExport.logExport.webhooks });
  return { logExport, alerts };
}

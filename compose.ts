// Builds every service of the gateway on an opened store, and wires them to each other. It opens no listener: `main.ts`
// adds the sockets, and a command that works without a server uses the result as it is.

import { canonicalName } from "./platform/canonical_name.ts";
import { createTransfer } from "./cli/import_export.ts";
import type { Config } from "./platform/config/config.ts";
import { canonicalRange, createRangeCheck, parseSocketAddress } from "./platform/config/addresses.ts";
import { socketAddressText } from "./platform/socket_address.ts";
import type { ToldSettings } from "./platform/config/bound_port.ts";
import { type Admins, createAdmins } from "./console/api/auth/admin_store.ts";
import type { Dist } from "./console/assets.ts";
import { createHttpApp, type HttpApp } from "./console/http.ts";
import { removeSetUpLink } from "./platform/banner.ts";
import type { DataDir } from "./platform/data_dir.ts";
import { followPhones } from "./radius/factors/pairing_sync.ts";
import type { Directory } from "./radius/ports.ts";
import { reducePhoneNumber } from "./platform/phone_number.ts";
import type { Log } from "./platform/log.ts";
import { createPasswordHasher, REQUEST_COST } from "./platform/password_hasher.ts";
import { openHttpClient } from "./platform/http_client.ts";
import { createOrderedIds } from "./radius/conversation/sortable_ids.ts";
import { createRadius, type Radius } from "./radius/radius.ts";
import { matchTotp, totpAt } from "./radius/factors/totp.ts";
import type { Clock, Random } from "./platform/runtime.ts";
import { createBulk } from "./scim/transfer/bulk.ts";
import { findUserRecordIn } from "./scim/directory/record_directory.ts";
import { openApiText } from "./scim/http/openapi.ts";
import { createIdentity, type Identity } from "./scim/scim.ts";
import { readContent } from "./scim/schema/parse_resource.ts";
import { createMapping, toFrontEnd } from "./scim/schema/mapping.ts";
import { STORE_SILENT_MS } from "./platform/store.ts";
import { createServices, type Services } from "./upstream/services.ts";

export const VERSION = "0.1.0";

export interface CompositionDeps {
  readonly config: Config;
  /** The settings as the console shows them. */
  readonly settings: ToldSettings["settings"];
  readonly dataDir: DataDir;
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
  readonly radius: Radius;
  readonly identity: Identity;
  readonly services: Services;
  readonly admins: Admins;
  readonly app: HttpApp;
  /** Ends background work and waits for writes that are in progress. The store stays open. */
  close(): Promise<void>;
}

/** Reads what the store has and builds the services. Nothing is served before a listener is added. */
export async function compose(deps: CompositionDeps): Promise<Composition> {
  const { config, dataDir: { store, vault }, clock, random, log } = deps;
  const shared = { config, store, vault, clock, random, log };
  const identityClient = openHttpClient();
  const identity = await createIdentity({
    ...shared,
    fetch: identityClient.fetch,
    createHasher: () => createPasswordHasher({ random, cost: REQUEST_COST }),
    orderedId: createOrderedIds(clock, random),
    // The gateway needs the directory and the directory the gateway; no user can leave before both exist.
    prepareLeaving: (name) => radius.prepareLeaving(name),
    prepareGroupTurn: (name) => radius.replies.prepareForget(name),
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
  if (services.embedded !== null) followPhones({ ...services.embedded, radius, findUserRecord, log });
  identity.logins.directory.observe(({ kind, name }) => {
    if (kind === "user") radius.forgetPassword(canonicalName(name));
  });
  const admins = createAdmins({
    ...shared,
    configAdmins: config.console.admins,
    publicUrl: config.http.publicUrl,
    onSetUp: () => removeSetUpLink(config),
  });
  const app = createApp(deps, { radius, identity, services, admins, identityClient });
  return {
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
    },
  };
}

interface Parts extends Omit<Composition, "app" | "close"> {
  readonly identityClient: ReturnType<typeof openHttpClient>;
}

function createApp(
  { config, settings, dataDir: { store, vault }, dist, clock, random, log, ...deps }: CompositionDeps,
  { radius, identity, services, admins, identityClient }: Parts,
): HttpApp {
  const bulk = createBulk({ clock, publicUrl: config.http.publicUrl });
  return createHttpApp({
    http: config.http,
    isProxy: createRangeCheck(config.http.trustedProxies),
    console: config.console,
    // The sign-in provider is asked by the same client.
    fetch: identityClient.fetch,
    log,
    clock,
    random,
    vault,
    store,
    admins,
    watch: radius.watch,
    vpnSessions: radius.sessions,
    phone: services.embedded?.phone ?? null,
    desk: services.embedded?.admin ?? null,
    outbox: services.outbox?.messages ?? null,
    people: {
      targets: identity.targets,
      loginTarget: identity.logins.name,
      pairings: radius.pairings,
      limits: radius.limits,
      recoveryCodes: radius.recoveryCodes,
      prepareDisowning: radius.prepareDisowning,
      findUserRecord: findUserRecordIn(identity.logins, store),
      factors: config.factors,
      readContent,
      trials: radius.trials,
    },
    transfer: createTransfer({ bulk, publicUrl: config.http.publicUrl }),
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
      ear: radius.ear,
      learnt: radius.learnt,
      targets: identity.targets,
      credentials: identity.credentials,
      config,
      listening: { radius: deps.radiusListeners, http: socketAddressText(config.http.listen) },
      secondFactor: services.secondFactor,
      askTelephony: services.probeTelephony,
      canonicalRange,
      serverAddress: parseSocketAddress,
      askFirstFactor: radius.askFirstFactor,
      standing: identity.standing,
      probe: identity.probe,
      previewMapping: (content, mapping) => toFrontEnd(content, createMapping(mapping)),
    },
    ready() {
      const isSilent = clock.nowMs() - store.lastAnswerMs() > STORE_SILENT_MS;
      const isServing = deps.isHttpServing();
      return {
        ok: !isSilent && isServing,
        parts: {
          radius: "listening",
          store: isSilent ? "does not answer" : "answers",
          http: isServing ? "listening" : "does not accept connections",
        },
      };
    },
    dist,
    scim: identity.app,
    openApi: () => openApiText(config.http.publicUrl),
  });
}

/** The directory in the form that the RADIUS gateway needs. */
function directoryOf({ logins: { directory } }: Identity): Directory {
  return {
    prepare: directory.prepareLogin,
    lookUp(name) {
      const user = directory.login(name);
      return { ...user, phoneNumbers: user.phoneNumbers.flatMap((given) => reducePhoneNumber(given) ?? []) };
    },
  };
}

// Countersign's composition root: settings → store → services → UDP → HTTP → shutdown. It alone sees every folder.

import { printFaults, replyAttributeProblem } from "./commands/check_config.ts";
import { createTransfer } from "./commands/transfer.ts";
import { canonicalName } from "./canonical_name.ts";
import { type ToldSettings, withChosenPort } from "./config/chosen_port.ts";
import { loadConfig } from "./config/load.ts";
import {
  canonicalRange,
  createRangeCheck,
  parseSocketAddress,
  socketAddressText,
} from "./config/addresses.ts";
import { controlSocketPath } from "./config/fault_checks.ts";
import { createAdmins } from "./console/api/sign_in/admins.ts";
import { type Dist, loadDist } from "./console/assets.ts";
import { createHttpApp, type HttpApp } from "./console/http.ts";
import { type HttpListener, serveHttp } from "./console/listener.ts";
import { announce } from "./host/announcement.ts";
import { removeSetUpLink, unsignedNotes } from "./host/banner.ts";
import { serveControlSocket } from "./host/control_socket.ts";
import { type DataDir, openDataDir, sharedSecret } from "./host/data_dir.ts";
import { createDesk } from "./host/desk.ts";
import { followPhones } from "./host/followed_phones.ts";
import { holdInspectorPort } from "./host/inspector_port.ts";
import { directoryOf } from "./host/login_directory.ts";
import { listenRadius, type RadiusSockets } from "./host/listening.ts";
import { answerArguments } from "./host/program_arguments.ts";
import { stopSignal } from "./host/stop_signal.ts";
import { startHeartbeat } from "./host/store_heartbeat.ts";
import { logUnhandledErrors } from "./host/unhandled_errors.ts";
import { createLog, wholeWrites } from "./log.ts";
import { createRadius, type Radius } from "./radius/gateway.ts";
import { matchTotp, totpAt } from "./radius/pure/totp.ts";
import { createSystemRandom, systemClock } from "./runtime.ts";
import { createPasswordHasher, REQUEST_COST } from "./password_hasher.ts";
import { createOrderedIds } from "./radius/doing/ordered_ids.ts";
import { openApiText } from "./scim/http/openapi.ts";
import { createBulk } from "./scim/bulk/bulk.ts";
import { findUserRecordIn } from "./scim/directory/record_directory.ts";
import { createIdentity, type Identity } from "./scim/identity.ts";
import { readContent } from "./scim/pure/content.ts";
import { createMapping, toFrontEnd } from "./scim/pure/mapping.ts";
import { openHttpClient } from "./upstream/http_client.ts";
import { createReach } from "./upstream/reach.ts";
import { createServices, type Services } from "./upstream/services.ts";

const VERSION = "0.1.0";
/** How long requests that are under way may still take after SIGTERM. */
const DRAIN_MS = 10_000;
const STORE_SILENT_MS = 5000;

answerArguments();

const clock = systemClock;
const random = createSystemRandom();

const loaded = loadConfig({
  env: Deno.env.get,
  readTextFile: Deno.readTextFileSync,
  fileMode: (path) => Deno.statSync(path).mode,
  cwd: Deno.cwd(),
  checkReplyAttribute: replyAttributeProblem,
});
if (!loaded.ok) fail(printFaults(loaded.faults));
const { warnings } = loaded;
let { config, settings }: ToldSettings = loaded;
const startedMs = clock.nowMs();
const isProxy = createRangeCheck(config.http.trustedProxies);

const log = createLog({
  format: config.server.logFormat,
  level: config.server.logLevel,
  clock,
  write: wholeWrites(Deno.stderr),
});
logUnhandledErrors(log);

await start().catch(async (fault: unknown) => {
  await log.flush();
  const message = fault instanceof Error ? fault.message : String(fault);
  fail(message.startsWith("Cannot ") ? message : `Cannot start: ${message}`);
});

function fail(message: string): never {
  Deno.stderr.writeSync(new TextEncoder().encode(`${message.trimEnd()}\n`));
  Deno.exit(1);
}

/** Starts everything in order, and arranges for the end. */
async function start(): Promise<void> {
  const dist = await loadDist(new URL("console/dist", import.meta.url));
  const dataDir = await openDataDir(config.server.dataDir, {
    random,
    masterKeyHex: Deno.env.get("COUNTERSIGN_MASTER_KEY") ?? "",
    auditKeptMs: config.console.auditKeptMs,
  });
  const sockets = listenRadius(config.radius, log);
  const releaseInspector = holdInspectorPort({ clock, log });
  const app = Promise.withResolvers<HttpApp>();
  const listener = await serveHttp({
    ...config.http,
    app: app.promise,
    log,
    clock,
    isProxy,
    onGiveUp: (message) => void log.flush().finally(() => fail(message)),
  });
  // Links name the port: nothing that makes one may be made before it is known.
  ({ config, settings } = withChosenPort({ config, settings }, listener.address.port));
  const generated = config.radius.clients.length === 0 && config.radius.secret === ""
    ? await sharedSecret(dataDir, random)
    : null;

  const { store, vault } = dataDir;
  const identityClient = openHttpClient();
  const identity = await createIdentity({
    config,
    store,
    vault,
    clock,
    random,
    log,
    fetch: identityClient.fetch,
    createHasher: () => createPasswordHasher({ random, cost: REQUEST_COST }),
    orderedId: createOrderedIds(clock, random),
    // The gateway needs the directory and the directory the gateway; no user can leave before both exist.
    prepareLeaving: (name) => radius.prepareLeaving(name),
    prepareGroupTurn: (name) => radius.replies.prepareForget(name),
  });
  const directory = directoryOf(identity);
  const findUserRecord = findUserRecordIn(identity.logins, store);
  const services = await createServices({
    config,
    store,
    vault,
    clock,
    random,
    totp: { at: totpAt, match: matchTotp },
    findUserRecord,
    userAgent: `Countersign/${VERSION}`,
    onBug: (fault) => log.error("an embedded service failed", { fault: String(fault) }),
  });
  const radius: Radius = await createRadius({
    config,
    store,
    vault,
    clock,
    random,
    log,
    directory,
    passwords: {
      hasPassword: identity.hasPassword,
      directory: (user, password) => identity.verifyPassword(user, password),
      ldap: (backend, user, password) => identity.verifyAtBackend(backend, user, password),
    },
    secondFactor: services.secondFactor,
    telephony: services.telephony,
    anySecret: config.radius.secret || generated?.secret || "unused",
    openSocket: (hostname) => Deno.listenDatagram({ transport: "udp", hostname, port: 0 }),
  });
  if (services.embedded !== null) followPhones({ ...services.embedded, radius, findUserRecord, log });
  identity.logins.directory.observe(({ kind, name }) => {
    if (kind === "user") radius.forgetPassword(canonicalName(name));
  });
  const stopHeartbeat = startHeartbeat({ store, clock, log });

  const control = await openControl({ dataDir, services, radius, identity });
  const opened = await openHttp({
    listener,
    dataDir,
    dist,
    sockets,
    services,
    radius,
    identity,
    identityClient,
  });
  app.resolve(opened.app);
  const serving = [
    ...sockets.authentication.map(({ socket }) => radius.server.serve(socket)),
    ...sockets.accounting.map(({ socket }) => radius.server.serve(socket, "accounting")),
  ];
  // The generated secret opens nothing while there is a client, be it one of the console.
  const hasClients = radius.register.list().length > 0;
  await announce({
    config,
    warnings,
    log,
    sockets,
    http: listener.address,
    setupLink: opened.setupLink,
    hasClients,
    generatedSecret: hasClients ? null : generated?.secret ?? null,
    notes: unsignedNotes(radius.register.unsigned().map(({ name }) => name)),
  });
  await stopSignal(clock);

  log.info("stopping: requests under way are finished");
  await control.close();
  await Promise.all([radius.server.stop(DRAIN_MS), listener.stop({ deadlineMs: DRAIN_MS })]);
  await Promise.all(serving);
  stopHeartbeat();
  radius.close();
  await identity.close();
  identityClient.close();
  releaseInspector();
  await services.close();
  await dataDir.close();
  log.info("stopped");
  await log.flush();
  Deno.exit(0);
}

/** The socket through which `deno task pair` and its like reach the running server. */
function openControl(
  { dataDir: { store }, services, radius, identity }: {
    dataDir: DataDir;
    services: Services;
    radius: Radius;
    identity: Identity;
  },
): ReturnType<typeof serveControlSocket> {
  const desk = createDesk({
    config,
    pairings: radius.pairings,
    limits: radius.limits,
    learnt: radius.learnt,
    clients: () => radius.clientNames,
    forgetClient: radius.forgetClient,
    secondFactorDesk: services.embedded?.desk ?? null,
    credentials: identity.credentials,
    targets: identity.targets,
    bulk: createBulk({ clock, publicUrl: config.http.publicUrl }),
    store,
    clock,
    orderedId: radius.orderedId,
    log,
  });
  return serveControlSocket({ path: controlSocketPath(config), handle: desk.handle, log, clock });
}

interface Http {
  readonly app: HttpApp;
  readonly setupLink: string | null;
}

async function openHttp(
  { listener, dataDir, dist, sockets, services, radius, identity, identityClient }: {
    listener: HttpListener;
    dataDir: DataDir;
    dist: Dist;
    sockets: RadiusSockets;
    services: Services;
    radius: Radius;
    identity: Identity;
    /** Asks the sign-in provider, too. */
    identityClient: ReturnType<typeof openHttpClient>;
  },
): Promise<Http> {
  const { store, vault } = dataDir;
  const admins = createAdmins({
    store,
    vault,
    clock,
    random,
    configAdmins: config.console.admins,
    log,
    publicUrl: config.http.publicUrl,
    onSetUp: () => removeSetUpLink(config),
  });
  const app = createHttpApp({
    http: config.http,
    isProxy,
    console: config.console,
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
    desk: services.embedded?.desk ?? null,
    outbox: services.outbox?.desk ?? null,
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
    transfer: createTransfer({
      bulk: createBulk({ clock, publicUrl: config.http.publicUrl }),
      publicUrl: config.http.publicUrl,
    }),
    replies: radius.replies,
    installation: { version: VERSION, runtime: Deno.version.deno, startedMs, file: config.file, settings },
    connect: {
      register: radius.register,
      ear: radius.ear,
      targets: identity.targets,
      credentials: identity.credentials,
      config,
      listening: {
        radius: sockets.authentication.map(({ address }) => socketAddressText(address)),
        http: socketAddressText(config.http.listen),
      },
      secondFactor: services.secondFactor,
      askTelephony: createReach(config.telephony, identityClient),
      canonicalRange,
      serverAddress: parseSocketAddress,
      askFirstFactor: radius.askFirstFactor,
      standing: identity.standing,
      probe: identity.probe,
      previewMapping: (content, mapping) => toFrontEnd(content, createMapping(mapping)),
    },
    ready: () => {
      const silent = clock.nowMs() - store.lastAnswerMs() > STORE_SILENT_MS;
      const parts = {
        radius: "listening",
        store: silent ? "does not answer" : "answers",
        http: listener.isServing() ? "listening" : "does not accept connections",
      };
      return { ok: !silent && listener.isServing(), parts };
    },
    dist,
    mounts: [identity.app],
    openApi: () => openApiText(config.http.publicUrl),
  });
  return { app, setupLink: await admins.setupLink() };
}
